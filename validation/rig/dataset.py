"""The folder of a dataset: what was measured, in files that programs read and people check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import tomlkit

from simrep.errors import ScenarioError, nearest
from simrep.rig.cell import Cell
from simrep.rig.columns import ignored, metrics
from simrep.rig.experiment import StoredExperiment, System, experiments, load_experiment
from simrep.rig.fault_dataset import (
    CHECKS,
    KNOWN,
    checks_text,
    data_text,
    failures_table,
    fault_factors,
    fault_scenarios,
    fault_series,
    known_text,
)
from simrep.rig.files import packed_path, write_packed, write_whole
from simrep.rig.guard import undisturbed
from simrep.rig.journal import Progress
from simrep.rig.manifest import FORMAT, LIVE, write_manifest
from simrep.rig.rows import as_csv, client_us, data_rows, is_usable
from simrep.rig.scenarios import (
    Figures,
    differences,
    factor_paths,
    model_version,
    system_scenario,
    unknown_options,
)
from simrep.rig.transactions import thin_out
from simrep.user_files import parse_toml, read_text

__all__ = ["check_folder", "experiment_of", "write_dataset", "write_experiment"]

_DEFAULT_RTT_MS = 0.1
_REPLICATIONS = 6
"""Simulated runs beside each cell with faults: chance decides when a fault meets timers."""
_DESCRIPTION = "dataset.toml"
_EXPERIMENT = "experiment.toml"
_IGNORED = "logs/\nruns.jsonl\nstate.json\n*.part\n"


def write_dataset(progress: Progress) -> None:
    """Write or renew the files of a campaign's folder; an unfinished campaign has them as well.

    Nothing is measured: journal and state are all that is needed. The packs that the scenarios of
    the folder name stay: which one predicts a machine is no result of measuring it.
    """
    folder = progress.folder
    if not progress.entries():
        return
    with undisturbed():
        write_experiment(progress.stored, folder)
        thin_out(folder / "transactions")
        found = _Found(progress)
        if progress.experiment.breaks:
            write_whole(folder / "data.csv", data_text(progress))
            write_whole(folder / CHECKS, checks_text(progress))
            write_whole(folder / KNOWN, known_text(progress))
        else:
            write_whole(folder / "data.csv", as_csv(found.rows))
        write_whole(folder / _DESCRIPTION, tomlkit.dumps(found.description()))
        for system, scenario in found.scenarios().items():
            path = folder / f"{system}.toml"
            write_whole(path, tomlkit.dumps(_with_its_pack(scenario, path)))
        for name, text in (
            ("runs.jsonl", progress.journal.text()),
            ("state.json", progress.state.text()),
        ):
            write_packed(packed_path(folder / name), text)
        write_whole(folder / ".gitignore", _IGNORED)
        write_manifest(progress)


def write_experiment(stored: StoredExperiment, folder: Path) -> None:
    """Write down what is measured, before anything is."""
    write_whole(folder / _EXPERIMENT, stored.text)


def check_folder(stored: StoredExperiment, folder: Path) -> None:
    """Refuse a folder that holds something else than a dataset of this experiment."""
    if folder.exists() and not folder.is_dir():
        raise ScenarioError("--out", f"{folder} is no folder")
    own = {
        _EXPERIMENT,
        "data.csv",
        "series",
        "transactions",
        *LIVE,
        *(f"{name}.gz" for name in LIVE),
    }
    if (folder / _DESCRIPTION).exists():
        known = _content(folder / _DESCRIPTION).get("experiment")
        if known != stored.name:
            raise ScenarioError("--out", f"{folder} is the dataset of experiment {known!r}")
    elif folder.exists() and any(
        path.name not in own and path.suffix != ".part" for path in folder.iterdir()
    ):
        raise ScenarioError("--out", f"{folder} holds other files", "give an empty folder")
    if folder.exists():
        progress = Progress(stored, folder)
        if progress.journal.entries and not progress.entries():
            raise ScenarioError(
                "--out", f"{folder} holds runs of another experiment", "give another folder"
            )
    folder.mkdir(parents=True, exist_ok=True)


def experiment_of(folder: Path, name: str | None = None) -> StoredExperiment:
    """The experiment that a folder is of: one that is named, what the folder says, or its own name.

    Raises
    ------
    ScenarioError
        If there is no such folder or experiment.
    """
    if not folder.is_dir():
        raise ScenarioError(str(folder), "is no folder")
    if name is not None:
        return load_experiment(name)
    described = folder / _DESCRIPTION
    own = folder.resolve().name
    if described.exists():
        own = str(_content(described).get("experiment", own))
    if (folder / _EXPERIMENT).exists():
        return replace(load_experiment(folder / _EXPERIMENT), name=own)
    if own in experiments():
        return load_experiment(own)
    raise ScenarioError(
        str(folder), f"does not say what it is of, and {own!r} is no experiment",
        nearest(own, experiments()),
    )  # fmt: skip


def _with_its_pack(scenario: dict[str, Any], path: Path) -> dict[str, Any]:
    """A scenario with the pack that its file names now, if it does."""
    if not path.exists():
        return scenario
    pack = _content(path).get("cluster", {}).get("pack")
    if pack is None:
        return scenario
    return {**scenario, "cluster": {**scenario["cluster"], "pack": str(pack)}}


def _content(path: Path) -> Mapping[str, Any]:
    text = read_text(path, str(path))
    parse_toml(text, str(path))
    return tomlkit.parse(text)


class _Found:
    """What the files of a dataset are made of."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.rows = data_rows(progress)
        self.cells: dict[str, list[Cell]] = {}
        for cell, _ in progress.experiment.cells():
            self.cells.setdefault(cell.system, []).append(cell)
        self.measured = Figures(
            versions={name: str(self._first(name).get("version", "")) for name in self.cells},
            base_rtt_ms=self._base_rtt_ms(),
            client_us=client_us(self.rows),
        )

    def scenarios(self) -> dict[str, dict[str, Any]]:
        """Of each system."""
        experiment = self.progress.experiment
        if experiment.breaks:
            return fault_scenarios(self.progress, self.measured)
        return {
            name: system_scenario(experiment, cells, self.measured)
            for name, cells in self.cells.items()
        }

    def description(self) -> dict[str, Any]:
        """The content of ``dataset.toml``."""
        progress, rows = self.progress, self.rows
        experiment = progress.experiment
        began = sorted(str(row["began"]) for row in rows)
        every = [cell for cells in self.cells.values() for cell in cells]
        machine = progress.state.content.get("machine", {})
        processor = f", on {machine['cpu']}" if machine.get("cpu") else ""
        content: dict[str, Any] = {
            "title": experiment.title,
            "source": f"measured by simrep rig, {began[0][:10]}{processor}",
            "question": experiment.question,
            "format": FORMAT,
            "experiment": progress.stored.name,
            "data": "data.csv",
            "measured_from": began[0],
            "measured_to": began[-1],
            "complete": not progress.absent,
            "attempts": len(rows),
            "marked": sum(not row["passed"] for row in rows),
            "missing": len(progress.absent),
            "base_rtt_ms": self.measured.base_rtt_ms,
            "ignore": [],  # before the tables, or it would be a key of the last of them
            "machine": {name: machine[name] for name in _OF_A_MACHINE if name in machine},
            "show": {"x": "threads", "by": "layout"},
            "series": [self._series(name) for name in self.cells if self._usable(name)],
            "factors": self._factors(every),
            "metric": metrics(every, progress.factors, [row for row in rows if is_usable(row)]),
            "system": [self._system(experiment.system(name)) for name in self.cells],
        }
        if experiment.breaks:
            return self._of_failures(content)
        content["ignore"] = ignored(content, list(dict.fromkeys(name for r in rows for name in r)))
        return content

    def _of_failures(self, content: dict[str, Any]) -> dict[str, Any]:
        """The same of runs with faults, whose figures are judged in another way."""
        for name in ("metric", "show", "series", "factors"):
            content.pop(name)
        systems = content.pop("system")
        content["ignore"] = ["variant"]
        content["replications"] = _REPLICATIONS
        machine = content.pop("machine")
        return {
            **content,
            "machine": machine,
            "failures": failures_table(self.progress),
            "factors": fault_factors(self.progress, self.measured),
            "series": fault_series(self.progress),
            "system": systems,
        }

    def _factors(self, cells: Sequence[Cell]) -> dict[str, Any]:
        """Where columns go; those that are empty for systems without such an option say so."""
        found = factor_paths(self.progress.experiment, cells, self.measured)
        for name, table in found.items():
            if any(row.get(name, "") == "" for row in self.rows):
                table["optional"] = True
        return found

    def _series(self, name: str) -> dict[str, Any]:
        return {
            "name": name,
            "title": self.progress.experiment.system(name).title or name,
            "scenario": f"{name}.toml",
            "where": {"system": name, "passed": 1, "saturated": 0},
        }

    def _system(self, system: System) -> dict[str, Any]:
        """What is known of the servers, and what of that the simulation does not know."""
        first = self._first(system.name)
        version = str(first.get("version", ""))
        chosen = model_version(system.product, system.runs_on, version)
        unknown = {
            name: None
            for cell in self.cells[system.name]
            for name in unknown_options(cell.product, cell.options)
        }
        return {
            "name": system.name,
            "product": system.product,
            "server": system.runs_on,
            "version": version,
            "model_version": chosen or "",
            "engine": str((first.get("engine") or {}).get("engine", "")),
            "delay_method": str(first.get("delay_method", "")),
            "options": dict(system.options),
            "not_simulated": list(unknown),
            "simulated_otherwise": self._differences(system, chosen),
        }

    def _differences(self, system: System, chosen: str | None) -> dict[str, str]:
        """Settings of its servers that the simulation has another value for, over all clusters."""
        found: dict[str, str] = {}
        clusters = self.progress.state.clusters()
        for cell in {cell.cluster_key: cell for cell in self.cells[system.name]}.values():
            variables = clusters.get(cell.cluster_key, {}).get("variables", {})
            found |= differences(system.product, chosen, cell.options, variables)
        return found

    def _usable(self, system: str) -> bool:
        return any(row["system"] == system and is_usable(row) for row in self.rows)

    def _first(self, system: str) -> dict[str, Any]:
        """The first cluster of a system; those of a dataset have the same version."""
        for cluster in self.progress.state.clusters().values():
            if cluster.get("system") == system:
                return cluster
        return {}

    def _base_rtt_ms(self) -> float:
        """Typical round trip without added delay, over all clusters."""
        found = [
            float(cluster["base_rtt_ms"])
            for cluster in self.progress.state.clusters().values()
            if cluster.get("base_rtt_ms")
        ]
        return round(median(found), 4) if found else _DEFAULT_RTT_MS


_OF_A_MACHINE: Sequence[str] = (
    *("cpu", "cpus", "memory_gb", "system", "kernel", "tcp_congestion_control"),
)
