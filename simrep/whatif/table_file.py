"""Files with a row for every point of a sweep, or cell of a drill: CSV or Parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from simrep.errors import ScenarioError
from simrep.files import is_device, whole_file
from simrep.runs.report import Report, write_rows

__all__ = ["check_ending", "save_table"]

_ENDINGS = (".csv", ".parquet")


def save_table(
    report: Report, path: str | Path, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]
) -> None:
    """Write the rows of a report as CSV, or its DataFrame as Parquet.

    Parameters
    ----------
    report : Report
    path : str or Path
        Its ending decides.
    rows : sequence of mapping
        Of the CSV file, whose numbers are those of the simulation, digit by digit.
    columns : sequence of str
        Of a file without rows.

    Raises
    ------
    ScenarioError
        As of ``check_ending``.
    """
    path = Path(path)
    check_ending(path)
    if path.suffix.lower() == ".parquet":
        with whole_file(path) as table:
            report.to_frame().to_parquet(table, index=False)
        return
    write_rows(path, rows, columns)


def check_ending(path: Path) -> None:
    """Refuse a file of a kind that cannot be written here, before the work and not after it.

    Raises
    ------
    ScenarioError
        If it is neither CSV nor Parquet, or what writes Parquet is not installed.
    """
    if path.suffix.lower() not in _ENDINGS and not is_device(path):
        raise ScenarioError("--out", f"cannot write {path.name!r}", "endings: .csv, .parquet")
    if path.suffix.lower() == ".parquet":
        for package in ("pandas", "pyarrow"):
            if find_spec(package) is None:
                raise ScenarioError(
                    "--out", f"Parquet needs {package}", "pip install 'simrep[parquet]'"
                )
