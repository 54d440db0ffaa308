"""A load of an experiment: which statements are submitted, by what, and how many."""

from __future__ import annotations

import random
import string
from typing import Literal, Self

from pydantic import Field, model_validator

from simrep.errors import ScenarioError
from simrep.rig.faults import ClientGroup, RigFault
from simrep.rig.layout import FileName
from simrep.rig.transactions import Statement
from simrep.scenario.ddl import DdlTable
from simrep.scenario.maintenance import MaintenanceTable
from simrep.scenario.proxy import ProxyTable
from simrep.scenario.table import (
    Cores,
    Count,
    Interval,
    Name,
    Rows,
    Table,
    TableRows,
    Transactions,
    Whole,
)

__all__ = ["STALL_WINDOW_S", "LargeTransaction", "Load", "statement", "statement_bytes"]

Tool = Literal["slap", "sysbench", "driver"]
Script = Literal["oltp_insert", "oltp_update_index", "oltp_read_write"]

_ARGUMENT_BYTES = 100_000
"""Linux allows 128 KiB for one argument of a program."""
STALL_WINDOW_S = 0.2
"""Stalls beside a large transaction are counted in such windows."""
_PACKET_BYTES = 16_000_000
"""MariaDB takes 16 MiB in one packet."""
_MOST_THREADS = 500
"""Servers take 600 connections."""
_SHORT = "insert into inserts set a='fooBa'"
_VALUES = "insert into inserts (a) values "
_BELONGS = {
    "insert": ("rows", "value_bytes"),
    "update": ("existing_rows",),
    "sysbench": ("script", "tables", "table_rows"),
    "driver": ("processes", "retry", "large"),
}
"""Keys that only loads of a kind or of a tool have."""


class LargeTransaction(Table):
    """A ``[load.large]``: one UPDATE of all rows of a large table, beside the load."""

    rows: Rows = Field(2_000_000, description="rows of the large table")
    value_bytes: Count = Field(60, le=255, description="text of a row")
    after_s: Interval = Field(8.0, description="it begins so long after the load")
    rest_s: Interval = Field(4.0, description="the load goes on so long after it is everywhere")
    fragment_unit: Literal["bytes", "rows", "statements"] = Field(
        "bytes", description="Galera: wsrep_trx_fragment_unit of its session"
    )
    fragment_size: Whole = Field(
        0,
        le=2147483647,
        description="Galera: wsrep_trx_fragment_size of its session; 0 is without streaming",
    )

    @property
    def streams(self) -> bool:
        """Whether its session says how it is cut into fragments."""
        return bool(self.model_fields_set & {"fragment_unit", "fragment_size"})


class Load(Table):
    """A ``[[load]]``: autocommit statements, or the transactions of a script of sysbench."""

    name: FileName = Field(description="as grids and the data name it")
    title: str = Field("", description="for people")
    tool: Tool = Field(
        "driver",
        description="slap: mariadb-slap or mysqlslap; driver: the rig's own, which records every "
        "transaction",
    )
    kind: Literal["insert", "update"] = Field(
        "insert", description="insert: new rows; update: one of the rows that exist"
    )
    rows: Rows = Field(1, description="insert: rows of each statement")
    value_bytes: Count = Field(5, le=2000, description="insert: text of each row")
    existing_rows: Count = Field(
        10, le=100_000, description="update: rows of the table, chosen with equal probability"
    )
    script: Script | None = Field(None, description="sysbench: which of its scripts")
    tables: Count = Field(4, le=10_000, description="sysbench: number of tables")
    table_rows: TableRows = Field(1000, description="sysbench: rows of each table")
    threads: Count = Field(
        1, le=_MOST_THREADS, description="clients in all, or connections of an open loop"
    )
    nodes: tuple[Name, ...] = Field(
        ("n1",), min_length=1, description="clients are connected to these in turn"
    )
    transactions: Transactions | None = Field(
        None, description="in all; every client submits floor(transactions / threads)"
    )
    per_client: Transactions | None = Field(None, description="transactions of every client")
    duration_s: Interval | None = Field(None, description="ends after so long")
    rate_tps: float = Field(
        0.0,
        strict=True,
        ge=0,
        le=1e6,
        allow_inf_nan=False,
        description="open loop: Poisson arrivals a second over all nodes; 0: closed loop",
    )
    retry: bool = Field(
        False, strict=True, description="driver: a deadlocked transaction is submitted again"
    )
    processes: Cores = Field(2, description="driver: its clients are spread over so many")
    large: LargeTransaction | None = Field(
        None, description="driver: a large transaction beside the load, which lasts as long"
    )
    group: tuple[ClientGroup, ...] = Field(
        (),
        description="of a load with faults: clients that go on whatever happens; default: a group "
        "of writers on each of `nodes`, A, B, ..., of `threads` in all",
    )
    fault: tuple[RigFault, ...] = Field(
        (), description="what is broken in this load, beside the faults of the experiment"
    )
    data_mb: Rows | None = Field(
        None,
        description="of a load with faults: about so much data on every node, for its "
        "transfer to count",
    )
    proxy: ProxyTable | None = Field(
        None, description="of galera: HAProxy, by which all clients connect, as a scenario's"
    )
    maintenance: tuple[MaintenanceTable, ...] = Field(
        (), description="locks and desync on a running server, as in a scenario"
    )
    ddl: tuple[DdlTable, ...] = Field(
        (),
        description="statements that change a table which no client uses, as a scenario's "
        "`[[workload.ddl]]` with `class = []`",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        ends = {
            name: getattr(self, name)
            for name in ("transactions", "per_client", "duration_s", "large")
            if getattr(self, name) is not None
        }
        if len(ends) != 1:
            given = ", ".join(ends) or "none"
            raise ScenarioError(
                "", f"give one of transactions, per_client, duration_s or large, given {given}"
            )
        self._check_keys()
        if (self.tool == "sysbench") != (self.script is not None):
            raise ScenarioError("script", "belongs to sysbench, which needs one")
        if self.tool == "slap" and (self.kind != "insert" or self.rate_tps or self.duration_s):
            raise ScenarioError(
                "tool", "slap submits a number of inserts in a closed loop", 'tool = "driver"'
            )
        if self.tool == "slap" and self.rows * (self.value_bytes + 5) > _ARGUMENT_BYTES:
            raise ScenarioError("rows", "slap takes its statement as an argument", 'use "driver"')
        if self.rows * (self.value_bytes + 5) > _PACKET_BYTES:
            raise ScenarioError("rows", "servers take statements of at most 16 MB")
        if self.tool != "driver" and len(self.nodes) > 1:
            raise ScenarioError("nodes", f"{self.tool} connects to one", 'tool = "driver"')
        if self.tool == "sysbench":
            for key in ("duration_s", "rate_tps"):
                if (getattr(self, key) or 0.0) % 1.0:
                    raise ScenarioError(key, "sysbench takes whole numbers")
        if self.rate_tps and (self.transactions or self.per_client):
            raise ScenarioError("rate_tps", "an open loop has a duration_s, or a large transaction")
        if self.rate_tps and self.threads % len(self.nodes):
            raise ScenarioError(
                "threads",
                f"must be as many for each of {len(self.nodes)} nodes, given {self.threads}",
            )
        if self.transactions is not None and self.transactions < self.threads:
            raise ScenarioError(
                "transactions",
                f"must be at least one for each of {self.threads} threads, "
                f"given {self.transactions}",
            )
        return self

    def _check_keys(self) -> None:
        """Refuse keys that would be ignored."""
        own = {self.tool} if self.tool == "sysbench" else {self.tool, self.kind}
        for kind, keys in _BELONGS.items():
            for key in keys:
                if key in self.model_fields_set and kind not in own:
                    raise ScenarioError(key, f"is a key of loads of {kind}", "remove it")

    def has(self, key: str) -> bool:
        """Whether a key, with its tables dotted, means anything to this load."""
        first, _, inner = key.partition(".")
        if inner:
            return self.large is not None and inner in self.large.model_fields_set
        kinds = [kind for kind, keys in _BELONGS.items() if first in keys]
        return not kinds or kinds[0] == self.tool or (self.script is None and kinds[0] == self.kind)

    @property
    def breaks(self) -> bool:
        """Whether something is done to servers or links meanwhile."""
        return bool(self.fault or self.maintenance or self.ddl)

    @property
    def operations(self) -> tuple[MaintenanceTable | DdlTable, ...]:
        """What operators do."""
        return (*self.maintenance, *self.ddl)

    @property
    def first_s(self) -> float:
        """When the first of all that happens."""
        return min(one.at_s for one in (*self.fault, *self.operations))

    @property
    def groups(self) -> tuple[ClientGroup, ...]:
        """The clients of a load with faults."""
        if self.group:
            return self.group
        count = len(self.nodes)
        return tuple(
            ClientGroup(name=name, node=node, threads=len(range(place, self.threads, count)))
            for place, (name, node) in enumerate(
                zip(string.ascii_uppercase, self.nodes, strict=False)
            )
            if place < self.threads
        )

    @property
    def clients(self) -> int:
        """Clients in all."""
        return sum(group.threads for group in self.group) if self.group else self.threads

    @property
    def each(self) -> int | None:
        """Transactions of every client, if their number is given."""
        if self.transactions is not None:
            return self.transactions // self.threads
        return self.per_client


def statement(load: Load) -> Statement:
    """What the clients of slap and the driver submit."""
    if load.kind == "update":
        return Statement("update counters set c=c+1 where id={row}", 1, load.existing_rows)
    if _is_short(load):
        return Statement(_SHORT)
    # Text that does not compress to nothing, the same in all runs.
    letters = random.Random(1)  # noqa: S311 - filler
    values = (
        "".join(letters.choices(string.ascii_letters + string.digits, k=load.value_bytes))
        for _ in range(load.rows)
    )
    return Statement(_VALUES + ",".join(f"('{value}')" for value in values), load.rows)


def statement_bytes(load: Load) -> int:
    """Length of the text of an insert, which may be large."""
    if _is_short(load):
        return len(_SHORT)
    return len(_VALUES) + load.rows * (load.value_bytes + len("(''),")) - 1


def _is_short(load: Load) -> bool:
    return load.rows == 1 and load.value_bytes == len("fooBa")
