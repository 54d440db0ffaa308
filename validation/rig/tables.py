"""The tables that a load writes to: made, emptied, and compared between nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from simrep.rig.cluster import RigCluster
from simrep.rig.load import LargeTransaction, Load
from simrep.rig.operations import ALTERED, altered_statements
from simrep.rig.proxy import PROXY
from simrep.rig.server import RigServer
from simrep.rig.tools import sysbench_command
from simrep.rig.transactions import ATTEMPTS, DATABASE, USER

__all__ = [
    "Tables",
    "empty_tables",
    "fingerprints",
    "large_tables",
    "make_tables",
    "table_keys",
    "tables",
    "written",
]

_BATCH_ROWS = 50_000
_BALLAST = "ballast"
_BALLAST_BATCH = 512  # rows of 4 kB: writesets of 2 MB
_SHOWN = {"oltp_insert": "count(*)", "oltp_update_index": "sum(k)"}
"""Scripts of sysbench each of whose transactions adds 1 to a figure of a table."""


_DISTANT = (
    f"create user if not exists {USER}@'%' identified by '{USER}'",
    f"grant all on {DATABASE}.* to {USER}@'%'",
)
"""Clients that a proxy lets in."""


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


def tables(load: Load) -> Tables:
    """The tables of a load, in the database of the rig."""
    if load.script is not None:
        names = _sysbench_names(load)
        figures = ", ".join(
            f"(select concat_ws(' ', count(*), sum(k)) from {name}) as {name}" for name in names
        )
        shown = _SHOWN.get(load.script)
        sums = " + ".join(f"(select {shown} from {name})" for name in names)
        return Tables((), (), f"select {figures}", f"select {sums} as total" if shown else "")
    if load.breaks:
        own = "id bigint not null auto_increment primary key, client int not null"
        more = "sequence int not null, pad char(60) not null, key (client, sequence)"
        return Tables(
            create=(
                f"create table if not exists {ATTEMPTS} ({own}, {more}) default charset=latin1",
                f"create user if not exists {USER}@localhost identified by '{USER}'",
                f"grant all on {DATABASE}.* to {USER}@localhost",
                *(_DISTANT if load.proxy is not None else ()),
            ),
            empty=(f"delete from {ATTEMPTS}",),
            fingerprint=f"select count(*) as number, sum(sequence) as total from {ATTEMPTS}",
        )
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


def _ballast_statements(megabytes: int) -> tuple[str, ...]:
    """Statements that fill a table with so much data, by doubling up to a batch of 2 MB."""
    rows = _BALLAST_BATCH
    columns = "(id int not null auto_increment primary key, c varchar(4000) not null)"
    fill = [f"insert into {_BALLAST} (c) values (repeat(md5(0), 125))"]
    fill += [f"insert into {_BALLAST} (c) select c from {_BALLAST} limit {rows}"] * (
        math.ceil(math.log2(rows)) + megabytes * 250 // rows
    )
    made = f"create table {_BALLAST} {columns} default charset=latin1"
    return (f"drop table if exists {_BALLAST}", made, *fill)


def table_keys(load: Load) -> dict[str, tuple[int | str, ...]]:
    """What the tables of a load depend on, by a name for them: equal keys share tables."""
    if load.script is not None:
        keys: dict[str, tuple[int | str, ...]] = {
            "sysbench": (load.script, load.tables, load.table_rows)
        }
    else:
        keys = {ATTEMPTS if load.breaks else load.kind: ()}
        if load.proxy is not None:
            keys = {ATTEMPTS: (PROXY,)}
    if load.data_mb is not None:
        keys[_BALLAST] = (load.data_mb,)
    if load.ddl:
        keys[ALTERED] = (load.ddl[0].rows, load.ddl[0].size_bytes)
    if load.large is not None:
        keys["large"] = (load.large.rows, load.large.value_bytes)
    return keys


def make_tables(load: Load, cluster: RigCluster) -> None:
    """Make the database and the tables of a load, on the first node."""
    writer = cluster.nodes[0]
    writer.query(f"create database if not exists {DATABASE}")
    chosen = tables(load)
    if chosen.create:
        writer.query(*_in(chosen.create))
    if load.script is not None:
        writer.query(*_in(tuple(f"drop table if exists {name}" for name in _sysbench_names(load))))
        writer.run(sysbench_command(load, writer.socket_inside, "prepare"), timeout_s=600.0)
    if load.data_mb is not None:
        writer.query(*_in(_ballast_statements(load.data_mb)))
    if load.ddl:
        writer.query(*_in(altered_statements(load.ddl[0])))
    if load.large is not None:
        writer.query(*_in(large_tables(load.large).create))


def empty_tables(load: Load, cluster: RigCluster) -> None:
    """Put the tables of a load back as they were."""
    chosen = tables(load)
    if chosen.empty:
        cluster.nodes[0].query(*_in(chosen.empty))


def fingerprints(load: Load, cluster: RigCluster) -> dict[str, str]:
    """What the tables hold, by node: equal where they hold the same."""
    queries = [tables(load).fingerprint]
    if load.large is not None:
        queries.append(large_tables(load.large).fingerprint)
    return {
        node.name: " ".join(
            str(value)
            for query in queries
            for row in node.query(f"use {DATABASE}", query)
            for value in row.values()
        )
        for node in cluster.nodes
    }


def written(load: Load, node: RigServer) -> int | None:
    """Transactions that the tables of a node show; None if they do not tell."""
    query = tables(load).written
    if not query:
        return None
    [row] = node.query(f"use {DATABASE}", query)
    return round(float(row["total"] or 0))


def _in(statements: tuple[str, ...]) -> tuple[str, ...]:
    return (f"use {DATABASE}", *statements)


def _sysbench_names(load: Load) -> list[str]:
    return [f"sbtest{number}" for number in range(1, load.tables + 1)]
