"""Sizes of rows and statements, from what a server has counted in bytes.

How many bytes a transaction has on its way is the model's affair: headers, keys, the text of
statements. So the size of a row is the one with which the simulated counters have the measured
bytes per transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simrep.intake.given import Findings, Number
from simrep.intake.read import Server
from simrep.runs.run import run

__all__ = ["with_sizes"]

_DEFAULT_BYTES = 100
# Bytes, and transactions that they are of; measured, then as the models count them.
_COUNTERS = (
    ("wsrep_replicated_bytes", "wsrep_replicated"),
    ("Binlog_bytes_written", "Binlog_commits"),
)
_TRANSACTIONS = 20
_SIZES = (100, 1100)
_PREPARED = 0.05
"""Share of statements that are executed as prepared ones above which packets are not their text."""
_PACKET_BYTES = 5  # length, number, command


@dataclass(frozen=True, slots=True)
class _Line:
    """Bytes per transaction over bytes per row."""

    at_zero: float
    slope: float


def with_sizes(
    server: Server,
    cluster: Mapping[str, Any],
    classes: Sequence[Mapping[str, Any]],
    found: Findings,
) -> list[dict[str, Any]]:
    """The classes with ``row_bytes``, and ``statement_bytes`` where they are known.

    Parameters
    ----------
    server : Server
    cluster : mapping
        The ``[cluster]`` table.
    classes : sequence of mapping
        Entries of ``[[workload.class]]``.
    found : Findings
    """
    sized = [dict(one) for one in classes]
    writing = [position for position, one in enumerate(sized) if one.get("statements", 1)]
    _with_texts(server, sized, writing, found)
    measured = _measured(server, cluster, [sized[position] for position in writing])
    for position in writing:
        path = f"workload.class.{position}.row_bytes"
        if measured is not None:
            row_bytes, figure, note = measured
            sized[position]["row_bytes"] = found.read(path, row_bytes, figure.places, note)
        elif "row_bytes" not in sized[position]:
            why = "no counter of replicated bytes: the size of your row events"
            found.default(path, _DEFAULT_BYTES, why)
    return sized


def _measured(
    server: Server, cluster: Mapping[str, Any], classes: Sequence[Mapping[str, Any]]
) -> tuple[int, Number, str] | None:
    """Bytes of a row, those of a transaction, and how the former follow; None if nothing tells."""
    for bytes_counter, transactions in _COUNTERS:
        size, count = server.status.rate(bytes_counter), server.status.rate(transactions)
        if size is None or count is None or not size.value or not count.value:
            continue
        lines = [_line(cluster, one, bytes_counter, transactions) for one in classes]
        known = [line for line in lines if line is not None]
        if not known or len(known) < len(lines):
            continue  # the model does not count them
        weights = [float(one.get("weight", 1.0)) for one in classes]
        at_zero = _mean([line.at_zero for line in known], weights)
        slope = _mean([line.slope for line in known], weights)
        figure = Number(size.value / count.value, size.places + count.places)
        note = (
            f"{bytes_counter} / {transactions} = {figure.value:.4g}, less {at_zero:.4g} bytes that "
            "the model has around the rows"
        )
        return max(1, round((figure.value - at_zero) / slope)), figure, note
    return None


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    products = [value * weight for value, weight in zip(values, weights, strict=True)]
    return sum(products) / sum(weights)


def _line(
    cluster: Mapping[str, Any], one: Mapping[str, Any], bytes_counter: str, transactions: str
) -> _Line | None:
    """Bytes of a transaction are linear in those of its rows: two runs tell how."""
    counted = []
    for row_bytes in _SIZES:
        scenario = {
            "cluster": dict(cluster),
            "workload": {
                "queries": _TRANSACTIONS,
                "nodes": ["n1"],
                "class": [{**one, "row_bytes": row_bytes}],
            },
        }
        counters = run(scenario, seed=1, replications=1).counters["n1"]
        if not counters.get(transactions):
            return None
        counted.append(counters[bytes_counter] / counters[transactions])
    slope = (counted[1] - counted[0]) / (_SIZES[1] - _SIZES[0])
    return _Line(counted[0] - slope * _SIZES[0], slope)


def _with_texts(
    server: Server, classes: list[dict[str, Any]], writing: Sequence[int], found: Findings
) -> None:
    """The mean length of a statement, if statements travel as texts."""
    status = server.status
    received, statements = status.rate("bytes_received"), status.rate("questions")
    prepared = status.rate("com_stmt_execute")
    if received is None or statements is None or not statements.value:
        return
    if prepared is not None and prepared.value > _PREPARED * statements.value:
        return
    size = max(1, round(received.value / statements.value) - _PACKET_BYTES)
    for position in writing:
        if "statement_bytes" not in classes[position]:
            classes[position]["statement_bytes"] = found.read(
                f"workload.class.{position}.statement_bytes",
                size,
                received.places + statements.places,
                f"Bytes_received / Questions, less {_PACKET_BYTES} bytes of a packet's head",
            )
