"""What operators do to a running Galera server: locks, leaving flow control, backups.

``FLUSH TABLES WITH READ LOCK`` takes its node out of flow control, like a donor, and then stops it:
it waits in the local monitor until all that is ordered before is committed. Nothing is certified
from there on, so that clients who commit wait, too. What is ordered meanwhile stays in the receive
queue, and is applied when the lock is given back; the node is JOINED then, and its queue may be as
long as it is, and shrinks. Servers that do not leave flow control (``ftwrl_desyncs``) stop the
whole cluster as soon as the queue is too long. The last lock of a backup by ``mariabackup``
(``BACKUP STAGE BLOCK_DDL``) does the same without keeping anybody from beginning to write.

References
----------
codership/wsrep-lib ``server_state.cpp``, ``desync_and_pause``; codership/galera
``replicator_smm.cpp``, ``pause``; ``gcs_group.cpp``, ``gcs_group_handle_state_request``; MariaDB
``sql/lock.cc``, ``sql/backup.cc``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, Final

from simrep.modelling import Cluster, Operation, OperationWord, ScenarioError
from simrep.models.mysql.maintenance import copying_of

from .options import GaleraCosts, GaleraOptions
from .returning_node import ReturningNode
from .server import GaleraServer
from .table_locks import TableLock

__all__ = ["OPERATIONS", "Maintenance"]


@dataclass(frozen=True, slots=True)
class _Site:
    """Where it happens."""

    cluster: Cluster
    options: GaleraOptions
    costs: GaleraCosts

    def note(self, index: int, what: str, how: str = "") -> None:
        """A line of the time line."""
        if self.cluster.timeline is not None:
            self.cluster.timeline.note(index, what, (), how)


class _Work:
    """Something that is done on a server, and taken back if that still runs.

    Parameters
    ----------
    site : _Site
    server : GaleraServer
    told : OperationTable
        What the scenario says of it.
    """

    def __init__(self, site: _Site, server: GaleraServer, told: Any) -> None:
        node = server.node
        assert isinstance(node, ReturningNode)
        assert server.tables is not None
        self._server, self._node, self._tables = server, node, server.tables
        self._site, self._told = site, told
        self._cluster, self._options = site.cluster, site.options
        self._note = partial(site.note, node.index)

    def begin(self) -> None:
        """Do it."""

    def end(self) -> None:
        """Take it back."""

    def over(self, _: Any) -> None:
        """Take it back, if the server is still there."""
        if self._node.alive:
            self.end()


class _TableLock(_Work):
    """``LOCK TABLES``."""

    def begin(self) -> None:
        """See ``_Work.begin``."""
        self._lock = TableLock(not self._told.shared, self._told.classes)
        self._tables.lock(self._lock, self._server.open, self._granted)

    def _granted(self) -> None:
        self._note("locked", self._told.text)

    def end(self) -> None:
        """See ``_Work.end``."""
        self._tables.unlock(self._lock)
        self._note("unlocked", self._told.text)


class _Pause:
    """Have a node stand still, out of flow control if its version can; ``call()`` when it does."""

    def __init__(
        self,
        node: ReturningNode,
        *,
        desyncs: bool,
        note: Callable[..., object],
        call: Callable[[], object],
    ) -> None:
        self._node, self._note, self._call = node, note, call
        self._out = self._paused = self._ends = False
        if desyncs:
            node.desync(self._desynced)
        else:
            self._stop()

    def _desynced(self, may: bool) -> None:
        self._out = may  # if not, it stands still all the same
        self._stop()

    def _stop(self) -> None:
        position = self._node.certifier.ordered
        self._node.stand_still(position)
        self._node.apply_monitor.when_left(position, self._stands, None)

    def _stands(self, _: None) -> None:
        if not self._node.alive:
            return
        self._paused = True
        self._note("paused")
        self._call()
        if self._ends:
            self.end()

    def end(self) -> None:
        """Let it go on; as soon as it stands still, if it does not yet."""
        self._ends = True
        if not self._paused:
            return
        self._paused = False
        self._note("resumed")
        self._node.go_on()
        if self._out:
            self._node.resync()


class _ReadLock(_Work):
    """``FLUSH TABLES WITH READ LOCK``."""

    stands: Callable[[], object] | None = None  # called when it is granted

    def begin(self) -> None:
        """See ``_Work.begin``."""
        self._lock = TableLock(reads=False)
        self._tables.close(self._lock)
        self._pause = _Pause(
            self._node, desyncs=self._options.ftwrl_desyncs, note=self._note, call=self._stands
        )

    def _stands(self) -> None:
        if self.stands is not None:
            self.stands()

    def end(self) -> None:
        """See ``_Work.end``."""
        self._pause.end()
        self._tables.unlock(self._lock)


class _Desync(_Work):
    """``wsrep_desync``."""

    _out = False

    def begin(self) -> None:
        """See ``_Work.begin``."""
        self._node.desync(self._desynced)

    def _desynced(self, may: bool) -> None:
        self._out = may
        if not may:
            self._note("refused", f"{self._told.text}: it is not synced")

    def end(self) -> None:
        """See ``_Work.end``."""
        if self._out:
            self._node.resync()


class _Backup(_Work):
    """A backup by a tool."""

    def begin(self) -> None:
        """See ``_Work.begin``."""
        self._note("backup-begins", self._told.method)
        if self._told.desync:
            self._desync = _Desync(self._site, self._server, self._told)
            self._desync.begin()
        if self._told.locks == "whole":
            self._lock = _ReadLock(self._site, self._server, self._told)
            self._lock.stands = self._copy
            self._lock.begin()
        else:
            self._copy()

    def _copy(self) -> None:
        cluster, told, node = self._cluster, self._told, self._node
        self._copying = copying_of(
            cluster,
            node.index,
            told,
            page_read_us=cluster.costs_of(node.index, self._site.costs).page_read_us,
            pool_bytes=self._options.innodb_buffer_pool_size or 0,
            goes_on=lambda: node.alive,
        )
        self._copying.copy(told.size_bytes(cluster.data_bytes), self._copied)

    def _copied(self) -> None:
        if self._told.locks == "end":
            self._note("backup-copied")
            self._pause = _Pause(self._node, desyncs=True, note=self._note, call=self._copy_locked)
        else:
            self._done()

    def _copy_locked(self) -> None:
        self._copying.copy(self._told.locked_bytes, self._done)

    def _done(self) -> None:
        if not self._node.alive:
            return
        if self._told.locks == "end":
            self._pause.end()
        elif self._told.locks == "whole":
            self._lock.end()
        if self._told.desync:
            self._desync.end()
        self._note("backup-ends", self._told.name or self._told.path)


class _TableChange(_Work):
    """``ALTER TABLE`` and its like, which end by themselves."""

    then: Callable[[], object] | None = None  # called when its node is synced again (RSU)

    def begin(self) -> None:
        """See ``_Work.begin``."""
        told = self._told
        if not told.compatible and told.method != "RSU":
            raise ScenarioError(
                f"{told.path}.compatible",
                "changes nothing: in total order all rows come before the statement or after it",
                "leave it out, or set method = 'RSU'",
            )
        if told.method == "NBO":
            path, given = f"{told.path}.method", "given 'NBO'"
            if not self._options.non_blocking_operations:
                raise ScenarioError(
                    path,
                    f"this version has no non-blocking operations, {given}",
                    "PXC 8.0 has them: cluster.version = 'pxc-8.0'",
                )
            if told.kind == "instant":
                raise ScenarioError(
                    path,
                    f"needs a statement that shares or locks its table, {given} with "
                    "kind = 'instant'",
                    "an instant statement holds nobody up for long: leave method out",
                )
        assert self._server.changes is not None
        self._server.changes.begin(told, self.then)


_WORKS: Mapping[OperationWord, type[_Work]] = {
    "lock-tables": _TableLock,
    "flush-tables-with-read-lock": _ReadLock,
    "desync": _Desync,
    "backup": _Backup,
}
OPERATIONS: Final = frozenset({*_WORKS, "ddl"})
"""What is done here, by the words of a scenario."""


class Maintenance:
    """Does what operators do to the servers of a cluster."""

    def __init__(
        self,
        cluster: Cluster,
        options: GaleraOptions,
        costs: GaleraCosts,
        servers: Mapping[int, GaleraServer],
    ) -> None:
        self._site = _Site(cluster, options, costs)
        self._servers = servers

    def operate(self, operation: Operation) -> None:
        """Do it now, and take it back at its end."""
        site, told = self._site, operation.told
        for index in self._servers:
            self._listen(index)
        if operation.what == "ddl":
            self._change_tables(operation, 0)
            return
        for index in operation.nodes:
            if self._serves(index, told):
                work = _WORKS[operation.what](site, self._servers[index], told)
                work.begin()
                if told.end_s < inf:
                    site.cluster.clock.at(told.end_s, work.over, None)

    def _change_tables(self, operation: Operation, place: int) -> None:
        """One node after the other; who is refused, or fails, is the last."""
        index = operation.nodes[place]
        if self._serves(index, operation.told):
            work = _TableChange(self._site, self._servers[index], operation.told)
            if place + 1 < len(operation.nodes):
                work.then = partial(self._change_tables, operation, place + 1)
            work.begin()

    def _serves(self, index: int, told: Any) -> bool:
        server = self._servers[index]
        serves = server.node.alive and server.serves
        if not serves:
            self._site.note(index, "refused", f"{told.text}: it serves nobody")
        return serves

    def _listen(self, index: int) -> None:
        """From now on, stops of flow control are told."""
        node = self._servers[index].node
        assert isinstance(node, ReturningNode)
        node.flow_control.told = partial(self._site.note, index)
