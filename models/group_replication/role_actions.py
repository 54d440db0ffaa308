"""What elections and switches of the primary let a member do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from .election import ElectionActions
from .messages import Control, Packet
from .promotion import PromotionActions

if TYPE_CHECKING:
    from .changing_member import ChangingMember

__all__ = ["MemberElection", "MemberPromotion"]


class MemberElection(ElectionActions):
    """What elections let a member do."""

    def __init__(self, member: ChangingMember) -> None:
        self._member = member

    def send(self, message: Control) -> None:
        """See ``ElectionActions.send``."""
        self._member.tell(message)

    def when_applied(self, call: Callable[[], object]) -> None:
        """See ``ElectionActions.when_applied``."""
        self._member.when_applied(call)

    def elected(self, primary: int | None) -> None:
        """See ``ElectionActions.elected``."""
        self._member.elected(primary)

    def set_writable(self) -> None:
        """See ``ElectionActions.set_writable``."""
        self._member.set_writable()

    def set_read_only(self, call: Callable[[], object]) -> None:
        """See ``ElectionActions.set_read_only``."""
        self._member.read_only = True
        self._member.server.when_quiet(call)

    def detect_conflicts(self, *, on: bool) -> None:
        """See ``ElectionActions.detect_conflicts``."""
        certifier = self._member.certifier
        self._member.queue(Packet(partial(certifier.detect_conflicts, on=on)))


class MemberPromotion(PromotionActions):
    """What a switch by hand lets a member do."""

    def __init__(self, member: ChangingMember) -> None:
        self._member = member

    def send(self, message: Control) -> None:
        """See ``PromotionActions.send``."""
        self._member.tell(message)

    def wait_for_transactions(self, timeout_s: float | None, call: Callable[[], object]) -> None:
        """See ``PromotionActions.wait_for_transactions``."""
        self._member.wait_for_transactions(timeout_s, call)

    def let_begin(self) -> None:
        """See ``PromotionActions.let_begin``."""
        self._member.blocked = False
