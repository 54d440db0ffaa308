"""One transaction as a Chrome trace, which Perfetto and chrome://tracing open.

The format is the JSON object format of the Trace Event Format document: a process for each node, a
thread for each station, a complete event for whatever lasts, and a flow arrow for each message.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from pathlib import Path
from typing import Any

from simrep.files import write_text
from simrep.show.views import trace
from simrep.why.commit import Activity, Explanation, Transmission

__all__ = ["chrome_trace", "in_lanes"]

_STEPS = 8
"""Times are whole eighths of a microsecond: a double holds those exactly, so that no rounding in
a reader makes slices overlap that follow each other."""

_SENT, _RECEIVED = "sent", "received"
_FACTS = ("latency_s", "model", "seed", "replication")
_ABOUT = ("number", "size_bytes", "cause", "own", "critical")
"""Attributes of an explanation and of a message, shown beside the trace and its slices."""


@dataclass(frozen=True, slots=True)
class _Slice:
    """Something that lasts, in steps; a message that leaves or arrives begins with it."""

    name: str
    category: str
    began: int
    ended: int
    args: Mapping[str, Any]
    message: Transmission | None = None


_Thread = tuple[str, list[_Slice]]


@trace.register(Explanation)
def chrome_trace(explanation: Explanation, path: str | Path | None = None) -> dict[str, Any]:
    """What happened meanwhile, in the Trace Event Format, with simulated times in microseconds.

    The origin has a thread for the transaction with its stages; every node has one per station,
    several ("applier 2") where it does several things at a time, and two for its network. A
    message that never arrives leaves its node and has no arrow.
    """
    slices: list[dict[str, Any]] = []
    flows: list[dict[str, Any]] = []
    thread = len(explanation.nodes) + 1  # no two threads of a trace have the same number
    for node, name in enumerate(explanation.nodes):
        slices += [
            _metadata("process_name", {"name": name}, pid=node + 1),
            _metadata("process_sort_index", {"sort_index": node}, pid=node + 1),
        ]
        threads = _threads(explanation, node)
        for index, (title, content) in enumerate(threads):
            place = {"pid": node + 1, "tid": thread + index}
            slices += [
                _metadata("thread_name", {"name": title}, **place),
                _metadata("thread_sort_index", {"sort_index": index}, **place),
                *(_complete(one) | place for one in content),
            ]
            flows += [_flow(one, one.message) | place for one in content if one.message]
        thread += len(threads)
    facts = {name: getattr(explanation, name) for name in _FACTS}
    whole = {
        "traceEvents": [*slices, *sorted(flows, key=lambda one: (one["ts"], one["ph"] == "f"))],
        "displayTimeUnit": "ms",
        "otherData": {"transaction": explanation.title, **facts, **explanation.versions},
    }
    if path is not None:
        text = json.dumps(whole, allow_nan=False, separators=(",", ":"))
        write_text(path, text + "\n")
    return whole


def _metadata(what: str, args: Mapping[str, Any], **place: int) -> dict[str, Any]:
    return {"ph": "M", "name": what, "args": args, **place}


def _complete(one: _Slice) -> dict[str, Any]:
    return {"ph": "X", "name": one.name, "cat": one.category, "ts": one.began / _STEPS,
            "dur": (one.ended - one.began) / _STEPS, "args": one.args}  # fmt: skip


def _flow(one: _Slice, message: Transmission) -> dict[str, Any]:
    """The begin of an arrow, or its end, which belongs to the slice around it."""
    end = {"ph": "f", "bp": "e"} if one.category == _RECEIVED else {"ph": "s"}
    return {**end, "name": message.label, "cat": "message", "id": message.number,
            "ts": one.began / _STEPS}  # fmt: skip


def _threads(explanation: Explanation, node: int) -> list[_Thread]:
    """Names and slices of the threads of a node."""
    found: list[_Thread] = []
    if node == explanation.node:
        found.append((f"transaction of client {explanation.client}", _stages(explanation)))
    own = [one for one in explanation.activities if one.node == node]
    for station in dict.fromkeys(one.station for one in own):
        found += _lanes(station, [_activity(one) for one in own if one.station == station])
    sent = [_sent(one, explanation) for one in explanation.messages if one.source == node]
    received = [
        _received(one, explanation)
        for one in explanation.messages
        if one.target == node and isfinite(one.arrived_s)
    ]
    return [*found, *_lanes("network out", sent), *_lanes("network in", received)]


def _lanes(title: str, slices: list[_Slice]) -> list[_Thread]:
    """As many threads as are needed for slices of one not to overlap."""
    slices = sorted(slices, key=lambda one: (one.began, one.ended))
    lanes = in_lanes([(one.began, one.ended) for one in slices])
    return [
        (
            f"{title} {lane + 1}" if lane else title,
            [one for one, own in zip(slices, lanes, strict=True) if own == lane],
        )
        for lane in range(1 + max(lanes, default=-1))
    ]


def _step(time_s: float) -> int:
    return round(time_s * 1e6 * _STEPS)


def _stages(explanation: Explanation) -> list[_Slice]:
    """The whole transaction, and its stages inside of that."""
    whole = _Slice(
        explanation.title, "transaction", _step(explanation.started_s), _step(explanation.ended_s),
        {"rows": explanation.rows, "size_bytes": explanation.size_bytes},
    )  # fmt: skip
    return [whole] + [
        _Slice(one.name, "stage", _step(one.began_s), _step(one.ended_s), {"reason": one.reason})
        for one in explanation.stages
    ]


def _activity(one: Activity) -> _Slice:
    name = f"{one.of}: {one.what}" if one.of else one.what
    return _Slice(
        name, "wait" if one.waits else "work", _step(one.began_s), _step(one.ended_s),
        {"of": one.of, "what": one.what, "waits": one.waits, "own": one.own},
    )  # fmt: skip


def _sent(message: Transmission, explanation: Explanation) -> _Slice:
    began = _step(message.sent_s)
    about = _about(message) | {"to": explanation.nodes[message.target]}
    arrow = message if isfinite(message.arrived_s) else None
    return _Slice(f"send {message.label}", _SENT, began, began + _STEPS, about, arrow)


def _received(message: Transmission, explanation: Explanation) -> _Slice:
    """From its arrival until it has been handled, if that is known; one microsecond at least."""
    began = _step(message.arrived_s)
    ended = began if isnan(message.handled_s) else _step(message.handled_s)
    about = _about(message) | {"from": explanation.nodes[message.source]}
    name = f"receive {message.label}"
    return _Slice(name, _RECEIVED, began, max(ended, began + _STEPS), about, message)


def _about(message: Transmission) -> dict[str, Any]:
    return {name: getattr(message, name) for name in _ABOUT}


def in_lanes(spans: Sequence[tuple[float, float]]) -> list[int]:
    """The lane of each span from a begin to an end: the fewest lanes, numbered from 0.

    A span that ends where another one begins does not overlap it.

    >>> in_lanes([(0, 3), (1, 2), (2, 5)])
    [0, 1, 1]
    """
    ends: list[float] = []
    found = [0] * len(spans)
    for position in sorted(range(len(spans)), key=lambda one: spans[one]):
        began, ended = spans[position]
        free = next((lane for lane, end in enumerate(ends) if end <= began), len(ends))
        ends[free : free + 1] = [ended]
        found[position] = free
    return found
