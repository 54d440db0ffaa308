"""Which part of a group may go on: the primary component, and its views.

The layer above EVS of Galera's gcomm (``gcomm/src/pc_proto.cpp``), in one member. When EVS has
begun a view, every member sends what it was part of (state message), ordered like any message.
When all have come, the first member sends the view (install message); it counts where that message
is delivered, at the same place of the sequence on every member. Only then messages of the
application are sent again, so that all of them come after it.

A view is primary when a member comes from a primary view of which

    2 * (members that are still here) + (those that left in order) > (members it had),

and also when nobody does, but all members of the last primary view are back (which they know
from their disks: ``gvwstate.dat``, ``pc.recovery``). All weights are one (``pc.weight``).

Simplified: a view without majority takes the same messages as one with (the product tells the
application of it some round trips earlier, and throws away what it delivers of the old view after
that; here the rest is delivered); a cluster that was shut down in order cannot be bootstrapped.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from simrep.models.galera.gcomm.evs import Evs
from simrep.models.galera.gcomm.view import NO_VIEW, View

__all__ = ["MemberStatus", "MemberStatuses", "Presence", "PrimaryComponent"]

_MESSAGE_BYTES = 40  # header of a state or install message
_NODE_BYTES = 60  # what it tells of one member


class Presence(IntEnum):
    """Whether a member is there."""

    UP = 0
    CRASHED = 1
    LEFT = 2


class MemberStatus(NamedTuple):
    """What is known of a member; of two, the greater is the later."""

    life: int  # how often it has come back
    presence: Presence


MemberStatuses = tuple[MemberStatus, ...]
"""What is known of all members, by position."""


class _Formed(NamedTuple):
    """A view that was told to the application: its number, and (member, life) of its members."""

    number: int
    lives: tuple[tuple[int, int], ...]


class _State(NamedTuple):
    """A state message."""

    primary: bool
    last: _Formed | None
    last_primary: _Formed | None
    report: Any  # see ``View.reports``


class _Install(NamedTuple):
    """An install message."""

    view: View
    formed: _Formed


class PrimaryComponent:
    """What one member knows of the primary component; the first view, of ``size``, is primary."""

    def __init__(self, evs: Evs, size: int) -> None:
        self._evs = evs
        self._size = size
        self._primary = True
        first = _Formed(0, tuple((member, 0) for member in range(size)))
        self._last: _Formed | None = first
        self._last_primary: _Formed | None = first
        self._lives: tuple[tuple[int, int], ...] = ()
        self._states: dict[int, _State] = {}

    def survive(self, statuses: MemberStatuses) -> None:
        """Find out, when the old view has ended, whether what is left of it is the majority."""
        if self._primary:
            assert self._last_primary is not None
            lives = self._last_primary.lives
            here = sum(statuses[member] == (life, Presence.UP) for member, life in lives)
            left = sum(statuses[member] == (life, Presence.LEFT) for member, life in lives)
            self._primary = 2 * here + left > len(lives)

    def begin(self, members: Sequence[int], statuses: MemberStatuses) -> None:
        """EVS has begun a view: exchange states."""
        self._lives = tuple((member, statuses[member].life) for member in members)
        self._states = {}
        self._evs.divert(self._deliver)
        state = _State(self._primary, self._last, self._last_primary, self._evs.report())
        self._evs.announce(state, _MESSAGE_BYTES + _NODE_BYTES * self._size)

    def forget(self, presence: Presence) -> None:
        """Be no part of it any more; after a crash the disk still tells the last primary view."""
        self._primary = False
        self._last = None
        if presence == Presence.LEFT:
            self._last_primary = None

    def _deliver(self, sender: int, message: Any) -> None:
        if isinstance(message, _Install):
            self._install(message)
        elif self._evs.view != NO_VIEW:  # else the view has already ended again
            self._states[sender] = message
            if len(self._states) == len(self._lives) and self._lives[0][0] == self._evs.mesh.me:
                size = _MESSAGE_BYTES + _NODE_BYTES * self._size
                self._evs.announce(self._decide(), size)

    def _decide(self) -> _Install:
        number = self._evs.view
        last = max((state.last for state in self._states.values() if state.last), default=None)
        before = last.lives if last else ()
        view = View(
            number,
            tuple(member for member, _ in self._lives),
            tuple(member for member, life in self._lives if (member, life) not in before),
            tuple(member for member, life in before if (member, life) not in self._lives),
            any(state.primary for state in self._states.values()) or self._all_are_back(),
            tuple(self._states[member].report for member, _ in self._lives),
        )
        return _Install(view, _Formed(number, self._lives))

    def _all_are_back(self) -> bool:
        known = [state.last_primary for state in self._states.values() if state.last_primary]
        here = {member for member, _ in self._lives}
        return bool(known) and all(member in here for member, _ in max(known).lives)

    def _install(self, message: _Install) -> None:
        view = message.view
        self._primary = view.primary
        self._last = message.formed
        if view.primary:
            self._last_primary = message.formed
            self._evs.divert(None)
        self._evs.tell(view)
        if view.primary and self._evs.view == view.number:  # else the next change is under way
            self._evs.release()
