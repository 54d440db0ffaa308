"""A scenario and a first pack from a server's configuration and counters.

What can be read is read; for everything else a default is taken, and both are listed. What no
counter tells is what a processor takes for a statement or a writeset and what a disk takes for a
flush: one benchmark gives one of them, and the others stay at the defaults of the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from typing import Any

from simrep.calibrate.objective import Progress
from simrep.contract.model import find_model
from simrep.contract.setup import setup_of
from simrep.intake.benchmark import benchmark_load, counters_cover
from simrep.intake.bytes import with_sizes
from simrep.intake.fit import COST, CellFit, fit_cell
from simrep.intake.given import Finding, Findings
from simrep.intake.load import Load, load_of
from simrep.intake.network import rtt_ms as rtt_of
from simrep.intake.product import Product, product_of
from simrep.intake.read import Server, ServerFiles, read_server
from simrep.intake.remarks import remarks_of
from simrep.intake.settings import options_for
from simrep.scenario import load
from simrep.scenario.cluster import DEFAULT_MACHINE

__all__ = ["Described", "Known", "ServerFiles", "from_server"]

_DURATION_S, _WARMUP_S = 60.0, 5.0
_FSYNC = "fsync_us"


@dataclass(frozen=True, slots=True)
class Known:
    """What somebody knows better than the files.

    Parameters
    ----------
    model, server_version : str, optional
        The model's name; what ``SELECT VERSION()`` prints.
    nodes, cores : int, optional
        Of the cluster; of each machine.
    rtt_ms, fsync_us : float, optional
        Round trip between nodes; one flush of a log.
    """

    model: str | None = None
    server_version: str | None = None
    nodes: int | None = None
    cores: int | None = None
    rtt_ms: float | None = None
    fsync_us: float | None = None


@dataclass(frozen=True, slots=True)
class Described:
    """A server as a scenario.

    Attributes
    ----------
    scenario, pack : mapping
        Content of the two files; the scenario names the pack as ``NAME.pack.toml``.
    settings : tuple of Finding
        What was read, and what was taken instead.
    not_simulated : tuple of Finding
        Options of the server that have no effect.
    remarks : tuple of str
    fit : CellFit or None
        Of a cost to the benchmark, if there is one.
    origins : mapping of str to str
        Where the settings come from, by their paths.
    """

    scenario: Mapping[str, Any]
    pack: Mapping[str, Any]
    settings: tuple[Finding, ...]
    not_simulated: tuple[Finding, ...]
    remarks: tuple[str, ...]
    fit: CellFit | None
    origins: Mapping[str, str]

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
        return {
            "scenario": dict(self.scenario),
            "pack": dict(self.pack),
            "read": [asdict(one) for one in self.read],
            "defaults": [asdict(one) for one in self.defaults],
            "not_simulated": [asdict(one) for one in self.not_simulated],
            "remarks": list(self.remarks),
            "fit": None if self.fit is None else asdict(self.fit),
        }


def from_server(
    files: ServerFiles,
    *,
    name: str,
    known: Known | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Described:
    """Describe a server and its cluster.

    Parameters
    ----------
    files : ServerFiles
        What to read; at least an option file, variables or counters.
    name : str
        Of scenario and pack.
    known : Known, optional
        What counts above the files.
    executor : concurrent.futures.Executor, optional
        Where the replications of the fit run; in this process when None.
    progress : callable, optional
        Called during the fit with the number of evaluations and the lowest cost so far.

    Raises
    ------
    ScenarioError
        If a file cannot be read or is not what it should be.
    CalibrationError
        If the fit to the benchmark fails.
    """
    known = known or Known()
    found = Findings()
    server = read_server(files, known.server_version)
    product = product_of(server, found, model=known.model, nodes=known.nodes)
    cluster: dict[str, Any] = {"model": product.model}
    if product.version is not None:
        cluster["version"] = product.version
    cluster["nodes"] = product.nodes
    options = options_for(server, product, found)
    if options:
        cluster["options"] = options
    scenario: dict[str, Any] = {"name": name, "cluster": cluster}
    round_trip_ms = rtt_of(server, product, found, known.rtt_ms)
    if product.nodes > 1:
        scenario["network"] = {"rtt_ms": round_trip_ms}
    scenario["workload"] = _workload(server, product, cluster, found)
    scenario["run"] = {"duration_s": _DURATION_S, "warmup_s": _WARMUP_S}
    pack = _pack(name, product, server, files, known, found)
    fitted = None
    if server.sysbench is not None:
        fitted = fit_cell(scenario, pack, server.sysbench, executor=executor, progress=progress)
        _note(fitted, pack, server, found)
    else:
        default = getattr(find_model(product.model).Costs(), COST)
        found.default(f"pack.costs.{COST}", default, "no benchmark: --sysbench gives it")
    setup_of(load(scenario))  # everything that was found has to be a scenario together
    scenario = {**scenario, "cluster": {**cluster, "pack": f"{name}.pack.toml"}}
    return Described(
        scenario=scenario,
        pack=pack,
        settings=tuple(found.settings),
        not_simulated=tuple(found.not_simulated),
        remarks=(*found.remarks, *remarks_of(server)),
        fit=fitted,
        origins=found.origins(),
    )


def _workload(
    server: Server, product: Product, cluster: Mapping[str, Any], found: Findings
) -> dict[str, Any]:
    """The load of the benchmark if there is one, else that of the counters."""
    bench = server.sysbench
    counted: Load
    if bench is None:
        counted = load_of(server, product, found)
        classes = with_sizes(server, cluster, counted.classes, found)
    else:
        covered = counters_cover(server, bench, load_of(server, product, Findings()))
        counted = benchmark_load(server, bench, found)
        classes = counted.classes
        if covered:
            classes = with_sizes(server, cluster, classes, found)
    why = "where clients run is not known: machines of their own, without a round trip"
    client = found.default("workload.client", "own", why)
    return {**counted.table, "client": client, "class": classes}


def _pack(
    name: str, product: Product, server: Server, files: ServerFiles, known: Known, found: Findings
) -> dict[str, Any]:
    """The card, and what is known of the machine and its costs."""
    used = [files.option_file, files.variables, *files.status, files.sysbench]
    pack: dict[str, Any] = {
        "pack": {
            "name": name,
            "model": product.model,
            "description": "first pack, from the configuration and the counters of a server",
            "machine": "not described",
            "source": ", ".join(path.name for path in used if path is not None),
            "fitted_on": "",
        },
        "machine": {"cores": _cores(server, known, found)},
        "costs": {},
    }
    if known.fsync_us is not None:
        pack["costs"][_FSYNC] = found.told(f"pack.costs.{_FSYNC}", known.fsync_us, "--fsync-us")
    else:
        default = getattr(find_model(product.model).Costs(), _FSYNC)
        why = (
            "no counter tells it; 12-60 us on NVMe with power-loss protection, 500-3000 us on "
            "cloud block storage and consumer NVMe: --fsync-us"
        )
        found.default(f"pack.costs.{_FSYNC}", default, why)
    return pack


def _cores(server: Server, known: Known, found: Findings) -> int:
    setting = "pack.machine.cores"
    if known.cores is not None:
        return int(found.told(setting, known.cores, "--cores"))
    size = server.variables.get("thread_pool_size")
    if (
        server.mariadb
        and size is not None
        and size.value.isdigit()
        and int(size.value)
        and "thread_pool_size" not in server.options
    ):
        note = f"{size.spelling}: the number of processors, where it is not configured"
        return int(found.read(setting, int(size.value), [size.place], note))
    return int(found.default(setting, DEFAULT_MACHINE.cores, "not in the files: --cores"))


def _note(fitted: CellFit, pack: dict[str, Any], server: Server, found: Findings) -> None:
    """Put a cost that was found into the pack, or say why it is not there."""
    assert server.sysbench is not None
    setting, places = f"pack.costs.{fitted.cost}", server.sysbench.places
    measured_ms, fitted_ms = 1e3 * fitted.measured_s, 1e3 * fitted.fitted_s
    if not fitted.usable:
        why = (
            f"sysbench's mean latency of {measured_ms:.3g} ms is not met with any value "
            f"(simulated {fitted_ms:.3g} ms): look at fsync_us, rtt_ms and cores"
            if not fitted.met
            else f"sysbench's latency hardly depends on it (standard error "
            f"{fitted.standard_error:.0%})"
        )
        found.default(setting, fitted.prior, why)
        return
    note = (
        f"fitted: mean latency {fitted_ms:.4g} ms, measured {measured_ms:.4g} ms; standard error "
        f"{fitted.standard_error:.0%}, everything else as listed"
    )
    pack["costs"][fitted.cost] = found.read(setting, fitted.value, places, note)
    pack["pack"]["fitted_on"] = f"{server.sysbench.file}: one run, {fitted.cost} alone"
