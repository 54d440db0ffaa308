"""Published round trips between data centres, as presets for scenarios.

References
----------
``aws-2017``: averages between AWS regions, table "Latency Between AWS Global Regions" quoted at
acomputerscientistlearnsaws.blogspot.com, April 2017.
``ibm-2024``: IBM Cloud documentation, VPC, "Network latency" dashboard figures of August 2024.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["PRESETS", "Regions"]


@dataclass(frozen=True, slots=True)
class Regions:
    """Round trips between sites; not every pair has been published."""

    # Averages in milliseconds, as seen from the first site. A pair that is there in one order only
    # counts in both.
    round_trips_ms: Mapping[tuple[str, str], float]

    @property
    def sites(self) -> frozenset[str]:
        """Names of all sites."""
        return frozenset(site for pair in self.round_trips_ms for site in pair)

    def rtt_ms(self, source: str, target: str) -> float | None:
        """Round trip in milliseconds measured from ``source``; None when nobody published it."""
        figure = self.round_trips_ms.get((source, target))
        return self.round_trips_ms.get((target, source)) if figure is None else figure


def _matrix(columns: str, rows: Mapping[str, str]) -> Regions:
    """Read a table; '-' is the diagonal."""
    names = columns.split()
    return Regions(
        {
            (source, target): float(figure)
            for source, figures in rows.items()
            for target, figure in zip(names, figures.split(), strict=True)
            if figure != "-"
        }
    )


_AWS_2017 = _matrix(
    "virginia california oregon ireland frankfurt tokyo seoul singapore sydney sao-paulo",
    {
        "virginia": "- 72.7 87.0 80.6 88.7 145 178 217 230 120",
        "california": "71.6 - 19.5 153 167 103 132 174 158 193",
        "oregon": "88.7 19.2 - 137 160 89 118 161 162 183",
        "ireland": "80.5 153 137 - 19.6 212 242 239 310 191",
        "frankfurt": "88.6 167 160 19.6 - 237 266 326 324 195",
        "tokyo": "145 103 89 212 237 - 31 74 104 257",
        "seoul": "177 133 118 242 265 31 - 72 134 286",
        "singapore": "217 174 161 238 326 74 71 - 175 328",
        "sydney": "230 158 162 310 323 104 134 175 - 323",
    },
)

_IBM_2024 = Regions(
    {
        ("dallas", "toronto"): 34.0,
        ("dallas", "washington"): 31.0,
        ("toronto", "washington"): 19.0,
        ("frankfurt", "london"): 13.0,
        ("frankfurt", "madrid"): 29.0,
        ("london", "washington"): 75.0,
        ("frankfurt", "washington"): 91.0,
        ("dallas", "london"): 113.0,
        ("dallas", "frankfurt"): 123.0,
        ("tokyo", "osaka"): 9.0,
        ("tokyo", "sydney"): 115.0,
        ("dallas", "tokyo"): 143.0,
        ("dallas", "sydney"): 186.0,
        ("london", "tokyo"): 243.0,
        ("frankfurt", "sydney"): 250.0,
        ("sydney", "sao-paulo"): 328.0,
    }
)

PRESETS: Mapping[str, Regions] = {"aws-2017": _AWS_2017, "ibm-2024": _IBM_2024}
