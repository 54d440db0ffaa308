"""A second opinion as tables for a terminal, alone or beside a simulation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group
from rich.table import Table

from simrep.measure.units import duration, number
from simrep.runs.result import Result
from simrep.show.text.layout import closing, table, title, words
from simrep.show.views import tables
from simrep.whatif.analytic.opinion import Analytic


@tables.register(Analytic)
def analytic_tables(found: Analytic, result: Result | None = None) -> Group:
    """The figures and what the latency consists of, or the reasons why there are none."""
    name = f"{found.title}: " if found.title else ""
    if not found.holds:
        lines = [f"  {reason}" for reason in found.reasons]
        return Group(title(f"{name}no closed form holds"), closing([*lines, ""]))
    parts: list[Any] = [title(f"{name}closed forms"), _figures(found, result)]
    if result is None:
        parts += [_stages(found), words("\n".join(_remarks(found)))]
    return Group(*parts)


def _figures(found: Analytic, result: Result | None) -> Table:
    assert found.throughput_tps is not None
    assert found.latency_s is not None
    said = {
        "throughput_tps": ("throughput (transactions/s)", number(found.throughput_tps)),
        "latency_s.mean": ("latency mean", duration(found.latency_s)),
    }
    if result is None:
        return table(("figure", "closed form"), rows=said.values(), edges=True)
    differences = found.against(result)
    simulated = {
        "throughput_tps": number(result.throughput_tps),
        "latency_s.mean": duration(result.latency_s["mean"]),
    }
    rows = (
        (label, simulated[name], text, f"{differences[name]:+.1%}" if name in differences else "-")
        for name, (label, text) in said.items()
    )
    return table(("figure", "simulated", "closed form", "difference"), rows=rows, edges=True)


def _stages(found: Analytic) -> Table:
    total_s = sum(found.stages_s.values())
    rows = (
        (name, duration(seconds), f"{seconds / total_s:.1%}")
        for name, seconds in found.stages_s.items()
    )
    return table(("stage", "mean", "share"), rows=rows, edges=True)


def _remarks(found: Analytic) -> Iterator[str]:
    busiest = sorted(found.busy.items(), key=lambda pair: -pair[1])[:3]
    if busiest:
        yield "CPU in use: " + ", ".join(f"{host} {share:.0%}" for host, share in busiest) + "."
    yield from (f"{note[0].upper()}{note[1:]}." for note in found.notes)
