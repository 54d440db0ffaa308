"""A comparison as a table for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simrep.measure.confidence import Interval
from simrep.measure.units import number
from simrep.whatif.verdict import name_of, value_text

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from simrep.whatif.comparison import Compared, Comparison

__all__ = ["tables"]

_NOTHING = 1.3  # a gain below it is hardly one


def tables(comparison: Comparison) -> Group:
    """The verdict, a row per figure, and what the intervals rest on."""
    from rich.console import Group
    from rich.text import Text

    a, b = comparison.labels
    return Group(
        Text(f"{a} and {b}, seed {comparison.seed}, {comparison.pairs} pairs", style="bold"),
        _table(comparison),
        Text(comparison.verdict),
        Text("\n" + _closing(comparison)),
    )


def _table(comparison: Comparison) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("figure")
    a, b = comparison.labels
    level = f"{100.0 * comparison.confidence:.3g} %"
    for name in (a, b, f"{b} - {a}", f"{level} interval", f"{b} / {a}", f"{level} interval", ""):
        table.add_column(name, justify="right")
    for one in comparison.figures.values():
        table.add_row(*_cells(one))
    return table


def _cells(one: Compared) -> list[str]:
    def text(value: float) -> str:
        return value_text(one.figure, value)

    apart = one.difference
    cells = [name_of(one.figure), text(one.a.mean), text(one.b.mean), text(apart.mean)]
    cells.append(f"{text(apart.low)} .. {text(apart.high)}")
    cells += ["", ""] if one.ratio is None else [number(one.ratio.mean), _ends(one.ratio)]
    cells.append("" if one.different else "none seen")
    return cells


def _ends(ratio: Interval) -> str:
    return f"{number(ratio.low)} .. {number(ratio.high)}"


def _closing(comparison: Comparison) -> str:
    lines = ["Both have the same random numbers, pair by pair."]
    first = next(iter(comparison.figures.values()), None)
    if first is not None and first.gain is not None:
        alone = first.gain * comparison.pairs
        saved = "as precise as about {} independent replications of each"
        if first.gain < _NOTHING:
            saved = "that saves next to nothing here: the two soon go ways of their own"
        lines.append(f"For the {name_of(first.figure)}, {saved.format(number(alone, 2))}.")
    if not comparison.complete:
        lines.append("Interrupted: pairs are missing.")
    return "\n".join(lines)
