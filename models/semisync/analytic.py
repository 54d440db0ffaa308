"""Semi-synchronous replication in closed form: the k-th fastest acknowledgement, and who holds up.

=====================  =====================================================================
server, wait point     what clients wait for
=====================  =====================================================================
MySQL 5.5, 5.6         their turn: one transaction per acknowledgement
5.7 AFTER_SYNC         their own acknowledgement, and that of the last of their group
5.7 AFTER_COMMIT       their own acknowledgement
MariaDB, AFTER_SYNC    the group before theirs, and their own: at most about two round trips
MariaDB, AFTER_COMMIT  their own acknowledgement
=====================  =====================================================================
"""

from __future__ import annotations

from collections.abc import Iterator

from simrep.modelling import Setup
from simrep.modelling.closed_form import Delay, Pace, Release, Step, Turns, kth_fastest
from simrep.models.asynchronous.analytic import AsynchronousForm
from simrep.models.asynchronous.source import SOURCE
from simrep.models.mysql.analytic import size_bytes

__all__ = ["SemisyncForm"]

_US = 1e-6
_MS = 1e-3
_ACKNOWLEDGEMENT = "acknowledgement"


class SemisyncForm(AsynchronousForm):
    """See the table above."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._replicas = [other for other in range(len(setup.placement)) if other != SOURCE]
        self._waits = self.options.enabled and bool(self._replicas)

    def doubts(self) -> Iterator[str]:
        """See ``ClosedForm.doubts``."""
        yield from super().doubts()
        options = self.options
        if not options.enabled:
            return
        if options.wait_for_replica_count > len(self._replicas):
            yield "more acknowledgements are wanted than there are replicas"
            return
        alone = Pace(1.0, 1.0, 1, {SOURCE: 1.0})
        if self._waits and self._acknowledged_s(alone) > options.timeout * _MS:
            yield "acknowledgements take longer than the timeout: the source becomes asynchronous"

    def held_s(self, node: int, pace: Pace) -> float:
        """MariaDB holds up the group after the next until one is acknowledged."""
        mariadb = self.options.commit_pipeline == "mariadb"
        if self._waits and mariadb and self.options.wait_point == "AFTER_SYNC":
            return self._acknowledged_s(pace)
        return 0.0

    def each_held_s(self, node: int, pace: Pace) -> float:
        """MySQL 5.6 answers a group when one after the other has been acknowledged."""
        if self._waits and self.options.commit_pipeline == "mysql-5.6":
            return self._acknowledged_s(pace)
        return 0.0

    def after_commit(self, node: int, pace: Pace) -> tuple[Step, ...]:
        """An acknowledgement of one's own, or one's turn to be sent."""
        if not self._waits:
            return ()
        if self.options.commit_pipeline == "mysql-5.6":
            return ()
        if self.options.stop_and_wait:
            return (Turns(_ACKNOWLEDGEMENT, self._acknowledged_s(pace)),)
        if self.options.wait_point == "AFTER_SYNC":
            if self.options.commit_pipeline == "mariadb":
                return ()
            return (Release(_ACKNOWLEDGEMENT, self._acknowledged_s(pace)),)
        # It is on its way while the engine commits.
        left_s = self._acknowledged_s(pace) - self.cost(node, self.costs.commit_us, pace.own_s)
        return (Delay(_ACKNOWLEDGEMENT, max(0.0, left_s)),)

    def _acknowledged_s(self, pace: Pace) -> float:
        """From when the dump threads may read a transaction until its thread goes on."""
        costs, size = self.costs, size_bytes(self.setup)
        pause_s = pace.own_s
        paths = self.setup.paths
        trips = []
        for replica in self._replicas:
            there, back = paths[SOURCE, replica], paths[replica, SOURCE]
            trips.append(
                self.cost(SOURCE, costs.send_us, pause_s)
                + there.latency.base_s
                + self.cost(replica, costs.receive_us, pause_s, costs.byte_ns * 1e-9 * size)
                + self.cost(replica, costs.reply_us, pause_s)
                + back.latency.base_s
                + self.cost(SOURCE, costs.acknowledge_us, pause_s)
                + 3.0 * self.wake_s(replica)
            )
        fastest_s = kth_fastest(trips, int(self.options.wait_for_replica_count))
        return fastest_s + float(costs.switch_us) * _US
