"""Stale reads as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import isnan

from rich.console import Group, RenderableType

from simrep.measure.staleness import StaleReads
from simrep.measure.units import amount, duration
from simrep.runs.staleness import Staleness
from simrep.show.text.layout import table, title, words
from simrep.show.views import tables

__all__ = ["stale_heading", "stale_table"]

_table = partial(table, edges=True)


@tables.register(Staleness)
def stale_tables(stale: Staleness) -> Group:
    """A row per phase, group of clients and node."""
    return Group(title(stale_heading(stale)), stale_table(stale))


def stale_heading(stale: Staleness) -> str:
    """The title of the table, with the interval of the share if there are several replications."""
    span = stale.intervals.get("share")
    share = "" if span is None else f"; stale: {_percent(span[0])} .. {_percent(span[1])} (95 %)"
    return f"Reads that miss an answered commit{share}"


def stale_table(stale: Staleness) -> RenderableType:
    """A row per phase, group of clients and node with reads, and one for all."""
    if not stale.cells:
        return words("There are none: no transaction that begins with a read was answered.")
    phased = any(phase for phase, _, _ in stale.cells)
    own = stale.total.of_own > 0
    heads = (
        *(("phase",) if phased else ()),
        *("clients", "node", "reads", "stale", "share", "age p50", "p95", "oldest"),
        *(("own write missing",) if own else ()),
    )

    def rows() -> Iterator[tuple[str, ...]]:
        last = None
        for (phase, group, node), count in stale.cells.items():
            named = ("" if phase == last else phase,) if phased else ()
            last = phase
            yield (*named, group, node, *_figures(count, own=own))
        if len(stale.cells) > 1:
            yield (*(("all",) if phased else ()), "" if phased else "all", "",
                   *_figures(stale.total, own=own))  # fmt: skip

    return _table(heads, "lllr" if phased else "llr", rows())


def _figures(count: StaleReads, *, own: bool) -> Iterator[str]:
    ages = count.age_s
    yield from (amount(count.of_reads), amount(count.reads), _percent(count.share))
    yield from (
        "-" if isnan(ages[name]) else duration(ages[name]) for name in ("p50", "p95", "max")
    )
    if own:
        missing = f"{amount(count.own_writes)} ({_percent(count.own_share)})"
        yield missing if count.of_own else "-"


def _percent(share: float) -> str:
    return "-" if isnan(share) else f"{100 * share:.3g} %"
