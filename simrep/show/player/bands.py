"""How each node is doing over time, for the player: away, stopped, cut off, out of the group."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

from simrep.printable import printable
from simrep.runs.timeline import Line
from simrep.scenario.faults import LINKS
from simrep.show.player.columns import ticks
from simrep.why.recording import Recording

__all__ = ["bands"]

_GONE = {"kill", "power-loss", "leave"}
_BACK = {"restart", "bootstrap"}
_OUT, _IN = {"non-primary", "aborted", "evicted"}, {"primary", "joined", "synced", "writable"}
"""What a node notes when it has left the part of the cluster that serves, and is in it again."""


def bands(recording: Recording) -> list[dict[str, Any]]:
    """Times in which a node is not as it should be, in the order of their begin.

    The kinds are ``down`` (there is no server), ``paused``, ``cut`` (links), ``slow`` and ``out``
    (the server runs, and is in no part of the cluster that serves clients).
    """
    found = [*_struck(recording), *_outside(recording)]
    return sorted(found, key=lambda one: (one["at"], one["node"]))


def _band(
    recording: Recording, node: int, kind: str, at_s: float, until_s: float, text: str
) -> dict[str, Any]:
    return {"node": node, "kind": kind, "at": ticks(at_s),
            "until": ticks(min(until_s, recording.length_s)), "text": printable(text)}  # fmt: skip


def _struck(recording: Recording) -> Iterator[dict[str, Any]]:
    """What the scenario does to nodes."""
    for event in recording.events:
        word = recording.faults.get(event.path)
        if word is None:
            continue
        for name in event.nodes:
            node = recording.nodes.index(name) if name in recording.nodes else -1
            if node < 0:
                continue
            if word in _GONE:
                backs = (
                    other.at_s
                    for other in recording.events
                    if recording.faults.get(other.path) in _BACK
                    and name in other.nodes
                    and other.at_s >= event.at_s
                )
                yield _band(recording, node, "down", event.at_s, min(backs, default=inf),
                            event.what)  # fmt: skip
            elif event.lasts:
                kind = "cut" if word in LINKS else "paused" if word == "pause" else "slow"
                yield _band(recording, node, kind, event.at_s, event.until_s, event.what)


def _outside(recording: Recording) -> Iterator[dict[str, Any]]:
    """What servers note of themselves."""
    for node, name in enumerate(recording.nodes):
        out: Line | None = None
        for line in recording.lines:
            if line.node != name:
                continue
            if line.what in _OUT and out is None:
                out = line
            elif line.what in _IN and out is not None:
                yield _band(recording, node, "out", out.at_s, line.at_s, str(out))
                out = None
        if out is not None:
            yield _band(recording, node, "out", out.at_s, inf, str(out))
