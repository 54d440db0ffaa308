"""The ``[workload.variation]`` table: a rate, or a number of clients, that changes over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, model_validator

from simrep.errors import ScenarioError, nearest
from simrep.scenario.table import (
    Fraction,
    Interval,
    Name,
    NotNegative,
    Reason,
    Seconds,
    Table,
    Title,
    Words,
)
from simrep.user_files import csv_rows, read_text
from simrep.workload.course import Burst, Course, Wave

__all__ = ["BurstTable", "PhaseTable", "VariationTable", "WaveTable"]

_MOST_ROWS = 100_000
_MOST_TPS, _MOST_CLIENTS = 1_000_000, 100_000
_ARRIVALS = Annotated[
    float,
    Field(strict=True, ge=0, le=_MOST_TPS, allow_inf_nan=False),
    Reason("more than any of these servers has taken"),
]
_CLIENTS = Annotated[
    int,
    Field(strict=True, ge=0, le=_MOST_CLIENTS),
    Reason("a server takes at most 100,000 (max_connections)"),
]
_SCALE = Annotated[
    float,
    Field(strict=True, ge=0.001, le=1_000_000, allow_inf_nan=False),
    Reason("1,000,000: 11 days in a second"),
]
_TIMES, _LEVELS = ("time_s", "time"), ("rate_tps", "threads")


class PhaseTable(Table):
    """A ``[[workload.variation.phase]]``: the load from a time on, until the next phase."""

    name: Title = Field("", description="name under which it is reported")
    at_s: Seconds = Field(description="when it begins")
    rate_tps: _ARRIVALS | None = Field(None, description="arrivals per second of an open loop")
    threads: _CLIENTS | None = Field(None, description="clients of a closed loop")
    ramp_s: Seconds = Field(
        0.0, description="the load gets there evenly in this time; default: at once"
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.threads is None) == (self.rate_tps is None):
            raise ScenarioError("", "give rate_tps (open loop) or threads (closed loop)")
        return self

    @property
    def kind(self) -> str:
        """Which of the two it gives."""
        return "threads" if self.rate_tps is None else "rate_tps"

    @property
    def level(self) -> float:
        """Arrivals per second, or clients."""
        return float(self.threads or 0) if self.rate_tps is None else self.rate_tps


class WaveTable(Table):
    """``workload.variation.wave``: a sine, as the hours of a day make it."""

    period_s: Annotated[Seconds, Field(ge=0.01)] = Field(description="from peak to peak")
    amplitude: Annotated[Fraction, Field(gt=0)] = Field(
        description="share of the load by which the peak lies above it, and the trough below",
    )
    peak_s: Seconds | None = Field(
        None, description="time of a peak; default: a quarter of the period"
    )


class BurstTable(Table):
    """A ``[[workload.variation.burst]]``: for a while the load is a multiple of what it was."""

    name: Name = Field("burst", description="name under which it is reported")
    at_s: Seconds = Field(description="when it begins")
    for_s: Annotated[Seconds, Field(ge=0.001)] = Field(description="how long it lasts")
    factor: Annotated[NotNegative, Field(le=1000)] = Field(
        description="what the load is multiplied with"
    )
    every_s: Interval | None = Field(
        None, description="it begins again after so long; default: it comes once"
    )

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if self.every_s is not None and self.every_s <= self.for_s:
            raise ScenarioError(
                "every_s", f"must be above for_s = {self.for_s:g}, given {self.every_s:g}"
            )
        return self


class VariationTable(Table):
    """How the load changes over time; times count from the begin of the simulation."""

    phases: tuple[PhaseTable, ...] = Field(
        (), alias="phase", description="the load, phase by phase"
    )
    file: Words | None = Field(
        None,
        description="phases from a CSV file with the columns time_s (or time, HH:MM) and rate_tps "
        "or threads; the first row is the begin",
    )
    shape: Literal["steps", "linear"] | None = Field(
        None,
        description="of a file: a row holds until the next (the default), or the load goes evenly "
        "from row to row",
    )
    wave: WaveTable | None = Field(None, description="a sine on top")
    bursts: tuple[BurstTable, ...] = Field((), alias="burst", description="bursts on top")
    time_scale: _SCALE = Field(
        1.0,
        description="all times of this table are divided by it; 1440: its day is a minute of the "
        "run",
    )

    @model_validator(mode="before")
    @classmethod
    def _with_file(cls, given: Any, info: ValidationInfo) -> Any:
        """What a file says stands in the table from here on, so that it is part of all results."""
        if not isinstance(given, dict):
            return given
        name, shape = given.get("file"), given.get("shape")
        if name is None:
            if shape is not None:
                raise ScenarioError("shape", "is for a file", "set ramp_s in each phase")
            return given
        if given.get("phase"):
            raise ScenarioError("file", "cannot be combined with phase", "remove either")
        if not isinstance(name, str) or shape not in {None, "steps", "linear"}:
            return given  # wrong, and reported as such
        folder = (info.context or {}).get("folder") or Path()
        phases = list(_phases(folder / name, name, linear=shape == "linear"))
        return {**given, "phase": phases, "file": None, "shape": None}

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if not (self.phases or self.wave or self.bursts):
            raise ScenarioError("", "varies nothing", "give it a phase, a wave, a burst or a file")
        if len({phase.kind for phase in self.phases}) > 1:
            raise ScenarioError("phase", "rate_tps and threads cannot be mixed")
        for position, (first, second) in enumerate(pairwise(self.phases), start=1):
            free_s = first.at_s + first.ramp_s
            twice = second.at_s == first.at_s and not second.ramp_s
            if twice or second.at_s < free_s * (1.0 - 1e-9):
                raise ScenarioError(
                    f"phase.{position}.at_s",
                    f"begins before the phase before it is there (at_s = {first.at_s:g}, "
                    f"ramp_s = {first.ramp_s:g}), given {second.at_s:g}",
                    "phases stand in the order of time",
                )
        if self.phases and not any(phase.level for phase in self.phases):
            raise ScenarioError("phase", "no phase has any load", "set its rate_tps or threads")
        return self

    @property
    def kind(self) -> str | None:
        """What its phases give: ``rate_tps`` or ``threads``; None if there are none."""
        return self.phases[0].kind if self.phases else None

    def check(self, base: float | None, kind: str) -> None:
        """Refuse it beside the load (of that kind) that it would vary; None: there is none."""
        if self.kind not in {None, kind}:
            raise ScenarioError("variation.phase", f"gives {self.kind}, and the load is {kind}")
        begins = bool(self.phases) and self.phases[0].at_s == self.phases[0].ramp_s == 0.0
        if base is not None and begins:
            raise ScenarioError(
                kind,
                "has no effect: the first phase begins at 0",
                "remove it, or let the first phase begin later",
            )
        if base is None and not begins:
            raise ScenarioError(
                "variation",
                "nothing says what the load is at the begin",
                f"set {kind}, or let the first phase begin at 0",
            )
        peak = self.course(base).peak
        most = _MOST_TPS if kind == "rate_tps" else _MOST_CLIENTS
        if peak > most:
            raise ScenarioError(
                "variation", f"its peak must be at most {most:,}, given {peak:,.0f} ({kind})"
            )

    def course(self, base: float | None, share: float = 1.0) -> Course:
        """The same for the engine, for a share of the load."""
        scale = self.time_scale
        level = 0.0 if base is None else base * share
        knots = [(0.0, level)]
        for phase in self.phases:
            at_s = max(phase.at_s / scale, knots[-1][0])  # rounding does not go back in time
            knots.append((at_s, level))
            level = phase.level * share
            knots.append((at_s + phase.ramp_s / scale, level))
        wave = None
        if self.wave is not None:
            period_s = self.wave.period_s / scale
            peak_s = self.wave.peak_s
            wave = Wave(
                period_s,
                self.wave.amplitude,
                0.25 * period_s if peak_s is None else peak_s / scale,
            )
        bursts = tuple(
            Burst(
                one.at_s / scale,
                one.for_s / scale,
                one.factor,
                None if one.every_s is None else one.every_s / scale,
                one.name,
            )
            for one in self.bursts
        )
        return Course(tuple(knots), wave, bursts, tuple(self._named()))

    def _named(self) -> Iterator[tuple[float, str]]:
        for position, phase in enumerate(self.phases, start=1):
            yield phase.at_s / self.time_scale, phase.name or f"phase {position}"


def _phases(path: Path, name: str, *, linear: bool) -> Iterator[dict[str, Any]]:
    """The rows of a CSV file as phases."""
    rows = _rows(path, name)
    begin_s = before_s = rows[0][0]
    for number, (at_s, kind, level) in enumerate(rows):
        if number and at_s <= before_s:
            raise _wrong(name, number + 2, f"its time is not after {before_s:g} s")
        since_s = before_s if linear else at_s
        yield {"at_s": since_s - begin_s, kind: level, "ramp_s": at_s - since_s}
        before_s = at_s


def _rows(path: Path, name: str) -> list[tuple[float, str, float]]:
    """Time in seconds, what is given, and its value, row by row."""
    heads, *lines = csv_rows(read_text(path, "file"), "file") or [[]]
    heads = [head.strip() for head in heads]
    time, kind = _columns(name, heads)
    if not lines:
        raise ScenarioError("file", f"{name!r} has no rows", "a time and a load in each")
    if len(lines) > _MOST_ROWS:
        raise ScenarioError("file", f"{name!r} has more than {_MOST_ROWS:,} rows", "thin it out")
    rows = []
    for number, line in enumerate(lines, start=2):
        if len(line) != len(heads):
            raise _wrong(name, number, f"{len(line)} fields, the first line has {len(heads)}")
        row = dict(zip(heads, line, strict=True))
        rows.append((_time_s(name, number, row, time), kind, _level(name, number, row, kind)))
    return rows


def _columns(name: str, given: Sequence[str]) -> tuple[str, str]:
    """The columns of the time and of the load."""
    for column in given:
        if column not in {*_TIMES, *_LEVELS}:
            raise ScenarioError(
                "file",
                f"{name!r} has a column {column!r}, which is not known",
                "separate columns by commas"
                if ";" in column
                else nearest(column, [*_TIMES, *_LEVELS]),
            )
    times = [column for column in _TIMES if column in given]
    levels = [column for column in _LEVELS if column in given]
    if len(times) != 1 or len(levels) != 1:
        raise ScenarioError(
            "file",
            f"{name!r} needs one column of times and one of loads, and has "
            f"{', '.join(given) or 'none'}",
            f"{' or '.join(_TIMES)}, and {' or '.join(_LEVELS)}",
        )
    return times[0], levels[0]


def _time_s(name: str, line: int, row: Mapping[str, str], column: str) -> float:
    text = row[column].strip()
    try:
        if column == "time_s":
            return _finite(text)
        hours, minutes, *seconds = map(_finite, text.split(":"))
        return 3600.0 * hours + 60.0 * minutes + sum(seconds[:1])
    except ValueError:
        wanted = "a number of seconds" if column == "time_s" else "a time such as 18:30"
        raise _wrong(name, line, f"{column} is {text!r}, not {wanted}") from None


def _level(name: str, line: int, row: Mapping[str, str], column: str) -> float:
    text = row[column].strip()
    try:
        return _finite(text) if column == "rate_tps" else int(_finite(text) and text)
    except ValueError:
        wanted = "a number" if column == "rate_tps" else "a whole number"
        raise _wrong(name, line, f"{column} is {text!r}, not {wanted} of at least 0") from None


def _finite(text: str) -> float:
    value = float(text)
    if not 0.0 <= value < float("inf"):
        raise ValueError(text)
    return value


def _wrong(name: str, line: int, problem: str) -> ScenarioError:
    return ScenarioError("file", f"{name!r}, line {line}: {problem}")
