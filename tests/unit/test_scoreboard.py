"""The scoreboard: its pages follow from what was predicted, and that from the data."""

import importlib.util
import json
from pathlib import Path

import pytest

from simrep.data.dataset import datasets, load_dataset

ROOT = Path(__file__).parents[2]


@pytest.fixture
def generator():
    spec = importlib.util.spec_from_file_location(
        "generate_scoreboard", ROOT / "docs" / "generate_scoreboard.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_are_current(generator):
    for file, content in generator.pages().items():
        assert file.read_text(encoding="utf-8") == content, (
            f"{file.name} is out of date: run python docs/generate_scoreboard.py --pages"
        )


def test_every_page_belongs_to_a_dataset(generator):
    assert {path.stem for path in generator.BOARD.glob("*.json")} == set(datasets())
    assert {path.stem for path in generator.BOARD.glob("*.md")} == {
        "index",
        *(path.stem for path in generator.BOARD.glob("*.json")),
    }


@pytest.mark.parametrize(
    "name", [name for name in datasets() if load_dataset(name).definition.metrics]
)
def test_what_was_predicted_is_what_is_in_the_data(generator, name):
    content = json.loads((generator.BOARD / f"{name}.json").read_text(encoding="utf-8"))
    predicted = {
        (one["series"], one["metric"], str(one["factors"])): one["measured"]
        for one in content["cells"]
    }
    dataset = load_dataset(name)
    assert predicted == {
        (series, metric.column, str(dict(cell.factors))): cell.values[metric.column]
        for series, cells in dataset.cells.items()
        for cell in cells
        for metric in dataset.definition.metrics
        if metric.column in cell.values
    }


def test_a_page_and_a_row_are_written_from_a_prediction(generator, monkeypatch, tmp_path):
    monkeypatch.setattr(generator, "BOARD", tmp_path)
    content = generator.predict("semisync-wan-p95", None)
    (tmp_path / "semisync-wan-p95.json").write_text(json.dumps(content))
    generator.draw()
    assert (tmp_path / "semisync-wan-p95.png").stat().st_size > 5_000
    written = generator.pages()
    page, index = written[tmp_path / "semisync-wan-p95.md"], written[tmp_path / "index.md"]
    [cell] = content["cells"]
    row = next(line for line in page.splitlines() if line.startswith("| 0.112 "))
    assert f"{100 * cell['relative_error']:+.1f} %" in row
    assert "![" in page
    assert "published/semisync-wan-p95/data.csv" in page
    assert index.count("semisync-wan-p95.md") == 1
    assert f"| 1 | {100 * abs(cell['relative_error']):.1f} % |" in index


def test_what_was_measured_of_failures_is_what_is_in_the_data(generator):
    for name in datasets():
        dataset = load_dataset(name)
        if dataset.definition.failures is None:
            continue
        content = json.loads((generator.BOARD / f"{name}.json").read_text(encoding="utf-8"))
        shown = {
            (one["series"], str(one["factors"]), one["metric"]): tuple(one["measured"])
            for one in content["failures"]
        }
        assert shown == {
            (cell.series, str(dict(cell.factors)), metric): values
            for cell in dataset.failures
            for metric, values in cell.values.items()
        }


def test_what_is_far_off_has_a_named_cause(generator):
    results = [content for name in datasets() if (content := generator._stored(name))]
    found = generator.far_off(results)
    nameless = [f"{name}: {cell.metric} {dict(cell.factors)}" for name, cell, cause in found
                if cause is None]  # fmt: skip
    assert not nameless, "name the cause in causes.toml beside the dataset"
    index = (generator.BOARD / "index.md").read_text(encoding="utf-8")
    for name, _, cause in found:
        assert f"[{cause.name}]({name}.md#known-causes)" in index


def test_a_cause_stands_beside_the_figure_and_in_the_index(generator):
    content = generator._stored("galera-reads")
    for cell in content["cells"]:
        cell["relative_error"] = 9.0 if cell["metric"] == "inserts" else 0.0
    page = list(generator._page(content))
    [row] = [line for line in page if "| 5,470 |" in line]
    assert row.endswith("| other work |")
    assert any(line.startswith("- **other work**: ") for line in page)
    told = [line for line in generator._farthest([content]) if "`inserts`" in line]
    assert sorted(line.rsplit("| ", 1)[1] for line in told) == [
        "[other work](galera-reads.md#known-causes) |", "not known |", "not known |",
    ]  # fmt: skip
