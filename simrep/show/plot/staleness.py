"""The figure of stale reads: their ages and their share over time, node by node."""

from __future__ import annotations

import numpy as np

from simrep.errors import DrawError
from simrep.measure.units import duration
from simrep.runs.incidents import faults_of
from simrep.runs.staleness import Staleness
from simrep.show.plot.events import draw_events
from simrep.show.plot.style import Sheet, colour, entry
from simrep.show.views import plot

__all__ = ["plot_staleness"]

_WIDTH = 11.6  # inches: that of the figure, and about that of a panel
_PANEL = 10.2
_ROOM = 1.5  # height of the axes over the greatest age: names of faults stand above the curves
_TOP = 0.98
_MOST_NODES = 7  # whose curves can be told apart
_MS, _LONG_S = 1e3, 1.0


@plot.register(Staleness)
def plot_staleness(stale: Staleness) -> Sheet:
    """Draw the greatest age of the reads on each node, and the share that is stale, over time.

    Of several replications the first is drawn. If there are many nodes, those with the oldest reads
    are.
    """
    record = stale.records[0]
    if not record.series:
        raise DrawError("no transaction that begins with a read was answered: nothing to draw")
    figure = Sheet(_WIDTH, 6.4)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1.6, 1.0])
    oldest = {name: float(np.nanmax(one.oldest_s)) for name, one in record.series.items()}
    chosen = sorted(oldest, key=lambda name: -oldest[name])[:_MOST_NODES]
    top_s = max(oldest.values())
    scale, unit = (1.0, "s") if top_s >= _LONG_S else (_MS, "ms")
    for position, (name, one) in enumerate(record.series.items()):
        if name not in chosen:
            continue
        edges = record.start_s + record.interval_s * np.arange(len(one.reads) + 1)
        label = f"{name}, at most {duration(oldest[name])}" if oldest[name] else f"{name}, none"
        above.stairs(scale * one.oldest_s, edges, baseline=None, color=colour(position),
                     linewidth=1.8, label=entry(label), zorder=3)  # fmt: skip
        shares = 100 * one.reads / np.where(one.of_reads, one.of_reads, np.nan)
        below.stairs(shares, edges, baseline=None, color=colour(position), linewidth=1.8, zorder=3)
        above.set_xlim(record.start_s, float(edges[-1]))
    many = len(stale.records)
    above.set_title(f"Stale reads{f' (replication 1 of {many})' if many > 1 else ''}")
    above.set_ylabel(f"oldest in {duration(record.interval_s)} ({unit})")
    above.set_ylim(0, _ROOM * scale * (top_s or 1e-3))
    below.set_ylabel("stale (%)")
    below.set_ylim(0, 104)
    below.set_xlabel("simulated time (s)")
    draw_events(above, faults_of(stale.scenario), width_in=_PANEL, top=_TOP)
    figure.legend(loc="outside lower center", ncols=4)
    figure.headline(str(stale.scenario.get("name") or ""))
    return figure
