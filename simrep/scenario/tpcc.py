"""TPC-C as two tools submit it: sysbench-tpcc (Lua scripts for sysbench) and go-tpc.

Both run the five transactions of TPC-C without keying and think times. They differ in how many
statements they take: go-tpc reads and inserts the lines of an order with one statement each.

Notes
-----
Simplified: rows are chosen independently and evenly (a district need not be one of its warehouse,
``NURand`` is left out); one new order in a hundred, which rolls back, commits; an order has as
many lines in each of its statements as its loop says, and 10 where others read or write them;
foreign keys are not checked. Of data larger than memory, pages of warehouses, districts and items
are always there, and so are those of the oldest orders of a district, which its delivery before
has read, and of its latest; of the stock that ``stock_level`` reads, half of the pages are there,
because the orders of the last minute have changed it.

References
----------
https://github.com/Percona-Lab/sysbench-tpcc: ``tpcc.lua`` has the mix, ``tpcc_run.lua`` the
statements, ``tpcc_common.lua`` the tables. https://github.com/pingcap/go-tpc: ``tpcc/*.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from simrep.errors import ScenarioError
from simrep.scenario.table import Table, Tables, Warehouses

__all__ = ["TPCC_PRESETS", "TpccTable", "tpcc_classes"]

TPCC_PRESETS: Mapping[str, Mapping[str, int]] = {
    "sysbench-tpcc": {"tables": 1, "scale": 100},
    "go-tpc": {"warehouses": 10},
}
"""The words of each preset, with the tool's own defaults."""

# Row events: the columns of a row as tpcc_common.lua declares them, twice for an update (before and
# after), and about 90 bytes of headers and table map for each statement.
_WAREHOUSE, _DISTRICT, _CUSTOMER, _STOCK, _ORDER, _ORDER_LINE = 270, 280, 1290, 710, 150, 130
_NEW_ORDER, _HISTORY, _INSERTED_ORDER, _INSERTED_LINE = 100, 140, 120, 145
_INSERTED_LINES = 65  # of one of several lines in a statement: its share of the headers

_DISTRICTS, _CUSTOMERS, _ITEMS = 10, 30_000, 100_000  # of a warehouse
_LINES = (5, 15)  # of an order
_STOCK_PAGES = 100  # half of those of twenty orders with ten lines


class TpccTable(Table):
    """``[workload.tpcc]``: how large the database of TPC-C is, in the words of the tool."""

    tables: Tables | None = Field(
        None, description="of sysbench-tpcc: sets of tables, each with scale warehouses; default: 1"
    )
    scale: Warehouses | None = Field(
        None, description="of sysbench-tpcc: warehouses of each set of tables; default: 100"
    )
    warehouses: Warehouses | None = Field(None, description="of go-tpc; default: 10")

    @property
    def words(self) -> dict[str, Any]:
        """Those that are given."""
        return self.model_dump(exclude_none=True)

    def check(self, preset: str | None) -> None:
        """Refuse words that the preset does not know."""
        known = TPCC_PRESETS.get(preset or "")
        if known is None:
            given = "no preset is given" if preset is None else f"{preset!r} is another load"
            raise ScenarioError(
                "tpcc", f"belongs to a preset of TPC-C, and {given}", ", ".join(TPCC_PRESETS)
            )
        for word in self.words:
            if word not in known:
                raise ScenarioError(
                    f"tpcc.{word}", f"preset {preset!r} has no such word", ", ".join(known)
                )


def tpcc_classes(preset: str, words: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The five classes of a preset, in the spelling of ``[[workload.class]]``."""
    said = {**TPCC_PRESETS[preset], **words}
    if preset == "go-tpc":
        return _go_tpc(_Rows(said["warehouses"], 1))
    return _sysbench(_Rows(said["scale"], said["tables"]))


class _Rows:
    """Statements that write rows of the tables of so many warehouses."""

    def __init__(self, warehouses: int, tables: int) -> None:
        self._warehouses = warehouses
        self._tables = tables

    def update(
        self, table: str, of_warehouse: int, row_bytes: int, rows: int = 1, **more: Any
    ) -> dict[str, Any]:
        """A step that changes rows of a table with so many of them for each warehouse."""
        keys = {
            "distribution": "uniform",
            "rows": self._warehouses * of_warehouse,
            "tables": self._tables,
        }
        step = {"table": table, "rows": rows, "row_bytes": row_bytes, "keys": keys}
        return {"statements": 1, **step, **more}


def _insert(table: str, row_bytes: int, **more: Any) -> dict[str, Any]:
    return {"statements": 1, "table": table, "row_bytes": row_bytes, **more}


def _reads(rows: int = 1, statements: int = 1, **more: Any) -> dict[str, Any]:
    if rows == 1:
        return {"reads": statements, **more}
    return {"range_reads": statements, "range_rows": rows, **more}


def _mix(steps: Mapping[str, list[dict[str, Any]]], weights: list[int]) -> list[dict[str, Any]]:
    loops = {"new_order": _LINES, "delivery": (_DISTRICTS, _DISTRICTS)}
    return [
        {"name": name, "weight": weight, "step": own}
        | ({"loop": list(loops[name])} if any("loop" in step for step in own) else {})
        for (name, own), weight in zip(steps.items(), weights, strict=True)
    ]


def _sysbench(rows: _Rows) -> list[dict[str, Any]]:
    again = {"loop": True}
    oldest = {"pages": 0, **again}
    steps = {
        "new_order": [
            rows.update("district", _DISTRICTS, _DISTRICT, reads=1, for_update=True, pages=0),
            _insert("orders", _INSERTED_ORDER),
            _insert("new_orders", _NEW_ORDER),
            rows.update(
                "stock", _ITEMS, _STOCK, reads=1, read_pages=0, for_update=True, **again
            ),
            _insert("order_line", _INSERTED_LINE, **again),
        ],
        "payment": [
            rows.update("warehouse", 1, _WAREHOUSE, pages=0),
            rows.update("district", _DISTRICTS, _DISTRICT, pages=0, reads=1, read_pages=0),
            _reads(read_pages=0),
            # By name in 60 of 100: a count and a list of three customers on average.
            _reads(3),
            rows.update("customer", _CUSTOMERS, _CUSTOMER, for_update=True),
            _insert("history", _HISTORY),
        ],
        "order_status": [_reads(3, 2), _reads(10, 2)],
        "delivery": [
            rows.update("oldest_order", _DISTRICTS, _NEW_ORDER, for_update=True, **oldest),
            rows.update("orders_due", _DISTRICTS, _ORDER, reads=1, read_pages=0, **oldest),
            rows.update("lines_due", 10 * _DISTRICTS, _ORDER_LINE, 10, **oldest),
            rows.update(
                "customer", _CUSTOMERS, _CUSTOMER, range_reads=1, range_rows=10, read_pages=0,
                **again,
            ),
        ],
        # The lines of twenty orders, and the stock of each.
        "stock_level": [_reads(read_pages=0), _reads(400, read_pages=_STOCK_PAGES)],
    }  # fmt: skip
    return _mix(steps, [10, 10, 1, 1, 1])


def _go_tpc(rows: _Rows) -> list[dict[str, Any]]:
    again = {"loop": True}
    steps = {
        "new_order": [
            rows.update("district", _DISTRICTS, _DISTRICT, reads=1, for_update=True, pages=0),
            _insert("orders", _INSERTED_ORDER),
            _insert("new_orders", _NEW_ORDER),
            # Items, and their stock FOR UPDATE, whose rows and pages the next step locks and needs.
            _reads(10, 2, read_pages=0),
            rows.update("stock", _ITEMS, _STOCK, **again),
            _insert("order_line", _INSERTED_LINES, rows=10),
        ],
        "payment": [
            rows.update("district", _DISTRICTS, _DISTRICT, pages=0),
            _reads(read_pages=0),
            rows.update("warehouse", 1, _WAREHOUSE, pages=0),
            _reads(read_pages=0),
            _reads(3),  # by name in 60 of 100
            rows.update("customer", _CUSTOMERS, _CUSTOMER, for_update=True),
            _insert("history", _HISTORY),
        ],
        "order_status": [_reads(3, 2), _reads(10, 2)],
        "delivery": [
            # For all ten districts: they are locked one by one, and deleted by one statement.
            _reads(statements=9, read_pages=0),
            rows.update("oldest_order", _DISTRICTS, _NEW_ORDER, 10, for_update=True, pages=0),
            rows.update("orders_due", _DISTRICTS, _ORDER, 10, pages=0),
            _reads(10, read_pages=0),
            rows.update("lines_due", 10 * _DISTRICTS, _ORDER_LINE, 100, pages=0),
            _reads(100, read_pages=0),
            rows.update("customer", _CUSTOMERS, _CUSTOMER, **again),
        ],
        "stock_level": [_reads(read_pages=0), _reads(400, read_pages=_STOCK_PAGES)],
    }
    return _mix(steps, [45, 43, 4, 4, 4])
