"""A node's connection to the group: its thread, its mesh and its member of the total order."""

from __future__ import annotations

from simrep.contract.watching import Parts
from simrep.models.galera.gcomm.evs import Evs, EvsOptions
from simrep.network.mesh import MessageWork
from simrep.server.thread import Thread

from .options import GaleraCosts, GaleraOptions

__all__ = ["GroupMember"]

_US = 1e-6


class GroupMember:
    """What of a node lasts when its server is started anew.

    Parameters
    ----------
    parts : Parts
        Of the node.
    options : GaleraOptions
    costs : GaleraCosts
    keepalive_at_s : float
        When its group communication sends its first keepalive.
    """

    def __init__(
        self,
        parts: Parts,
        options: GaleraOptions,
        costs: GaleraCosts,
        keepalive_at_s: float,
    ) -> None:
        cluster, index = parts.cluster, parts.index
        clock, host = cluster.clock, cluster.hosts[index]
        self.options = EvsOptions(
            send_window=options.send_window,
            user_send_window=options.user_send_window,
            use_aggregate=options.use_aggregate,
            keepalive_period_s=options.keepalive_period_s,
            queue_limit_messages=options.output_queue_messages,
            gap_when_blocked=options.gap_when_blocked,
        )
        work = MessageWork(
            host.routine(costs.send_us * _US),
            host.routine(costs.receive_us * _US),
            costs.byte_ns * 1e-9,
        )
        self.mesh = parts.mesh(cluster.segments, Thread(host), work)
        self.evs = Evs(clock, self.mesh, cluster.size, self.options, keepalive_at_s)
