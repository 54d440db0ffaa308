"""Metadata locks of one server: transactions use tables, and statements change what they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from typing import Any, Final

from simrep.kernel.clock import Clock

__all__ = ["Access", "Claim", "MetadataLocks"]

Call = Callable[[Any], object]


class Access:
    """What others may do with a table while a statement changes it."""

    ALL: Final = 0
    """Everybody reads and writes (MySQL: ``MDL_SHARED_UPGRADABLE``)."""
    READS: Final = 1
    """Nobody writes (``MDL_SHARED_NO_WRITE``)."""
    NONE: Final = 2
    """Nobody uses it (``MDL_EXCLUSIVE``)."""


class Claim:
    """A statement that changes a table: what others may do with that, and what it waits for.

    Parameters
    ----------
    kinds : collection of str or None
        Kinds of transactions that use the table; None: all do.

    Attributes
    ----------
    access : int
        What it lets others do by now (see ``Access``).
    """

    __slots__ = ("_argument", "_call", "_wanted", "access", "kinds")

    def __init__(self, kinds: Collection[str] | None) -> None:
        self.kinds = kinds
        self.access: int = Access.ALL
        self._wanted: int = Access.ALL
        self._call: Call | None = None
        self._argument: Any = None

    def concerns(self, kind: str) -> bool:
        """Whether transactions of a kind use its table."""
        return self.kinds is None or kind in self.kinds

    def bars(self, kind: str, *, writes: bool) -> bool:
        """Whether such a transaction may not begin: the statement has its lock, or waits for it."""
        wanted = self._wanted
        return wanted > Access.ALL and (writes or wanted == Access.NONE) and self.concerns(kind)

    def shares(self, other: Claim) -> bool:
        """Whether both are about one table."""
        if self.kinds is None or other.kinds is None:
            return True
        return not set(self.kinds).isdisjoint(other.kinds)

    def want(self, access: int, call: Call, argument: Any) -> None:
        """Wait until others may do no more than that."""
        self._wanted, self._call, self._argument = access, call, argument

    def lower(self, access: int) -> None:
        """Let others do more again."""
        self.access = self._wanted = access

    @property
    def waits(self) -> bool:
        """Whether it waits for those who use its table."""
        return self._call is not None

    def grant(self) -> tuple[Call, Any]:
        """It has what it has waited for."""
        assert self._call is not None
        call, argument = self._call, self._argument
        self.access, self._call, self._argument = self._wanted, None, None
        return call, argument


class MetadataLocks:
    """Who uses which tables of one server, and who changes them.

    A transaction has its lock from its begin to its end. A statement that changes a table waits for
    those that are open, and what comes meanwhile queues up behind it: one long transaction holds
    up the statement, and with it everybody. One statement at a time changes a table.

    Attributes
    ----------
    waits : int
        Transactions that had to wait.
    wait_s, wait_max_s : float
        How long they did, in seconds: in sum, and the longest.

    Notes
    -----
    Simplified: a transaction has one lock for all that it uses, from its begin on and not from the
    first statement that uses it; the lock of one that writes is that of a writer from then on.
    ``lock_wait_timeout`` (a year, or a day with MariaDB) never ends a wait.

    References
    ----------
    sql/mdl.cc of MySQL 8.4, MDL_lock::m_object_lock_strategy: which locks are granted beside which,
    and which waiting ones go first.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._users: dict[Hashable, tuple[str, bool]] = {}  # kind, and whether it writes
        self._claims: list[Claim] = []
        self._later: list[tuple[Claim, Call, Any]] = []  # statements that wait for another one
        self._waiting: dict[Hashable, tuple[str, bool, float, Call, Any]] = {}
        self.waits = 0
        self.wait_s = self.wait_max_s = 0.0

    # -- transactions ------------------------------------------------------------------------------

    def enter(
        self,
        user: Hashable,
        kind: str,
        call: Call,
        argument: Any = None,
        *,
        writes: bool,
        passes: bool = False,
    ) -> bool:
        """Begin to use the table of a kind of transactions; ``call(argument)`` if not at once.

        Whoever ``passes`` does not queue up behind statements that still wait: for the user it may
        be that these wait for, and that waits for it in turn.
        """
        if any(
            claim.bars(kind, writes=writes) and not (passes and claim.waits)
            for claim in self._claims
        ):
            self._waiting[user] = (kind, writes, self._clock._now, call, argument)
            return False
        self._users[user] = (kind, writes)
        return True

    def leave(self, user: Hashable) -> None:
        """End to use it, or give up the wait for it."""
        self._waiting.pop(user, None)
        if self._users.pop(user, None) is not None:
            self._grant()

    def users(self, claim: Claim) -> list[Hashable]:
        """For whom a statement waits, the oldest first."""
        return [user for user, (kind, _) in self._users.items() if claim.concerns(kind)]

    def barring(self, user: Hashable) -> Claim | None:
        """The statement for which a transaction waits; None if it does not."""
        if user not in self._waiting:
            return None
        kind, writes, *_ = self._waiting[user]
        return next((one for one in self._claims if one.bars(kind, writes=writes)), None)

    # -- statements that change a table ------------------------------------------------------------

    def claim(self, claim: Claim, call: Call, argument: Any = None) -> None:
        """Begin to change a table, when no other statement does; ``call(argument)`` then."""
        earlier = (*self._claims, *(one for one, *_ in self._later))
        if any(claim.shares(one) for one in earlier):
            self._later.append((claim, call, argument))
            return
        self._claims.append(claim)
        call(argument)

    def ask(self, claim: Claim, access: int, call: Call, argument: Any = None) -> None:
        """``call(argument)`` when others can do no more than that with the table."""
        claim.want(access, call, argument)
        self._grant()

    def lower(self, claim: Claim, access: int) -> None:
        """Let others do more again."""
        claim.lower(access)
        self._admit()

    def drop(self, claim: Claim) -> None:
        """The table is what it is to be, or stays what it was."""
        if claim not in self._claims:  # it is none yet
            self._later = [one for one in self._later if one[0] is not claim]
            return
        self._claims.remove(claim)
        later, self._later = self._later, []
        for other, call, argument in later:
            self.claim(other, call, argument)
        self._admit()

    # -- who goes on -------------------------------------------------------------------------------

    def _grant(self) -> None:
        """Statements go on that nobody is in the way of any more."""
        for claim in list(self._claims):
            if claim.waits and not any(
                claim.bars(kind, writes=writes) for kind, writes in self._users.values()
            ):
                call, argument = claim.grant()
                call(argument)

    def _admit(self) -> None:
        """Transactions go on that no statement is in the way of any more, in the order of time."""
        now = self._clock._now
        for user, (kind, writes, since_s, call, argument) in list(self._waiting.items()):
            if any(claim.bars(kind, writes=writes) for claim in self._claims):
                continue
            if self._waiting.pop(user, None) is None:
                continue
            self._users[user] = (kind, writes)
            waited_s = now - since_s
            self.waits += 1
            self.wait_s += waited_s
            self.wait_max_s = max(self.wait_max_s, waited_s)
            call(argument)
