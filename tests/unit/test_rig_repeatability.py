"""Repeatability: which figure is compared, and cells with delays beside those without."""

import pytest

from simrep.rig.cell import Cell, Run
from simrep.rig.gates import Gate
from simrep.rig.journal import Entry
from simrep.rig.layout import Layout
from simrep.rig.load import Load
from simrep.rig.manifest import Spread, measuring_s, repeatability


def cell(layout="lan", **load):
    layouts = {"lan": Layout(name="lan"), "far": Layout(name="far", all_ms=5)}
    chosen = Load.model_validate({"name": "l", **(load or {"per_client": 9})})
    return Cell("galera", "", "galera", "mariadb", 3, {}, layouts[layout], chosen)


def found(*cells):
    """Entries of cells, each with a column and its values; the last of a marked run is None."""
    runs, entries = {}, []
    for one, column, values in cells:
        for number, value in enumerate(values, 1):
            run = Run(one, number)
            runs[run.id] = run
            marked = () if value is not None else (Gate("alone", passed=False),)
            row = {column: 99.0 if marked else value}
            entries.append(Entry(run.id, 1, row, marked, {}, {"wall_s": 2.0}))
    return repeatability(entries, runs), entries


def test_cells_are_repeatable_if_all_that_passed_lie_near_their_median():
    near, wan = cell(), cell("far")
    result, entries = found(
        (near, "seconds", (1.0, 1.04, 0.97)),
        (wan, "seconds", (1.0, 1.2)),
        (cell(per_client=1), "seconds", (1.0,)),
        (cell(per_client=2), "seconds", (1.0, None)),
        (cell(per_client=3), "seconds", ("", "")),
    )
    assert result["near"].spread == {near.key: Spread("seconds", pytest.approx(0.04))}
    assert result["wan"].spread == {wan.key: Spread("seconds", pytest.approx(0.1 / 1.1, abs=1e-4))}
    assert (result["near"].cells, result["near"].close) == (1, 1)
    assert (result["wan"].cells, result["wan"].close) == (1, 0)
    assert measuring_s(entries) == 20.0


@pytest.mark.parametrize(
    ("load", "figure"),
    [
        ({"transactions": 9}, "seconds"),
        ({"duration_s": 5}, "throughput_tps"),
        ({"duration_s": 5, "rate_tps": 9}, "mean_s"),
        ({"kind": "update", "large": {}}, "update_s"),
        ({"kind": "update", "rate_tps": 9, "large": {}}, "update_s"),
        ({"tool": "sysbench", "script": "oltp_insert", "duration_s": 5}, "throughput_tps"),
    ],
)
def test_what_a_load_was_told_is_no_figure_of_it(load, figure):
    one = cell(**load)
    result, _ = found((one, figure, (1.0, 1.5)))
    assert result["near"].spread[one.key].figure == figure
