"""Pictures of datasets: curves, rows or a cloud, by the shape of the data; all can be read."""

from dataclasses import replace
from itertools import product
from math import nan
from typing import Any

import pytest
from matplotlib.axes import Axes

from simrep.data.cells import Cell
from simrep.data.definition import Definition
from simrep.show.plot.arrangement import arrange
from simrep.show.plot.dataset import plot_cells
from simrep.show.plot.style import PALETTE
from tests.legible import problems

DELAYS = (0.05, 50.0, 100.0)
THREADS = (1, 4, 16, 64)


def definition(names: list[str], series: list[str], **show: Any) -> Definition:
    return Definition.model_validate(
        {
            "title": "Galera over a WAN",
            "source": "made up",
            "metric": {"column": "s", "result": "makespan_s", "unit": "s", "label": "makespan"},
            "factors": dict.fromkeys(names, "run.seed"),
            "show": {"x": names[0], **show},
            "series": [{"name": n, "title": n.upper(), "scenario": "a.toml"} for n in series],
        }
    )


def cell(measured: float, series: str = "pxc", **factors: Any) -> Cell:
    return Cell(
        factors=factors, measured=measured, repetitions=1, predicted=1.05 * measured, unit="s",
        relative_error=0.05 if measured else nan, interval=(measured, 1.1 * measured),
        used_in_fit=factors.get("delay_ms", 1.0) < 1.0, series=series, metric="s",
    )  # fmt: skip


def delayed() -> list[Cell]:
    return [
        cell((0.2 + delay) / threads, threads=threads, delay_ms=delay)
        for delay, threads in product(DELAYS, THREADS)
    ]


def drawn(cells: list[Cell], **show: Any) -> Any:
    names = list(dict.fromkeys(name for one in cells for name in one.factors))
    series = list(dict.fromkeys(one.series for one in cells))
    return plot_cells(definition(names, series, **show), cells)


def lines(axes: Axes, style: str) -> list[Any]:
    return [line for line in axes.get_lines() if line.get_linestyle() == style]


def texts(figure: Any) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def points(figure: Any) -> list[tuple[float, float]]:
    """Of all measured cells, wherever they are drawn."""
    return [
        (float(x), float(y))
        for axes in figure.axes
        for line in lines(axes, "None")
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]


# -- curves --------------------------------------------------------------------------------------


def test_curves_are_lines_with_bands_and_points():
    axes = drawn(delayed(), by="delay_ms").axes[0]
    simulated, measured = lines(axes, "-"), lines(axes, "None")
    assert [len(line.get_xdata()) for line in simulated] == [4, 4, 4]
    assert [len(line.get_xdata()) for line in measured] == [4, 4, 4]
    assert len(axes.collections) == 3
    assert [line.get_color() for line in simulated] == list(PALETTE[:3])
    assert [line.get_color() for line in measured] == list(PALETTE[:3])
    hollow = [line for line in measured if line.get_markerfacecolor() == "white"]
    assert [line.get_color() for line in hollow] == [PALETTE[0]]  # the fit has seen that delay


def test_curves_say_what_the_cells_say():
    cells = [cell(50.2 / threads, threads=threads) for threads in (16, 1, 4)]
    axes, errors = drawn(cells).axes
    (simulated,), (measured,) = lines(axes, "-"), lines(axes, "None")
    assert list(simulated.get_xdata()) == [1, 4, 16]  # in the order of the axis
    assert list(measured.get_ydata()) == pytest.approx([50.2, 50.2 / 4, 50.2 / 16])
    assert list(simulated.get_ydata()) == pytest.approx([52.71, 52.71 / 4, 52.71 / 16])
    band = axes.collections[0].get_paths()[0].get_extents()
    assert (band.ymin, band.ymax) == pytest.approx((50.2 / 16, 50.2 * 1.1))
    (off,) = lines(errors, "None")
    assert list(off.get_ydata()) == pytest.approx([5.0] * 3)


def test_curves_are_labelled_with_units_and_scales():
    figure = drawn(delayed(), by="delay_ms")
    axes, errors = figure.axes
    assert axes.get_xlabel() == "threads, logarithmic"
    assert axes.get_ylabel() == "makespan (s), logarithmic"
    assert axes.get_xticks().tolist() == [1, 4, 16, 64]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "4", "16", "64"]
    assert errors.yaxis.get_major_formatter()(2.0) == "+2 %"
    assert figure.get_suptitle() == "Galera over a WAN"
    assert texts(figure) == [
        *("delay 100 ms", "delay 50 ms", "delay 0.05 ms"),
        *("measured", "measured, used in fit", "simulated", "interval of simulation"),
    ]


def test_systems_have_panels_of_the_same_scales():
    cells = [replace(one, series=name) for one in delayed() for name in ("pxc", "gr")]
    figure = drawn(cells, by="delay_ms")
    left, right = figure.axes[:2]
    assert [axes.get_title(loc="left") for axes in (left, right)] == ["GR", "PXC"]
    assert left.get_ylim() == right.get_ylim()
    assert not problems(figure)


def test_points_that_cover_each_other_stand_beside_each_other():
    apart = drawn(delayed(), by="delay_ms").axes[0]
    same = [cell(1 / n, threads=n, delay_ms=delay) for n in THREADS for delay in (20.0, 50.0)]
    covered = drawn(same, by="delay_ms").axes[0]

    def places(axes: Axes) -> list[float]:
        return [
            round(line.get_transform().transform(line.get_xydata()[:1])[0][0], 3)
            for line in lines(axes, "None")
        ]

    assert len(set(places(apart))) == 1
    assert len(set(places(covered))) == 2
    assert len({line.get_linewidth() for line in lines(covered, "-")}) == 2


def test_levels_of_all_sizes_and_none_stand_beside_each_other():
    figure = drawn([cell(1.0, size=size) for size in (0, 100, 10_000, 1_000_000)])
    axes = figure.axes[0]
    assert axes.get_xlabel() == "size, evenly spaced"
    assert [label.get_text() for label in axes.get_xticklabels()][-1] == "1,000,000"
    assert not problems(figure)


# -- rows and clouds -----------------------------------------------------------------------------


def grid(*counts: int, x: int = 2) -> list[Cell]:
    """Cells of several factors; the first one has too few values for curves."""
    levels = [range(1, x + 1), *map(range, counts)]
    return [
        cell(1.0 + sum(at), threads=at[0], **{f"factor_{n}": v for n, v in enumerate(at[1:])})
        for at in product(*levels)
    ]


def test_few_values_across_are_rows_with_blocks():
    cells = [replace(one, series=name) for one in grid(5) for name in ("pxc", "gr")]
    figure = drawn(cells)
    names, values, errors = figure.axes[:3]
    told = [text.get_text() for text in names.texts]
    assert {"PXC, threads 1", "GR, threads 2", "rows: factor 0", "4"} <= set(told)
    assert values.get_xlabel().startswith("makespan (s)")
    assert errors.get_xlabel() == "simulated relative\nto measured"
    assert sum(len(line.get_xdata()) == 1 for line in lines(values, "None")) == 2 * len(cells)


def test_cells_that_make_no_curve_are_rows_below():
    figure = drawn([*delayed(), cell(3.0, threads=4, delay_ms=7.0)], by="delay_ms")
    assert len(figure.subfigs) == 2
    assert not problems(figure)


def test_many_cells_are_a_cloud():
    cells = grid(20, 15)
    figure = drawn(cells)
    assert sorted(points(figure)) == sorted((one.measured, one.predicted) for one in cells)
    assert figure.axes[0].get_xlabel().startswith("measured makespan (s),")


def test_only_factors_that_tell_cells_apart_are_named():
    cells = [
        replace(one, factors={**one.factors, "half": one.factors["factor_0"] / 2})
        for one in grid(4)
    ]
    page = arrange(cells, definition(["threads", "factor_0", "half"], ["pxc"]))
    assert (page.block, page.row) == (("threads",), ("factor_0",))


# -- all shapes ----------------------------------------------------------------------------------


LONG = "group_replication_flow_control_applier_threshold_of_the_" + "very_" * 20 + "slow_node"
SHAPES: dict[str, list[Cell]] = {
    "one": [cell(1.0, threads=1)],
    "six lines": [cell(n + d, threads=n, delay_ms=d) for n in THREADS for d in range(6)],
    "seven panels": [cell(n * k, f"s{k}", threads=n) for n in THREADS for k in range(1, 8)],
    "one x": [cell(float(k + 1), threads=8, load=f"load {k}") for k in range(9)],
    "texts": [cell(1.0 + k, threads="", load=f"load {k}") for k in range(5)],
    "60 rows": grid(30),
    "160 rows": grid(10, 8),
    "hundreds of series": [cell(1.0 + k, f"s{k}", threads=1) for k in range(300)],
    "none simulated": [replace(one, predicted=nan, relative_error=nan, interval=None)
                       for one in delayed()],
    "some simulated": [replace(one, predicted=nan, relative_error=nan, interval=None)
                       if one.factors["threads"] == 4 else one for one in delayed()],
    "nothing measured": [cell(0.0, threads=n, load=k) for n in THREADS for k in range(2)],
    "far off": [replace(one, predicted=30 * one.measured, relative_error=29.0) for one in grid(9)],
    "far off curves": [replace(one, predicted=30 * one.measured, relative_error=29.0)
                       for one in delayed()],
    "long names": [cell(1.0 + k, f"{LONG} {s}", threads=2, **{LONG: f"{LONG} {k}"})
                   for k in range(12) for s in range(2)],
    "long panels": [cell(n * (k + 1), f"{LONG} {k}", threads=n, **{LONG: f"{LONG} {s}"})
                    for n in THREADS for k in range(4) for s in range(2)],
    "hostile names": [cell(1.0 + k, s, threads=2, load=f"$x_{k}^{{$ <b>[/]")
                      for k in range(4) for s in ("[red]$\\frac{a}{", "%s {x} \\")],
    "hostile panels": [cell(n * 1.0, s, threads=n, load=k) for n in THREADS
                       for s in ("[red]$\\frac{a}{", "%s {x} \\ $") for k in ("$a_b", "_c")],
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_all_shapes_can_be_read(shape: str):
    cells = SHAPES[shape]
    figure = drawn(cells)
    assert problems(figure) == []
    known = [one for one in cells if shape != "hundreds of series"]
    seen = [x for point in points(figure) for x in point]
    assert all(one.measured in seen for one in known)


def test_nothing_measured_is_refused():
    with pytest.raises(ValueError, match="without cells"):
        drawn([replace(cell(1.0, threads=1), metric="other")])
