"""The manifest of a dataset: what was measured with what, what was marked, and hashes of files."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import simrep
from simrep.rig.cell import Run
from simrep.rig.errors import RigError
from simrep.rig.files import write_whole
from simrep.rig.journal import Entry, Progress
from simrep.rig.load import Load

__all__ = [
    "CLOSE",
    "FORMAT",
    "LIVE",
    "NAME",
    "Repeatability",
    "Spread",
    "changes",
    "measuring_s",
    "repeatability",
    "software",
    "write_manifest",
]

FORMAT = 1
NAME = "manifest.json"
LIVE = frozenset({"logs", "runs.jsonl", "state.json", ".gitignore", NAME})
"""What a campaign needs to go on, and no dataset to be read."""
_PURPOSES = {
    "dataset.toml": "what was measured and how its columns set a scenario",
    "data.csv": "a row per attempt; only rows with passed = 1 and saturated = 0 may be used",
    "experiment.toml": "the experiment as it was run",
    "runs.jsonl.gz": "a line per attempt: gates, growth of all counters, errors",
    "state.json.gz": "machine, clusters with versions and variables, pings of every layout",
    "checks.csv": "of runs with faults: rows node by node at the end, and the machine",
    "series": "of runs with faults: every attempt of every client, figures by seconds, and all "
    "lines of the servers' logs",
    "transactions": "every transaction of the driver, of long runs commits over time",
}
_OF_A_CLUSTER = (
    *("system", "version", "provider", "engine", "delay_method", "start_s", "starts_s"),
    *("base_rtt_ms", "layouts"),
)


CLOSE = 0.05
"""Repetitions within this share of their median are close to it, and cells with only such."""
_PAUSE_S = 1200.0
"""No run takes longer, with all that belongs to it."""


def software() -> dict[str, str]:
    """What measures: versions, and the commit if it runs from a checkout."""
    found = {"simrep": version("simrep"), "python": platform.python_version()}
    root = Path(simrep.__file__).resolve().parents[1]
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "describe", "--always", "--dirty"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
        except (OSError, subprocess.SubprocessError):
            return found
        found["commit"] = done.stdout.strip()
    return found


def write_manifest(progress: Progress) -> None:
    """Write it; all other files have to be there."""
    folder = progress.folder
    entries = progress.entries()
    content = progress.state.content
    clusters = progress.state.clusters().values()
    manifest = {
        "format": FORMAT,
        "experiment": progress.stored.name,
        "measured_with": content.get("software", []),
        "written_with": software(),
        "written": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "machine": content.get("machine", {}),
        "relay_accuracy": content.get("accuracy", {}),
        "clusters": [{name: cluster.get(name) for name in _OF_A_CLUSTER} for cluster in clusters],
        "cells": len({progress.runs[entry.id].cell.key for entry in entries}),
        "gates": {
            "runs": len({entry.id for entry in entries}),
            "attempts": len(entries),
            "passed": sum(entry.passed for entry in entries),
            "marked": [entry.mark() for entry in entries if not entry.passed],
            "missing": [run.id for run in progress.absent],
            "left_out": progress.others,
        },
        "repeatability": {
            where: asdict(found) for where, found in repeatability(entries, progress.runs).items()
        },
        "cost": {
            "under_load_s": measuring_s(entries),
            "starts_s": round(sum(_starts_s(cluster) for cluster in clusters), 1),
            "whole_s": whole_s(entries),
        },
        "purposes": _PURPOSES,
        "files": {_name(path, folder): _digest(path) for path in sorted(_files(folder))},
    }
    write_whole(folder / NAME, json.dumps(manifest, indent=1, default=str) + "\n")


def changes(folder: Path) -> dict[str, str]:
    """Files that are ``changed``, ``missing`` or ``added``; RigError if there is no manifest."""
    try:
        manifest = json.loads((folder / NAME).read_text(encoding="utf-8"))
        known = dict(manifest["files"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise RigError(f"{folder} has no {NAME} of a dataset") from None
    there = {_name(path, folder): path for path in sorted(_files(folder))}
    found = {}
    for name, digest in known.items():
        if name not in there:
            found[name] = "missing"
        elif _digest(there[name]) != digest:
            found[name] = "changed"
    return found | dict.fromkeys(there.keys() - known.keys(), "added")


def _starts_s(cluster: dict[str, Any]) -> float:
    found = cluster.get("starts_s", cluster.get("start_s", 0.0))
    return float(found)


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _files(folder: Path) -> Iterable[Path]:
    for path in folder.rglob("*"):
        first = path.relative_to(folder).parts[0]
        if path.is_file() and first not in LIVE and path.suffix != ".part":
            yield path


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass(frozen=True, slots=True)
class Spread:
    """Largest relative distance of a cell's repetitions from their median, in a column."""

    figure: str
    share: float


@dataclass(frozen=True, slots=True)
class Repeatability:
    """Of cells with at least two runs that passed: how many, how many are close, and each."""

    cells: int
    close: int
    spread: dict[str, Spread]


def repeatability(entries: Iterable[Entry], runs: Mapping[str, Run]) -> dict[str, Repeatability]:
    """Spread of every cell, by ``wan`` and ``near``: with added delays, and without.

    Cells without delays are over in less time and bound by the processors, so they vary more.
    """
    values: dict[str, list[float]] = {}
    cells: dict[str, Run] = {}
    for entry in entries:
        run = runs[entry.id]
        value = entry.row.get(_figure(run.cell.load), "")
        if entry.passed and value != "":
            values.setdefault(run.cell.key, []).append(float(value))
            cells[run.cell.key] = run
    found: dict[str, dict[str, Spread]] = {"wan": {}, "near": {}}
    for key, repeated in values.items():
        typical = median(repeated)
        if len(repeated) < 2 or typical <= 0:
            continue
        share = max(abs(value / typical - 1.0) for value in repeated)
        where = "wan" if _delayed(cells[key]) else "near"
        found[where][key] = Spread(_figure(cells[key].cell.load), round(share, 4))
    return {
        where: Repeatability(
            len(spread), sum(one.share <= CLOSE for one in spread.values()), spread
        )
        for where, spread in found.items()
    }


def _figure(load: Load) -> str:
    """The column that tells most: what the load was told is none."""
    if load.each is not None or load.breaks:
        return "seconds"
    if load.large is not None:
        return "update_s"
    return "mean_s" if load.rate_tps else "throughput_tps"


def _delayed(run: Run) -> bool:
    links = run.cell.layout.matrix(run.cell.node_names).links.values()
    return any(link.delay_ms for link in links)


def measuring_s(entries: Iterable[Entry]) -> float:
    """Seconds under load, of all attempts."""
    return round(sum(float(entry.details.get("wall_s", 0.0)) for entry in entries), 1)


def whole_s(entries: Iterable[Entry]) -> float:
    """Seconds from the first attempt to the last, without pauses between campaigns."""
    begins = sorted(datetime.fromisoformat(str(entry.row["began"])) for entry in entries)
    gaps_s = ((later - earlier).total_seconds() for earlier, later in pairwise(begins))
    return sum(gap_s for gap_s in gaps_s if gap_s < _PAUSE_S)
