"""How far regions of cloud providers are apart: published round trips, or a table of one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from simrep.errors import ScenarioError, nearest
from simrep.network.regions import PRESETS, Regions
from simrep.user_files import csv_rows, read_text

__all__ = ["CODES", "RoundTrips", "round_trips"]

CODES = {
    "aws-2017": {
        "us-east-1": "virginia",
        "us-west-1": "california",
        "us-west-2": "oregon",
        "eu-west-1": "ireland",
        "eu-central-1": "frankfurt",
        "ap-northeast-1": "tokyo",
        "ap-northeast-2": "seoul",
        "ap-southeast-1": "singapore",
        "ap-southeast-2": "sydney",
        "sa-east-1": "sao-paulo",
    },
    "ibm-2024": {
        "us-south": "dallas",
        "us-east": "washington",
        "ca-tor": "toronto",
        "eu-gb": "london",
        "eu-de": "frankfurt",
        "eu-es": "madrid",
        "jp-tok": "tokyo",
        "jp-osa": "osaka",
        "au-syd": "sydney",
        "br-sao": "sao-paulo",
    },
}
"""Sites of the published tables by the code that the provider gives the region."""

_COLUMNS = ("from", "to", "rtt_ms")


@dataclass(frozen=True, slots=True)
class RoundTrips:
    """Round trips between regions, in both directions.

    Attributes
    ----------
    rtt_ms : mapping of (str, str) to float
    source : str
        Where they come from.
    """

    rtt_ms: dict[tuple[str, str], float]
    source: str


def round_trips(regions: Sequence[str], table: str | Path | None = None) -> RoundTrips:
    """The round trip of every ordered pair of regions.

    Parameters
    ----------
    regions : sequence of str
        Codes of a provider (``us-east-1``), or sites of a published table (``virginia``).
    table : str or Path, optional
        A CSV file with the columns ``from``, ``to`` and ``rtt_ms``, instead of what is published.

    Raises
    ------
    ScenarioError
        If a region or a pair is not known.
    """
    if table is not None:
        themselves = {region: region for region in regions}
        return RoundTrips(_pairs(regions, themselves, _read(Path(table))), str(table))
    for preset, codes in CODES.items():
        sites = {region: codes.get(region, region) for region in regions}
        if set(sites.values()) <= PRESETS[preset].sites:
            return RoundTrips(_pairs(regions, sites, PRESETS[preset]), f"preset {preset}")
    known = [name for preset, codes in CODES.items() for name in (*codes, *PRESETS[preset].sites)]
    for region in regions:
        if region not in known:
            raise ScenarioError("regions", f"no region {region!r}", nearest(region, set(known)))
    raise ScenarioError(
        "regions", "are of different providers", "give their round trips as a table of your own"
    )


def _pairs(
    regions: Sequence[str], sites: Mapping[str, str], table: Regions
) -> dict[tuple[str, str], float]:
    found = {}
    for one in regions:
        for other in regions:
            if one == other:
                continue
            rtt_ms = table.rtt_ms(sites[one], sites[other])
            if rtt_ms is None:
                raise ScenarioError(
                    "regions",
                    f"nothing is known of {one} to {other}",
                    "give all round trips as a table of your own",
                )
            found[one, other] = rtt_ms
    return found


def _read(path: Path) -> Regions:
    """A table of one's own."""
    header, *lines = csv_rows(read_text(path, str(path)), str(path)) or [[]]
    found: dict[tuple[str, str], float] = {}
    for line, cells in enumerate(lines, start=2):
        row = dict(zip(header, cells, strict=False))
        source, target, text = (row.get(name, "").strip() for name in _COLUMNS)
        try:
            rtt_ms = float(text)
        except ValueError:
            rtt_ms = -1.0
        if not (source and target and 0.0 <= rtt_ms < float("inf")):
            raise ScenarioError(
                f"{path}, line {line}", "needs from, to and rtt_ms", "e.g. us-east-1,us-west-2,87"
            )
        found[source, target] = rtt_ms
    return Regions(found)
