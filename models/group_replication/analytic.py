"""Group Replication in closed form: consensus, skips, and the server's own commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from simrep.modelling import Setup
from simrep.modelling.closed_form import (
    Delay,
    Delays,
    Pace,
    Step,
    Work,
    consensus_s,
    row_count,
    shortest_s,
    slot_order_s,
)
from simrep.models.mysql.analytic import ServerForm, size_bytes

from .options import GroupReplicationOptions
from .transaction_message import CONTEXT_BYTES, ITEM_BYTES

__all__ = ["GroupReplicationForm"]

_US = 1e-6
_RARELY = 0.5  # of the message numbers: with so many under way, hardly anybody waits for one


class GroupReplicationForm(ServerForm):
    """One member writes, the others certify and apply."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        options = setup.options
        assert isinstance(options, GroupReplicationOptions)
        self._single_leader = options.paxos_single_leader and options.single_primary_mode
        # After a delivery the next number is another member's, which leaves one less.
        self._numbers = options.write_concurrency - (0 if self._single_leader else 1)
        self._members = range(len(setup.placement))

    def doubts(self) -> Iterator[str]:
        """See ``ClosedForm.doubts``."""
        yield from super().doubts()
        if not self.writes:
            return
        options, workload = self.options, self.setup.workload
        writers = {*workload.nodes, *(one.node for one in workload.arrivals)}
        if len(writers) > 1:
            yield "several members write: they fill each other's slots, and wait less or more"
        if options.waits_before or options.waits_after:
            yield f"transactions wait for other members ({options.consistency})"
        message = size_bytes(self.setup) + CONTEXT_BYTES
        if 0 < options.compression_threshold <= message:
            yield "messages that are compressed"
        if 0 < options.transaction_size_limit < message:
            yield "transactions above group_replication_transaction_size_limit fail"
        if len(set(self.setup.placement)) < len(self.setup.placement):
            yield "appliers that wait busily on a machine that they share with the writer"

    def limits(self, rates: Mapping[int, float]) -> Iterator[str]:
        """More under way than there are message numbers."""
        if not self.writes or len(self._members) == 1:
            return
        for node, rate in rates.items():
            pace = Pace(1.0 / rate, 1.0 / rate, 1, rates)
            ordered_s = self._ordered_s(node, pace)
            under_way = rate * ordered_s
            if under_way > _RARELY * self._numbers:
                yield (
                    f"about {under_way:.0f} transactions under way share {self._numbers} message "
                    "numbers in batches that chance forms: the order takes between "
                    f"{1e3 * ordered_s:.3g} and {2e3 * ordered_s:.3g} ms"
                )

    def notes(self) -> Iterator[str]:
        """See ``ClosedForm.notes``."""
        yield from super().notes()
        yield (
            "statistics that meet no transaction under way save the next one its wait for skips, "
            "which is left out"
        )
        yield "whether appliers keep up is not looked at (flow control begins at long queues)"

    def prepare_s(self, node: int, pace: Pace) -> float:
        """To build the message."""
        costs = self.costs
        more_s = costs.byte_ns * 1e-9 * size_bytes(self.setup)
        return self.cost(node, costs.replicate_us, pace.own_s, more_s)

    def before_commit(self, node: int, pace: Pace) -> tuple[Step, ...]:
        """The order, and the verdict of certification."""
        costs = self.costs
        rows_s = costs.certify_row_us * _US * row_count(self.setup.workload.classes[0])
        seconds = self.cost(node, costs.deliver_us, pace.own_s)
        seconds += self.cost(node, costs.certify_us, pace.own_s, rows_s)
        seconds += self.cost(node, costs.resume_us, pace.own_s)
        return (Delay("order", self._ordered_s(node, pace)), Work("certification", seconds))

    def beside_s(self, node: int, pace: Pace) -> dict[int, float]:
        """Messages of the order, and what the others apply."""
        costs = self.costs
        size = size_bytes(self.setup)
        others = len(self._members) - 1
        rows_s = _US * row_count(self.setup.workload.classes[0])
        beside = {}
        for member in self._members:
            sent = self.cost(member, costs.send_us, pace.any_s)
            received = self.cost(member, costs.receive_us, pace.any_s)
            if member == node:  # accept and learn to all, acknowledgements and skips from them
                beside[member] = 2.0 * others * (sent + received)
                continue
            messages_s = (1.0 + others) * sent + (2.0 + others - 1.0) * received
            applied_s = costs.apply_row_us * rows_s + costs.byte_ns * 1e-9 * size
            for us in (costs.deliver_us, costs.certify_us, costs.relay_log_us, costs.schedule_us,
                       costs.apply_us, costs.commit_us, costs.binlog_write_us):  # fmt: skip
                applied_s += self.cost(member, us, pace.any_s)
            beside[member] = messages_s + applied_s
        return beside

    def _ordered_s(self, node: int, pace: Pace) -> float:
        """From handing a message over until it is delivered."""
        costs = self.costs
        proposed_s = self.cost(node, costs.propose_us, pace.own_s)
        if len(self._members) == 1:
            return proposed_s
        items = ITEM_BYTES * row_count(self.setup.workload.classes[0])
        message = size_bytes(self.setup) + CONTEXT_BYTES + items
        there = self.hops_s(pace, len(self._members) - 1, costs.byte_ns * 1e-9 * message)
        back = self.hops_s(pace, 1)
        ordered_s = slot_order_s(there, back, node, single_leader=self._single_leader)
        if not self._single_leader:
            ordered_s += self._behind_statistics_s(there, back, node, ordered_s)
        return proposed_s + ordered_s

    def _behind_statistics_s(
        self, there: Delays, back: Delays, node: int, ordered_s: float
    ) -> float:
        """What the statistics of the others hold up, on average.

        A member that has not learned of a message yet sends its statistics in a slot before it.
        """
        held_s = 0.0
        agreed_s = consensus_s(there, back, node)
        told_s = shortest_s(there, node)
        for other in self._members:
            if other != node:
                learned_s = consensus_s(there, back, other) + there[other][node]
                latest_s = agreed_s + told_s[other] + learned_s - ordered_s
                held_s += max(0.0, latest_s) ** 2 / 2.0
        return held_s / float(self.options.flow_control_period)
