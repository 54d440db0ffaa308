"""Galera in closed form: the safe order, its send window, certification and the commit in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import sqrt

from simrep.modelling import Setup
from simrep.modelling.closed_form import (
    Delay,
    Groups,
    GroupStage,
    Journey,
    Pace,
    Step,
    Turns,
    Work,
    execution,
    row_count,
    safe_order_s,
)
from simrep.models.galera.gcomm.evs import AGGREGATE_BYTES, EvsOptions
from simrep.models.mysql.analytic import CONTENTION, PAGE_READS, NodesForm

from .flow_control import receive_queue_limits
from .options import GaleraCosts, GaleraOptions
from .writeset import writeset_bytes

__all__ = ["GaleraForm"]

_US = 1e-6
_MOST_OF_APPLIERS = 0.9  # in use: above, their queue grows to where flow control stops the cluster
_SHORTLY = 0.1  # of the time: what flow control may take without being noticed
_MOST_OF_A_THREAD = 0.6
_RARELY = 0.1  # messages of other nodes under way: with less, hardly one meets another
_MTU_BYTES = EvsOptions().mtu_bytes


class GaleraForm(NodesForm):
    """The closed form of a cluster."""

    costs: GaleraCosts

    def __init__(self, setup: Setup) -> None:
        options, costs = setup.options, setup.costs
        assert isinstance(options, GaleraOptions)
        assert isinstance(costs, GaleraCosts)
        super().__init__(setup)
        self._options = options
        self._size = len(setup.placement)
        # Rows that are certified by equal content are applied one after the other.
        in_parallel = all(one.primary_key for one in setup.workload.classes)
        self._appliers = options.applier_threads if in_parallel else 1
        self._writer_nodes = {*setup.workload.nodes, *(one.node for one in setup.workload.arrivals)}
        one = setup.workload.classes[0]
        self._rows = row_count(one)
        text_bytes = one.text_bytes if options.annotate_rows else 0
        self._bytes = writeset_bytes(self._rows * one.row_bytes, text_bytes, self._rows)

    def doubts(self) -> Iterator[str]:
        """See ``ClosedForm.doubts``."""
        options = self._options
        if options.fragment_size > 0:
            yield "streaming replication: a transaction is replicated while it executes"
        if self._bytes > _MTU_BYTES:
            yield "writesets that are larger than a message, and travel in parts"
        if self._bytes > options.max_ws_size:
            yield "writesets that are larger than wsrep_max_ws_size fail"
        if 0 < options.max_ws_rows < self._rows:
            yield "transactions of more rows than wsrep_max_ws_rows fail"
        if len({node.segment for node in self.setup.scenario.node_tables()}) > 1:
            yield "segments: messages are relayed between them"
        if self.setup.scenario.arbitrators:
            yield "arbitrators: members that acknowledge, but apply nothing"
        if options.innodb_buffer_pool_size is not None:
            yield PAGE_READS
        if self.costs.latch_us:
            yield CONTENTION
        if options.sync_wait:
            yield "transactions wait before they begin (wsrep_sync_wait)"
        if options.commit_order != 3:
            yield "commits out of order (repl.commit_order)"

    def journey(self, node: int, pace: Pace) -> Journey:
        """See ``ClosedForm.journey``."""
        prepare_s = 0.0
        if self._rows:
            prepare_s = self.cost(
                node, self.costs.replicate_us, pace.own_s, self.costs.byte_ns * 1e-9 * self._bytes
            )
        costs = self.costs.of_sessions()
        steps = execution(self.setup, node, costs, pace, prepare_s)
        if not self._rows:
            return Journey(steps, connect_s=costs.connect_s)
        return Journey(
            (*steps, *self._order(node, pace), *self._commit(node, pace)),
            self._beside_s(node, pace),
            costs.connect_s,
        )

    def limits(self, rates: Mapping[int, float]) -> Iterator[str]:
        """Writers that meet in the order; appliers that flow control has to wait for."""
        if not self._rows:
            return
        total = sum(rates.values())
        for node, rate in rates.items():
            pace = Pace(1.0 / rate, 1.0 / total, 1, rates)
            ordered_s = safe_order_s(self.hops_s(pace, self._size - 1), node)
            if (total - rate) * ordered_s > _RARELY:
                yield (
                    "several nodes write at a time: each other's messages report what has come, "
                    f"and the order takes less than the {1e3 * ordered_s:.3g} ms of a lone message"
                )
                return
        yield from self._one_thread(rates)
        yield from self._flow_control(rates)

    def _one_thread(self, rates: Mapping[int, float]) -> Iterator[str]:
        """Messages that queue up for the thread of the group communication."""
        if self._size == 1:
            return
        total = sum(rates.values())
        for node, rate in rates.items():
            pace = Pace(1.0 / rate, 1.0 / total, 1, rates)
            numbers = total
            if self._options.use_aggregate:
                hops = self.hops_s(pace, self._size - 1)
                numbers = min(total, self._options.send_window / safe_order_s(hops, node))
            used = numbers * self._message_work_s(node, pace)
            if used > _MOST_OF_A_THREAD:
                yield (
                    f"the thread of the group communication of "
                    f"{self.setup.scenario.node_names[node]} would be busy {used:.0%} of the "
                    "time: messages queue up for it"
                )
                return

    def _message_work_s(self, node: int, pace: Pace) -> float:
        """CPU that a message number takes on a node: two broadcasts of everybody."""
        sends_s = (self._size - 1) * self.cost(node, self.costs.send_us, pace.any_s)
        return 2.0 * (
            sends_s + (self._size - 1) * self.cost(node, self.costs.receive_us, pace.any_s)
        )

    def _flow_control(self, rates: Mapping[int, float]) -> Iterator[str]:
        """Queues of appliers that stop everybody: in the long run, or when much comes at once."""
        total = sum(rates.values())
        names = self.setup.scenario.node_names
        most = receive_queue_limits(self._options, self._size)[0]
        for node in range(self._size):
            others = total - rates.get(node, 0.0)
            if others <= 0.0:
                continue
            applied_s = self._applied_s(node, 1.0 / total) / self._appliers
            if others * applied_s > _MOST_OF_APPLIERS:
                yield (
                    f"the appliers of {names[node]} would be busy {others * applied_s:.0%} of the "
                    "time: their queue grows until flow control stops the cluster"
                )
                return
            # All clients of a node may be in one message.
            clients = sum(writer != node for writer in self.setup.workload.nodes)
            host = self.setup.placement[node]
            crowd = self.setup.placement.count(host) / (self.setup.machines[host].cores or 1)
            drained_s = (clients - most) * applied_s * max(1.0, crowd)
            stopped = drained_s * total / max(1, clients)
            if stopped > _SHORTLY:
                yield (
                    f"{clients} writesets may arrive at once, and flow control stops the cluster "
                    f"at {most} in a queue"
                )
                return

    def notes(self) -> Iterator[str]:
        """See ``ClosedForm.notes``."""
        yield "waits are means of a decomposition: approximate where several clients share a place"
        if len(self._writer_nodes) > 1:
            yield "what waits for a commit ordered before it, of another node, is estimated"

    # -- the order -----------------------------------------------------------------------------

    def _order(self, node: int, pace: Pace) -> tuple[Step, ...]:
        """From the send monitor to delivery, through the window."""
        ordered_s = safe_order_s(self.hops_s(pace, self._size - 1), node)
        if self._size == 1 or ordered_s <= 0.0:
            return (Delay("order", ordered_s),)
        options = self._options
        numbers = options.send_window
        # Who finds the window taken waits in the output queue for the next message of another
        # member, and goes out with all others who wait.
        together = self._most_together() if options.use_aggregate else 1
        queue_s = 0.0
        if together > 1:
            waiting = self._waiting(ordered_s / pace.own_s)
            queue_s = waiting * self._next_message_s(node, ordered_s, pace)
        return (
            Turns("order", ordered_s, servers=float(numbers * together)),
            Delay("send window", queue_s),
        )

    def _waiting(self, under_way: float) -> float:
        """Share of the messages that find the window taken, with so many under way on average."""
        window = self._options.user_send_window
        if not self.setup.workload.arrivals:  # clients come back together
            return min(1.0, max(0.0, under_way / window - 1.0))
        from scipy.special import pdtrc

        return float(pdtrc(window - 1, under_way))

    def _next_message_s(self, node: int, ordered_s: float, pace: Pace) -> float:
        """How long it is to the next message of another member, while messages follow each other.

        Each of them comes when it has a message of the node, and the last when all have reported.
        """
        hops = self.hops_s(pace, self._size - 1)
        others = [other for other in range(self._size) if other != node]
        answers = sorted(hops[node][other] + hops[other][node] for other in others)
        moments = [0.0, *answers, ordered_s]
        return sum((b - a) ** 2 for a, b in pairwise(moments)) / (2.0 * ordered_s)

    def _most_together(self) -> int:
        """Writesets that fit into one message."""
        return max(1, _MTU_BYTES // (self._bytes + AGGREGATE_BYTES))

    # -- certification and commit --------------------------------------------------------------

    def _commit(self, node: int, pace: Pace) -> tuple[Step, ...]:
        options = self._options
        others = sum(rate for other, rate in pace.rates.items() if other != node)
        flushes = options.flush_log_at_trx_commit == 1
        fsync_s = self._fsync_s()
        steps: list[Step] = [
            Work("certification", self._certified_s(node, pace.own_s)),
            Delay("commit order", self._behind_others_s(node, others, pace)),
        ]
        commit_s = self._committed_s(node, pace.own_s)
        if flushes and options.commit_monitor_through_flush:
            steps.append(Turns("commit, one by one", commit_s + fsync_s))
        else:
            steps.append(Work("commit", commit_s, wakes=0))
            if flushes:
                steps.append(Groups("redo log", (GroupStage(fsync_s),), others=True))
        return tuple(steps)

    def _certified_s(self, node: int, pause_s: float) -> float:
        """Receipt of the order, and certification by so many keys."""
        costs = self.costs
        keys_s = costs.certify_key_us * _US * self._rows
        return self.cost(node, costs.action_us, pause_s) + self.cost(
            node, costs.certify_us, pause_s, keys_s
        )

    def _committed_s(self, node: int, pause_s: float) -> float:
        costs = self.costs
        write_us = costs.log_write_us if self._options.flush_log_at_trx_commit else 0.0
        return self.cost(node, costs.commit_us + write_us, pause_s)

    def _applied_s(self, node: int, pause_s: float) -> float:
        """How long an applier is busy with a writeset."""
        costs = self.costs
        more_s = (costs.apply_row_us + costs.certify_key_us) * _US * self._rows
        seconds = self.cost(node, costs.certify_us, pause_s)
        seconds += self.cost(node, costs.apply_us, pause_s, more_s)
        seconds += self._committed_s(node, pause_s)
        return seconds + self._applier_flush_s()

    def _applier_flush_s(self) -> float:
        """How long it waits for the redo log: of several, for half of another flush first."""
        if self._options.flush_log_at_trx_commit != 1:
            return 0.0
        return self._fsync_s() * (1.5 if self._appliers > 1 else 1.0)

    def _fsync_s(self) -> float:
        return (self.costs.fsync_us + self.costs.fsync_work_us) * _US

    def _behind_others_s(self, node: int, others: float, pace: Pace) -> float:
        """What is ordered before, of other nodes, is applied first (Pollaczek and Khinchine)."""
        if others <= 0.0:
            return 0.0
        applied_s = self._applied_s(node, pace.any_s)
        if not self._options.commit_monitor_through_flush:
            applied_s -= self._applier_flush_s()  # the monitor is left before the flush
        used = min(others * applied_s / sqrt(self._appliers), _MOST_OF_APPLIERS)
        return used * applied_s / 2.0 / (1.0 - used)

    # -- what no client waits for --------------------------------------------------------------

    def _beside_s(self, node: int, pace: Pace) -> dict[int, float]:
        """CPU of group communication and appliers."""
        costs = self.costs
        # Of many clients several go in one message.
        share = 1.0
        if self._options.use_aggregate:
            share = 1.0 / max(1.0, min(pace.clients / self._options.send_window,
                                       float(self._most_together())))  # fmt: skip
        beside = {}
        for other in range(self._size):
            messages_s = share * self._message_work_s(other, pace)
            if other == node:
                beside[other] = messages_s
                continue
            beside[other] = (
                messages_s
                + self.cost(other, costs.action_us, pace.any_s)
                + self._applied_s(other, pace.any_s)
                - self._applier_flush_s()
            )
        return beside
