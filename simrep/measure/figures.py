"""Figures of a result by their paths, such as ``latency_s.p95``: what unit each of them has."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["spellings", "unit_of"]

_BY_SUFFIX = {"_s": "s", "_tps": "1/s", "_bytes": "bytes"}
_BY_NAME = {"committed": "transactions", "aborted": "transactions", "fragments": "", "rows": ""}
_SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "s": ("s", "seconds"),
    "1/s": ("1/s", "transactions/s", "tps"),
    "transactions": ("transactions", ""),
    "bytes": ("bytes",),
    "": ("", "1"),
}


def unit_of(path: str) -> str | None:
    """The unit of a figure; None for status variables and what is not known.

    >>> unit_of("latency_s.p95"), unit_of("aborted"), unit_of("counters.n1.wsrep_replicated_bytes")
    ('s', 'transactions', None)
    """
    parts = path.split(".")
    table, name = parts[0], parts[-1]
    if table == "counters":
        return None
    if name in _BY_NAME:
        return _BY_NAME[name]
    named = table if table == "latency_s" else name
    return next((unit for end, unit in _BY_SUFFIX.items() if named.endswith(end)), None)


def spellings(unit: str) -> tuple[str, ...]:
    """How a unit may be written, the usual way first.

    >>> spellings("1/s")
    ('1/s', 'transactions/s', 'tps')
    """
    return _SPELLINGS[unit]
