"""A member's place in its group: what lasts when its server is started anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simrep.modelling import Host, Parts, Stream, WaitingThread
from simrep.models.group_replication.gcs.group import Group
from simrep.models.group_replication.xcom.changing import ChangingXcom
from simrep.models.group_replication.xcom.detector import Detector
from simrep.models.group_replication.xcom.paxos import XcomOptions
from simrep.models.group_replication.xcom.transport import Transport
from simrep.models.mysql.durability import Durability

from .history import History
from .options import GroupReplicationCosts, GroupReplicationOptions

if TYPE_CHECKING:
    from .changing_member import ChangingMember

__all__ = ["Seat"]


@dataclass(frozen=True, slots=True, eq=False)
class Seat:
    """See the module.

    Attributes
    ----------
    group : Group
    transport : Transport
    xcom : ChangingXcom
    history : History
        Of the group.
    durability : Durability
        What is on its disk.
    peer : callable
        ``peer(index)``: another member.
    aborts : callable
        ``aborts(index)``: its server ends itself.
    restarts : callable
        ``restarts(index, donor)``: its server has a copy of all data of another one, shuts down,
        and starts with that.
    choose : Stream
        Uniform numbers, by which it chooses donors.
    """

    group: Group
    transport: Transport
    xcom: ChangingXcom
    history: History
    durability: Durability
    peer: Callable[[int], ChangingMember]
    aborts: Callable[[int], object]
    restarts: Callable[[int, int], object]
    choose: Stream

    @classmethod
    def of(
        cls,
        parts: Parts,
        options: GroupReplicationOptions,
        costs: GroupReplicationCosts,
        history: History,
        peer: Callable[[int], ChangingMember],
        aborts: Callable[[int], object],
        restarts: Callable[[int, int], object],
        kernels: dict[Host, float],
        looks: float,
    ) -> Seat:
        """The place of a node, with its group communication.

        ``kernels`` are the phases of the timers of machines: nodes on one of them share its kernel.
        ``looks`` is the phase of all detectors.
        """
        cluster, index, clock = parts.cluster, parts.index, parts.clock
        host = cluster.hosts[index]

        def uniform(name: str) -> Stream:
            return cluster.streams.uniform(f"group_replication/{name}/{index}")

        transport = parts.make(
            Transport,
            clock,
            cluster.network,
            index,
            cluster.size,
            WaitingThread(host),
            costs.message_work(host),
            uniform("connections"),
            cluster.timeline,
            kernels.get(host),
        )
        kernels[host] = transport.timer_phase
        detector = Detector(clock, transport, uniform("detector"), looks)
        single = options.paxos_single_leader and options.single_primary_mode
        xcom = ChangingXcom(
            clock,
            transport,
            XcomOptions(event_horizon=options.write_concurrency, leader=0 if single else None),
            detector,
            uniform("missing"),
            host.routine(costs.propose_us * 1e-6),
            options.message_cache_size,
        )
        timeline = cluster.timeline
        if timeline is not None:

            def filled(positions: tuple[int, ...], waits: int, waited_s: float) -> None:
                timeline.note(index, "wave", positions, f"after {waits} waits of {waited_s:.3f} s")

            xcom.on_fill(filled)
        group = Group(
            clock,
            transport,
            detector,
            xcom,
            cluster.options_of(index, options).member_expel_timeout,
            uniform("group"),
            cluster.timeline,
        )
        durability = Durability.of(cluster, index, options)
        chance = uniform("donors")
        return cls(group, transport, xcom, history, durability, peer, aborts, restarts, chance)
