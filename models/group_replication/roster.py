"""Who is in the group, as one member knows it, and what it has to tell those who join."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simrep.models.group_replication.gcs.views import View

from .election import MemberInfo, MemberState
from .messages import Metadata

__all__ = ["Roster"]


class Roster:
    """The members of the present view and their states.

    Whoever was ONLINE before a member joins knows what was ordered up to that view. The first of
    them tells it (``Recovery_metadata_message``); the next one does if that one leaves before.

    Parameters
    ----------
    member : int
    tell : callable
        ``tell(metadata)`` sends a message in the total order.
    """

    def __init__(self, member: int, tell: Callable[[Metadata], object]) -> None:
        self._member = member
        self._tell = tell
        self.infos: dict[int, MemberInfo] = {}
        # What is not yet told to those who joined, and who may tell it, by view.
        self._untold: dict[int, tuple[Metadata, list[int]]] = {}
        self._told: set[int] = set()

    def begin(self, infos: Mapping[int, MemberInfo]) -> None:
        """Begin in a group that has been there for long."""
        self.infos = dict(infos)

    def end(self) -> None:
        """The member is in no group any more."""
        self._untold.clear()

    def see(self, view: View) -> None:
        """A view, with what its members have told before it."""
        self.infos = {
            member: self._info(member, told, joined=member in view.joined)
            for member, told in view.states.items()
        }

    def _info(self, member: int, told: MemberInfo, *, joined: bool) -> MemberInfo:
        """What it told before the view, and what is known since."""
        if joined:
            return MemberInfo(MemberState.RECOVERING, weight=told.weight)
        known = self.infos.get(member)
        if known is not None and known.state == MemberState.ONLINE:
            return MemberInfo(known.state, told.primary, told.weight)
        return told

    @property
    def online(self) -> frozenset[int]:
        """Members that are ONLINE."""
        return frozenset(
            member for member, info in self.infos.items() if info.state == MemberState.ONLINE
        )

    @property
    def primary(self) -> int | None:
        """The one that has told that it is primary."""
        return min((m for m, info in self.infos.items() if info.primary), default=None)

    def set_online(self, member: int) -> bool:
        """A member is ONLINE; False if it is none."""
        info = self.infos.get(member)
        if info is not None:
            self.infos[member] = MemberInfo(MemberState.ONLINE, info.primary, info.weight)
        return info is not None

    # -- what those who join have to know ----------------------------------------------------------

    def inform(self, view: View, online: frozenset[int], metadata: Callable[[], Metadata]) -> None:
        """All that was ordered before a view is certified: tell it to those who join in it."""
        me = self._member
        for number, (told, senders) in list(self._untold.items()):
            there = [m for m in senders if m in view.members and m not in view.gone]
            self._untold[number] = (told, there)
            if there and there[0] == me != senders[0]:  # who was to tell it has left
                self._tell(told)
        if view.joined and me in online and view.number not in self._told:
            told = metadata()
            self._untold[view.number] = (told, sorted(online))
            if min(online) == me:
                self._tell(told)

    def informed(self, metadata: Metadata) -> None:
        """It was told."""
        self._told.add(metadata.view)
        self._untold.pop(metadata.view, None)
