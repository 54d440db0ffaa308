"""The gates of a run, one by one."""

from dataclasses import replace

import pytest

from simrep.rig.cluster import Health
from simrep.rig.delays import DelayMatrix, Link
from simrep.rig.engine import RoundTrip
from simrep.rig.experiment import Limits
from simrep.rig.gates import Observed, gates, round_trip_gate
from simrep.rig.relays import DelayStatistics
from simrep.rig.transactions import Loaded

WHOLE = Health((), {"n1": {"state": "Synced"}, "n2": {"state": "Synced"}})
GOOD = Observed(
    before=WHOLE,
    after=WHOLE,
    contents={"n1": "100", "n2": "100"},
    caught_up=True,
    written=100,
    loaded=Loaded(100, 0, 2.0, 0.1),
    delays=DelayStatistics(late_mean_ms=0.1),
    lossy=False,
    busy_before=0.1,
    used_by_others=0.05,
    stolen=0.0,
    in_time=True,
)


def failed(observed):
    return {gate.name for gate in gates(observed, Limits()) if not gate.passed}


def test_a_good_run_passes_all():
    assert failed(GOOD) == set()
    assert failed(replace(GOOD, written=None)) == set()
    assert failed(replace(GOOD, used_by_others=float("nan"))) == set()


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"before": Health(("n2 is down",), WHOLE.facts)}, {"healthy before"}),
        ({"after": Health(("n2 is down",), WHOLE.facts)}, {"healthy after"}),
        ({"after": Health((), {"n1": {"state": "Synced"}})}, {"same members"}),
        ({"contents": {"n1": "100", "n2": "99"}}, {"equal rows"}),
        ({"caught_up": False}, {"equal rows"}),
        ({"written": 99}, {"rows written"}),
        ({"loaded": Loaded(100, 1, 2.0, 0.1, errors=((1062, 1),))}, {"no odd errors"}),
        ({"loaded": Loaded(100, 1, 2.0, 0.1, errors=((1213, 1),))}, set()),
        ({"loaded": Loaded(0, 9, 2.0, 0.1), "written": 0}, {"something committed"}),
        ({"in_time": False}, {"in time"}),
        ({"delays": DelayStatistics(late_mean_ms=0.7)}, {"delays kept"}),
        ({"delays": DelayStatistics(dropped=1)}, {"nothing lost"}),
        ({"delays": DelayStatistics(dropped=1), "lossy": True}, set()),
        ({"busy_before": 0.4}, {"quiet before"}),
        ({"used_by_others": 0.3}, {"alone"}),
        ({"stolen": 0.1}, {"not held up"}),
        ({"growth": {"n1": {"rpl_semi_sync_source_no_tx": 2.0}}}, {"acknowledged"}),
        ({"growth": {"n1": {"rpl_semi_sync_source_yes_tx": 2.0}}}, set()),
    ],
)
def test_each_gate_fails_for_its_own_reason(changes, names):
    assert failed(replace(GOOD, **changes)) == names


def trip(mean_ms):
    return RoundTrip(mean_ms, mean_ms, mean_ms, 0.0)


def test_round_trips_have_to_be_those_that_were_asked_for():
    wanted = DelayMatrix(("n1", "n2"), {("n1", "n2"): Link(50)})
    assert round_trip_gate(wanted, {("n1", "n2"): trip(50.3)}, 0.1).passed
    assert round_trip_gate(wanted, {("n1", "n2"): trip(51.0)}, 0.1).passed
    gate = round_trip_gate(wanted, {("n1", "n2"): trip(100.2)}, 0.1)
    assert not gate.passed
    assert gate.detail == "n1-n2: 100.200 ms instead of 50.100 ms"
    assert not round_trip_gate(wanted, {("n1", "n2"): trip(0.1)}, 0.1).passed
    lossy = DelayMatrix(("n1", "n2"), {("n1", "n2"): Link(50, loss=0.1)})
    assert round_trip_gate(lossy, {("n1", "n2"): trip(90.0)}, 0.1).passed
    shaky = DelayMatrix(("n1", "n2"), {("n1", "n2"): Link(50, jitter_ms=5)})
    assert round_trip_gate(shaky, {("n1", "n2"): trip(53.0)}, 0.1).passed
