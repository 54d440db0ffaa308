"""A switch of the primary by hand: ``group_replication_set_as_primary()``."""

from __future__ import annotations

from collections.abc import Callable, Collection

from .election import Election
from .messages import Control, Word

__all__ = ["Promotion", "PromotionActions"]


class PromotionActions:
    """What a switch lets its member do; this base does nothing."""

    def send(self, message: Control) -> None:
        """Send a message in the total order."""

    def wait_for_transactions(self, timeout_s: float | None, call: Callable[[], object]) -> None:
        """``call()`` when all transactions that are open now have ended.

        With a timeout none may begin until ``let_begin``, and those that are not in their commit
        after it are disconnected.
        """

    def let_begin(self) -> None:
        """Let transactions begin again."""


class Promotion:
    """One member's part in a switch.

    All members tell that they are fit for it. When all have, the old primary waits for the
    transactions that are open, those that only read among them, and then has the group elect the
    new one (``Election``).

    Parameters
    ----------
    member : int
    election : Election
    actions : PromotionActions

    References
    ----------
    plugin/group_replication/src/group_actions/primary_election_action.cc, execute_action;
    ``Server_ongoing_transactions_handler``, ``Transaction_monitor_thread`` (8.0.29, 9).
    """

    def __init__(self, member: int, election: Election, actions: PromotionActions) -> None:
        self._member = member
        self._election = election
        self._actions = actions
        self._target = -1
        self._timeout_s: float | None = None
        self._awaited: set[int] = set()  # members that have not told
        self._number = 0
        self.running = False

    def deliver(self, message: Control, online: Collection[int]) -> None:
        """A message in the total order."""
        if message.word == Word.PROMOTE:
            fit = message.of in online and message.of != self._election.primary
            if fit and not self.running and not self._election.running:
                self.running = True
                self._number += 1
                self._target = message.of
                self._timeout_s = message.timeout_s
                self._awaited = set(online)
                self._actions.send(Control(Word.FIT, self._member))
        elif message.word == Word.FIT and self.running and message.member in self._awaited:
            self._awaited.discard(message.member)
            self._go_on()
        elif message.word == Word.READY and self.running:
            self.end()

    def see(self, members: Collection[int]) -> None:
        """A view: without the old primary, or without the new one, the switch is over."""
        if self.running and self._target not in members:
            self.end()
        elif self.running and self._awaited:
            self._awaited.intersection_update(members)
            self._go_on()

    def end(self) -> None:
        """The switch is over, or its member leaves the group."""
        if self.running:
            self.running = False
            self._number += 1
            self._actions.let_begin()

    def _go_on(self) -> None:
        if self._awaited or self._election.primary != self._member:
            return
        number = self._number

        def ended() -> None:
            if number == self._number:
                self._actions.send(Control(Word.ELECT, self._member, of=self._target))

        self._actions.wait_for_transactions(self._timeout_s, ended)
