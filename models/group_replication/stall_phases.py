"""What a stall of Group Replication consists of: timers, waves and messages, from what was noted.

A stall is the time until members that are silent are removed, or the time without a majority, or a
wave: the time until the members agree that slots of a silent one stay empty.

References
----------
xcom_detector.cc (``detector_task``, ``alive_task``), xcom_base.cc (``get_xcom_message``,
``find_value``, ``wakeup_delay``), xcom_transport.cc (``dial``); gcs_xcom_control_interface.cc
(``Gcs_suspicions_manager``); primary_election_primary_process.cc.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

from simrep.modelling import Noted, StallAccount, StallPhase
from simrep.models.mysql.ending_server import GRACE_S

from .gcs.suspicions import PERIOD_S
from .options import GroupReplicationOptions
from .xcom.detector import LIVE_S, TICK_S
from .xcom.proposal_times import GROWTH
from .xcom.transport import CONNECT_S

__all__ = ["stall_phases"]

_ROUNDING_S = 1e-6
_LATE_S = 0.05  # a tick on which something was noted a little later


def stall_phases(
    noted: Sequence[Noted],
    names: Sequence[str],
    options: GroupReplicationOptions,
    from_s: float,
    until_s: float,
) -> list[StallPhase]:
    """The phases of a stall, as far as lines of its time line tell; see ``Model.stall_phases``."""
    account = _Account(noted, names, options, from_s, until_s)
    while account.removal():
        pass
    account.lost_majority()
    if not account.phases:
        account.wave()
    account.rest()
    return account.phases


class _Account(StallAccount):
    """A stall from its begin on, accounted for line by line."""

    def __init__(
        self,
        noted: Sequence[Noted],
        names: Sequence[str],
        options: GroupReplicationOptions,
        from_s: float,
        until_s: float,
    ) -> None:
        super().__init__(names, from_s, until_s, _ROUNDING_S)
        self._noted = [line for line in noted if line.at_s <= until_s]
        self._options = options
        self._last = ""  # what was accounted for last

    def _next(
        self, what: str, among: Callable[[Noted], bool] = lambda _: True, from_s: float = -1.0
    ) -> Noted | None:
        from_s = max(from_s, self._at_s - _ROUNDING_S)
        for line in self._noted:
            if line.what == what and line.at_s >= from_s and among(line):
                return line
        return None

    def _before(
        self, what: str, at_s: float, among: Callable[[Noted], bool] = lambda _: True
    ) -> Noted | None:
        lines = [line for line in self._noted
                 if line.what == what and line.at_s <= at_s and among(line)]  # fmt: skip
        return lines[-1] if lines else None

    # -- members that are removed ----------------------------------------------------------------

    def removal(self) -> bool:
        """Account for the next removal of members; whether there was one."""
        if self._at_s >= self._end_s:
            return False
        expel = self._next("expel")
        if expel is None:
            return self._configured()
        who, whom = self._names[expel.node], self._named(expel.of)
        lost = self._next(
            "non-primary", lambda line: line.node == expel.node and line.at_s < expel.at_s
        )
        if lost is not None:
            self._no_majority(lost)
        suspect = self._before(
            "suspect", expel.at_s,
            lambda line: line.node == expel.node and bool(set(line.of) & set(expel.of)),
        )  # fmt: skip
        if suspect is not None:
            self._silence(suspect, whom)
        timeout = self._options.member_expel_timeout
        suspected_s = expel.at_s - PERIOD_S * ceil(timeout / PERIOD_S)
        if suspected_s > self._at_s + TICK_S:  # more than a thread that looks so often can take
            self._until(
                suspected_s, "until the suspicion",
                f"who is silent is a message in the order, too; {who} waits for it",
            )  # fmt: skip
        self._until(
            expel.at_s, "period of the suspicion thread",
            f"{who} looks at a suspicion when it is new, and then every {PERIOD_S:g} s "
            f"(group_replication_member_expel_timeout = {timeout:g})",
        )  # fmt: skip
        stable = self._next(
            "stable", lambda line: line.node == expel.node and not set(line.of) & set(expel.of)
        )
        if stable is None:
            self._until(self._end_s, "wave", f"the removal of {whom} waits for the order")
            return False
        self._until(
            stable.at_s, "wave for the removal",
            f"it is a message in the order, which waits for slots of {whom}",
        )  # fmt: skip
        return self._view(stable, suspect)

    def _configured(self) -> bool:
        """Account for a configuration that was asked for before the stall."""
        if self.phases:
            return False
        stable = self._next("stable")
        primary = self._next("primary")
        if primary is None:
            return False
        if stable is None or stable.at_s > primary.at_s:
            stable = self._before("stable", self._at_s, lambda line: line.node == primary.node)
        if stable is None or not set(stable.of) <= set(primary.of):
            return False
        self._until(stable.at_s, "wave", "the new configuration is a message in the order")
        suspect = self._before("suspect", stable.at_s, lambda line: line.node == stable.of[0])
        return self._view(stable, suspect)

    def _silence(self, suspect: Noted, whom: str) -> None:
        who = self._names[suspect.node]
        self._until(
            suspect.at_s - LIVE_S - TICK_S, "until the silence", f"{who} still hears {whom}"
        )
        self._until(
            min(self._at_s + LIVE_S, suspect.at_s), "silence",
            f"{who} finds {whom} unreachable when nothing has come from it for so long",
        )  # fmt: skip
        self._until(
            suspect.at_s, "to the next tick",
            f"the detector of {who} looks every {TICK_S:g} s, "
            f"and {whom} may have spoken after the last commit",
        )  # fmt: skip

    def _view(self, stable: Noted, suspect: Noted | None) -> bool:
        """Account for the time from a configuration to the first writes."""
        primary = self._next("primary", lambda line: set(line.of) <= set(stable.of))
        if primary is None:
            self._until(self._end_s, "to the view", "the new configuration is not a view yet")
            return False
        if suspect is not None:
            behind = ceil((stable.at_s - suspect.at_s) / TICK_S - _ROUNDING_S)
            tick_s = suspect.at_s + behind * TICK_S
            if tick_s <= primary.at_s:
                self._until(
                    tick_s, "to the next tick",
                    f"the detector of {self._names[suspect.node]} looks every {TICK_S:g} s, "
                    "and tells all who is there",
                )  # fmt: skip
        elif primary.at_s - stable.at_s <= TICK_S + _LATE_S:
            self._until(
                primary.at_s, "to the next tick",
                f"a detector looks every {TICK_S:g} s, and tells all who is there",
            )  # fmt: skip
        wave = self._next("wave", lambda line: line.at_s < primary.at_s)
        waits = "" if wave is None else f", which wait for slots of {self._named(wave.of)}"
        self._until(primary.at_s, "messages", f"who is there, and the exchange of states{waits}")
        self._last = "view"
        elected = self._next("elected", from_s=primary.at_s - _LATE_S)
        if elected is not None and elected.of:
            new = elected.of[0]
            writable = self._next("writable", lambda line: line.node == new)
            self._until(
                self._end_s if writable is None else writable.at_s, "backlog of the new primary",
                f"{self._names[new]} applies what it has received before it takes writes",
            )  # fmt: skip
            self._last = "" if writable is None else "election"
        return True

    # -- no majority -----------------------------------------------------------------------------

    def lost_majority(self) -> None:
        """Account for the time in which no members are a majority."""
        lost = self._next("non-primary")
        if lost is None or self._last or self._at_s >= self._end_s:
            return
        self._last = "view" if self._no_majority(lost) else ""

    def _no_majority(self, lost: Noted) -> bool:
        """Account for the time without one; whether it ends."""
        suspect = self._before("suspect", lost.at_s, lambda line: line.node == lost.node)
        if suspect is not None:
            self._silence(suspect, self._named(suspect.of))
        again = self._next("primary", from_s=lost.at_s)
        who = self._names[lost.node]
        self._until(
            self._end_s if again is None else again.at_s, "no majority",
            f"{who} reaches {self._named(lost.of)}; writes wait, without an error",
        )  # fmt: skip
        return again is not None

    # -- slots of a silent member ----------------------------------------------------------------

    def wave(self) -> None:
        """Account for the last wave before the end."""
        wave = self._before("wave", self._end_s)
        if wave is None or wave.at_s <= self._at_s:
            return
        stable = self._before("stable", wave.at_s)
        if stable is not None and stable.at_s > self._at_s:
            self._until(
                stable.at_s, "wave for the configuration",
                "it is a message in the order; nothing is handed over before it holds",
            )  # fmt: skip
        who, whom = self._names[wave.node], self._named(wave.of)
        waits, waited_s = _waits(wave.how)
        since_s = wave.at_s - waited_s
        before = self._before("no-answer", wave.at_s)
        if before is not None and before.at_s > self._at_s:
            stopped, silent = self._names[before.node], self._named(before.of)
            self._until(before.at_s - CONNECT_S, "waves")
            self._until(
                before.at_s, "attempt to connect",
                f"the only thread of {stopped} waits for an answer of {silent}",
            )  # fmt: skip
        elif since_s > self._at_s:
            self._until(since_s, "until the slot", f"no commit needs a slot of {whom} yet")
        if waits == 2:
            first_s = waited_s / (1.0 + GROWTH)
            self._until(
                since_s + first_s, "first wait",
                f"{who} has come to a slot of {whom}: 0.1 s, and 5 to 6 times as long "
                "as proposals take; then it asks the others for it",
            )  # fmt: skip
            self._until(wave.at_s, "second wait", f"{GROWTH:.2f} times as long")
        else:
            self._until(
                wave.at_s, "waits", f"{who} looks at the slots of {whom} at growing intervals"
            )
        self._until(
            self._end_s, "no-ops",
            f"{who} has the slots of {whom} stay empty: three phases; then commits that wait",
        )  # fmt: skip

    def _hung_clients(self) -> None:
        """Clients of a member that has lost the majority do not turn to others before it ends."""
        expelled = self._next("evicted") or self._next("aborted")
        lost = self._before("non-primary", self._at_s)
        if lost is not None and (expelled is None or expelled.node == lost.node):
            who = self._names[lost.node]
            self._until(
                self._end_s if expelled is None else expelled.at_s, f"no answer from {who}",
                "its clients wait for it, as it does not know yet that it is expelled",
            )  # fmt: skip

    def _old_slots(self) -> None:
        """Who waits for slots of somebody that is there again looks for them at its own time."""
        wave = self._before("wave", self._end_s)
        if wave is not None and wave.at_s > self._at_s:
            who, whom = self._names[wave.node], self._named(wave.of)
            self._until(
                wave.at_s, "wave",
                f"{who} looks at older slots of {whom} at growing intervals, whoever is there",
            )  # fmt: skip

    def _shut_down(self) -> None:
        """Clients of a member that leaves in order wait until it closes their connections."""
        left = self._next("left")
        if left is None:
            return
        who = self._names[left.node]
        self._until(
            left.at_s, f"{who} leaves",
            "it gives commits no verdict any more, and its XCom takes 3 s to end",
        )  # fmt: skip
        self._until(
            min(self._end_s, left.at_s + GRACE_S), f"{who} has clients go",
            f"it closes their connections {GRACE_S:g} s later",
        )  # fmt: skip

    def rest(self) -> None:
        """Account for the time to the end of the stall, if it is clear what it is."""
        if self._last == "election":
            self._hung_clients()
            self._shut_down()
            self._until(self._end_s, "first commit", "clients that were refused try again")
        elif self._last == "view":
            self._old_slots()
            self._until(self._end_s, "first commit", "what waited goes on, or is tried again")


def _waits(how: str) -> tuple[int, float]:
    """How many waits a wave consisted of, and their sum: ``after 2 waits of 0.246 s``."""
    words = how.split()
    return int(words[1]), float(words[4])
