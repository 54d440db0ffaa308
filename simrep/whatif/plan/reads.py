"""What a consistency of reads costs, and how stale reads are without it, over distance and load.

Every level that the model declares is simulated under the same load: clients that write, and
clients that read elsewhere. A run counts what reads and writes take, and which reads miss what
somebody had been told
(:mod:`simrep.workload.freshness`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from math import inf, isfinite, isnan
from typing import Any, NamedTuple

from simrep.contract.model import Degradation
from simrep.contract.read_level import ReadLevel
from simrep.contract.registry import find_model, models_that
from simrep.contract.setup import setup_of
from simrep.errors import ScenarioError
from simrep.measure.confidence import Interval, mean_interval
from simrep.measure.histogram import LatencyHistogram
from simrep.measure.staleness import StaleReads
from simrep.measure.units import duration, number
from simrep.runs.batch import Task, simulate_groups
from simrep.runs.degradation import degradations, degraded
from simrep.runs.executor import collected, in_order
from simrep.runs.progress import work_expected
from simrep.runs.result import Result
from simrep.scenario import Scenario, with_values
from simrep.whatif.plan.answer import Answer
from simrep.whatif.plan.reading_load import ReadingLoad, brief, distances, loads_of, reading_load

__all__ = ["ReadCell", "Reads", "weighed_reads"]

_FIGURES = ("read_mean_s", "read_p50_s", "read_p95_s", "write_mean_s", "write_p50_s",
            "write_p95_s", "writes_tps", "stale_share")  # fmt: skip
_BEHIND = 0.9  # of the writes that others get through: what gets through less falls behind
_SHOWN = 3  # notes of one kind


class _Run(NamedTuple):
    """What came of one run."""

    reads: LatencyHistogram
    writes: LatencyHistogram
    writes_tps: float
    stale: StaleReads


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCell:
    """One level at one distance under one load: all replications together.

    Attributes
    ----------
    level : ReadLevel
    rtt_ms : float or None
        Round trip between nodes; None if the scenario has several.
    load : float
        Clients that write, or their rate, as a multiple of those of the scenario.
    writers : str
        The same in words.
    reads, writes : LatencyHistogram
        Latencies of transactions that only read, and of all others.
    writes_tps : float
        Of these, committed per second.
    stale : StaleReads
    intervals : mapping of str to Interval
        Of means over replications, by name of the figure; empty for one replication.
    """

    level: ReadLevel
    rtt_ms: float | None
    load: float
    writers: str
    reads: LatencyHistogram
    writes: LatencyHistogram
    writes_tps: float
    stale: StaleReads
    intervals: Mapping[str, Interval]

    @property
    def age_s(self) -> float:
        """95th percentile of the ages of stale reads in seconds; 0 if no read was stale."""
        return self.stale.ages.percentile(95.0) if self.stale.reads else 0.0

    def cost_s(self, reads: int, writes: int) -> float:
        """Mean latency of a mix of so many reads and writes; infinite if it gets nothing done."""
        parts = [(count, one.mean_s) for count, one in ((reads, self.reads), (writes, self.writes))]
        if any(count and isnan(mean_s) for count, mean_s in parts):
            return inf
        return sum(count * mean_s for count, mean_s in parts if count) / max(1, reads + writes)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Reads(Answer):
    """The cheapest level of which no read is stale; ``value`` is the 95th percentile of its reads.

    ``plot()`` draws what reads and writes take against how stale reads are.

    Attributes
    ----------
    cells : tuple of ReadCell
        Distance by distance and load by load, those of the scenario first; level by level.
    best : str
        Name of the level that is the answer; empty if there is none.
    own : ReadCell
        The first level at the distance and under the load of the scenario.
    """

    cells: tuple[ReadCell, ...]
    best: str
    own: ReadCell

    @property
    def levels(self) -> tuple[ReadLevel, ...]:
        """All levels, in the order of the product."""
        return tuple({cell.level.name: cell.level for cell in self.cells}.values())

    def at(self, rtt_ms: float | None, load: float) -> list[ReadCell]:
        """All levels at a distance under a load."""
        return [one for one in self.cells if (one.rtt_ms, one.load) == (rtt_ms, load)]

    @property
    def points(self) -> list[tuple[float | None, float]]:
        """Distances and loads, in their order."""
        pairs = dict.fromkeys((cell.rtt_ms, cell.load) for cell in self.cells)
        return sorted(pairs, key=lambda pair: (pair[0] or 0.0, pair[1]))

    def _rows(self) -> list[dict[str, Any]]:
        """A row per level, distance and load."""
        rows = []
        for cell in self.cells:
            row: dict[str, Any] = {
                "level": cell.level.name, "sees": cell.level.sees, "rtt_ms": cell.rtt_ms,
                "load": cell.load, "writers": cell.writers, **_pooled(cell),
                "reads": cell.stale.of_reads, "stale_reads": cell.stale.reads,
                "stale_age_p50_s": cell.stale.age_s["p50"], "stale_age_p95_s": cell.age_s,
                "stale_age_max_s": cell.stale.age_s["max"], "own_share": cell.stale.own_share,
            }  # fmt: skip
            for name, interval in cell.intervals.items():
                row |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
            rows.append(row)
        return rows


def weighed_reads(
    scenario: Scenario,
    *,
    rtts: Sequence[str] | Sequence[float] | None = None,
    loads: Sequence[str] | Sequence[float] | None = None,
    readers: int = 4,
    replications: int = 4,
    confidence: float = 0.95,
    seed: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> Reads:
    """Simulate every level of read consistency over distance and load.

    Parameters
    ----------
    scenario : Scenario
        Where none of its classes only reads, readers are added beside its writers.
    rtts : sequence of float, optional
        Round trips in milliseconds, instead of ``network.rtt_ms``, a quarter of it, and four times
        as much.
    loads : sequence of float, optional
        Writers, as multiples of those of the scenario; default: 0.5, 1 and 2.
    readers : int
        Of added ones, how many on each node without writers.
    replications : int
        At least 2.
    confidence, seed, executor, progress
        See :func:`simrep.plan`.
    """
    model = find_model(scenario.cluster.model)
    levels = model.read_levels()
    if not levels:
        others = models_that(lambda other: bool(other.read_levels()))
        raise ScenarioError(
            "cluster.model",
            f"model {model.name!r} has no read consistency to choose",
            f"models that do: {others}; one's own tells it by read_levels()",
        )
    if replications < 2:
        raise ScenarioError("replications", f"an interval needs at least 2, given {replications}")
    load = reading_load(scenario, readers)
    chosen = scenario.run.seed if seed is None else seed
    points = [(rtt, times) for rtt in distances(scenario, rtts) for times in loads_of(loads)]
    variants = [
        [_with_level(load.at(rtt, times), level, load) for level in levels] for rtt, times in points
    ]
    setups = [[setup_of(variant) for variant in own] for own in variants]
    lengths = list(in_order(brief, [(own[0], chosen) for own in setups], executor))
    groups = [
        [Task(briefly, number) for number in range(replications)]
        for own, settings in zip(setups, lengths, strict=True)
        for briefly in (settings.of(setup) for setup in own)
    ]
    work_expected(len(groups), replications)
    less: list[tuple[Degradation, ...]] = []
    keys = [(level, rtt, times) for rtt, times in points for level in levels]

    def finished() -> Iterator[ReadCell]:
        found = simulate_groups(groups, partial(_outcome, reading=load.reading), chosen, executor,
                                less)  # fmt: skip
        for (level, rtt, times), runs in zip(keys, found, strict=True):
            yield _cell(level, rtt, times, load.words(times), runs, confidence)

    cells, complete = collected(finished(), least=len(levels), progress=progress, total=len(groups))
    here = cells[: len(levels)]
    best = _cheapest(here)
    notes = [*load.notes, *_notes(here, load), *_of_intervals(cells, confidence)]
    notes += [f"{said}." for said in list(degraded(degradations(less)))[:_SHOWN]]
    interval = None if best is None else best.intervals.get("read_p95_s")
    return Reads(
        question=f"The price of each read consistency: {load.words(1.0)}"
        + ("" if here[0].rtt_ms is None else f", round trip {here[0].rtt_ms:g} ms"),
        sentence=_sentence(here, best),
        value=None if best is None else best.reads.percentile(95.0),
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        unit="s",
        confidence=confidence,
        notes=tuple(notes),
        seed=chosen,
        complete=complete,
        scenario=setups[0][0].scenario.to_dict(),
        versions=setups[0][0].versions,
        cells=tuple(cells),
        best="" if best is None else best.level.name,
        own=here[0],
    )


def _with_level(scenario: Scenario, level: ReadLevel, load: ReadingLoad) -> Scenario:
    """The scenario with a level: its options for all, its session for those that only read."""
    changes: dict[str, Any] = {
        f'cluster.options."{name}"': value for name, value in level.options.items()
    }
    for position, one in enumerate(scenario.workload.classes):
        if level.session and one.name in load.reading:
            session = {**one.session, **level.session}
            changes[f"workload.class.{position}.session"] = session
    changes |= {f"workload.clients.{name}": value for name, value in level.clients.items()}
    return with_values(scenario, changes) if changes else scenario


def _outcome(result: Result, reading: frozenset[str]) -> _Run:
    """What of a run is told, and sent to the process that asked for it."""
    reads, writes = (
        LatencyHistogram.merged(
            count.latency for name, count in result.classes.items() if (name in reading) is kind
        )
        for kind in (True, False)
    )
    assert result.stale is not None
    tps = result.throughput_tps * writes.count / result.committed if result.committed else 0.0
    return _Run(reads, writes, tps, result.stale.total)


def _cell(
    level: ReadLevel,
    rtt_ms: float | None,
    load: float,
    writers: str,
    runs: Sequence[_Run],
    confidence: float,
) -> ReadCell:
    return ReadCell(
        level=level,
        rtt_ms=rtt_ms,
        load=load,
        writers=writers,
        reads=LatencyHistogram.merged(run.reads for run in runs),
        writes=LatencyHistogram.merged(run.writes for run in runs),
        writes_tps=sum(run.writes_tps for run in runs) / len(runs),
        stale=StaleReads.total(run.stale for run in runs),
        intervals=_intervals(runs, confidence),
    )


def _intervals(runs: Sequence[_Run], confidence: float) -> dict[str, Interval]:
    found = {}
    each = [_of_run(run) for run in runs]
    for name in _FIGURES:
        values = [figures[name] for figures in each]
        if len(values) > 1 and all(map(isfinite, values)):
            found[name] = mean_interval(values, confidence)
    return found


def _of_run(run: _Run) -> dict[str, float]:
    reads, writes = run.reads, run.writes
    values = (
        reads.mean_s, reads.percentile(50.0), reads.percentile(95.0),
        writes.mean_s, writes.percentile(50.0), writes.percentile(95.0),
        run.writes_tps, run.stale.share,
    )  # fmt: skip
    return dict(zip(_FIGURES, values, strict=True))


def _pooled(cell: ReadCell) -> dict[str, float]:
    return _of_run(_Run(cell.reads, cell.writes, cell.writes_tps, cell.stale))


# -- the answer ----------------------------------------------------------------------------------


def _cheapest(here: Sequence[ReadCell]) -> ReadCell | None:
    """Of the levels that promise it and kept it, the one whose transactions take least."""
    sure = [one for one in here if one.level.sees == "all" and not one.stale.reads]
    reads, writes = here[0].reads.count, here[0].writes.count
    best = min(sure, key=lambda one: one.cost_s(reads, writes), default=None)
    return None if best is None or best.cost_s(reads, writes) == inf else best


def _sentence(here: Sequence[ReadCell], best: ReadCell | None) -> str:
    first = here[0]
    without = "no read was stale in these runs"
    if first.stale.reads:
        without = (
            f"{_percent(first.stale.share)} of the reads are stale, 95 % of these by at most "
            f"{duration(first.age_s)}"
        )
    if best is None or best is first:
        own = next((one for one in here if one.level.sees == "own" and one.stale.of_own), None)
        said = "With no level every read sees all answered commits."
        if own is None:
            return f"{said} With {first.level.name}, {without}."
        return (
            f"{said} With {own.level.name} a client sees its own writes: reads take "
            f"{_spread(own.reads)} instead of {_spread(first.reads)}. Without it {without}"
            f"{_missing(first)}."
        )
    return (
        f"{best.level.name} is the cheapest level without stale reads: reads take "
        f"{_spread(best.reads)} instead of {_spread(first.reads)}, writes {_spread(best.writes)} "
        f"instead of {_spread(first.writes)}. With {first.level.name}, {without}."
    )


def _missing(cell: ReadCell) -> str:
    if not cell.stale.of_own:
        return ""
    return f", and {_percent(cell.stale.own_share)} miss the last write of their own client"


def _spread(latency: LatencyHistogram) -> str:
    """Median and 95th percentile in words."""
    if not latency.count:
        return "for ever"
    return f"{duration(latency.percentile(50.0))} (95 %: {duration(latency.percentile(95.0))})"


def _percent(share: float) -> str:
    return f"{100.0 * share:.2g} %" if share < 0.995 else "100 %"


def _notes(here: Sequence[ReadCell], load: ReadingLoad) -> Iterator[str]:
    first = here[0]
    for cell in here:
        name = cell.level.name
        stale = cell.stale
        if cell.level.sees != "all" and not stale.reads:
            yield (
                f"{name} promises nothing: {stale.of_reads:,} reads without a stale one are no "
                "proof."
            )
        if cell.level.sees == "all" and stale.reads:
            yield f"{name}: {stale.reads:,} of {stale.of_reads:,} reads were stale all the same."
        if cell.writes_tps < _BEHIND * first.writes_tps:
            yield (
                f"{name}: {number(cell.writes_tps)} writes/s instead of "
                f"{number(first.writes_tps)}"
                + (", the others wait in line: it does not keep up." if load.open_loop else ".")
            )
        if cell.level.sees == "own" and not cell.stale.of_own:
            yield (
                f"{name} waits for the writes of its own client on another node, but no client "
                "here writes and reads on different nodes: use a [proxy] with split = true."
            )
    if load.writer:
        trip = "" if first.rtt_ms is None else f", {first.rtt_ms:g} ms,"
        yield (
            f"Reads on {load.writer}, the only writing node, are never stale; clients beside "
            f"another node wait a round trip{trip} longer for them."
        )
    yield "Stale: the read misses a commit that was answered before the read was sent."


def _of_intervals(cells: Sequence[ReadCell], confidence: float) -> Iterator[str]:
    widths = [
        cell.intervals["read_p50_s"].relative for cell in cells if "read_p50_s" in cell.intervals
    ]
    if widths:
        widths.sort()
        yield (
            f"Intervals ({100.0 * confidence:.3g} %) of the medians of reads: within "
            f"{_percent(widths[len(widths) // 2])} in half of the cells, {_percent(widths[-1])} in "
            "the widest; --out has all."
        )
