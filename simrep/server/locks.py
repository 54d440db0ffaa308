"""Exclusive row locks of a storage engine, with brute force for replicated transactions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from simrep.errors import SimrepError
from simrep.kernel.clock import Clock
from simrep.kernel.watch import NO_LAP, Holder, Line, Watch
from simrep.server.ranges import Ranges, points_in

__all__ = ["ROW_LOCKS", "Decided", "LockTable", "Owner", "WatchedLocks"]

Call = Callable[[Any], object]

ROW_LOCKS: Final = "row locks"


class Owner(Protocol):
    """A transaction that takes locks; compared and hashed by identity."""

    @property
    def protected(self) -> bool:
        """Whether brute force must wait for it (an applier, or already ordered to commit)."""

    def abort(self) -> object:
        """Told by brute force that it lost a row; it must ``release_all`` now or later."""


class Decided:
    """An owner whose end is decided: brute force waits for it, and nothing aborts it."""

    __slots__ = ()
    protected = True

    def abort(self) -> None:
        """See ``Owner.abort``."""
        raise AssertionError(f"a {type(self).__name__} cannot be aborted")


@dataclass(slots=True, eq=False)
class _Wait:
    owner: Owner
    row: Hashable
    call: Call
    argument: Any
    since: float


class LockTable:
    """Who holds which row, and who waits for it, first come first served.

    An owner waits for at most one row at a time. Free rows cost no memory, and neighbouring rows
    that are locked together (``take_range``) cost as much as one.

    Parameters
    ----------
    clock : Clock
    waits_for_victims : bool
        Whether brute force, too, gets a row when its holder has rolled back, and not before. Else
        a holder loses the row as soon as brute force comes for it.

    Attributes
    ----------
    waits : int
        Requests that had to queue.
    wait_s, wait_max_s : float
        Total and longest wait in seconds, of waits that have ended (granted or given up).
    deadlocks : int
        Requests refused because they would have closed a cycle.
    aborts : int
        How often a holder lost a row, or neighbouring rows together, to brute force.

    Notes
    -----
    Simplified: the requester is the victim of a deadlock (InnoDB rolls back the smaller
    transaction); queues are first come first served (MySQL 8.0.20 and later prefer the waiter
    that blocks most others); no shared, gap or table locks. How long to wait is up to the owner
    (``give_up``).
    """

    def __init__(self, clock: Clock, *, waits_for_victims: bool = False) -> None:
        self._clock = clock
        self.waits_for_victims = waits_for_victims
        self._victims: set[Owner] = set()  # aborted, and not yet rolled back
        self._holders: dict[Hashable, Owner] = {}  # goes before the ranges, if a row is in both
        self._ranges: Ranges[Owner] = Ranges()
        self._range_owners: set[Owner] = set()
        self._queues: dict[Hashable, deque[_Wait]] = {}  # contended rows only, never empty
        self._held: dict[Owner, list[Hashable]] = {}
        self._waits: dict[Owner, _Wait] = {}
        self._granted: dict[Owner, _Wait] = {}  # not yet told, while others are
        self.waits = 0
        self.wait_s = 0.0
        self.wait_max_s = 0.0
        self.deadlocks = 0
        self.aborts = 0

    def take(self, owner: Owner, row: Hashable) -> bool:
        """Lock the row if nobody else has it: the cheap way, tried before ``acquire``."""
        if self._ranges.starts and row not in self._holders:
            holder = self._ranges.at(row)
            if holder is not None:
                return holder is owner
        holder = self._holders.setdefault(row, owner)
        if holder is not owner:
            return False
        held = self._held.get(owner)
        if held is None:
            self._held[owner] = [row]
        elif held[-1] != row:  # taken again in between: release passes over the second entry
            held.append(row)
        return True

    def take_all(self, owner: Owner, rows: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
        """``take`` rows, up to the first that somebody else has; returns what is left."""
        if self._ranges.starts:
            for place, row in enumerate(rows):
                if not self.take(owner, row):
                    return rows[place:]
            return ()
        holders = self._holders
        held = self._held.get(owner) or []
        left: tuple[Hashable, ...] = ()
        for place, row in enumerate(rows):
            if holders.setdefault(row, owner) is not owner:
                left = rows[place:]
                break
            held.append(row)
        if held:
            self._held[owner] = held
        return left

    def take_range(self, owner: Owner, rows: range) -> range:
        """Lock neighbouring rows, in their order, up to the first that somebody else has.

        Returns
        -------
        range
            The rows that are left, from that one on; empty if all are locked.
        """
        taken = [row for row, holder in points_in(rows, self._holders) if holder is not owner]
        taken += [part.start for part, holder in self._ranges.over(rows) if holder is not owner]
        end = min(taken, default=rows.stop)
        self._put(range(rows.start, end), owner)
        return range(end, rows.stop)

    def acquire(self, owner: Owner, row: Hashable, call: Call, argument: Any = None) -> bool:
        """``call(argument)`` when the owner holds the row: now, or when its turn comes.

        Returns
        -------
        bool
            False if waiting would be a deadlock: the request is refused, nothing is called, and
            the owner keeps the rows it holds until ``release_all``.
        """
        if self.take(owner, row):
            call(argument)
            return True
        if self._closes_cycle(owner, row):
            self.deadlocks += 1
            return False
        self._wait(owner, row, call, argument).append(self._waits[owner])
        return True

    def force(self, owner: Owner, row: Hashable, call: Call, argument: Any = None) -> Owner | None:
        """Lock the row by brute force, ahead of everybody who is not protected.

        An unprotected holder loses the row and its place in any queue at once, and is told by
        ``abort()`` before ``call(argument)``; behind a protected holder the owner waits, first
        of the unprotected. If brute force ``waits_for_victims``, an unprotected holder is told, and
        waited for in the same way.

        Returns
        -------
        Owner or None
            The victim, if there was one.

        Raises
        ------
        SimrepError
            If protected owners wait for each other in a circle: their order was not respected.
        """
        if self.take(owner, row):
            call(argument)
            return None
        holder = self.holder(row)
        assert holder is not None
        victim = None
        if not holder.protected:
            if not self.waits_for_victims:
                self._rob(holder, owner, row)
                call(argument)
                return holder
            victim = holder
            self._cancel(victim)  # it waits for nobody any more
        if self._closes_cycle(owner, row):
            raise SimrepError(f"deadlock between protected owners on row {row!r}")
        queue = self._wait(owner, row, call, argument)
        ahead = 0
        while ahead < len(queue) and queue[ahead].owner.protected:
            ahead += 1
        queue.insert(ahead, self._waits[owner])
        if victim is not None:  # only now: it may roll back at once, and others want the row, too
            self._abort(victim)
        return victim

    def force_all(
        self, owner: Owner, rows: Sequence[Hashable], call: Call, argument: Any = None
    ) -> None:
        """Lock the rows one after the other by brute force, then ``call(argument)``."""
        self._force_from((owner, rows, 0, call, argument))

    def _force_from(self, step: tuple[Owner, Sequence[Hashable], int, Call, Any]) -> None:
        owner, rows, position, call, argument = step
        while position < len(rows):
            row = rows[position]
            position += 1
            if not self.take(owner, row):
                holder = self.holder(row)
                assert holder is not None
                if holder.protected or self.waits_for_victims:
                    following = (owner, rows, position, call, argument)
                    self.force(owner, row, self._force_from, following)
                    return
                self._rob(holder, owner, row)
        call(argument)

    def _rob(self, victim: Owner, owner: Owner, row: Hashable) -> None:
        """The victim loses a row, and its place in any queue."""
        self._holders[row] = owner
        self._held.setdefault(owner, []).append(row)
        if isinstance(row, int) and self._ranges.at(row) is not None:
            # So that it does not fall back to the victim if that is the last to leave.
            self._put(range(row, row + 1), owner)
        self._abort(victim)

    def _abort(self, victim: Owner) -> None:
        """Tell a victim, unless it knows already."""
        if victim in self._victims:
            return
        if self.waits_for_victims:
            self._victims.add(victim)
        self.aborts += 1
        self._cancel(victim)
        victim.abort()

    def force_range(self, owner: Owner, rows: range, call: Call, argument: Any = None) -> None:
        """Lock neighbouring rows by brute force, then ``call(argument)``."""
        self._force_on((owner, rows, call, argument))

    def _force_on(self, step: tuple[Owner, range, Call, Any]) -> None:
        owner, rows, call, argument = step
        while rows := self.take_range(owner, rows):
            holder = self.holder(rows[0])
            assert holder is not None
            if holder.protected or self.waits_for_victims:
                self.force(owner, rows[0], self._force_on, (owner, rows[1:], call, argument))
                return
            if rows[0] in self._holders:
                self._rob(holder, owner, rows[0])
                rows = rows[1:]
            else:
                rows = self._rob_range(holder, owner, rows)
        call(argument)

    def _rob_range(self, victim: Owner, owner: Owner, rows: range) -> range:
        """The victim loses the first of these rows and what it has after it; returns the rest."""
        part, _ = next(iter(self._ranges.over(rows)))
        end = min((row for row, _ in points_in(part, self._holders)), default=part.stop)
        self._put(range(part.start, end), owner)
        self._abort(victim)
        return range(end, rows.stop)

    def release_all(self, owner: Owner) -> None:
        """The owner ends: its rows go to the next in line, and it waits no longer."""
        if self._waits or self._granted:
            self._cancel(owner)
        if self._victims:
            self._victims.discard(owner)
        wanted: list[Hashable] = []
        for row in self._held.pop(owner, ()):
            if self._holders.get(row) is owner:  # else: lost to brute force
                del self._holders[row]
                if row in self._queues:
                    wanted.append(row)
        if owner in self._range_owners:
            self._range_owners.discard(owner)
            gone = self._ranges.remove(lambda holder: holder is owner)
            if gone and self._queues:
                wanted = self._in_order(wanted, gone)
        granted: list[_Wait] = []
        for row in wanted:
            self._hand_on(row, granted)
        for wait in granted:  # only now, so that whoever is called sees a consistent table
            if self._granted.get(wait.owner) is wait:  # else those before it have aborted it
                del self._granted[wait.owner]
                wait.call(wait.argument)

    def _put(self, rows: range, owner: Owner) -> None:
        """The owner has all of these rows."""
        self._range_owners.add(owner)
        self._ranges.put(rows, owner)

    def _in_order(self, wanted: list[Hashable], gone: list[range]) -> list[Hashable]:
        """Free rows that others wait for, those of ranges too, in the order of a scan."""
        numbers = {row for row in wanted if isinstance(row, int)}
        free = [row for row in self._queues if isinstance(row, int) and row not in self._holders]
        numbers.update(row for row in free if any(row in rows for rows in gone))
        return [*(row for row in wanted if not isinstance(row, int)), *sorted(numbers)]

    def _hand_on(self, row: Hashable, granted: list[_Wait]) -> None:
        """Give a free row to the first who waits for it."""
        wait = self._queues[row][0]
        self._leave_queue(wait)
        self._holders[row] = wait.owner
        self._held.setdefault(wait.owner, []).append(row)
        self._granted[wait.owner] = wait
        granted.append(wait)

    def abort(self, owner: Owner) -> None:
        """Brute force comes for something else that an unprotected owner has, as its table."""
        self._abort(owner)

    def give_up(self, owner: Owner) -> None:
        """The owner no longer waits (it has waited too long), but keeps the rows it holds."""
        self._cancel(owner)

    def holder(self, row: Hashable) -> Owner | None:
        """Who holds the row."""
        holder = self._holders.get(row)
        return self._ranges.at(row) if holder is None else holder

    def waiting(self, row: Hashable) -> tuple[Owner, ...]:
        """Who waits for the row, in the order in which they will get it."""
        return tuple(wait.owner for wait in self._queues.get(row, ()))

    def __len__(self) -> int:
        """How many rows are locked; one that was taken out of a range by force counts twice."""
        return len(self._holders) + self._ranges.rows

    def _wait(self, owner: Owner, row: Hashable, call: Call, argument: Any) -> deque[_Wait]:
        """Note that the owner waits; returns the queue in which it is still to be put."""
        if owner in self._waits:
            raise ValueError(f"{owner!r} waits for row {self._waits[owner].row!r} already")
        self.waits += 1
        self._waits[owner] = _Wait(owner, row, call, argument, self._clock.now)
        return self._queues.setdefault(row, deque())

    def _cancel(self, owner: Owner) -> None:
        self._granted.pop(owner, None)
        wait = self._waits.get(owner)
        if wait is not None:
            self._leave_queue(wait)

    def _leave_queue(self, wait: _Wait) -> None:
        del self._waits[wait.owner]
        queue = self._queues[wait.row]
        queue.remove(wait)
        if not queue:
            del self._queues[wait.row]
        waited = self._clock.now - wait.since
        self.wait_s += waited
        self.wait_max_s = max(self.wait_max_s, waited)

    def _closes_cycle(self, owner: Owner, row: Hashable) -> bool:
        """Whether the chain holder - row it waits for - its holder ... leads to the owner.

        One look per new wait is enough: handing a row on never makes a holder wait.
        """
        holder = self.holder(row)
        while holder is not None and (wait := self._waits.get(holder)) is not None:
            holder = self.holder(wait.row)
            if holder is owner:
                return True
        return False


class WatchedLocks(LockTable):
    """A lock table with a line for every row that somebody waits for.

    ``describe(owner)`` tells of the holder of a row, ``who(owner)`` for whom an owner stands;
    ``lap`` is the stage of a latency in which one waits for a row.
    """

    def __init__(
        self,
        watch: Watch,
        node: str,
        describe: Callable[[Any], Holder],
        who: Callable[[Any], tuple[Hashable, ...]],
        lap: int = NO_LAP,
        *,
        waits_for_victims: bool = False,
    ) -> None:
        super().__init__(watch.clock, waits_for_victims=waits_for_victims)
        self._watch = watch
        self._node = node
        self._describe = describe
        self._who = who
        self._lap = lap
        self._lines: dict[Hashable, Line] = {}

    def _wait(self, owner: Owner, row: Hashable, call: Call, argument: Any) -> deque[_Wait]:
        queue = super()._wait(owner, row, call, argument)
        line = self._lines.get(row)
        if line is None:
            line = self._lines[row] = Line(
                self._watch,
                self._node,
                ROW_LOCKS,
                lambda: self._describe(self.holder(row)),
                who=self._who,
                detail=str(row),
                lap=self._lap,
            )
        line.wait(owner)
        return queue

    def _leave_queue(self, wait: _Wait) -> None:
        self._lines[wait.row].go(wait.owner)
        super()._leave_queue(wait)
        if wait.row not in self._queues:
            del self._lines[wait.row]

    def force(self, owner: Owner, row: Hashable, call: Call, argument: Any = None) -> Owner | None:
        """See ``LockTable.force``; who loses the row is no longer waited for."""
        line = self._lines.get(row)
        holder = self.holder(row)
        robs = not self.waits_for_victims
        if robs and line is not None and holder is not None and not holder.protected:
            line.cut()
        return super().force(owner, row, call, argument)

    def release_all(self, owner: Owner) -> None:
        """See ``LockTable.release_all``."""
        if self._lines:
            for row, line in self._lines.items():
                if self.holder(row) is owner:
                    line.cut()
        super().release_all(owner)
        for one in self._who(owner):
            self._watch.forget(self._node, one)
