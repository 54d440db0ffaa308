"""Datasets: what is read from their folders, and the ones that ship."""

import pytest

from simrep.contract.setup import setup_of
from simrep.data.dataset import datasets, load_dataset
from simrep.errors import ScenarioError
from simrep.scenario import load, with_values
from tests.small_dataset import change, write_dataset, write_rows


@pytest.fixture
def folder(tmp_path):
    return write_dataset(tmp_path / "small")


def test_rows_with_equal_factors_are_repetitions_of_one_cell(folder):
    cells = load_dataset(folder).cells["galera"]
    found = {
        (cell.factors["delay_ms"], cell.factors["threads"]): (
            cell.values["seconds"],
            cell.repetitions,
        )
        for cell in cells
    }
    assert found == {
        (0.05, 1): (0.05, 1),
        (0.05, 4): (0.04, 1),
        (20, 1): (0.5, 1),
        (20, 4): (0.2, 3),
    }


def test_cells_know_their_system_and_whether_a_fit_may_use_them(folder):
    cells = load_dataset(folder).cells["galera"]
    assert {cell.factors["system"] for cell in cells} == {"galera"}
    assert [cell.factors["delay_ms"] for cell in cells if cell.used_in_fit] == [0.05, 0.05]


def test_a_factor_sets_its_path_unless_a_value_says_otherwise(folder):
    cells = load_dataset(folder).cells["galera"]
    settings = {cell.factors["delay_ms"]: cell.settings for cell in cells}
    assert settings[20]["network.egress.0.delay_ms"] == 20
    assert settings[0.05]["network.egress.0.delay_ms"] == 0.0


def test_without_fit_where_every_cell_is_a_prediction(folder):
    change(folder, "dataset.toml", "[fit_where]\ndelay_ms = [0.05]", "")
    assert not any(cell.used_in_fit for cell in load_dataset(folder).cells["galera"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title =", "titel =", "title"),
        ('column = "seconds"', 'column = "secnds"', "seconds"),
        ('threads = "workload.threads"', 'thread = "workload.threads"', "threads"),
        ('by = "delay_ms"', 'by = "delays_ms"', "delay_ms"),
        ('system = "galera"', 'system = "mysql"', "no rows"),
        ("[metric]", "[metric", "TOML"),
    ],
)
def test_a_dataset_that_contradicts_itself_is_refused_with_the_way_out(folder, old, new, message):
    change(folder, "dataset.toml", old, new)
    with pytest.raises(ScenarioError, match=message):
        load_dataset(folder)


@pytest.mark.parametrize("seconds", ["0", "-1", "n/a"])
def test_a_measured_figure_must_be_a_positive_number(folder, seconds):
    write_rows(folder, [("galera", 20, 1, seconds)])
    with pytest.raises(ScenarioError, match="positive number"):
        load_dataset(folder)


def test_an_unknown_dataset_is_answered_with_the_nearest():
    with pytest.raises(ScenarioError, match="did you mean 'wan-concurrency'"):
        load_dataset("wan-concurency")


# ----------------------------------------------------------------- shipped --


def test_the_published_wan_table_has_six_cells_to_fit_and_twelve_to_predict():
    cells = load_dataset("wan-concurrency").cells["pxc"]
    assert len(cells) == 18
    assert {c.factors["egress_delay_ms"] for c in cells if c.used_in_fit} == {0.05}
    assert sum(cell.used_in_fit for cell in cells) == 6
    at = {(c.factors["egress_delay_ms"], c.factors["threads"]): c.values["seconds"] for c in cells}
    assert at[100, 64] == 1.808
    assert at[50, 1] == 25.583


def test_the_rig_table_has_medians_of_three():
    cells = load_dataset("galera-rig").cells["galera"]
    assert len(cells) == 18
    assert {cell.repetitions for cell in cells} == {3}
    at = {(c.factors["egress_delay_ms"], c.factors["threads"]): c.values["seconds"] for c in cells}
    assert at[0, 1] == 0.232
    assert sum(cell.used_in_fit for cell in cells) == 12


CELLS = [name for name in datasets() if load_dataset(name).definition.metrics]


@pytest.mark.parametrize("name", CELLS)
def test_every_setting_of_a_shipped_dataset_fits_its_scenario(name):
    dataset = load_dataset(name)
    for series in dataset.definition.series:
        base = load(dataset.scenario_path(series))
        for variant in series.what_if:
            setup_of(with_values(base, variant.set))
        for cell in dataset.cells[series.name]:
            setup = setup_of(with_values(base, cell.settings))
            of_load = cell.settings.get("workload", {}).get("threads", base.workload.threads)
            threads = cell.factors.get("threads", of_load)
            assert (setup.scenario.workload.threads or "") == (threads or "")
