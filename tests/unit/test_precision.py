"""Runs to a precision, the warm-up that is found out, and what is said of thin percentiles.

Seeds are fixed, so nothing here is a chance alarm.
"""

from __future__ import annotations

import json
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from typer.testing import CliRunner

import simrep
from simrep.cli import app
from simrep.errors import ScenarioError, ShortRunWarning, SimrepError
from simrep.measure.confidence import mean_interval
from simrep.runs.notices import percentile_notice
from tests.server_runs import scenario
from tests.transients import throttled


def arrivals(rate: float = 400.0, duration_s: float = 2.0, **run: Any) -> dict[str, Any]:
    """Poisson arrivals at a core that takes 1 ms for each."""
    content = scenario(
        "standalone", 1, costs={"statement_us": 1000.0}, cores=1, duration_s=duration_s,
        options={"log_bin": False, "innodb_flush_log_at_trx_commit": 0}, rate_tps=rate,
    )  # fmt: skip
    content["run"] |= run
    return content


# ---------------------------------------------------------------- precision --


def test_a_run_ends_when_its_figure_is_precise_enough() -> None:
    result = simrep.run(arrivals(), precision=0.05, of="latency_s.mean")
    low, high = result.intervals["latency_s.mean"]
    assert result.replications >= 10
    assert (high - low) / 2 <= 0.05 * (high + low) / 2
    assert result.scenario["run"]["replications"] == result.replications
    # The same replications, asked for by their number, are the same run.
    again = simrep.run(result.scenario)
    assert again.digest() == result.digest()


def test_a_finer_precision_takes_more_replications() -> None:
    coarse = simrep.run(arrivals(), precision=0.10, of="latency_s.p95")
    fine = simrep.run(arrivals(), precision=0.04, of="latency_s.p95")
    assert coarse.replications < fine.replications


def test_what_is_found_does_not_depend_on_who_runs_it() -> None:
    alone = simrep.run(arrivals(), precision=0.05, of="latency_s.mean")
    with ThreadPoolExecutor(3) as executor:
        there = simrep.run(arrivals(), precision=0.05, of="latency_s.mean", executor=executor)
    assert there.digest() == alone.digest()
    assert mean_interval([run.measurement.latency.mean_s for run in alone.runs]).relative <= 0.05


def test_progress_tells_what_is_wanted_so_far() -> None:
    calls: list[tuple[int, int]] = []
    result = simrep.run(
        arrivals(),
        precision=0.05,
        of="latency_s.mean",
        progress=lambda done, wanted: calls.append((done, wanted)),
    )
    assert [done for done, _ in calls] == list(range(1, result.replications + 1))
    assert calls[0] == (1, 10)
    assert calls[-1] == (result.replications, result.replications)


def test_giving_up_is_told() -> None:
    with pytest.warns(ShortRunWarning) as caught:
        result = simrep.run(arrivals(), precision=0.001, of="latency_s.mean", most=12)
    [told] = [str(warning.message) for warning in caught]
    assert told.startswith("latency_s.mean is known to ")
    assert " after 12 replications, not to 0.1 %" in told
    assert result.replications == 12


def test_figures_and_shares_that_are_none_are_refused() -> None:
    with pytest.raises(ScenarioError, match=r"latency_s\.p59.*did you mean"):
        simrep.run(arrivals(), precision=0.05, of="latency_s.p59")
    with pytest.raises(ScenarioError, match=r"between 0 and 1, given 2 \(0\.02 is 2 %\)"):
        simrep.run(arrivals(), precision=2.0)
    with pytest.raises(ScenarioError, match="decides how many replications"):
        simrep.run(arrivals(), precision=0.1, replications=5)
    with pytest.raises(SimrepError, match=r"replication 0 has no latency_s\.p95"):
        simrep.run(arrivals(0.001, 0.01, warmup_s=0.0), precision=0.1, of="latency_s.p95")


# ------------------------------------------------------------------ warm-up --


def test_a_warm_up_is_found_and_left_out() -> None:
    whole, found = simrep.run(throttled()), simrep.run(throttled(warmup="auto"))
    warmup_s = found.scenario["run"]["warmup_s"]
    assert 0.15 < warmup_s < 0.5
    assert whole.throughput_tps > 280.0
    assert found.throughput_tps < 250.0
    # What is measured is as long as the scenario says, after the warm-up.
    assert found.makespan_s == pytest.approx(4.0)
    assert found.series.start_s == warmup_s
    # The scenario that is handed back says what was found, and gives the same run.
    assert "warmup" not in found.scenario["run"]
    assert simrep.run(found.scenario).digest() == found.digest()


def test_what_is_no_warm_up_is_kept() -> None:
    # Constant service and a lone client: every latency is the same.
    content = scenario("standalone", 1, costs={"statement_us": 1000.0}, duration_s=1.0, threads=1)
    content["run"]["warmup"] = "auto"
    assert simrep.run(content).scenario["run"]["warmup_s"] == 0.0


def test_every_replication_leaves_out_the_same_time() -> None:
    several = simrep.run(arrivals(800.0, 4.0, warmup="auto"), replications=3)
    starts = {run.measurement.began_s for run in several.runs}
    assert starts == {several.scenario["run"]["warmup_s"]}


def test_a_scenario_that_does_not_ask_for_it_is_run_as_before() -> None:
    assert simrep.run(arrivals()).scenario["run"]["warmup_s"] == 0.0
    # Nor is one that says itself how long its warm-up is.
    result = simrep.run(arrivals(warmup_s=0.5), precision=0.1, of="latency_s.mean")
    assert result.scenario["run"]["warmup_s"] == 0.5


def test_a_warm_up_that_never_ends_is_told() -> None:
    with pytest.warns(ShortRunWarning, match="the warm-up takes half"):
        simrep.run(arrivals(1500.0, 2.0, warmup="auto"))  # overloaded: the queue only grows


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"run.warmup_s": 1.0}, "cannot be combined with run.warmup_s"),
        ({"workload.scheduled": [{"at_s": 1.0}]}, r"times in workload\.scheduled"),
        (
            {"workload.rate_tps": None, "workload.queries": 10, "run.duration_s": None},
            "for runs of given length",
        ),
    ],
)
def test_a_warm_up_cannot_be_found_of_everything(changes: dict[str, Any], said: str) -> None:
    base = simrep.load(arrivals(warmup="auto"))
    with pytest.raises(ScenarioError, match=said):
        simrep.with_values(base, changes)


def test_a_sustainable_rate_does_not_mind_how_the_warm_up_is_given() -> None:
    plain = simrep.sustainable_rate(arrivals(), precision=0.2)
    assert simrep.sustainable_rate(arrivals(warmup="auto"), precision=0.2) == plain


# ------------------------------------------------------------------ notices --


def test_thin_percentiles_are_noticed_where_they_are_asked_for() -> None:
    with pytest.warns(ShortRunWarning, match=r"latency_s\.p99 rests on \d of \d+ transactions"):
        simrep.run(arrivals(duration_s=0.5), precision=0.5, of="latency_s.p99")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simrep.run(arrivals(duration_s=0.5), precision=0.5)
    assert "rests on" in str(simrep.run(arrivals(duration_s=0.5)))
    assert "rests on" not in str(simrep.run(arrivals(duration_s=10.0)))


def test_the_notice_says_how_much_longer() -> None:
    assert percentile_notice("latency_s.p95", 200).endswith("run 2 times as long")
    assert percentile_notice("latency_s.p95", 400) == ""
    assert percentile_notice("latency_s.max", 1) == ""


# ------------------------------------------------------------- command line --

TOML = """
[cluster]
model = "standalone"
nodes = 1

[workload]
rate_tps = 200

[run]
duration_s = 3
"""


def test_the_command_line_takes_a_precision(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.toml").write_text(TOML)
    done = CliRunner().invoke(
        app, ["run", "one.toml", "--precision", "5%", "--of", "latency_s.mean", "--json"]
    )
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)
    low, high = content["intervals"]["latency_s.mean"]
    assert (high - low) / (high + low) <= 0.05
    assert content["replications"] >= 10
    for text, said in (("much", "is not a share"), ("200%", "between 0 and 1")):
        refused = CliRunner().invoke(app, ["run", "one.toml", "--precision", text])
        assert refused.exit_code == 2
        assert said in " ".join(refused.stderr.split())
