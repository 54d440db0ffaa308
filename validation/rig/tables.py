"""The tables that a load writes to, and the statements of its transactions."""

from __future__ import annotations

import random
import string
from dataclasses import dataclass

from simrep.rig.load import LargeTransaction, Load
from simrep.rig.statement import Statement

__all__ = ["Tables", "large_tables", "statement", "statement_bytes", "tables"]

_BATCH_ROWS = 50_000
_SHORT = "insert into inserts set a='fooBa'"
_VALUES = "insert into inserts (a) values "
_SHOWN = {"oltp_insert": "count(*)", "oltp_update_index": "sum(k)"}
"""Scripts of sysbench each of whose transactions adds 1 to a figure of a table."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a load.

    Attributes
    ----------
    create : tuple of str
        Statements that make them; they may be there already.
    empty : tuple of str
        Statements that put them back as they were.
    fingerprint : str
        A query with one row, equal on all nodes that hold the same.
    written : str
        A query with one figure: transactions that the tables show; "" if they do not tell.
    """

    create: tuple[str, ...]
    empty: tuple[str, ...]
    fingerprint: str
    written: str = ""


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


def tables(load: Load) -> Tables:
    """The tables of a load, in the database of the rig."""
    if load.script is not None:
        names = [f"sbtest{number}" for number in range(1, load.tables + 1)]
        figures = ", ".join(
            f"(select concat_ws(' ', count(*), sum(k)) from {name}) as {name}" for name in names
        )
        shown = _SHOWN.get(load.script)
        sums = " + ".join(f"(select {shown} from {name})" for name in names)
        return Tables((), (), f"select {figures}", f"select {sums} as total" if shown else "")
    if load.kind == "update":
        rows = ",".join(f"({number},0)" for number in range(1, load.existing_rows + 1))
        return Tables(
            create=("create table if not exists counters (id int primary key, c int not null)",),
            empty=("delete from counters", f"insert into counters values {rows}"),
            fingerprint="select count(*) as number, sum(c) as total from counters",
            written="select sum(c) as total from counters",
        )
    columns = "(id int not null auto_increment primary key, a varchar(2000))"
    return Tables(
        create=(f"create table if not exists inserts {columns} default charset=latin1",),
        empty=("truncate table inserts",),
        fingerprint="select count(*) as number, sum(id) as total from inserts",
        written=f"select count(*) / {load.rows} as total from inserts",
    )


def large_tables(large: LargeTransaction) -> Tables:
    """The table of a large transaction; filled by doubling, on all kinds of servers alike."""
    columns = f"(id int primary key, k int not null, c char({large.value_bytes}) not null)"
    fill = ["insert into large values (1, 0, md5(1))"]
    have = 1
    while have < large.rows:
        more = min(have, large.rows - have, _BATCH_ROWS)
        fill.append(
            f"insert into large select id+{have}, 0, rpad(md5(id+{have}), "
            f"{large.value_bytes}, 'x') from large where id <= {more}"
        )
        have += more
    return Tables(
        create=(
            "drop table if exists large",
            f"create table large {columns} default charset=latin1",
            *fill,
        ),
        empty=(),
        fingerprint="select count(*) as number, sum(k) as total from large",
    )
