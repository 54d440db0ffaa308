"""A source of semi-synchronous replication whose replicas come and go, up to its own end."""

from __future__ import annotations

from typing import Any, ClassVar

from simrep.modelling import Parts
from simrep.models.asynchronous.binary_log import BinaryLog
from simrep.models.asynchronous.changing_source import ChangingSource
from simrep.models.asynchronous.connection import Packet
from simrep.models.mysql.commit import GoOn, Group
from simrep.models.mysql.server import BinlogTransaction

from .acknowledgements import Acknowledgements
from .options import SemisyncCosts, SemisyncOptions
from .source import SemisyncSource

__all__ = ["ChangingSemisyncSource", "ConnectedAcknowledgements"]


class ConnectedAcknowledgements(Acknowledgements):
    """Acknowledgements of replicas that come and go.

    Attributes
    ----------
    clients : int
        Replicas for which there is a dump thread.

    References
    ----------
    plugin/semisync/semisync_source.cc of MySQL 9, add_slave, remove_slave.
    """

    def __init__(self, *args: Any, wait_no_replica: bool = True, **how: Any) -> None:
        super().__init__(*args, wait_no_replica=wait_no_replica, **how)
        self._wait_no_replica = wait_no_replica
        self.clients = 0

    def begin(self, position: int, clients: int) -> None:
        """Its server takes writes from this position on, and has so many replicas."""
        self.written(position)
        self.clients = clients
        if clients < self._count and not self._wait_no_replica:
            self.on = False

    def connected(self) -> None:
        """A dump thread begins."""
        self.clients += 1

    def disconnected(self) -> None:
        """A dump thread has ended."""
        self.clients -= 1
        too_few = self.clients == self._count - 1 and not self._wait_no_replica
        if self.enabled and self.on and too_few:
            self._switch_off()

    def die(self) -> None:
        """The source is gone: nobody waits any more."""
        self.enabled = False
        self._waiters = []

    def counters(self) -> dict[str, float]:
        """See ``Acknowledgements.counters``."""
        counters = super().counters()
        counters["Rpl_semi_sync_source_clients"] = self.clients
        return counters


class ChangingSemisyncSource(ChangingSource, SemisyncSource):
    """See the module.

    A replica that is silent counts as connected, as nobody notices that it is gone but by the
    timeout of a commit that waits for it. What a replica has acknowledged counts when it has gone.
    """

    acknowledgements_kind: ClassVar[type[Acknowledgements]] = ConnectedAcknowledgements
    acknowledgements: ConnectedAcknowledgements

    def __init__(
        self, parts: Parts, options: SemisyncOptions, costs: SemisyncCosts, log: BinaryLog
    ) -> None:
        super().__init__(parts, options, costs, log)
        self._waits_for_replies = self._waiting_dumps is not None
        self._waiting_dumps = None if self._waiting_dumps is None else {}
        self._timed_out = False

    def lead(self) -> None:
        """See ``ChangingSource.lead``: from now on it waits for acknowledgements."""
        super().lead()
        self._timed_out = self.timed_out
        acknowledgements = self._acknowledgements(ConnectedAcknowledgements)
        acknowledgements.begin(self.log.end, len(self._connections))
        self.acknowledgements = acknowledgements

    def succeed(self, before: ChangingSource) -> None:
        """See ``ChangingSource.succeed``."""
        assert isinstance(before, ChangingSemisyncSource)
        self.unacknowledged = before.unacknowledged
        self._timed_out = before.timed_out

    @property
    def timed_out(self) -> bool:
        """Whether it went on because a wait took too long, once in the run."""
        return self._timed_out or super().timed_out

    @property
    def _notes(self) -> bool:
        return self._cluster.trace is not None or self._cluster.timeline is not None

    def _note(self, what: str, position: int) -> None:
        if self._cluster.trace is not None:
            super()._note(what, position)
        if self._cluster.timeline is not None and what in _WORDS:
            self._cluster.timeline.note(self._index, _WORDS[what])

    def die(self) -> None:
        """See ``ChangingSource.die``."""
        self.acknowledgements.die()
        super().die()

    # What a replica applies waits for nobody.

    def after_sync(self, group: Group, go_on: GoOn) -> None:
        """See ``SemisyncSource.after_sync``."""
        if self.leads:
            super().after_sync(group, go_on)
        else:
            go_on(group)

    def after_commit(self, group: Group, go_on: GoOn) -> None:
        """See ``SemisyncSource.after_commit``."""
        if self.leads:
            super().after_commit(group, go_on)
        else:
            go_on(group)

    def _wanted(self, written: BinlogTransaction) -> bool:
        return self.leads and self.acknowledgements.wanted(written.seqno)

    def _dump_begins(self, replica: int) -> None:
        del replica
        self.acknowledgements.connected()

    def _dump_ends(self, replica: int) -> None:
        del replica
        self.acknowledgements.disconnected()

    def _replied(self, packet: Packet) -> None:
        self.receive(packet.content)

    def _read(self, reply: tuple[int, int]) -> None:
        if not self.alive:
            return
        replica, position = reply
        if self.leads:
            self.acknowledgements.report(self._numbers[replica], position)
        if self._waiting_dumps is not None and replica in self._connections:
            self._connections[replica].answered()


_WORDS = {"switched_off": "async", "switched_on": "sync"}
