"""Flow control of Group Replication: quotas of transactions for those who write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from simrep.modelling import Clock

from .messages import Statistics
from .options import GroupReplicationOptions

__all__ = ["ChangingFlowControl", "FlowControl"]

_MOST: Final = 2147483647
_LONGEST_WAIT_S: Final = 1.0
_REMEMBERED: Final = 10  # periods after which a silent member does not count (flow_control_step)


class FlowControl:
    """How many transactions this member may start per period.

    Once per period every member tells the others the length of its queues and what it has done
    since. A member that has heard of queues above a threshold gives itself a quota: what the
    slowest member can do, less a margin, shared among the writers. A transaction beyond the quota
    waits for the end of the period, at most for a second, and then goes on. When nobody lags any
    more the quota grows by half per period until it is lifted.

    References
    ----------
    plugin/group_replication/src/pipeline_stats.cc: Flow_control_module::flow_control_step,
    handle_stats_data, do_wait (8.0, 9).
    """

    def __init__(self, clock: Clock, options: GroupReplicationOptions) -> None:
        self._clock = clock
        self._options = options
        self._active = options.flow_control_mode == "QUOTA"
        self._members: dict[int, Statistics] = {}
        self._holds = self._used = 0
        self._waiting: dict[int, tuple[float, Callable[[Any], object], Any]] = {}
        # Of the present period; 0: none.
        self.quota = options.flow_control_max_quota if self._active else 0
        self.waits, self.wait_s = 0, 0.0  # transactions that had to wait, and how long in sum

    def set_options(self, options: GroupReplicationOptions) -> None:
        """Options are set while the member runs: they count from the next statistics on."""
        self._options = options
        self._active = options.flow_control_mode == "QUOTA"
        if not self._active:
            self.quota = self._holds = 0

    def admit(self) -> bool:
        """Count a transaction; whether it may go on without a wait."""
        self._used += 1
        return not 0 < self.quota < self._used

    def wait(self, call: Callable[[Any], object], argument: Any = None) -> None:
        """``call(argument)`` when a new period gives way, or after a second."""
        self.waits += 1
        number, now = self.waits, self._clock.now
        self._waiting[number] = (now, call, argument)
        self._clock.at(now + _LONGEST_WAIT_S, self._end_wait, number)

    def _end_wait(self, number: int) -> None:
        waiting = self._waiting.pop(number, None)
        if waiting is not None:
            since, call, argument = waiting
            self.wait_s += self._clock.now - since
            call(argument)

    def hear(self, statistics: Statistics) -> None:
        """The statistics of a member have arrived."""
        self._members[statistics.member] = statistics
        options = self._options
        if self._active and (
            statistics.waiting_certification > options.flow_control_certifier_threshold
            or statistics.waiting_apply > options.flow_control_applier_threshold
        ):
            self._holds += 1

    def _over(self, of: Statistics) -> tuple[bool, bool]:
        """Whether its certification queue and its applier queue are too long.

        A threshold of zero tells nothing about what the member can do. That something waits is
        above it all the same, and holds the writers (``is_flow_control_needed``).
        """
        certifier = self._options.flow_control_certifier_threshold
        applier = self._options.flow_control_applier_threshold
        return (0 < certifier < of.waiting_certification, 0 < applier < of.waiting_apply)

    def step(self) -> None:
        """A period has ended: find the quota of the next one."""
        if not self._active:
            return
        quota, used = self.quota, self._used
        extra = max(0, used - quota) if quota else 0
        if extra:
            for number in list(self._waiting):
                self._end_wait(number)
        quota = self._hold(extra) if self._holds else self._release(quota)
        most = self._options.flow_control_max_quota
        if most:
            quota = min(quota, most) if quota else most
        self.quota = quota
        self._holds = self._used = 0

    def _hold(self, extra: int) -> int:
        options = self._options
        safe = capacity = _MOST
        writers = behind = 0  # members; of the latter those that apply
        for member in self._members.values():
            over_certifier, over_applier = self._over(member)
            if member.certified:
                safe = min(safe, member.certified)
                if over_certifier:
                    capacity = min(capacity, member.certified)
            if member.applied:
                safe = min(safe, member.applied)
                if over_applier:
                    behind += 1
                    capacity = min(capacity, member.applied)
            writers += member.local > 0
        least = int(
            0.05
            * min(options.flow_control_certifier_threshold, options.flow_control_applier_threshold)
        )
        if not behind:
            least = options.flow_control_min_recovery_quota or least
        least = options.flow_control_min_quota or least
        capacity = max(min(capacity, safe), least)
        quota = int(capacity * (1.0 - options.flow_control_hold_percent / 100.0))
        most = options.flow_control_max_quota
        if most:
            quota = min(quota, most)
        if writers > 1:
            share = options.flow_control_member_quota_percent
            quota = int(quota * share / 100.0) if share else quota // writers
        return max(1, quota - extra)

    def _release(self, quota: int) -> int:
        release = self._options.flow_control_release_percent
        grown = int(quota * (1.0 + release / 100.0))
        if not quota or not release or grown >= _MOST:
            return 0
        return max(grown, quota + 1)


class ChangingFlowControl(FlowControl):
    """Flow control where members come and go: who has told nothing for long does not count."""

    def __init__(self, clock: Clock, options: GroupReplicationOptions) -> None:
        super().__init__(clock, options)
        self._steps = 0
        self._heard: dict[int, int] = {}  # in which step, by member

    def hear(self, statistics: Statistics) -> None:
        """See ``FlowControl.hear``."""
        super().hear(statistics)
        self._heard[statistics.member] = self._steps

    def step(self) -> None:
        """See ``FlowControl.step``."""
        self._steps += 1
        for member, heard in list(self._heard.items()):
            if heard < self._steps - _REMEMBERED:
                del self._heard[member], self._members[member]
        super().step()

    def release(self) -> None:
        """The server ends: nobody waits any more."""
        for number in list(self._waiting):
            self._end_wait(number)
