"""Fragment sizes compared: what they do, which are recommended, what is refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import simrep
from simrep.errors import ScenarioError, ShortRunWarning, SimrepError
from simrep.models.galera.questions.fragment import FragmentSizes, size_text
from simrep.models.galera.questions.fragment_sizes import _Sample, fragment_sizes

ROWS, ROW_BYTES, RATE = 20_000, 100, 400
STALL_S = 0.04
FIGURES = (
    "fragments", "duration_s", "payload_tps", "payload_share", "stall_s", "lock_hold_s",
    "remote_lock_hold_s", "paused_s", "wsrep_flow_control_paused",
)  # fmt: skip


def scenario(**changes: Any) -> dict[str, Any]:
    """A large transaction of 2 MB beside a payload, on two nodes; tables changed at will."""
    large = {
        "name": "large",
        "at_s": 1.0,
        "rows": ROWS,
        "row_bytes": ROW_BYTES,
        "table": "big",
        "keys": {"distribution": "scan", "rows": ROWS},
    }
    workload = {
        "rate_tps": RATE,
        "connections": 20,
        "scheduled": [large | changes.pop("large", {})],
    }
    content: dict[str, Any] = {
        "cluster": {"model": "galera", "version": "mariadb-11.8", "nodes": 2},
        "network": {"rtt_ms": 0.4},
        "workload": workload | changes.pop("workload", {}),
        "run": {"settle_s": 0.5},
    }
    for name, table in changes.items():
        content[name] = content[name] | table
    return content


def sizes(*wanted: int, **how: Any) -> FragmentSizes:
    content = how.pop("content", None) or scenario()
    how = {"longest_stall_s": STALL_S, **how}
    return fragment_sizes(content, sizes=wanted or None, **how)


@pytest.fixture(scope="module")
def found() -> FragmentSizes:
    """Most of the tests look at one comparison."""
    return sizes(10_000, 100_000, 1_000_000)


def test_every_size_is_the_scenario_with_that_session(found):
    """The helper simulates nothing else than a run of the same scenario."""
    for one in (found.without, *found.sizes):
        session = {"wsrep_trx_fragment_unit": "bytes", "wsrep_trx_fragment_size": one.size}
        content = scenario(large={"session": session}, run={"interval_s": STALL_S / 5})
        record = simrep.run(content).runs[0].scheduled[0]
        assert one.duration_s == record.duration_s
        assert one.stall_s == record.stall_s
        assert one.payload_share == record.during_tps / record.before_tps
        assert one.fragments == record.fragments == ROWS * ROW_BYTES // (one.size or 10**9)


def test_small_fragments_cost_time_and_large_ones_hold_up_the_others(found):
    assert [one.size for one in found.sizes] == [10_000, 100_000, 1_000_000]
    slowdowns = [one.slowdown for one in found.sizes]
    assert slowdowns == sorted(slowdowns, reverse=True)
    assert found.without.slowdown == 1.0
    assert slowdowns[0] > 1.5 > slowdowns[1] > 1.0
    assert found.without.stall_s > 2 * found.sizes[1].stall_s
    assert found.without.payload_share < found.sizes[1].payload_share


def test_locks_are_held_on_the_other_node_from_the_first_fragment_on(found):
    streamed = found.sizes[0]
    assert found.without.remote_lock_hold_s < found.without.lock_hold_s
    assert streamed.remote_lock_hold_s == pytest.approx(streamed.lock_hold_s, rel=0.02)
    assert streamed.lock_hold_s >= streamed.duration_s


def test_sizes_that_meet_everything_are_recommended(found):
    assert [one.size for one in found.recommended] == [100_000, 1_000_000]
    assert found.sizes[0].failing == ("slowdown",)
    assert "stall" in found.without.failing
    assert found.compromise is None
    text = str(found)
    assert "Recommended: 100 K to 1 M bytes" in text
    assert "wsrep_trx_fragment_size = 100000;" in text  # the middle, or the smaller of two


def test_the_grid_ends_where_smaller_fragments_are_hopeless():
    found = sizes(largest_slowdown=1.2)
    tried = [one.size for one in found.sizes]
    assert tried == sorted(tried)
    assert tried[-1] == 1_000_000  # the largest power within 2 MB
    assert found.sizes[0].slowdown > found.sizes[1].slowdown > 2.4 > found.sizes[2].slowdown
    assert found.skipped == tuple(s for s in (100, 320, 1000, 3200) if s < tried[0])
    assert found.skipped
    assert f"Not simulated: {size_text(found.skipped[0])}" in str(found)


def test_one_hopeless_size_does_not_end_the_grid(monkeypatch):
    """A size may be slower than the next smaller one; only when it goes on rising is it enough."""
    times_s = {0: 1.0, 10**6: 3.5, 320_000: 3.01, 100_000: 2.8, 32_000: 3.1, 10_000: 3.3}

    def simulated(setup, seed, replication, position):
        size = setup.scenario.workload.scheduled[position].session["wsrep_trx_fragment_size"]
        figures = dict.fromkeys(FIGURES, 1.0) | {"duration_s": times_s[size]}
        return _Sample(figures, before_tps=1e4, executed_s=0.5, error="")

    monkeypatch.setattr("simrep.models.galera.questions.fragment_sizes._simulate", simulated)
    found = sizes()
    assert [one.size for one in found.sizes] == sorted(times_s)[1:]
    assert found.skipped == (100, 320, 1000, 3200)


@pytest.mark.parametrize(("unit", "size", "fragments"), [("rows", 5000, 4), ("statements", 1, 0)])
def test_units_count_what_they_say(unit, size, fragments):
    found = sizes(size, unit=unit)
    assert found.unit == unit
    assert found.whole == {"rows": ROWS, "statements": 1}[unit]
    assert found.sizes[0].fragments == fragments  # an autocommit statement is not cut after itself


def test_the_unit_of_the_scenario_is_taken():
    by_session = scenario(large={"session": {"wsrep_trx_fragment_unit": "rows"}})
    by_option = scenario(cluster={"options": {"wsrep_trx_fragment_unit": "rows"}})
    assert sizes(10_000, content=by_session).unit == "rows"
    assert sizes(10_000, content=by_option).unit == "rows"
    assert sizes(10_000, content=by_session, unit="bytes").unit == "bytes"


def test_a_run_ends_with_the_transaction_whatever_its_duration_is():
    """One fragment per row takes far longer than the duration, and is not cut off."""
    timed = scenario(large={"rows": 200}, run={"settle_s": None, "duration_s": 1.01})
    row = sizes(100, content=timed).sizes[0]
    assert row.fragments == 200
    assert row.duration_s > 0.1


def test_a_closed_loop_is_a_payload_too():
    content = scenario(workload={"rate_tps": None, "connections": None, "threads": 4})
    found = sizes(100_000, content=content)
    assert found.before_tps > 100
    assert 0.0 < found.sizes[0].payload_share < 1.5


def test_replications_give_intervals_and_their_longest_stall():
    found = sizes(100_000, replications=3, seed=5)
    alone = [
        simrep.run(
            scenario(
                large={"session": {"wsrep_trx_fragment_size": 100_000}},
                run={"interval_s": STALL_S / 5},
            ),
            seed=5,
            replications=3,
        )
        .runs[number]
        .scheduled[0]
        for number in range(3)
    ]
    row = found.sizes[0]
    assert row.stall_s == max(record.stall_s for record in alone)
    assert row.duration_s == pytest.approx(sum(record.duration_s for record in alone) / 3)
    low, high = row.intervals["slowdown"]
    assert low < row.slowdown < high
    assert "±" in str(found)


def test_processes_find_the_same(found):
    with ThreadPoolExecutor(2) as executor:
        again = sizes(10_000, 100_000, 1_000_000, executor=executor)
    assert again.to_dict() == found.to_dict()


def test_what_had_ended_is_kept_when_it_is_interrupted():
    def interrupt(done: int, total: int) -> None:
        assert total == 4
        if done == 2:
            raise KeyboardInterrupt

    found = sizes(10_000, 100_000, 1_000_000, progress=interrupt)
    assert [one.size for one in found.sizes] == [1_000_000]  # the largest comes first
    assert not found.complete
    assert "Interrupted" in str(found)


def test_an_interrupt_before_there_is_anything_is_passed_on(monkeypatch):
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("simrep.models.galera.questions.fragment_sizes.simulate", interrupt)
    with pytest.raises(KeyboardInterrupt):
        sizes(10_000)


def test_a_transaction_too_large_for_one_writeset_can_be_streamed():
    """What it took until it failed at its commit is what slowdowns refer to."""
    limited = scenario(cluster={"options": {"wsrep_max_ws_size": 500_000}})
    found = sizes(100_000, 1_000_000, content=limited)
    assert found.without.error
    assert found.without.failing[0] == "error"
    assert "Without streaming replication it fails" in str(found)
    small, large = found.sizes
    assert not small.error
    assert small.slowdown > 1.0
    assert large.failing[0] == "error"  # of which a fragment is too large as well


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "how", "path", "text"),
    [
        (scenario(workload={"scheduled": []}, run={"settle_s": None, "duration_s": 1}), {},
         "workload.scheduled", "no scheduled transaction"),
        (scenario(cluster={"model": "semisync", "version": "mysql-8.4"},
                  large={"session": {"wsrep_trx_fragment_size": 1}}), {},
         "question", "model 'galera' has"),
        (scenario(), {"unit": "row"}, "unit", "did you mean 'rows'?"),
        (scenario(), {"sizes": [99]}, "sizes", "a row has 100 bytes"),
        (scenario(), {"sizes": [0], "unit": "rows"}, "sizes", "less than one row"),
        (scenario(), {"sizes": [3_000_000]}, "sizes", "never be reached"),
        (scenario(), {"sizes": [1e5]}, "sizes", "whole numbers"),
        (scenario(), {"sizes": []}, "sizes", "at least one"),
        (scenario(), {"transaction": "larg"}, "transaction", "did you mean 'large'?"),
        (scenario(), {"longest_stall_s": 0.0}, "longest_stall_s", "above 0 s"),
        (scenario(), {"largest_slowdown": 0.9}, "largest_slowdown", "at least 1"),
        (scenario(), {"least_payload": 80.0}, "least_payload", "from 0 to 1"),
        (scenario(), {"replications": 0}, "replications", "at least 1"),
        (scenario(large={"at_s": 0.0}), {}, "workload.scheduled.0.at_s", "no payload before it"),
        (scenario(workload={"rate_tps": None, "connections": None, "queries": 100},
                  run={"settle_s": None}), {}, "workload.queries", "has to go on"),
        (scenario(large={"statements": 0, "reads": 1}), {},
         "workload.scheduled.0.statements", "writes nothing"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(content, how, path, text):
    with pytest.raises(ScenarioError) as caught:
        simrep.plan(content, "fragment", **how)
    assert caught.value.path == path
    assert text in str(caught.value)


def test_one_of_several_transactions_has_to_be_named():
    first = scenario()["workload"]["scheduled"][0]
    second = first | {"name": "second", "at_s": 1.5, "rows": 200}
    content = scenario(workload={"scheduled": [first, second]})
    with pytest.raises(ScenarioError, match="large, second"):
        sizes(10_000, content=content)
    found = sizes(2000, content=content, transaction="second")
    assert found.transaction == "second"
    assert found.sizes[0].fragments == 10


def test_a_payload_that_is_not_there_or_hardly_there_is_told():
    nobody = scenario(workload={"rate_tps": 1e-6})
    with pytest.raises(SimrepError, match="nothing commits before"):
        sizes(1_000_000, content=nobody)
    with pytest.warns(ShortRunWarning, match="may be chance"):
        sizes(1_000_000, content=scenario(workload={"rate_tps": 20}))
    with pytest.warns(ShortRunWarning, match="let it begin later"):
        sizes(1_000_000, content=scenario(large={"at_s": 0.1}))
