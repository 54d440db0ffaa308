"""What ``dataset.toml`` says: what was measured, and how its columns set a scenario."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from math import inf
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    model_validator,
)

from simrep.errors import ScenarioError

__all__ = [
    "Bands",
    "Definition",
    "DerivedKind",
    "DerivedMetric",
    "DerivedTable",
    "Extra",
    "FactorTable",
    "FailuresTable",
    "Fit",
    "Information",
    "Machine",
    "MetricTable",
    "Parameter",
    "SeriesTable",
    "Show",
    "SystemTable",
    "Value",
    "WhatIf",
]


Value = int | float | str
"""Of a factor, as the data hold it."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _path_alone(value: Any) -> Any:
    return {"path": value} if isinstance(value, str) else value


def _one_or_several(value: Any) -> Any:
    return (value,) if isinstance(value, dict) else value


def _lists(value: Any) -> Any:
    """A value alone is a list of one."""
    if not isinstance(value, dict):
        return value
    return {name: own if isinstance(own, (list, tuple)) else [own] for name, own in value.items()}


def _no_time(value: Any) -> Any:
    return None if value == "" else value


def _with_zone(value: datetime | None) -> datetime | None:
    return value if value is None or value.tzinfo else value.replace(tzinfo=UTC)


Moment = Annotated[datetime | None, BeforeValidator(_no_time), AfterValidator(_with_zone)]


class Machine(_Table):
    """What the data were measured on; information."""

    cpu: str = Field("", description="processor")
    cpus: int | None = Field(None, ge=1, le=65_536, description="number of processors")
    memory_gb: float | None = Field(None, gt=0, description="memory")
    system: str = Field("", description="operating system")
    kernel: str = Field("", description="version of the kernel")
    tcp_congestion_control: str = Field("", description="how TCP avoids congestion there")


class SystemTable(_Table):
    """What is known of the servers of a series; information."""

    name: str = Field(description="of the series")
    product: str = Field("", description="replication product")
    server: str = Field("", description="whose servers")
    version: str = Field("", description="of the servers")
    model_version: str = Field("", description="version of the model that stands for it")
    engine: str = Field("", description="what the servers ran in")
    delay_method: str = Field("", description="what delayed their network")
    options: dict[str, Any] = Field({}, description="options of the servers")
    not_simulated: tuple[str, ...] = Field((), description="options that the model does not know")
    simulated_otherwise: dict[str, str] = Field(
        {}, description="settings of the servers that the model has another value for"
    )


class Information(_Table):
    """What a dataset tells of itself, and how much of it is simulated."""

    format: Literal[1] = Field(1, description="version of this format")
    title: str = Field(description="what was measured, in a line")
    question: str = Field("", description="what it was measured for")
    source: str = Field(description="who published or measured it; may be left out if "
                        "`measured_from` is given")  # fmt: skip
    experiment: str = Field("", description="experiment of the rig that measured it")
    measured_from: Moment = Field(None, description="when measuring began")
    measured_to: Moment = Field(None, description="when it ended")
    complete: bool = Field(True, description="false: not all that was planned is measured")
    attempts: NonNegativeInt | None = Field(None, description="rows of the data")
    marked: NonNegativeInt | None = Field(None, description="rows that a gate has marked")
    missing: NonNegativeInt | None = Field(None, description="runs that were not measured")
    base_rtt_ms: float | None = Field(
        None, ge=0, le=86_400_000, description="round trip without added delay"
    )
    machine: Machine = Field(Machine(), description="what it was measured on")
    systems: tuple[SystemTable, ...] = Field((), alias="system", description="what was measured")
    data: str = Field("data.csv", description="CSV file beside dataset.toml")
    seed: int = Field(1, ge=0, le=2**63 - 1, description="of the simulation")

    @model_validator(mode="before")
    @classmethod
    def _own(cls, content: Any) -> Any:
        """What was measured at a known time and comes from nobody else is our own."""
        if isinstance(content, dict) and "source" not in content and content.get("measured_from"):
            day = str(content["measured_from"])[:10]
            return {**content, "source": f"own measurements, {day}"}
        return content

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        begin, end = self.measured_from, self.measured_to
        if begin is not None and end is not None and end < begin:
            raise ScenarioError("measured_to", f"{end} is before measured_from, {begin}")
        return self


class FactorTable(_Table):
    """Where the values of a CSV column go in the scenario; a string is the path alone."""

    path: str | None = Field(
        None, description="scenario path that takes the value; may be left out if `at` is given"
    )
    optional: bool = Field(
        False, description="an empty cell leaves the scenario as it is, and is no mistake"
    )
    at: dict[str, dict[str, Any]] = Field(
        {}, description="per value of the column: scenario paths set instead of or besides `path`"
    )

    def settings(self, value: Value) -> dict[str, Any]:
        """Scenario paths and what they are set to for a value of the column."""
        own = {} if self.path is None else {self.path: value}
        return own | self.at.get(str(value), {})

    @model_validator(mode="after")
    def _sets_something(self) -> Self:
        if self.path is None and not self.at:
            raise ScenarioError("path", "is required", "or `at`, with settings for each value")
        return self


class MetricTable(_Table):
    """What was measured and what a result calls it."""

    column: str = Field(description="CSV column; a cell where it is empty has no such figure")
    result: str = Field(description='figure of a result, e.g. "makespan_s" or "latency_s.p95"')
    unit: str = Field(description="of the column; that of the result")
    label: str = Field(description="what it is called in tables and plots")
    optional: bool = Field(False, description="empty cells of the column are no mistake")
    standard_error: str | None = Field(
        None, description="CSV column with the standard error of each measurement, in the unit"
    )
    where: dict[str, tuple[Value, ...]] = Field(
        {},
        description="columns and values of the rows whose figure counts: a run of a given "
        "duration says nothing by having lasted so long",
    )
    absolute: float | None = Field(
        None,
        gt=0,
        description="tolerance in the unit: differences are judged by it and not by their "
        "relative size, and a measured 0 is allowed",
    )
    relative: float | None = Field(
        None, gt=0, description="beside `absolute`: a relative error that is tolerated as well"
    )
    missing: float | None = Field(None, description="what stands in the column for no figure")
    fitted: bool = Field(
        False, description="the fit knows it in all cells, also in those that it does not use"
    )

    def applies(self, row: Mapping[str, Value]) -> bool:
        """Whether the figure of a row counts."""
        return all(row[column] in values for column, values in self.where.items())

    def tolerates(self, measured: float, predicted: float) -> bool | None:
        """Whether a difference is within the tolerance; None if it is judged by its size."""
        if self.absolute is None:
            return None
        allowed = max(self.absolute, (self.relative or 0.0) * measured)
        return abs(predicted - measured) <= allowed + 1e-9  # figures may be whole intervals


DerivedKind = Literal[
    "maximum_ratio",
    "maximum_gap",
    "maximum_ratio_drop",
    "mean_gap",
    "gap_at",
    "mean_latency_increase",
    "mean_latency_added_ms",
    "sustained_ratio",
]


class DerivedMetric(_Table):
    """A figure of several simulated cells, beside the same figure of the baseline."""

    kind: DerivedKind = Field(
        description="`maximum_ratio`, `maximum_gap`: of the highest throughput, as a share of the "
        "baseline's and what is missing to it; `maximum_ratio_drop`: by how much the ratio falls "
        "from the first system of a row to the last; `mean_gap`, `gap_at`: of the throughput at "
        "equal values of `along`; `mean_latency_increase`, `mean_latency_added_ms`: of the mean "
        "latency there, as a share and in ms; `sustained_ratio`: the rate that is kept up, as a "
        "share of the highest throughput of the baseline"
    )
    at: float | None = Field(None, description="of `gap_at`: the value of `along`")
    up_to: float | None = Field(None, description="of means: the largest value of `along` to use")

    @property
    def unit(self) -> str:
        """``ms`` or ``ratio``."""
        return "ms" if self.kind.endswith("_ms") else "ratio"

    def shared(self, own: Iterable[float], base: Collection[float]) -> list[float]:
        """Values of ``along`` that the metric uses: of maxima all, else those that both have."""
        if self.kind.startswith("maximum"):
            return list(own)
        limits = (self.at, self.at) if self.at is not None else (-inf, self.up_to)
        low, high = (inf if limit is None else limit for limit in limits)
        return [x for x in own if x in base and low <= x <= high]

    @model_validator(mode="after")
    def _uses_what_it_says(self) -> Self:
        uses = {"at": self.kind == "gap_at", "up_to": self.kind.startswith("mean_")}
        for option, used in uses.items():
            if getattr(self, option) is not None and not used:
                raise ScenarioError(option, f"has no meaning for {self.kind}")
        if uses["at"] and self.at is None:
            raise ScenarioError("at", "is required")
        return self


class DerivedTable(_Table):
    """Figures of several cells, which rows of the data state with a range."""

    along: str = Field(description="factor that maxima and means are taken over")
    baseline: dict[str, Value] = Field(
        min_length=1, description="factors to change in a system to find what it is compared with"
    )
    precision: float = Field(0.05, ge=0.01, le=0.5, description="of a sustained rate, relative")
    metric: dict[str, DerivedMetric] = Field(
        min_length=1, description="figures by the name that rows have in the column `quantity`"
    )


Decided = Literal["timers", "slow phases", "processors"]
"""What decides a figure of a run in which a node is hit."""


class FailuresTable(_Table):
    """Runs in which a node is hit: their data have a row for each figure of each run.

    Patterns are of ``SERIES FACTORS/METRIC``, with ``*``, ``?`` and ``[...]``. Timers
    decide all that neither ``processors`` nor ``slow_phases`` name.
    """

    phase_s: float = Field(
        0.0,
        ge=0,
        le=3600,
        description="every replication draws when its faults come: later than the scenario says, "
        "by up to so much",
    )
    readings_s: float | None = Field(
        None,
        gt=0,
        le=60,
        description="time between two readings of the status variables: of queues the longest that "
        "was read counts; default: the longest there was",
    )
    tolerance_s: float = Field(
        0.15,
        gt=0,
        le=10,
        description="of figures that timers decide, in seconds, if it is more than 5 % of them",
    )
    processors: tuple[str, ...] = Field(
        (), description="figures that the speed of a machine decides: 25 % are tolerated"
    )
    slow_phases: tuple[str, ...] = Field(
        (),
        description="commits per second and latencies while timers hold every commit up: 25 % are "
        "tolerated",
    )
    distributions: tuple[str, ...] = Field(
        (),
        description="figures of which chance decides: beside the median, every measured value has "
        "to be in the simulated range of 99 %",
    )

    def decided_by(self, name: str) -> Decided:
        """What decides a figure, ``SERIES FACTORS/METRIC``."""
        if _matches(name, self.processors):
            return "processors"
        return "slow phases" if _matches(name, self.slow_phases) else "timers"

    def by_chance(self, name: str) -> bool:
        """Whether a figure is a distribution."""
        return _matches(name, self.distributions)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


class Bands(_Table):
    """Which metrics are drawn beside the time series, by the names of their columns."""

    before: str | None = Field(None, description="a rate before the scheduled transaction")
    during: str | None = Field(None, description="a rate while it is executed, or until `until`")
    execution: str | None = Field(None, description="how long that takes, in seconds")
    until: str | None = Field(
        None, description="where the level `during` ends, in seconds; default: `execution`"
    )
    stall: str | None = Field(None, description="the longest stall, in seconds")


class Show(_Table):
    """Which factors make the axis and the colours of the plot, the rows and blocks of the table."""

    x: str = Field("", description="default: the factor with most values, numbers before texts")
    by: str | None = Field(
        None,
        description="without it one line and one block of each system; if there is no `x` either, "
        "default: the other factor with most values",
    )
    breakdown: bool = Field(
        False, description="also print where the time of a transaction goes in each system"
    )
    timeline: bool = Field(
        False,
        description="the plot shows commits over time, a panel per cell, with the marks of the "
        "scheduled transaction",
    )
    bands: Bands = Field(Bands(), description="what the timeline shows of the measurement")
    panels: dict[str, str] = Field(
        {}, description="what a panel of the timeline is called, by the value of `x`"
    )


class WhatIf(_Table):
    """A variant that is simulated beside the measured system and not scored."""

    name: str = Field(description="what it is called")
    set: dict[str, Any] = Field(description="scenario paths and their values")


class Parameter(_Table):
    """A cost that a fit may change, with what is known about it beforehand."""

    name: str = Field(description="field of the model's costs, or machine.TRAIT")
    prior: float = Field(gt=0, description="most plausible value before the fit")
    sigma: float = Field(0.7, gt=0, le=5, description="standard deviation of its logarithm")
    low: float | None = Field(None, gt=0, description="lower bound")
    high: float | None = Field(None, gt=0, description="upper bound")

    @property
    def path(self) -> str:
        """Where it stands in a scenario."""
        return f"cluster.{self.name}" if "." in self.name else f"cluster.costs.{self.name}"


class Extra(_Table):
    """A further measured column that a fit has to explain."""

    column: str = Field(description="CSV column")
    result: str = Field(description="figure of a result")
    where: dict[str, tuple[Value, ...]] = Field(
        {}, description="factors and values of the cells whose figure counts"
    )
    noise: float = Field(
        0.2, gt=0, le=5, description="relative standard deviation of a measurement"
    )
    absolute: float | None = Field(
        None,
        gt=0,
        description="standard deviation in the unit of the column, beside `noise`: differences "
        "and not ratios are compared, and a measured 0 is allowed",
    )

    def applies(self, factors: Mapping[str, Value]) -> bool:
        """Whether the figure of a cell counts."""
        return all(factors[name] in values for name, values in self.where.items())


class Fit(_Table):
    """How local costs are fitted to the cells that `fit_where` names."""

    parameter: tuple[Parameter, ...] = Field(min_length=1, description="costs that may change")
    noise: float | None = Field(
        None,
        gt=0,
        description="relative standard deviation of a measurement; default: 5 %, and where "
        "repetitions tell it their standard error on top",
    )
    extra: tuple[Extra, ...] = Field((), description="further columns that it has to explain")
    replications: int = Field(3, ge=1, le=10_000, description="of every set of costs")
    seed: int = Field(1, ge=0, le=2**63 - 1, description="of the simulation, in every set of costs")


Grid = Annotated[dict[str, tuple[Value, ...]], BeforeValidator(_lists)]


class SeriesTable(_Table):
    """One measured system: its rows of the data and the scenario that stands for it."""

    name: str = Field(description="as options name it")
    title: str = Field(description="for people")
    scenario: str = Field(description="scenario file beside dataset.toml")
    where: dict[str, Value] = Field({}, description="columns and values that select its rows")
    what_if: tuple[WhatIf, ...] = Field((), description="variants that are simulated beside it")
    simulate: tuple[Grid, ...] = Field(
        (),
        description="cells to simulate besides those measured, for derived metrics: every "
        "combination of the factors' values; one alone or a list",
    )
    sustained: tuple[Grid, ...] = Field(
        (), description="in the same way, without `along`: whose sustained rate is sought"
    )
    watched: tuple[str, ...] = Field(
        (),
        description="with `failures`: in whose logs first suspicions and the new view were looked "
        "for; default: all nodes that nothing happens to",
    )
    fit: Fit | None = Field(None, description="how its local costs are fitted")
    replications: int | None = Field(
        None, ge=1, le=10_000, description="of the simulation; default: those of the dataset"
    )


class Definition(Information):
    """The content of ``dataset.toml``."""

    replications: int = Field(5, ge=1, le=10_000, description="of the simulation")
    metrics: Annotated[tuple[MetricTable, ...], BeforeValidator(_one_or_several)] = Field(
        (), alias="metric", description="what was measured; the plot shows the first"
    )
    derived: DerivedTable | None = Field(
        None, description="figures of several cells; without a `metric` all rows state these"
    )
    failures: FailuresTable | None = Field(
        None, description="runs in which a node is hit, instead of a `metric`"
    )
    factors: dict[str, Annotated[FactorTable, BeforeValidator(_path_alone)]] = Field(
        min_length=1, description="columns that set something in the scenario"
    )
    fit_where: dict[str, tuple[Value, ...]] = Field(
        {}, description="columns and values of the cells that a fit may use"
    )
    ignore: tuple[str, ...] = Field((), description="columns that are information")
    show: Show = Field(Show(), description="how plots and tables are laid out")
    series: tuple[SeriesTable, ...] = Field(min_length=1, description="the measured systems")

    @model_validator(mode="after")
    def _about_something(self) -> Self:
        if not self.metrics and self.derived is None and self.failures is None:
            raise ScenarioError("metric", "is required", "or `derived`, or `failures`")
        if self.failures is not None and (self.metrics or self.derived is not None):
            raise ScenarioError("failures", "goes with neither `metric` nor `derived`")
        for number, series in enumerate(self.series):
            if series.replications is not None and (self.failures or self.derived):
                where = f"series.{number}.replications"
                raise ScenarioError(where, "goes with neither `failures` nor `derived`")
        return self

    def replications_of(self, series: SeriesTable) -> int:
        """How often a cell of a series is simulated."""
        return series.replications or self.replications

    @property
    def own_replications(self) -> dict[str, int]:
        """Of the series that have a number of their own."""
        return {one.name: one.replications for one in self.series if one.replications}

    @property
    def systems_by(self) -> tuple[str, ...]:
        """What tells simulated systems apart: columns of series and factors, but ``along``."""
        columns = dict.fromkeys(column for series in self.series for column in series.where)
        along = self.derived.along if self.derived else None
        return tuple(name for name in columns | dict.fromkeys(self.factors) if name != along)

    def system(self, factors: Mapping[str, Value]) -> tuple[Value, ...]:
        """Which simulated system a cell with these factors belongs to."""
        return tuple(factors.get(name, "") for name in self.systems_by)

    def settings(self, factors: Mapping[str, Value]) -> dict[str, Any]:
        """What a scenario is changed to for a cell; an empty factor leaves it as it is."""
        settings: dict[str, Any] = {}
        for column, factor in self.factors.items():
            if factors.get(column, "") != "":
                settings |= factor.settings(factors[column])
        return settings

    def states(self, row: Mapping[str, Value]) -> bool:
        """Whether a row states a derived metric, and measures no cell."""
        return self.derived is not None and row["quantity"] != ""

    def fits(self, row: Mapping[str, Value]) -> bool:
        """Whether a fit may use a row."""
        where = self.fit_where.items()
        return bool(where) and all(row[column] in values for column, values in where)

    @property
    def mapped(self) -> set[str]:
        """Columns that mean something to a simulation or a comparison."""
        columns = {*self.factors, *self.fit_where}
        if self.failures is not None:
            columns |= {"run", "metric", "value", "unit"}
        if self.derived is not None:
            columns |= {"quantity", "low", "high", "unit"}
            columns -= set() if self.metrics else {self.derived.along}
        for metric in self.metrics:
            columns |= {metric.column, *metric.where}
            columns |= {metric.standard_error} if metric.standard_error else set()
        for series in self.series:
            columns |= series.where.keys()
            columns |= {extra.column for extra in series.fit.extra} if series.fit else set()
        return columns

    @property
    def metric(self) -> MetricTable:
        """The first of the metrics."""
        return self.metrics[0]

    @property
    def scheduled(self) -> str | None:
        """Name of the scheduled transaction that the metrics are about, if they are."""
        head = "scheduled."
        paths = (metric.result for metric in self.metrics if metric.result.startswith(head))
        named = (path.removeprefix(head).rpartition(".")[0].strip("\"'") for path in paths)
        return next(named, None)
