"""How well the shipped packs meet the measured cells that no cost was fitted to.

The predictions are those of the scoreboard (``make scoreboard``), and one cell of each kind is
predicted again. Seeds are fixed, so these are no chance alarms: a change that moves an error beyond
its limit has to be looked at, and told in the changelog. Where the limits leave out a number of
threads it is known to be off, see docs/explanation/accuracy.md; better would have to be told, too.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from statistics import median
from typing import Any

import pytest

from simrep.data.dataset import load_dataset
from simrep.data.reproduce import reproduce
from tests.interpreters import ROOT

Cell = dict[str, Any]


@cache
def stored(name: str) -> dict[str, Any]:
    """What the scoreboard holds of a dataset."""
    path = ROOT / "docs" / "validation" / f"{name}.json"
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def cells(name: str) -> list[Cell]:
    """The predicted cells of a dataset."""
    return [cell for cell in stored(name)["cells"] if not cell["used_in_fit"]]


def errors(name: str, series: str | None = None) -> dict[int, list[float]]:
    """Relative errors of the predicted cells, by number of threads."""
    found: dict[int, list[float]] = {}
    for cell in cells(name):
        if series in {None, cell["series"]}:
            found.setdefault(int(cell["factors"]["threads"]), []).append(cell["relative_error"])
    return found


def typical(found: dict[int, list[float]]) -> float:
    return median(abs(error) for each in found.values() for error in each)


def largest(found: dict[int, list[float]]) -> float:
    return max(abs(error) for each in found.values() for error in each)


def test_the_published_wan_table_galera() -> None:
    found = errors("wan-concurrency", "pxc")
    assert typical(found) <= 0.07
    assert all(-0.32 < error < -0.10 for error in found.pop(64))
    assert largest(found) <= 0.22


def test_the_published_wan_table_group_replication() -> None:
    found = errors("wan-concurrency", "group_replication")
    assert typical(found) <= 0.06
    assert largest(found) <= 0.24


def test_the_cells_of_our_own_galera() -> None:
    found = errors("galera-rig")
    assert typical(found) <= 0.06
    assert largest(found) <= 0.15


def test_the_cells_of_our_own_group_replication() -> None:
    found = errors("group-replication-rig")
    assert typical(found) <= 0.08
    assert all(0.05 < error < 0.35 for error in found.pop(16) + found.pop(64))
    assert largest(found) <= 0.15


def test_the_tail_of_our_own_group_replication() -> None:
    found = errors("group-replication-rig-p95")
    found.pop(64)
    assert largest(found) <= 0.17


def test_other_layouts_of_group_replication() -> None:
    assert typical(errors("group-replication-topologies")) <= 0.06


def test_semi_synchronous_replication_of_our_own() -> None:
    found = [
        cell["relative_error"]
        for cell in cells("semisync-rig")
        if cell["series"] == "mysql"
        and cell["factors"]["variant"] == "AFTER_SYNC"
        and cell["factors"]["egress_delay_ms"] == 50
    ]
    assert len(found) == 6
    assert max(map(abs, found)) <= 0.04


def test_semi_synchronous_replication_as_published() -> None:
    for dataset in ("semisync-wan", "semisync-wan-single", "semisync-wan-p95"):
        assert max(abs(cell["relative_error"]) for cell in cells(dataset)) <= 0.07


def test_a_large_transaction_as_published() -> None:
    found = {
        (cell["metric"], cell["factors"]["fragment_bytes"]): cell["relative_error"]
        for cell in cells("streaming-large-transaction")
    }
    for size in (10_000, 1_000_000):  # not fitted
        assert abs(found["execution_s", size]) <= 0.15
        assert abs(found["payload_tps_during", size]) <= 0.20
        assert abs(found["fragments", size]) <= 0.01


def test_a_large_transaction_of_our_own() -> None:
    chosen = [
        cell
        for cell in stored("streaming-rig-repeated")["cells"]
        if cell["factors"]["payload"] == "n1"
        and cell["metric"] in {"update_s", "visible_n2_s"}
        and (cell["factors"]["egress_delay_ms"], cell["factors"]["fragment_size"])
        in {(0, 10_240), (0, 1_048_576), (10, 1_048_576)}
    ]
    assert len(chosen) == 6
    assert max(abs(cell["relative_error"]) for cell in chosen) <= 0.15


@pytest.mark.parametrize(
    ("name", "series", "position"),
    [
        ("wan-concurrency", "pxc", 0),
        ("wan-concurrency", "group_replication", 0),
        ("galera-rig", "galera", 0),
        ("group-replication-rig", "group_replication", 0),
        ("group-replication-rig-p95", "group_replication", 0),
        ("group-replication-topologies", "five-equidistant", 0),
        ("semisync-rig", "mysql", -1),
        ("semisync-rig", "mariadb", -1),
        ("semisync-wan", "semisync_57", 0),
        ("semisync-wan-single", "pxc_2colo", 0),
        ("semisync-wan-p95", "semisync_57", 0),
    ],
)
def test_what_is_on_the_scoreboard_is_what_is_predicted(
    name: str, series: str, position: int
) -> None:
    dataset, content = load_dataset(name), stored(name)
    cell = dataset.cells[series][position]
    few = replace(dataset, cells=dict.fromkeys(dataset.cells, ()) | {series: (cell,)})
    predicted = reproduce(few, replications=content["replications"], seed=content["seed"]).cells
    assert predicted
    for one in predicted:
        [kept] = (
            kept["predicted"]
            for kept in content["cells"]
            if (kept["series"], kept["metric"], kept["factors"])
            == (one.series, one.metric, dict(one.factors))
        )
        assert one.predicted == pytest.approx(kept, rel=1e-6), "run make scoreboard"
