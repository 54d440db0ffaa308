"""Packs: what they hold of their fits, what calibration writes, and what ships."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from simrep.calibrate.fit import fit
from simrep.calibrate.pack_file import calibrated, data_digest, new_pack, with_range
from simrep.contract.setup import setup_of
from simrep.data.dataset import datasets, load_dataset
from simrep.errors import ScenarioError
from simrep.scenario import load
from simrep.scenario.pack import load_pack, pack_names
from tests.small_dataset import change, write_dataset

MODELS = "simrep.models"
SHIPPED = list(pack_names(MODELS))
BASE = """# A card that must survive.
[pack]
name = "mine"
model = "galera"

[costs]
statement_us = 100.0  # fitted
"""


@pytest.fixture
def dataset(tmp_path):
    folder = write_dataset(tmp_path / "small")
    (folder / "mine.toml").write_text(BASE)
    change(folder, "galera.toml", "nodes = 3", 'nodes = 3\npack = "mine.toml"')
    return load_dataset(folder)


@pytest.fixture
def result(dataset):
    return fit(dataset, parameters=["statement_us", "commit_us", "machine.slice_ms"], max_steps=2)


def test_a_calibrated_pack_holds_what_the_fit_knows(dataset, result):
    text = calibrated(BASE, dataset, result)
    (dataset.folder / "mine.toml").write_text(text)
    pack = load_pack("mine.toml", MODELS, dataset.folder)
    [found] = pack.fits
    assert (found.dataset, found.series, found.seed) == ("small", "galera", 1)
    assert found.data == data_digest(dataset)
    assert found.names == ("statement_us", "commit_us", "machine.slice_ms")
    assert pack.costs["statement_us"] == pytest.approx(result.costs["statement_us"], rel=1e-3)
    assert pack.machine.slice_ms == pytest.approx(result.costs["machine.slice_ms"], rel=1e-3)
    errors = [estimate.standard_error for estimate in result.estimates]
    expected = np.array(result.correlation) * np.outer(errors, errors)
    assert found.covariance() == pytest.approx(expected, rel=0.01, abs=2e-3)
    assert [cell.label for cell in found.cells] == [one.label for one in result.residuals]
    assert "# A card that must survive." in text
    assert "# fitted" in text


def test_the_range_is_that_of_all_cells_of_the_dataset(dataset, result):
    pack = tomllib.loads(calibrated(BASE, dataset, result))
    assert pack["range"]["clients"] == [1, 4]
    assert pack["range"]["nodes"] == [3, 3]
    assert pack["range"]["rtt_ms"] == pytest.approx([0.1, 20.1])
    assert pack["range"]["rows"] == [1, 1]


def test_a_range_grows_and_does_not_shrink():
    text = with_range(BASE, {"clients": (2.0, 8.0)})
    wider = tomllib.loads(with_range(text, {"clients": (1.0, 4.0), "nodes": (3.0, 3.0)}))
    assert wider["range"] == {"clients": [1.0, 8.0], "nodes": [3.0, 3.0]}


def test_a_fit_replaces_that_of_the_same_cells_and_joins_others(dataset, result):
    once = calibrated(BASE, dataset, result)
    assert len(tomllib.loads(calibrated(once, dataset, result))["fit"]) == 1
    other = once.replace('dataset = "small"', 'dataset = "another"')
    names = [one["dataset"] for one in tomllib.loads(calibrated(other, dataset, result))["fit"]]
    assert names == ["another", "small"]


def test_a_new_pack_begins_as_that_of_the_scenario(dataset, result):
    pack = tomllib.loads(new_pack(dataset, result, "other"))
    assert pack["pack"]["name"] == "other"
    assert pack["pack"]["source"] == "made up"
    assert pack["pack"]["fitted_on"] == "small: 2 figures of Galera"
    assert (dataset.folder / "mine.toml").read_text() == BASE


def test_without_a_pack_a_new_one_holds_what_the_scenario_says(dataset, result):
    own = "machine.cores = 7\ncosts.apply_us = 33.0"
    change(dataset.folder, "galera.toml", 'pack = "mine.toml"', own)
    text = new_pack(dataset, result, "other")
    (dataset.folder / "other.toml").write_text(text)
    pack = load_pack("other.toml", MODELS, dataset.folder)
    assert pack.card.model == "galera"
    assert pack.machine.cores == 7
    assert pack.costs["apply_us"] == 33.0
    assert pack.costs["commit_us"] == pytest.approx(result.costs["commit_us"], rel=1e-3)


def test_a_pack_of_another_model_is_left_alone(dataset, result):
    change(dataset.folder, "mine.toml", '"galera"', '"asynchronous"')
    pack = tomllib.loads(new_pack(dataset, result, "other"))
    assert pack["pack"]["model"] == "galera"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("correlation = [", "correlation = [0.5, ", "costs.0.correlation: has 1 numbers, needs 0"),
        ('known = "', 'known = "un', "known"),
        ("noise = ", "noise = -", "noise: must be at least 0"),
        ("clients = [1.0, 4.0]", "clients = [4.0, 1.0]", r"range.clients: must be \[lowest, hi"),
        ("clients = [1.0, 4.0]", "clients = 4", r"range.clients: must be \[lowest, highest\]"),
        ("[range]\n", "[range]\ncleints = [1, 2]\n", "did you mean 'clients'"),
    ],
)
def test_a_pack_that_contradicts_itself_is_refused(dataset, result, old, new, message):
    text = calibrated(BASE, dataset, result)
    assert old in text
    (dataset.folder / "mine.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(ScenarioError, match=message):
        load_pack("mine.toml", MODELS, dataset.folder)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_pack_is_whole(name):
    pack = load_pack(name, MODELS)
    assert pack.card.name == name
    assert pack.validated.nodes is not None
    assert (Path(__file__).parents[2] / "models" / "packs" / f"{name}.md").is_file()
    for found in pack.fits:
        dataset = load_dataset(found.dataset)
        assert found.data == data_digest(dataset), "the data have changed since the fit"
        assert np.linalg.eigvalsh(found.covariance()).min() > -1e-4
        for cost in found.names:
            table = pack.machine if cost.startswith("machine.") else pack.costs
            name = cost.removeprefix("machine.")
            assert (table[name] if isinstance(table, dict) else getattr(table, name)) is not None


def test_every_run_of_a_shipped_dataset_lies_in_the_range_of_its_pack():
    from simrep.runs.prediction import extrapolation
    from simrep.scenario import with_values

    seen = 0
    for name in datasets():
        dataset = load_dataset(name)
        for series in dataset.definition.series:
            base = load(dataset.scenario_path(series))
            for cell in (*dataset.cells[series.name], *dataset.simulated[series.name]):
                setup = setup_of(with_values(base, cell.settings))
                assert extrapolation(setup) == "", f"{name} {series.name}"
                seen += setup.pack is not None
    assert seen > 100
