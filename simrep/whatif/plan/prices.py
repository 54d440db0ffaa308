"""What providers take for bytes between regions and zones: a table that ships, or one's own.

Notes
-----
The table that ships holds list prices, each with the day of which it is and who says so. A price
that nobody can be named for is not in it, and what is not in it is not priced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import inf
from pathlib import Path

from simrep.errors import ScenarioError
from simrep.user_files import csv_rows, read_text

__all__ = ["ANY", "SHIPPED", "ZONE", "Price", "Prices", "prices"]

ANY = "*"
"""Any region that the provider has anywhere in the table; of one that names none, any at all."""
ZONE = "zone"
"""Another zone of the same region."""
SHIPPED = "prices.csv"

_NEEDED = ("provider", "from", "to", "usd_per_gb")


@dataclass(frozen=True, slots=True)
class Price:
    """A row of a table of prices.

    Attributes
    ----------
    provider : str
    sources, targets : tuple of str
        Regions; ``*`` for any other region, as a target ``zone`` for another zone of the same one.
    usd_per_gb : float
        For both ends together.
    valid : str
        The day on which it was published, or read; empty if the table does not tell.
    source : str
        Where.
    """

    provider: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    usd_per_gb: float
    valid: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Prices:
    """A table of prices.

    Attributes
    ----------
    rows : tuple of Price
    name : str
        Of its file.
    """

    rows: tuple[Price, ...]
    name: str

    @property
    def providers(self) -> list[str]:
        """Names of all providers, in the order of the table."""
        return list(dict.fromkeys(row.provider for row in self.rows))

    def price(self, provider: str, source: str, target: str) -> Price | None:
        """What a provider takes from one region to another; None if the table has no price.

        A row that names both regions comes before one that names the source, and that before
        one for any. Of the same region, the price between its zones.
        """
        wanted = ZONE if source == target else target
        known = {
            name
            for row in self.rows
            if row.provider == provider
            for name in (*row.sources, *row.targets)
            if name not in {ANY, ZONE}
        }

        def at(name: str, names: Sequence[str]) -> int | None:
            if name in names:
                return 0
            anyone = ANY in names and name != ZONE and (not known or name in known)
            return 1 if anyone else None

        best, found = inf, None
        for row in self.rows:
            from_, to = at(source, row.sources), at(wanted, row.targets)
            if row.provider == provider and from_ is not None and to is not None:
                rank = 2 * from_ + to
                if rank < best:
                    best, found = rank, row
        return found


def prices(table: str | Path | None = None) -> Prices:
    """The table that ships, or one's own in its place.

    Parameters
    ----------
    table : str or Path, optional
        A CSV file with the columns ``provider``, ``from``, ``to`` and ``usd_per_gb``, and perhaps
        ``valid`` and ``source``. ``from`` and ``to`` hold one region, or several with spaces
        between.

    Raises
    ------
    ScenarioError
        If the file is no such table.
    """
    if table is None:
        text = (files(__package__) / SHIPPED).read_text(encoding="utf-8")
        return Prices(_rows(text, SHIPPED), "the table that ships")
    return Prices(_rows(read_text(Path(table), str(table)), str(table)), str(table))


def _rows(text: str, where: str) -> tuple[Price, ...]:
    header, *lines = csv_rows(text, where) or [[]]
    names = [name.strip() for name in header]
    if missing := [name for name in _NEEDED if name not in names]:
        raise ScenarioError(
            where, f"has no column {missing[0]!r}", f"the columns are {', '.join(_NEEDED)}"
        )
    return tuple(
        _price(dict(zip(names, cells, strict=False)), f"{where}, line {line}")
        for line, cells in enumerate(lines, start=2)
    )


def _price(row: dict[str, str], where: str) -> Price:
    provider, source, target, text = (row.get(name, "").strip() for name in _NEEDED)
    try:
        usd = float(text)
    except ValueError:
        usd = -1.0
    if not (provider and source and target and 0.0 <= usd < inf):
        raise ScenarioError(
            where,
            f"needs {', '.join(_NEEDED)}",
            "e.g. aws,eu-west-1,us-east-1,0.02; a price is a number from 0 on",
        )
    return Price(
        provider=provider,
        sources=tuple(source.split()),
        targets=tuple(target.split()),
        usd_per_gb=usd,
        valid=row.get("valid", "").strip(),
        source=row.get("source", "").strip(),
    )
