"""Which numbers move the answer: effects that are known, chance, and what is never used."""

from __future__ import annotations

import importlib.util
import json
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from typer.testing import CliRunner

import simrep
from simrep.cli.app import app
from simrep.cli.sensitivity import ranges
from simrep.whatif.sensitivity import ask as module
from simrep.whatif.sensitivity.design import design_of
from tests.server_runs import scenario

# One client, nothing random: latency is statement_us + 2 * fsync_us.
EXACT = scenario(
    "standalone", 1, costs={"statement_us": 100.0, "fsync_us": 500.0}, transactions_per_client=5
)
OVER = {
    "cluster.costs.statement_us": (50.0, 200.0),
    "cluster.costs.fsync_us": (100.0, 1000.0),
    "cluster.costs.row_read_us": (1.0, 10.0),
}
NOISY = {
    "cluster": {"model": "galera", "machine": {"variation": 1.0}},
    "network": {"rtt_ms": 0.2},
    "workload": {"threads": 4, "transactions_per_client": 20},
}


def found(content=EXACT, **how):
    return simrep.sensitivity(content, **{"of": "latency_s.mean", "over": OVER, **how})


def test_effects_that_are_known():
    result = found()
    first, second = result.effects
    assert (first.path, second.path) == ("cluster.costs.fsync_us", "cluster.costs.statement_us")
    assert result.unused == ("cluster.costs.row_read_us",)
    assert result.base == pytest.approx(1.1e-3, rel=1e-6)
    assert [first.at_low, first.at_high] == pytest.approx([0.3e-3, 2.1e-3], rel=1e-6)
    assert [second.at_low, second.at_high] == pytest.approx([1.05e-3, 1.2e-3], rel=1e-6)
    # Over its range fsync multiplies the latency by 2200/400 to 2050/250.
    assert 5.5 <= first.effect <= 8.2
    assert first.direction == second.direction == 1.0
    assert result.scale == "factor"
    assert 0.0 < result.noise < 1e-3  # all costs are a thousandth off, at most
    assert all(one.above_chance for one in result.effects)
    assert result.runs == 10 + 1 + 2 * 3 + 10 * (2 + 1) + 10


def test_a_figure_of_a_run_without_a_steady_state_is_said_to_mix_its_phases():
    slow = {"fault": [{"name": "slow", "what": "slow", "node": "n1", "at_s": 0.001,
                       "cpu_factor": 2.0}]}  # fmt: skip
    mixed = found(EXACT | slow, points=2, repeats=3)
    assert "no steady state (fault)" in mixed.note
    assert "latency_s.mean" in mixed.to_dict()["note"]
    assert "steady state" in str(mixed)
    assert found(points=2, repeats=3).note == ""


def test_what_lowers_a_figure_has_the_other_sign():
    assert {one.direction for one in found(of="throughput_tps").effects} == {-1.0}


def test_sobol_shares_the_variance():
    result = found(method="sobol", points=32)
    first, second = result.effects
    assert first.path == "cluster.costs.fsync_us"
    assert first.effect > 0.9
    assert 0.0 < second.effect < 0.1
    assert first.alone > 0.8
    assert np.isnan(first.direction)
    assert result.runs == 10 + 1 + 2 * 3 + 32 * (2 + 2) + 10


def test_a_figure_that_may_be_zero_has_differences():
    result = found(of="aborted")
    assert result.scale == "difference"
    assert {one.effect for one in result.effects} <= {0.0}
    assert not any(one.above_chance for one in result.effects)
    assert "more than chance" in str(result)


def test_usual_factors_are_costs_and_delays_that_the_run_uses():
    content = NOISY | {"cluster": {"model": "galera"}}
    result = simrep.sensitivity(content, of="latency_s.mean", points=2, repeats=3)
    used = {one.path for one in result.effects}
    assert {"network.delays", "cluster.costs.fsync_us", "cluster.costs.statement_us"} <= used
    assert {"cluster.costs.log_row_us", "cluster.costs.row_read_us"} <= set(result.unused)
    assert not used & set(result.unused)


def test_delays_are_a_factor_of_what_the_scenario_says():
    content = NOISY | {
        "cluster": {"model": "galera"},
        "network": {"rtt_ms": 1.0, "egress": [{"node": "n3", "delay_ms": 40.0}]},
        "workload": {"transactions_per_client": 5},
    }
    (one,) = found(content, over={"network.delays": (0.5, 2.0)}).effects
    assert one.at_high / one.at_low == pytest.approx(4.0, rel=0.05)
    assert one.effect == pytest.approx(4.0, rel=0.05)


def test_whole_numbers_stay_whole():
    over = {"workload.threads": (1, 8), "cluster.options.wsrep_slave_threads": (1, 4)}
    result = found(NOISY, over=over, points=3)
    assert {(one.low, one.high) for one in result.effects} <= {(1, 8), (1, 4)}


def test_the_same_in_any_process_and_again():
    alone = found(NOISY, over={"network.delays": (0.5, 2.0)}, points=3)
    with ThreadPoolExecutor(2) as executor:
        again = found(NOISY, over={"network.delays": (0.5, 2.0)}, points=3, executor=executor)
    assert alone.to_dict() == again.to_dict()
    other = found(NOISY, over={"network.delays": (0.5, 2.0)}, points=3, seed=7)
    assert other.to_dict() != alone.to_dict()


def test_chance_is_told_and_shrinks_with_replications():
    over = {"network.delays": (0.9, 1.1)}
    one = found(NOISY, over=over, points=3, repeats=20)
    nine = found(NOISY, over=over, points=3, repeats=20, replications=9)
    assert one.noise > 0.0
    # A third; with 20 repetitions both are known to 16 %, so half is five of them away.
    assert nine.noise < 0.5 * one.noise
    assert "By chance" in str(one)


def test_clients_that_fall_into_step_are_chance_without_random_numbers():
    content = NOISY | {"cluster": {"model": "galera"}, "workload": {"threads": 8, "queries": 200}}
    result = found(content, of="latency_s.p95", over={"cluster.costs.certify_us": (4.9, 5.1)})
    assert result.noise > 1e-3
    assert not any(one.above_chance for one in result.effects)


def test_a_number_that_does_nothing_is_seldom_above_the_floor():
    """Values of chance alone: 95 % stay below. Of 400, more than 40 by chance: below 1e-4."""
    above = 0
    generator = np.random.default_rng(1)
    for seed in range(20):
        design = design_of("morris", 20, 10, seed)
        indices = design.indices(generator.normal(0.0, 0.1, len(design.shares)), 0.1)
        above += sum(effect > indices.floor for effect in indices.effects)
    assert 2 <= above <= 40


@pytest.mark.parametrize(("method", "expected"), [("morris", [3, 1, 0]), ("sobol", [0.9, 0.1, 0])])
def test_both_methods_on_a_function_that_is_known(method, expected):
    design = design_of(method, 3, 256, 1)
    values = design.shares @ np.array([3.0, -1.0, 0.0])
    assert design.indices(values, 0.0).effects == pytest.approx(expected, abs=0.02)


def test_an_interruption_keeps_whole_trajectories(monkeypatch):
    def interrupted(groups, *arguments):
        for number, group in enumerate(simulate_groups(groups, *arguments)):
            if len(groups) == 30 and number == 14:
                raise KeyboardInterrupt
            yield group

    simulate_groups = module.simulate_groups
    monkeypatch.setattr(module, "simulate_groups", interrupted)
    result = found()
    assert not result.complete
    assert result.points == 14 // 3
    assert "Interrupted" in str(result)


@pytest.mark.parametrize(
    ("how", "path"),
    [
        ({"method": "moris"}, "method"),
        ({"points": 1}, "points"),
        ({"repeats": 2}, "repeats"),
        ({"replications": 0}, "replications"),
        ({"over": {}}, "over"),
        ({"over": {"network.rtt_ms": (5, 1)}}, "network.rtt_ms"),
        ({"over": {"network.delays": (-1, 1)}}, "network.delays"),
        ({"over": {"network.rtt": (1, 5)}}, "network.rtt"),
        ({"over": {"cluster.costs.fsync_us": (-5, 5)}}, "cluster.costs.fsync_us"),
        ({"of": "latency_s.p96"}, "latency_s.p96"),
    ],
)
def test_what_cannot_be_varied(how, path):
    with pytest.raises(simrep.ScenarioError) as caught:
        found(**how)
    assert caught.value.path == path


def test_a_figure_that_some_point_does_not_have():
    content = scenario("standalone", 1, costs={"fsync_us": 100.0}, duration_s=0.001)
    with pytest.raises(simrep.SimrepError, match="not known at every point"):
        found(content, over={"cluster.costs.fsync_us": (100.0, 10_000.0)})


def test_without_salib_it_says_what_to_install(monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "SALib" else find_spec(name)
    )
    with pytest.raises(simrep.SimrepError, match=r"simrep\[sensitivity\]"):
        found()


@pytest.mark.parametrize("method", ["morris", "sobol"])
def test_seed_zero_is_a_seed(method):
    one, other = (found(method=method, points=4, seed=0).to_dict() for _ in range(2))
    assert one == other


def test_it_is_drawn_and_shown(tmp_path):
    for method in ("morris", "sobol"):
        result = found(method=method, points=8)
        figure = result.plot(tmp_path / f"{method}.png")
        assert (tmp_path / f"{method}.png").stat().st_size > 10_000
        bars, _ = figure.axes
        assert [text.get_text().split("\n")[0] for text in bars.get_yticklabels()] == [
            "fsync_us",
            "statement_us",
        ]
        assert "fsync_us moves it most" in str(result)
        assert "fsync_us" in result._repr_html_()
        assert "fsync_us" in repr(result)
        frame = result.to_frame()
        assert list(frame["path"]) == [one.path for one in result.effects]
        assert (frame["effect_low"] <= frame["effect_high"]).all()
        json.dumps(result.to_dict(), allow_nan=False)
    nothing = found(over={"cluster.costs.row_read_us": (1.0, 10.0)})
    with pytest.raises(ValueError, match="no effects"):
        nothing.plot()


def run(*arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CliRunner().invoke(app, ["sensitivity", *arguments], env={"COLUMNS": "150"})


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(
        '[cluster]\nmodel = "standalone"\nnodes = 1\n[workload]\nqueries = 5\n', encoding="utf-8"
    )
    return str(path)


def test_the_command(file, tmp_path):
    plot = tmp_path / "tornado.svg"
    result = run(
        file, "--of", "latency_s.mean", "--over", "cluster.costs.fsync_us=50..500",
        "--over", "cluster.costs.statement_us=50..100", "--points", "4", "--plot", str(plot),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "fsync_us moves it most" in result.output
    assert plot.exists()


def test_the_command_as_json(file):
    result = run(file, "--over", "cluster.costs.fsync_us=50..500", "--method", "sobol",
                 "--points", "8", "--json")  # fmt: skip
    content = json.loads(result.stdout)
    assert content["effects"][0]["path"] == "cluster.costs.fsync_us"
    assert content["method"] == "sobol"


@pytest.mark.parametrize(
    "text", ["network.rtt_ms", "network.rtt_ms=1", "=1..2", "a=1..x", "a=x..2"]
)
def test_ranges_that_are_none(text, file):
    result = run(file, "--over", text)
    assert result.exit_code == 2
    assert "low..high" in result.output


def test_ranges():
    assert ranges(["network.rtt_ms=1..100", "a.b = 0.5..2"]) == {
        "network.rtt_ms": (1, 100),
        "a.b": (0.5, 2),
    }


def test_an_unknown_method(file):
    result = run(file, "--method", "fast")
    assert result.exit_code == 2
    assert "morris" in result.output
