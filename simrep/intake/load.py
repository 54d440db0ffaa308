"""The load of a server, from its counters: transactions per second and what they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simrep.errors import ScenarioError
from simrep.intake.given import Findings, Number
from simrep.intake.product import Product
from simrep.intake.read import Server

__all__ = ["Load", "load_of"]

_INSERTS = ("com_insert", "com_replace", "com_insert_select", "com_replace_select", "com_load")
_UPDATES = ("com_update", "com_delete", "com_update_multi", "com_delete_multi")
_WRITTEN = (
    ("innodb_rows_inserted", "innodb_rows_updated", "innodb_rows_deleted"),
    ("handler_write", "handler_update", "handler_delete"),
)
_FOUND = (("innodb_rows_updated", "innodb_rows_deleted"), ("handler_update", "handler_delete"))
_READ = ("innodb_rows_read", "rows_read")
# What counts transactions that write, the most exact first.
_COMMITS = ("binlog_commits", "binlog_cache_use", "com_commit")
_REMOTE = 0.05
"""Writesets of other nodes, relative to one's own, below which others do not write: view changes
and flow control are received as well."""
_SEVERAL = 1.5
"""Statements that write per transaction from which they do not commit by themselves."""
_MOST_ROWS = 1_000_000
_TABLE_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class Load:
    """What clients submit.

    Attributes
    ----------
    classes : list of dict
        For ``[[workload.class]]``, without sizes.
    table : dict
        The other keys of ``[workload]``.
    per_s : Number or None
        Transactions that write on this node, per second; None if there are none.
    """

    classes: list[dict[str, Any]]
    table: dict[str, Any]
    per_s: Number | None


def load_of(server: Server, product: Product, found: Findings) -> Load:
    """The load that the counters amount to.

    Every transaction that writes is taken as one of a kind: so many statements, each of so many
    rows. Where statements commit by themselves, inserts, updates and reads are classes of their
    own. Counters cannot tell whether reads belong to a transaction that writes; where there are
    COMMITs they are taken as a part of it.
    """
    status = server.status
    commits, local = _commits(server, product)
    statements = status.rate(*_INSERTS, *_UPDATES)
    selects = status.rate("com_select")
    if commits is None:
        if selects is None or not selects.value:
            return _no_load(server, found)
        classes, total = _reads_alone(server, found, selects)
    elif statements is None or not statements.value:
        classes, total = _commits_alone(found), commits
    else:
        statements = Number(statements.value * local, statements.places)
        explicit = status.rate("com_commit")
        ended = explicit.value if explicit is not None else 0.0
        if max(2.0 * ended, statements.value / _SEVERAL) >= commits.value:
            classes, total = _transactions(server, found, commits, statements, selects)
        else:
            classes, total = _autocommit(server, found, local, selects)
    table = _arrivals(server, product, found, total, 1.0 / local - 1.0)
    return Load(classes, table, commits)


def _commits(server: Server, product: Product) -> tuple[Number | None, float]:
    """Transactions of this node that write, per second, and their share of all it executes."""
    status = server.status
    statements = status.rate(*_INSERTS, *_UPDATES)
    writes = statements is not None and statements.value > 0
    own = status.rate("wsrep_replicated") if product.model == "galera" else None
    if own is not None:
        if writes and not own.value:
            raise ScenarioError(
                "--status",
                "no transaction was replicated from this node, although rows were written: it "
                "applies those of others",
                "take the counters of a node that clients write to",
            )
        received = status.rate("wsrep_received")
        others = received.value if received is not None else 0.0
        share = own.value / (own.value + others) if others > _REMOTE * own.value else 1.0
        return (own, share) if own.value else (None, 1.0)
    first = status.first_rate(_COMMITS)
    if first is not None:
        return first[1], 1.0
    return statements if writes else None, 1.0


def _no_load(server: Server, found: Findings) -> Load:
    why = "no counters of transactions: set preset, threads or rate_tps"
    if server.status.after:
        why = "the counters have not grown: set preset, threads or rate_tps"
    found.default("workload", "one client, single-row inserts", why)
    return Load([{"name": "insert"}], {"threads": 1}, None)


# -- classes -------------------------------------------------------------------------------------


def _commits_alone(found: Findings) -> list[dict[str, Any]]:
    """Transactions are counted, statements are not: ``SHOW STATUS LIKE 'wsrep%'``."""
    why = "statements are not counted (Com_...): the output of SHOW GLOBAL STATUS has them"
    found.default("workload.class.0.statements", 1, why)
    return [{"name": "transaction", "statements": 1}]


def _transactions(
    server: Server, found: Findings, commits: Number, statements: Number, selects: Number | None
) -> tuple[list[dict[str, Any]], Number]:
    """One class: every transaction does the mean of all."""
    path = "workload.class.0"
    begun = _attempts(server, commits)
    mean = statements.value / begun.value
    one: dict[str, Any] = {"name": "transaction"}
    one["statements"] = found.read(
        f"{path}.statements", max(1, round(mean)), statements.places + begun.places,
        f"{mean:.3g} statements that write per transaction",
    )  # fmt: skip
    one |= _rows_written(server, found, path)
    if selects is not None and selects.value:
        one |= _reads(server, found, path, selects, begun)
    inserts = server.status.rate(*_INSERTS)
    others = server.status.rate(*_UPDATES)
    if others is not None and others.value > (inserts.value if inserts is not None else 0.0):
        one |= _keys(found, path, one["rows"])
    one["autocommit"] = False
    return [one], commits


def _attempts(server: Server, commits: Number) -> Number:
    """Transactions that were begun: those that failed have executed statements, too."""
    begun, ended = server.status.rate("com_begin"), server.status.rate("com_commit")
    if begun is None or ended is None or not begun.value > ended.value > 0.0:
        return commits
    places = commits.places + begun.places + ended.places
    return Number(commits.value * begun.value / ended.value, places)


def _autocommit(
    server: Server, found: Findings, local: float, selects: Number | None
) -> tuple[list[dict[str, Any]], Number]:
    """A class for inserts, one for updates and deletes, one for reads."""
    kinds = (("insert", _INSERTS, local), ("update", _UPDATES, local))
    rates: list[tuple[str, Number]] = []
    for name, counters, share in kinds:
        rate = server.status.rate(*counters)
        if rate is not None and rate.value:
            rates.append((name, Number(rate.value * share, rate.places)))
    if selects is not None and selects.value:
        rates.append(("read", selects))
    total = Number(
        sum(rate.value for _, rate in rates), tuple(p for _, rate in rates for p in rate.places)
    )
    classes: list[dict[str, Any]] = []
    for position, (name, rate) in enumerate(rates):
        path = f"workload.class.{position}"
        one: dict[str, Any] = {"name": name}
        if len(rates) > 1:
            weight = float(f"{100 * rate.value / total.value:.4g}")
            one["weight"] = found.read(f"{path}.weight", weight, rate.places, f"% are {name}s")
        if name == "read":
            one |= {"statements": 0, **_reads(server, found, path, rate, rate)}
        else:
            one |= _rows_written(server, found, path)
        if name == "update":
            one |= _keys(found, path, one["rows"])
        classes.append(one)
    return classes, total


def _reads_alone(
    server: Server, found: Findings, selects: Number
) -> tuple[list[dict[str, Any]], Number]:
    path = "workload.class.0"
    found.remarks.append("No transaction has written: only reads are simulated.")
    reads = _reads(server, found, path, selects, selects)
    return [{"name": "read", "statements": 0, **reads}], selects


def _reads(
    server: Server, found: Findings, path: str, selects: Number, per: Number
) -> dict[str, Any]:
    """How many statements read, and how many rows each."""
    count = round(selects.value / per.value)
    if not count:
        found.default(
            f"{path}.reads", 0, f"{selects.value / per.value:.2g} SELECTs per transaction"
        )
        return {}
    rows = _rows_read(server, selects)
    name = "reads" if rows is None or rows.value < 2 else "range_reads"
    known: dict[str, Any] = {
        name: found.read(
            f"{path}.{name}", count, selects.places,
            f"{selects.value / per.value:.3g} SELECTs per transaction"
            if per is not selects else "",
        )
    }  # fmt: skip
    if rows is None:
        found.default(f"{path}.range_rows", 1, "rows that a SELECT reads are not counted")
    elif name == "range_reads":
        most = min(_MOST_ROWS, round(rows.value))
        known["range_rows"] = found.read(
            f"{path}.range_rows", most, rows.places, "rows read per SELECT, on average"
        )
    return known


def _rows_read(server: Server, selects: Number) -> Number | None:
    """Rows that a SELECT reads: those that updates and deletes have found are not its own."""
    read = server.status.first_rate(_READ)
    if read is None:
        return None
    for names in _FOUND:
        changed = server.status.rate(*names)
        if changed is not None:
            rows = max(0.0, read[1].value - changed.value)
            return Number(rows / selects.value, read[1].places + changed.places)
    return Number(read[1].value / selects.value, read[1].places)


def _rows_written(server: Server, found: Findings, path: str) -> dict[str, int]:
    """Rows of a statement that writes."""
    statements = server.status.rate(*_INSERTS, *_UPDATES)
    for names in _WRITTEN:
        rows = server.status.rate(*names)
        if rows is not None and rows.value and statements is not None and statements.value:
            mean = rows.value / statements.value
            note = f"{mean:.3g} rows written per statement"
            value = min(_MOST_ROWS, max(1, round(mean)))
            return {"rows": found.read(f"{path}.rows", value, rows.places, note)}
    return {"rows": found.default(f"{path}.rows", 1, "rows written are not counted")}


def _keys(found: Findings, path: str, rows: int) -> dict[str, Any]:
    """Which rows: no counter tells how hot they are."""
    why = "which rows are updated is not counted: set rows, or hot rows, as your tables have them"
    keys = {"distribution": "uniform", "rows": max(_TABLE_ROWS, rows)}
    return {"keys": found.default(f"{path}.keys", keys, why)}


# -- arrivals ------------------------------------------------------------------------------------


def _arrivals(
    server: Server, product: Product, found: Findings, total: Number, others: float
) -> dict[str, Any]:
    """An open loop of the measured rate, on this node and on others that write."""
    seconds = server.status.seconds
    if seconds is None:
        why = "nothing says how long the counters have counted (Uptime): set threads or rate_tps"
        return {"threads": found.default("workload.threads", 1, why)}
    rate = float(f"{total.value:.4g}")
    span = _duration(seconds.value)
    note = f"transactions per second over {span}"
    if server.status.before is None:
        note += " since the start of the server; two --status files tell those of a busy hour"
    connections = _connections(server)
    if others <= 0.0 or product.nodes == 1:
        found.read("workload.rate_tps", rate, total.places + seconds.places, note)
        return {"rate_tps": rate, "nodes": ["n1"], **_limit("workload", connections, found)}
    found.read("workload.group.0.rate_tps", rate, total.places + seconds.places, note)
    each = float(f"{rate * others / (product.nodes - 1):.4g}")
    received = server.status.rate("wsrep_received")
    assert received is not None
    groups: list[dict[str, Any]] = [
        {"node": "n1", "rate_tps": rate, **_limit("workload.group.0", connections, found)}
    ]
    for position in range(1, product.nodes):
        note = "wsrep_received: the others share it equally and submit the same mix"
        path = f"workload.group.{position}.rate_tps"
        found.read(path, each, received.places, note)
        groups.append({"node": f"n{position + 1}", "rate_tps": each})
    return {"group": groups}


def _connections(server: Server) -> Number | None:
    """Connections of clients: one is that which asked for the counters."""
    connected = server.status.latest("threads_connected")
    if connected is None or connected.value < 2:
        return None
    return Number(connected.value - 1, connected.places)


def _limit(path: str, connections: Number | None, found: Findings) -> dict[str, int]:
    if connections is None:
        found.default(f"{path}.connections", None, "any number: Threads_connected is not known")
        return {}
    value = int(connections.value)
    note = "Threads_connected but one"
    return {"connections": found.read(f"{path}.connections", value, connections.places, note)}


def _duration(seconds: float) -> str:
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
