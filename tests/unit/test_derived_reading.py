"""Derived metrics: what is read of them from the folder of a dataset, and the format before."""

from itertools import chain

import pytest

from simrep.contract.setup import setup_of
from simrep.data.dataset import load_dataset
from simrep.errors import DatasetWarning, ScenarioError
from simrep.scenario import load, with_values
from tests.small_dataset import ROWS as CELLS
from tests.small_dataset import change, write_dataset, write_rows
from tests.small_derived import CURVES, write_derived


@pytest.fixture
def folder(tmp_path):
    return write_derived(tmp_path / "small")


def declare(folder, old, new):
    change(folder, "dataset.toml", old, new)


def test_every_combination_of_values_is_a_cell_with_its_settings(folder):
    simulated = load_dataset(folder).simulated
    assert [len(cells) for cells in simulated.values()] == [6, 12]
    settings = {tuple(cell.factors.values()): cell.settings for cell in simulated["replicated"]}
    assert settings["replicated", 3, 4, "heavy"] == {"cluster.nodes": 3, "workload.threads": 4}
    assert settings["replicated", 3, 4, "light"] == {
        "cluster.nodes": 3,
        "workload.threads": 4,
        "cluster.costs.statement_us": 500.0,
    }


def test_systems_have_values_of_their_own(folder):
    declare(folder, '= [2, 3]\nload = ["heavy", "light"]\nclients = [1, 2, 4]',
            '= [2, 3]\nload = ["heavy", "light"]\nclients = [4, 8]')  # fmt: skip
    places = load_dataset(folder).systems.places
    assert places["replicated", 2, "heavy"] == [4, 8]
    assert places["alone", 1, "heavy"] == [1, 2, 4]


def test_a_row_about_several_systems_is_about_each_of_them(folder):
    rows = load_dataset(folder).stated
    assert [len(row.groups) for row in rows] == [1, 2, 1, 1]
    assert rows[1].groups == ((("replicated", 2, "heavy"),), (("replicated", 3, "heavy"),))


def test_a_row_about_a_mean_has_all_of_it_in_one_group(folder):
    [group] = load_dataset(folder).stated[3].groups
    assert group == (("replicated", 2, "heavy"), ("replicated", 2, "light"))


def test_a_drop_from_first_to_last_is_one_statement_about_all(folder):
    declare(folder, 'highest = { kind = "maximum_ratio" }',
            'highest = { kind = "maximum_ratio_drop" }')  # fmt: skip
    [group] = load_dataset(folder).stated[1].groups
    assert group == (("replicated", 2, "heavy"), ("replicated", 3, "heavy"))


def test_the_baseline_of_a_system_shares_the_other_factors(folder):
    systems = load_dataset(folder).systems
    assert systems.baseline(("replicated", 3, "light")) == ("alone", 1, "light")


def test_rows_know_whether_a_fit_has_seen_them(folder):
    fitted = [row.used_in_fit for row in load_dataset(folder).stated]
    assert fitted == [True, False, False, False]


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("dataset.toml", "title =", "titel =", "title"),
        ("dataset.toml", "[derived]", "[derived", "TOML"),
        ("dataset.toml", 'along = "clients"', 'along = "cliens"', "did you mean 'clients'"),
        ("dataset.toml", '{ mode = "alone", m', '{ mod = "alone", m', "'mod' is no factor"),
        ("dataset.toml", 'members = 2\nload = "heavy"', "members = 2", "replicated.sustained.0"),
        ("dataset.toml", 'kind = "maximum_ratio"', 'kind = "gap_at"', "metric.highest.at"),
        ("dataset.toml", 'kind = "maximum_ratio"', 'kind = "mean_gap", at = 2', "no meaning"),
        ("data.csv", "2,kept_up", "3,kept_up", "no sustained rate for mode replicated, members 3"),
        ("data.csv", "2,added_ms", "5,added_ms", "no cell for mode replicated, members 5"),
        ("data.csv", "2,highest", "2,higest", "did you mean 'highest'"),
        ("data.csv", "0.9,1.1", "1.1,0.9", "no range"),
        ("data.csv", "1,ms", "1,s", "unit 's' does not fit mean_latency_added_ms.*'ms'"),
        ("data.csv", "members,quantity", "member,quantity", "did you mean 'member'"),
        ("dataset.toml", 'members = 1\nload = ["heavy", "light"]', 'members = 1\nload = "light"',
         "no cell for the baseline"),
        ("dataset.toml", 'load = "heavy"', 'load = "heavy"\nclients = 1', "needs a value for each"),
        ("dataset.toml", "clients = [1, 2, 4]", 'clients = ["few"]', "must be numbers"),
        ("dataset.toml", 'at.light = { "cluster.costs.statement_us" = 500.0 }', "",
         "factors.load.path: is required"),
    ],
)  # fmt: skip
def test_a_dataset_that_contradicts_itself_is_refused_with_the_way_out(
    folder, file, old, new, message
):
    change(folder, file, old, new)
    with pytest.raises(ScenarioError, match=message):
        load_dataset(folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "maximum_ratio"', 'kind = "maximum_ratio", up_to = 2', "no meaning for"),
        ('["highest"]', '["higest"]', "no row of small/data.csv is meant"),
    ],
)
def test_what_could_not_be_computed_is_found_before_anything_is_simulated(
    folder, old, new, message
):
    declare(folder, old, new)
    with pytest.raises(ScenarioError, match=message):
        load_dataset(folder)


def test_a_place_that_only_one_of_two_systems_has_is_told(folder):
    declare(folder, '{ kind = "maximum_ratio" }', '{ kind = "gap_at", at = 3 }')
    with pytest.raises(ScenarioError, match="no clients in common at 3"):
        load_dataset(folder)


def test_cells_and_derived_metrics_may_be_in_one_dataset(tmp_path):
    folder = write_dataset(tmp_path / "small")
    declare(
        folder,
        "[factors]\n",
        """[derived]
along = "threads"
baseline = { delay_ms = 0.05 }
metric.highest = { kind = "maximum_ratio" }

[factors]
""",
    )
    empty = [(*row, "", "", "", "") for row in CELLS]
    rows = [*empty, ("galera", 20, "", "", "highest", 0.1, 0.2, "ratio")]
    write_rows(folder, rows, "quantity", "low", "high", "unit")
    dataset = load_dataset(folder)
    assert len(dataset.cells["galera"]) == 4
    assert [row.groups for row in dataset.stated] == [((("galera", 20),),)]
    assert dataset.systems.places == {("galera", 0.05): [1, 4], ("galera", 20): [1, 4]}


def test_two_series_cannot_simulate_the_same_system(folder):
    declare(folder, 'where = { mode = "replicated" }', 'where = { mode = "alone" }')
    declare(folder, "members = [2, 3]", "members = [1, 2]")
    with pytest.raises(ScenarioError, match="two cells are mode alone, members 1, clients 1"):
        load_dataset(folder)


def test_cells_to_simulate_need_a_derived_metric(tmp_path):
    folder = write_dataset(tmp_path / "small")
    change(folder, "dataset.toml", 'scenario = "', 'simulate = [{}]\nscenario = "')
    with pytest.raises(ScenarioError, match="is for derived metrics"):
        load_dataset(folder)


# ------------------------------------------------------- the format before --


@pytest.fixture
def curves(tmp_path):
    return write_derived(tmp_path / "curves", CURVES)


def test_tables_of_curves_are_read_as_derived_metrics(folder, curves):
    new = load_dataset(folder)
    with pytest.warns(DatasetWarning, match="one more minor release"):
        old = load_dataset(curves)
    for ours, theirs in ((new.simulated, old.simulated), (new.sustained, old.sustained)):
        found = [
            sorted((sorted(cell.factors.items()), cell.settings) for cell in chain(*cells.values()))
            for cells in (ours, theirs)
        ]
        assert found[0] == found[1]
    assert [(row.quantity, row.low, row.used_in_fit) for row in old.stated] == [
        (row.quantity, row.low, row.used_in_fit) for row in new.stated
    ]
    assert old.definition.derived == new.definition.derived


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[axis]", "[axes]", "axis: is required"),
        ('name = "clients"', 'name = "load"', "'load' is a factor"),
        ('members = 2, load = "heavy", mode', 'load = "heavy", mode', r"sustained\.0\.factors"),
        ("[[fit_where]]", "[[fit_where]]\nmembers = 3\n\n[[fit_where]]", "every combination"),
        ('kind = "maximum_ratio"', 'kind = "gap_at"', "metric.highest.at"),
        ('quantity = "highest"', 'quantity = "higest"', "no row of curves/data.csv is meant"),
    ],
)  # fmt: skip
def test_mistakes_in_tables_of_curves_are_told(curves, old, new, message):
    change(curves, "dataset.toml", old, new)
    with (
        pytest.warns(DatasetWarning, match="tables of curves"),
        pytest.raises(ScenarioError, match=message),
    ):
        load_dataset(curves)


# ----------------------------------------------------------------- shipped --


def test_the_overview_states_eighteen_quantities_and_two_of_them_are_one_fit():
    dataset = load_dataset("group-replication-overview")
    assert len(dataset.stated) == 18
    assert [row.quantity for row in dataset.stated if row.used_in_fit] == [
        "max_throughput_vs_standalone",
        "throughput_gap_at_each_maximum",
    ]
    assert {row.factors["members"] for row in dataset.stated if row.used_in_fit} == {2}


def test_every_point_of_the_overview_fits_its_scenario():
    dataset = load_dataset("group-replication-overview")
    for series in dataset.definition.series:
        base = load(dataset.scenario_path(series))
        for cell in dataset.simulated[series.name]:
            setup = setup_of(with_values(base, cell.settings))
            assert len(setup.placement) == cell.factors["members"]
