"""What an operator does in a load: locks, leaving flow control, statements that change a table."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any

from simrep.rig.transactions import ATTEMPTS, DATABASE
from simrep.scenario.ddl import DdlTable
from simrep.scenario.maintenance import MaintenanceTable

if TYPE_CHECKING:
    from pymysql.connections import Connection

    from simrep.rig.server import RigServer

__all__ = ["ALTERED", "OPERATED", "Held", "altered_statements", "operation_problems"]

ALTERED = "altered"
"""The table that a statement changes; no client uses it."""
OPERATED = ("lock-tables", "flush-tables-with-read-lock", "desync", "ddl")
"""What is done, by the words of scenarios."""
_BATCH_ROWS = 50_000
_ROW_BYTES = 200
_ROW_HEAD = 30  # of a row in its page: header, two integers, hidden columns
_LONGEST_TEXT = 250
_LONG_S = 600.0
_ALGORITHMS = {
    "copy": "force, algorithm=copy",
    "inplace": "force, algorithm=inplace",
    "instant": "alter column k set default {default}, algorithm=instant",
}


def altered_statements(ddl: DdlTable) -> tuple[str, ...]:
    """Statements that make the table of a statement, filled by doubling."""
    width = max(1, min(_LONGEST_TEXT, ddl.size_bytes // ddl.rows - _ROW_HEAD))
    columns = f"(id int primary key, k int not null default 0, c char({width}) not null)"
    fill = [f"insert into {ALTERED} values (1, 0, md5(1))"]
    have = 1
    while have < ddl.rows:
        more = min(have, ddl.rows - have, _BATCH_ROWS)
        fill.append(
            f"insert into {ALTERED} select id+{have}, 0, rpad(md5(id+{have}), {width}, 'x') "
            f"from {ALTERED} where id <= {more}"
        )
        have += more
    made = f"create table {ALTERED} {columns} default charset=latin1"
    return (f"drop table if exists {ALTERED}", made, *fill)


class Held:
    """An operation under way, with a connection of its own.

    Parameters
    ----------
    operation : MaintenanceTable or DdlTable
    server : RigServer
    """

    def __init__(self, operation: MaintenanceTable | DdlTable, server: RigServer) -> None:
        self.operation = operation
        self._session: Connection[Any] = server.connect(answer_s=_LONG_S)

    def begin(self) -> None:
        """Do it, and return when the server has answered."""
        self._run(*_begin(self.operation))

    def end(self) -> None:
        """Take it back, if it is held."""
        with suppress(Exception):  # the server may be gone, and its lock with it
            self._run(*_end(self.operation))
        with suppress(Exception):
            self._session.close()

    def _run(self, *statements: str) -> None:
        with self._session.cursor() as cursor:
            for statement in (f"use {DATABASE}", *statements):
                cursor.execute(statement)


def _begin(operation: MaintenanceTable | DdlTable) -> tuple[str, ...]:
    if isinstance(operation, DdlTable):
        # Another default each time: one that is there already would be no change.
        how = _ALGORITHMS[operation.kind].format(default=time.time_ns() % 10**9)
        method = operation.method
        first = (f"set session wsrep_osu_method='{method}'",) if method else ()
        return (*first, f"alter table {ALTERED} {how}")
    if operation.what == "lock-tables":
        return (f"lock tables {ATTEMPTS} {'read' if operation.shared else 'write'}",)
    if operation.what == "desync":
        return ("set global wsrep_desync=ON",)
    return ("flush tables with read lock",)


def _end(operation: MaintenanceTable | DdlTable) -> tuple[str, ...]:
    if isinstance(operation, DdlTable):
        return ()
    return ("set global wsrep_desync=OFF",) if operation.what == "desync" else ("unlock tables",)


def operation_problems(
    maintenance: Sequence[MaintenanceTable],
    ddl: Sequence[DdlTable],
    names: Sequence[str],
    duration_s: float,
    *,
    galera: bool,
) -> Iterator[tuple[str, str, str]]:
    """What is wrong: place and key, problem and advice."""
    for kind, tables in (("maintenance", maintenance), ("ddl", ddl)):
        for place, one in enumerate(tables):
            where = f"{kind}.{place}"
            for name in one.on(names):
                if name not in names:
                    yield f"{where}.node", f"there is no node {name!r}", ""
            if not one.at_s < duration_s:
                yield f"{where}.at_s", f"is not before the end of the load, {duration_s:g} s", ""
            if one.end_s < inf and one.end_s > duration_s:
                yield f"{where}.until_s", f"is after the end of the load, {duration_s:g} s", ""
            if one.what == "desync" and not galera:
                yield f"{where}.what", "desync is of galera alone", ""
    for place, lock in enumerate(maintenance):
        if lock.classes is not None:
            yield f"maintenance.{place}.class", "clients of the rig have one table", "remove it"
    for place, change in enumerate(ddl):
        if change.method is not None and not galera:
            yield f"ddl.{place}.method", "is of galera alone", "remove it"
        if change.nodes is not None:
            yield f"ddl.{place}.nodes", "the rig changes one node at a time", "an entry for each"
        if not change.compatible:
            yield f"ddl.{place}.compatible", "no client uses the table that is changed", "remove it"
        if change.method == "NBO":
            yield f"ddl.{place}.method", "NBO is of Percona's servers, not tried", "TOI or RSU"
        if change.classes is None or change.classes:
            yield f"ddl.{place}.class", "no client uses the table that is changed", "class = []"
    if len({(one.rows, one.size_bytes) for one in ddl}) > 1:
        yield "ddl", "there is one table that is changed", "give all of them equal rows and bytes"
