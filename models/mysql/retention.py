"""How long a server keeps its binary logs."""

from __future__ import annotations

from math import inf

from .options import CrashSafety

__all__ = ["binlog_retention"]

# MySQL 8.4 Reference Manual, binlog_expire_logs_seconds: 30 days since 8.0.11; before that,
# expire_logs_days = 0, as MariaDB has it to this day: nothing is purged by itself.
_SINCE_8_S = 2_592_000.0


def binlog_retention(product: CrashSafety, given_s: float | None) -> tuple[float, str]:
    """How long that is in seconds, and how it is written; the product's own if nobody has set it.

    >>> binlog_retention("mysql-8.0", None)
    (2592000.0, 'binlog_expire_logs_seconds = 2592000 (default)')
    >>> binlog_retention("mariadb", None)
    (inf, 'binlog_expire_logs_seconds = 0 (default)')
    """
    if given_s is not None:
        return given_s, f"binlog_expire_logs_seconds = {given_s:.0f}"
    kept_s = _SINCE_8_S if product == "mysql-8.0" else inf
    shown = 0.0 if kept_s == inf else kept_s
    return kept_s, f"binlog_expire_logs_seconds = {shown:.0f} (default)"
