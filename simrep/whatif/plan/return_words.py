"""The answer to how long a node takes to come back, in words."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, isnan
from statistics import fmean, median
from typing import TYPE_CHECKING

from simrep.measure.confidence import Interval
from simrep.measure.units import amount, duration, number, size

if TYPE_CHECKING:
    from simrep.whatif.plan.rejoin_answer import Rejoin

__all__ = ["notes_of", "sentence_of", "time_of", "volume_of"]


def time_of(seconds: float) -> str:
    """A length of time as people say it.

    >>> time_of(0.4), time_of(8.04), time_of(360), time_of(7_200), time_of(float("inf"))
    ('400 ms', '8.04 s', '6 min', '2 h', 'for ever')
    """
    if not isfinite(seconds):
        return "for ever" if seconds == inf else "-"
    if seconds < 120.0:
        return duration(seconds)
    for unit_s, name, most in ((60.0, "min", 120.0), (3600.0, "h", 72.0)):
        if seconds < most * unit_s:
            return f"{number(seconds / unit_s)} {name}"
    return f"{number(seconds / 86_400.0)} days"


def volume_of(size_bytes: float) -> str:
    """Bytes as people say them, up to GB (of 1,000,000,000 bytes).

    >>> volume_of(250e6), volume_of(100e9)
    ('250.0 MB', '100 GB')
    """
    return f"{number(size_bytes / 1e9)} GB" if size_bytes >= 1e9 else size(size_bytes)


def sentence_of(answer: Rejoin, span: Interval | None, totals: Sequence[float]) -> str:
    """The answer; ``totals`` is what a return takes in each replication, in seconds."""
    rules, played = answer.rules, answer.played
    name, back = answer.node, rules.back
    lead = ""
    if answer.by == "hand":
        way = "a copy by hand" if answer.copies is None else f"{answer.copies.way.name} by hand"
        lead = f"{rules.refusal or 'Nobody copies data to it'}: it takes {way}. "
    else:
        way = played.way.name
    donors = [one.donor for one in played.returns]
    source = "" if answer.by == "hand" else f" from {_those(donors)}"
    applied = fmean(one.net_tps + one.arrive_tps for one in played.returns)
    arrives = fmean(one.arrive_tps for one in played.returns)
    rates = f"It applies {number(applied)}/s, and {number(arrives)}/s arrive."
    if any(total == inf for total in totals):
        times = sum(total == inf for total in totals)
        return (
            f"{lead}{name} does not catch up in {times} of {len(totals)} runs, by {way}{source}. "
            f"{rates}"
        )
    if span is None:
        return f"{lead}How long that takes is not known: give --disk. {rates}"
    within = f"{time_of(max(0.0, span.low))} to {time_of(span.high)}"
    percent = f"{100.0 * span.confidence:.3g} %"
    return (
        f"{lead}{name} is {back} {time_of(span.mean)} ({within}, {percent}) after its start, by "
        f"{way}{source}. {rates}"
    )


def _those(names: Sequence[str]) -> str:
    """Who gave it, the most frequent first."""
    counts = {name: names.count(name) for name in sorted(set(names))}
    if len(counts) == 1:
        return names[0]
    ranked = sorted(counts, key=lambda name: -counts[name])
    return " or ".join(f"{name} ({counts[name]} of {len(names)})" for name in ranked)


def notes_of(answer: Rejoin, rate_tps: float, size_bytes: float) -> tuple[str, ...]:
    """What else there is to know, at such a rate of transactions of such a size."""
    rules, played = answer.rules, answer.played
    notes = []
    lasts = time_of(answer.lasts_s)
    kept = f"{rules.kept.what}: a node's missed transactions are kept "
    kept += lasts if answer.lasts_s == inf else f"for {lasts}"
    if isfinite(answer.lasts_s):
        kept += f", at {number(rate_tps)} {rules.thing} of {size(size_bytes)} per second"
    notes.append(f"{kept}.")
    longest = max(one.stall_s for one in played.returns)
    later = max(one.later_stall_s for one in played.returns)
    notes.append(
        f"Simulated: an absence of {time_of(played.away_s)}"
        + (f", copies of {_sizes(played.data_bytes)}" if played.way.copies else "")
        + f", {len(played.returns)} times. The rest is extrapolated: bytes of a copy, and "
        f"{rules.thing} at the rates that were seen; the load is taken to stay as it is."
    )
    notes.append(
        f"While it joins, nobody writes for up to {duration(longest)}, and later for up to "
        f"{duration(later)}. It had shut down in order: crash recovery and a cold buffer pool "
        "come on top."
    )
    if played.way.at_begin:
        behind = fmean(one.copy_tps for one in played.returns)
        seconds = median(answer.phases()["copies"])
        notes.append(
            f"Its donor stands still for {time_of(seconds)}: the donor's clients wait in their "
            f"commits. Then the donor has {amount(behind * seconds)} {rules.thing} to apply."
        )
    if played.way.cores_byte_s is not None and played.byte_s:
        donor, node = (f"{each / played.byte_s:.1f}" for each in played.way.cores_byte_s)
        sent = ""
        if played.way.ratio > 1.0:
            sent = f"{volume_of(answer.data_bytes / played.way.ratio)} are sent. "
        notes.append(
            f"{sent}The copy takes {donor} cores of the donor and {node} of {answer.node}."
        )
    if answer.by == "hand" and answer.copies is None and not isnan(answer.by_hand_s):
        notes.append(
            "The copy is not simulated: its time follows from its bytes and --disk or the "
            "network, without its effect on the source."
        )
    applied = fmean(one.net_tps + one.arrive_tps for one in played.returns)
    arrives = fmean(one.arrive_tps for one in played.returns)
    if applied < 1.2 * arrives:
        notes.append(
            f"It applies hardly more than arrives ({number(applied)} and {number(arrives)} per "
            "second): a little more load, and it never catches up."
        )
    lone = answer.follows is None or answer.copies is None
    if lone and answer.away_s is not None and rules.copies is not None:
        notes.append("The other way was not simulated: its times are not known (-).")
    return (*notes, *rules.notes)


def _sizes(sizes: Sequence[float]) -> str:
    return " and ".join(volume_of(one) for one in sorted(set(sizes)))
