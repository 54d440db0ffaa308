"""The ``[[backup]]`` table: a copy of all data of a running server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field, model_validator

from simrep.errors import ScenarioError
from simrep.scenario.operation import OperationTable, OperationWord
from simrep.scenario.table import Bandwidth, DataBytes, Name

__all__ = ["BackupLock", "BackupMethod", "BackupTable"]

BackupMethod = Literal["mariabackup", "xtrabackup", "clone", "dump", "rsync"]
BackupLock = Literal["none", "end", "whole"]

_LOCKS: dict[BackupMethod, BackupLock] = {
    "mariabackup": "end",
    "xtrabackup": "none",
    "clone": "none",
    "dump": "none",
    "rsync": "whole",
}
_MEGABYTE = 1e6
_BYTES_PER_MBIT = 1e6 / 8


class BackupTable(OperationTable):
    """A ``[[backup]]``: a tool reads all data of a server, and writes them elsewhere."""

    node: Name = Field(description="the node that is backed up")
    method: BackupMethod = Field(
        "mariabackup",
        description="mariabackup and xtrabackup copy the files; clone has the server send its "
        "pages; dump reads all rows in one thread (mysqldump --single-transaction); rsync copies "
        "files under FLUSH TABLES WITH READ LOCK",
    )
    lock: BackupLock | None = Field(
        None,
        description="when the server stands still for it: not at all, at the end (BACKUP STAGE "
        "BLOCK_DDL and further), or as long as it runs (FLUSH TABLES WITH READ LOCK, as with "
        "mysqldump --lock-all-tables); default: mariabackup end, rsync whole, others none",
    )
    bytes: DataBytes | None = Field(
        None, description="what is copied; default: all data, cluster.data_bytes"
    )
    locked_bytes: DataBytes | None = Field(
        None,
        description="what is copied while the server stands still at the end: files of tables "
        "without transactions and of definitions, and the last of the redo log",
    )
    read_mb_per_s: Bandwidth | None = Field(
        None,
        description="how fast the disk reads in order if nobody else wants it, in megabytes per "
        "second; of dump: how fast its one thread on the server goes through rows; it has no "
        "default",
    )
    limit_mb_per_s: Bandwidth | None = Field(
        None, description="no more than so much is read per second (mariabackup --throttle)"
    )
    network_mbit_per_s: Bandwidth | None = Field(
        None, description="no more than so much is sent, in megabits per second"
    )
    to: Name | None = Field(
        None,
        description="the node to whose machine it is sent, over their link; default: elsewhere, "
        "by a way that the cluster does not use",
    )
    ratio: float = Field(
        1.0, ge=1, le=100, description="how many times smaller than what is read it is when sent"
    )
    cpu_ns_per_byte: float | None = Field(
        None,
        ge=0,
        le=10_000,
        description="work of one thread on the server for each byte, as for compressing: about 2 "
        "(lz4) to 30 (gzip); default: none; of dump what read_mb_per_s says",
    )
    desync: bool = Field(
        False, description="the node is out of flow control as long as it runs (wsrep_desync)"
    )

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if self.read_mb_per_s is None:
            raise ScenarioError(
                "read_mb_per_s",
                f"is needed: no machine tells how fast {self.node!r} reads, and so how long a "
                "backup takes",
                "measure it: fio --rw=read --bs=1M --direct=1, or a backup that you have made",
            )
        if self.locks == "end" and self.locked_bytes is None:
            raise ScenarioError(
                "locked_bytes",
                "is needed: how long the server stands still at the end hangs on it",
                "measure it: du -cb of *.frm, *.MA?, *.MY? and *.CS? in the data directory",
            )
        if self.locks != "end" and self.locked_bytes is not None:
            raise ScenarioError("locked_bytes", 'only goes with lock = "end"')
        if self.method == "dump" and self.cpu_ns_per_byte is not None:
            raise ScenarioError("cpu_ns_per_byte", "of dump follows from read_mb_per_s")
        if self.to == self.node:
            raise ScenarioError("to", f"is the node that is backed up, given {self.to!r}")
        return self

    @property
    def what(self) -> OperationWord:
        """See ``OperationTable.what``."""
        return "backup"

    @property
    def text(self) -> str:
        """See ``OperationTable.text``."""
        return f"backup by {self.method}"

    @property
    def locks(self) -> BackupLock:
        """When the server stands still for it."""
        return _LOCKS[self.method] if self.lock is None else self.lock

    @property
    def reads_rows(self) -> bool:
        """Whether a thread of the server goes through all rows; else files are read."""
        return self.method == "dump"

    @property
    def cpu_byte_s(self) -> float:
        """Work on the server for each byte, in seconds."""
        if self.reads_rows:
            return self._read_byte_s
        return (self.cpu_ns_per_byte or 0.0) * 1e-9

    @property
    def disk_byte_s(self) -> float:
        """How long the disk takes for each byte, in seconds."""
        return 0.0 if self.reads_rows else self._read_byte_s

    @property
    def _read_byte_s(self) -> float:
        assert self.read_mb_per_s is not None
        return 1.0 / (self.read_mb_per_s * _MEGABYTE)

    @property
    def least_byte_s(self) -> float:
        """No byte follows another sooner, in seconds: the limits that it was given."""
        read_s = 0.0 if self.limit_mb_per_s is None else 1.0 / (self.limit_mb_per_s * _MEGABYTE)
        return max(read_s, self.sent_byte_s / self.ratio)

    @property
    def sent_byte_s(self) -> float:
        """The same of the bytes that are sent."""
        if self.network_mbit_per_s is None:
            return 0.0
        return 1.0 / (self.network_mbit_per_s * _BYTES_PER_MBIT)

    def on(self, names: Sequence[str], arbitrators: Sequence[str] = ()) -> tuple[str, ...]:
        """See ``OperationTable.on``."""
        del names, arbitrators
        return (self.node,)

    def further(self) -> tuple[str, ...]:
        """See ``OperationTable.further``."""
        return () if self.to is None else (self.to,)

    def size_bytes(self, data_bytes: float) -> float:
        """How much is copied of a server with so much data."""
        return data_bytes if self.bytes is None else float(self.bytes)
