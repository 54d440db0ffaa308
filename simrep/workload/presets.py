"""What well-known load tools submit, in the spelling of the ``[workload]`` table."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

__all__ = ["PRESETS", "preset"]

# sysbench 1.0 defaults: one table of 10,000 rows, chosen with --rand-type=special: 75 % of the
# choices (--rand-spec-res) fall on 1 % of the rows (--rand-spec-pct).
_SYSBENCH_KEYS = {"distribution": "hot", "rows": 10_000, "hot_rows": 100, "hot_fraction": 0.75}

# A row of sysbench is two integers, char(120) and char(60): 193 bytes. A row event adds its
# headers and a table map, about 90 bytes; an update holds the row before and after.
_SYSBENCH_ROW_BYTES = 285
_SYSBENCH_UPDATE_BYTES = 480

PRESETS: Mapping[str, Mapping[str, Any]] = {
    # mysqlslap --query="insert into t1 set a='...'" --number-of-queries=500
    "mysqlslap-insert": {
        "queries": 500,
        "class": [{"name": "insert", "table": "t1", "row_bytes": 100, "statement_bytes": 45}],
    },
    # one insert, autocommit
    "sysbench-oltp-insert": {
        "class": [
            {
                "name": "insert",
                "table": "sbtest1",
                "row_bytes": _SYSBENCH_ROW_BYTES,
                "statement_bytes": 260,
            }
        ],
    },
    # UPDATE sbtest1 SET k=k+1 WHERE id=?, autocommit
    "sysbench-oltp-update-index": {
        "class": [
            {
                "name": "update",
                "table": "sbtest1",
                "row_bytes": _SYSBENCH_UPDATE_BYTES,
                "keys": _SYSBENCH_KEYS,
            }
        ],
    },
    # BEGIN, 10 point selects, 4 ranges of 100 rows, 2 updates, delete and insert, COMMIT
    "sysbench-oltp-read-write": {
        "class": [
            {
                "name": "read-write",
                "table": "sbtest1",
                "reads": 10,
                "range_reads": 4,
                "range_rows": 100,
                "statements": 4,
                "row_bytes": (_SYSBENCH_ROW_BYTES + _SYSBENCH_UPDATE_BYTES) // 2,
                "autocommit": False,
                "keys": _SYSBENCH_KEYS,
            }
        ],
    },
}


def preset(name: str) -> dict[str, Any]:
    """A copy of a preset, to be changed at will."""
    return deepcopy(dict(PRESETS[name]))
