"""What was read of a server, as tables: settings with their lines, defaults with their reasons."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from simrep.intake.description import ServerDescription
from simrep.intake.findings import Finding
from simrep.show.text import layout
from simrep.show.views import tables

_SETTINGS = {"setting": "setting", "value": "value", "where": "origin", "how": "note"}
_DEFAULTS = {"setting": "setting", "default": "value", "why": "note"}
_OPTIONS = {"option": "setting", "value": "value", "where": "origin", "why": "note"}


@tables.register(ServerDescription)
def _(described: ServerDescription) -> Group:
    """Settings, defaults, options that are not simulated; remarks; the check of the fit."""
    parts: list[Any] = [
        _table("Read", _SETTINGS, described.read),
        _table("Not found: defaults", _DEFAULTS, described.defaults),
    ]
    if described.not_simulated:
        parts.append(_table("Not simulated", _OPTIONS, described.not_simulated))
    parts += described.remarks
    if (fit := described.fit) is not None and fit.percentile_simulated_s is not None:
        assert fit.percentile_measured_s is not None
        error = fit.percentile_simulated_s / fit.percentile_measured_s - 1.0
        parts.append(
            f"Check, not fitted: {fit.percentile}th percentile "
            f"{1e3 * fit.percentile_simulated_s:.3g} ms, "
            f"measured {1e3 * fit.percentile_measured_s:.3g} ms ({error:+.0%})."
        )
    return Group(*parts)


def _table(name: str, columns: dict[str, str], findings: Iterable[Finding]) -> Table:
    """Attributes of findings by the heads of their columns."""
    rows = ([_cell(getattr(one, key)) for key in columns.values()] for one in findings)
    return layout.table(list(columns), "Ll", rows, name=name, edges=True)


def _cell(value: Any) -> Text:
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, dict):
        text = ", ".join(f"{key} {inner}" for key, inner in value.items())
    else:
        text = "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return Text(text, overflow="fold")
