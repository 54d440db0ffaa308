"""How large a gcache lets a node that was away catch up without a full state transfer.

A donor of Galera sends what a node has missed (incremental transfer, IST) if it still has all of it
in its gcache. Of the writesets in there it sets the oldest part aside, a 128th and at most 2^20 of
them, since more may be overwritten before the transfer begins (``group_find_ist_donor`` in
``gcs_group.cpp``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from math import ceil, inf
from statistics import fmean
from typing import TYPE_CHECKING, Any

from simrep.modelling import ScenarioError, SimrepError
from simrep.modelling.questions import (
    Answer,
    Result,
    Scenario,
    Task,
    collected,
    mean_interval,
    number,
    plot,
    short_setup,
    simulate_groups,
    size,
    tables,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Group

__all__ = ["Gcache", "gcache_bytes", "gcache_lasts_s", "gcache_size"]

DEFAULT_BYTES = 128 << 20  # gcache.size, if nothing is set
_SET_ASIDE = 128
_MOST_SET_ASIDE = 1 << 20
_MIB = 1 << 20
_POINTS = 60  # of the figure


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Gcache(Answer):
    """The size of a gcache, in bytes.

    Attributes
    ----------
    outage_s : float
    rates : tuple of (float, float)
        Writesets and bytes per second of each replication.
    """

    outage_s: float
    rates: tuple[tuple[float, float], ...]

    def _rows(self) -> list[dict[str, Any]]:
        """A row per replication."""
        return [
            {
                "replication": replication,
                "writesets_per_s": writesets,
                "bytes_per_s": volume,
                "gcache_bytes": gcache_bytes(writesets, volume, self.outage_s),
            }
            for replication, (writesets, volume) in enumerate(self.rates)
        ]


def gcache_bytes(writesets_per_s: float, bytes_per_s: float, outage_s: float) -> float:
    """What a gcache has to hold for an incremental transfer after an outage.

    >>> gcache_bytes(1.0, 127.0, 127.0)  # 127 writesets, and a 128th set aside
    16256.0
    """
    missed = writesets_per_s * outage_s
    if not missed > 0.0:
        return 0.0
    held = min(missed * _SET_ASIDE / (_SET_ASIDE - 1), missed + _MOST_SET_ASIDE)
    return held / writesets_per_s * bytes_per_s


def gcache_lasts_s(size_bytes: float, writesets_per_s: float, writeset_bytes: float) -> float:
    """How long a node may be away until a gcache has not all any more that it has missed.

    >>> gcache_lasts_s(16256.0, 1.0, 127.0)  # see ``gcache_bytes``
    127.0
    """
    if not writesets_per_s * writeset_bytes > 0.0:
        return inf
    held = size_bytes / writeset_bytes
    return max(held - held / _SET_ASIDE, held - _MOST_SET_ASIDE) / writesets_per_s


def gcache_size(
    scenario: Scenario,
    *,
    outage_s: float,
    replications: int = 10,
    confidence: float = 0.95,
    seed: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> Gcache:
    """The gcache that a node needs to catch up by an incremental transfer after an outage.

    The load is taken to last for all of the outage; other options are those of :func:`simrep.plan`.
    """
    if not 0.0 < outage_s < float("inf"):
        raise ScenarioError("outage_s", f"must be above 0 and finite, given {outage_s:g}")
    if replications < 2:
        raise ScenarioError("replications", f"an interval needs at least 2, given {replications}")
    seed = scenario.run.seed if seed is None else seed
    setup, remarks = short_setup(scenario, seed, ("throughput_tps",))
    groups = [[Task(setup, number)] for number in range(replications)]
    simulated = (rate for [rate] in simulate_groups(groups, _rates, seed, executor))
    rates, complete = collected(simulated, least=2, progress=progress, total=replications)
    needed = mean_interval([gcache_bytes(*rate, outage_s) for rate in rates], confidence)
    return Gcache(
        question=f"The gcache for an incremental transfer after an outage of {_time(outage_s)}",
        sentence=_sentence(rates, needed.low, needed.high, outage_s, confidence),
        value=float(ceil(needed.high / _MIB) * _MIB),
        low=needed.low,
        high=needed.high,
        unit="bytes",
        confidence=confidence,
        notes=(
            "The load is taken to stay as it is: ask with that of the busiest hours.",
            (
                "Writesets as the server counts them (wsrep_replicated_bytes); what else a gcache "
                "holds comes on top, so leave some room."
            ),
            *remarks,
        ),
        seed=seed,
        complete=complete,
        scenario=setup.scenario.to_dict(),
        versions=setup.versions,
        outage_s=outage_s,
        rates=tuple(rates),
    )


def _rates(result: Result) -> tuple[float, float]:
    """Writesets and their bytes per second of the measured time."""
    counters = result.counters.values()
    commits = sum(own["wsrep_local_commits"] for own in counters)
    if not commits:
        raise SimrepError("nothing was replicated: lengthen run.duration_s")
    writesets, volume = (
        sum(own[name] for own in counters) / commits
        for name in ("wsrep_replicated", "wsrep_replicated_bytes")
    )
    return writesets * result.throughput_tps, volume * result.throughput_tps


def _sentence(
    rates: Sequence[tuple[float, float]],
    low: float,
    high: float,
    outage_s: float,
    confidence: float,
) -> str:
    volume = fmean(volume for _, volume in rates)
    one_s = fmean(gcache_bytes(*rate, 1.0) for rate in rates)
    span = f"{_setting(low)} to {_setting(high)}, {100.0 * confidence:.3g} %"
    return (
        f"gcache.size = {_setting(high)} ({span}) for {_time(outage_s)}: {size(volume)} of "
        f"writesets per second. The default of 128M lasts {_time(DEFAULT_BYTES / one_s)}."
    )


def _setting(needed: float) -> str:
    return f"{ceil(needed / _MIB):,}M"


def _time(seconds: float) -> str:
    if seconds < 90.0:
        return f"{number(seconds)} s"
    return f"{number(seconds / 60.0)} min" if seconds < 5400.0 else f"{number(seconds / 3600.0)} h"


@tables.register(Gcache)
def gcache_tables(answer: Gcache) -> Group:
    """A row per length of the outage."""
    from simrep.modelling.questions import answer_tables, table

    rows = []
    for hours in sorted({1.0, 2.0, 4.0, 8.0, 24.0, answer.outage_s / 3600.0}):
        needed = fmean(gcache_bytes(*rate, 3600.0 * hours) for rate in answer.rates)
        rows.append((_time(3600.0 * hours), _setting(needed)))
    return answer_tables(answer, table(("outage", "gcache.size"), "l", rows))


@plot.register(Gcache)
def plot_gcache(answer: Gcache) -> Figure:
    """The size with its interval, up to twice the outage that was asked for."""
    from simrep.modelling.figure import PALETTE, Sheet

    hours = [2.0 * answer.outage_s / 3600.0 * step / _POINTS for step in range(1, _POINTS + 1)]
    sizes = [
        mean_interval([gcache_bytes(*rate, 3600.0 * one) / 1e6 for rate in answer.rates])
        for one in hours
    ]
    figure = Sheet(8.0, 4.4)
    axes = figure.subplots()
    axes.plot(hours, [one.mean for one in sizes], color=PALETTE[0], zorder=3)
    axes.fill_between(hours, [one.low for one in sizes], [one.high for one in sizes],
                      color=PALETTE[0], alpha=0.2, linewidth=0, zorder=2)  # fmt: skip
    axes.axhline(DEFAULT_BYTES / 1e6, color=PALETTE[1], linewidth=1.2, linestyle=(0, (2, 2)),
                 label="default, 128M", zorder=1)  # fmt: skip
    if answer.value is not None:
        axes.plot([answer.outage_s / 3600.0], [answer.value / 1e6], "o", color=PALETTE[0],
                  label="asked for", zorder=4)  # fmt: skip
    axes.set_xlim(0, hours[-1])
    axes.set_ylim(0)
    axes.set_xlabel("outage (h)")
    axes.set_ylabel("gcache.size (MB)")
    axes.set_title(answer.question)
    axes.legend()
    return figure
