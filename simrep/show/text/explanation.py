"""An explanation as text: the stages as bars, and the messages that the commit waited for."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from simrep.measure.units import duration, size
from simrep.why.explanation import Explanation, Message
from simrep.why.stage_rows import StageRow, stage_rows

__all__ = ["tables"]

_BAR = 24  # columns of the whole latency
_MOST_MESSAGES = 16


def tables(explanation: Explanation) -> Group:
    """For a terminal."""
    one = explanation
    origin = one.nodes[one.node]
    rows = "1 row" if one.rows == 1 else f"{one.rows:,} rows"
    parts: list[Any] = [
        Text(f"{one.title[0].upper()}{one.title[1:]}", style="bold"),
        Text(
            f"client {one.client}, {rows}, {size(one.size_bytes)}, from {one.started_s:.6f} to "
            f"{one.ended_s:.6f} s, {duration(one.latency_s)}, seed {one.seed}"
        ),
        Text(""),
        _waterfall(one),
    ]
    critical = [message for message in one.messages if message.critical]
    if critical:
        parts += [Text(f"What it waited for on the network, from the start on {origin}", "bold")]
        parts += [_messages(one, critical)]
    return Group(*parts)


def _waterfall(one: Explanation) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("stage", no_wrap=True)
    table.add_column("began", justify="right", no_wrap=True)
    table.add_column("lasted", justify="right", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("why")
    for row in stage_rows(one.stages):
        table.add_row(
            row.name,
            duration(row.stages[0].began_s - one.started_s),
            duration(row.seconds),
            f"{row.seconds / one.latency_s:.1%}" if one.latency_s > 0.0 else "-",
            _bar(one, row),
            row.reason,
        )
    table.add_section()
    table.add_row("latency", "", duration(one.latency_s), "100.0%", "", "")
    return table


def _bar(one: Explanation, row: StageRow) -> str:
    """The places of its stages in the latency; at least a thin line each."""
    cells = [" "] * _BAR
    if one.latency_s > 0.0:
        for stage in row.stages:
            first = int(_BAR * (stage.began_s - one.started_s) / one.latency_s)
            last = round(_BAR * (stage.ended_s - one.started_s) / one.latency_s)
            first = min(first, _BAR - 1)
            if last > first:
                cells[first:last] = "█" * (last - first)
            elif cells[first] == " ":
                cells[first] = "▏"
    return "".join(cells).rstrip()


def _messages(one: Explanation, critical: list[Message]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("sent", "arrived"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("from", no_wrap=True)
    table.add_column("to", no_wrap=True)
    table.add_column("message")
    table.add_column("on its way", justify="right", no_wrap=True)
    for message in critical[:_MOST_MESSAGES]:
        table.add_row(
            _since(message.sent_s - one.started_s),
            _since(message.arrived_s - one.started_s),
            one.nodes[message.source],
            one.nodes[message.target],
            message.label,
            duration(message.arrived_s - message.sent_s),
        )
    left = len(critical) - _MOST_MESSAGES
    if left > 0:
        table.add_row("", "", "", "", f"and {left} more", "")
    return table


def _since(seconds: float) -> str:
    """A time since the start; what was sent before it is negative."""
    return duration(seconds) if seconds >= 0.0 else f"-{duration(-seconds)}"
