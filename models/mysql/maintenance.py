"""What operators do to a running server: locks of tables, and backups.

``LOCK TABLES`` waits for the transactions that use the tables, and has clients and appliers wait.
``FLUSH TABLES WITH READ LOCK`` stops all that write (``global_read_lock``), for as long as a backup
by ``rsync`` runs. ``mariabackup`` does so with commits alone, while it copies the last of the log
(``BACKUP STAGE BLOCK_COMMIT``); ``xtrabackup`` and clone let commits go on
(``LOCK INSTANCE FOR BACKUP``). On a replica appliers stop, and it is late; the receiver goes on,
and acknowledges.

References
----------
sql/lock.cc and sql/sql_reload.cc of MySQL 8.4; sql/backup.cc of MariaDB 11.8.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any, Final

from simrep.modelling import (
    BulkStream,
    Claim,
    Cluster,
    CopyCosts,
    Copying,
    Operation,
    OperationWord,
    Program,
)

from .ending_server import EndingServer
from .global_read_lock import Freeze

__all__ = ["MAINTENANCE", "copying_of", "maintain"]

MAINTENANCE: Final[frozenset[OperationWord]] = frozenset(
    {"lock-tables", "flush-tables-with-read-lock", "backup"}
)
"""What is done here, by the words of a scenario."""

_PAGE_BYTES: Final = 16 << 10


def copying_of(
    cluster: Cluster,
    node: int,
    told: Any,
    *,
    page_read_us: float,
    pool_bytes: float,
    goes_on: Callable[[], bool],
) -> Copying:
    """The copy that a backup makes of the data of a node.

    Parameters
    ----------
    cluster : Cluster
    node : int
    told : BackupTable
    page_read_us : float
        What it takes to read a page that is not in the buffer pool, in microseconds.
    pool_bytes : float
        Size of that pool.
    goes_on : callable
        Whether the server is still there.
    """
    disk_byte_s = told.disk_byte_s
    if told.reads_rows and node in cluster.pools:
        missing = 1.0 - pool_bytes / cluster.data_bytes
        disk_byte_s = missing * page_read_us * 1e-6 / _PAGE_BYTES
    stream = None
    if told.to is not None:
        target = cluster.names.index(told.to)
        stream = BulkStream(cluster.clock, cluster.network, node, target)
    return Copying(
        cluster.clock,
        cluster.hosts[node],
        cluster.data_disk(node),
        CopyCosts(disk_byte_s, (Program(told.cpu_byte_s),), told.least_byte_s, told.ratio),
        stream,
        goes_on,
    )


def maintain(cluster: Cluster, server: EndingServer, operation: Operation, costs: Any) -> None:
    """Do it now, and take it back at its end.

    Parameters
    ----------
    cluster : Cluster
    server : EndingServer
    operation : Operation
    costs : ServerCosts
        Of that server.
    """
    told = operation.told
    note = partial(_note, cluster, server.index)
    if not server.alive:
        note("refused", f"{told.text}: it serves nobody")
        return
    end: Callable[[], object]
    if operation.what == "lock-tables":
        end = _lock_tables(server, told, note)
    elif operation.what == "backup":
        end = _Backup(cluster, server, told, note, costs).begin()
    else:
        end = _read_lock(server, told, note)
    if told.end_s < inf:
        cluster.clock.at(told.end_s, lambda _: end() if server.alive else None)


def _note(cluster: Cluster, node: int, what: str, how: str = "") -> None:
    if cluster.timeline is not None:
        cluster.timeline.note(node, what, (), how)


def _lock_tables(server: EndingServer, told: Any, note: Callable[..., None]) -> Callable[[], None]:
    tables = server.tables
    assert tables is not None
    claim = Claim(told.classes)
    tables.lock(claim, told.text, shared=told.shared, call=lambda: note("locked", told.text))

    def end() -> None:
        tables.unlock(claim)
        note("unlocked", told.text)

    return end


def _read_lock(server: EndingServer, told: Any, note: Callable[..., None]) -> Callable[[], None]:
    stops = server.read_lock
    assert stops is not None
    freeze = Freeze(told.text)
    stops.lock(freeze, lambda: note("locked", told.text))

    def end() -> None:
        stops.unlock(freeze)
        note("unlocked", told.text)

    return end


class _Backup:
    """A backup by a tool."""

    def __init__(
        self,
        cluster: Cluster,
        server: EndingServer,
        told: Any,
        note: Callable[..., None],
        costs: Any,
    ) -> None:
        assert server.read_lock is not None
        self._cluster, self._server, self._told, self._note = cluster, server, told, note
        self._stops = server.read_lock
        self._freeze = Freeze(told.text, writes=told.locks == "whole")
        self._copying = copying_of(
            cluster,
            server.index,
            told,
            page_read_us=costs.page_read_us,
            pool_bytes=server.pool_bytes or 0.0,
            goes_on=lambda: server.alive,
        )

    def begin(self) -> Callable[[], object]:
        """Begin; what is returned does nothing, as it ends by itself."""
        self._note("backup-begins", self._told.method)
        if self._told.locks == "whole":
            self._stops.lock(self._freeze, self._copy)
        else:
            self._copy()
        return lambda: None

    def _copy(self) -> None:
        if self._told.locks == "whole":
            self._note("paused")
        size_bytes = self._told.size_bytes(self._cluster.data_bytes)
        self._copying.copy(size_bytes, self._copied)

    def _copied(self) -> None:
        if self._told.locks == "end" and self._server.alive:
            self._note("backup-copied")
            self._stops.lock(self._freeze, self._copy_locked)
        else:
            self._done()

    def _copy_locked(self) -> None:
        self._note("paused")
        self._copying.copy(self._told.locked_bytes, self._done)

    def _done(self) -> None:
        if not self._server.alive:
            return
        if self._told.locks != "none":
            self._stops.unlock(self._freeze)
            self._note("resumed")
        self._note("backup-ends", self._told.name or self._told.path)
