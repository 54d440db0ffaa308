"""Figures of what replication sends: a bar per link, with its price."""

from __future__ import annotations

from simrep.measure.units import number
from simrep.show.plot.style import INK, Sheet, colour, row_axis
from simrep.show.views import plot
from simrep.whatif.plan.traffic import LinkTraffic, Traffic

__all__ = ["plot_traffic"]

_ROW = 0.42  # inches
_MOST = 30  # bars


@plot.register(Traffic)
def plot_traffic(answer: Traffic) -> Sheet:
    """Draw GB a month over each link, the fullest on top, and what they cost."""
    links = sorted(answer.links, key=lambda link: -link.gb_per_month.mean)[:_MOST]
    figure = Sheet(9.5, 2.0 + _ROW * len(links))
    axes = figure.subplots()
    sources = list(dict.fromkeys(link.source for link in answer.links))
    for row, link in enumerate(links):
        size, shade = link.gb_per_month, colour(sources.index(link.source))
        axes.barh(row, size.mean, height=0.6, color=shade, alpha=0.6, zorder=2)
        axes.plot([size.low, size.high], [row, row], color=shade, linewidth=2.4, zorder=3)
        axes.annotate(_price(answer, link), (max(size.mean, size.high), row), color=INK,
                      xytext=(6.0, 0.0), textcoords="offset points", va="center",
                      fontsize=9)  # fmt: skip
    most = max((link.gb_per_month.high for link in links), default=1.0)
    axes.set_xlim(0.0, 1.35 * most or 1.0)
    left = len(answer.links) - len(links)
    axes.set_xlabel("GB a month" + (f" ({left} links with less are not shown)" if left else ""))
    row_axis(axes, [_label(link) for link in links], fontsize=9)
    figure.headline(f"{answer.question}, at {number(answer.throughput_tps)} transactions/s")
    return figure


def _label(link: LinkTraffic) -> str:
    if not (link.source_region and link.target_region):
        return f"{link.source} to {link.target}"
    return f"{link.source} to {link.target}\n{link.source_region} to {link.target_region}"


def _price(answer: Traffic, link: LinkTraffic) -> str:
    known = [
        f"{usd:,.2f} USD ({provider})"
        for provider in answer.providers
        if (usd := link.usd(provider)) is not None
    ]
    return ", ".join([f"{number(link.gb_per_month.mean)} GB", *(known or ["not priced"])])
