"""The trace of one transaction: the rules of its format, and what is in it."""

import json
from dataclasses import replace
from math import isfinite, nan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from simrep.why.commit import Activity, Explanation
from tests.explained import BEGAN_S, explained, explanations, scaled
from tests.trace_format import check_trace


def events_of(explanation: Explanation) -> list[dict[str, Any]]:
    return check_trace(json.dumps(explanation.trace()))


def named(events: list[dict[str, Any]], kind: str) -> dict[int, str]:
    key = "pid" if kind == "process_name" else "tid"
    return {one[key]: one["args"]["name"] for one in events if one["name"] == kind}


def slices(events: list[dict[str, Any]], process: str, thread: str) -> list[dict[str, Any]]:
    processes, threads = named(events, "process_name"), named(events, "thread_name")
    return [
        one
        for one in events
        if one["ph"] == "X" and (processes[one["pid"]], threads[one["tid"]]) == (process, thread)
    ]


def test_a_process_is_a_node_and_a_thread_a_station() -> None:
    events = events_of(explained())
    assert list(named(events, "process_name").values()) == ["n1", "n2", "n3"]
    assert list(named(events, "thread_name").values()) == [
        "transaction of client 3", "send monitor", "network out", "network out 2", "network in",
        "applier", "redo log", "network out", "network out 2", "network in",
        "applier", "commit order", "redo log", "network out", "network out 2", "network in",
    ]  # fmt: skip


def test_stages_lie_in_the_slice_of_the_transaction() -> None:
    explanation = explained()
    whole, *stages = slices(events_of(explanation), "n1", "transaction of client 3")
    assert whole["dur"] == pytest.approx(1e6 * explanation.latency_s, abs=0.25)
    assert [one["name"] for one in stages] == [one.name for one in explanation.stages]
    assert sum(one["dur"] for one in stages) == whole["dur"]
    assert stages[3]["args"] == {"reason": "writeset 15, until n3 had reported writeset 13"}
    assert stages[3]["ts"] == pytest.approx(1e6 * (BEGAN_S + 0.020), abs=0.125)


def test_activities_tell_whose_they_are_and_whether_they_wait() -> None:
    (wait,) = slices(events_of(explained()), "n3", "commit order")
    assert wait["name"] == "writeset 17: waits for writeset 16"
    assert wait["cat"] == "wait"
    assert wait["dur"] == pytest.approx(6500.0, abs=0.25)
    assert wait["args"] == {
        "of": "writeset 17", "what": "waits for writeset 16", "waits": True, "own": True
    }  # fmt: skip


def test_what_a_station_does_at_the_same_time_goes_to_lanes() -> None:
    spans = [(0.0, 0.010), (0.002, 0.004), (0.004, 0.005), (0.003, 0.020), (0.010, 0.011)]
    activities = tuple(
        Activity(1, "applier", f"work {number}", "", False, False, BEGAN_S + a, BEGAN_S + b)
        for number, (a, b) in enumerate(spans)
    )
    events = events_of(explained(activities=tuple(sorted(activities, key=lambda a: a.began_s))))
    assert [one["name"] for one in slices(events, "n2", "applier")] == ["work 0", "work 4"]
    assert [one["name"] for one in slices(events, "n2", "applier 2")] == ["work 1", "work 2"]
    assert [one["name"] for one in slices(events, "n2", "applier 3")] == ["work 3"]


def test_a_message_is_an_arrow_from_its_sending_to_its_arrival() -> None:
    explanation = explained()
    events = events_of(explanation)
    begin, end = (
        next(one for one in events if one["ph"] == phase and one["id"] == 7) for phase in "sf"
    )
    processes, threads = named(events, "process_name"), named(events, "thread_name")
    assert (processes[begin["pid"]], processes[end["pid"]]) == ("n3", "n1")
    assert threads[begin["tid"]].startswith("network out")
    assert threads[end["tid"]].startswith("network in")
    assert (end["ts"] - begin["ts"]) == pytest.approx(40_100.0, abs=0.25)
    received = next(
        one for one in events if one["ph"] == "X" and one["args"].get("from") == "n3"
        and one["args"]["number"] == 7
    )  # fmt: skip
    assert received["name"] == "receive gap"
    assert received["dur"] == pytest.approx(30.0, abs=0.25)
    assert received["args"]["critical"] is True
    assert received["args"]["cause"] == 4


def test_a_message_that_nobody_was_seen_to_handle_lasts_a_microsecond() -> None:
    explanation = explained()
    lost = tuple(replace(one, handled_s=nan) for one in explanation.messages)
    events = events_of(replace(explanation, messages=lost))
    received = [one for one in events if one["ph"] == "X" and one["name"].startswith("receive")]
    assert {one["dur"] for one in received} == {1.0}


def test_it_is_saved_as_strict_json(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    trace = explained().trace(path)
    assert check_trace(path.read_text()) == trace["traceEvents"]
    assert trace["otherData"]["simrep"] == "0.1.0"
    assert trace["otherData"]["transaction"] == explained().title


@settings(max_examples=60)
@given(explanations())
def test_the_trace_of_anything_keeps_to_the_format(explanation: Explanation) -> None:
    events = events_of(explanation)
    sent = [one for one in events if one["ph"] == "X" and one["cat"] == "sent"]
    assert len(sent) == len(explanation.messages)
    arrived = sum(isfinite(one.arrived_s) for one in explanation.messages)
    assert sum(one["ph"] == "s" for one in events) == arrived
    work = [one for one in events if one["ph"] == "X" and one["cat"] in {"wait", "work"}]
    assert len(work) == len(explanation.activities)


@pytest.mark.parametrize("factor", [1e-4, 1.0, 1e4])
def test_neighbours_do_not_overlap_after_rounding(factor: float) -> None:
    events_of(scaled(explained(), factor / 3.0))


def _without_name(events: list[dict[str, Any]]) -> None:
    events.remove(next(one for one in events if one["name"] == "thread_name"))


def _not_a_number(events: list[dict[str, Any]]) -> None:
    next(one for one in events if one["ph"] == "X")["dur"] = nan


def _across(events: list[dict[str, Any]]) -> None:
    [one for one in events if one["ph"] == "X"][2]["dur"] += 1e6


def _without_end(events: list[dict[str, Any]]) -> None:
    events.remove(next(one for one in events if one["ph"] == "f"))


def _beside_its_slice(events: list[dict[str, Any]]) -> None:
    next(one for one in events if one["ph"] == "f")["ts"] += 1e5


def _back_in_time(events: list[dict[str, Any]]) -> None:
    flows = {one["ph"]: one for one in events if one.get("id") == 7}
    for key in ("ts", "pid", "tid"):
        flows["s"][key], flows["f"][key] = flows["f"][key], flows["s"][key]


def _text_for_a_process(events: list[dict[str, Any]]) -> None:
    events[-1]["pid"] = "n1"


@pytest.mark.parametrize(
    "spoil",
    [_without_name, _not_a_number, _across, _without_end, _beside_its_slice, _back_in_time,
     _text_for_a_process],
)  # fmt: skip
def test_the_check_finds_what_is_wrong(spoil: Any) -> None:
    trace = explained().trace()
    spoil(trace["traceEvents"])
    with pytest.raises(AssertionError):
        check_trace(json.dumps(trace))
