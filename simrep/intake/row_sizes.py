"""Sizes of rows and statements, from the bytes that a server has counted.

How many bytes a transaction has on its way is the model's affair: headers, keys, the text of
statements. So the size of a row is the one with which the simulated counters have the measured
bytes per transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simrep.contract.server_reading import Quantity, ServerReading
from simrep.intake.findings import Findings
from simrep.runs.run import run

__all__ = ["with_sizes"]

_DEFAULT_BYTES = 100
_TRANSACTIONS = 20
_SIZES = (100, 1100)
_PREPARED = 0.05
"""Share of statements that are executed as prepared ones above which packets are not their text."""
_PACKET_BYTES = 5  # length, number, command


def with_sizes(
    server: ServerReading,
    counters: Sequence[tuple[str, str]],
    cluster: Mapping[str, Any],
    classes: Sequence[Mapping[str, Any]],
    findings: Findings,
) -> list[dict[str, Any]]:
    """The classes with ``row_bytes``, and ``statement_bytes`` where they are known.

    Counters are pairs, of bytes and of transactions: see ``Recognition.sizes``. ``cluster`` is that
    table of the scenario.
    """
    sized = [dict(one) for one in classes]
    writing = {
        f"workload.class.{position}": one
        for position, one in enumerate(sized)
        if one.get("statements", 1)
    }
    _add_texts(server, writing, findings)
    measured = _measured(server, counters, cluster, list(writing.values()))
    for path, one in writing.items():
        if measured is not None:
            row_bytes, figure, note = measured
            one["row_bytes"] = findings.read(f"{path}.row_bytes", row_bytes, figure.places, note)
        elif "row_bytes" not in one:
            why = "no counter of replicated bytes: the size of your row events"
            findings.default(f"{path}.row_bytes", _DEFAULT_BYTES, why)
    return sized


def _measured(
    server: ServerReading,
    counters: Sequence[tuple[str, str]],
    cluster: Mapping[str, Any],
    classes: Sequence[Mapping[str, Any]],
) -> tuple[int, Quantity, str] | None:
    """Bytes of a row, those of a transaction, and how the former follow; None if nothing tells."""
    for names in counters:
        size, count = map(server.status.rate, names)
        if size is None or count is None or not size.value or not count.value:
            continue
        known = [line for one in classes if (line := _line(cluster, one, *names)) is not None]
        if not known or len(known) < len(classes):
            continue  # the model does not count them
        weights = [float(one.get("weight", 1.0)) for one in classes]
        at_zero, slope = (
            sum(value * weight for value, weight in zip(values, weights, strict=True))
            / sum(weights)
            for values in zip(*known, strict=True)
        )
        figure = Quantity(size.value / count.value, size.places + count.places)
        note = (
            f"{' / '.join(names)} = {figure.value:.4g}, less {at_zero:.4g} bytes that the model "
            "has around the rows"
        )
        return max(1, round((figure.value - at_zero) / slope)), figure, note
    return None


def _line(
    cluster: Mapping[str, Any], one: Mapping[str, Any], bytes_counter: str, transactions: str
) -> tuple[float, float] | None:
    """Bytes of a transaction with rows of no size, and bytes per byte of a row.

    They are linear: two runs tell how.
    """
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
    return counted[0] - slope * _SIZES[0], slope


def _add_texts(
    server: ServerReading, classes: Mapping[str, dict[str, Any]], findings: Findings
) -> None:
    """The mean length of a statement, if statements travel as texts."""
    rates = map(server.status.rate, ("bytes_received", "questions", "com_stmt_execute"))
    received, statements, prepared = rates
    if received is None or statements is None or not statements.value:
        return
    if prepared is not None and prepared.value > _PREPARED * statements.value:
        return
    size = max(1, round(received.value / statements.value) - _PACKET_BYTES)
    places = received.places + statements.places
    note = f"Bytes_received / Questions, less {_PACKET_BYTES} bytes of a packet's head"
    for path, one in classes.items():
        if "statement_bytes" not in one:
            setting = f"{path}.statement_bytes"
            one["statement_bytes"] = findings.read(setting, size, places, note)
