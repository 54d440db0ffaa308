"""What a run tells of a member that is silent, removed by the others while they go on, and returns.

Writers go on slowly while its messages are missing, and again while it joins. The names of the
figures are those under which the same was measured of real groups. All times are in seconds. They
count from the fault, if the name does not say otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import ceil, isfinite, nan

import numpy as np

from simrep.data.failure_run import Clients, Experiment, first_noted, rate, window
from simrep.kernel.timeline import Noted

__all__ = ["removal_figures"]

_Figures = Iterator[tuple[str, float]]

# Where the measured windows begin and end: beside the event, so that it is not in them.
_AFTER_FAULT_S, _BEFORE_REMOVAL_S, _AFTER_REMOVAL_S = 0.3, 0.2, 0.5
_FIRST_S = (0.5, 4.5)  # of a silence, before anybody notices it
_SLOW_S = (1.0, 4.8)
_BATCH_S = 0.06  # commits that are farther apart were not released together
_UNDER_WAY_S = 0.1  # after the fault: answers that were on their way
# What members say of each other was sampled, not read from logs: it is seen so late, as measured.
_SAMPLED_S, _ROUNDING_S = 0.2, 1e-9


def _seen(at_s: float) -> float:
    """When a sampler first sees something."""
    return ceil(at_s / _SAMPLED_S - _ROUNDING_S) * _SAMPLED_S if isfinite(at_s) else nan


def removal_figures(noted: Collection[Noted], clients: Clients, experiment: Experiment) -> _Figures:
    """All figures of a run; what did not happen is NaN or left out."""
    course = _Course(noted, experiment)
    yield from _of_members(course)
    yield from _of_primary(course, clients)
    yield from _of_return(course)
    yield from _of_commits(course, clients)
    yield from _of_victim(course, clients)


class _Course:
    """When members noted that another one was silent, gone and back, in seconds of the run."""

    def __init__(self, noted: Collection[Noted], experiment: Experiment) -> None:
        self.noted = noted
        self.experiment = experiment
        self.start_s, self.back_s = experiment.inject_s, experiment.back_s
        everybody = range(len(experiment.names))
        self.others = {node for node in everybody if node != experiment.victim}
        self.unreachable_s = first_noted(noted, "suspect", everybody, self.start_s)
        self.removed_s = self.view_s(self.others, self.start_s, with_victim=False)
        self.joining_s = self.joined_s = self.expelled_s = nan
        if isfinite(self.removed_s):
            since_s = max(self.removed_s, self.back_s)
            self.joining_s = self.view_s(self.others, since_s, with_victim=True, word="stable")
            self.joined_s = self.view_s(self.others, since_s, with_victim=True)
        self.expelled_s = first_noted(noted, "evicted", {experiment.victim}, self.start_s)

    def view_s(
        self, nodes: Collection[int], after_s: float, *, with_victim: bool, word: str = "primary"
    ) -> float:
        """When one of several nodes has a view with the victim, or without it; NaN if none has."""
        victim = self.experiment.victim
        times = (
            one.at_s
            for one in self.noted
            if one.what == word and one.node in nodes and one.at_s >= after_s
            if (victim in one.of) is with_victim
        )
        return next(times, nan)

    def first_s(self, what: str, *nodes: int) -> float:
        """When a node notes something after the fault: one of some, or any."""
        return first_noted(self.noted, what, nodes or {*self.others}, self.start_s)


def _of_members(course: _Course) -> _Figures:
    start_s, victim = course.start_s, course.experiment.victim
    watched = course.experiment.watched
    yield "unreachable_logged_after_inject_s", course.unreachable_s - start_s
    seen_s = course.first_s("suspect", *watched)
    yield "victim_unreachable_after_inject_s", _seen(seen_s) - start_s
    yield (
        "victim_sees_others_unreachable_after_inject_s",
        _seen(course.first_s("suspect", victim)) - start_s,
    )
    yield "removed_logged_after_inject_s", course.removed_s - start_s
    gone_s = course.view_s(watched, start_s, with_victim=False)
    yield "victim_removed_after_inject_s", _seen(gone_s) - start_s
    asked_s = course.first_s("expel")
    yield "expel_pushed_after_inject_s", asked_s - start_s
    killers = [one.node for one in course.noted if one.what == "expel" and one.at_s == asked_s]
    if killers:
        noticed_s = course.first_s("suspect", killers[0])
        yield "expel_after_unreachable_s", asked_s - noticed_s
        gone_s = course.view_s(killers[:1], start_s, with_victim=False)
        yield "removed_after_unreachable_s", gone_s - noticed_s


def _of_primary(course: _Course, clients: Clients) -> _Figures:
    start_s, experiment = course.start_s, course.experiment
    elected = [one for one in course.noted if one.what == "elected" and one.at_s >= start_s]
    if elected:
        primary = elected[0].of[0]
        yield "new_primary_n", primary + 1.0
        elected_s = _seen(course.first_s("elected", primary))
        yield "new_primary_elected_after_inject_s", elected_s - start_s
        ready_s = _seen(course.first_s("writable", primary))
        yield "new_primary_super_read_only_off_after_inject_s", ready_s - start_s
    firsts = [clients.elsewhere(group)[:1] for group in experiment.lasting if group.moves]
    firsts += [clients.commits(experiment.bystanders)]
    commits = np.sort(np.concatenate(firsts))
    for first_s in commits[commits > 0.0][:1].tolist():
        yield "first_commit_on_new_primary_after_inject_s", first_s
        yield "first_commit_after_removed_s", first_s - (course.removed_s - start_s)


def _of_return(course: _Course) -> _Figures:
    start_s, back_s, victim = course.start_s, course.back_s, course.experiment.victim
    yield "add_node_after_back_s", course.joining_s - back_s
    yield "joined_after_back_s", course.joined_s - back_s
    yield "joining_seconds_s", course.joined_s - course.joining_s
    yield "victim_learns_it_was_expelled_after_heal_s", course.expelled_s - back_s
    yield "victim_state_error_after_inject_s", _seen(course.expelled_s) - start_s
    again = [one.at_s for one in course.noted if one.what == "rejoin" and one.node == victim]
    again = [at_s for at_s in again if at_s >= back_s]
    if again:
        yield "first_autorejoin_after_heal_s", again[0] - back_s
        yield "autorejoin_attempts_n", float(len(again))
    watched = course.experiment.watched
    if isfinite(course.joined_s):
        seen_s = course.view_s(watched, course.joining_s, with_victim=True)
        yield "victim_recovering_after_heal_s", _seen(seen_s) - back_s
        own_s = course.view_s({victim}, course.joining_s, with_victim=True)
        yield "victim_recovering_after_inject_s", _seen(own_s) - start_s
    online_s = first_noted(course.noted, "synced", {victim}, back_s)
    if not isfinite(course.removed_s):
        online_s = first_noted(course.noted, "primary", {victim}, back_s)
    yield "declared_online_after_back_s", online_s - back_s
    yield "rejoin_online_after_heal_s", online_s - back_s


def _of_commits(course: _Course, clients: Clients) -> _Figures:
    experiment, start_s = course.experiment, course.start_s
    back, end = course.back_s - start_s, experiment.end_s - start_s
    removed, joined = course.removed_s - start_s, course.joined_s - start_s
    going_on, writers = experiment.lasting, experiment.writers
    until = back if not removed < back else removed - _BEFORE_REMOVAL_S
    yield from window("degraded", clients, going_on, _AFTER_FAULT_S, min(until, end))
    yield from window("joining", clients, writers, course.joining_s - start_s, joined)
    yield from window("after_removal", clients, writers, removed + _AFTER_REMOVAL_S, back)
    commits = clients.commits(going_on)
    yield "tput_first_4s_of_silence_tps", rate(commits, *_FIRST_S)
    early = clients.latencies(going_on, *_FIRST_S)
    if len(early):
        yield "mean_latency_first_4s_ms", 1e3 * float(np.mean(early))
    slow = commits[(commits >= _SLOW_S[0]) & (commits < _SLOW_S[1])]
    yield "slow_phase_tps", rate(commits, *_SLOW_S)
    yield "slow_phase_commits_n", float(len(slow))
    if len(slow):
        yield "slow_phase_batches_n", 1.0 + float((np.diff(slow) > _BATCH_S).sum())
        latencies = clients.latencies(going_on, *_SLOW_S)
        yield "slow_phase_latency_median_ms", 1e3 * float(np.median(latencies))


def _of_victim(course: _Course, clients: Clients) -> _Figures:
    """What clients of the member that is hit still get, and readers of the one that is watched."""
    experiment = course.experiment
    back = course.back_s - course.start_s
    own = [group for group in experiment.writers if group.node == experiment.victim]
    commits = clients.at(own, experiment.victim)
    commits = commits[(commits > 0.0) & (commits < back)]
    yield "victim_commits_in_silence_n", float((commits > _UNDER_WAY_S).sum())
    yield "victim_writers_last_commit_before_heal_after_inject_s", max([0.0, *commits.tolist()])
    readers = [one for one in experiment.groups if one.reads and one.node in experiment.watched]
    yield "max_read_latency_new_primary_s", clients.longest(readers, 0.0, np.inf)
