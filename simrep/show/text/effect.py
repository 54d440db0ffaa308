"""Effects as tables for a terminal: one scenario beside another, and what moves a figure."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from rich.console import Group
from rich.table import Table

from simrep.measure.confidence import Interval
from simrep.measure.units import duration, number, unit_of
from simrep.show.text.layout import closing, table, title, words
from simrep.show.views import tables
from simrep.whatif.comparison import Compared, Comparison, name_of, value_text
from simrep.whatif.sensitivity.result import Effect, Sensitivity

__all__ = ["range_text", "short"]

_NOTHING = 1.3  # a gain below it is hardly one
_SMALL = 1.1  # factors below are told by a digit more
_MOSTLY = 0.8  # of a direction: what is above is called so


@tables.register(Comparison)
def comparison_tables(comparison: Comparison) -> Group:
    """The verdict, a row per figure, and what the intervals rest on."""
    a, b = comparison.labels
    level = f"{100.0 * comparison.confidence:.3g} % interval"
    heads = ("figure", a, b, f"{b} - {a}", level, f"{b} / {a}", level, "")
    return Group(
        title(f"{a} and {b}, seed {comparison.seed}, {comparison.pairs} pairs"),
        table(heads, rows=map(_cells, comparison.figures.values())),
        words(comparison.verdict),
        *map(words, comparison.drilled),
        closing(_precision(comparison), missing="" if comparison.complete else "pairs are missing"),
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


def _precision(comparison: Comparison) -> Iterator[str]:
    yield ""
    if comparison.note:
        yield f"{comparison.note[0].upper()}{comparison.note[1:]}."
    yield "Both have the same random numbers, pair by pair."
    if comparison.early:
        yield (
            f"The answer was clear after {comparison.pairs} of at most {comparison.most} pairs; "
            "the intervals are wider for having been looked at before the end."
        )
    first = next(iter(comparison.figures.values()), None)
    if first is not None and first.gain is not None:
        alone = first.gain * comparison.pairs
        saved = f"as precise as about {number(alone, 2)} independent replications of each"
        if first.gain < _NOTHING:
            saved = "that saves next to nothing here: the two soon go ways of their own"
        yield f"For the {name_of(first.figure)}, {saved}."


@tables.register(Sensitivity)
def sensitivity_tables(found: Sensitivity) -> Group:
    """A row per number, and the verdict."""
    name = f"{found.title}: " if found.title else ""
    heading = f"{name}what moves {found.of} ({_figure_text(found, found.base)})"
    missing = "" if found.complete else "fewer points than asked for"
    notes = closing([*_verdict(found), "", *_notes(found)], missing=missing)
    return Group(title(heading), _effects(found), notes)


def _effects(found: Sensitivity) -> Table:
    def text(effect: float) -> str:
        return _effect_text(found, effect)

    heads = ("number", "range", "at its low end", "at its high end", "effect", "95 %", "alone", "")
    effects = table(heads, "lrrrrrrl")
    for one in found.effects:
        effects.add_row(
            short(one.path),
            range_text(one),
            _figure_text(found, one.at_low),
            _figure_text(found, one.at_high),
            text(one.effect),
            f"{text(one.interval[0])} .. {text(one.interval[1])}",
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


def _figure_text(found: Sensitivity, value: float) -> str:
    """A value of the figure, with its unit."""
    unit = unit_of(found.of)
    if unit == "s":
        return duration(value)
    return f"{number(value)}/s" if unit == "1/s" else number(value)


def _effect_text(found: Sensitivity, effect: float) -> str:
    if found.method == "sobol":
        return f"{100.0 * effect:.0f} %"
    if found.scale == "difference":
        return _figure_text(found, effect)
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
    of = "of the variance" if found.method == "sobol" else "over its range"
    return f"{_effect_text(found, one.effect)} {of} ({low} to {high})"


def _notes(found: Sensitivity) -> Iterator[str]:
    if found.note:
        yield f"{found.note[0].upper()}{found.note[1:]}."
    relative = f"{100.0 * found.noise:.2g} %"
    chance = relative if found.scale == "factor" else _figure_text(found, found.noise)
    yield (
        f"By chance a point varies by {chance} ({found.repeats} repetitions); effects up to "
        f"{_effect_text(found, found.floor)} may be chance."
    )
    what = "trajectories" if found.method == "morris" else "rows"
    yield (
        f"{found.method.capitalize()}, {found.points} {what}, {found.runs} runs, seed {found.seed}."
    )
