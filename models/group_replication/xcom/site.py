"""Who belongs to a group from which message number on: the configurations of XCom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import inf

__all__ = ["STRIDE", "Site", "Sites"]

STRIDE = 16
"""Slots are numbered ``message number * STRIDE + node number``; a group has at most 9 members."""


@dataclass(frozen=True)
class Site:
    """One configuration.

    A node's number is its place in the list of members: it decides about the order of slots of
    one message number, and who proposes what is missing. A member that comes back is the last.

    Simplified: a configuration begins with a whole message number (in the source, with the slot
    of the node that has proposed it).

    Parameters
    ----------
    start : int
        The message number from which it is valid.
    members : tuple of int
        Positions of the nodes, by node number.
    horizon : int
        Message numbers past the next one to be executed that may be in use.
    boot : int
        The slot of the message that made it; -1 if there was none.
    formed : int
        The same of the last configuration that added or removed members.
    single : bool
        Only one member has slots, the leader.
    preferred : int, optional
        The position of the member that is to be the single leader.
    present : frozenset of int
        Positions of those that were alive by the last view message; all if not given. A single
        leader is one of them.
    """

    start: int
    members: tuple[int, ...]
    horizon: int = 10
    boot: int = -1
    formed: int = -1
    single: bool = False
    preferred: int | None = None
    present: frozenset[int] = frozenset()
    forced: bool = False
    """It was forced by hand (``force_members``)."""

    lives: frozenset[tuple[int, int]] = frozenset()
    """Position and number of the process, for members that have been added (their UUID there)."""

    size: int = field(init=False, compare=False)
    majority: int = field(init=False, compare=False)
    leader: int | None = field(init=False, compare=False)
    """The position of the only member with slots; None if all have them."""
    first: int = field(init=False, compare=False)
    """The lowest node number that has slots."""
    steps: tuple[int, ...] = field(init=False, compare=False)
    """How far the next slot is from that of each node number."""

    def __post_init__(self) -> None:
        members = self.members
        last = len(members) - 1
        present = self.present or frozenset(members)
        leader = self._leader(present) if self.single and members else None
        steps = tuple(1 if node < last else STRIDE - last for node in range(len(members)))
        if leader is not None:
            steps = (STRIDE,) * len(members)
        derived = {
            "present": present,
            "size": len(members),
            "majority": len(members) // 2 + 1,
            "leader": leader,
            "first": 0 if leader is None else members.index(leader),
            "steps": steps,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def _leader(self, present: frozenset[int]) -> int:
        """The preferred one if it is alive, else the first that is (``analyze_leaders``)."""
        if self.preferred in present and self.preferred in self.members:
            assert self.preferred is not None
            return self.preferred
        return next((m for m in self.members if m in present), self.members[0])

    def number_of(self, position: int) -> int | None:
        """The node number of a member; None if it is not one."""
        return self.members.index(position) if position in self.members else None

    def owns(self, slot: int, position: int) -> bool:
        """Whether a slot of a message number of this configuration is one of that member."""
        node = slot % STRIDE
        if self.leader is not None:
            return position == self.leader and node == self.first
        return node < self.size and self.members[node] == position

    def others(self, position: int) -> tuple[int, ...]:
        """All members but one."""
        return tuple(member for member in self.members if member != position)

    def with_added(self, position: int, start: int, boot: int, life: int = 0) -> Site:
        """The next configuration, in which a member has been added."""
        members = (*(m for m in self.members if m != position), position)
        present = self.present & frozenset(members) - {position}
        others = {process for process in self.lives if process[0] != position}
        added = self._formed(start, boot, members, present)
        return replace(added, lives=frozenset(others | {(position, life)}))

    def without(self, positions: Iterable[int], start: int, boot: int) -> Site:
        """The next configuration, in which members have been removed."""
        gone = frozenset(positions)
        members = tuple(m for m in self.members if m not in gone)
        return self._formed(start, boot, members, self.present - gone)

    def forced_to(self, members: tuple[int, ...], start: int, boot: int) -> Site:
        """The next configuration, of these members alone."""
        present = self.present & frozenset(members)
        return replace(self._formed(start, boot, members, present), forced=True)

    def _formed(
        self, start: int, boot: int, members: tuple[int, ...], present: frozenset[int]
    ) -> Site:
        site = replace(self, start=start, members=members, present=present, forced=False)
        return replace(site, boot=boot, formed=boot)

    def led_by(self, position: int, start: int, boot: int) -> Site:
        """The next configuration, in which a member is preferred as the single leader."""
        return replace(self, start=start, boot=boot, preferred=position)

    def with_present(self, positions: frozenset[int], start: int, boot: int) -> Site:
        """The next configuration, in which these are alive."""
        return replace(self, start=start, boot=boot, present=positions)


class Sites:
    """The configurations that a node knows, by the message numbers from which they are valid."""

    def __init__(self, sites: Iterable[Site] = ()) -> None:
        self._sites = list(sites)

    @property
    def latest(self) -> Site:
        """The configuration that was installed last."""
        return self._sites[-1]

    @property
    def known(self) -> tuple[Site, ...]:
        """All of them, the oldest first."""
        return tuple(self._sites)

    def add(self, site: Site) -> None:
        """Install a configuration."""
        self._sites.append(site)

    def at(self, number: int) -> Site | None:
        """The one that is valid for a message number: the last installed that has begun by then."""
        for site in reversed(self._sites):
            if site.start <= number:
                return site
        return None

    def next_start(self, number: int) -> float:
        """The first message number after this one with which a configuration begins."""
        return min((site.start for site in self._sites if site.start > number), default=inf)
