"""One function for drills: which faults are played where, and what is known of them already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any

from simrep.errors import ScenarioError
from simrep.runs.executor import as_finished, collected, workers
from simrep.runs.progress import told, work_expected
from simrep.runs.sampler import (
    MOST,
    Progress,
    at_least,
    check_precision,
    replications_wanted,
    seed_of,
)
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
    precision: float | None = None,
    most: int = MOST,
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
    precision : float, optional
        Instead of a number of replications: of each fault in each setting as many as it takes until
        the half width of the 95 % interval of its mean RTO is this share of it, or of a second if
        the RTO is shorter: that is no outage. At least 10, and at most ``most``. Where writes do
        not come back in a replication there is no mean, and no more are simulated.
    most : int
        With a precision, the replications at which to give up. The result names the faults of
        which the precision is not reached.
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
    if precision is not None:
        check_precision(precision)
        if quick or replications is not None:
            raise ScenarioError(
                "precision", "decides how many replications there are",
                f"leave out {'quick' if quick else 'replications'}, or the precision",
            )  # fmt: skip
        replications = min(_REPLICATIONS, at_least("most", most, 2))
    elif replications is None:
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
        _Cell(setting, fault, seed, (limit_s, restart_s), store)
        for setting in settings
        for fault in chosen
    ]
    played = _Played(cells, seed, store, executor, progress)
    wanted = {place: replications for place, cell in enumerate(cells) if cell.case is not None}
    complete = played.up_to(wanted)
    while complete and precision is not None and wanted:
        enough = {place: _enough(played.told(place), precision, most) for place in wanted}
        wanted = {place: count for place, count in enough.items() if count > wanted[place]}
        complete = played.up_to(wanted)
    told_of = [played.told(place) for place in range(len(cells))]
    return Drill(
        name=loaded.name,
        factors=(*(("product",) if named else ()), *(factor.name for factor in varied)),
        cells=tuple(cell for cell in told_of if cell is not None),
        replications=max([replications, *(len(cell.outcomes) for cell in told_of if cell)]),
        precision=precision,
        limit_s=limit_s,
        notes=tuple(_notes(loaded, settings, chosen, restart_s)),
        seed=seed,
        computed=played.computed,
        known=played.known,
        complete=complete,
        demand=demand,
        versions=next((s.setup.versions for s in settings if s.setup is not None), {}),
    )


def _enough(cell: DrillCell | None, precision: float, most: int) -> int:
    """How many replications there have to be, as far as those that there are can tell."""
    values = [] if cell is None else cell.weighed_s
    if not values or not all(map(isfinite, values)):
        return len(values)  # more of them do not make it precise
    return replications_wanted(values, precision, most=most)


class _Played:
    """The replications of all cells, as far as they are known.

    Attributes
    ----------
    computed, known : int
        How many were simulated, and how many were known from before.
    """

    def __init__(
        self,
        cells: Sequence[_Cell],
        seed: int,
        store: Cache | None,
        executor: Executor | None,
        progress: Progress | None,
    ) -> None:
        self._cells, self._seed = cells, seed
        self._store, self._executor, self._progress = store, executor, progress
        self._contents: list[list[_Known]] = [[] for _ in cells]
        self.computed = self.known = 0

    def up_to(self, wanted: Mapping[int, int]) -> bool:
        """Have so many replications of cells by their places; False if it was interrupted.

        A cell of which some are missing then keeps those that it had.
        """
        store, progress = self._store, self._progress
        keys = {
            (place, number): self._cells[place].key(number)
            for place, count in wanted.items()
            for number in range(len(self._contents[place]), count)
        }
        known = dict(_known(store, keys))
        cases = {at: self._cells[at[0]].case for at in keys if at not in known}
        missing = {at: (case, self._seed, at[1]) for at, case in cases.items()}
        before = self.computed + self.known
        total, done = before + len(keys), before + len(known)

        def simulated() -> Iterator[tuple[tuple[int, int], _Known]]:
            if callable(progress):
                progress(done, total)
            for at, content in as_finished(play, missing, self._executor):
                if store is not None:
                    store.put(keys[at], content)
                yield at, content

        def tell(computed: int, total: int) -> None:
            if callable(progress):
                progress(done + computed, total)

        work_expected(total, done=done)
        computed, complete = collected(simulated(), least=0, progress=tell, total=total)
        self.computed += len(computed)
        self.known += len(known)
        contents = known | dict(computed)
        for place, count in wanted.items():
            own = self._contents[place]
            new = [contents.get((place, number)) for number in range(len(own), count)]
            if None not in new:
                own += filter(None, new)
        return complete

    def told(self, place: int) -> DrillCell | None:
        """A cell with its outcomes; None if some of them are missing."""
        return self._cells[place].told(self._contents[place])


class _Cell:
    """A fault in a setting, before it is simulated.

    Attributes
    ----------
    case : Case or None
        None if nothing is simulated.
    """

    def __init__(
        self,
        setting: DrillSetting,
        fault: DrillFault,
        seed: int,
        times_s: tuple[float, float | None],
        store: Cache | None,
    ) -> None:
        self._fault, self._labels = fault, setting.labels
        self.refused = setting.refused
        self.case: Case | None = None
        self._key = ""
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
        if store is not None:
            self._key = key_of(setup, {"drill": fault.name, "seed": seed, "limit_s": limit_s})

    def key(self, number: int) -> str:
        """A name of a replication of the cell."""
        return sha256(f"{self._key} {number}".encode()).hexdigest()

    def told(self, contents: Sequence[_Known]) -> DrillCell | None:
        """The cell with its outcomes; None if some of them are missing."""
        refused = self.refused or next(
            (content["refused"] for content in contents if "refused" in content), ""
        )
        if refused:
            return DrillCell(fault=self._fault, labels=self._labels, refused=refused)
        if not contents:
            return None
        outcomes = tuple(map(Outcome.from_dict, contents))
        return DrillCell(fault=self._fault, labels=self._labels, outcomes=outcomes, case=self.case)


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
