"""Fragment sizes compared: what they do, which are recommended, and how that is told."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from typer.testing import CliRunner

import simrep
from simrep.cli import app
from simrep.cli.fragment_size import quantities, seconds, share
from simrep.errors import ScenarioError, ShortRunWarning, SimrepError
from simrep.experiment.fragment_size_result import (
    Criteria,
    FragmentSize,
    FragmentSizes,
    size_text,
)

ROWS, ROW_BYTES, RATE = 20_000, 100, 400
STALL_S = 0.04


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
    return simrep.fragment_sizes(content, sizes=wanted or None, **how)


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
    assert found.sizes[0].slowdown > 2.4 > found.sizes[1].slowdown
    assert found.skipped == tuple(s for s in (100, 320, 1000, 3200) if s < tried[0])
    assert found.skipped
    assert f"Not simulated: {size_text(found.skipped[0])}" in str(found)


@pytest.mark.parametrize(("unit", "size", "fragments"), [("rows", 5000, 4), ("statements", 1, 1)])
def test_units_count_what_they_say(unit, size, fragments):
    found = sizes(size, unit=unit)
    assert found.unit == unit
    assert found.whole == {"rows": ROWS, "statements": 1}[unit]
    assert found.sizes[0].fragments == fragments


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

    monkeypatch.setattr("simrep.experiment.fragment_sizes.simulate", interrupt)
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
         "cluster.model", "Galera 4 has it"),
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
        simrep.fragment_sizes(content, **how)
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


# -- the verdict, of figures that are given ------------------------------------------------------


def row(
    size: int, slowdown: float, payload: float, stall_s: float, error: str = ""
) -> FragmentSize:
    figures = {
        "fragments": 10.0,
        "duration_s": 10 * slowdown,
        "slowdown": slowdown,
        "payload_tps": 100 * payload,
        "payload_share": payload,
        "stall_s": stall_s,
        "lock_hold_s": 10 * slowdown,
        "remote_lock_hold_s": 10.0,
        "paused_s": 0.0,
        "wsrep_flow_control_paused": 0.0,
    }
    failing = FragmentSize.judged(figures, error, Criteria())
    return FragmentSize(size=size, error=error, failing=failing, intervals={}, **figures)


def comparison(*rows: FragmentSize, without: FragmentSize | None = None) -> FragmentSizes:
    return FragmentSizes(
        title="made up",
        transaction="large",
        unit="bytes",
        whole=10**8,
        criteria=Criteria(),
        before_tps=100.0,
        without=without or row(0, 1.0, 0.3, 8.0),
        sizes=rows,
        skipped=(),
        interval_s=0.2,
        seed=1,
        replications=1,
        complete=True,
        scenario={},
        versions={},
    )


def test_limits_themselves_are_met():
    assert row(1000, 1.5, 0.8, 5 * 0.2).recommended
    assert not row(1000, 1.51, 0.8, 1.0).recommended
    assert not row(1000, 1.5, 0.79, 1.0).recommended
    assert not row(1000, 1.5, 0.8, 1.2).recommended
    assert not row(1000, 1.0, 1.0, 0.0, error="1213 Deadlock").recommended


def test_the_longest_row_of_neighbours_is_recommended():
    good, bad = (1.1, 0.9, 0.2), (1.1, 0.5, 0.2)
    found = comparison(row(100, *good), row(320, *bad), row(1000, *good), row(3200, *good))
    assert [one.size for one in found.recommended] == [1000, 3200]
    assert "Recommended: 1 K to 3.2 K bytes" in str(found)


def test_without_a_recommended_size_both_ends_and_a_compromise_are_named():
    found = comparison(
        row(1000, 6.0, 0.9, 0.0), row(10_000, 1.4, 0.6, 1.2), row(100_000, 1.2, 0.7, 1.2),
        row(1_000_000, 1.1, 0.5, 4.0),
    )  # fmt: skip
    assert found.recommended == ()
    assert found.compromise is not None
    assert found.compromise.size == 100_000  # of equal stalls, that with more payload
    text = str(found)
    assert "No size meets everything" in text
    assert "The smallest, 1 K: slowdown 6, at most 1.50." in text
    assert (
        "The largest, 1 M: stall 4 s, at most 1 s; payload 50 % of before, at least 80 %." in text
    )
    assert "Best compromise" in text
    assert "wsrep_trx_fragment_size = 100000;" in text


def test_there_may_be_no_compromise():
    found = comparison(row(1000, 6.0, 0.9, 0.0), row(10_000, 2.0, 0.9, 0.0, error="1213 Deadlock"))
    assert found.compromise is None
    assert "no compromise within the slowdown" in str(found)


def test_it_is_said_when_streaming_is_not_needed():
    found = comparison(row(1000, 1.4, 0.9, 0.0), without=row(0, 1.0, 0.9, 0.4))
    assert "it is not needed" in str(found)


@pytest.mark.parametrize(
    ("size", "text"),
    [(1, "1"), (100, "100"), (3200, "3.2 K"), (10_240, "10 Ki"), (10**6, "1 M"), (2**20, "1 Mi"),
     (1_234_567, "1,234,567"), (25 * 10**8, "2.5 G")],
)  # fmt: skip
def test_sizes_are_written_exactly(size, text):
    assert size_text(size) == text
    assert quantities(text.replace(",", "").replace(" ", "")) == [size]


# -- figure and command --------------------------------------------------------------------------


def test_the_figure_shows_sizes_levels_and_the_recommended_range(found, tmp_path):
    figure = found.plot(tmp_path / "sizes.png")
    assert (tmp_path / "sizes.png").stat().st_size > 10_000
    time, payload, stall = figure.axes
    assert stall.get_xscale() == "log"
    assert [tick.get_text() for tick in stall.get_xticklabels()] == ["10 K", "100 K", "1 M"]
    shown = {
        "duration_s": (time, 1.5 * found.without.duration_s),
        "payload_share": (payload, 0.8),
        "stall_s": (stall, STALL_S),
    }
    for name, (axes, limit) in shown.items():
        lines = {line.get_label(): line for line in axes.lines}
        assert list(lines["simulated"].get_ydata()) == [getattr(one, name) for one in found.sizes]
        assert lines["without streaming"].get_ydata()[0] == getattr(found.without, name)
        assert lines["limit"].get_ydata()[0] == pytest.approx(limit)
        (shaded,) = (patch for patch in axes.patches if patch.get_label() == "recommended")
        assert shaded.get_extents().width > 0
        low, high = shaded.get_x(), shaded.get_x() + shaded.get_width()
        assert (low, high) == (100_000, 1_000_000)


def test_a_figure_needs_a_size_and_may_lack_a_range():
    with pytest.raises(ValueError, match="no sizes"):
        comparison().plot()
    figure = comparison(row(1000, 6.0, 0.9, 0.0)).plot()
    assert not figure.axes[0].patches


def as_toml(tmp_path):
    file = tmp_path / "large.toml"
    file.write_text(
        f"""
[cluster]
model = "galera"
nodes = 2

[workload]
rate_tps = {RATE}
connections = 20

[[workload.scheduled]]
name = "large"
at_s = 1
rows = {ROWS}
row_bytes = {ROW_BYTES}
table = "big"
keys = {{ distribution = "scan", rows = {ROWS} }}

[run]
settle_s = 0.5
"""
    )
    return file


def test_the_command_prints_what_was_found(tmp_path):
    figure = tmp_path / "sizes.svg"
    command = ["fragment-size", str(as_toml(tmp_path)), "--sizes", "100K,1M"]
    command += ["--longest-stall", "40ms", "--least-payload", "70%", "--plot", str(figure)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "100 K" in done.stdout
    assert "no streaming" in done.stdout
    assert figure.read_text(encoding="utf-8").startswith("<?xml")

    done = CliRunner().invoke(app, [*command[:-2], "--json", "--set", "workload.rate_tps=300"])
    content = json.loads(done.stdout)
    assert [one["size"] for one in content["sizes"]] == [100_000, 1_000_000]
    assert content["criteria"] == {
        "longest_stall_s": 0.04, "largest_slowdown": 1.5, "least_payload": 0.7,
    }  # fmt: skip
    assert content["scenario"]["workload"]["rate_tps"] == 300
    assert content["without"]["fragments"] == 0


@pytest.mark.parametrize(
    ("option", "value"),
    [("--sizes", "10X"), ("--sizes", "1.5"), ("--sizes", ""), ("--longest-stall", "1 h"),
     ("--least-payload", "lots"), ("--unit", "row"), ("--plot", "sizes.gif")],
)  # fmt: skip
def test_the_command_refuses_what_it_does_not_understand(tmp_path, option, value):
    done = CliRunner().invoke(app, ["fragment-size", str(as_toml(tmp_path)), option, value])
    assert done.exit_code == 2
    assert option.strip("-") in done.stderr


def test_sizes_times_and_shares_are_read_with_their_units():
    assert quantities("10K, 1.5m,64Ki,1G,7") == [10_000, 1_500_000, 65_536, 10**9, 7]
    assert (seconds("1s"), seconds("250 ms"), seconds("2")) == (1.0, 0.25, 2.0)
    assert (share("80%"), share("0.8"), share("100 %")) == (0.8, 0.8, 1.0)
