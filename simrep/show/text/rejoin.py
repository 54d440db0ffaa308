"""The return of a node as text: its parts, what the others feel, and other absences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from statistics import fmean

import numpy as np
from rich.console import Group, RenderableType

from simrep.measure.confidence import mean_interval
from simrep.measure.units import amount, duration, number
from simrep.show.text.layout import closing, table, title, words
from simrep.show.views import tables
from simrep.whatif.plan.rejoin_answer import Rejoin
from simrep.whatif.plan.return_words import time_of, volume_of

__all__ = ["FELT", "SHORT_S", "rejoin_tables"]

FELT = {
    "before": "all nodes are there",
    "away": "it is away",
    "joins": "it starts and joins",
    "copies": "it is copied to",
    "prepares": "it prepares",
    "applies": "it applies",
}
"""Parts of a return, as others meet them."""
_HOURS = (1.0 / 12.0, 1.0, 4.0, 24.0, 72.0)
SHORT_S = 0.05
"""What takes less is no part worth a line, in seconds."""
_FEWEST = 20  # commits that have a 95th percentile, and five times as many a 99th


@tables.register(Rejoin)
def rejoin_tables(answer: Rejoin) -> Group:
    """Its parts, what clients of other nodes feel, and other absences."""
    missing = "" if answer.complete else "the search is not over"
    parts: list[RenderableType] = [
        title(f"{answer.question}, seed {answer.seed}"),
        table(("part", "takes", "", "because"), "lrrl", _parts(answer)),
        table(
            ("while", "donor: writes/s", "p95", "p99", "others: writes/s", "p95", "p99"),
            "lrrrrrr",
            _felt(answer),
        ),
    ]
    if answer.away_s is not None:
        parts.append(table(("away for", "by", "back after"), "llr", _absences(answer)))
    return Group(*parts, words(answer.sentence), closing(["", *answer.notes], missing=missing))


def _parts(answer: Rejoin) -> Iterator[tuple[str, str, str, str]]:
    thing, data = answer.rules.thing, volume_of(answer.data_bytes)
    played = answer.played
    by_hand = answer.by == "hand" and answer.copies is None
    away_s = answer.by_hand_s if by_hand else answer.away_s or 0.0
    lacks = fmean(
        played.lacks(one, copied, away_s, answer.data_bytes)
        for one, copied in zip(played.returns, played.data_bytes, strict=True)
    )
    net = fmean(one.net_tps for one in played.returns)
    rate = 1e-6 / played.byte_s if played.byte_s else 0.0
    reasons = {
        "starts": ("its server starts", "process, storage engine"),
        "joins": ("it joins", "a view of the group, scripts"),
        "copies": ("all data are copied", f"{data}" + (f" at {number(rate)} MB/s" * bool(rate))),
        "prepares": ("it prepares", "storage engine, scripts, starts"),
        "applies": (
            "it catches up",
            f"{amount(lacks)} {thing}, {number(net)} fewer each second" if isfinite(lacks) else "",
        ),
    }
    phases = answer.phases()
    for name, seconds in phases.items():
        if max(seconds) >= SHORT_S:
            part, because = reasons[name]
            yield part, *_mean(seconds, answer.confidence), because
    totals = [sum(each) for each in zip(*phases.values(), strict=True)]
    yield f"it is {answer.rules.back}", *_mean(totals, answer.confidence), ""


def _mean(seconds: Sequence[float], confidence: float | None) -> tuple[str, str]:
    if not all(map(isfinite, seconds)):
        return time_of(max(seconds)), ""
    span = mean_interval(list(seconds), confidence or 0.95)
    low, high = time_of(max(0.0, span.low)), time_of(span.high)
    return time_of(span.mean), "" if low == high else f"{low} .. {high}"


def _felt(answer: Rejoin) -> Iterator[tuple[str, ...]]:
    for part, name in FELT.items():
        cells = [name]
        length_s = 0.0
        for on in ("donor", "others"):
            seconds, latencies = answer.played.latency_s(part, on)
            length_s = max(length_s, seconds)
            count = len(latencies)
            cells.append(number(count / seconds) if seconds and count else "-")
            for percent, least in ((95.0, _FEWEST), (99.0, 5 * _FEWEST)):
                known = count >= least
                cells.append(duration(np.percentile(latencies, percent)) if known else "-")
        if length_s >= SHORT_S * len(answer.played.returns):
            yield tuple(cells)


def _absences(answer: Rejoin) -> Iterator[tuple[str, str, str]]:
    assert answer.away_s is not None
    for away_s in sorted({*(3600.0 * hours for hours in _HOURS), answer.away_s}):
        way, seconds = answer.after(away_s)
        yield time_of(away_s), way, time_of(fmean(seconds)) if seconds else "-"
