"""A second opinion as tables for a terminal, alone or beside a simulation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from simrep.measure.units import duration, number

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from simrep.runs.result import Result
    from simrep.whatif.analytic.opinion import Analytic

__all__ = ["tables"]


def tables(found: Analytic, result: Result | None = None) -> Group:
    """The figures and what the latency consists of, or the reasons why there are none."""
    from rich.console import Group
    from rich.text import Text

    title = f"{found.title}: " if found.title else ""
    if not found.holds:
        lines = [f"  {reason}" for reason in found.reasons]
        return Group(
            Text(f"{title}no closed form holds", style="bold"), Text("\n".join(lines)), Text("")
        )
    parts: list[Any] = [Text(f"{title}closed forms", style="bold"), _figures(found, result)]
    if result is None:
        parts.append(_stages(found))
        parts.append(Text("\n".join(_remarks(found))))
    return Group(*parts)


def _figures(found: Analytic, result: Result | None) -> Table:
    from rich import box
    from rich.table import Table

    assert found.throughput_tps is not None
    assert found.latency_s is not None
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("figure")
    columns = ["closed form"] if result is None else ["simulated", "closed form", "difference"]
    for column in columns:
        table.add_column(column, justify="right")
    said = {
        "throughput_tps": ("throughput (transactions/s)", number(found.throughput_tps)),
        "latency_s.mean": ("latency mean", duration(found.latency_s)),
    }
    differences = {} if result is None else found.against(result)
    for name, (label, text) in said.items():
        if result is None:
            table.add_row(label, text)
            continue
        simulated = (
            number(result.throughput_tps)
            if name == "throughput_tps"
            else duration(result.latency_s["mean"])
        )
        difference = f"{differences[name]:+.1%}" if name in differences else "-"
        table.add_row(label, simulated, text, difference)
    return table


def _stages(found: Analytic) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("stage")
    table.add_column("mean", justify="right")
    table.add_column("share", justify="right")
    total_s = sum(found.stages_s.values())
    for name, seconds in found.stages_s.items():
        table.add_row(name, duration(seconds), f"{seconds / total_s:.1%}")
    return table


def _remarks(found: Analytic) -> Iterator[str]:
    busiest = sorted(found.busy.items(), key=lambda pair: -pair[1])[:3]
    if busiest:
        yield "CPU in use: " + ", ".join(f"{host} {share:.0%}" for host, share in busiest) + "."
    yield from (f"{note[0].upper()}{note[1:]}." for note in found.notes)
