"""The return of a node as a figure: how long it takes after any absence, and who feels it."""

from __future__ import annotations

from math import inf, isfinite
from statistics import fmean

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    MultipleLocator,
    NullFormatter,
    NullLocator,
)

from simrep.measure.confidence import mean_interval
from simrep.measure.units import duration
from simrep.show.plot.style import GREY, LIMIT, PALETTE, Sheet, row_axis
from simrep.show.text.rejoin import FELT, SHORT_S
from simrep.show.views import plot
from simrep.whatif.plan.rejoin_answer import Rejoin

__all__ = ["plot_rejoin"]

_POINTS = 240
_SHORTEST_S = 60.0
_FEWEST = 20
_MOST_TICKS = 7
_STEPS_S = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0,
            21_600.0, 86_400.0, 604_800.0)  # fmt: skip
_TICKS_S = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0, 345_600.0,
            1_209_600.0, 5_184_000.0)  # fmt: skip
_PARTS = {"starts": GREY, "joins": PALETTE[5], "copies": PALETTE[1], "prepares": PALETTE[4],
          "applies": PALETTE[0]}  # fmt: skip
_NAMES = {"starts": "starts", "joins": "joins", "copies": "copies all data",
          "prepares": "prepares", "applies": "applies what it lacks"}  # fmt: skip


@plot.register(Rejoin)
def plot_rejoin(answer: Rejoin) -> Sheet:
    """Draw the parts of the return, the time over the absence, and latencies of the others."""
    away = answer.away_s is not None
    figure = Sheet(8.0, 7.8 if away else 5.2)
    ratios = [0.9, 2.4, 2.4] if away else [0.9, 2.4]
    panels = figure.subplots(len(ratios), 1, height_ratios=ratios)
    _parts_panel(panels[0], answer)
    if away:
        _absence_panel(panels[1], answer)
    _felt_panel(panels[-1], answer)
    figure.headline(answer.question)
    return figure


def _parts_panel(axes: Axes, answer: Rejoin) -> None:
    left = 0.0
    for name, seconds in answer.phases().items():
        if not all(map(isfinite, seconds)):
            axes.annotate("never" if any(one == inf for one in seconds) else "not known", (left, 0),
                          xytext=(6.0, 0.0), textcoords="offset points", va="center")  # fmt: skip
            continue
        mean_s = fmean(seconds)
        axes.barh(0, mean_s, left=left, height=0.6, color=_PARTS[name], label=_NAMES[name])
        left += mean_s
    axes.set_yticks([])
    axes.set_xlim(0.0, left or 1.0)
    step_s = next((one for one in _STEPS_S if left <= _MOST_TICKS * one), _STEPS_S[-1])
    axes.xaxis.set_major_locator(MultipleLocator(step_s))
    axes.xaxis.set_major_formatter(FuncFormatter(_time))
    axes.set_title("What its return consists of")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.45), ncols=5, columnspacing=1.2,
                handlelength=1.4)  # fmt: skip


def _absence_panel(axes: Axes, answer: Rejoin) -> None:
    assert answer.away_s is not None
    shortest_s, longest_s = min(_SHORTEST_S, answer.away_s / 4.0), 4.0 * answer.away_s
    if isfinite(answer.lasts_s):
        longest_s = max(longest_s, 2.0 * answer.lasts_s)
    by_way: dict[str, list[tuple[float, float, float, float]]] = {}
    for away_s in np.geomspace(shortest_s, longest_s, _POINTS).tolist():
        way, seconds = answer.after(away_s)
        if seconds and all(map(isfinite, seconds)):
            span = mean_interval(list(seconds), answer.confidence or 0.95)
            point = (away_s, span.mean, max(0.0, span.low), span.high)
            by_way.setdefault(way, []).append(point)
    for shade, (way, points) in zip(PALETTE, by_way.items(), strict=False):
        x, mean, low, high = np.array(points).T
        axes.plot(x, mean, color=shade, label=way)
        axes.fill_between(x, low, high, color=shade, alpha=0.2, linewidth=0)
    if isfinite(answer.lasts_s):
        axes.axvline(answer.lasts_s, **LIMIT, label="kept so long")
    if answer.value is not None:
        axes.plot([answer.away_s], [answer.value], "o", color=PALETTE[6], label="asked for")
    for axis in (axes.xaxis, axes.yaxis):
        (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log")
        axis.set_major_locator(FixedLocator(_TICKS_S))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(_time))
    axes.set_xlim(shortest_s, longest_s)
    axes.set_xlabel("away for, logarithmic")
    axes.set_ylabel("time, logarithmic")
    axes.set_title(f"Time until it is {answer.rules.back}")
    if by_way:
        axes.legend()


def _felt_panel(axes: Axes, answer: Rejoin) -> None:
    names: list[str] = []
    for part, name in FELT.items():
        seen = {on: answer.played.latency_s(part, on) for on in ("donor", "others")}
        short_s = SHORT_S * len(answer.played.returns)
        if not any(seconds >= short_s for seconds, _ in seen.values()):
            continue
        row = len(names)
        names.append(name)
        for shift, (on, (_, latencies)) in zip((-0.18, 0.18), seen.items(), strict=True):
            if len(latencies) < _FEWEST:
                if part == "copies" and on == "donor" and answer.played.way.at_begin:
                    axes.annotate("the donor stands still", (0.02, row + shift), va="center",
                                  xycoords=("axes fraction", "data"), color=PALETTE[1])  # fmt: skip
                continue
            shade = PALETTE[1] if on == "donor" else PALETTE[0]
            low, high, most = np.percentile(latencies, (50.0, 95.0, 99.0))
            axes.plot([low, high], [row + shift] * 2, color=shade, linewidth=6.0, alpha=0.5)
            axes.plot([most], [row + shift], "o", color=shade)
    for on, shade in (("donor", PALETTE[1]), ("other nodes", PALETTE[0])):
        axes.plot([], [], "o-", color=shade, label=f"{on}: p50 to p95, p99")
    row_axis(axes, names)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: duration(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("latency, logarithmic")
    axes.set_title("Writes of the others meanwhile")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.26), ncols=2)


def _time(seconds: float, _: object = None) -> str:
    if seconds == 0.0:
        return "0"
    for unit_s, name in ((86_400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= unit_s:
            return f"{seconds / unit_s:.3g} {name}"
    return duration(seconds) if seconds < 1.0 else f"{seconds:.3g} s"
