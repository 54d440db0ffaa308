"""A campaign: all runs of an experiment, cluster by cluster, from where the last one stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simrep.rig.cell import Cell, Run
from simrep.rig.cluster import RigCluster
from simrep.rig.dataset import write_experiment
from simrep.rig.engine import RigEngine, RoundTrip
from simrep.rig.errors import BusyError, MixedError, RigError
from simrep.rig.experiment import Experiment, StoredExperiment
from simrep.rig.gates import Gate, round_trip_gate
from simrep.rig.guard import ended_by_signals, undisturbed
from simrep.rig.journal import Entry, Progress
from simrep.rig.known import KNOWN_SHARE
from simrep.rig.layout import Layout
from simrep.rig.manifest import software
from simrep.rig.measure import failed_entry, measure, without_folders
from simrep.rig.proxy import PROXY
from simrep.rig.syncs import let_syncs_wait, of_disk
from simrep.rig.tables import make_tables, table_keys
from simrep.rig.transactions import Transaction, keep_records

if TYPE_CHECKING:
    from simrep.rig.equipment import ThisMachine

__all__ = ["Campaign", "Told"]

_MOST_FAILED_STARTS = 2
_MOST_IN_VAIN = 5
"""Runs one after the other that came to nothing: the cluster is taken for broken."""
_PINGS = 3
"""A single late answer spoils the mean of a few; delays that are wrong stay wrong."""
_MOST_UNSURE = 5
"""Runs before that do not tell how long the others take."""
_MOST_NAMED = 3
"""Figures of which it is told that they are not known."""
_BROKEN = {"equal rows", "same members"}
_SETTLE_S = 1.0
"""For connections between servers to notice new delays."""


@dataclass(frozen=True, slots=True)
class Told:
    """Progress: what has just happened, for people."""

    done: int
    total: int
    text: str
    left_s: float | None = None


@dataclass(slots=True)
class _Cluster:
    """A running cluster with what was set on it last."""

    engine: RigEngine
    cluster: RigCluster
    base_ms: float
    ran_on: dict[str, str]
    prepared: dict[str, Any] = field(default_factory=dict)
    layout: Layout | None = None
    gate: Gate | None = None


class Campaign(Progress):
    """Measures what is missing of an experiment.

    Parameters
    ----------
    stored : StoredExperiment
    equipment : ThisMachine
    folder : Path
        Of the dataset. What it holds already is not measured again.
    part : Experiment, optional
        What of it is measured now; default: all.
    again : bool
        Runs of which no attempt passed get one more.
    tell : callable, optional
        Is given every piece of progress.
    """

    def __init__(
        self,
        stored: StoredExperiment,
        equipment: ThisMachine,
        folder: Path,
        *,
        part: Experiment | None = None,
        again: bool = False,
        tell: Callable[[Told], None] | None = None,
    ) -> None:
        super().__init__(stored, folder, part=part, again=again)
        self.equipment = equipment
        self._tell = tell or (lambda _told: None)
        self._began = time.monotonic()
        self._measured = 0
        self._in_vain = 0
        self.problems: list[str] = []

    def run(self) -> bool:
        """Measure all that is missing; whether all of it was measured.

        However it ends, servers and hosts are gone afterwards. Clusters that cannot be formed are
        left out, and told of in ``problems``.

        Raises
        ------
        BusyError
            If another rig is at work on this machine.
        MixedError
            If the folder holds what another machine, engine or version has measured.
        KeyboardInterrupt
            After everything was removed.
        """
        if not self.missing:
            return True
        with ended_by_signals():
            machine = self.equipment.machine()
            if self.journal.entries:
                _check_same(self.state.content.get("machine", {}), machine, _OF_A_MACHINE)
            write_experiment(self.stored, self.folder)
            known = self.state.content.get("software", [])
            now = software()
            self.state.update(machine=machine, software=[*(o for o in known if o != now), now])
            self.state.update(accuracy=self._accuracy())
            self._began = time.monotonic()
            passes, before = 0, -1
            while (todo := self.missing) and (
                passes < self.experiment.attempts or len(self.journal.entries) > before
            ):
                self.problems.clear()
                before = len(self.journal.entries)
                passes += 1
                if passes > 1:
                    self._say(f"once more: {len(todo)} runs that were marked, or not measured")
                clusters: dict[str, list[Run]] = {}
                for run in todo:
                    clusters.setdefault(run.cell.cluster_key, []).append(run)
                for runs in clusters.values():
                    self._on_one_cluster(runs)
        return not self.missing

    def _accuracy(self) -> dict[str, Any]:
        """Of the delays; a machine that cannot tell is told of, and measures all the same."""
        try:
            return self.equipment.accuracy()
        except BusyError:
            raise
        except RigError as error:
            self._say(f"the accuracy of delays is not known: {error}")
            return {"problem": without_folders(str(error))}

    def _on_one_cluster(self, runs: Sequence[Run]) -> None:
        """Measure runs that share a cluster, and further ones of their cells while they need it.

        The cluster is formed anew when it breaks.
        """
        left = list(runs)
        failed_starts = 0
        while left and failed_starts < _MOST_FAILED_STARTS:
            try:
                with self._formed(left[0].cell) as formed:
                    usable = True
                    while left and usable:
                        usable = self._one(formed, left.pop(0))
                        left = left or self._further(runs[0].cell)
            except (BusyError, MixedError):
                raise
            except Exception as error:  # noqa: BLE001 - servers fail to start in many ways
                failed_starts += 1
                problem = f"{runs[0].cell.system}: {error}"
                self._say(problem)
        if left:
            self.problems.append(f"{len(left)} runs were not measured: {problem}")

    def _further(self, cell: Cell) -> list[Run]:
        """The next repetitions on a cluster of cells that are not known well enough."""
        found = [
            run
            for run in self.missing
            if run.cell.cluster_key == cell.cluster_key and not self.journal.attempts(run.id)
        ]
        for run in found:
            figures = ", ".join(self.unknown(run.cell)[:_MOST_NAMED])
            self._say(f"{run.cell.label}: not known to {KNOWN_SHARE:.0%}, so once more: {figures}")
        return found

    @contextmanager
    def _formed(self, cell: Cell) -> Iterator[_Cluster]:
        """A cluster for a cell and those like it."""
        begin = time.monotonic()
        self._say(f"starting {cell.system}: {cell.nodes} nodes, {_as_text(cell.options)}")
        logs = self.folder / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        product = self.equipment.product(cell.product, cell.server)
        engine = self.equipment.engine(cell.server)
        with ExitStack() as stack:
            stack.callback(_quietly, engine.down)
            if any(load.proxy is not None for load in self.experiment.loads):
                engine.up(cell.nodes, [PROXY])
            else:
                engine.up(cell.nodes)
            if any(of_disk(load.fault) for load in (*self.experiment.loads, cell.load)):
                if not engine.breaks:
                    raise RigError(f"syncs are not slowed with {engine.name}: --engine netns")
                for host in engine.hosts:
                    let_syncs_wait(host)
            base = _typical_ms(engine.round_trips())
            cluster = product.form(
                engine, cell.options, logs,
                node_options=cell.node_options, arbitrators=cell.arbitrators,
            )  # fmt: skip
            stack.callback(_quietly, cluster.stop)
            took_s = time.monotonic() - begin
            health = cluster.health()
            if not health.ok:
                raise RigError(f"the cluster is not whole: {'; '.join(health.problems)}")
            self._say(f"{cell.system} is up after {took_s:.0f} s")
            known = {
                **_without_host_name(cluster.description()),
                "system": cell.system,
                "start_s": round(took_s, 1),
                "base_rtt_ms": base,
                "engine": engine.description(),
                "delay_method": engine.delay_method,
            }
            before = self.state.clusters().get(cell.cluster_key, {})
            known["starts_s"] = round(before.get("starts_s", before.get("start_s", 0)) + took_s, 1)
            if before.get("layouts"):
                _check_same(before, known, _OF_A_CLUSTER)
            self.state.cluster(cell.cluster_key, known)
            ran_on = {
                "server_version": str(known.get("version", "")),
                "engine": engine.name,
                "delay_method": engine.delay_method,
            }
            yield _Cluster(engine, cluster, base, ran_on)

    def _one(self, formed: _Cluster, run: Run) -> bool:
        """Measure one run; whether the cluster can be used any longer."""
        attempt = self.journal.attempts(run.id) + 1
        try:
            self._prepare(formed, run.cell)
            entry, records = self._run_once(formed, run, attempt)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            self._add(failed_entry(run, self.factors, attempt, problem))
            self._in_vain += 1
            if self._in_vain >= _MOST_IN_VAIN:
                self._in_vain = 0
                raise RigError(f"{_MOST_IN_VAIN} runs in a row came to nothing") from error
            return _whole(formed.cluster)
        self._in_vain = 0
        if run.cell.load.script is not None:
            formed.prepared.pop("sysbench", None)  # its tables are not what they were
        if records:
            keep_records(self.folder / "transactions", f"{run.id}.a{attempt}", records)
        self._add(entry)
        broken = _BROKEN & {gate.name for gate in entry.failed}
        return not broken and _whole(formed.cluster)

    def _run_once(
        self, formed: _Cluster, run: Run, attempt: int
    ) -> tuple[Entry, tuple[Transaction, ...]]:
        """One run, whatever its load is; one with faults keeps what its clients met by itself."""
        where = (run, formed.engine, formed.cluster)
        found_before = [formed.gate] if formed.gate else []
        if not run.cell.load.breaks:
            return measure(
                *where, limits=self.experiment.limits, factors=self.factors, attempt=attempt,
                found_before=found_before, ran_on=formed.ran_on,
            )  # fmt: skip
        from simrep.rig.fault_run import measure_faults

        entry = measure_faults(
            *where, limits=self.experiment.limits, factors=self.factors, attempt=attempt,
            folder=self.folder, found_before=found_before, ran_on=formed.ran_on,
        )  # fmt: skip
        return entry, ()

    def _prepare(self, formed: _Cluster, cell: Cell) -> None:
        """Tables without delays, then the delays of the layout."""
        engine = formed.engine
        wanted = {
            name: key
            for name, key in table_keys(cell.load).items()
            if formed.prepared.get(name) != key
        }
        if wanted:
            if formed.layout is not None:
                engine.set_delays(Layout(name="none").matrix(cell.node_names))
                formed.layout = None
            make_tables(cell.load, formed.cluster)
            if not formed.cluster.caught_up(self.experiment.limits.catch_up_s):
                raise RigError("the tables do not reach all nodes")
            formed.prepared |= wanted
        if formed.layout == cell.layout:
            return
        matrix = cell.layout.matrix(cell.node_names)
        engine.set_delays(matrix)
        formed.layout = cell.layout
        for _ in range(_PINGS):
            time.sleep(_SETTLE_S)
            found = engine.round_trips()
            formed.gate = round_trip_gate(matrix, found, formed.base_ms)
            if formed.gate.passed:
                break
        known = {
            "one_way_ms": {f"{a} {b}": link.delay_ms for (a, b), link in matrix.links.items()},
            "round_trips_ms": {f"{a} {b}": asdict(trip) for (a, b), trip in found.items()},
        }
        self.state.layout(cell.cluster_key, cell.layout.name, known)

    def _add(self, entry: Entry) -> None:
        self.journal.add(entry)
        self._measured += 1
        missing = len(self.missing)
        each_s = (time.monotonic() - self._began) / self._measured
        row = entry.row
        shown = f"{row.get('seconds', '-')} s"
        if row.get("mean_s", "") != "":
            shown += f", mean {1000 * float(row['mean_s']):.2f} ms"
        verdict = entry.reasons()
        self._say(
            f"{entry.id.rsplit('.', 2)[0]} {entry.id.rsplit('.', 1)[1]}: {shown}"
            + (f", MARKED: {verdict}" if verdict else ""),
            left_s=each_s * missing if self._measured > _MOST_UNSURE or not missing else None,
        )

    def _say(self, text: str, left_s: float | None = None) -> None:
        total = len(self.wanted)
        self._tell(Told(total - len(self.missing), total, text, left_s))


_OF_A_MACHINE = ("cpu", "cpus", "kernel")
_OF_A_CLUSTER = ("version", "provider", "delay_method", "engine.engine")


def _check_same(before: Mapping[str, Any], now: Mapping[str, Any], names: Sequence[str]) -> None:
    """One dataset is of one machine, one engine, and one version of each product."""
    for name in names:
        old, new = _at(before, name), _at(now, name)
        if old is not None and old != new:
            what = name.rpartition(".")[2].replace("_", " ")
            raise MixedError(
                f"the folder holds what was measured with {what} {old!r}; now it is {new!r}: "
                "give another one with --out"
            )


def _at(content: Mapping[str, Any], path: str) -> Any:
    found: Any = content
    for step in path.split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def _without_host_name(found: Mapping[str, Any]) -> dict[str, Any]:
    """A description whose variables do not name the machine: files are called after it."""
    variables = dict(found.get("variables", {}))
    host = variables.pop("hostname", "")
    kept = {n: v for n, v in variables.items() if not (host and host in str(v))}
    return {**found, "variables": kept} if variables else dict(found)


def _quietly(end: Callable[[], None]) -> None:
    with undisturbed():
        end()


def _whole(cluster: RigCluster) -> bool:
    """Whether a cluster is; one that does not answer is not."""
    try:
        return cluster.health().ok
    except Exception:  # noqa: BLE001 - no answer of any kind is the answer
        return False


def _typical_ms(trips: Mapping[tuple[str, str], RoundTrip]) -> float:
    """Typical round trip without added delay: the median of the pairs' means."""
    means = sorted(trip.mean_ms for trip in trips.values())
    return round(means[len(means) // 2], 4) if means else 0.0


def _as_text(options: Mapping[str, object]) -> str:
    return " ".join(f"{name}={value}" for name, value in options.items()) or "default options"
