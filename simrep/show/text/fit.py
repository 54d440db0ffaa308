"""A fit as text: its costs, the figures that they were fitted to, and how sure both are."""

from __future__ import annotations

from rich.console import Group

from simrep.calibrate.fit_result import FitResult
from simrep.calibrate.identify import Estimate
from simrep.show.text.layout import closing, table
from simrep.show.views import tables


@tables.register(FitResult)
def fit_tables(result: FitResult) -> Group:
    """Costs and residuals, each with remarks."""
    costs = table(
        ("cost", "unit", "prior", "fitted", "standard error", "known"),
        "llrrrl",
        map(_cost, result.estimates),
        name=f"Costs of {result.series}",
        edges=True,
    )
    figures = (
        (
            one.label,
            f"{one.measured:.4g}",
            f"{one.fitted:.4g}",
            f"{one.relative_error:+.1%}" if one.measured else "-",
        )
        for one in result.residuals
    )
    heads = ("figure", "measured", "fitted", "error")
    cells = table(heads, rows=figures, name="Fitted to", edges=True)
    known = f"The cells tell {result.informed} of {len(result.estimates)} combinations of costs."
    remarks = closing([*(f"{remark}." for remark in result.remarks()), known])
    return Group(costs, remarks, cells, closing(_notes(result)))


def _cost(estimate: Estimate) -> tuple[str, ...]:
    known = {"data": "from the cells", "prior": "prior only"}
    return (
        estimate.name,
        estimate.unit,
        f"{estimate.prior:.4g}",
        f"{estimate.value:.4g}",
        f"{estimate.standard_error:.0%}",
        known.get(estimate.known, f"only together with {', '.join(estimate.partners)}"),
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
