"""What well-known load tools submit, in the spelling of the ``[workload]`` table."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Literal

from simrep.scenario.sysbench import sysbench_classes
from simrep.scenario.tpcc import TPCC_PRESETS, tpcc_classes

__all__ = ["Preset", "preset"]

Preset = Literal[
    "mysqlslap-insert",
    "sysbench-oltp-insert",
    "sysbench-oltp-update-index",
    "sysbench-oltp-update-non-index",
    "sysbench-oltp-read-write",
    "sysbench-oltp-write-only",
    "sysbench-oltp-read-only",
    "sysbench-oltp-point-select",
    "sysbench-select-random-points",
    "sysbench-select-random-ranges",
    "sysbench-tpcc",
    "go-tpc",
]

_OTHERS: Mapping[str, Mapping[str, Any]] = {
    # mysqlslap --query="insert into t1 set a='...'" --number-of-queries=500
    "mysqlslap-insert": {
        "queries": 500,
        "class": [{"name": "insert", "table": "t1", "row_bytes": 100, "statement_bytes": 45}],
    },
}


def preset(name: str, words: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A copy of a preset, to be changed at will; ``words`` are those of its tool, as given."""
    if name in _OTHERS:
        return deepcopy(dict(_OTHERS[name]))
    classes = tpcc_classes if name in TPCC_PRESETS else sysbench_classes
    return {"class": classes(name, words or {})}
