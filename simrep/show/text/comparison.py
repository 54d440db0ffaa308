"""A comparison as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group
from rich.text import Text

from simrep.measure.confidence import Interval
from simrep.measure.units import number
from simrep.show.text.layout import closing, table, title
from simrep.show.views import tables
from simrep.whatif.comparison import Compared, Comparison, name_of, value_text

_NOTHING = 1.3  # a gain below it is hardly one


@tables.register(Comparison)
def comparison_tables(comparison: Comparison) -> Group:
    """The verdict, a row per figure, and what the intervals rest on."""
    a, b = comparison.labels
    level = f"{100.0 * comparison.confidence:.3g} % interval"
    heads = ("figure", a, b, f"{b} - {a}", level, f"{b} / {a}", level, "")
    return Group(
        title(f"{a} and {b}, seed {comparison.seed}, {comparison.pairs} pairs"),
        table(heads, rows=map(_cells, comparison.figures.values())),
        Text(comparison.verdict),
        closing(_notes(comparison), missing="" if comparison.complete else "pairs are missing"),
    )


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


def _notes(comparison: Comparison) -> Iterator[str]:
    yield ""
    yield "Both have the same random numbers, pair by pair."
    first = next(iter(comparison.figures.values()), None)
    if first is not None and first.gain is not None:
        alone = first.gain * comparison.pairs
        saved = f"as precise as about {number(alone, 2)} independent replications of each"
        if first.gain < _NOTHING:
            saved = "that saves next to nothing here: the two soon go ways of their own"
        yield f"For the {name_of(first.figure)}, {saved}."
