"""The source of semi-synchronous replication: where commits wait, and who reads the replies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, TypeVar

from simrep.modelling import Lap, Parts, Thread
from simrep.models.asynchronous.ahead import AheadDump, AheadIO
from simrep.models.asynchronous.source import BinlogSource, Dump, StopAndWaitDump
from simrep.models.mysql.commit import GoOn, Group, mark
from simrep.models.mysql.server import BinlogTransaction

from .acknowledgements import Acknowledgements
from .ahead import AheadAcknowledgements, AheadReceiver
from .options import SemisyncCosts, SemisyncOptions

__all__ = ["SemisyncSource"]

A = TypeVar("A", bound=Acknowledgements)

_US: Final = 1e-6
_MS: Final = 1e-3

Wait = tuple[Group, int, GoOn]
"""A group, the first in it that has not been waited for, and where it goes then."""


class SemisyncSource(BinlogSource):
    """Holds up commits until replicas have acknowledged them.

    ========================  ==============================================================
    server, wait point        who waits, and for what
    ========================  ==============================================================
    MySQL 5.5, 5.6            the leader for each of its group, after the engine's commit
    5.7 and later AFTER_SYNC  the leader, under LOCK_commit, for the last of its group
    AFTER_COMMIT              the leader for each of its group, after the engine's commit
    MariaDB, AFTER_SYNC       the leader, under a lock of its own, for each of its group
    AFTER_COMMIT              every transaction for itself, after the engine's commit
    ========================  ==============================================================
    """

    acknowledgements_kind: ClassVar[type[Acknowledgements]] = Acknowledgements

    def __init__(self, parts: Parts, options: SemisyncOptions, costs: SemisyncCosts) -> None:
        cluster, index = parts.cluster, parts.index
        mariadb = options.commit_pipeline == "mariadb"
        self._after_sync = options.wait_point == "AFTER_SYNC"
        self._last_only = self._after_sync and not mariadb
        self._each_for_itself = mariadb and not self._after_sync
        # What goes before a wait: the turn to commit, or what follows the engine's commit.
        self._lap_before = Lap.COMMIT_ORDER if self._after_sync else Lap.COMMIT
        if options.commit_pipeline in {"mysql-5.1", "mysql-5.5"}:
            self._lap_before = Lap.FLUSH
        self._options = options
        self._switch_s = costs.switch_us * _US
        self._waiting_dumps: dict[int, StopAndWaitDump] | None = (
            {} if options.stop_and_wait and options.enabled else None
        )
        super().__init__(parts, options, costs)
        self._reading = self._host.routine(costs.acknowledge_us * _US)
        self._receiver = Thread(self._host)
        self._numbers = {
            replica: number
            for number, replica in enumerate(one for one in range(cluster.size) if one != index)
        }
        self._parts = parts
        self.acknowledgements: Acknowledgements = self._acknowledgements(self.acknowledgements_kind)
        self.unacknowledged = 0  # answered although too few replicas had acknowledged them

    def _acknowledgements(self, kind: type[A]) -> A:
        """Those of replicas of which nothing is known yet."""
        options = self._options
        return self._parts.make(
            kind,
            self._parts.clock,
            replicas=len(self._numbers),
            enabled=options.enabled,
            count=options.wait_for_replica_count,
            timeout_s=options.timeout * _MS,
            wait_no_replica=options.wait_no_replica,
            changed=self._note if self._notes else None,
        )

    @property
    def _notes(self) -> bool:
        """Whether somebody wants to know what is acknowledged."""
        return self._cluster.trace is not None

    def _note(self, what: str, position: int) -> None:
        assert self._cluster.trace is not None
        self._cluster.trace.record(self._index, what, position)

    # -- the points of a commit --------------------------------------------------------------------

    def after_flush(self, group: Group) -> None:
        """See ``CommitHooks.after_flush``."""
        super().after_flush(group)
        self.acknowledgements.written(self.commits)

    def after_sync(self, group: Group, go_on: GoOn) -> None:
        """Row locks and the lock of the pipeline's stage are held while the group waits here."""
        if self._after_sync:
            self._hold(group, len(group) - 1 if self._last_only else 0, go_on)
        else:
            go_on(group)

    def after_commit(self, group: Group, go_on: GoOn) -> None:
        """Others see the group already, and have its rows; only its own clients wait here."""
        if self._after_sync:
            go_on(group)
        elif self._each_for_itself:
            for entry in group:
                self._hold([entry], 0, go_on)
        else:
            self._hold(group, 0, go_on)

    def _hold(self, group: Group, first: int, go_on: GoOn) -> None:
        mark(group, self._lap_before, self._host.clock.now)
        self._wait((group, first, go_on))

    def _wait(self, wait: Wait) -> None:
        """Wait for one transaction after the other, and let the group go on."""
        group, first, go_on = wait
        for number in range(first, len(group)):
            position = group[number].seqno
            if self.acknowledgements.wait(position, self._wake, (group, number + 1, go_on)):
                group[0].sleeper = self._host.doze()
                return
        mark(group, Lap.ACKNOWLEDGEMENT, self._host.clock.now)
        go_on(group)

    def _wake(self, wait: Wait) -> None:
        self._host.rouse(wait[0][0].sleeper, self._switch_s, self._wait, wait)

    def answered(self, entry: BinlogTransaction) -> None:
        """See ``BinlogHooks.answered``."""
        super().answered(entry)
        if entry.seqno > self.acknowledgements.decided:
            self.acknowledgements.know()
            if entry.seqno > self.acknowledgements.decided:
                self.unacknowledged += 1
        if self._cluster.trace is not None:
            self._note("answer", entry.seqno)

    # -- to and from the replicas ------------------------------------------------------------------

    def work_ahead(self, replicas: Mapping[int, AheadIO], *, quiet: bool) -> None:
        """See ``BinlogSource.work_ahead``."""
        links = {node: self._cluster.network.direct(node, self._index) for node in replicas}
        acknowledgements = self._acknowledgements(AheadAcknowledgements)
        self._replies = AheadReceiver(
            self._host,
            acknowledgements,
            self._reading.seconds,
            {node: link for node, link in links.items() if link is not None},
            self._numbers,
        )
        self.acknowledgements = acknowledgements
        super().work_ahead(replicas, quiet=quiet)

    def _dump_ahead(self, replica: int, thread: AheadIO) -> Dump:
        thread.answer(self._replies)
        sending = self._host.routine(self._send_s)
        link = self._cluster.network.direct(self._index, replica)
        assert link is not None
        return AheadDump(self._host, sending, link, thread, self._replies)

    def _dump(self, replica: int) -> Dump:
        if self._waiting_dumps is None:
            return super()._dump(replica)
        sending = self._host.routine(self._send_s)
        dump = StopAndWaitDump(self._host, sending, self._transmit, replica)
        self._waiting_dumps[replica] = dump
        return dump

    def _transmit(self, replica: int, written: BinlogTransaction) -> bool:
        """Send a transaction, and with it whether its receipt is to be acknowledged."""
        wanted = self.acknowledgements.wanted(written.seqno)
        cluster = self._cluster
        cluster.network.send(
            self._index, replica, written.size_bytes, (written, wanted), cluster.clock.now
        )
        return wanted

    def receive(self, reply: tuple[int, int]) -> None:
        """A replica has acknowledged: (its position in the cluster, position in the binary log)."""
        if self._waiting_dumps is None:
            self._receiver.do(self._reading.cost(), self._read, reply)
        else:
            self._reading.run(self._read, reply)

    def _read(self, reply: tuple[int, int]) -> None:
        replica, position = reply
        self.acknowledgements.report(self._numbers[replica], position)
        if self._waiting_dumps is not None:
            self._waiting_dumps[replica].answered()

    @property
    def timed_out(self) -> bool:
        """Whether it went on because a wait took too long."""
        return self.acknowledgements.timeouts > 0

    @property
    def why_alone(self) -> str:
        """Why commits are on the source alone."""
        if not self.timed_out:
            return "there are too few replicas, so the source replicates asynchronously"
        return (
            f"acknowledgements took longer than {self._options.timeout:g} ms, so the source went "
            "on asynchronously"
        )

    def set_options(self, options: SemisyncOptions) -> None:
        """Options are set while it runs; also for the time when it has become the source."""
        self._options = options
        self.acknowledgements.set_options(options.wait_for_replica_count, options.timeout * _MS)

    def counters(self) -> dict[str, Any]:
        """Status variables, and one more that no server has."""
        return {**self.acknowledgements.counters(), "Unacknowledged_commits": self.unacknowledged}
