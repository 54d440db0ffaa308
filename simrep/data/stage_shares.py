"""Where the time goes in the measured systems of a dataset, and in their variants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simrep.contract.setup import setup_of
from simrep.measure.breakdown import Breakdown
from simrep.measure.units import duration
from simrep.runs.replication import simulate
from simrep.runs.result import Result
from simrep.scenario import Scenario, load, with_values

if TYPE_CHECKING:
    from rich.table import Table

    from simrep.data.dataset import Dataset

__all__ = ["breakdown_table", "breakdowns"]


def breakdowns(dataset: Dataset, seed: int) -> dict[str, Breakdown]:
    """The mean latency by stage, of one replication of the last cell of every series.

    Parameters
    ----------
    dataset : Dataset
    seed : int

    Returns
    -------
    dict
        By the name of the series, and of the variant if it is one.
    """
    found: dict[str, Breakdown] = {}
    for series in dataset.definition.series:
        base = load(dataset.scenario_path(series))
        cell = dataset.cells[series.name][-1]
        found[series.name] = _of(base, cell.settings, seed)
        for variant in series.what_if:
            settings = {**variant.set, **cell.settings}
            found[f"{series.name}, {variant.name}"] = _of(base, settings, seed)
    return found


def _of(base: Scenario, settings: Mapping[str, Any], seed: int) -> Breakdown:
    return Result.combine([simulate(setup_of(with_values(base, settings)), seed)]).breakdown()


def breakdown_table(found: dict[str, Breakdown]) -> Table:
    """Stages down, systems across."""
    from rich import box
    from rich.table import Table

    table = Table(title="Where the time of a transaction goes", title_justify="left")
    table.box, table.pad_edge = box.SIMPLE_HEAD, False
    table.add_column("stage")
    for name in found:
        table.add_column(name, justify="right")
    stages = [stage for each in found.values() for stage in each.stages]
    order = sorted(dict.fromkeys(stages), key=lambda stage: _place(stage, found))
    for stage in order:
        times = (each.stages.get(stage) for each in found.values())
        table.add_row(stage, *("" if time is None else duration(time) for time in times))
    table.add_section()
    table.add_row("latency", *(duration(each.latency_s) for each in found.values()))
    return table


def _place(stage: str, found: dict[str, Breakdown]) -> int:
    """Where a transaction comes to a stage, at the latest in any of the systems."""
    return max(list(each.stages).index(stage) for each in found.values() if stage in each.stages)
