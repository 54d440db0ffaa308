"""One cost from one benchmark: found where the benchmark shows it, and left alone where not."""

from functools import partial

import pytest

from simrep.intake.cell_fit import CellFit
from simrep.intake.description import Overrides
from simrep.runs.run import run
from tests.server_files import SYSBENCH, described_from, finding

CNF = "[mariadb-11.8]\nlog-bin\n"
SCENARIO = {
    "cluster": {
        "model": "standalone",
        "version": "mariadb-11.8",
        "nodes": 1,
        "options": {"log_bin": True},
    },
    "workload": {
        "preset": "sysbench-oltp-read-write",
        "threads": 8,
        "nodes": ["n1"],
        "client": "own",
    },
    "run": {"duration_s": 2.0, "warmup_s": 0.5},
}


@pytest.fixture
def described(tmp_path):
    return partial(described_from, tmp_path)


def output(mean_s: float, p95_s: float, threads: int = 8) -> str:
    """What sysbench would have printed."""
    text = SYSBENCH.replace("Number of threads: 32", f"Number of threads: {threads}")
    text = text.replace("35.86", f"{1e3 * mean_s:.4f}").replace("62.19", f"{1e3 * p95_s:.4f}")
    return text.replace("5.0388s", f"{4478 * mean_s / threads:.4f}s")


def simulated(statement_us: float) -> str:
    cluster = {**SCENARIO["cluster"], "costs": {"statement_us": statement_us}}
    latency_s = run({**SCENARIO, "cluster": cluster}, seed=7).latency_s
    return output(latency_s["mean"], latency_s["p95"])


@pytest.mark.slow
def test_the_cost_that_made_the_benchmark_is_found(described):
    one = described(CNF, sysbench=simulated(250.0))
    fit = one.fit
    assert fit.usable
    assert fit.value == pytest.approx(250.0, rel=0.1)
    assert one.pack["costs"] == {"statement_us": fit.value}
    assert "sysbench.txt" in one.pack["pack"]["fitted_on"]
    assert fit.percentile_simulated_s == pytest.approx(fit.percentile_measured_s, rel=0.1)
    assert finding(one, "pack.costs.statement_us").origin.startswith("sysbench.txt:")


@pytest.mark.slow
def test_a_latency_that_another_cost_decides_fits_nothing(described):
    """With fsyncs of 100 ms the statements of a transaction are a few percent of its latency."""
    text = output(0.2035, 0.21, threads=1)
    one = described(
        CNF + "sync_binlog = 1\n", sysbench=text, overrides=Overrides(fsync_us=100_000.0)
    )
    assert not one.fit.informative
    assert one.pack["costs"] == {"fsync_us": 100_000.0}
    assert "hardly depends" in finding(one, "pack.costs.statement_us").note


@pytest.mark.slow
def test_a_latency_that_cannot_be_is_said_to_be_off(described):
    one = described(CNF, sysbench=output(0.0004, 0.001), overrides=Overrides(fsync_us=3000.0))
    assert not one.fit.met
    assert "statement_us" not in one.pack["costs"]
    assert "not met" in finding(one, "pack.costs.statement_us").note


def test_a_single_write_is_what_the_counters_say(described, monkeypatch):
    """Sysbench does not print which script ran."""
    monkeypatch.setattr("simrep.intake.description.fit_cell", lambda *_, **__: unusable())
    text = SYSBENCH.replace("73612", "0").replace("19462", "5258").replace("9736", "0")
    plain = described(CNF, sysbench=text)
    [kind] = plain.scenario["workload"]["class"]
    assert kind["name"] == "update"
    counted = {"Uptime": "9", "Com_insert": "5000", "Com_update": "1", "Aria_x": "1"}
    [kind] = described(CNF, counted, sysbench=text).scenario["workload"]["class"]
    assert kind["name"] == "insert"


def test_a_rate_makes_an_open_loop(described, monkeypatch):
    monkeypatch.setattr("simrep.intake.description.fit_cell", lambda *_, **__: unusable())
    rate = "Target transaction rate: 500/sec\nInitializing random"
    text = SYSBENCH.replace("Initializing random", rate, 1)
    workload = described(CNF, sysbench=text).scenario["workload"]
    assert workload["rate_tps"] == 500.0
    assert workload["connections"] == 32


def unusable():
    return CellFit("statement_us", 90.0, 90.0, 0.7, 0.1, 0.1, None, None, None)
