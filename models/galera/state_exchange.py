"""Between the group communication of a Galera server and its node: who may order something.

After Galera's GCS (``gcs/src/gcs_core.cpp``, ``gcs_group.cpp``). When a primary view has begun, its
members exchange states: the first sends a number for the exchange (``STATE_UUID``), and each
answers with its state (``STATE_MSG``), all of them ordered like any message. When all states have
come, the configuration is complete. Only then its members may send again; what waits asks every 10
ms (``gcs_core.cpp``, ``core_msg_send_retry``). If the states tell that nobody has the whole state
of the cluster, the members are in no primary component all the same, whatever the group
communication says ("Quorum: No node with complete state").

What was sent before the change of view, and is delivered in it, is ordered while the member is in a
primary component. Without one nothing is ordered, and whatever is sent is lost. A writeset that
travels in several messages is ordered only if all of them come in one configuration; otherwise all
members drop it, and its origin sends it again (``-ERESTART``).

Simplified: in the product another thread learns of the view a moment after the group communication
takes messages again, so that now and then a writeset slips in before the exchange, is dropped by
all, and is sent again; here none does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from enum import Enum, auto
from functools import partial
from typing import Any, NamedTuple

from simrep.modelling import Deliver
from simrep.models.galera.gcomm.causal import LocalCausal
from simrep.models.galera.gcomm.changing_evs import ChangingEvs
from simrep.models.galera.gcomm.view import NO_VIEW, View

from .writeset import Kind, Writeset

__all__ = ["StateExchange"]

_NUMBER_BYTES = 32  # an identifier, and the headers of GCS
_STATE_BYTES = 150  # state of a member, with its names and address


class _Phase(Enum):
    PRIMARY = auto()  # the configuration is complete
    EXCHANGE = auto()
    NON_PRIMARY = auto()


class _Number(NamedTuple):
    """The number of an exchange; the view is as good."""

    view: int

    @property
    def text(self) -> str:
        """What it is called."""
        return "STATE_UUID"


class _State(NamedTuple):
    """The state of a member."""

    view: int
    report: Any  # see ``View.reports``

    @property
    def text(self) -> str:
        """What it is called."""
        return "STATE_MSG"


def _nothing(*_: Any) -> None:
    pass


def _always(_: View) -> bool:
    return True


class StateExchange:
    """The same as ``Evs`` to a node, in a group whose views change.

    Parameters
    ----------
    evs : ChangingEvs
        It begins in the first view, which is complete.
    mtu_bytes : int
        Larger writesets travel in several messages.
    """

    def __init__(self, evs: ChangingEvs, mtu_bytes: int) -> None:
        self._evs = evs
        self._me = evs.mesh.me
        self._mtu = mtu_bytes
        self._phase = _Phase.PRIMARY
        self._component: View | None = None
        self._states: dict[int, _State] = {}
        self._parts: dict[int, int] = defaultdict(int)  # of a writeset so far, by sender
        self._hand_over: Deliver = _nothing
        self._tell_view: Callable[[View], object] = _nothing
        self._restart: Callable[[Writeset], object] = _nothing
        self._report: Callable[[], Any] = _nothing
        self._has_quorum: Callable[[View], bool] = _always
        evs.held_back = True
        evs.on_deliver(self._deliver)
        evs.on_view(self._begin)

    @property
    def queued(self) -> int:
        """See ``Evs.queued``."""
        return self._evs.queued

    # -- for the node --------------------------------------------------------------------------

    def on_deliver(self, deliver: Deliver) -> None:
        """See ``Evs.on_deliver``; another process, if there was one, knows no view yet."""
        if self._hand_over is not _nothing:
            self._phase = _Phase.NON_PRIMARY
            self._component = None
        self._hand_over = deliver

    def on_view(self, call: Callable[[View], object]) -> None:
        """See ``Evs.on_view``: a primary view when its configuration is complete."""
        self._tell_view = call

    def on_send(self, call: Callable[[tuple[Any, ...]], object]) -> None:
        """See ``Evs.on_send``."""
        self._evs.on_send(call)

    def on_report(self, report: Callable[[], Any]) -> None:
        """Let ``report()`` be told in every exchange of states: see ``View.reports``."""
        self._report = report

    def on_quorum(self, has_quorum: Callable[[View], bool]) -> None:
        """Let ``has_quorum(view)`` tell by the states of its members whether a view is primary."""
        self._has_quorum = has_quorum

    def on_restart(self, restart: Callable[[Writeset], object]) -> None:
        """Let ``restart(writeset)`` send what has been dropped."""
        self._restart = restart

    def send(self, payload: Any, size_bytes: int) -> bool:
        """Send, or take and lose it; False if the sender has to try again."""
        if self._phase is _Phase.PRIMARY:
            return self._evs.view != NO_VIEW and self._evs.send(payload, size_bytes)
        return self._phase is _Phase.NON_PRIMARY

    def causal(self, call: Callable[[], object]) -> None:
        """See ``LocalCausal.causal``; without a primary component nobody is answered."""
        assert isinstance(self._evs, LocalCausal)
        if self._phase is not _Phase.NON_PRIMARY:
            self._evs.causal(call)

    # -- components ----------------------------------------------------------------------------

    def _begin(self, view: View) -> None:
        self._parts.clear()
        before, self._component = self._component, view
        if not view.primary:
            if self._phase is _Phase.NON_PRIMARY and before and before.members == view.members:
                return  # told at the end of the view before
            self._phase = _Phase.NON_PRIMARY
            self._tell_view(view)
            return
        self._phase = _Phase.EXCHANGE
        self._states = {}
        if view.members[0] == self._me:
            self._evs.answer(partial(self._announce, _Number(view.number), _NUMBER_BYTES))

    def _announce(self, message: _Number | _State, size_bytes: int) -> None:
        component = self._component
        if component is not None and component.number == message.view == self._evs.view:
            self._evs.announce(message, size_bytes)

    def _answer(self, view: int) -> None:
        self._announce(_State(view, self._report()), _STATE_BYTES)

    def _exchange(self, sender: int, message: _Number | _State) -> None:
        component = self._component
        if component is None or message.view != component.number:
            return
        if isinstance(message, _Number):
            self._evs.answer(partial(self._answer, message.view))
            return
        self._states[sender] = message
        if len(self._states) == len(component.members):
            reports = tuple(self._states[member].report for member in component.members)
            complete = replace(component, reports=reports)
            if not self._has_quorum(complete):
                self._phase = _Phase.NON_PRIMARY
                self._tell_view(replace(complete, primary=False, restored=False))
                return
            self._phase = _Phase.PRIMARY
            self._tell_view(complete)
            if self._evs.view == component.number:  # else the next change is under way
                self._evs.release()

    # -- messages ------------------------------------------------------------------------------

    def _deliver(self, sender: int, message: Any) -> None:
        if isinstance(message, _Number | _State):
            if self._phase is _Phase.EXCHANGE:
                self._exchange(sender, message)
            return
        kind = message.kind
        if kind == Kind.FRAGMENT:
            self._parts[sender] += 1
        elif kind == Kind.WRITESET and not self._is_ordered(sender, message):
            if sender == self._me and self._phase is not _Phase.NON_PRIMARY:
                self._restart(message)
            return
        if self._phase is _Phase.PRIMARY:
            self._hand_over(sender, message)

    def _is_ordered(self, sender: int, writeset: Writeset) -> bool:
        """Whether a writeset, of which the last part has come, gets its place in the order."""
        parts = self._parts.pop(sender, 0)
        complete = parts == max(0, -(-writeset.size_bytes // self._mtu) - 1)
        if not complete or self._phase is not _Phase.PRIMARY:
            return False
        if sender == self._me:
            writeset.local.placed = writeset.local.done
        return True
