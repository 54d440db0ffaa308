"""Which fragment size of streaming replication suits a cluster: a grid of sizes, simulated.

Small fragments cost the large transaction a round of the group each; large ones hold up everybody
else for as long as one of them takes. Where the one has become cheap and the other is not felt
yet depends on latency, machines and load, so the scenario is simulated with each size.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from math import inf, isfinite, nan
from pathlib import Path
from statistics import fmean
from typing import Any

from simrep.modelling import ScenarioError, Setup, ShortRunWarning, SimrepError, nearest
from simrep.modelling.questions import (
    Scenario,
    ScheduledTable,
    collected,
    in_groups,
    load,
    mean_interval,
    scheduled_position,
    setup_of,
    simulate,
    until_it_has_ended,
    with_values,
)
from simrep.models.galera.questions.fragment import (
    Criteria,
    FragmentSize,
    FragmentSizes,
    LargestFragment,
    size_text,
)

__all__ = ["fragment_sizes", "largest_fragment"]

Progress = Callable[[int, int], None]

_FRAGMENT_UNIT = "wsrep_trx_fragment_unit"
_FRAGMENT_SIZE = "wsrep_trx_fragment_size"
_UNITS = ("bytes", "rows", "statements")
_LARGEST = 2**31 - 1  # of wsrep_trx_fragment_size
_FEWEST = 10  # commits of the payload in that time, so that silence tells a stall from chance
_HOPELESS = 2.0  # times the largest slowdown: what is slower than that is not looked at closely
_CHEAP = 10_000  # sizes with so many fragments are simulated at once where there are processes


def largest_fragment(scenario: Scenario, **options: Any) -> LargestFragment:
    """The largest fragment that is safe; options are those of :func:`fragment_sizes`."""
    found = fragment_sizes(scenario, **options)
    chosen = found.recommended
    largest = chosen[-1].size if chosen else None
    above = [one.size for one in found.sizes if largest is not None and one.size > largest]
    beyond = min(above, default=None)
    return LargestFragment(
        question=f"The largest fragment of {found.transaction!r} that is safe",
        sentence=_sentence(found, largest, beyond),
        value=largest,
        low=largest,
        high=beyond,
        unit=found.unit,
        confidence=None,
        notes=(_basis(found.replications),),
        seed=found.seed,
        complete=found.complete,
        scenario=found.scenario,
        versions=found.versions,
        sizes=found,
    )


def _sentence(found: FragmentSizes, largest: int | None, beyond: int | None) -> str:
    if largest is None:
        return "No size meets everything."
    text = f"Fragments of up to {size_text(largest)} {found.unit} meet everything"
    if beyond is None:
        return f"{text}; larger ones were not simulated."
    return f"{text}, {size_text(beyond)} do not."


def _basis(replications: int) -> str:
    runs = "1 replication" if replications == 1 else f"the means of {replications} replications"
    return f"Sizes are judged by {runs}, without a margin for chance."


@dataclass(frozen=True, slots=True)
class _Sample:
    """One replication, reduced to figures where it ran."""

    figures: Mapping[str, float]
    before_tps: float
    executed_s: float
    error: str


def fragment_sizes(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    sizes: Sequence[int] | None = None,
    unit: str | None = None,
    transaction: str | None = None,
    longest_stall_s: float = 1.0,
    largest_slowdown: float = 1.5,
    least_payload: float = 0.8,
    seed: int | None = None,
    replications: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> FragmentSizes:
    """Simulate a scheduled transaction without streaming replication and with several sizes.

    All sizes use the same random numbers, so that slowdowns are not blurred by different ones.
    The default is a grid, powers of the root of ten from one row to all of the transaction, begun
    with the largest. It ends when the time has risen twice in a row, from one size to the next
    smaller, to more than twice what is allowed.

    A run ends ``run.settle_s`` after the transaction has ended (or five times ``longest_stall_s``),
    whatever ``run.duration_s`` is, and its series has five intervals per ``longest_stall_s``,
    whatever ``run.interval_s`` is. An interrupt (Ctrl-C) leaves the finished sizes. A payload that
    commits so seldom that a silence may be chance gives a ``ShortRunWarning``.
    """
    loaded = load(scenario)
    criteria = _criteria_of(longest_stall_s, largest_slowdown, least_payload)
    position = scheduled_position(loaded, transaction)
    table = loaded.workload.scheduled[position]
    seed = loaded.run.seed if seed is None else seed
    replications = loaded.run.replications if replications is None else replications
    if replications < 1:
        raise ScenarioError("replications", f"must be at least 1, given {replications}")
    base = until_it_has_ended(loaded, position, longest_stall_s)
    unit = _unit_of(setup_of(base), table, unit)
    whole = _whole_of(table, unit)
    least = max(1, table.row_bytes) if unit == "bytes" else 1
    grid = _grid_of(least, whole) if sizes is None else _checked(sizes, least, whole, unit)

    def streamed(size: int) -> Setup:
        session = {**table.session, _FRAGMENT_UNIT: unit, _FRAGMENT_SIZE: size}
        return setup_of(with_values(base, {f"workload.scheduled.{position}.session": session}))

    setups = [streamed(size) for size in (0, *grid)]
    # Of given sizes all are wanted; of the grid, only those up to the one that is hopeless.
    ahead = [0 if sizes is not None else whole // size for size in (*grid[:1], *grid)]
    without: list[_Sample] = []
    hopeless = False

    def samples() -> Iterator[list[_Sample]]:
        numbers = range(replications)
        work = [[(setup, seed, number, position) for number in numbers] for setup in setups]
        # Sizes with many fragments may not be wanted any more when they are next.
        return in_groups(_simulate, work, executor, early=lambda place: ahead[place] <= _CHEAP)

    def rows() -> Iterator[FragmentSize]:
        nonlocal without, hopeless
        done: list[FragmentSize] = []
        for size, own in zip((0, *grid), samples(), strict=True):
            without = without or _references(own, table, base, criteria, position)
            done.append(_row(size, own, without, criteria))
            hopeless = sizes is None and _hopeless(done[1:], criteria)
            yield done[-1]
            if hopeless:
                return

    def tell(done: int, total: int) -> None:
        if callable(progress):
            progress(total if hopeless else done, total)

    found, complete = collected(rows(), progress=tell, total=len(setups))
    return FragmentSizes(
        title=loaded.name,
        transaction=table.name,
        unit=unit,
        whole=whole,
        criteria=criteria,
        before_tps=fmean(sample.before_tps for sample in without),
        without=found[0],
        sizes=tuple(sorted(found[1:], key=lambda one: one.size)),
        skipped=tuple(sorted(grid[len(found) - 1 :])) if complete else (),
        interval_s=base.run.interval_s,
        seed=seed,
        replications=replications,
        complete=complete,
        scenario=setups[0].scenario.to_dict(),
        versions=setups[0].versions,
    )


# -- what is simulated ---------------------------------------------------------------------------


def _criteria_of(longest_stall_s: float, largest_slowdown: float, least_payload: float) -> Criteria:
    """The criteria, if they can be met."""
    if not 1.0 <= largest_slowdown < inf:
        raise ScenarioError(
            "largest_slowdown", f"must be at least 1 and finite, given {largest_slowdown}"
        )
    if not 0.0 <= least_payload <= 1.0:
        raise ScenarioError("least_payload", f"must be from 0 to 1, given {least_payload}")
    return Criteria(longest_stall_s, largest_slowdown, least_payload)


def _unit_of(setup: Setup, table: ScheduledTable, unit: str | None) -> str:
    """The unit: as asked for, as the scenario sets it, or bytes."""
    options = setup.scenario.cluster.options
    chosen = str(
        unit or table.session.get(_FRAGMENT_UNIT) or options.get(_FRAGMENT_UNIT) or _UNITS[0]
    )
    if chosen not in _UNITS:
        raise ScenarioError("unit", f"no unit {chosen!r}", nearest(chosen, _UNITS))
    return chosen


def _whole_of(table: ScheduledTable, unit: str) -> int:
    """All of the transaction in that unit."""
    rows = table.statements * table.rows
    return {"bytes": rows * table.row_bytes, "rows": rows, "statements": table.statements}[unit]


def _grid_of(least: int, whole: int) -> list[int]:
    """Powers of the root of ten, with two digits, from the largest to the smallest."""
    most = min(whole, _LARGEST)
    powers = [round(float(f"{10 ** (half / 2):.1e}")) for half in range(20)]
    return [size for size in reversed(powers) if least <= size <= most] or [most]


def _checked(sizes: Sequence[int], least: int, whole: int, unit: str) -> list[int]:
    """Sizes that were asked for, the largest first, if all of them can be reached."""
    if not sizes:
        raise ScenarioError("sizes", "needs at least one size")
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, int):
            raise ScenarioError("sizes", f"must be whole numbers, given {size!r}")
        if size < least:
            row = f"a row has {least} bytes" if unit == "bytes" else "at least 1"
            raise ScenarioError("sizes", f"{size} {unit} are less than one row", row)
        if size > min(whole, _LARGEST):
            raise ScenarioError(
                "sizes",
                f"{size_text(size)} {unit} would never be reached",
                f"all of it are {size_text(whole)}, and {_FRAGMENT_SIZE} is at most {_LARGEST}",
            )
    return sorted(set(sizes), reverse=True)


def _simulate(setup: Setup, seed: int, replication: int, position: int) -> _Sample:
    done = simulate(setup, seed, replication)
    record = done.scheduled[position]
    # Its origin keeps rows locked from its begin to its commit, the others from the first of it
    # that they are sent until they have committed.
    remote_s = record.end_s - record.replicate_s
    paused = max(
        (own.get("wsrep_flow_control_paused", 0.0) for own in done.counters.values()), default=0.0
    )
    return _Sample(
        figures={
            "fragments": float(record.fragments),
            "duration_s": record.duration_s,
            "payload_tps": record.during_tps,
            "payload_share": record.during_tps / record.before_tps if record.before_tps else nan,
            "stall_s": record.stall_s,
            "lock_hold_s": max(record.duration_s, remote_s),
            "remote_lock_hold_s": remote_s,
            "paused_s": paused * done.measurement.ended_s,
            "wsrep_flow_control_paused": paused,
        },
        before_tps=record.before_tps,
        executed_s=record.execution_s,
        error=record.error,
    )


# -- what came of it -----------------------------------------------------------------------------


def _references(
    samples: list[_Sample], table: ScheduledTable, base: Scenario, criteria: Criteria, position: int
) -> list[_Sample]:
    """The replications without streaming, if others can be compared with them."""
    for sample in samples:
        if not sample.before_tps > 0.0:
            raise SimrepError(
                f"nothing commits before {table.name!r} begins: there is no payload to compare with"
            )
        if not _reference_s(sample) > 0.0:
            raise SimrepError(
                f"without streaming replication {table.name!r} fails while it executes: "
                f"{sample.error}"
            )
    rate = fmean(sample.before_tps for sample in samples)
    if rate * criteria.longest_stall_s < _FEWEST:
        warnings.warn(
            f"the payload commits {rate:.3g} times per second: a silence of "
            f"{criteria.longest_stall_s:g} s may be chance",
            ShortRunWarning,
            stacklevel=5,
        )
    elif rate * (table.at_s - base.run.warmup_s) < _FEWEST**2:
        warnings.warn(
            f"few transactions commit before {table.name!r} begins: let it begin later "
            f"(workload.scheduled.{position}.at_s)",
            ShortRunWarning,
            stacklevel=5,
        )
    return samples


def _reference_s(sample: _Sample) -> float:
    """What it takes without streaming; of one that fails at its commit, what it takes until then.

    A transaction that is too large for one writeset is one reason to stream it.
    """
    return sample.executed_s if sample.error else sample.figures["duration_s"]


def _row(
    size: int, samples: list[_Sample], without: list[_Sample], criteria: Criteria
) -> FragmentSize:
    columns = {name: [s.figures[name] for s in samples] for name in samples[0].figures}
    columns["slowdown"] = [
        sample.figures["duration_s"] / _reference_s(reference)
        for sample, reference in zip(samples, without, strict=True)
    ]
    figures = {name: _mean(values) for name, values in columns.items()}
    figures["stall_s"] = max(columns["stall_s"])
    errors = [sample.error for sample in samples if sample.error]
    error = errors[0] if errors else ""
    if errors and len(samples) > 1:
        error += f" ({len(errors)} of {len(samples)})"
    return FragmentSize(
        size=size,
        error=error,
        failing=FragmentSize.judged(figures, error, criteria),
        intervals=_intervals(columns),
        **figures,
    )


def _hopeless(found: Sequence[FragmentSize], criteria: Criteria) -> bool:
    """Whether ever smaller fragments have become slower twice in a row, far beyond the limit.

    One slow size tells nothing: flow control may hit it, and spare the next smaller one.
    """
    if len(found) < 3:
        return False
    before, last, smallest = (one.slowdown for one in found[-3:])
    return max(before, _HOPELESS * criteria.largest_slowdown) < last < smallest


def _mean(values: Sequence[float]) -> float:
    """Of those replications that have the figure; of equal values that value itself."""
    known = [value for value in values if isfinite(value)]
    if not known:
        return nan
    return known[0] if min(known) == max(known) else fmean(known)


def _intervals(columns: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, float]]:
    bounds = {}
    for name, values in columns.items():
        if len(values) > 1 and all(isfinite(value) for value in values):
            interval = mean_interval(values)
            bounds[name] = (interval.low, interval.high)
    return bounds
