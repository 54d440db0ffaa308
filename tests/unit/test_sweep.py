"""Sweeps from Python: what is simulated, what is looked up, and what comes out."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import simrep
import simrep.whatif.cache as cache_module
import simrep.whatif.sweep as sweep_module
from simrep.errors import ScenarioError
from simrep.measure.confidence import mean_interval
from simrep.scenario import load, with_values
from simrep.whatif.point import measure
from simrep.whatif.sweep import Sweep
from tests.server_runs import scenario
from tests.transients import throttled

OVER = {"workload.threads": "1..4:x2", "cluster.machine.cores": [1, 2]}


def clients(queries: int = 40, **how: Any) -> dict[str, Any]:
    """Clients that execute for 1 ms and think for a random while."""
    return scenario(
        "standalone", 1, costs={"statement_us": 1000.0}, queries=queries, think_time_ms=2.0,
        think_time="exponential", **how,
    )  # fmt: skip


def content(found: Sweep) -> dict[str, Any]:
    """All that must not depend on how it was computed."""
    return {key: value for key, value in found.to_dict().items() if key != "computed"}


# ------------------------------------------------------------------- points --


def test_every_point_is_the_run_of_its_scenario() -> None:
    found = simrep.sweep(clients(), OVER, replications=3)
    assert found.complete
    assert found.computed == len(found.points) == 6
    for point in found.points:
        alone = simrep.run(with_values(load(clients()), point.labels), replications=3)
        assert point.values["makespan_s"] == tuple(r.measurement.makespan_s for r in alone.runs)
        assert point.mean("throughput_tps") == pytest.approx(alone.throughput_tps)
        interval = point.interval("latency_s.p95")
        assert (interval.low, interval.high) == alone.intervals["latency_s.p95"]


def test_the_executor_makes_no_difference() -> None:
    alone = simrep.sweep(clients(), OVER, replications=2)
    with ThreadPoolExecutor(3) as executor:
        assert content(simrep.sweep(clients(), OVER, replications=2, executor=executor)) == content(
            alone
        )


def test_points_draw_the_same_random_numbers() -> None:
    # More cores than clients change nothing, so nothing at all may differ.
    found = simrep.sweep(clients(), {"cluster.machine.cores": [8, 16]})
    first, second = found.points
    assert first.values == second.values


def test_every_point_is_as_precise_as_asked_for() -> None:
    found = simrep.sweep(clients(), OVER, precision=0.05, of="latency_s.mean")
    for point in found.points:
        assert mean_interval(point.values["latency_s.mean"]).relative <= 0.05
        assert len(point.values["throughput_tps"]) == point.replications >= 10
    assert len({point.replications for point in found.points}) > 1


def test_further_figures_may_be_asked_for() -> None:
    found = simrep.sweep(clients(), OVER, of=["counters.n1.Handler_commit", "stall_began_s"])
    assert found.about == "counters.n1.Handler_commit"
    assert all(point.mean(found.about) >= 40 for point in found.points)
    with pytest.raises(ScenarioError, match=r"a result has no 'throughput_tbs' here.*did you mean"):
        simrep.sweep(clients(), OVER, of="throughput_tbs")


def test_the_warm_up_is_found_point_by_point() -> None:
    limits = {'cluster.options."gcs.fc_limit"': [20, 200]}
    early, late = simrep.sweep(throttled(), limits).points
    assert early.warmup_s < 0.15 < late.warmup_s < 0.5
    assert late.mean("throughput_tps") < 250.0
    given = simrep.sweep(throttled(warmup_s=0.1), limits)
    assert [point.warmup_s for point in given.points] == [0.1, 0.1]


def test_a_point_that_cannot_be_simulated_spares_the_others() -> None:
    found = simrep.sweep(clients(), {"run.limit_s": [0.001, 1000.0]})
    assert "have not ended after 0.001" in found.points[0].error
    assert np.isnan(found.points[0].mean("throughput_tps"))
    assert found.points[1].mean("committed") == 40
    assert "have not ended" in str(found)
    assert found.to_dict()["points"][0]["values"] == {}


def test_a_point_that_cannot_be_planned_is_named_before_any_is_simulated(monkeypatch) -> None:
    monkeypatch.setattr(sweep_module, "measure", lambda *_: pytest.fail("simulated"))
    with pytest.raises(ScenarioError, match=r"cluster\.machine\.coers.*unknown key.*cores"):
        simrep.sweep(clients(), {"cluster.machine.coers": [1, 2]})
    with pytest.raises(ScenarioError, match=r"at least 1, given 0, at workload\.threads = 0"):
        simrep.sweep(clients(), {"workload.threads": [1, 0]})
    with pytest.raises(ScenarioError, match=r"run\.seed: is the same for all points"):
        simrep.sweep(clients(), {"run.seed": [1, 2]})
    with pytest.raises(ScenarioError, match="replications: must be a whole number of at least 1"):
        simrep.sweep(clients(), OVER, replications=0)


def test_thin_figures_are_noticed() -> None:
    found = simrep.sweep(clients(), {"workload.threads": [1]}, of="latency_s.p99")
    said = "latency_s.p99 rests on 0 of 40 transactions, 20 should lie beyond it: "
    assert found.points[0].notices == (f"{said}run 50 times as long",)
    assert "(1 of 1 point)" in str(found)


# -------------------------------------------------------------------- cache --


def test_a_point_that_is_known_is_not_simulated_again(tmp_path, monkeypatch) -> None:
    first = simrep.sweep(clients(), OVER, replications=2, cache=tmp_path)
    assert first.computed == 6
    assert len(list(tmp_path.rglob("*.json"))) == 6
    with monkeypatch.context() as patched:
        patched.setattr(sweep_module, "measure", lambda *_: pytest.fail("simulated"))
        again = simrep.sweep(clients(), OVER, replications=2, cache=tmp_path)
        # The title and the order of the factors do not matter, nor does the figure of a plot.
        renamed = {"name": "renamed", **clients()}
        turned = dict(reversed(OVER.items()))
        other = simrep.sweep(renamed, turned, replications=2, cache=tmp_path, of="latency_s.p95")
    assert again.computed == other.computed == 0
    assert content(again) == content(first)
    # A finer grid only adds what is missing.
    wider = OVER | {"workload.threads": "1..8:x2"}
    assert simrep.sweep(clients(), wider, replications=2, cache=tmp_path).computed == 2


@pytest.mark.parametrize(
    "how",
    [
        {"seed": 2},
        {"replications": 3},
        {"precision": 0.2},
        {"of": "counters.n1.Handler_commit"},
    ],
)
def test_what_makes_a_difference_is_simulated(how: dict[str, Any], tmp_path) -> None:
    one = {"workload.threads": [2]}
    simrep.sweep(clients(), one, cache=tmp_path)
    assert simrep.sweep(clients(), one, cache=tmp_path, **how).computed == 1


def test_other_costs_packs_and_code_are_other_results(tmp_path, monkeypatch) -> None:
    one = {"workload.threads": [2]}
    assert simrep.sweep(clients(), one, cache=tmp_path).computed == 1
    dearer = with_values(load(clients()), {"cluster.costs.statement_us": 1001.0})
    assert simrep.sweep(dearer, one, cache=tmp_path).computed == 1

    pack = tmp_path / "mine.toml"
    text = '[pack]\nname = "mine"\nmodel = "standalone"\n[costs]\nconnect_us = 5.0\n'
    pack.write_text(text)
    packed = with_values(load(clients()), {"cluster.pack": str(pack)})
    assert simrep.sweep(packed, one, cache=tmp_path).computed == 1
    pack.write_text(text + "# a comment\n")  # the costs are the same, the pack is another
    assert simrep.sweep(packed, one, cache=tmp_path).computed == 1

    monkeypatch.setattr(cache_module, "code_digest", lambda package: f"other {package}")
    assert simrep.sweep(clients(), one, cache=tmp_path).computed == 1


def test_the_digest_of_a_package_is_that_of_its_sources(tmp_path, monkeypatch) -> None:
    package = tmp_path / "some_package"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner" / "code.py").write_text("a = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def digest() -> str:
        cache_module.code_digest.cache_clear()
        return cache_module.code_digest("some_package")

    before = digest()
    (package / "notes.txt").write_text("no code")
    assert digest() == before
    (package / "inner" / "code.py").write_text("a = 2\n")
    assert digest() != before
    cache_module.code_digest.cache_clear()


def test_a_file_that_cannot_be_read_is_computed_again(tmp_path) -> None:
    one = {"workload.threads": [2]}
    first = simrep.sweep(clients(), one, cache=tmp_path)
    [file] = tmp_path.rglob("*.json")
    whole = file.read_text()
    for broken in (whole[: len(whole) // 2], "[]", '{"values": 3}', "{}"):
        file.write_text(broken)
        again = simrep.sweep(clients(), one, cache=tmp_path)
        assert again.computed == 1
        assert content(again) == content(first)
        assert file.read_text() == whole


def test_failures_and_what_is_no_number_are_kept_as_they_are(tmp_path) -> None:
    never = clients() | {"run": {"limit_s": 0.001}}
    late = scenario("standalone", 1, rate_tps=0.001, duration_s=0.1)
    for base, over in ((never, {"workload.threads": [1]}), (late, {"cluster.machine.cores": [1]})):
        first = simrep.sweep(base, over, cache=tmp_path)
        again = simrep.sweep(base, over, cache=tmp_path)
        assert (first.computed, again.computed) == (1, 0)
        assert content(again) == content(first)


def test_the_folder_may_be_chosen(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.delenv("SIMREP_CACHE", raising=False)
    simrep.sweep(clients(), {"workload.threads": [1]}, cache=True)
    assert len(list((tmp_path / "caches" / "simrep").rglob("*.json"))) == 1
    monkeypatch.setenv("SIMREP_CACHE", str(tmp_path / "own"))
    simrep.sweep(clients(), {"workload.threads": [1]}, cache=True)
    assert len(list((tmp_path / "own").rglob("*.json"))) == 1


# ---------------------------------------------------------------- interrupt --


class Interrupted(Executor):
    """Runs what it is given at once, until the user has enough."""

    def __init__(self, after: int) -> None:
        self.left = after

    def submit(self, call, /, *arguments, **options):
        future: Future[Any] = Future()
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        future.set_result(call(*arguments, **options))
        return future


def test_an_interrupt_keeps_what_is_finished(tmp_path) -> None:
    whole = simrep.sweep(clients(), OVER)
    part = simrep.sweep(clients(), OVER, executor=Interrupted(2), cache=tmp_path)
    assert not part.complete
    assert part.points == whole.points[:2]
    assert "Interrupted after 2 points." in str(part)
    rest = simrep.sweep(clients(), OVER, cache=tmp_path)
    assert rest.computed == 4
    assert content(rest) == content(whole)


def test_an_interrupt_in_this_process_keeps_what_is_finished(monkeypatch) -> None:
    calls: list[Any] = []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return measure(*arguments)

    monkeypatch.setattr(sweep_module, "measure", interrupted)
    part = simrep.sweep(clients(), OVER)
    assert (len(part.points), part.complete) == (3, False)


# ------------------------------------------------------------------- output --


@pytest.fixture(scope="module")
def found() -> Sweep:
    return simrep.sweep(clients() | {"name": "A server"}, OVER, replications=3)


def test_rows_are_tidy(found: Sweep) -> None:
    row = found.rows()[1]
    assert (row["workload.threads"], row["cluster.machine.cores"]) == (1, 2)
    assert (row["replications"], row["seed"], row["error"]) == (3, 1, "")
    assert row["throughput_tps.low"] < row["throughput_tps"] < row["throughput_tps.high"]
    frame = found.to_frame()
    assert len(frame) == 6
    assert frame["latency_s.p95"].tolist() == [p.mean("latency_s.p95") for p in found.points]


def test_files_hold_every_digit(found: Sweep, tmp_path) -> None:
    import pandas as pd

    found.save(tmp_path / "points.csv")
    with (tmp_path / "points.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    assert [float(row["makespan_s"]) for row in rows] == [
        p.mean("makespan_s") for p in found.points
    ]
    found.save(tmp_path / "points.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "points.parquet"), found.to_frame())
    with pytest.raises(ScenarioError, match=r"endings: \.csv, \.parquet"):
        found.save(tmp_path / "points.xlsx")


def test_a_single_replication_has_no_intervals(tmp_path) -> None:
    single = simrep.sweep(clients(), OVER)
    assert single.points[0].interval("throughput_tps") is None
    assert "Single replications have no intervals" in str(single)
    single.save(tmp_path / "points.csv")
    assert single.to_frame()["throughput_tps.low"].isna().all()


def test_a_sweep_shows_itself(found: Sweep) -> None:
    text = str(found)
    assert "A server, 6 points, seed 1" in text
    assert text.count("±") == 12
    assert "threads   cores" in text  # short names, as they are unique
    assert repr(found) == ("<Sweep 6 points over workload.threads, cluster.machine.cores, seed 1>")
    page = found._repr_html_()
    assert page.count("<tr>") == 7
    json.dumps(found.to_dict(), allow_nan=False)


def test_lines_have_bands_and_their_factors(found: Sweep, tmp_path) -> None:
    figure = found.plot(tmp_path / "lines.png")
    [axes] = figure.axes
    assert len(axes.lines) == 2
    assert len(axes.collections) == 2  # the bands
    assert axes.get_xlabel() == "threads"
    assert axes.get_ylabel() == "throughput (transactions/s)"
    assert axes.lines[0].get_xdata().tolist() == [1, 2, 4]
    assert (tmp_path / "lines.png").stat().st_size > 10_000
    with pytest.raises(ScenarioError, match=r"did you mean 'latency_s\.p9"):
        found.plot(of="latency_s.p59")


def test_a_heat_map_has_a_cell_for_every_point(found: Sweep) -> None:
    figure = found.plot(kind="heat", of="latency_s.p95")
    axes = figure.axes[0]
    assert len(axes.texts) == 6
    assert axes.images[0].get_array().shape == (2, 3)
    three = simrep.sweep(clients(8), {"workload.threads": [1, 2], "run.log": [False, True],
                                      "cluster.machine.cores": [1, 2]})  # fmt: skip
    with pytest.raises(ScenarioError, match="a heat map has two factors, given 3"):
        three.plot(kind="heat")
    panels = three.plot().axes
    assert len(panels) == 2  # one for each level of the third
    tops = [max(line.get_ydata()) for axes in panels for line in axes.lines]
    assert all(axes.get_ylim()[0] == 0 < max(tops) < axes.get_ylim()[1] for axes in panels)


def test_names_and_hypercubes_can_be_drawn(tmp_path) -> None:
    names = simrep.sweep(
        clients(8), {"workload.think_time": "constant,exponential"}, replications=2
    )
    names.plot(tmp_path / "names.png")
    cube = simrep.sweep(
        clients(8), {"workload.think_time_ms": "1..100.0:log", "workload.threads": "1..8"},
        samples=9,
    )  # fmt: skip
    assert len(cube.points) == 9
    assert len(cube.plot(tmp_path / "cube.png").axes) == 2
    assert (tmp_path / "cube.png").stat().st_size > 10_000


# ------------------------------------------------------------------ imports --


def test_importing_simrep_imports_nothing_heavy() -> None:
    code = (
        "import sys, simrep, simrep.cli\n"
        "heavy = {'matplotlib', 'pandas', 'scipy', 'numpy', 'simpy', 'pydantic', 'distributed'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_process_that_simulates_imports_no_more_than_it_needs() -> None:
    code = (
        "import sys, simrep.whatif.point\n"
        "heavy = {'matplotlib', 'pandas', 'scipy', 'scipy.stats', 'rich', 'typer'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_figure_of_a_node_is_drawn_with_its_unit_and_whole_markers():
    figure = "nodes.n1.latency_s.p99"
    scenario = {"cluster": {"model": "standalone"}, "run": {"duration_s": 0.1}}
    found = simrep.sweep(scenario, {"workload.threads": [1, 2]}, of=figure)
    [axes] = found.plot().axes
    assert axes.get_ylabel() == "nodes.n1.latency p99 (s)"
    assert axes.get_ylim()[1] > 1.04 * max(point.mean(figure) for point in found.points)
