"""Figures: what is drawn and labelled, and that matplotlib is left as it was."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from simrep import run
from simrep.kernel.clock import Clock
from simrep.measure.meter import Meter
from simrep.runs.record import RunRecord
from simrep.runs.result import Result


def result(*runs: np.ndarray, aborts: int = 0, name: str = "") -> Result:
    """One client per run whose transactions commit at the given times; then it aborts some."""
    records = []
    for replication, ends in enumerate(runs):
        clock = Clock()
        meter = Meter(clock)
        starts = np.concatenate(([0.0], ends))[: len(ends)]
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            clock.at(end, meter.committed, start)
        last = float(ends[-1]) if len(ends) else 0.0
        for index in range(aborts):
            clock.at(last + 0.1 * (index + 1), meter.aborted, last + 0.1 * index)
        clock.run()
        records.append(RunRecord(1, replication, meter.measurement()))
    return Result.combine(records, scenario={"name": name} if name else {})


def legend_texts(figure: Figure) -> list[str]:
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    return [text.get_text() for legend in legends if legend for text in legend.get_texts()]


def test_a_result_shows_its_distribution_and_percentiles() -> None:
    ends = np.cumsum(np.random.default_rng(1).exponential(0.05, 400))
    shown = result(ends, name="one client")
    figure: Any = shown.plot()
    left, right = figure.axes
    assert left.get_xlabel().startswith("latency of a committed transaction")
    assert left.get_ylabel() == "transactions not slower (%)"
    curve, *marks = left.get_lines()
    assert curve.get_ydata()[-1] == 100.0
    assert curve.get_xdata()[-1] == shown.latency_s["max"]
    places = [(mark.get_xdata()[0], mark.get_ydata()[0]) for mark in marks]
    assert places == [(shown.latency_s[f"p{q}"], q) for q in (50, 95, 99)]
    assert "p95" in left.texts[0].get_text()
    assert right.get_xlabel() == "simulated time (s)"
    assert right.get_ylabel() == "transactions per second"
    assert figure.get_suptitle() == "one client"


def test_a_result_shows_throughput_over_time() -> None:
    figure = result(np.arange(1, 41) * 0.125, aborts=7).plot()  # 8 per second to 5 s, then aborts
    right: Any = figure.axes[1]
    committed, aborted = right.patches[:2]
    # The commit at 5 s and the aborts fall into an interval that is measured for 0.7 s.
    assert committed.get_data().values == pytest.approx([7.0, 8.0, 8.0, 8.0, 8.0, 1 / 0.7])
    assert aborted.get_data().values == pytest.approx([0.0] * 5 + [10.0])
    assert committed.get_data().edges == pytest.approx([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 5.7])
    assert legend_texts(figure)[:2] == ["committed", "aborted"]
    assert right.get_lines()[0].get_ydata()[0] == pytest.approx(40 / 5.7)
    low, high = right.get_ylim()
    assert low == 0.0
    assert high > 8.0


def test_a_stall_is_shaded() -> None:
    ends = np.concatenate((np.arange(1, 9), np.arange(14, 20))) / 2  # none from 4 s to 7 s
    figure = result(ends).plot()
    assert "no commit for 3 s" in legend_texts(figure)
    assert figure.axes[1].patches[-1].get_extents().width > 0
    quiet = result(np.arange(1, 20) / 2).plot()
    assert not any("no commit" in text for text in legend_texts(quiet))


def test_replications_are_drawn_beside_their_mean() -> None:
    figure = result(np.arange(1, 41) * 0.1, np.arange(1, 41) * 0.1, np.arange(1, 41) * 0.11).plot()
    assert len(figure.axes[1].patches) == 4
    assert "committed, mean and each run" in legend_texts(figure)


@pytest.mark.parametrize(
    "ends",
    [
        np.array([]),
        np.array([0.01]),
        np.full(5, 0.02).cumsum(),
        np.array([1e-5, 0.5, 500.0]),
        np.array([1.0, 2.0]),
    ],
    ids=["nothing", "one", "constant", "wide", "two"],
)
def test_odd_results_can_be_drawn(ends: np.ndarray, tmp_path: Path) -> None:
    result(ends, aborts=1).plot(tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 10_000


def test_figures_are_saved_in_the_format_of_their_name(tmp_path: Path) -> None:
    shown = result(np.array([0.01, 0.02]))
    shown.plot(tmp_path / "run.png")
    shown.plot(str(tmp_path / "run.svg"))
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "run.svg").read_text()


def test_figures_show_themselves_in_a_notebook() -> None:
    assert result(np.array([0.01])).plot()._repr_png_().startswith(b"\x89PNG")


def test_drawing_leaves_the_settings_of_the_caller(tmp_path: Path) -> None:
    def settings() -> dict[str, Any]:
        # Looking at "backend" would choose one, and load pyplot for it.
        return {key: mpl.rcParams[key] for key in mpl.rcParams if key != "backend"}

    before = settings()
    with mpl.rc_context({"font.size": 33.0, "axes.grid": False, "axes.facecolor": "black"}):
        figure = result(np.array([0.01, 0.02])).plot(tmp_path / "run.png")
        assert mpl.rcParams["font.size"] == 33.0
        assert mpl.rcParams["axes.grid"] is False
    axes = figure.axes[0]  # in our style, not in the caller's
    assert axes.xaxis.label.get_size() < 20.0
    assert axes.get_facecolor() == (1.0, 1.0, 1.0, 1.0)
    assert settings() == before


def test_neither_pyplot_nor_a_backend_is_touched() -> None:
    code = """
import sys
import simrep.runs.result
import simrep.show.plot
assert not {"matplotlib", "pandas", "rich", "scipy.stats"} & sys.modules.keys()
from simrep.data.cells import Cell
from simrep.data.definition import Definition
from simrep.show.plot.dataset import plot_cells
cell = Cell(factors=dict(n=1, d=2), measured=1.0, repetitions=1, predicted=1.0, unit="s",
            relative_error=0.0, interval=(1.0, 1.0), used_in_fit=False, series="a", metric="s")
metric = dict(column="s", result="makespan_s", unit="s", label="time")
series = [dict(name="a", title="A", scenario="a.toml")]
definition = Definition.model_validate(dict(title="T", source="S", metric=metric, series=series,
                                            factors=dict(n="seed", d="seed"), show=dict(x="n")))
plot_cells(definition, [cell])._repr_png_()
assert "matplotlib" in sys.modules
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_names_of_what_happens_lie_below_the_legend() -> None:
    scenario = {
        "cluster": {"model": "galera"},
        "workload": {
            "threads": 4,
            "nodes": ["*"],
            "class": [{"keys": {"distribution": "uniform", "rows": 20}}],
            "variation": {"burst": [{"name": "sale", "at_s": 0.1, "for_s": 0.1, "factor": 2}]},
        },
        "run": {"duration_s": 0.3, "interval_s": 0.02},
    }
    figure = run(scenario).plot()
    figure.canvas.draw()
    axes = figure.axes[1]
    legend = axes.get_legend()
    named = [text for text in axes.texts if text.get_text() == "sale"]
    assert [text.get_window_extent().overlaps(legend.get_window_extent()) for text in named] == [
        False
    ]
