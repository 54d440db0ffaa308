"""How the cells of a dataset are laid out: as curves, as rows, or as a cloud of points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from simrep.data.cells import Cell
from simrep.data.definition import Definition
from simrep.measure.units import describe
from simrep.printable import shorten

__all__ = ["SERIES", "Arrangement", "Key", "arrange", "by_size", "figures_span", "spoken",
           "value_of"]  # fmt: skip

SERIES = "series"
_LEAST_POINTS = 3  # of a curve
_MOST_LINES, _MOST_PANELS = 6, 8
_MOST_ROWS = 160  # beyond them, a page of rows cannot be read
_FEW_ROWS = 24  # may stand below curves

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Arrangement:
    """Which cells are points of curves, and which are rows.

    Attributes
    ----------
    x : str
        Factor across of the curves.
    line, panel : tuple of str
        Factors whose values make the curves of a panel, and the panels.
    curves : mapping
        Cells by panel and curve, from left to right.
    block, row : tuple of str
        Factors whose values make the blocks of rows, and the rows of a block.
    rows : mapping
        Cells by block.
    cloud : tuple of Cell
        All cells, where they are too many for rows.
    titles : mapping of str to str
        Names of series for people.
    """

    x: str
    line: tuple[str, ...]
    panel: tuple[str, ...]
    curves: Mapping[Key, Mapping[Key, Sequence[Cell]]]
    block: tuple[str, ...]
    row: tuple[str, ...]
    rows: Mapping[Key, Sequence[Cell]]
    cloud: tuple[Cell, ...]
    titles: Mapping[str, str]

    def title(self, names: Sequence[str], key: Key) -> str:
        """What the values of several factors are called."""
        parts = [
            self.titles.get(str(value), str(value)) if name == SERIES else spoken(name, value)
            for name, value in zip(names, key, strict=True)
        ]
        return ", ".join(filter(None, parts)) or ("default" if names else "")


def arrange(cells: Sequence[Cell], definition: Definition) -> Arrangement:
    """Curves of those cells that make some of three points or more, rows of the others.

    Without enough curves for a picture of their own, or with too many for its panels, all cells
    are rows. More rows than a page holds are a cloud.
    """
    show = definition.show
    names = _needed(cells, [SERIES, *([show.by] if show.by else []), show.x, *definition.factors])
    titles = {series.name: series.title for series in definition.series}
    panel, line, curves = _curves(
        cells, show.x, show.by, [name for name in names if name != show.x]
    )
    drawn = {id(cell) for own in curves.values() for each in own.values() for cell in each}
    rest = [cell for cell in cells if id(cell) not in drawn]
    if len(rest) > min(_FEW_ROWS, len(drawn) / 3):
        curves, rest = {}, list(cells)
    cloud: tuple[Cell, ...] = ()
    if len(rest) > _MOST_ROWS:
        rest, cloud = [], tuple(cells)
    block, row, rows = _blocks(rest, names)
    return Arrangement(show.x, line, panel, curves, block, row, rows, cloud, titles)


def by_size(key: Iterable[Any]) -> list[tuple[int, float, str]]:
    """Numbers by value and before texts."""
    return [
        (0, float(part), "") if isinstance(part, (int, float)) else (1, 0.0, str(part))
        for part in key
    ]


def figures_span(cells: Iterable[Cell]) -> tuple[float, float]:
    """The lowest and the highest figure, with intervals as far as they do not dwarf all figures."""
    cells = list(cells)
    figures = [x for cell in cells for x in (cell.measured, cell.predicted) if isfinite(x)]
    low, high = min(figures), max(figures)
    ends = [end for cell in cells for end in cell.interval or ()]
    near = [end for end in ends if (low / 2 if low > 0 else 0.0) <= end <= 2 * high]
    return min([low, *near]), max([high, *near])


def spoken(name: str, value: Any) -> str:
    """A value with what it needs to be understood; nothing where the factor has none.

    >>> spoken("egress_delay_ms", 50), spoken("layout", "lan"), spoken("threads", "")
    ('egress delay 50 ms', 'layout lan', '')
    """
    if value == "":
        return ""
    text = f"{value:,.10g}" if isinstance(value, (int, float)) else shorten(str(value))
    what, _, unit = describe(name).partition(" (")
    return f"{shorten(what)} {text} {unit.rstrip(')')}".rstrip()


def value_of(cell: Cell, name: str) -> Any:
    """The value of a factor, or the series of a cell."""
    return cell.series if name == SERIES else cell.factors.get(name, "")


def _key(cell: Cell, names: Iterable[str]) -> Key:
    return tuple(value_of(cell, name) for name in names)


def _needed(cells: Sequence[Cell], names: Iterable[str]) -> list[str]:
    """As few factors as keep all cells apart that differ, the first ones rather than the last."""
    every = [n for n in dict.fromkeys(names) if len({value_of(cell, n) for cell in cells}) > 1]
    count = len({_key(cell, every) for cell in cells})
    for name in reversed([name for name in every if name != SERIES]):
        others = [other for other in every if other != name]
        if len({_key(cell, others) for cell in cells}) == count:
            every = others
    return every


def _curves(
    cells: Sequence[Cell], x: str, by: str | None, others: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...], dict[Key, dict[Key, list[Cell]]]]:
    """Factors of panels and of their curves, and the cells in them; none if they do not fit."""
    whole: dict[Key, list[Cell]] = {}
    for cell in cells:
        if isinstance(value_of(cell, x), (int, float)):
            whole.setdefault(_key(cell, others), []).append(cell)
    long = [
        own
        for own in whole.values()
        if len({value_of(cell, x) for cell in own}) == len(own) >= _LEAST_POINTS
    ]
    chosen = [cell for own in long for cell in own]
    varied = [n for n in others if len({value_of(cell, n) for cell in chosen}) > 1]
    # The factor of the dataset, the one with most levels that fit, at last none at all.
    levels = {name: len({value_of(cell, name) for cell in chosen}) for name in varied}
    fit = sorted((n for n in varied if levels[n] <= _MOST_LINES), key=lambda n: -levels[n])
    for line in [*([by] if by in fit else []), *fit, None]:
        lines = () if line is None else (line,)
        panels = tuple(name for name in others if name in varied and name != line)
        found: dict[Key, dict[Key, list[Cell]]] = {}
        for own in long:
            places = found.setdefault(_key(own[0], panels), {})
            places[_key(own[0], lines)] = sorted(own, key=lambda cell: float(value_of(cell, x)))
        if len(found) <= _MOST_PANELS and sum(map(len, found.values())) == len(long):
            return panels, lines, found
    return (), (), {}


def _blocks(
    cells: Sequence[Cell], names: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...], dict[Key, list[Cell]]]:
    """Blocks by the first factors, as many as leave several rows in most blocks.

    Factors that have one value here and others elsewhere are named in the heads of all blocks.
    """
    same = [n for n in names if len({value_of(cell, n) for cell in cells}) == 1]
    varied = [n for n in names if len({value_of(cell, n) for cell in cells}) > 1]
    counts = (
        n for n in (2, 1) if len(cells) >= 3 * len({_key(cell, varied[:n]) for cell in cells})
    )
    count = next(counts, 0)
    found: dict[Key, list[Cell]] = {}
    for cell in cells:
        found.setdefault(_key(cell, (*varied[:count], *same)), []).append(cell)
    return (*varied[:count], *same), tuple(varied[count:]), found
