"""The load of a server, from its counters: transactions per second and what they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simrep.contract.server_reading import Quantity, ServerReading
from simrep.errors import ScenarioError
from simrep.intake.findings import Findings
from simrep.intake.identity import Identity

__all__ = ["LoadReading", "load_of"]

_INSERTS = ("com_insert", "com_replace", "com_insert_select", "com_replace_select", "com_load")
_UPDATES = ("com_update", "com_delete", "com_update_multi", "com_delete_multi")
_WRITTEN = (
    ("innodb_rows_inserted", "innodb_rows_updated", "innodb_rows_deleted"),
    ("handler_write", "handler_update", "handler_delete"),
)
_READ = ("innodb_rows_read", "rows_read")
_REMOTE = 0.05
"""Transactions of other nodes, relative to one's own, below which others do not write: changes of
the membership and flow control are received as well."""
_SEVERAL = 1.5
"""Statements that write per transaction from which they do not commit by themselves."""
_MOST_ROWS = 1_000_000
_TABLE_ROWS = 100_000

Classes = tuple[list[dict[str, Any]], Quantity]
"""Classes of transactions, and the rate of all of them."""


@dataclass(frozen=True, slots=True)
class LoadReading:
    """The load that clients submit."""

    classes: list[dict[str, Any]]  # for ``[[workload.class]]``, without sizes
    table: dict[str, Any]  # the other keys of ``[workload]``
    # Transactions that write on this node, per second; None if there are none.
    per_s: Quantity | None


def load_of(server: ServerReading, identity: Identity, findings: Findings) -> LoadReading:
    """The load that the counters amount to.

    Every transaction that writes is taken as one of a kind: so many statements, each of so many
    rows. Where statements commit by themselves, inserts, updates and reads are classes of their
    own. Counters cannot tell whether reads belong to a transaction that writes; where there are
    COMMITs they are taken as a part of it.
    """
    counters = _Counters(server, identity, findings)
    commits, local = counters.commits, counters.local
    if commits is None and counters.selects is None:
        why = "no counters of transactions: set preset, threads or rate_tps"
        if server.status.after:
            why = "the counters have not grown: set preset, threads or rate_tps"
        findings.default("workload", "one client, single-row inserts", why)
        return LoadReading([{"name": "insert"}], {"threads": 1}, None)
    classes, total = counters.classes()
    return LoadReading(classes, counters.arrivals(total, 1.0 / local - 1.0), commits)


class _Counters:
    """Rates of a server's counters, and the workload that follows from them.

    ``writes`` and ``selects`` are statements, None where there are none or they are not counted;
    ``commits`` the writing transactions of this node, ``local`` their share of all it executes.
    """

    def __init__(self, server: ServerReading, identity: Identity, findings: Findings) -> None:
        self._status = server.status
        self._identity = identity
        self._findings = findings
        self._received = ""  # counter of transactions of other nodes
        self.writes = self._rate(*_INSERTS, *_UPDATES)
        self.selects = self._rate("com_select")
        self.commits, self.local = self._commits()

    def _rate(self, *names: str) -> Quantity | None:
        """As of ``StatusFigures``; None for counters that have not grown, too."""
        rate = self._status.rate(*names)
        return rate if rate is not None and rate.value else None

    def _commits(self) -> tuple[Quantity | None, float]:
        recognition = self._identity.recognition
        if recognition.replicated is not None:
            replicated, self._received = recognition.replicated
            own, others = self._status.rate(replicated), self._rate(self._received)
            if own is not None and own.value:
                remote = others.value if others is not None else 0.0
                share = own.value / (own.value + remote) if remote > _REMOTE * own.value else 1.0
                return own, share
            if own is not None and self.writes is not None:
                raise ScenarioError(
                    "--status",
                    "no transaction was replicated from this node, although rows were written: it "
                    "applies those of others",
                    "take the counters of a node that clients write to",
                )
            if own is not None:
                return None, 1.0
        return self._status.first_rate(recognition.transactions) or self.writes, 1.0

    # -- classes -----------------------------------------------------------------------------

    def classes(self) -> Classes:
        """Entries of ``[[workload.class]]`` without sizes."""
        path = "workload.class.0"
        if self.commits is None:
            assert self.selects is not None
            self._findings.remarks.append("No transaction has written: only reads are simulated.")
            reads = self._reads(path, self.selects, self.selects)
            return [{"name": "read", "statements": 0, **reads}], self.selects
        if self.writes is None:
            why = "statements are not counted (Com_...): the output of SHOW GLOBAL STATUS has them"
            statements = self._findings.default(f"{path}.statements", 1, why)
            return [{"name": "transaction", "statements": statements}], self.commits
        own = self.writes.value * self.local
        ended = self._rate("com_commit")
        if max(2.0 * ended.value if ended else 0.0, own / _SEVERAL) >= self.commits.value:
            return self._transactions(path, self.commits, Quantity(own, self.writes.places))
        return self._autocommit()

    def _transactions(self, path: str, commits: Quantity, statements: Quantity) -> Classes:
        """One class: every transaction does the mean of all."""
        begun = self._attempts(commits)
        mean = statements.value / begun.value
        note = f"{mean:.3g} statements that write per transaction"
        places = statements.places + begun.places
        count = self._findings.read(f"{path}.statements", max(1, round(mean)), places, note)
        one: dict[str, Any] = {"name": "transaction", "statements": count}
        one |= self._rows_written(path)
        if self.selects is not None:
            one |= self._reads(path, self.selects, begun)
        inserts, updates = self._rate(*_INSERTS), self._rate(*_UPDATES)
        if updates is not None and (inserts is None or updates.value > inserts.value):
            one |= self._keys(path, one["rows"])
        one["autocommit"] = False
        return [one], commits

    def _attempts(self, commits: Quantity) -> Quantity:
        """Transactions that were begun: those that failed have executed statements, too."""
        begun, ended = self._rate("com_begin"), self._rate("com_commit")
        if begun is None or ended is None or begun.value <= ended.value:
            return commits
        places = commits.places + begun.places + ended.places
        return Quantity(commits.value * begun.value / ended.value, places)

    def _autocommit(self) -> Classes:
        """A class for inserts, one for updates and deletes, one for reads."""
        rates: dict[str, Quantity] = {}
        for name, counters in (("insert", _INSERTS), ("update", _UPDATES)):
            if (rate := self._rate(*counters)) is not None:
                rates[name] = Quantity(rate.value * self.local, rate.places)
        if self.selects is not None:
            rates["read"] = self.selects
        places = tuple(place for rate in rates.values() for place in rate.places)
        total = Quantity(sum(rate.value for rate in rates.values()), places)
        classes: list[dict[str, Any]] = []
        for position, (name, rate) in enumerate(rates.items()):
            path = f"workload.class.{position}"
            one: dict[str, Any] = {"name": name}
            if len(rates) > 1:
                weight, note = float(f"{100 * rate.value / total.value:.4g}"), f"% are {name}s"
                one["weight"] = self._findings.read(f"{path}.weight", weight, rate.places, note)
            if name == "read":
                one |= {"statements": 0, **self._reads(path, rate, rate)}
            else:
                one |= self._rows_written(path)
            if name == "update":
                one |= self._keys(path, one["rows"])
            classes.append(one)
        return classes, total

    def _reads(self, path: str, selects: Quantity, per: Quantity) -> dict[str, Any]:
        """How many statements read, and how many rows each."""
        findings, mean = self._findings, selects.value / per.value
        if not round(mean):
            findings.default(f"{path}.reads", 0, f"{mean:.2g} SELECTs per transaction")
            return {}
        rows = self._rows_read(selects)
        name = "reads" if rows is None or rows.value < 2 else "range_reads"
        note = f"{mean:.3g} SELECTs per transaction" if per is not selects else ""
        found = {name: findings.read(f"{path}.{name}", round(mean), selects.places, note)}
        if rows is None:
            findings.default(f"{path}.range_rows", 1, "rows that a SELECT reads are not counted")
        elif name == "range_reads":
            most, note = min(_MOST_ROWS, round(rows.value)), "rows read per SELECT, on average"
            found["range_rows"] = findings.read(f"{path}.range_rows", most, rows.places, note)
        return found

    def _rows_read(self, selects: Quantity) -> Quantity | None:
        """Rows that a SELECT reads: those that updates and deletes have found are not its own."""
        read = self._status.first_rate(_READ)
        if read is None:
            return None
        rates = (self._status.rate(*changed) for _, *changed in _WRITTEN)
        changed = next((rate for rate in rates if rate is not None), Quantity(0.0, ()))
        rows = max(0.0, read.value - changed.value)
        return Quantity(rows / selects.value, read.places + changed.places)

    def _rows_written(self, path: str) -> dict[str, int]:
        """Rows of a statement that writes."""
        assert self.writes is not None
        for names in _WRITTEN:
            if (rows := self._rate(*names)) is not None:
                mean = rows.value / self.writes.value
                value = min(_MOST_ROWS, max(1, round(mean)))
                note = f"{mean:.3g} rows written per statement"
                return {"rows": self._findings.read(f"{path}.rows", value, rows.places, note)}
        why = "rows written are not counted"
        return {"rows": self._findings.default(f"{path}.rows", 1, why)}

    def _keys(self, path: str, rows: int) -> dict[str, Any]:
        """Which rows: no counter tells how hot they are."""
        why = (
            "which rows are updated is not counted: set rows, or hot rows, as your tables have them"
        )
        keys = {"distribution": "uniform", "rows": max(_TABLE_ROWS, rows)}
        return {"keys": self._findings.default(f"{path}.keys", keys, why)}

    # -- arrivals ----------------------------------------------------------------------------

    def arrivals(self, total: Quantity, others: float) -> dict[str, Any]:
        """An open loop of the measured rate, on this node and on others that write."""
        findings, seconds, nodes = self._findings, self._status.seconds, self._identity.nodes
        if seconds is None:
            why = (
                "nothing says how long the counters have counted (Uptime): set threads or rate_tps"
            )
            return {"threads": findings.default("workload.threads", 1, why)}
        rate = float(f"{total.value:.4g}")
        note = f"transactions per second over {_duration(seconds.value)}"
        if self._status.before is None:
            note += " since the start of the server; two --status files tell those of a busy hour"
        several = others > 0.0 and nodes > 1
        path = "workload.group.0" if several else "workload"
        findings.read(f"{path}.rate_tps", rate, total.places + seconds.places, note)
        limit = self._limit(path)
        if not several:
            return {"rate_tps": rate, "nodes": ["n1"], **limit}
        each = float(f"{rate * others / (nodes - 1):.4g}")
        received = self._rate(self._received)
        assert received is not None
        note = f"{self._received}: the others share it equally and submit the same mix"
        groups: list[dict[str, Any]] = [{"node": "n1", "rate_tps": rate, **limit}]
        for position in range(1, nodes):
            findings.read(f"workload.group.{position}.rate_tps", each, received.places, note)
            groups.append({"node": f"n{position + 1}", "rate_tps": each})
        return {"group": groups}

    def _limit(self, path: str) -> dict[str, int]:
        """Connections of clients: one is that which asked for the counters."""
        connected = self._status.latest("threads_connected")
        if connected is None or connected.value < 2:
            why = "any number: Threads_connected is not known"
            self._findings.default(f"{path}.connections", None, why)
            return {}
        value, note = int(connected.value - 1), "Threads_connected but one"
        return {
            "connections": self._findings.read(f"{path}.connections", value, connected.places, note)
        }


def _duration(seconds: float) -> str:
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
