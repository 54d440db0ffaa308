"""By whom messages reach a group: copies, relays of segments, ways round broken links.

After ``update_addresses``, ``handle_down``, ``relay`` and ``check_liveness`` of
``gcomm/src/gmcast.cpp``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simrep.models.galera.gcomm.connection import Connection

__all__ = ["DIRECT", "Routes", "segment_relays"]

# Who receives a message passes it on: to nobody, to all that it has links to (F_RELAY), to its own
# segment (F_SEGMENT_RELAY).
DIRECT, _RELAY, _SEGMENT_RELAY = range(3)


def _chosen(place: int, places: Mapping[int, Sequence[int]]) -> list[int]:
    """The relay in each other segment for the member that has a place in its own."""
    return [there[(place + segment) % len(there)] for segment, there in places.items()]


def segment_relays(me: int, segments: Sequence[int]) -> list[int]:
    """Who passes on what a member sends to those of its own segment, where there are others."""
    places: dict[int, list[int]] = {}
    for peer, segment in enumerate(segments):
        places.setdefault(segment, []).append(peer)
    place = places.pop(segments[me]).index(me)
    chosen = _chosen(place, places)
    return [relay for relay in chosen if segments.count(segments[relay]) > 1]


class Routes:
    """Whom a member sends copies to, as (peer, who passes it on).

    Parameters
    ----------
    me : int
    segments : sequence of int
        Segment of every member.

    Attributes
    ----------
    to_all : list of (int, int)
        Copies of what is for all.
    """

    def __init__(self, me: int, segments: Sequence[int]) -> None:
        self._me = me
        self._segments = segments
        self._linked: list[int] = []
        self._relays: list[int] = []  # who passes on to all that it has links to
        self._near: list[tuple[int, int]] = []  # copies for those of the own segment
        self.to_all: list[tuple[int, int]] = []

    def update(self, links: Mapping[int, Connection]) -> None:
        """Go by the links that there are."""
        self._linked = sorted(links)
        self._relays = [peer for peer in self._relays if peer in links]
        places: dict[int, list[int]] = {}
        for peer in self._linked:
            places.setdefault(self._segments[peer], []).append(peer)
        near = places.pop(self._segments[self._me], [])
        place = sum(peer < self._me for peer in near)
        self._near = [(peer, DIRECT) for peer in near]
        chosen = _chosen(place, places)
        direct = self._near + [(peer, _SEGMENT_RELAY) for peer in sorted(chosen)]
        relays = [(peer, _RELAY) for peer in self._relays]
        self.to_all = relays + [copy for copy in direct if copy[0] not in self._relays]

    def go_round(self, links: Mapping[int, Connection], missing: set[int]) -> None:
        """Choose as few relays as possible for those to whom there is no link."""
        missing = set(missing)
        candidates = [links[peer] for peer in sorted(links)]
        self._relays = []
        while missing and candidates:
            best = max(candidates, key=lambda candidate: self._reach_of(candidate, missing))
            self._relays.append(best.peer)
            missing -= best.links
            candidates.remove(best)
        self.update(links)

    def passed_on(self, passes_on: int, source: int) -> list[tuple[int, int]]:
        """Copies of what ``source`` has sent to be passed on."""
        if passes_on == _RELAY:
            return [(peer, DIRECT) for peer in self._linked if peer != source]
        relays = [(peer, _RELAY) for peer in self._relays if peer != source]
        return relays + self._near

    def _reach_of(self, candidate: Connection, missing: set[int]) -> tuple[int, bool]:
        """How many of those without a link a peer reaches; the own segment counts on top."""
        near = self._segments[candidate.peer] == self._segments[self._me]
        return len(missing & candidate.links), near
