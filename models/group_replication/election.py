"""Which member takes writes: elections of the primary, as one member sees them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum

from .messages import Control, Word

__all__ = ["Election", "ElectionActions", "MemberInfo", "MemberState", "pick_primary"]


class MemberState(Enum):
    """Of a member, as ``replication_group_members`` shows it at itself."""

    ONLINE = "ONLINE"
    RECOVERING = "RECOVERING"
    OFFLINE = "OFFLINE"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class MemberInfo:
    """What a member tells the others when they exchange their states.

    Attributes
    ----------
    state : MemberState
    primary : bool
        It takes writes, or will when it has applied its backlog.
    weight : int
        ``group_replication_member_weight``.
    """

    state: MemberState
    primary: bool = False
    weight: int = 50


def pick_primary(members: Mapping[int, MemberInfo]) -> int | None:
    """Which member becomes primary; all members come to the same one.

    One that is primary stays so. Else it is, of those that are ONLINE, the one with the highest
    weight; of several, the one with the lowest UUID. None if there is nobody.

    Notes
    -----
    Simplified: all servers have the same release, and their UUIDs follow their positions.

    References
    ----------
    plugin/group_replication/src/plugin_handlers/primary_election_invocation_handler.cc:
    pick_primary_member, sort_members_for_election (9).
    """
    for member, info in sorted(members.items()):
        if info.primary:
            return member
    online = [member for member, info in members.items() if info.state == MemberState.ONLINE]
    return min(online, key=lambda member: (-members[member].weight, member), default=None)


class ElectionActions:
    """What an election lets its member do; this base does nothing."""

    def send(self, message: Control) -> None:
        """Send a message in the total order."""

    def when_applied(self, call: Callable[[], object]) -> None:
        """``call()`` when all that was delivered before is applied."""

    def elected(self, primary: int | None) -> None:
        """There is a new primary, or none."""

    def set_writable(self) -> None:
        """Let it take writes (``super_read_only`` OFF)."""

    def set_read_only(self, call: Callable[[], object]) -> None:
        """Let it take no writes any more; ``call()`` when those that commit have ended."""

    def detect_conflicts(self, *, on: bool) -> None:
        """What is delivered from now on is looked through for conflicts, or is not."""


class Election:
    """The primary of a group as one member sees it, and the way to a new one.

    A member that is elected applies everything that was ordered before its election, at every
    consistency level, tells all others that it is ready, and takes writes when that message is
    delivered. If the old primary is still there (a switch by hand), members look for conflicts
    from then on, as transactions of both may be on their way; they stop when all others are in read
    mode and the new primary has applied what they had sent.

    Parameters
    ----------
    member : int
    actions : ElectionActions

    Attributes
    ----------
    primary : int or None
        The present one; it may not take writes yet.
    running : bool
        Whether an election has begun and not ended.

    References
    ----------
    primary_election_invocation_handler.cc, execute_primary_election;
    primary_election_primary_process.cc and primary_election_secondary_process.cc,
    primary_election_process_handler (8.0, 9).
    """

    def __init__(self, member: int, actions: ElectionActions) -> None:
        self._member = member
        self._actions = actions
        self.primary: int | None = None
        self.running = False
        self._by_hand = False  # the old primary is there
        self._members: set[int] = set()
        self._writers: set[int] = set()  # those that may not be in read mode yet
        self._number = 0  # of the election: what belongs to an earlier one is void

    def begin(self, primary: int | None, members: Collection[int], *, running: bool) -> None:
        """Take over from others what they know."""
        self.primary = primary
        self.running = running
        self._members = set(members)
        self._writers.clear()

    def end(self) -> None:
        """Its member leaves the group."""
        self._number += 1
        self.primary = None
        self.running = False

    def see(self, members: Mapping[int, MemberInfo], gone: Collection[int] = ()) -> None:
        """A view with these members: if its primary is gone there is an election.

        Whoever is gone may be there again, as another process.
        """
        self._members = set(members)
        self._writers &= self._members.difference(gone)
        if self.primary not in members or self.primary in gone:
            self._elect(pick_primary(members), by_hand=False)
        elif self.running:
            self._go_on()

    def deliver(self, message: Control) -> None:
        """A message in the total order."""
        word = message.word
        if word == Word.ELECT:
            if message.of in self._members and message.of != self.primary:
                self._elect(message.of, by_hand=True)
        elif word == Word.READ_ONLY:
            self._writers.discard(message.member)
            self._go_on()
        elif message.member == self.primary:
            if word == Word.READY:
                self._ready()
            elif self.running:
                self.running = False
                self._actions.detect_conflicts(on=False)

    def _elect(self, primary: int | None, *, by_hand: bool) -> None:
        self._number += 1
        self.primary = primary
        self._by_hand = by_hand
        self._writers = set(self._members)
        self.running = primary is not None
        self._actions.elected(primary)
        if primary == self._member:
            self._when_applied(Word.READY)
        elif primary is None:
            self._actions.set_read_only(_nothing)

    def _ready(self) -> None:
        """The primary takes writes, and all others do not."""
        actions, number = self._actions, self._number
        if self._by_hand:
            actions.detect_conflicts(on=True)
        if self.primary != self._member:
            actions.set_read_only(lambda: self._in_read_mode(number))
            return
        actions.set_writable()
        if self._by_hand:
            self._in_read_mode(number)
        else:
            self._tell(Word.APPLIED)

    def _in_read_mode(self, number: int) -> None:
        """The primary tells so, too: the end is a point in the order, even if it is alone."""
        if number == self._number and self._by_hand:
            self._tell(Word.READ_ONLY)

    def _go_on(self) -> None:
        if self._by_hand and not self._writers and self.primary == self._member:
            self._by_hand = False
            self._when_applied(Word.APPLIED)

    def _when_applied(self, word: Word) -> None:
        number = self._number

        def applied() -> None:
            if number == self._number:
                self._tell(word)

        self._actions.when_applied(applied)

    def _tell(self, word: Word) -> None:
        self._actions.send(Control(word, self._member))


def _nothing() -> None:
    pass
