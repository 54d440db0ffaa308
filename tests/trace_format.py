"""The rules of the Trace Event Format that a reader of traces relies on.

After the document "Trace Event Format" of the Chromium project: the fields of each phase, duration
events of a thread that nest, flow events bound to slices, and names for processes and threads.
"""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from math import isfinite
from typing import Any

__all__ = ["check_trace"]

_FIELDS: dict[str, dict[str, Any]] = {
    "X": {"name": str, "cat": str, "ts": (int, float), "dur": (int, float), "pid": int,
          "tid": int, "args": dict},
    "s": {"name": str, "cat": str, "id": int, "ts": (int, float), "pid": int, "tid": int},
    "f": {"name": str, "cat": str, "id": int, "ts": (int, float), "pid": int, "tid": int,
          "bp": str},
    "M": {"name": str, "pid": int, "args": dict},
}  # fmt: skip
_METADATA = {
    "process_name": ("name", str),
    "process_sort_index": ("sort_index", int),
    "thread_name": ("name", str),
    "thread_sort_index": ("sort_index", int),
}

Event = dict[str, Any]


def check_trace(text: str) -> list[Event]:
    """The events of a trace; AssertionError where a rule is broken."""
    trace = json.loads(text, parse_constant=_no_constant)
    assert trace["displayTimeUnit"] in {"ms", "ns"}
    events: list[Event] = trace["traceEvents"]
    for event in events:
        _check_fields(event)
    _check_named(events)
    _check_nested(events)
    _check_flows(events)
    return events


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def _check_fields(event: Event) -> None:
    fields = _FIELDS[event["ph"]]
    for name, kind in fields.items():
        assert isinstance(event[name], kind), (name, event)
        assert not isinstance(event[name], bool), (name, event)
    assert event.keys() - fields.keys() <= {"ph", "tid"}, event
    for name in event.keys() & {"ts", "dur"}:
        assert isfinite(event[name]), event
        assert event[name] >= 0, event
    if event["ph"] == "f":
        assert event["bp"] == "e", event
    if event["ph"] == "M":
        key, kind = _METADATA[event["name"]]
        assert isinstance(event["args"][key], kind), event
        if event["name"].startswith("thread"):
            assert isinstance(event["tid"], int), event


def _check_named(events: list[Event]) -> None:
    """Every process and thread has one name, and a number that no other one has."""
    processes = [e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name"]
    threads = [e["tid"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"]
    assert len(set(processes)) == len(processes)
    assert len(set(threads)) == len(threads)
    assert not set(processes) & set(threads)  # a thread with the number of its process is its main
    assert {e["pid"] for e in events} == set(processes)
    assert {e["tid"] for e in events if "tid" in e} == set(threads)
    owners = {(e["pid"], e["tid"]) for e in events if "tid" in e}
    assert len(owners) == len(threads)


def _end(event: Event) -> float:
    return float(event["ts"] + event["dur"])


def _threads(events: list[Event]) -> dict[int, list[Event]]:
    slices = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            slices[event["tid"]].append(event)
    return slices


def _check_nested(events: list[Event]) -> None:
    """In the order of the file, an outer slice comes before those inside it."""
    for slices in _threads(events).values():
        assert all(one["ts"] <= other["ts"] for one, other in pairwise(slices)), slices
        open_until: list[float] = []
        for one in slices:
            while open_until and open_until[-1] <= one["ts"]:
                open_until.pop()
            assert not open_until or _end(one) <= open_until[-1], one
            open_until.append(_end(one))


def _check_flows(events: list[Event]) -> None:
    """Every arrow has one begin and one end, not before it, each at a slice of its thread."""
    threads = _threads(events)
    begins = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert len(begins) + len(ends) == sum(e["ph"] in {"s", "f"} for e in events)
    assert begins.keys() == ends.keys()
    for number, begin in begins.items():
        end = ends[number]
        assert (begin["name"], begin["cat"]) == (end["name"], end["cat"]), begin
        assert begin["ts"] <= end["ts"], begin
        for one in (begin, end):
            around = [s for s in threads[one["tid"]] if s["ts"] <= one["ts"] < _end(s)]
            assert around, one
            assert around[0]["pid"] == one["pid"], one
