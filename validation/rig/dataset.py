"""The folder of a dataset: what was measured, in files that datasets read and people check."""

from __future__ import annotations

import csv
import hashlib
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tomlkit

from simrep.errors import ScenarioError
from simrep.rig.campaign import Campaign
from simrep.rig.cell import Cell
from simrep.rig.experiment import StoredExperiment
from simrep.rig.journal import Entry
from simrep.rig.repeatability import measuring_s, repeatability
from simrep.rig.rows import METRICS, as_dict
from simrep.rig.scenarios import cell_scenario, factor_paths

__all__ = ["changed_files", "check_folder", "write_dataset"]

_FORMAT = 1
_DEFAULT_RTT_MS = 0.1
_PURPOSES = {
    "dataset.toml": "what was measured and how its columns set a scenario",
    "data.csv": "a row per attempt; only rows with passed = 1 may be used",
    "experiment.toml": "the experiment as it was run",
    "runs.jsonl": "a line per attempt: gates, growth of all counters, errors",
    "state.json": "machine, clusters with versions and variables, pings of every layout",
}


def write_dataset(stored: StoredExperiment, campaign: Campaign) -> Path:
    """Write or renew the files of a campaign's folder; an unfinished campaign has them as well.

    Parameters
    ----------
    stored : StoredExperiment
    campaign : Campaign
        That has measured, or has been interrupted.

    Returns
    -------
    Path
        The folder.
    """
    folder = campaign.folder
    entries = campaign.entries()
    (folder / "experiment.toml").write_text(stored.text, encoding="utf-8")
    _write_rows(folder / "data.csv", [entry.row for entry in entries])
    cells = [cell for cell, _ in stored.experiment.cells()]
    content = _description(stored, campaign, entries, cells)
    (folder / "dataset.toml").write_text(tomlkit.dumps(content), encoding="utf-8")
    for system, scenario in _scenarios(stored, campaign, cells).items():
        (folder / f"{system}.toml").write_text(tomlkit.dumps(scenario), encoding="utf-8")
    _write_manifest(stored, campaign, entries)
    return folder


def check_folder(stored: StoredExperiment, folder: Path) -> None:
    """Refuse a folder that holds something else than a dataset of this experiment.

    Raises
    ------
    ScenarioError
        If it does.
    """
    if folder.exists() and not folder.is_dir():
        raise ScenarioError("--out", f"{folder} is no folder")
    description = folder / "dataset.toml"
    if description.exists():
        known = tomlkit.parse(description.read_text(encoding="utf-8")).get("experiment")
        if known != stored.name:
            raise ScenarioError("--out", f"{folder} is the dataset of experiment {known!r}")
    elif folder.exists() and any(
        path.name not in {"logs", "runs.jsonl", "state.json", "transactions", "experiment.toml"}
        for path in folder.iterdir()
    ):
        raise ScenarioError("--out", f"{folder} holds other files", "give an empty folder")
    folder.mkdir(parents=True, exist_ok=True)


def changed_files(folder: Path) -> list[str]:
    """Files of a dataset that are not what its manifest says."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return [
        name
        for name, digest in manifest["files"].items()
        if not (folder / name).is_file() or _digest(folder / name) != digest
    ]


def _write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    columns = list(dict.fromkeys(name for row in _fullest_first(rows) for name in row))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _fullest_first(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """So that the order of the columns is that of a row that has most of them."""
    return sorted(rows, key=len, reverse=True)


def _description(
    stored: StoredExperiment, campaign: Campaign, entries: Sequence[Entry], cells: Sequence[Cell]
) -> dict[str, Any]:
    columns = {name for entry in entries for name, value in entry.row.items() if value != ""}
    measured = sorted(str(entry.row["began"]) for entry in entries)
    passed = sum(entry.passed for entry in entries)
    machine = campaign.state.content.get("machine", {})
    return {
        "title": stored.experiment.title,
        "question": stored.experiment.question,
        "format": _FORMAT,
        "experiment": stored.name,
        "data": "data.csv",
        "measured_from": measured[0] if measured else "",
        "measured_to": measured[-1] if measured else "",
        "complete": not campaign.absent,
        "runs": len(entries),
        "marked": len(entries) - passed,
        "missing": len(campaign.absent),
        "machine": {
            name: machine[name]
            for name in ("cpu", "cpus", "memory_gb", "system", "kernel", "tcp_congestion_control")
            if name in machine
        },
        "series": _series(stored, campaign, cells),
        # As in dataset.toml, which may take over what it is about.
        "factors": factor_paths(stored.experiment, cells, _base_rtt_ms(campaign)),
        "metric": [as_dict(metric) for metric in METRICS if metric.column in columns],
    }


def _series(
    stored: StoredExperiment, campaign: Campaign, cells: Sequence[Cell]
) -> list[dict[str, Any]]:
    found = []
    for name in dict.fromkeys(cell.system for cell in cells):
        system = stored.experiment.system(name)
        known = _known(campaign, name)
        found.append(
            {
                "name": name,
                "title": system.title or name,
                "scenario": f"{name}.toml",
                "where": {"system": name, "passed": 1},
                "product": system.product,
                "server": system.runs_on,
                "version": str(known.get("version", "")),
                "engine": str((known.get("engine") or {}).get("engine", "")),
                "delay_method": str(known.get("delay_method", "")),
                "options": dict(system.options),
            }
        )
    return found


def _scenarios(
    stored: StoredExperiment, campaign: Campaign, cells: Sequence[Cell]
) -> dict[str, dict[str, Any]]:
    """For each system the scenario of its first cell: the columns change it to the others."""
    found: dict[str, dict[str, Any]] = {}
    for cell in cells:
        if cell.system not in found:
            known = _known(campaign, cell.system)
            found[cell.system] = cell_scenario(
                stored.experiment,
                cell,
                version=str(known.get("version", "")),
                base_rtt_ms=_base_rtt_ms(campaign),
            )
    return found


def _known(campaign: Campaign, system: str) -> dict[str, Any]:
    """What is known of the first cluster of a system."""
    for cluster in campaign.state.clusters().values():
        if cluster.get("system") == system:
            return cluster
    return {}


def _base_rtt_ms(campaign: Campaign) -> float:
    found = [
        cluster["base_rtt_ms"]
        for cluster in campaign.state.clusters().values()
        if cluster.get("base_rtt_ms")
    ]
    return float(min(found)) if found else _DEFAULT_RTT_MS


def _write_manifest(stored: StoredExperiment, campaign: Campaign, entries: Sequence[Entry]) -> None:
    folder = campaign.folder
    content = campaign.state.content
    manifest = {
        "format": _FORMAT,
        "experiment": stored.name,
        "simrep": version("simrep"),
        "python": platform.python_version(),
        "written": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "machine": content.get("machine", {}),
        "relay_accuracy": content.get("accuracy", {}),
        "clusters": [
            {
                name: cluster.get(name)
                for name in (
                    "system",
                    "version",
                    "provider",
                    "engine",
                    "delay_method",
                    "start_s",
                    "base_rtt_ms",
                    "layouts",
                )
            }
            for cluster in campaign.state.clusters().values()
        ],
        "gates": {
            "runs": len({entry.id for entry in entries}),
            "attempts": len(entries),
            "passed": sum(entry.passed for entry in entries),
            "marked": [
                {
                    "run": entry.id,
                    "attempt": entry.attempt,
                    "gates": {gate.name: gate.detail for gate in entry.failed},
                }
                for entry in entries
                if not entry.passed
            ],
            "missing": [run.id for run in campaign.absent],
        },
        "repeatability": asdict(repeatability(entries)),
        "cost": {
            "under_load_s": measuring_s(entries),
            "starts_s": round(
                sum(c.get("start_s", 0.0) for c in campaign.state.clusters().values()), 1
            ),
        },
        "purposes": _PURPOSES,
        "files": {str(path.relative_to(folder)): _digest(path) for path in sorted(_files(folder))},
    }
    text = json.dumps(manifest, indent=1, default=str)
    (folder / "manifest.json").write_text(text + "\n", encoding="utf-8")


def _files(folder: Path) -> Iterable[Path]:
    """All but the manifest itself and the servers' logs, which name no figure."""
    for path in folder.rglob("*"):
        inside = path.relative_to(folder).parts
        if path.is_file() and inside[0] != "logs" and inside != ("manifest.json",):
            yield path


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
