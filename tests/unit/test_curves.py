"""Datasets of curves: what is read from their folders."""

import pytest

from simrep.contract.setup import setup_of
from simrep.data.curves import CurveDataset, load_curve_dataset, open_dataset
from simrep.data.dataset import Dataset, load_dataset
from simrep.errors import ScenarioError
from simrep.scenario import load, with_values
from tests.small_curves import write_curves
from tests.small_dataset import change, write_dataset


@pytest.fixture
def folder(tmp_path):
    return write_curves(tmp_path / "small")


def test_every_combination_of_values_is_a_curve_with_its_settings(folder):
    curves = {curve.key: curve for curve in load_curve_dataset(folder).curves}
    assert set(curves) == {
        (members, load, mode)
        for members, mode in ((1, "alone"), (2, "replicated"), (3, "replicated"))
        for load in ("heavy", "light")
    }
    assert curves[3, "heavy", "replicated"].settings == {"cluster.nodes": 3}
    assert curves[3, "light", "replicated"].settings == {
        "cluster.nodes": 3,
        "cluster.costs.statement_us": 500.0,
    }
    assert curves[1, "heavy", "alone"].values == (1, 2, 4)


def test_a_curve_may_have_values_of_its_own(folder):
    change(
        folder,
        "dataset.toml",
        '= "replicated" }\n\n[[sus',
        '= "replicated" }\nvalues = [4, 8]\n\n[[sus',
    )
    curves = {curve.key: curve.values for curve in load_curve_dataset(folder).curves}
    assert curves[2, "heavy", "replicated"] == (4, 8)
    assert curves[1, "heavy", "alone"] == (1, 2, 4)


def test_a_row_about_several_systems_is_about_each_of_them(folder):
    rows = load_curve_dataset(folder).rows
    assert [len(row.groups) for row in rows] == [1, 2, 1, 1]
    assert rows[1].groups == (((2, "heavy", "replicated"),), ((3, "heavy", "replicated"),))


def test_a_row_about_a_mean_has_all_of_it_in_one_group(folder):
    [group] = load_curve_dataset(folder).rows[3].groups
    assert group == ((2, "heavy", "replicated"), (2, "light", "replicated"))


def test_a_drop_from_first_to_last_is_one_statement_about_all(folder):
    change(folder, "dataset.toml", '[quantity.highest]\nkind = "maximum_ratio"',
           '[quantity.highest]\nkind = "maximum_ratio_drop"')  # fmt: skip
    [group] = load_curve_dataset(folder).rows[1].groups
    assert group == ((2, "heavy", "replicated"), (3, "heavy", "replicated"))


def test_the_baseline_of_a_curve_shares_the_other_factors(folder):
    dataset = load_curve_dataset(folder)
    assert dataset.baseline((3, "light", "replicated")) == (1, "light", "alone")


def test_rows_know_whether_a_fit_has_seen_them(folder):
    assert [row.used_in_fit for row in load_curve_dataset(folder).rows] == [
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("dataset.toml", "title =", "titel =", "title"),
        ("dataset.toml", "[axis]", "[axis", "TOML"),
        ("dataset.toml", 'facet = "load"', 'facet = "laod"', "did you mean 'load'"),
        (
            "dataset.toml",
            'mode = "alone"\nmembers',
            'mod = "alone"\nmembers',
            "'mod' is no factor",
        ),
        (
            "dataset.toml",
            'members = 2, load = "heavy", mode',
            'load = "heavy", mode',
            "sustained.0",
        ),
        ("dataset.toml", 'kind = "maximum_ratio"', 'kind = "gap_at"', "quantity.highest.at"),
        ("dataset.toml", 'kind = "maximum_ratio"', 'kind = "mean_gap"\nat = 2', "no meaning"),
        ("data.csv", "2,kept_up", "3,kept_up", "no sustained rate for members 3"),
        ("data.csv", "2,added_ms", "5,added_ms", "no curve for members 5"),
        ("data.csv", "2,highest", "2,higest", "did you mean 'highest'"),
        ("data.csv", "0.9,1.1", "1.1,0.9", "no range"),
        ("data.csv", "members,quantity", "member,quantity", "did you mean 'member'"),
        ("dataset.toml", 'members = 1, load = ["heavy", "light"], mode = "alone"',
         'members = 1, load = "light", mode = "alone"', "no curve for the baseline"),
    ],
)  # fmt: skip
def test_a_dataset_that_contradicts_itself_is_refused_with_the_way_out(
    folder, file, old, new, message
):
    change(folder, file, old, new)
    with pytest.raises(ScenarioError, match=message):
        load_curve_dataset(folder)


def test_a_dataset_is_opened_by_its_kind(folder, tmp_path):
    assert isinstance(open_dataset(folder), CurveDataset)
    assert isinstance(open_dataset(write_dataset(tmp_path / "cells")), Dataset)


def test_cells_are_not_looked_for_in_a_dataset_of_curves(folder):
    with pytest.raises(ScenarioError, match="dataset of curves"):
        load_dataset(folder)


def test_an_unknown_dataset_is_answered_with_the_nearest():
    with pytest.raises(ScenarioError, match="did you mean 'group-replication-overview'"):
        open_dataset("group-replication-overviev")


# ----------------------------------------------------------------- shipped --


def test_the_overview_states_eighteen_quantities_and_two_of_them_are_one_fit():
    dataset = load_curve_dataset("group-replication-overview")
    assert len(dataset.rows) == 18
    assert [row.quantity for row in dataset.rows if row.used_in_fit] == [
        "max_throughput_vs_standalone",
        "throughput_gap_at_each_maximum",
    ]
    assert {row.factors["members"] for row in dataset.rows if row.used_in_fit} == {2}


def test_every_point_of_the_overview_fits_its_scenario():
    dataset = load_curve_dataset("group-replication-overview")
    for curve in dataset.curves:
        base = load(curve.scenario)
        setup = setup_of(with_values(base, {**curve.settings, "workload.threads": 70}))
        assert len(setup.placement) == curve.key[list(dataset.definition.factors).index("members")]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "maximum_ratio"', 'kind = "maximum_ratio"\nup_to = 2', "no meaning for"),
        ('kind = "mean_latency_added_ms"', 'kind = "gap_at"\nat = 3', "no point in common at 3"),
        ('quantity = "highest"', 'quantity = "higest"', "no row of small/data.csv is meant"),
    ],
)
def test_what_could_not_be_computed_is_found_before_anything_is_simulated(
    folder, old, new, message
):
    change(folder, "dataset.toml", old, new)
    with pytest.raises(ScenarioError, match=message):
        load_curve_dataset(folder)
