"""A scenario and a first pack from a server's configuration and counters.

What can be read is read; for everything else a default is taken, and both are listed. What no
counter tells is what a processor takes for a statement or a writeset and what a disk takes for a
flush: one benchmark gives one of them, and the others stay at the defaults of the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from typing import Any

import tomlkit
from tomlkit.items import InlineTable, Item

from simrep.calibrate.misfit import Progress
from simrep.contract.server_reading import ServerReading
from simrep.contract.setup import setup_of
from simrep.intake.cell_fit import COST, CellFit, default_cost, fit_cell
from simrep.intake.findings import Finding, Findings
from simrep.intake.identity import Identity, identity_of, recognitions
from simrep.intake.load import load_of
from simrep.intake.row_sizes import with_sizes
from simrep.intake.server_files import ServerFiles, read_server
from simrep.intake.settings import options_for
from simrep.intake.sysbench import Sysbench, counters_cover, load_of_sysbench, read_sysbench
from simrep.printable import printable
from simrep.runs.report import Report
from simrep.scenario import load
from simrep.scenario.cluster import DEFAULT_MACHINE

__all__ = ["Overrides", "ServerDescription", "ServerFiles", "from_server"]

_HEAD = "From a server's configuration and counters; beside each value where it was read."
_DURATION_S, _WARMUP_S = 60.0, 5.0
_RTT_MS, _DIGITS = 0.1, 3
_FSYNC = "fsync_us"
_NOT_HERE = "not read: it is not on this machine; copy it beside the file, too, if it sets options"


@dataclass(frozen=True, slots=True)
class Overrides:
    """Values that are known better than the files tell them."""

    # model, server_version: the model's name; what ``SELECT VERSION()`` prints.
    model: str | None = None
    server_version: str | None = None
    # nodes, cores: of the cluster; of each machine.
    nodes: int | None = None
    cores: int | None = None
    # rtt_ms, fsync_us: round trip between nodes; one flush of a log.
    rtt_ms: float | None = None
    fsync_us: float | None = None


@dataclass(frozen=True, slots=True)
class ServerDescription(Report):
    """A server as a scenario."""

    # scenario, pack: content of the two files; the scenario names the pack as ``NAME.pack.toml``.
    scenario: Mapping[str, Any]
    pack: Mapping[str, Any]
    settings: tuple[Finding, ...]  # values that were read, and those that were taken instead
    not_simulated: tuple[Finding, ...]  # options of the server that have no effect
    remarks: tuple[str, ...]
    fit: CellFit | None  # of a cost to the benchmark, if there is one
    origins: Mapping[str, str]  # where the settings come from, by their paths

    @property
    def read(self) -> tuple[Finding, ...]:
        """Settings that stand somewhere."""
        return tuple(one for one in self.settings if not one.default)

    @property
    def defaults(self) -> tuple[Finding, ...]:
        """Settings for which nothing was found."""
        return tuple(one for one in self.settings if one.default)

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        lists = {name: getattr(self, name) for name in ("read", "defaults", "not_simulated")}
        return {
            "scenario": dict(self.scenario),
            "pack": dict(self.pack),
            **{name: [asdict(one) for one in findings] for name, findings in lists.items()},
            "remarks": list(self.remarks),
            "fit": None if self.fit is None else asdict(self.fit),
        }

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        return [asdict(one) for one in (*self.settings, *self.not_simulated)]

    def scenario_text(self) -> str:
        """The scenario file, every value with where it was read."""
        return self._text(self.scenario, "")

    def pack_text(self) -> str:
        """The pack file; a cost that is not in it has the default of the model."""
        return self._text(self.pack, "pack.")

    def _text(self, content: Mapping[str, Any], prefix: str) -> str:
        lines = "\n".join(self._lines(content, prefix, "")).lstrip()
        return f"# {_HEAD}\n\n{lines}\n"

    def _lines(self, content: Mapping[str, Any], prefix: str, heading: str) -> Iterator[str]:
        """Keys of a table; those that are tables themselves come last, as TOML wants it."""
        for key, value in content.items():
            if not _is_table(value):
                origin = self.origins.get(prefix + key)
                comment = "" if origin is None else f" # {_comment(origin)}"
                yield f"{tomlkit.key(key).as_string()} = {_in_one_line(value)}{comment}"
        for key, value in content.items():
            if not _is_table(value):
                continue
            one = isinstance(value, Mapping)
            for place, inner in enumerate([value] if one else value):
                path = f"{prefix}{key}." if one else f"{prefix}{key}.{place}."
                yield from ("", f"[{heading}{key}]" if one else f"[[{heading}{key}]]")
                yield from self._lines(inner, path, f"{heading}{key}.")


def _comment(text: str) -> str:
    """The name of a file may hold a new line, which would end the comment."""
    return printable(text).replace("\n", " ")


def _in_one_line(value: Any) -> str:
    item: Item = tomlkit.inline_table() if isinstance(value, Mapping) else tomlkit.item(value)
    if isinstance(item, InlineTable):
        item.update(value)
    return item.as_string()


def _is_table(value: Any) -> bool:
    """Whether it has a heading of its own; ``keys`` of a class stand in one line."""
    if isinstance(value, Mapping):
        return "distribution" not in value
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def from_server(
    files: ServerFiles,
    *,
    name: str,
    overrides: Overrides | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> ServerDescription:
    """Describe a server and its cluster; ``name`` is that of scenario and pack.

    There must be at least an option file, variables or counters; overrides count above them. The
    replications of the fit to a benchmark run in the executor, and ``progress`` is told how many
    evaluations there were and the lowest cost so far.
    """
    told, findings = overrides or Overrides(), Findings()
    known = recognitions()
    server = read_server(files, known.values(), told.server_version)
    bench = read_sysbench(files.sysbench) if files.sysbench else None
    identity = identity_of(server, known, findings, model=told.model, nodes=told.nodes)
    cluster: dict[str, Any] = {"model": identity.model}
    if identity.version is not None:
        cluster["version"] = identity.version
    cluster["nodes"] = identity.nodes
    for entry in server.not_read:
        findings.unused(entry, _NOT_HERE)
    options = options_for(server, identity, known.values(), findings)
    if options:
        cluster["options"] = options
    scenario: dict[str, Any] = {"name": name, "cluster": cluster}
    if identity.nodes > 1:
        scenario["network"] = {"rtt_ms": _rtt_ms(server, identity, told, findings)}
    scenario["workload"] = _workload(server, identity, bench, cluster, findings)
    scenario["run"] = {"duration_s": _DURATION_S, "warmup_s": _WARMUP_S}
    pack = _pack(name, server, identity, files, told, findings)
    # Everything that was found has to be a scenario together.
    of_pack = {"machine": pack["machine"], "costs": pack["costs"]}
    setup_of(load({**scenario, "cluster": {**cluster, **of_pack}}))
    fit = None
    if bench is not None:
        fit = fit_cell(scenario, pack, bench, executor=executor, progress=progress)
        _note(fit, pack, bench, findings)
    else:
        _default_cost(identity, COST, "no benchmark: --sysbench gives it", findings)
    remarks = identity.recognition.remarks(server)
    if remarks:
        remarks.insert(0, "The simulated counters of the same names should come near to these:")
    return ServerDescription(
        scenario={**scenario, "cluster": {**cluster, "pack": f"{name}.pack.toml"}},
        pack=pack,
        settings=tuple(findings.settings),
        not_simulated=tuple(findings.not_simulated),
        remarks=(*findings.remarks, *remarks),
        fit=fit,
        origins=findings.origins(),
    )


def _rtt_ms(
    server: ServerReading, identity: Identity, told: Overrides, findings: Findings
) -> float:
    setting = "network.rtt_ms"
    if told.rtt_ms is not None:
        return float(findings.told(setting, told.rtt_ms, "--rtt-ms"))
    clue = identity.recognition.round_trip_ms(server, identity.nodes)
    if clue is not None:
        clue = clue._replace(value=float(f"{clue.value:.{_DIGITS}g}"))
    why = "no counter tells it: ping between the nodes, and --rtt-ms"
    return float(findings.clue(setting, clue, _RTT_MS, why))


def _workload(
    server: ServerReading,
    identity: Identity,
    bench: Sysbench | None,
    cluster: Mapping[str, Any],
    findings: Findings,
) -> dict[str, Any]:
    """The load of the benchmark if there is one, else that of the counters."""
    if bench is None:
        reading, counted = load_of(server, identity, findings), True
    else:
        counted = counters_cover(server, bench, load_of(server, identity, Findings()))
        reading = load_of_sysbench(server, bench, findings)
    classes = reading.classes
    if counted:
        classes = with_sizes(server, identity.recognition.sizes, cluster, classes, findings)
    why = "where clients run is not known: machines of their own, without a round trip"
    client = findings.default("workload.client", "own", why)
    return {**reading.table, "client": client, "class": classes}


def _pack(
    name: str,
    server: ServerReading,
    identity: Identity,
    files: ServerFiles,
    told: Overrides,
    findings: Findings,
) -> dict[str, Any]:
    """The card, and what is known of the machine and its costs."""
    setting = "pack.machine.cores"
    if told.cores is not None:
        cores = findings.told(setting, told.cores, "--cores")
    else:
        clue, why = identity.recognition.cores(server), "not in the files: --cores"
        cores = findings.clue(setting, clue, DEFAULT_MACHINE.cores, why)
    costs = {}
    if told.fsync_us is not None:
        costs[_FSYNC] = findings.told(f"pack.costs.{_FSYNC}", told.fsync_us, "--fsync-us")
    else:
        why = (
            "no counter tells it; 12-60 us on NVMe with power-loss protection, 500-3000 us on "
            "cloud block storage and consumer NVMe: --fsync-us"
        )
        _default_cost(identity, _FSYNC, why, findings)
    used = [files.option_file, files.variables, *files.status, files.sysbench]
    card = {
        "name": name,
        "model": identity.model,
        "description": "first pack, from the configuration and the counters of a server",
        "machine": "not described",
        "source": ", ".join(path.name for path in used if path is not None),
        "fitted_on": "",
    }
    return {"pack": card, "machine": {"cores": cores}, "costs": costs}


def _default_cost(identity: Identity, cost: str, why: str, findings: Findings) -> None:
    default = default_cost(identity.model, cost)
    if default is not None:
        findings.default(f"pack.costs.{cost}", default, why)


def _note(fit: CellFit, pack: dict[str, Any], bench: Sysbench, findings: Findings) -> None:
    """Put a cost that was found into the pack, or say why it is not there."""
    setting = f"pack.costs.{fit.cost}"
    measured_ms, fitted_ms = 1e3 * fit.measured_s, 1e3 * fit.fitted_s
    if not fit.usable:
        why = (
            f"sysbench's mean latency of {measured_ms:.3g} ms is not met with any value "
            f"(simulated {fitted_ms:.3g} ms): look at fsync_us, rtt_ms and cores"
            if not fit.met
            else f"sysbench's latency hardly depends on it (standard error "
            f"{fit.standard_error:.0%})"
        )
        findings.default(setting, fit.prior, why)
        return
    note = (
        f"fitted: mean latency {fitted_ms:.4g} ms, measured {measured_ms:.4g} ms; standard error "
        f"{fit.standard_error:.0%}, everything else as listed"
    )
    pack["costs"][fit.cost] = findings.read(setting, fit.value, bench.places, note)
    pack["pack"]["fitted_on"] = f"{bench.file}: one run, {fit.cost} alone"
