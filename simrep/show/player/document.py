"""A recording as a document: what the player in a page is given. docs/reference/player.md has it.

Everything in it is a number, a text or a list of these, so that JSON holds it as it is. Nothing is
loaded for it but the recording itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain, pairwise
from math import ceil, isfinite
from typing import Any

from simrep.printable import printable
from simrep.runs.timeline import without_repeats
from simrep.show.player.bands import bands
from simrep.show.player.columns import TICK_S, Texts, differences, kind_of, ticks
from simrep.why.recording import Message, Recording, Refusal, Step, Told

__all__ = ["FORMAT", "VERSION", "document"]

FORMAT, VERSION = "simrep-player", 2
_BINS = 600
_MOST_REFUSALS = 50_000
"""Many clients that try to connect again and again must not fill the page."""
_WIDTHS_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
_VIEWS = {"stable", "primary", "non-primary", "elected", "writable", "read-only", "promoted",
          "repointed", "manager-decides", "proxy-writer", "outside"}  # fmt: skip
"""What servers note of who is there, and of who takes writes."""


def document(recording: Recording) -> dict[str, Any]:
    """What the player needs of a run.

    Parameters
    ----------
    recording : Recording

    Returns
    -------
    dict
        Of what JSON holds; docs/reference/player.md has its keys.
    """
    texts = Texts()
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "title": printable(str(recording.scenario.get("name") or recording.model)),
        "model": printable(recording.model),
        "seed": str(recording.seed),  # more digits than a number of JavaScript has
        "replication": recording.replication,
        "versions": {name: printable(str(one)) for name, one in recording.versions.items()},
        "nodes": [printable(name) for name in recording.nodes],
        "tick_s": TICK_S,
        "length": ticks(recording.length_s),
        "measured_from": ticks(recording.measured_from_s),
        "window": [ticks(recording.from_s), ticks(recording.until_s)],
        "look": None if recording.look_s is None else list(map(ticks, recording.look_s)),
        "chosen": -1 if recording.chosen is None else recording.chosen,
        "messages": _messages(recording.messages, len(recording.nodes)),
        "transactions": _transactions(recording.transactions, texts),
        "refusals": _refusals(recording.refusals, texts),
        "leader": printable(recording.leader),
        "writers": [
            {
                "node": one.node,
                "at": ticks(one.from_s),
                "until": ticks(one.until_s),
                "outside": one.outside,
            }
            for one in recording.writers
        ],
        "steps": _steps(recording.steps, texts),
        "notes": _notes(recording),
        "events": _events(recording),
        "bands": bands(recording),
        "quiet": [[ticks(one.began_s), ticks(one.ended_s)] for one in recording.quiet],
        "rates": _rates(recording),
    }
    return content | {"texts": texts.patterns}


def _messages(messages: tuple[Message, ...], nodes: int) -> dict[str, Any]:
    labels: dict[str, int] = {}
    kinds: dict[str, int] = {}
    of_label: list[int] = []
    membership: dict[int, int] = {}
    column: list[int] = []
    for one in messages:
        text = printable(one.label)
        label = labels.setdefault(text, len(labels))
        if label == len(of_label):
            kind = kind_of(text)
            of_label.append(kinds.setdefault(kind, len(kinds)))
            membership[of_label[label]] = int(one.membership)
        column.append(label)
    return {
        "labels": list(labels),
        "kind_of_label": of_label,
        "kinds": list(kinds),
        "membership": [membership[kind] for kind in range(len(kinds))],
        "sent": differences(ticks(one.sent_s) for one in messages),
        "took": [_since(one.arrived_s, one.sent_s) for one in messages],
        "handled": [_since(one.handled_s, one.arrived_s) for one in messages],
        "pair": [one.source * nodes + one.target for one in messages],
        "label": column,
        "size": [one.size_bytes for one in messages],
        "cause": [0 if one.cause is None else place - one.cause
                  for place, one in enumerate(messages)],
        "about_count": [len(one.about) for one in messages],
        "about": differences(chain.from_iterable(one.about for one in messages)),
    }  # fmt: skip


def _since(end_s: float, begin_s: float) -> int:
    """From one time to the next; -1 if one of them has not come."""
    return max(0, ticks(end_s) - ticks(begin_s)) if isfinite(end_s) and isfinite(begin_s) else -1


def _transactions(told: tuple[Told, ...], texts: Texts) -> dict[str, Any]:
    numbers: list[int] = []
    stages = [stage for one in told for stage in one.stages]
    return {
        "number": differences(one.number for one in told),
        "kind": [texts.whole(one.kind) for one in told],
        "client": [one.client for one in told],
        "node": [one.node for one in told],
        "rows": [one.rows for one in told],
        "size": [one.size_bytes for one in told],
        "started": differences(ticks(one.started_s) for one in told),
        "took": [_since(one.ended_s, one.started_s) for one in told],
        "stage_count": [len(one.stages) for one in told],
        "stage": [texts.whole(stage.name) for stage in stages],
        "stage_took": list(chain.from_iterable(map(_lasts, told))),
        "reason": [texts.split(stage.reason, numbers) for stage in stages],
        "numbers": numbers,
        "critical_count": [len(one.critical) for one in told],
        "critical": differences(chain.from_iterable(one.critical for one in told)),
        "error": [texts.whole(one.error) if one.error else -1 for one in told],
        "unknown": [place for place, one in enumerate(told) if one.unknown],
    }


def _refusals(refusals: tuple[Refusal, ...], texts: Texts) -> dict[str, Any]:
    kept = refusals[:_MOST_REFUSALS]
    return {
        "node": [one.node for one in kept],
        "group": [texts.whole(one.group) for one in kept],
        "error": [texts.whole(one.error) for one in kept],
        "began": differences(ticks(one.began_s) for one in kept),
        "took": [_since(one.ended_s, one.began_s) for one in kept],
        "left_out": len(refusals) - len(kept),
    }


def _lasts(told: Told) -> Iterable[int]:
    """How long stages last, rounded so that they end with the transaction."""
    edges = [ticks(told.started_s), *(ticks(stage.ended_s) for stage in told.stages)]
    return (later - earlier for earlier, later in pairwise(edges))


def _steps(steps: tuple[Step, ...], texts: Texts) -> dict[str, Any]:
    numbers: list[int] = []
    return {
        "node": [one.node for one in steps],
        "station": [texts.whole(one.station) for one in steps],
        "what": [texts.split(one.what, numbers) for one in steps],
        "numbers": numbers,
        "waits": [int(one.waits) for one in steps],
        "of": differences(-1 if one.of is None else one.of for one in steps),
        "whose": [texts.whole(one.whose) for one in steps],
        "began": differences(ticks(one.began_s) for one in steps),
        "took": [_since(one.ended_s, one.began_s) for one in steps],
    }


def _notes(recording: Recording) -> list[dict[str, Any]]:
    places = {name: place for place, name in enumerate(recording.nodes)}
    return [
        {
            "at": ticks(line.at_s),
            "node": places.get(line.node, -1),
            "of": [places[name] for name in line.of if name in places],
            "kind": "fault" if not line.node else "view" if line.what in _VIEWS else "note",
            "what": printable(line.what),
            "text": printable(text),
        }
        for line, text in without_repeats(recording.lines)
    ]


def _events(recording: Recording) -> list[dict[str, Any]]:
    places = {name: place for place, name in enumerate(recording.nodes)}
    return [
        {
            "at": ticks(one.at_s),
            "until": min(ticks(one.until_s), ticks(recording.length_s))
            if one.lasts and isfinite(one.until_s)
            else ticks(recording.length_s) if one.lasts else -1,
            "nodes": [places[name] for name in one.nodes if name in places],
            "load": one.of_load,
            "text": printable(f"{one.what} ({one.how})" if one.how else one.what),
        }
        for one in recording.events
    ]  # fmt: skip


def _rates(recording: Recording) -> dict[str, Any]:
    """Commits and failures of the whole run, by intervals of equal length."""
    least_s = recording.length_s / _BINS
    width_s = next((one for one in _WIDTHS_S if one >= least_s), recording.length_s / _BINS)
    bins = max(1, ceil(recording.length_s / width_s))
    commits = Counter(min(bins - 1, int(at_s / width_s)) for at_s in recording.commits_s)
    aborts = Counter(min(bins - 1, int(at_s / width_s)) for at_s in recording.aborts_s)
    sent = Counter(min(bins - 1, int(one.sent_s / width_s)) for one in recording.messages)
    for tenth, number in recording.others.items():
        sent[min(bins - 1, int((tenth + 0.5) / 10.0 / width_s))] += number
    return {
        "width": ticks(width_s),
        "messages": [sent[place] for place in range(bins)],
        "commits": [commits[place] for place in range(bins)],
        "aborts": [aborts[place] for place in range(bins)],
    }
