"""What the members of a Galera group know of each other: who has the state, and who gives it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import IntEnum
from typing import NamedTuple

from simrep.modelling import ScenarioError, nearest
from simrep.models.galera.gcomm.view import View

__all__ = ["NOBODY", "Grant", "MemberState", "MemberStates", "Report", "named_donors"]

NOBODY = -1
_SET_ASIDE = 7  # a 128th of what is cached may be overwritten before a transfer begins
_MOST_SET_ASIDE = 1 << 20


class MemberState(IntEnum):
    """How far a member of the primary component is, in the product's words."""

    NON_PRIMARY = -1  # its process has seen no primary view yet
    PRIMARY = 0  # it lacks the state
    JOINER = 1
    DONOR = 2
    JOINED = 3  # it has the state, and catches up
    SYNCED = 4


_PRIMARY = MemberState.PRIMARY


class Report(NamedTuple):
    """What a member tells of itself when a view begins (``gcs_state_msg``)."""

    primary: int  # number of the last primary view of this process; -1: it has seen none
    position: int  # the last writeset that it has received, or has on its disk
    views: int  # how many primary views have taken a number as well
    state: MemberState
    cached: int | None  # the first writeset in its gcache
    donor: int | None  # of a joiner

    @property
    def history(self) -> int:
        """Its last sequence number (``act_id``)."""
        return self.position + self.views


class Grant(NamedTuple):
    """Who gives the state to a joiner."""

    donor: int
    how: str  # IST or SST


class MemberStates:
    """The state of every member, the same on all of them at a place of the order.

    Sequence numbers of writesets do not count views here; where the product compares numbers that
    do, ``views`` is added.

    References
    ----------
    codership/galera ``gcs/src/gcs_group.cpp``: ``group_post_state_exchange``,
    ``group_find_ist_donor``, ``group_find_node_by_state``, ``group_check_donor``;
    ``gcs_node.cpp``: ``gcs_node_update_status``; ``gcs_state_msg.cpp``: ``state_quorum_inherit``,
    ``state_quorum_remerge``.
    """

    def __init__(
        self,
        me: int,
        segments: Sequence[int],
        named: Sequence[int | None] = (None,),
        *,
        ordered_views: bool = True,
        arbitrators: Collection[int] = (),
    ) -> None:
        self._me = me
        self._arbitrators = arbitrators
        self._segments = segments
        self._named = named  # see ``named_donors``
        self._ordered_views = ordered_views
        self._states = dict.fromkeys(range(len(segments)), MemberState.SYNCED)
        self._cached: dict[int, int | None] = dict.fromkeys(range(len(segments)), 1)
        self._donors: dict[int, int] = {}  # of every joiner
        self._heard: dict[int, int] = {}  # the last request of each to leave flow control
        self._more: dict[int, int] = {}  # how often a donor was taken out of flow control beside
        self.primary = 0
        self.position = self.views = 0
        self.diverged = False  # it had more than the group: what is on its disk is of no use

    def start(self, position: int, views: int) -> None:
        """Begin as a process that knows no group, with what is on its disk."""
        self._states = {self._me: MemberState.NON_PRIMARY}
        self._donors.clear()
        self.primary = -1
        self.position, self.views = position, views

    def lose(self, position: int) -> None:
        """Be outside the primary component without the state: a transfer was cut short."""
        self._states[self._me] = MemberState.PRIMARY
        self._donors.pop(self._me, None)
        self.position = position

    @property
    def own(self) -> MemberState:
        """The state of the member itself."""
        return self._states.get(self._me, MemberState.PRIMARY)

    @property
    def voters(self) -> list[int]:
        """Members that have the state, and a say in what is right."""
        return [
            member
            for member, state in self._states.items()
            if state >= MemberState.DONOR and member not in self._arbitrators
        ]

    def report(self, cached: int | None) -> Report:
        """What this member tells the others; ``cached`` is the first writeset in its gcache."""
        donor = self._donors.get(self._me)
        return Report(self.primary, self.position, self.views, self.own, cached, donor)

    def has_quorum(self, view: View) -> bool:
        """Whether somebody in a view has the whole state, as far as the others may know.

        A server that was started again has no say, unless the view was made primary by hand or
        from what all disks know.
        """
        return bool(_representatives(view))

    def change(self, view: View) -> str:
        """A primary view begins; why this member cannot be in it, if it cannot."""
        reports = _reports(view)
        best = max(_representatives(view), key=lambda report: (report.primary, report.history))
        own = reports[self._me]
        self._cached = {member: report.cached for member, report in reports.items()}
        self._states = {
            member: MemberState.SYNCED if member in self._arbitrators else _state(report, best)
            for member, report in reports.items()
        }
        self._more = {
            member: more
            for member, more in self._more.items()
            if self._states.get(member) == MemberState.DONOR
        }
        self._donors = {
            member: report.donor
            for member, report in reports.items()
            if report.donor is not None and self._states[member] == MemberState.JOINER
        }
        self.primary = view.number
        self.position = best.position
        self.views = best.views + self._ordered_views
        if own.history > best.history or (
            own.history == best.history and own.position != best.position
        ):
            self.diverged = True
            return f"it has {own.position:,} writesets and the group {best.position:,}"
        if self.own == MemberState.JOINER:
            donor = reports.get(self._donors.get(self._me, -1))
            if donor is None or donor.primary < 0:
                return "its donor has gone"
        return ""

    # -- messages of the group, at their places in the order --------------------------------------

    def request(self, joiner: int, position: int, *, anew: bool) -> Grant | None:
        """A member asks for the state; None if nobody can give it now, ``NOBODY`` if nobody will.

        ``anew``: its server has just started, and could take a whole state.
        """
        if self._states.get(joiner) != MemberState.PRIMARY:
            return None
        grant = self._incremental(joiner, position) or self._whole(joiner)
        if grant is None:
            return None
        if grant.donor == NOBODY or (grant.how == "SST" and not anew):
            return grant
        self._states[joiner] = MemberState.JOINER
        self._states[grant.donor] = MemberState.DONOR
        self._donors[joiner] = grant.donor
        return grant

    def join(self, member: int) -> bool:
        """A donor has given, or a joiner has the state; whether that is so."""
        if self._states.get(member) not in {MemberState.JOINER, MemberState.DONOR}:
            return False
        if self._more.get(member, 0):
            self._more[member] -= 1
            return False
        self._donors.pop(member, None)
        self._states[member] = MemberState.JOINED
        return True

    def desync(self, member: int, number: int) -> bool | None:
        """A member asks to leave flow control, like a donor; whether it may (``desync_count``).

        None if it has asked so before: it counts its requests, and repeats one in a new view.
        """
        if number <= self._heard.get(member, 0):
            return None
        self._heard[member] = number
        state = self._states.get(member)
        if state == MemberState.DONOR:
            self._more[member] = self._more.get(member, 0) + 1
        elif state == MemberState.SYNCED:
            self._states[member] = MemberState.DONOR
        else:
            return False
        return True

    def sync(self, member: int) -> bool:
        """A member has caught up; whether it was about to."""
        if self._states.get(member) != MemberState.JOINED:
            return False
        self._states[member] = MemberState.SYNCED
        return True

    # -- donors --------------------------------------------------------------------------------

    def _incremental(self, joiner: int, position: int) -> Grant | None:
        """Who still has all that the joiner has missed."""
        cached = {member: low for member, low in self._cached.items() if low is not None}
        if not cached:
            return None
        lowest = min(cached.values())
        set_aside = min((self.position - lowest) >> _SET_ASIDE, _MOST_SET_ASIDE)
        if position < lowest + set_aside:
            return None
        able = [
            member
            for member, low in sorted(cached.items())
            if member != joiner and self._gives(member) and low <= position + 1
        ]
        if not able:
            return None
        segment = self._segments[joiner]
        for some in (
            [member for member in self._named if member in able],
            [member for member in able if self._segments[member] == segment],
        ):
            if some:
                able = some
                break
        *others, best = able
        for member in reversed(others):
            if cached[member] > cached[best]:
                best = member
        return Grant(best, "IST")

    def _whole(self, joiner: int) -> Grant | None:
        """Who gives all data."""
        waits = False
        for member in self._named:
            if member is None:
                if not waits:
                    return self._whole_of_anybody(joiner)
            elif member != joiner and self._gives(member):
                return Grant(member, "SST")
            else:
                waits |= self._states.get(member, _PRIMARY) >= MemberState.JOINER
        return None if waits else Grant(NOBODY, "SST")

    def _whole_of_anybody(self, joiner: int) -> Grant | None:
        away = {joiner, *self._arbitrators}
        others = [member for member in sorted(self._states) if member not in away]
        able = [member for member in others if self._gives(member)]
        near = [member for member in others if self._segments[member] == self._segments[joiner]]
        for member in near:
            if member in able:
                return Grant(member, "SST")
        if not able or any(self._states[member] >= MemberState.JOINER for member in near):
            return None
        return Grant(able[-1], "SST")

    def _gives(self, member: int) -> bool:
        synced = self._states.get(member) == MemberState.SYNCED
        return synced and member not in self._arbitrators


def named_donors(text: str, names: Sequence[str]) -> tuple[int | None, ...]:
    """Positions of the nodes that ``wsrep_sst_donor`` names; None stands for any of them.

    >>> named_donors("n2,", ["n1", "n2"])
    (1, None)
    """
    donors: list[int | None] = []
    for name in map(str.strip, text.split(",")):
        if name and name not in names:
            raise ScenarioError(
                "cluster.options.wsrep_sst_donor", f"no node {name!r}", nearest(name, names)
            )
        donors.append(names.index(name) if name else None)
    return tuple(donors)


def _reports(view: View) -> dict[int, Report]:
    return {
        member: report
        for member, report in zip(view.members, view.reports, strict=True)
        if report is not None
    }


def _representatives(view: View) -> list[Report]:
    """Those who may tell where the group stands."""
    reports = [*_reports(view).values()]
    joined = [report for report in reports if report.state >= MemberState.DONOR]
    return joined or (reports if view.bootstrapped else [])


def _state(report: Report, best: Report) -> MemberState:
    """The state of a member in a view, of which ``best`` is the most advanced."""
    anew = report.primary < 0 <= best.primary  # its server has just started, others run
    if anew or report.history != best.history:
        return MemberState.PRIMARY
    return MemberState.JOINED if report.state == MemberState.NON_PRIMARY else report.state
