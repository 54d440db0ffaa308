"""The points of a sweep as tables: rows for files and frames, columns for a terminal."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from html import escape
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simrep.errors import ScenarioError
from simrep.measure.figures import unit_of
from simrep.measure.units import duration, number
from simrep.whatif.point import FIGURES

if TYPE_CHECKING:
    from rich.console import Group

    from simrep.whatif.swept import Sweep, SweepPoint

__all__ = ["check_ending", "html", "rows", "save", "tables"]

_SHOWN = ("throughput_tps", "latency_s.p95")  # beside what the sweep is about
_LEAST = 0.1  # percent; narrower intervals are not printed more finely
_NOTICES = 4  # so many kinds are printed
_ENDINGS = (".csv", ".parquet")


def rows(sweep: Sweep) -> list[dict[str, Any]]:
    """A row for every point; the interval of FIGURE is in ``FIGURE.low`` and ``FIGURE.high``."""
    return [_row(sweep, point) for point in sweep.points]


def _row(sweep: Sweep, point: SweepPoint) -> dict[str, Any]:
    row: dict[str, Any] = {
        **point.labels,
        "seed": sweep.seed,
        "replications": point.replications,
        "warmup_s": point.warmup_s,
    }
    for figure in sweep.figures:
        found = point.interval(figure)
        row[figure] = point.mean(figure)
        row[f"{figure}.low"] = None if found is None else found.low
        row[f"{figure}.high"] = None if found is None else found.high
    row["error"] = point.error
    return row


def check_ending(path: Path) -> None:
    """Refuse a file of a kind that cannot be written here, before the work and not after it.

    Raises
    ------
    ScenarioError
        If it is neither CSV nor Parquet, or what writes Parquet is not installed.
    """
    if path.suffix.lower() not in _ENDINGS:
        raise ScenarioError("--out", f"cannot write {path.name!r}", "endings: .csv, .parquet")
    if path.suffix.lower() == ".parquet":
        for package in ("pandas", "pyarrow"):
            if find_spec(package) is None:
                raise ScenarioError(
                    "--out", f"Parquet needs {package}", "pip install 'simrep[parquet]'"
                )


def save(sweep: Sweep, path: Path) -> None:
    """Write all rows; numbers of a CSV file are those of the simulation, digit by digit."""
    check_ending(path)
    if path.suffix.lower() == ".parquet":
        sweep.to_frame().to_parquet(path, index=False)
        return
    found = rows(sweep)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]) if found else list(sweep.factors))
        writer.writeheader()
        for row in found:
            writer.writerow({name: _plain(value) for name, value in row.items()})


def _plain(value: Any) -> Any:
    return "" if isinstance(value, float) and not isfinite(value) else value


def tables(sweep: Sweep) -> Group:
    """Levels, and a few figures with half of their intervals; notices below."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for heading in _headings(sweep):
        table.add_column(heading, justify="right")
    for row in _cells(sweep):
        table.add_row(*row)
    title = f"{sweep.name or 'Sweep'}, {len(sweep.points)} points, seed {sweep.seed}"
    return Group(Text(title, style="bold"), table, *(Text(line) for line in _remarks(sweep)))


def html(sweep: Sweep) -> str:
    """The same for a notebook."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in _headings(sweep))
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in _cells(sweep)
    )
    said = "".join(f"<p>{escape(line)}</p>" for line in _remarks(sweep))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{said}"


def _headings(sweep: Sweep) -> list[str]:
    return [*sweep.factors, *_figures(sweep)]


def _figures(sweep: Sweep) -> list[str]:
    asked = [figure for figure in sweep.figures if figure not in FIGURES]
    return list(dict.fromkeys((sweep.about, *asked, *_SHOWN)))


def _cells(sweep: Sweep) -> Iterator[list[str]]:
    for point in sweep.points:
        labels = [_label(point.labels[factor]) for factor in sweep.factors]
        if point.error:
            yield [*labels, point.error]
        else:
            yield [*labels, *(_figure(point, figure) for figure in _figures(sweep))]


def _label(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _figure(point: SweepPoint, figure: str) -> str:
    mean, found = point.mean(figure), point.interval(figure)
    text = duration(mean) if unit_of(figure) == "s" else number(mean)
    if found is None or not found.mean:
        return text
    percent = 100 * found.relative
    return f"{text} ± {percent:.2g} %" if percent >= _LEAST else f"{text} ± <{_LEAST} %"


def _remarks(sweep: Sweep) -> Iterator[str]:
    if not sweep.complete:
        yield f"Interrupted after {len(sweep.points)} points."
    if any(point.replications == 1 for point in sweep.points):
        yield "Single replications have no intervals: ask for several, or for a precision."
    found = Counter(notice for point in sweep.points for notice in point.notices).most_common()
    for notice, count in found[:_NOTICES]:
        yield f"{notice} ({count} of {len(sweep.points)} points)."
    if len(found) > _NOTICES:
        yield f"And {sum(count for _, count in found[_NOTICES:])} more of the kind."
