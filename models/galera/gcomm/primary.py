"""Which part of a group may go on: the primary component, and its views.

The layer above EVS of Galera's gcomm (``gcomm/src/pc_proto.cpp``), in one member. EVS calls it
twice in every change of view.

Transitional view
    Whatever was safe in the old view is delivered; now EVS tells who comes along from it and who
    has left in order. Weights are those of ``pc.weight``, and a component that was primary stays
    so if

        2 * (members that come along) + (those that left) > (members of the last primary view).

    Otherwise the application is told at once that it is in no primary component; the rest of the
    old view comes after that.
Regular view
    Every member sends where it comes from (state message), ordered like any message. When all have
    come, everybody knows whether the view is primary: because a member comes from a primary
    component; or because nobody does, but all members of the last primary view are there again, as
    far as anybody knows, and of nobody is it unknown whether it formed a later one. Then the first
    member sends the view (install message), which counts where it is delivered. If the view is not
    primary, the application is told so without a message more.

A server that has crashed knows from ``gvwstate.dat`` who it was and which view was the last primary
one (``pc.recovery``): when all of that view and nobody else are there, one of them makes it primary
again. ``bootstrap`` does that by hand, for whatever component the member is in. Of two primary
components that meet, the one with the greater view goes on; the members of the other end.

Simplified: weights do not change during a run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum, auto
from typing import Any, NamedTuple

from simrep.models.galera.gcomm.changing_evs import ChangingEvs
from simrep.models.galera.gcomm.view import Life, View

__all__ = [
    "Presence",
    "PrimaryComponent",
    "PrimaryOptions",
    "quorum_margin",
]

_MESSAGE_BYTES = 40  # header of a state or install message
_NODE_BYTES = 60  # what it tells of one member


class Presence(IntEnum):
    """Whether a member is there."""

    UP = 0
    CRASHED = 1
    LEFT = 2


@dataclass(frozen=True, slots=True)
class PrimaryOptions:
    """Settings of the primary component, with the provider's defaults."""

    weights: tuple[int, ...] = ()  # pc.weight by member; 1 where none is given
    ignore_sb: bool = False  # half of the weight is enough
    ignore_quorum: bool = False  # any weight is enough
    recovery: bool = True  # gvwstate.dat is written, and read at the start

    def weight(self, members: Collection[Life]) -> int:
        """The weight of members together."""
        weights = self.weights
        return sum(weights[at] if at < len(weights) else 1 for at, _ in members)


def quorum_margin(
    options: PrimaryOptions,
    last: Collection[Life],
    present: Collection[Life],
    left: Collection[Life],
) -> int:
    """By how much there is a quorum: above 0 there is one, at 0 the brain is split.

    ``last`` are the members of the last primary view; nobody else counts.
    """
    return (
        2 * options.weight([member for member in present if member in last])
        + options.weight([member for member in left if member in last])
        - options.weight(last)
    )


class _Phase(Enum):
    PRIMARY = auto()
    TRANSITIONAL = auto()
    EXCHANGE = auto()  # of states
    INSTALL = auto()  # the view is on its way
    NON_PRIMARY = auto()


class _Formed(NamedTuple):
    """A view that was primary, or that its members were told."""

    number: int
    members: tuple[Life, ...]
    # Who its members are, as their disks know: a server that has crashed keeps that.
    identities: tuple[Life, ...]


class _State(NamedTuple):
    """A state message."""

    identity: Life
    primary: bool
    last: _Formed | None  # what it was told last
    last_primary: _Formed | None
    saved: _Formed | None  # on its disk, if it has come back from a crash
    unknown: frozenset[Life]  # of whom it is not known whether they formed a primary view
    evicted: frozenset[Life]
    report: Any  # see ``View.reports``

    @property
    def text(self) -> str:
        """What it is called."""
        return "state (PC)"


class _Install(NamedTuple):
    """An install message."""

    formed: _Formed
    bootstrap: bool = False

    @property
    def text(self) -> str:
        """What it is called."""
        return "install (PC)"


def _ignore() -> None:
    pass


class PrimaryComponent:
    """What one member knows of the primary component; the first view, of ``size``, is primary."""

    def __init__(self, evs: ChangingEvs, size: int, options: PrimaryOptions | None = None) -> None:
        self._evs = evs
        self._options = options or PrimaryOptions()
        everybody = tuple((member, 0) for member in range(size))
        first = _Formed(0, everybody, everybody)
        self.primary = True
        self._phase = _Phase.PRIMARY
        self._identity: Life | None = (evs.mesh.me, 0)
        self._number = 0  # of the regular view, and its members
        self._members = everybody
        self._present = everybody  # in the transitional view
        self._left: tuple[Life, ...] = ()
        self._last: _Formed | None = first
        self._last_primary: _Formed | None = first
        self._saved: _Formed | None = None
        self._states: dict[int, _State] = {}
        self._unknown: set[Life] = set()
        self._abort: Callable[[], object] = _ignore
        self._starts_primary = False

    def on_abort(self, call: Callable[[], object]) -> None:
        """``call()`` when this member has to end, as there is a greater primary component."""
        self._abort = call

    # -- what EVS tells ------------------------------------------------------------------------

    def transitional(self, present: Collection[int], left: Collection[int]) -> None:
        """The regular view has ended: who of it comes along, and who has left in order.

        To be called when all that was safe in the view is delivered, and before the rest is.
        """
        self._present = tuple(member for member in self._members if member[0] in present)
        self._left = tuple(member for member in self._members if member[0] in left)
        if self.primary:
            assert self._last_primary is not None
            if not self._may_go_on(self._last_primary):
                self._lose()
        self._phase = _Phase.TRANSITIONAL

    def regular(self, number: int, members: Sequence[Life]) -> None:
        """EVS has begun a view: exchange states."""
        me = self._evs.mesh.me
        self._number = number
        self._members = tuple(members)
        self._phase = _Phase.EXCHANGE
        self._states = {}
        if self._identity is None:
            self._identity = next(member for member in self._members if member[0] == me)
        self._evs.divert(self._deliver)
        state = _State(
            self._identity,
            self.primary,
            self._last,
            self._last_primary,
            self._saved,
            frozenset(self._unknown),
            frozenset(self._evs.evicted),
            self._evs.report(),
        )
        self._evs.announce(state, self._size_bytes)

    def forget(self, presence: Presence) -> None:
        """The process has ended; after a crash its disk tells the next one who it was."""
        if presence == Presence.LEFT or not self._options.recovery:
            self._saved = self._identity = None
        elif self._last_primary is not None:
            self._saved = self._last_primary
        elif self._saved is None:
            self._identity = None
        self.primary = False
        self._phase = _Phase.NON_PRIMARY
        self._last = self._last_primary = None
        self._states = {}
        self._unknown.clear()

    @property
    def identity(self) -> Life | None:
        """Who this member is, or is to be when its process starts; None: whoever starts."""
        return self._identity

    # -- by hand -------------------------------------------------------------------------------

    def bootstrap(self) -> bool:
        """Make the component of this member primary (``pc.bootstrap``); False if it is not told.

        That is ignored in a primary component, and during a change of view.
        """
        if self._phase != _Phase.NON_PRIMARY or not self._states:
            return False
        self._evs.announce(_Install(self._formed(), bootstrap=True), self._size_bytes)
        return True

    def start_primary(self) -> None:
        """The process that comes is told to begin a primary component (``--wsrep-new-cluster``)."""
        self._starts_primary = True
        self._saved = None

    # -- quorum --------------------------------------------------------------------------------

    def _may_go_on(self, last: _Formed) -> bool:
        """Whether those who come along are enough of the members of a primary view."""
        options = self._options
        margin = quorum_margin(options, last.members, self._present, self._left)
        return margin > 0 or (margin == 0 and options.ignore_sb) or options.ignore_quorum

    def _lose(self) -> None:
        """Be in no primary component from here on; the old view is not delivered to its end."""
        self.primary = False
        positions = tuple(member for member, _ in self._present)
        others = tuple(member[0] for member in self._members if member not in self._present)
        self._evs.tell(View(self._number, positions, (), others, False, transitional=True))

    def _is_primary(self) -> bool:
        states = self._states.values()
        if any(state.primary for state in states):
            return True
        here = {state.identity for state in states}
        if any(member not in here for state in states for member in state.unknown):
            return False
        greatest = max((state.last_primary for state in states if state.last_primary), default=None)
        if greatest is None:
            return False
        evicted = {member for state in states for member in state.evicted}
        return all(member in here or member in evicted for member in greatest.identities)

    def _is_saved_view(self) -> bool:
        """Whether all have come back from a crash, and are all of the last primary view."""
        states = self._states.values()
        own = self._states[self._evs.mesh.me].saved
        if own is None or any(state.saved is None or state.last_primary for state in states):
            return False
        latest = max(state.saved.number for state in states if state.saved is not None)
        return own.number == latest and {state.identity for state in states} == {*own.identities}

    # -- state and install messages ------------------------------------------------------------

    @property
    def _size_bytes(self) -> int:
        return _MESSAGE_BYTES + _NODE_BYTES * len(self._members)

    def _deliver(self, source: int, message: Any) -> None:
        if isinstance(message, _Install):
            self._on_install(message)
        elif isinstance(message, _State) and self._phase == _Phase.EXCHANGE:
            self._on_state(source, message)

    def _deliver_others(self, source: int, message: Any) -> None:
        """After a bootstrap: several members may have sent it."""
        if not isinstance(message, _Install):
            self._evs.application(source, message)

    def _on_state(self, source: int, state: _State) -> None:
        if self.primary and state.primary:
            assert self._last_primary is not None
            assert state.last_primary is not None
            if state.last_primary.number > self._last_primary.number:
                self._abort()
            if state.last_primary.number != self._last_primary.number:
                return  # of two, the one with the smaller view ends
        self._states[source] = state
        if len(self._states) < len(self._members):
            return
        if self._is_primary():
            self._phase = _Phase.INSTALL
            if self._members[0][0] == self._evs.mesh.me:
                self._evs.announce(_Install(self._formed()), self._size_bytes)
            return
        self._phase = _Phase.NON_PRIMARY
        for other in self._states.values():
            self._unknown |= other.unknown
        if self._identity is not None:
            self._unknown.discard(self._identity)
        self._told(self._formed(), primary=False)
        if self._starts_primary or self._is_saved_view():
            self.bootstrap()

    def _on_install(self, install: _Install) -> None:
        if self._phase == _Phase.TRANSITIONAL:
            if not install.bootstrap:
                self._install_in_transition(install.formed)
            return
        if install.bootstrap and self._phase != _Phase.NON_PRIMARY:
            return
        self.primary = True
        self._phase = _Phase.PRIMARY
        self._starts_primary = False
        formed = install.formed
        self._unknown.clear()
        self._evs.divert(self._deliver_others if install.bootstrap else None)
        self._told(formed, primary=True, bootstrapped=install.bootstrap)
        self._last_primary = formed
        if self._evs.view == formed.number and not self._evs.held_back:  # else the next is coming
            self._evs.release()

    def _install_in_transition(self, formed: _Formed) -> None:
        """The view ends here as it would begin: those who have gone may have begun it."""
        if (
            self.primary
            and quorum_margin(self._options, formed.members, self._present, self._left) > 0
        ):
            return
        self._lose()
        self._unknown |= {
            identity
            for identity, member in zip(formed.identities, formed.members, strict=True)
            if member not in self._present
        }

    def _formed(self) -> _Formed:
        """The regular view, all of whose states have come."""
        identities = tuple(self._states[member].identity for member, _ in self._members)
        return _Formed(self._number, self._members, identities)

    def _told(self, formed: _Formed, *, primary: bool, bootstrapped: bool = False) -> None:
        """Tell the application of a view, and what is new in it."""
        states = self._states
        came = [state.last_primary for state in states.values() if state.primary]
        before = max(
            (view for view in came or [state.last for state in states.values()] if view),
            default=None,
        )
        earlier = () if before is None else before.members
        new = [
            member[0]
            for member in formed.members
            if member not in earlier or (came and not states[member[0]].primary)
        ]
        self._last = formed
        self._evs.tell(
            View(
                formed.number,
                tuple(member for member, _ in formed.members),
                tuple(new),
                tuple(member[0] for member in earlier if member not in formed.members),
                primary,
                tuple(states[member].report for member, _ in formed.members),
                restored=primary and not came,
                bootstrapped=bootstrapped,
            )
        )
