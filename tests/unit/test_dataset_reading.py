"""Datasets are checked as they are read: columns, empty cells, units, repetitions."""

from datetime import UTC, datetime
from math import sqrt
from statistics import stdev

import pytest

from simrep.data.dataset import dataset_folder, datasets, load_dataset
from simrep.errors import DatasetWarning, ScenarioError
from simrep.measure.units import spellings, unit_of
from tests.small_dataset import ROWS, change, write_dataset, write_rows


@pytest.fixture
def folder(tmp_path):
    return write_dataset(tmp_path / "small")


def declare(folder, text):
    """Put keys before the first table."""
    change(folder, "dataset.toml", "seed = 3\n", f"seed = 3\n{text}\n")


def cells(folder):
    return load_dataset(folder).cells["galera"]


# ------------------------------------------------------------------ columns --


def test_a_column_that_nothing_uses_is_told(folder):
    write_rows(folder, [(*row, 1, 2) for row in ROWS], "cpu_s", "secnds")
    with pytest.warns(DatasetWarning, match=r"nothing uses cpu_s, secnds.*ignore"):
        load_dataset(folder)


def test_columns_for_information_are_declared(folder):
    write_rows(folder, [(*row, 1, 2) for row in ROWS], "cpu_s", "secnds")
    declare(folder, 'ignore = ["cpu_s", "secnds"]')
    assert len(cells(folder)) == 4  # a warning would be an error here


def test_a_declared_column_has_to_be_there(folder):
    declare(folder, 'ignore = ["second"]')
    with pytest.raises(ScenarioError, match=r"no column 'second'.*did you mean 'seconds'"):
        load_dataset(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("system,delay_ms,threads,seconds\ngalera,20,1\n", "row 1 has 3 fields, the header 4"),
        ("system,delay_ms,threads,seconds\ngalera,20,1,2,3\n", "row 1 has 5 fields"),
        ("system,delay_ms,threads,threads\ngalera,20,1,2\n", "several columns 'threads'"),
        ("system,delay_ms,threads,seconds\n\n", "has no rows"),
        ("", "has no rows"),
    ],
)
def test_rows_fit_the_header(folder, text, message):
    (folder / "data.csv").write_text(text)
    with pytest.raises(ScenarioError, match=message):
        load_dataset(folder)


# -------------------------------------------------------------- empty cells --


def test_an_empty_factor_is_refused_with_its_row(folder):
    write_rows(folder, [("galera", 20, 1, 0.5), ("galera", "", 1, 0.5)])
    with pytest.raises(ScenarioError, match=r"row 2: factor 'delay_ms' is empty.*optional"):
        load_dataset(folder)


def test_an_empty_cell_of_an_optional_factor_leaves_the_scenario_alone(folder):
    write_rows(folder, [("galera", 20, 1, 0.5), ("galera", "", 1, 0.5)])
    change(folder, "dataset.toml", '.delay_ms"\n', '.delay_ms"\noptional = true\n')
    settings = {cell.factors["delay_ms"]: cell.settings for cell in cells(folder)}
    assert settings[20]["network.egress.0.delay_ms"] == 20
    assert settings[""] == {"workload.threads": 1}


def test_a_row_of_another_system_may_be_empty(folder):
    write_rows(folder, [("galera", 20, 1, 0.5), ("other", "", "", "")])
    assert len(cells(folder)) == 1


def test_missing_figures_are_told(folder):
    write_rows(folder, [("galera", 20, 1, 0.5), ("galera", 20, 1, "")])
    with pytest.warns(DatasetWarning, match="seconds is empty in 1 of 2 rows of galera"):
        load_dataset(folder)


def test_missing_figures_may_be_meant(folder):
    write_rows(folder, [("galera", 20, 1, 0.5), ("galera", 20, 1, "")])
    change(folder, "dataset.toml", 'label = "run time"\n', 'label = "run time"\noptional = true\n')
    [cell] = cells(folder)
    assert (cell.values["seconds"], cell.repetitions) == (0.5, 2)


def test_a_figure_that_is_never_there_is_refused(folder):
    change(folder, "dataset.toml", "[metric]\n", "[[metric]]\n")
    change(
        folder,
        "dataset.toml",
        "[factors]\n",
        '[[metric]]\ncolumn = "p95_s"\nresult = "latency_s.p95"\nunit = "s"\nlabel = "p95"\n'
        "optional = true\n\n[factors]\n",
    )
    write_rows(folder, [(*row, "") for row in ROWS], "p95_s")
    with pytest.raises(ScenarioError, match="p95_s is empty in all rows"):
        load_dataset(folder)


def test_a_figure_counts_in_some_rows_only(folder):
    write_rows(folder, [("galera", 20, 1, 0.5, "count"), ("galera", 20, 4, 9.0, "timed")], "load")
    change(
        folder,
        "dataset.toml",
        'label = "run time"\n',
        'label = "run time"\nwhere = { load = ["count"] }\n',
    )
    with pytest.raises(ScenarioError, match=r"nothing was measured.*'threads': 4"):
        load_dataset(folder)
    write_rows(folder, [("galera", 20, 1, 0.5, "count"), ("galera", 20, 1, 9.0, "timed")], "load")
    [cell] = cells(folder)
    assert cell.values["seconds"] == 0.5


# -------------------------------------------------------- units and spreads --


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("makespan_s", "s"),
        ("latency_s.p95", "s"),
        ("throughput_tps", "1/s"),
        ("aborted", "transactions"),
        ("scheduled.large_s.fragments", ""),
        ("scheduled.large.before_tps", "1/s"),
        ("scheduled.large.size_bytes", "bytes"),
        ("counters.n1.wsrep_replicated_bytes", None),
        ("invented", None),
    ],
)
def test_figures_have_units(path, unit):
    assert unit_of(path) == unit
    if unit is not None:
        assert unit in spellings(unit)


def test_a_unit_that_does_not_fit_is_refused(folder):
    change(folder, "dataset.toml", 'unit = "s"', 'unit = "ms"')
    with pytest.raises(ScenarioError, match=r"'ms' does not fit makespan_s, which is in s.*'s'"):
        load_dataset(folder)


def test_repetitions_tell_the_standard_error(folder):
    found = {cell.factors["threads"]: cell for cell in cells(folder) if cell.repetitions > 1}
    expected = stdev([0.3, 0.1, 0.2]) / sqrt(3)
    assert found[4].standard_errors == {"seconds": pytest.approx(expected)}
    assert all(not cell.standard_errors for cell in cells(folder) if cell.repetitions == 1)


def test_a_column_may_state_the_standard_error(folder):
    change(folder, "dataset.toml", "[metric]\n", '[metric]\nstandard_error = "seconds_se"\n')
    rows = [("galera", 20, 4, 0.3, 0.03), ("galera", 20, 4, 0.1, 0.04), ("galera", 20, 1, 0.5, "")]
    write_rows(folder, rows, "seconds_se")
    found = {cell.factors["threads"]: cell.standard_errors for cell in cells(folder)}
    assert found == {1: {}, 4: {"seconds": pytest.approx(sqrt((0.03**2 + 0.04**2) / 2 / 2))}}
    write_rows(folder, [("galera", 20, 4, 0.3, -1)], "seconds_se")
    with pytest.raises(ScenarioError, match="seconds_se must be a number of at least 0"):
        load_dataset(folder)


# -------------------------------------------------------------- information --


def test_what_was_measured_at_a_known_time_is_our_own(folder):
    change(folder, "dataset.toml", 'source = "made up"\n', "measured_from = 2026-11-20\n")
    definition = load_dataset(folder).definition
    assert definition.source == "own measurements, 2026-11-20"
    assert definition.measured_from == datetime(2026, 11, 20, tzinfo=UTC)


def test_somebody_has_to_have_measured_it(folder):
    change(folder, "dataset.toml", 'source = "made up"\n', "")
    with pytest.raises(ScenarioError, match="source"):
        load_dataset(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("format = 2", "format"),
        ('measured_from = 2026-11-20\nmeasured_to = "2026-11-19"', "before measured_from"),
        ('measured_from = "yesterday"', "measured_from"),
        ("attempts = -1", "attempts"),
        ("machine = { cpu = 'Z80', cores = 1 }", "cores"),
    ],
)
def test_information_is_checked(folder, text, message):
    declare(folder, text)
    with pytest.raises(ScenarioError, match=message):
        load_dataset(folder)


def test_it_is_shown_over_the_factor_with_most_values(folder):
    change(folder, "dataset.toml", '[show]\nx = "threads"\nby = "delay_ms"\n', "")
    rows = [("galera", delay, threads, 0.5) for delay in (0.05, 20) for threads in (1, 2, 4)]
    write_rows(folder, rows)
    show = load_dataset(folder).definition.show
    assert (show.x, show.by) == ("threads", "delay_ms")


# ----------------------------------------------------------------- shipped --


def test_names_of_datasets_are_unique():
    kinds = [dataset_folder(name).parent for name in datasets()]
    assert {kind.name for kind in kinds} == {"published", "measured"}
    every = [folder for kind in set(kinds) for folder in kind.glob("*/dataset.toml")]
    assert len(every) == len(datasets()) == len(set(datasets()))


def test_a_measured_dataset_leaves_its_name_to_a_published_one():
    assert dataset_folder("wan-concurrency").parent.name == "published"
    assert load_dataset("wan-concurrency").name == "wan-concurrency"
    assert dataset_folder("wan-concurrency-measured").parent.name == "measured"
    assert load_dataset("wan-concurrency-measured").name == "wan-concurrency-measured"
