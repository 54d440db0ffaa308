"""Calibrations as text: a fit of costs to figures, and what was read of a server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from simrep.calibrate.fit import FitResult
from simrep.calibrate.identify import Estimate
from simrep.intake.description import ServerDescription
from simrep.intake.findings import Finding
from simrep.show.text.layout import closing, table, words
from simrep.show.views import tables

_SETTINGS = {"setting": "setting", "value": "value", "where": "origin", "how": "note"}
_DEFAULTS = {"setting": "setting", "default": "value", "why": "note"}
_OPTIONS = {"option": "setting", "value": "value", "where": "origin", "why": "note"}
"""Attributes of findings by the heads of their columns."""


@tables.register(FitResult)
def fit_tables(result: FitResult) -> Group:
    """Costs and residuals, each with remarks."""
    heads: tuple[str, ...] = ("cost", "unit", "prior", "fitted", "standard error", "known")
    name = f"Costs of {result.series}"
    costs = table(heads, "llrrrl", map(_cost, result.estimates), name=name, edges=True)
    figures = (
        (one.label, f"{one.measured:.4g}", f"{one.fitted:.4g}",
         f"{one.relative_error:+.1%}" if one.measured else "-")
        for one in result.residuals
    )  # fmt: skip
    heads = ("figure", "measured", "fitted", "error")
    cells = table(heads, rows=figures, name="Fitted to", edges=True)
    known = f"The cells tell {result.informed} of {len(result.estimates)} combinations of costs."
    remarks = closing([*(f"{remark}." for remark in result.remarks()), known])
    return Group(costs, remarks, cells, closing(_notes(result)))


def _cost(estimate: Estimate) -> tuple[str, ...]:
    known = {"data": "from the cells", "prior": "prior only"}
    together = f"only together with {', '.join(estimate.partners)}"
    return (
        *(estimate.name, estimate.unit, f"{estimate.prior:.4g}", f"{estimate.value:.4g}"),
        *(f"{estimate.standard_error:.0%}", known.get(estimate.known, together)),
    )


def _notes(result: FitResult) -> list[str]:
    off = result.discrepancy
    error = (
        f"Beyond noise of {result.noise:.0%} the model is off by {off.relative:.0%}, as far as "
        f"{off.freedom:.1f} cells can tell."
    )
    notes = [error]
    if result.emulator_error is not None:
        notes.append(f"The emulator is off by {result.emulator_error:.2f} of the noise.")
    state = "converged" if result.converged else "stopped before it converged"
    return [*notes, f"{result.evaluations} sets of costs simulated; {state}."]


@tables.register(ServerDescription)
def server_tables(described: ServerDescription) -> Group:
    """Settings, defaults, options that are not simulated; remarks; the check of the fit."""
    parts: list[Any] = [
        _findings("Read", _SETTINGS, described.read),
        _findings("Not found: defaults", _DEFAULTS, described.defaults),
    ]
    if described.not_simulated:
        parts.append(_findings("Not simulated", _OPTIONS, described.not_simulated))
    parts += map(words, described.remarks)
    if (fit := described.fit) is not None and fit.percentile_simulated_s is not None:
        assert fit.percentile_measured_s is not None
        error = fit.percentile_simulated_s / fit.percentile_measured_s - 1.0
        check = (
            f"Check, not fitted: {fit.percentile}th percentile "
            f"{1e3 * fit.percentile_simulated_s:.3g} ms, "
            f"measured {1e3 * fit.percentile_measured_s:.3g} ms ({error:+.0%})."
        )
        parts.append(words(check))
    return Group(*parts)


def _findings(name: str, columns: dict[str, str], findings: Iterable[Finding]) -> Table:
    """Attributes of findings by the heads of their columns."""
    rows = ([_cell(getattr(one, key)) for key in columns.values()] for one in findings)
    return table(list(columns), "Ll", rows, name=name, edges=True)


def _cell(value: Any) -> RenderableType:
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, dict):
        text = ", ".join(f"{key} {inner}" for key, inner in value.items())
    else:
        text = "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    cell = words(text)
    cell.overflow = "fold"
    return cell
