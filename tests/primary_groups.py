"""The primary component of a Galera group whose views are made by hand, as EVS would make them."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from simrep.models.galera.gcomm.primary import Presence, PrimaryComponent, PrimaryOptions
from simrep.models.galera.gcomm.view import View

__all__ = ["PrimaryGroup", "PrimaryMember"]


class PrimaryMember:
    """One member: as much of ``Evs`` as its primary component needs, and what it was told."""

    def __init__(self, group: PrimaryGroup, me: int, options: PrimaryOptions) -> None:
        self.mesh = SimpleNamespace(me=me)
        self.view = 0
        self.life = 0
        self.evicted: set[tuple[int, int]] = set()
        self.held_back = True
        self.told: list[View] = []
        self.application: Callable[[int, Any], object] = lambda _source, _message: None
        self.deliver_to = self.application
        self.aborted = False
        self._group = group
        self.primary = PrimaryComponent(self, group.size, options)  # type: ignore[arg-type]
        self.primary.on_abort(self._abort)

    def _abort(self) -> None:
        self.aborted = True

    def report(self) -> None:
        pass

    def announce(self, payload: Any, _size_bytes: int) -> None:
        self._group.sent.append((self, payload))

    def divert(self, deliver: Callable[[int, Any], object] | None) -> None:
        self.deliver_to = self.application if deliver is None else deliver

    def tell(self, view: View) -> None:
        self.told.append(view)


class PrimaryGroup:
    """Members whose views are changed by hand."""

    def __init__(self, size: int, *weights: int, **options: Any) -> None:
        self.size = size
        self.sent: list[tuple[PrimaryMember, Any]] = []
        how = PrimaryOptions(tuple(weights), **options)
        self.members = [PrimaryMember(self, me, how) for me in range(size)]
        self._number = 0

    def split(self, *parts: tuple[int, ...], left: tuple[int, ...] = ()) -> None:
        """Every part, of members that are in one view, gets a view of its own."""
        for part in parts:
            self.end(*part, left=left)
        for part in parts:
            self.begin(*part)
            self.deliver(*part)

    def merge(self, *parts: tuple[int, ...]) -> None:
        """Members of different views get one in common."""
        for part in parts:
            self.end(*part)
        everybody = tuple(sorted(member for part in parts for member in part))
        self.begin(*everybody)
        self.deliver(*everybody)

    def end(self, *part: int, left: tuple[int, ...] = ()) -> None:
        for me in part:
            self.members[me].primary.transitional(part, left)

    def begin(self, *part: int) -> None:
        self._number += 1
        lives = [(me, self.members[me].life) for me in part]
        for me in part:
            self.members[me].view = self._number
            self.members[me].primary.regular(self._number, lives)

    def deliver(self, *part: int, most: int = 99) -> None:
        """Deliver messages of a view to these of its members, and forget them."""
        while self.sent and most:
            most -= 1
            sender, payload = self.sent.pop(0)
            for me in part:
                self.members[me].deliver_to(sender.mesh.me, payload)

    def crash(self, *gone: int, how: Presence = Presence.CRASHED) -> None:
        for me in gone:
            self.members[me].primary.forget(how)

    def come_back(self, *members: int) -> None:
        for me in members:
            self.members[me].life += 1

    def start(self, *members: int) -> None:
        """Members that have come back have a view in common."""
        self.come_back(*members)
        self.begin(*members)
        self.deliver(*members)

    @property
    def primary(self) -> list[int]:
        return [me for me, member in enumerate(self.members) if member.primary.primary]

    def states(self, me: int) -> str:
        """What a member was told: N at the end of a view, n for a view, P for a primary one."""
        return "".join(
            "P" if view.primary else "N" if view.transitional else "n"
            for view in self.members[me].told
        )
