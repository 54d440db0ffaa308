"""Sensitivity as a table for a terminal, and what follows from it in words."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from rich.console import Group
from rich.table import Table

from simrep.measure.units import duration, number, unit_of
from simrep.show.text.layout import closing, table, title
from simrep.show.views import tables
from simrep.whatif.sensitivity.result import Effect, Sensitivity

__all__ = ["range_text", "short"]

_SMALL = 1.1  # factors below are told by a digit more
_MOSTLY = 0.8  # of a direction: what is above is called so


@tables.register(Sensitivity)
def sensitivity_tables(found: Sensitivity) -> Group:
    """A row per number, and the verdict."""
    name = f"{found.title}: " if found.title else ""
    heading = f"{name}what moves {found.of} ({figure_text(found, found.base)})"
    missing = "" if found.complete else "fewer points than asked for"
    notes = closing([*_verdict(found), "", *_notes(found)], missing=missing)
    return Group(title(heading), _effects(found), notes)


def _effects(found: Sensitivity) -> Table:
    heads = ("number", "range", "at its low end", "at its high end", "effect", "95 %", "alone", "")
    effects = table(heads, "lrrrrrrl")
    for one in found.effects:
        effects.add_row(
            short(one.path),
            range_text(one),
            figure_text(found, one.at_low),
            figure_text(found, one.at_high),
            _effect_text(found, one.effect),
            f"{_effect_text(found, one.interval[0])} .. {_effect_text(found, one.interval[1])}",
            f"{one.alone:.0%}",
            _remark(one),
            style=None if one.above_chance else "dim",
        )
    return effects


def short(path: str) -> str:
    """A path as people say it: costs by their name."""
    return path.removeprefix("cluster.costs.").removeprefix("cluster.options.")


def range_text(one: Effect) -> str:
    """The range of a number."""
    return f"{number(one.low, 2)} .. {number(one.high, 2)}"


def figure_text(found: Sensitivity, value: float) -> str:
    """A value of the figure, with its unit."""
    unit = unit_of(found.of)
    if unit == "s":
        return duration(value)
    return f"{number(value)}/s" if unit == "1/s" else number(value)


def _effect_text(found: Sensitivity, effect: float) -> str:
    if found.method == "sobol":
        return f"{100.0 * effect:.0f} %"
    if found.scale == "difference":
        return figure_text(found, effect)
    return f"x {number(effect, 4 if effect < _SMALL else 3)}"


def _remark(one: Effect) -> str:
    if not one.above_chance:
        return "chance?"
    if not isfinite(one.direction):
        return ""
    if one.direction > _MOSTLY:
        return "raises"
    return "lowers" if one.direction < -_MOSTLY else "both ways"


def _verdict(found: Sensitivity) -> Iterator[str]:
    """What to make of it, in sentences."""
    sure = [one for one in found.effects if one.above_chance]
    if not sure:
        yield f"Nothing that was varied moves {found.of} more than chance does."
    else:
        first, *others = sure
        yield f"{short(first.path)} moves it most: {_amount(found, first)}."
        tied = [one for one in others if one.interval[1] >= first.interval[0]]
        if tied:
            names = ", ".join(short(one.path) for one in tied)
            yield f"As important, as far as these runs tell: {names}."
    small = [short(one.path) for one in found.effects if not one.above_chance]
    if small:
        yield f"No more than chance explains: {', '.join(small)}. Their order means nothing."
    if found.unused:
        yield f"Not used in this run: {', '.join(map(short, found.unused))}."


def _amount(found: Sensitivity, one: Effect) -> str:
    low, high = (_effect_text(found, bound) for bound in one.interval)
    size = _effect_text(found, one.effect)
    if found.method == "sobol":
        return f"{size} of the variance ({low} to {high})"
    return f"{size} over its range ({low} to {high})"


def _notes(found: Sensitivity) -> Iterator[str]:
    chance = (
        f"{100.0 * found.noise:.2g} %"
        if found.scale == "factor"
        else figure_text(found, found.noise)
    )
    yield (
        f"By chance a point varies by {chance} ({found.repeats} repetitions); effects up to "
        f"{_effect_text(found, found.floor)} may be chance."
    )
    what = "trajectories" if found.method == "morris" else "rows"
    yield (
        f"{found.method.capitalize()}, {found.points} {what}, {found.runs} runs, seed {found.seed}."
    )
