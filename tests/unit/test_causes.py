"""Known causes of what is off: where they stand, and what is refused."""

import csv
from pathlib import Path

import pytest

from simrep.data.causes import cause_of, load_causes
from simrep.data.dataset import datasets, load_dataset
from simrep.errors import ScenarioError

DATASET = """
title = "A run"
source = "nobody"
[[metric]]
column = "tps"
result = "throughput_tps"
unit = "1/s"
label = "transactions per second"
[[metric]]
column = "mean_s"
result = "latency_s.mean"
unit = "s"
label = "mean latency"
[factors]
threads = "workload.threads"
[[series]]
name = "one"
title = "one"
scenario = "one.toml"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "dataset.toml").write_text(DATASET)
    rows = [("threads", "tps", "mean_s"), (1, 10, 0.1), (8, 20, 0.4)]
    with (tmp_path / "data.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return tmp_path


def causes(folder: Path, text: str):
    (folder / "causes.toml").write_text(text)
    return load_causes(load_dataset(folder))


def test_a_dataset_without_the_file_has_no_causes(folder):
    assert load_causes(load_dataset(folder)) == ()


def test_the_first_cause_that_is_about_a_figure_is_told(folder):
    found = causes(
        folder,
        """
        [[cause]]
        name = "narrow"
        where = { threads = [8] }
        metrics = ["mean_s"]
        text = "It waits."
        [[cause]]
        name = "wide"
        text = "All of it."
        """,
    )
    assert [cause_of(found, {"threads": n}, metric).name for n, metric in
            ((8, "mean_s"), (8, "tps"), (1, "mean_s"))] == ["narrow", "wide", "wide"]  # fmt: skip
    assert cause_of(found[:1], {"threads": 1}, "mean_s") is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("where = { thread = [8] }", r"cause.0.where: 'thread' is no factor.*'threads'"),
        ('metrics = ["mean"]', r"cause.0.metrics: 'mean' is no figure.*'mean_s'"),
        ("where = { threads = [9] }", "'off' is about no measured figure"),
        ('wherever = "x"', "wherever"),
    ],
)
def test_what_a_cause_cannot_be_about_is_refused(folder, line, message):
    with pytest.raises(ScenarioError, match=message):
        causes(folder, f'[[cause]]\nname = "off"\ntext = "Why."\n{line}\n')


def test_causes_that_ship_can_be_read():
    found = {name for name in datasets() if load_causes(load_dataset(name))}
    assert {"flow-control", "galera-reads"} <= found
