"""A load of an experiment: which transactions are submitted, by what, and how many."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from simrep.errors import ScenarioError
from simrep.scenario.table import Count, Name, NotNegative, Positive, Table, Whole

__all__ = ["STALL_WINDOW_S", "LargeTransaction", "Load", "Tool"]

Tool = Literal["slap", "sysbench", "driver"]
Script = Literal["oltp_insert", "oltp_update_index", "oltp_read_write"]

_PRESETS = {
    "oltp_insert": "sysbench-oltp-insert",
    "oltp_update_index": "sysbench-oltp-update-index",
    "oltp_read_write": "sysbench-oltp-read-write",
}
_ARGUMENT_BYTES = 100_000
"""Linux allows 128 KiB for one argument of a program."""
STALL_WINDOW_S = 0.2
"""Stalls beside a large transaction are counted in such windows."""
_EVENT_BYTES = 90
"""Headers and table map of a row event."""


class LargeTransaction(Table):
    """A ``[load.large]``: one UPDATE of all rows of a large table, beside the load."""

    rows: Count = Field(2_000_000, description="rows of the large table")
    value_bytes: Count = Field(60, le=255, description="text of a row")
    after_s: Positive = Field(8.0, description="it begins so long after the load")
    rest_s: Positive = Field(4.0, description="the load goes on so long after it is everywhere")
    fragment_unit: Literal["bytes", "rows", "statements"] = Field(
        "bytes", description="Galera: wsrep_trx_fragment_unit of its session"
    )
    fragment_size: Whole = Field(
        0, description="Galera: wsrep_trx_fragment_size of its session; 0 is without streaming"
    )

    def scenario(self, node: str) -> dict[str, Any]:
        """The same as a scheduled transaction of a scenario."""
        return {
            "name": "large",
            "at_s": self.after_s,
            "node": node,
            "rows": self.rows,
            # A row before and after: two integers, a text with its length, and its null bits.
            "row_bytes": 2 * (self.value_bytes + 10),
            "table": "large",
            "keys": {"distribution": "scan", "rows": self.rows},
            "session": {
                "wsrep_trx_fragment_unit": self.fragment_unit,
                "wsrep_trx_fragment_size": self.fragment_size,
            },
        }


class Load(Table):
    """A ``[[load]]``: autocommit statements, or the transactions of a script of sysbench."""

    name: Name = Field(description="as grids and the data name it")
    title: str = Field("", description="for people")
    tool: Tool = Field(
        "driver",
        description="slap: mariadb-slap or mysqlslap; driver: the rig's own, which records every "
        "transaction",
    )
    kind: Literal["insert", "update"] = Field(
        "insert", description="insert: new rows; update: one of the rows that exist"
    )
    rows: Count = Field(1, description="insert: rows of each statement")
    value_bytes: Count = Field(5, le=2000, description="insert: text of each row")
    existing_rows: Count = Field(
        10, le=100_000, description="update: rows of the table, chosen with equal probability"
    )
    script: Script | None = Field(None, description="sysbench: which of its scripts")
    tables: Count = Field(4, description="sysbench: number of tables")
    table_rows: Count = Field(1000, description="sysbench: rows of each table")
    threads: Count = Field(1, description="clients in all, or connections of an open loop")
    nodes: tuple[Name, ...] = Field(
        ("n1",), min_length=1, description="clients are connected to these in turn"
    )
    transactions: Count | None = Field(
        None, description="in all; every client submits floor(transactions / threads)"
    )
    per_client: Count | None = Field(None, description="transactions of every client")
    duration_s: Positive | None = Field(None, description="ends after so long")
    rate_tps: NotNegative = Field(
        0.0, description="open loop: Poisson arrivals a second over all nodes; 0: closed loop"
    )
    retry: bool = Field(
        False, strict=True, description="driver: a deadlocked transaction is submitted again"
    )
    processes: Count = Field(2, description="driver: its clients are spread over so many")
    large: LargeTransaction | None = Field(
        None, description="driver: a large transaction beside the load, which lasts as long"
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
        if (self.tool == "sysbench") != (self.script is not None):
            raise ScenarioError("script", "belongs to sysbench, which needs one")
        if self.tool == "slap" and (self.kind != "insert" or self.rate_tps or self.duration_s):
            raise ScenarioError(
                "tool", "slap submits a number of inserts in a closed loop", 'tool = "driver"'
            )
        if self.tool == "slap" and self.rows * (self.value_bytes + 5) > _ARGUMENT_BYTES:
            raise ScenarioError("rows", "slap takes its statement as an argument", 'use "driver"')
        if self.tool != "driver":
            if len(self.nodes) > 1:
                raise ScenarioError("nodes", f"{self.tool} connects to one", 'tool = "driver"')
            if self.large is not None or self.retry:
                raise ScenarioError("tool", "large and retry need the driver", 'tool = "driver"')
        if self.tool == "sysbench":
            for key in ("duration_s", "rate_tps"):
                if (getattr(self, key) or 0.0) % 1.0:
                    raise ScenarioError(key, "sysbench takes whole numbers")
        if self.rate_tps and (self.transactions or self.per_client):
            raise ScenarioError("rate_tps", "an open loop has a duration_s, or a large transaction")
        if self.transactions is not None and self.transactions < self.threads:
            raise ScenarioError(
                "transactions",
                f"must be at least one for each of {self.threads} threads, "
                f"given {self.transactions}",
            )
        return self

    @property
    def each(self) -> int | None:
        """Transactions of every client, if their number is given."""
        if self.transactions is not None:
            return self.transactions // self.threads
        return self.per_client

    def workload(self) -> dict[str, Any]:
        """The same as the ``[workload]`` of a scenario."""
        table: dict[str, Any] = {"nodes": list(self.nodes), "client": "node"}
        if self.rate_tps:
            per_node = max(1, self.threads // len(self.nodes))
            table |= {"rate_tps": float(self.rate_tps), "connections": per_node}
        else:
            table["threads"] = self.threads
        if self.transactions is not None:
            table["queries"] = self.transactions
        elif self.per_client is not None:
            table["transactions_per_client"] = self.per_client
        if self.retry or self.script is not None:  # sysbench begins an event again by itself
            table["retry"] = True
        if self.script is not None:
            table["preset"] = _PRESETS[self.script]
            if self.script != "oltp_insert":
                table["class"] = [{"keys": self._special_keys()}]
            return table
        table["class"] = [self._class()]
        if self.large is not None:
            table["scheduled"] = [self.large.scenario(self.nodes[0])]
        return table

    def run(self) -> dict[str, Any]:
        """The same as the ``[run]`` of a scenario."""
        if self.large is not None:
            return {"settle_s": self.large.rest_s, "interval_s": STALL_WINDOW_S}
        return {} if self.duration_s is None else {"duration_s": self.duration_s}

    def _class(self) -> dict[str, Any]:
        if self.kind == "update":
            keys = {"distribution": "uniform", "rows": self.existing_rows}
            return {"name": "update", "table": "counters", "row_bytes": 60, "keys": keys}
        return {
            "name": "insert",
            "table": "inserts",
            "rows": self.rows,
            "row_bytes": round(self.value_bytes + 5 + _EVENT_BYTES / self.rows),
            "statement_bytes": 35 + self.rows * (self.value_bytes + 5),
        }

    def _special_keys(self) -> dict[str, Any]:
        """Of sysbench's --rand-type=special: 75 % of the choices fall on 1 % of the rows."""
        rows = self.tables * self.table_rows
        hot = max(1, rows // 100)
        return {"distribution": "hot", "rows": rows, "hot_rows": hot, "hot_fraction": 0.75}
