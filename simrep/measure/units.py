"""Figures as people read them and as JSON holds them: units, no digits that mean nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import floor, isfinite, log10
from typing import Any, overload

__all__ = [
    "amount",
    "counted",
    "describe",
    "duration",
    "number",
    "plain",
    "size",
    "spellings",
    "unit_of",
]

_DURATIONS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
_SUFFIXES = {
    "bytes": "bytes",
    "ms": "ms",
    "pct": "%",
    "s": "s",
    "tps": "transactions/s",
    "us": "us",
}
_BY_SUFFIX = {"_s": "s", "_tps": "1/s", "_bytes": "bytes"}
_BY_NAME = {"committed": "transactions", "aborted": "transactions", "fragments": "", "rows": ""}
_SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "s": ("s", "seconds"),
    "1/s": ("1/s", "transactions/s", "tps"),
    "transactions": ("transactions", ""),
    "bytes": ("bytes",),
    "": ("", "1"),
}


def number(value: float, digits: int = 3) -> str:
    """A number with at least ``digits`` significant digits, thousands separated.

    >>> number(1234.5), number(0.012345), number(3500)
    ('1,234', '0.0123', '3,500')
    """
    if not isfinite(value):
        return "-"
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")  # 0.9999 becomes 1.00 and not 1.000
    decimals = digits - 1 - floor(log10(abs(rounded)))
    if float(value).is_integer():
        decimals = 0
    return f"{value:,.{max(0, decimals)}f}"


def duration(seconds: float) -> str:
    """Seconds in s, ms or us.

    >>> duration(0.0234), duration(73.5), duration(0)
    ('23.4 ms', '73.5 s', '0 s')
    """
    if not isfinite(seconds) or seconds == 0:
        return f"{number(seconds)} s" if seconds == 0 else "-"
    for unit, name in _DURATIONS:
        if abs(seconds) >= unit * 0.9995:  # what rounds to 1.00 of a unit is given in that unit
            return f"{number(seconds / unit)} {name}"
    return f"{number(seconds / 1e-6)} us"


def amount(value: float) -> str:
    """A number of things: all its digits, or millions with one decimal.

    >>> amount(9270), amount(2_500_000)
    ('9,270', '2.5 M')
    """
    return f"{value / 1e6:,.1f} M" if value >= 1e6 else f"{value:,.0f}"


def counted(count: int, noun: str) -> str:
    """A number of things with their name.

    >>> counted(1, "point"), counted(12_000, "run")
    ('1 point', '12000 runs')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


def size(size_bytes: float) -> str:
    """Bytes in bytes, KB or MB (of 1000 and 1,000,000 bytes).

    >>> size(100), size(1700), size(188_750_000)
    ('100 bytes', '1.7 KB', '188.8 MB')
    """
    if size_bytes < 1e3:
        return f"{size_bytes:.0f} bytes"
    return f"{size_bytes / 1e3:,.1f} KB" if size_bytes < 1e6 else f"{size_bytes / 1e6:,.1f} MB"


def describe(name: str) -> str:
    """The text for an axis from a name that ends in its unit.

    >>> describe("egress_delay_ms"), describe("threads")
    ('egress delay (ms)', 'threads')
    """
    stem, _, suffix = name.rpartition("_")
    if stem and suffix in _SUFFIXES:
        return f"{stem.replace('_', ' ')} ({_SUFFIXES[suffix]})"
    return name.replace("_", " ")


def unit_of(path: str) -> str | None:
    """The unit of a figure; None for status variables and what is not known.

    >>> unit_of("latency_s.p95"), unit_of("aborted"), unit_of("counters.n1.wsrep_replicated_bytes")
    ('s', 'transactions', None)
    >>> unit_of("nodes.n2.latency_s.p95"), unit_of("nodes.n2.errors.1213")
    ('s', 'transactions')
    """
    parts = path.split(".")
    name = parts[-1]
    if parts[0] == "counters":
        return None
    table = parts[-2] if len(parts) > 1 else ""
    if table in {"degradation", "errors"}:
        return _BY_NAME["aborted"]
    if name in _BY_NAME:
        return _BY_NAME[name]
    named = table if table in {"latency_s", "age_s", "interval_tps"} else name
    return next((unit for end, unit in _BY_SUFFIX.items() if named.endswith(end)), None)


def spellings(unit: str) -> tuple[str, ...]:
    """How a unit may be written, the usual way first.

    >>> spellings("1/s")
    ('1/s', 'transactions/s', 'tps')
    """
    return _SPELLINGS[unit]


@overload
def plain(value: Mapping[str, Any]) -> dict[str, Any]: ...
@overload
def plain(value: object) -> Any: ...
def plain(value: Any) -> Any:
    """The same in what JSON knows: dict, list, str, int, float, bool and None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # an array, or a number out of one
        return plain(value.tolist())
    if isinstance(value, float) and not isfinite(value):
        return None
    return value
