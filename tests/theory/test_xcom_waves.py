"""A member that is silent against closed forms and measurements: waves, and how they end.

Measured on MySQL 9.7 (three members, 4 clients): 16 commits per second of 0.24 to 0.26 s without
delay, 4 of 0.95 to 1.07 s at a round trip of 50 ms, and a last stop of 2.05 to 2.16 s there.
"""

from __future__ import annotations

from statistics import fmean

import pytest

from simrep.models.group_replication.xcom.paxos import XcomOptions
from tests.groups import symmetric
from tests.xcom_groups import ChangingXcomGroup

KILLED_S = 3.0
REMOVED_S = 14.0


def struck(
    hop_s: float, clients: int = 4, dead: int = 2, writer: int = 0, leader: int | None = None
) -> tuple[ChangingXcomGroup, list[tuple[float, float]]]:
    """A group whose member falls silent and is removed later."""
    options = XcomOptions(leader=leader)
    group = ChangingXcomGroup(symmetric(3, hop_s), options, message_s=2e-5)
    group.tell_statistics()
    done = group.clients(writer, clients, think_s=0.0025 * clients)
    group.at(KILLED_S, lambda: group.kill(dead))
    group.at(REMOVED_S, lambda: group.members[1 if dead == 0 else 0].remove((dead,)))
    group.clock.run(REMOVED_S + 6.0)
    return group, done


def between(done: list[tuple[float, float]], from_s: float, to_s: float) -> list[float]:
    return [latency for time_s, latency in done if from_s <= time_s < to_s]


@pytest.mark.parametrize("hop_s", [5e-5, 0.005, 0.025, 0.05])
def test_a_wave_takes_two_waits_and_four_hops(hop_s: float) -> None:
    group, done = struck(hop_s)
    slow = between(done, KILLED_S + 2.0, REMOVED_S)
    # First waits are 0.1 s and 5 to 6 medians of 2 hops, the second 1.41 times as long.
    wave_s = 2.414 * (0.1 + 5.5 * 2.0 * hop_s) + 4.0 * hop_s
    assert fmean(slow) == pytest.approx(wave_s, rel=0.06)
    assert len(slow) / (REMOVED_S - KILLED_S - 2.0) == pytest.approx(4.0 / wave_s, rel=0.1)
    before = between(done, 1.0, KILLED_S)
    after = between(done, REMOVED_S + 5.0, REMOVED_S + 6.0)
    assert fmean(after) < 1.05 * fmean(before)
    # Between the request and the last slot of the old configuration: one wave for the request, one
    # that those deliver who wait, and the way to one horizon behind the begin.
    stop_s = max(between(done, REMOVED_S, REMOVED_S + 5.0))
    assert stop_s < 2.0 * wave_s + 12.0 * hop_s + 0.1
    orders = [group.order(member) for member in (0, 1)]
    assert all(a == b for a, b in zip(*orders, strict=False))


def test_the_first_live_member_need_not_be_the_first() -> None:
    _, done = struck(5e-5, dead=0, writer=1)
    # It is known to be silent after 4 s only: until then nobody is the first that is alive.
    assert fmean(between(done, KILLED_S + 5.0, REMOVED_S)) == pytest.approx(0.245, abs=0.01)
    assert fmean(between(done, KILLED_S + 1.0, KILLED_S + 4.0)) == pytest.approx(0.46, abs=0.05)


@pytest.mark.parametrize(("clients", "tps", "latency_s"), [(16, 17.0, 0.92), (64, 50.0, 1.3)])
def test_more_proposals_than_the_horizon_holds_make_waves_longer(
    clients: int, tps: float, latency_s: float
) -> None:
    # Figures of an independent automaton. The writer's median includes the waits for the horizon;
    # the third wait of the other member, at which everybody proposes, bounds a wave.
    _, done = struck(0.0005, clients)
    slow = between(done, KILLED_S + 2.0, REMOVED_S)
    assert len(slow) / (REMOVED_S - KILLED_S - 2.0) == pytest.approx(tps, rel=0.15)
    assert fmean(slow) == pytest.approx(latency_s, rel=0.15)


def test_a_silent_member_without_slots_makes_no_waves_but_its_removal_does() -> None:
    group, done = struck(5e-5, leader=0)
    assert max(between(done, 1.0, REMOVED_S)) < 0.001
    # Nobody skips the slots up to one horizon behind the begin of the new configuration. Measured:
    # one stop of 0.75 s.
    assert max(between(done, REMOVED_S, REMOVED_S + 5.0)) == pytest.approx(0.75, abs=0.15)
    assert group.members[0].waves > 0 == group.members[1].waves
