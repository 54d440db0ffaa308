"""One function for drills: which faults are played where, and what is known of them already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from hashlib import sha256
from pathlib import Path
from typing import Any

from simrep.errors import ScenarioError
from simrep.runs.executor import as_finished, collected, workers
from simrep.runs.progress import told, work_expected
from simrep.runs.sampler import Progress, at_least, seed_of
from simrep.scenario import Scenario, load
from simrep.whatif.cache import Cache, cache_of, key_of
from simrep.whatif.design import Given, Setting, factors, grid
from simrep.whatif.drill.catalogue import DrillFault, chosen_faults
from simrep.whatif.drill.cell import EARLIEST_S, QUIET_S, SPREAD_S, Case, play, setup_with
from simrep.whatif.drill.demand import LIMIT_S, Demand
from simrep.whatif.drill.outcome import Outcome
from simrep.whatif.drill.result import Drill, DrillCell
from simrep.whatif.drill.roles import MissingRoleError, roles_of
from simrep.whatif.drill.setting import DrillSetting, checked_load, products_of, settings_of

__all__ = ["drill"]

_REPLICATIONS, _QUICK = 10, 3
_Known = dict[str, Any]


@told
def drill(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    faults: Sequence[str] | None = None,
    products: str | Sequence[str] = (),
    over: Mapping[str, Given] | None = None,
    replications: int | None = None,
    quick: bool = False,
    seed: int | None = None,
    limit_s: float = LIMIT_S,
    restart_s: float | None = None,
    rto_s: float | None = None,
    rpo: float | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    cache: bool | str | Path = False,
    progress: Progress | None = None,
) -> Drill:
    """Play a catalogue of faults: who notices, when clients have an answer again, what is lost.

    Every fault happens to a role: the server that takes writes, one on which no client writes, a
    site. It begins at random between 10 and 15 s of each replication, at the same instants in all
    settings. A run ends when all is in order again, at the latest ``limit_s`` after its fault.
    Faults of the scenario itself are not played.

    Parameters
    ----------
    scenario : str, Path, mapping or Scenario
        What :func:`simrep.run` takes. If it says nothing of ``workload.clients``, clients go to the
        next node after an error where another one may take writes, wait 5 s for an answer and 2 s
        for a connection.
    faults : sequence of str, optional
        Names of the catalogue (``simrep drill --list``); default: all.
    products : str or sequence of str
        Products instead of the scenario's own: names of models or of their deployments, ``all`` for
        one of each model. They have their own defaults, the machines and clients of the scenario.
    over : mapping of str to levels, optional
        Values that vary, as :func:`simrep.sweep` takes them.
    replications : int, optional
        Of each fault in each setting; default: 10. 95th percentiles are told from 40 on.
    quick : bool
        A first look: 3 replications instead of 10.
    seed : int, optional
        Default: that of the scenario.
    limit_s : float
        So long after the begin of the fault a run ends at last, in simulated seconds.
    restart_s : float, optional
        A server that has ended is started again after so long; default: 30 s, and 90 s where its
        machine lost power.
    rto_s, rpo : float, optional
        What is demanded: the longest time without an answered write in seconds, and how many
        answered transactions may be lost. The result tells which settings keep both.
    jobs, executor, cache, progress
        See :func:`simrep.sweep`; each replication is kept by itself.

    Returns
    -------
    Drill
        Holds the cells that were finished when it was interrupted (Ctrl-C).

    Raises
    ------
    ScenarioError
        If the scenario cannot be simulated, or a fault or product has no such name.

    Examples
    --------
    >>> cluster = {
    ...     "cluster": {"model": "galera"},
    ...     "run": {"duration_s": 1},
    ...     "workload": {"threads": 4, "think_time_ms": 130},
    ... }
    >>> found = drill(cluster, faults=["kill writer"], replications=1)
    >>> 5.0 < found.cell("kill writer").median("rto_s") < 7.0
    True
    """
    executor = workers(jobs, executor)
    loaded = load(scenario)
    seed = seed_of(seed, loaded.run.seed)
    if replications is None:
        replications = _QUICK if quick else _REPLICATIONS
    at_least("replications", replications, 1)
    if restart_s is not None and not 0.0 < restart_s <= 3600.0:
        raise ScenarioError("restart_s", f"must be above 0 and at most 3600, given {restart_s:g}")
    if not QUIET_S <= limit_s <= 3600.0:
        raise ScenarioError(
            "limit_s",
            f"must be from {QUIET_S:g} to 3600 s, given {limit_s:g}",
            f"all has to be in order for {QUIET_S:g} s before a run ends",
        )
    demand = Demand.of(rto_s, rpo, limit_s)
    chosen = chosen_faults(faults)
    named = products_of([products] if isinstance(products, str) else products)
    varied = factors(over) if over else ()
    variants = grid(varied) if varied else [Setting({}, {})]
    settings = list(settings_of(checked_load(loaded), named, variants))
    store = cache_of(cache)
    cells = [
        _Cell(setting, fault, replications, seed, (limit_s, restart_s), store)
        for setting in settings
        for fault in chosen
    ]
    keys = {(place, number): key for place, cell in enumerate(cells)
            for number, key in enumerate(cell.keys)}  # fmt: skip
    known = dict(_known(store, keys))
    missing = {at: (cells[at[0]].case, seed, at[1]) for at in keys if at not in known}

    def simulated() -> Iterator[tuple[tuple[int, int], _Known]]:
        if callable(progress):
            progress(len(known), len(keys))
        for at, content in as_finished(play, missing, executor):
            if store is not None:
                store.put(keys[at], content)
            yield at, content

    def tell(computed: int, total: int) -> None:
        if callable(progress):
            progress(len(known) + computed, total)

    work_expected(len(keys), done=len(known))
    computed, complete = collected(simulated(), least=0, progress=tell, total=len(keys))
    contents = known | dict(computed)
    by_cell: dict[int, list[_Known]] = {}
    for place, number in sorted(contents):
        by_cell.setdefault(place, []).append(contents[place, number])
    told_of = [cell.told(by_cell.get(place, [])) for place, cell in enumerate(cells)]
    return Drill(
        name=loaded.name,
        factors=(*(("product",) if named else ()), *(factor.name for factor in varied)),
        cells=tuple(cell for cell in told_of if cell is not None),
        replications=replications,
        limit_s=limit_s,
        notes=tuple(_notes(loaded, settings, chosen, restart_s)),
        seed=seed,
        computed=len(computed),
        known=len(known),
        complete=complete,
        demand=demand,
        versions=next((s.setup.versions for s in settings if s.setup is not None), {}),
    )


class _Cell:
    """A fault in a setting, before it is simulated.

    Attributes
    ----------
    keys : list of str
        A name of each replication; empty if none is simulated.
    case : Case or None
    """

    def __init__(
        self,
        setting: DrillSetting,
        fault: DrillFault,
        replications: int,
        seed: int,
        times_s: tuple[float, float | None],
        store: Cache | None,
    ) -> None:
        self._fault, self._labels = fault, setting.labels
        self._replications = replications
        self.refused = setting.refused
        self.keys: list[str] = []
        self.case: Case | None = None
        if setting.scenario is None or setting.setup is None:
            return
        limit_s, restart_s = times_s
        try:
            roles = roles_of(setting.setup)
            reads = any(not one.writes for one in setting.setup.workload.classes)
            case = Case(setting.scenario, fault, roles, restart_s, limit_s, reads)
            setup = setup_with(case)
        except MissingRoleError as error:
            self.refused = f"does not apply: {error}"
            return
        except ScenarioError as error:
            self.refused = f"not played: {error.problem}"
            return
        self.case = case
        key = ""
        if store is not None:
            key = key_of(setup, {"drill": fault.name, "seed": seed, "limit_s": limit_s})
        self.keys = [sha256(f"{key} {n}".encode()).hexdigest() for n in range(replications)]

    def told(self, contents: Sequence[_Known]) -> DrillCell | None:
        """The cell with its outcomes; None if some of them are missing."""
        refused = self.refused or next(
            (content["refused"] for content in contents if "refused" in content), ""
        )
        if refused:
            return DrillCell(fault=self._fault, labels=self._labels, refused=refused)
        if len(contents) < self._replications:
            return None
        outcomes = tuple(map(Outcome.from_dict, contents))
        return DrillCell(fault=self._fault, labels=self._labels, outcomes=outcomes)


def _known(
    store: Cache | None, keys: Mapping[tuple[int, int], str]
) -> Iterator[tuple[tuple[int, int], _Known]]:
    if store is None:
        return
    for at, key in keys.items():
        content = store.get(key)
        if content is None:
            continue
        try:
            if "refused" not in content:
                Outcome.from_dict(content)
        except (AttributeError, KeyError, TypeError, ValueError):  # a file of somebody else
            continue
        yield at, content


def _notes(
    scenario: Scenario,
    settings: Sequence[DrillSetting],
    faults: Sequence[DrillFault],
    restart_s: float | None,
) -> Iterator[str]:
    yield (
        f"Faults begin at random between {EARLIEST_S:g} and {EARLIEST_S + SPREAD_S:g} s, at the "
        "same instants in all settings."
    )
    if any(fault.back_s for fault in faults):
        after = "30 s, and 90 s after a power loss" if restart_s is None else f"{restart_s:g} s"
        yield f"A server that has ended is started again after {after}."
    by_note: dict[str, list[str]] = {}
    for setting in settings:
        for note in setting.notes:
            by_note.setdefault(note, []).append(str(next(iter(setting.labels.values()), "")))
    for note, of in by_note.items():
        those = ", ".join(filter(None, dict.fromkeys(of)))
        owner = f"{those}: " if those and len(by_note) > 1 else ""
        said = note.replace("clients", "Clients", 1) if note.startswith("clients") else note
        yield f"{owner}{note}." if owner else f"{said}."
    if scenario.faults:
        yield "Faults of the scenario itself are not played."
