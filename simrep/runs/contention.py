"""Rows that many want: a warning before a run, and what came of it after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from simrep.contract.setup import Setup
from simrep.measure.breakdown import Breakdown
from simrep.measure.counts import ClassCount
from simrep.scenario.classes import ClassTable
from simrep.scenario.sysbench import KEY_WORDS, VERSION, sysbench_classes
from simrep.scenario.tpcc import TPCC_PRESETS
from simrep.workload.classes import Step, TransactionClass
from simrep.workload.keys import Keys
from simrep.workload.laps import LAPS, Lap

__all__ = ["contention", "preset_trap"]

_MEETINGS = 1.0  # others that a transaction meets in a row, on average: a fifth of its time
_DOMINATES = 0.5  # share of the latency that is spent waiting for locks
_FAILING = 0.2  # share of the attempts that fail
_TOLD = 0.01  # the same, where it is worth a word
_STAGES = {LAPS[Lap.LOCK_WAIT]: "row locks", LAPS[Lap.RETRIES]: "attempts before the last"}
_SYSBENCH = "sysbench-"


def preset_trap(setup: Setup) -> str:
    """The warning before a run that defaults of sysbench are going to decide; empty if none.

    They send most of the writes to few rows. Who says which rows are written, in words of sysbench
    or of a class, is not warned.
    """
    table = setup.scenario.workload
    if table.preset is None or not table.preset.startswith(_SYSBENCH):
        return ""
    if table.preset in TPCC_PRESETS:  # its rows are those of TPC-C
        return ""
    own = setup.scenario.source.get("workload", {}).get("class", ())
    words = {} if table.sysbench is None else table.sysbench.words
    if words.keys() & {*KEY_WORDS} or any("keys" in one for one in own):
        return ""
    others = _under_way(setup) - 1.0
    classes = {one.name: one for one in setup.workload.classes}
    for content in sysbench_classes(table.preset, words):
        one = classes.get(content["name"])
        if one is not None and others * _meetings(one) >= _MEETINGS:
            return (
                f"preset {table.preset!r} writes to rows as sysbench {VERSION} does by default: "
                f"{_said(_most_wanted(one).keys)}. About {others + 1.0:.0f} transactions at a time "
                "queue up for them. Describe your test in [workload.sysbench]: table_size, tables, "
                'rand_type = "uniform" (or "special", if that is meant)'
            )
    return ""


def _under_way(setup: Setup) -> float:
    """Transactions at a time, at least, as far as that is known before a run."""
    workload = setup.workload
    slowest_s = max((path.latency.base_s for path in setup.paths.values()), default=0.0)
    return len(workload.nodes) + sum(
        one.connections or 2.0 * slowest_s * one.rate_tps for one in workload.arrivals
    )


def _meetings(one: TransactionClass) -> float:
    """How many of the rows of a transaction another one of its class wants as well."""
    return sum(map(_wanted, one.parts))


def _most_wanted(one: TransactionClass) -> Step:
    return max(one.parts, key=_wanted)


def _wanted(step: Step) -> float:
    return step.rows_written**2 * step.keys.same_row()


def contention(
    workload: Mapping[str, Any],
    breakdown: Callable[[str], Breakdown],
    counts: Mapping[str, ClassCount],
    error_texts: Mapping[str, str],
) -> str:
    """Why a run was slow, if row locks or conflicts decided it; empty if they did not.

    Parameters
    ----------
    workload : mapping
        Of the scenario, with its defaults.
    breakdown : callable
        The stages of a class by its name.
    counts : mapping of str to ClassCount
        By class.
    error_texts : mapping of str to str
        What errors say, by their number.
    """
    found = []
    for content in workload.get("class", ()):
        one = ClassTable.model_validate(content).transaction_class()
        if one.name not in counts or not _meetings(one):
            continue
        count = counts[one.name]
        told = {name: times for name, times in count.errors.items() if times}
        conflicts = {name: told[name] for name in told if _is_conflict(error_texts.get(name, name))}
        shares = breakdown(one.name).shares if count.committed else {}
        stages = {LAPS[lap]: shares.get(LAPS[lap], 0.0) for lap in (Lap.LOCK_WAIT, Lap.RETRIES)}
        waiting = sum(stages.values())
        failing = sum(conflicts.values()) / max(1, count.committed + count.aborted)
        if waiting >= _DOMINATES or failing >= _FAILING:
            found.append((max(waiting, failing), stages, failing, conflicts, one))
    if not found:
        return ""
    _, stages, failing, conflicts, worst = max(found, key=lambda entry: entry[0])
    what = [
        f"{_STAGES[name]} take {share:.0%} of the latency"
        for name, share in stages.items()
        if share >= _TOLD
    ]
    if failing >= _TOLD:
        numbers = ", ".join(conflicts)
        what.append(f"{failing:.0%} of the attempts fail ({numbers})")
    how = "more rows (keys.rows), or another keys.distribution"
    if str(workload.get("preset", "")).startswith(_SYSBENCH):
        how = (
            'rand_type = "uniform", or a larger table_size and more tables, in [workload.sysbench]'
        )
    step = _most_wanted(worst)
    rows = step.rows_written
    return (
        f"Conflicts decide this run: of class {worst.name!r}, {', '.join(what)}. It writes "
        f"{rows} row{'s' * (rows > 1)} of {step.table!r}, and {_said(step.keys)}. "
        f"To spread them, set {how}"
    )


def _is_conflict(error: str) -> bool:
    """Whether an error comes of rows that others want."""
    words = error.lower()
    return any(word in words for word in ("deadlock", "lock wait", "conflict", "certification"))


def _said(keys: Keys) -> str:
    """Which rows are written, in words."""
    each = "" if keys.tables == 1 else f" of each of {keys.tables:,} tables"
    rows = f"{keys.rows:,} row{'s' * (keys.rows > 1)}{each}"
    if keys.distribution == "hot":
        return f"{keys.hot_fraction:.0%} of the choices fall on {keys.hot_rows:,} of {rows}"
    if keys.distribution in {"zipf", "pareto"}:
        return f"{keys.first_row():.1%} of the choices fall on the first of {rows}"
    if keys.distribution == "gaussian":
        return f"the choices crowd around the middle of {rows}"
    if keys.distribution == "scan":
        return f"every statement begins with the first of {rows}"
    return f"the choices fall on {rows} evenly"
