"""A source and replicas that follow it, in closed form: what its clients wait for, and no more."""

from __future__ import annotations

from collections.abc import Iterator

from simrep.modelling.closed_form import Pace, row_count
from simrep.models.mysql.analytic import ServerForm, size_bytes

__all__ = ["AsynchronousForm"]

_US = 1e-6


class AsynchronousForm(ServerForm):
    """Nothing waits for a replica; replicas cost CPU, which matters on a machine they share."""

    def doubts(self) -> Iterator[str]:
        """See ``ClosedForm.doubts``."""
        yield from super().doubts()
        if self.options.commit_pipeline == "mysql-5.7" and len(set(self.setup.placement)) < len(
            self.setup.placement
        ):
            yield "appliers that wait busily on a machine that they share with the source"

    def notes(self) -> Iterator[str]:
        """See ``ClosedForm.notes``."""
        yield from super().notes()
        yield "how far replicas fall behind is not looked at"

    def beside_s(self, node: int, pace: Pace) -> dict[int, float]:
        """The dump threads, and what replicas do."""
        costs, size = self.costs, size_bytes(self.setup)
        replicas = [other for other in range(len(self.setup.placement)) if other != node]
        pause_s = pace.any_s
        applied_s = self.cost(node, costs.receive_us, pause_s, costs.byte_ns * 1e-9 * size)
        for us in (costs.schedule_us, costs.apply_us, costs.commit_us):
            applied_s += self.cost(node, us, pause_s)
        applied_s += costs.apply_row_us * _US * row_count(self.setup.workload.classes[0])
        if self.options.log_replica_updates:
            more_s = costs.binlog_byte_ns * 1e-9 * size
            applied_s += self.cost(node, costs.binlog_write_us, pause_s, more_s)
        beside = dict.fromkeys(replicas, applied_s)
        beside[node] = len(replicas) * self.cost(node, costs.send_us, pause_s)
        return beside
