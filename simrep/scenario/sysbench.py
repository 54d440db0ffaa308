"""Presets in sysbench's own words, with the defaults of sysbench 1.0.20.

References
----------
https://github.com/akopytov/sysbench/tree/1.0.20: ``src/lua/oltp_common.lua`` has the options and
the statements, ``src/sb_rand.c`` the distributions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from simrep.errors import ScenarioError
from simrep.scenario.table import (
    Exponent,
    Iterations,
    Rows,
    Share,
    Statements,
    Table,
    TableRows,
    Tables,
)

__all__ = ["DEFAULTS", "KEY_WORDS", "VERSION", "SysbenchTable", "sysbench_classes"]

VERSION = "1.0.20"
"""The version of sysbench whose defaults hold."""

DEFAULTS: Mapping[str, Any] = {
    "tables": 1,
    "table_size": 10_000,
    "rand_type": "special",
    "rand_spec_iter": 12,
    "rand_spec_pct": 1,
    "rand_spec_res": 75,
    "rand_pareto_h": 0.2,
    "rand_zipfian_exp": 0.8,
    "point_selects": 10,
    "range_selects": True,
    "simple_ranges": 1,
    "sum_ranges": 1,
    "order_ranges": 1,
    "distinct_ranges": 1,
    "range_size": 100,
    "index_updates": 1,
    "non_index_updates": 1,
    "delete_inserts": 1,
    "skip_trx": False,
    "random_points": 10,
    "number_of_ranges": 10,
    "delta": 5,
}

_RANDOM: Mapping[str, tuple[str, ...]] = {
    "uniform": (),
    "gaussian": ("rand_spec_iter",),
    "special": ("rand_spec_pct", "rand_spec_res"),
    "pareto": ("rand_pareto_h",),
    "zipfian": ("rand_zipfian_exp",),
}
KEY_WORDS = (
    "tables",
    "table_size",
    "rand_type",
    *(word for own in _RANDOM.values() for word in own),
)
"""Words that say which rows are written."""
_RANGES = ("simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges")
_READ_WORDS = ("point_selects", "range_selects", *_RANGES, "range_size", "skip_trx")
_WRITE_WORDS = ("index_updates", "non_index_updates", "delete_inserts", "skip_trx")

_WORDS: Mapping[str, tuple[str, ...]] = {
    "sysbench-oltp-insert": (),
    "sysbench-oltp-point-select": (),
    "sysbench-oltp-read-only": _READ_WORDS,
    "sysbench-oltp-read-write": tuple(dict.fromkeys([*KEY_WORDS, *_READ_WORDS, *_WRITE_WORDS])),
    "sysbench-oltp-update-index": KEY_WORDS,
    "sysbench-oltp-update-non-index": KEY_WORDS,
    "sysbench-oltp-write-only": (*KEY_WORDS, *_WRITE_WORDS),
    "sysbench-select-random-points": ("random_points",),
    "sysbench-select-random-ranges": ("number_of_ranges", "delta"),
}
"""The words of each preset; it would ignore all others."""

_WHY = {
    "sysbench-oltp-insert": "its rows are new, whatever there is already",
    "sysbench-oltp-point-select": "it reads one row, which locks nothing",
    "sysbench-oltp-read-only": "it only reads, which locks nothing",
    "sysbench-oltp-update-index": "it is one statement",
    "sysbench-oltp-update-non-index": "it is one statement",
    "sysbench-oltp-write-only": "it reads nothing",
    "sysbench-select-random-points": "it only reads, which locks nothing",
    "sysbench-select-random-ranges": "it only reads, which locks nothing",
}

# A row of sysbench is two integers, char(120) and char(60): 193 bytes. A row event adds its
# headers and a table map, about 90 bytes; an update holds the row before and after.
_ROW_BYTES = 285
_UPDATE_BYTES = 480
_INSERT_TEXT = 260
_NON_INDEX_TEXT = 165

_Percent = Annotated[float, Field(strict=True, ge=0.001, le=100, allow_inf_nan=False)]


class SysbenchTable(Table):
    """``[workload.sysbench]``: options of ``sysbench oltp_*``, with the defaults of 1.0.20."""

    tables: Tables | None = Field(
        None, description="tables sbtest1, sbtest2 ...; each statement chooses one; default: 1"
    )
    table_size: TableRows | None = Field(None, description="rows of each table; default: 10,000")
    rand_type: Literal["uniform", "gaussian", "special", "pareto", "zipfian"] | None = Field(
        None,
        description="which rows are chosen (zipfian is one of sysbench 1.1, which has no special); "
        "default: special",
    )
    rand_spec_pct: _Percent | None = Field(
        None, description="of special: percentage of the rows that are hot; default: 1"
    )
    rand_spec_res: _Percent | None = Field(
        None, description="of special: percentage of the choices that hit them; default: 75"
    )
    rand_spec_iter: Iterations | None = Field(
        None, description="of gaussian: uniform numbers that are summed; default: 12"
    )
    rand_pareto_h: Share | None = Field(
        None,
        description="of pareto: that share of the rows has 1 - h of the choices; default: 0.2",
    )
    rand_zipfian_exp: Exponent | None = Field(
        None, description="of zipfian: its exponent; default: 0.8"
    )
    point_selects: Statements | None = Field(
        None, description="reads of one row in each transaction; default: 10"
    )
    range_selects: bool | None = Field(
        None, strict=True, description="false: no reads of ranges; default: true"
    )
    simple_ranges: Statements | None = Field(None, description="reads of a range; default: 1")
    sum_ranges: Statements | None = Field(None, description="the same with SUM; default: 1")
    order_ranges: Statements | None = Field(None, description="with ORDER BY; default: 1")
    distinct_ranges: Statements | None = Field(None, description="with DISTINCT; default: 1")
    range_size: Rows | None = Field(None, description="rows of a range; default: 100")
    index_updates: Statements | None = Field(
        None, description="updates of the indexed column; default: 1"
    )
    non_index_updates: Statements | None = Field(
        None, description="updates of another column; default: 1"
    )
    delete_inserts: Statements | None = Field(
        None, description="pairs of a delete and an insert; default: 1"
    )
    skip_trx: bool | None = Field(
        None,
        strict=True,
        description="true: without BEGIN and COMMIT, so every statement is a transaction, and "
        "counted as one; default: false",
    )
    random_points: Rows | None = Field(
        None, description="of select_random_points: rows that its statement names; default: 10"
    )
    number_of_ranges: Rows | None = Field(
        None, description="of select_random_ranges: ranges of its statement; default: 10"
    )
    delta: Rows | None = Field(
        None, description="of select_random_ranges: length of each range, less one row; default: 5"
    )

    @property
    def words(self) -> dict[str, Any]:
        """Those that are given."""
        return self.model_dump(exclude_none=True)

    def check(self, preset: str | None) -> None:
        """Refuse words that a preset does not know, or would ignore."""
        if preset is None or preset not in _WORDS:
            given = "no preset is given" if preset is None else f"{preset!r} is another tool"
            raise ScenarioError(
                "sysbench", f"belongs to a preset of sysbench, and {given}", ", ".join(_WORDS)
            )
        kind = self.words.get("rand_type", DEFAULTS["rand_type"])
        others = {word for name, own in _RANDOM.items() if name != kind for word in own}
        for word in self.words:
            if word not in _WORDS[preset]:
                known = ", ".join(_WORDS[preset])
                why = f": {_WHY[preset]}" if preset in _WHY else ""
                raise ScenarioError(
                    f"sysbench.{word}",
                    f"preset {preset!r} would ignore it{why}",
                    f"it knows {known}" if known else "it has no words: remove it",
                )
            if word in others:
                raise ScenarioError(
                    f"sysbench.{word}",
                    f"rand_type {kind!r} would ignore it",
                    f"it knows {', '.join(_RANDOM[kind])}" if _RANDOM[kind] else "remove it",
                )


def keys_of(words: Mapping[str, Any]) -> dict[str, Any]:
    """Which rows are written, as the ``keys`` of a class."""
    said = {**DEFAULTS, **words}
    keys: dict[str, Any] = {"distribution": said["rand_type"], "rows": said["table_size"]}
    if said["rand_type"] == "special":
        keys["distribution"] = "hot"
        keys["hot_rows"] = max(1, round(said["table_size"] * said["rand_spec_pct"] / 100.0))
        keys["hot_fraction"] = said["rand_spec_res"] / 100.0
    elif said["rand_type"] == "zipfian":
        keys |= {"distribution": "zipf", "exponent": float(said["rand_zipfian_exp"])}
    elif said["rand_type"] == "gaussian":
        keys["iterations"] = said["rand_spec_iter"]
    elif said["rand_type"] == "pareto":
        keys["pareto_h"] = said["rand_pareto_h"]
    return keys if said["tables"] == 1 else {**keys, "tables": said["tables"]}


def sysbench_classes(preset: str, words: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The classes of a preset, in the spelling of ``[[workload.class]]``."""
    said = {**DEFAULTS, **words}
    keys = keys_of(words)
    table = "sbtest1"
    update = {"table": table, "row_bytes": _UPDATE_BYTES, "keys": keys}
    if preset == "sysbench-oltp-insert":
        own = {"row_bytes": _ROW_BYTES, "statement_bytes": _INSERT_TEXT}
        return [{"name": "insert", "table": table, **own}]
    if preset == "sysbench-oltp-point-select":
        return [{"name": "point-select", "table": table, "statements": 0, "reads": 1}]
    if preset == "sysbench-select-random-points":
        read = {"statements": 0, "range_reads": 1, "range_rows": said["random_points"]}
        return [{"name": "select", "table": table, **read}]
    if preset == "sysbench-select-random-ranges":
        rows = said["number_of_ranges"] * (said["delta"] + 1)
        read = {"statements": 0, "range_reads": 1, "range_rows": rows}
        return [{"name": "select", "table": table, **read}]
    if preset == "sysbench-oltp-update-index":
        return [{"name": "update", **update}]
    if preset == "sysbench-oltp-update-non-index":
        return [{"name": "update", **update, "statement_bytes": _NON_INDEX_TEXT}]
    kind = preset.removeprefix("sysbench-oltp-")
    reads = ranges = updates = pairs = 0
    if kind != "write-only":
        reads = said["point_selects"]
        ranges = sum(said[word] for word in _RANGES) if said["range_selects"] else 0
    if kind != "read-only":
        updates = said["index_updates"] + said["non_index_updates"]
        pairs = said["delete_inserts"]
    number = {"reads": reads, "range_reads": ranges}
    if not reads + ranges + updates + pairs:
        raise ScenarioError("sysbench", "leaves no statement", "raise one of their numbers")
    length = {"range_rows": said["range_size"]}
    if said["skip_trx"]:
        lone = {
            "point-select": (reads, {"statements": 0, "reads": 1}),
            "range-select": (ranges, {"statements": 0, "range_reads": 1, **length}),
            "update": (updates, {"row_bytes": _UPDATE_BYTES, "keys": keys}),
            "delete-insert": (2 * pairs, {"row_bytes": _ROW_BYTES, "keys": keys}),
        }
        return [
            {"name": name, "table": table, "weight": weight, **what}
            for name, (weight, what) in lone.items()
            if weight
        ]
    writes = updates + 2 * pairs
    one = {"name": kind, "table": table, **number, **length, "statements": writes}
    if writes:
        size = updates * _UPDATE_BYTES + 2 * pairs * _ROW_BYTES
        one |= {"row_bytes": size // writes, "keys": keys}
    return [{**one, "autocommit": False}]
