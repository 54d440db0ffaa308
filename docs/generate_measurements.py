"""Write the page on what was measured on real clusters, from the manifests of the datasets.

``python docs/generate_measurements.py`` rewrites it; a test fails while it is out of date.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["pages"]

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "validation" / "measured"
PAGE = ROOT / "docs" / "reference" / "measurements.md"
NOTICE = "<!-- Written by docs/generate_measurements.py from validation/measured. -->"

INTRODUCTION = """# Measurements

Real clusters that the [rig](../howto/measure-your-cluster.md) has built and measured. Each
dataset is a folder of `validation/measured/` with the experiment, a row per run, the
transactions, the counters of the servers and a manifest. Runs that did not pass every gate are
marked in it and used for nothing.

"Close" tells how many cells had all their repetitions within 5 % of their median, of those that
were repeated: cells with added delay, and cells without.
"""
ACCURACY = """
## How exact the delays were

Measured before each dataset with 10,000 packets a second, in one direction; the smallest and the
largest of all datasets by engine. The relay's share is that of one core.
"""
COST = """
## What it cost

{runs} runs of {cells} cells: {load:.0f} minutes under load, {starts:.0f} minutes in which
{clusters} clusters were started, {total:.0f} minutes in all with tables, gates, catching up and
waiting for a quiet machine.
"""


def pages() -> dict[Path, str]:
    """Content of the page, by its file."""
    found = [_Dataset(path.parent) for path in sorted(MEASURED.glob("*/manifest.json"))]
    lines = [NOTICE, "", INTRODUCTION, *_overview(found), ACCURACY, *_accuracy(found), _cost(found)]
    return {PAGE: "\n".join(lines)}


class _Dataset:
    """A folder with its manifest."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self.about = tomllib.loads((folder / "dataset.toml").read_text(encoding="utf-8"))
        self.manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        self.gates = self.manifest["gates"]

    @property
    def engine(self) -> str:
        """What kept the nodes apart."""
        return _ENGINES[self.about["system"][0]["engine"]]

    def versions(self) -> str:
        """Servers, each once."""
        found = [
            f"{_SERVERS[system['server']]} {system['version'].split('-')[0]}"
            for system in self.about["system"]
        ]
        return ", ".join(dict.fromkeys(found))

    def close(self, where: str) -> str:
        """Cells whose repetitions are close to one another, of those repeated."""
        found = self.manifest["repeatability"].get(where)
        return f"{found['close']} of {found['cells']}" if found and found["cells"] else "-"


_ENGINES = {"netns": "namespaces", "docker": "containers"}
_SERVERS = {"mariadb": "MariaDB", "mysql": "MySQL", "percona": "Percona XtraDB Cluster"}


def _overview(datasets: Sequence[_Dataset]) -> Iterator[str]:
    yield "| dataset | what | servers | nodes by | runs | marked | close, delayed | close, near |"
    yield "|---|---|---|---|---|---|---|---|"
    for one in datasets:
        cells = [one.name, one.about["title"], one.versions(), one.engine]
        gates = one.gates
        cells += [str(gates["runs"]), str(gates["attempts"] - gates["passed"])]
        cells += [one.close("wan"), one.close("near")]
        yield f"| {' | '.join(cells)} |"


def _accuracy(datasets: Sequence[_Dataset]) -> Iterator[str]:
    yield "| nodes by | asked for, ms | mean error, ms | 99th percentile of the error, ms | relay |"
    yield "|---|---|---|---|---|"
    by_engine: dict[tuple[str, float], list[Mapping[str, Any]]] = {}
    for one in datasets:
        for row in one.manifest["relay_accuracy"].get("delays", []):
            if row["requested_ms"]:
                by_engine.setdefault((one.engine, row["requested_ms"]), []).append(row)
    for (engine, asked_ms), rows in sorted(by_engine.items()):
        errors = [row["error_ms"] for row in rows]
        late = [row["p99_ms"] - asked_ms for row in rows]
        shares = [row["relay_cpu"] for row in rows]
        yield (
            f"| {engine} | {asked_ms:g} | {_span(errors, '.2f')} | {_span(late, '.2f')} "
            f"| {_span(shares, '.0%')} |"
        )


def _span(values: Sequence[float], form: str) -> str:
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def _cost(datasets: Sequence[_Dataset]) -> str:
    return COST.format(
        runs=sum(one.gates["runs"] for one in datasets),
        cells=sum(one.manifest["cells"] for one in datasets),
        load=sum(one.manifest["cost"]["under_load_s"] for one in datasets) / 60,
        starts=sum(one.manifest["cost"]["starts_s"] for one in datasets) / 60,
        clusters=sum(len(one.manifest["clusters"]) for one in datasets),
        total=sum(one.manifest["cost"]["whole_s"] for one in datasets) / 60,
    )


if __name__ == "__main__":
    for file, content in pages().items():
        file.write_text(content, encoding="utf-8")
        sys.stdout.write(f"{file.name}\n")
