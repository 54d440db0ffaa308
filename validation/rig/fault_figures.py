"""What a run with faults comes to, by the definitions that simulated runs have."""

from __future__ import annotations

import gzip
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

import numpy as np

from simrep.data.acknowledgement_metrics import acknowledgement_figures
from simrep.data.failure_metrics import failure_figures
from simrep.data.failure_run import Clients, Experiment, Group
from simrep.data.removal_metrics import removal_figures
from simrep.kernel.timeline import Noted
from simrep.measure.attempts import WAITING as NO_ANSWER
from simrep.measure.attempts import Attempts
from simrep.rig.attempts import WAITING, Attempt, read_attempts
from simrep.rig.cell import Cell, ProductName
from simrep.rig.fault_names import MEASURED_ALONE
from simrep.rig.injector import Done
from simrep.rig.journal import Entry
from simrep.rig.load import Load
from simrep.rig.notes import LogLine, noted
from simrep.rig.operations import OPERATED
from simrep.workload.fate import FateCount

__all__ = [
    "ATTEMPTS_FILE",
    "HITS",
    "LOG_FILE",
    "SERIES",
    "figures_anew",
    "figures_of",
    "hit_times",
]

SERIES = "series"
"""Folder of what is kept of each run beside its figures."""
ATTEMPTS_FILE, LOG_FILE = "attempts.csv.gz", "log.gz"
HITS = ("kill", "stop", "power-loss", "leave", "links", "syncs", *OPERATED)
_BACK = ("restart", "continue", "links", "syncs", "taken-back")
_AFTER_START = ("restart_total_s", "stall_survivors_while_rejoining_s", "tput_while_down_tps")
_AFTER_HEAL = (
    *("rejoin_synced_after_heal_s", "stall_survivors_after_heal_s", "stall_after_heal_begins_s"),
    "victim_non_primary_after_heal_s",
)
_KEPT = {
    "kill": _AFTER_START,
    "power-loss": _AFTER_START,
    "leave": _AFTER_START,
    "pause": (*_AFTER_HEAL, "tput_while_stopped_tps"),
    "cut": (*_AFTER_HEAL, "tput_while_silent_tps"),
}
_NEVER = {"rejoining_seconds_s", "stall_writers_while_rejoining_s", "stall_writers_after_heal_s"}


@dataclass(frozen=True, slots=True)
class _Course:
    """What became of a run, as the figures of simulated ones take it."""

    attempts: Attempts
    noted: Collection[Noted]
    fates: FateCount | None


def hit_times(load: Load, done: Sequence[Done]) -> tuple[float, float]:
    """When the first fault came, and when its node was given back; the end, if it was not."""
    duration_s = load.duration_s or inf
    began = [one.at_s for one in done if one.what in HITS]
    inject_s = min(began, default=duration_s)
    back = [one.at_s for one in done if one.what in _BACK and one.at_s > inject_s]
    return inject_s, min(back, default=duration_s)


def figures_of(
    cell: Cell,
    found: Sequence[Attempt],
    done: Sequence[Done],
    written: Collection[Noted],
    fates: FateCount | None,
) -> dict[str, float]:
    """The figures of a run by their names, by the definitions that simulated runs have."""
    names = cell.node_names
    duration_s = cell.load.duration_s or 0.0
    inject_s, back_s = hit_times(cell.load, done)
    victims = [fault.struck(names, names) for fault in cell.load.fault]
    victims += [tuple(map(names.index, one.on(names))) for one in cell.load.operations]
    victim = next((own[0] for own in victims if own), 0)
    experiment = Experiment(
        names=names,
        victim=victim,
        inject_s=inject_s,
        back_s=back_s,
        end_s=duration_s,
        groups=tuple(
            Group(group.name, names.index(group.node), group.reads, group.on_error == "next")
            for group in cell.load.groups
        ),
        watched=frozenset(range(len(names))) - {victim},
        held=not cell.load.fault,
    )
    course = _Course(_attempts(cell, found), written, fates)
    figures, _ = failure_figures(course, experiment)
    figures["inject_s"] = inject_s
    figures |= _of_answers(done)
    if figures.get("rejoin_synced_after_heal_s", 0.0) > duration_s - back_s:
        # It was back after the load: nobody was there to be slowed.
        figures = {n: v for n, v in figures.items() if not n.startswith(("rejoining_", "joining_"))}
    clients = Clients(course.attempts, experiment)
    for other in _of_others(cell.product, course, clients, experiment) | _aliases(cell.load):
        figures.pop(other, None)
    return figures


def _aliases(load: Load) -> set[str]:
    """Names of figures that say the same of another kind of fault."""
    first = min((*load.fault, *load.operations), key=lambda one: one.at_s).what
    kept = _KEPT.get(first, _KEPT["cut"])
    return {name for names in _KEPT.values() for name in names} - set(kept) | _NEVER


def _of_answers(done: Sequence[Done]) -> dict[str, float]:
    """How long the statement that changes a table took."""
    began = next((one.at_s for one in done if one.what == "ddl"), None)
    answered = next((one.at_s for one in done if one.what == "answered"), None)
    if began is None or answered is None:
        return {}
    return {"ddl_answered_after_begin_s": answered - began}


def _of_others(
    product: ProductName, course: _Course, clients: Clients, experiment: Experiment
) -> set[str]:
    """Names of figures that mean nothing for a product: they are of other ones."""
    names: set[str] = set()
    if product != "group_replication":
        names |= {name for name, _ in removal_figures(course.noted, clients, experiment)}
    if product not in {"semisync", "asynchronous"}:
        own = acknowledgement_figures(course.noted, clients, experiment, course.fates)
        names |= {name for name, _ in own}
    if product != "galera":
        names |= {"rejoin_ist_n", "full_sst_n", "donor_n"}
    return names


def _attempts(cell: Cell, found: Sequence[Attempt]) -> Attempts:
    """As simulated runs have them."""
    groups = tuple(group.name for group in cell.load.groups)
    nodes = cell.node_names
    ordered = sorted(found, key=lambda one: one.ended_s)
    texts = {"": 0}
    errors = [texts.setdefault(_error(one), len(texts)) if one.error else 0 for one in ordered]
    return Attempts(
        groups=groups,
        nodes=nodes,
        texts=tuple(texts),
        began_s=np.array([one.began_s for one in ordered], np.float64),
        ended_s=np.array([one.ended_s for one in ordered], np.float64),
        group=np.array([groups.index(one.group) for one in ordered], np.int32),
        node=np.array([nodes.index(one.node) for one in ordered], np.int32),
        error=np.array(errors, np.int32),
        writes=np.array([not one.reads for one in ordered], np.bool_),
        connecting=np.array([one.connecting for one in ordered], np.bool_),
        end_s=cell.load.duration_s or 0.0,
    )


def _error(one: Attempt) -> str:
    return NO_ANSWER if one.error == WAITING else str(one.error)


_LINE = re.compile(r"(-?[\d.]+) (\S+) ?(.*)")


def figures_anew(cell: Cell, entry: Entry, folder: Path) -> dict[str, float]:
    """The figures of a run from what was kept of it, by the definitions of today.

    Of rows and of the machine those that were written down; all of them if nothing was kept.
    """
    written: dict[str, float] = entry.details.get("figures", {})
    stem = folder / SERIES / f"{entry.id}.a{entry.attempt}"
    attempts, log = (stem.with_name(f"{stem.name}.{end}") for end in (ATTEMPTS_FILE, LOG_FILE))
    addresses: Mapping[str, str] = entry.details.get("addresses", {})
    if not (attempts.exists() and log.exists() and addresses):
        return written
    done = [Done(*one) for one in entry.details["done"]]
    inject_s, _ = hit_times(cell.load, done)
    told = map(_LINE.fullmatch, gzip.decompress(log.read_bytes()).decode().splitlines())
    lines = [
        LogLine(float(line[1]) + inject_s, line[2], line[3])
        for line in told
        if line is not None and line[2] in addresses
    ]
    found = read_attempts(gzip.decompress(attempts.read_bytes()).decode())
    fates = entry.details.get("fates")
    figures = figures_of(
        cell,
        found,
        done,
        noted(cell.product, lines, addresses),
        None if fates is None else FateCount(**fates),
    )
    kept = {name: value for name, value in written.items() if name.startswith(MEASURED_ALONE)}
    if fates is None and "acked_lost_n" in written:
        kept["acked_lost_n"] = written["acked_lost_n"]
    return {name: round(value, 4) for name, value in sorted({**figures, **kept}.items())}
