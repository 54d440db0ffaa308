"""Commits over time: what is kept of a run with more transactions than a dataset should hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from simrep.rig.files import write_packed
from simrep.rig.transactions import Transaction, read_transactions, write_transactions

__all__ = ["MOST_RECORDS", "WINDOW_S", "keep_records", "thin_out"]

MOST_RECORDS = 20_000
"""Runs of more transactions are kept as commits over time."""
WINDOW_S = 0.05
_ENDING = ".commits.csv.gz"
_LEAST_BYTES = 100_000
"""A record takes about 10: a smaller file has not too many of them."""


def keep_records(folder: Path, name: str, records: Sequence[Transaction]) -> None:
    """Write every transaction of a run, or its commits over time if there are too many.

    Parameters
    ----------
    folder : Path
    name : str
        Of the attempt.
    records : sequence of Transaction
    """
    folder.mkdir(exist_ok=True)
    if len(records) > MOST_RECORDS:
        write_packed(folder / f"{name}{_ENDING}", _over_time(records))
    else:
        write_transactions(folder / f"{name}.csv.gz", records)


def thin_out(folder: Path) -> None:
    """Replace files of transactions that hold too many of them."""
    for path in sorted(folder.glob("*.csv.gz")):
        if path.name.endswith(_ENDING) or path.stat().st_size < _LEAST_BYTES:
            continue
        records = read_transactions(path)
        if len(records) > MOST_RECORDS:
            keep_records(folder, path.name.removesuffix(".csv.gz"), records)
            path.unlink()


def _over_time(records: Sequence[Transaction]) -> str:
    """Windows in which something ended: their begin, and how many committed and failed."""
    commits: Counter[int] = Counter()
    failed: Counter[int] = Counter()
    for record in records:
        (failed if record.error else commits)[int(record.end_s / WINDOW_S)] += 1
    lines = [
        f"{window * WINDOW_S:.2f},{commits[window]},{failed[window]}"
        for window in sorted({*commits, *failed})
    ]
    return "\n".join(["t_s,commits,failed", *lines]) + "\n"
