"""Links that are cut, lose packets or vary for a while."""

from math import inf

import pytest

from simrep.contract.setup import setup_of
from simrep.errors import ScenarioError
from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.network.link import Jitter, Link, Tcp
from simrep.network.trouble import Trouble, TroubledLink
from simrep.scenario import load

DELAY, TIMEOUT = 0.05, 0.3  # of a repetition: a round trip and 0.2 s


def troubled(*troubles: Trouble, **how: object) -> TroubledLink:
    return TroubledLink(Clock(), DELAY, troubles=troubles, streams=Streams(1), name="link", **how)


def link(*cuts: tuple[float, float]) -> TroubledLink:
    return troubled(*(Trouble(*cut, cut=True) for cut in cuts))


def test_outside_of_the_outage_it_is_a_link_like_any_other():
    interrupted, plain = link((5.0, 6.0)), Link(Clock(), DELAY)
    for at in (0.0, 1.0, 4.999, 6.0, 7.5):
        assert interrupted.arrival(100_000, at) == plain.arrival(100_000, at)


@pytest.mark.parametrize("length", [0.01, 0.25, 0.5, 1.0, 5.0, 60.0])
def test_what_is_lost_is_repeated_after_timeouts_that_double(length):
    arrival = link((1.0, 1.0 + length)).arrival(100, 1.0)
    # Repetitions 1, 3, 7, 15, ... timeouts after the first: the first one after the end.
    repetition = next(k for k in range(20) if (2**k - 1) * TIMEOUT >= length)
    assert arrival == pytest.approx(1.0 + (2**repetition - 1) * TIMEOUT + DELAY)


def test_timeouts_double_up_to_two_minutes():
    arrival = link((0.0, 3600.0)).arrival(100, 0.0)
    assert 3600.0 < arrival < 3600.0 + 120.0 + DELAY


def test_everything_behind_a_lost_message_arrives_after_it():
    interrupted = link((1.0, 2.0))
    first = interrupted.arrival(100, 1.5)
    assert first == pytest.approx(1.5 + 3 * TIMEOUT + DELAY)
    assert [interrupted.arrival(100, at) for at in (1.6, 1.9, 2.1, first - DELAY)] == [first] * 4
    assert interrupted.arrival(100, first) == pytest.approx(first + DELAY)


def test_a_repetition_can_fall_into_the_next_outage():
    arrival = link((1.0, 1.2), (1.25, 1.5)).arrival(100, 1.0)
    assert arrival == pytest.approx(1.0 + TIMEOUT + 2 * TIMEOUT + DELAY)


def test_what_is_sent_during_a_cut_without_an_end_never_arrives():
    cut = link((1.0, inf))
    assert cut.arrival(100, 0.5) == pytest.approx(0.5 + DELAY)
    assert [cut.arrival(100, at) for at in (1.0, 50.0)] == [inf, inf]


def deaf(*cuts: tuple[float, float], own: tuple[float, float] | None = None) -> TroubledLink:
    back = [Trouble(*cut, cut=True) for cut in cuts]
    return troubled(*(() if own is None else (Trouble(*own, cut=True),)), back=back)


def test_without_acknowledgements_nothing_new_is_sent_after_a_timeout():
    sender = deaf((1.0, 2.0))
    first, soon = sender.arrival(100, 1.0), sender.arrival(100, 1.0 + TIMEOUT - 0.01)
    assert [first, soon] == pytest.approx([1.0 + DELAY, 1.0 + TIMEOUT - 0.01 + DELAY])
    # Repetitions at 1.3, 1.9, 3.1 s: the last is acknowledged, then the next message sets out.
    again_s = 1.0 + 7 * TIMEOUT + 2 * DELAY
    assert sender.arrival(100, 1.5) == pytest.approx(again_s + DELAY)
    assert sender.arrival(100, again_s + 1.0) == pytest.approx(again_s + 1.0 + DELAY)


def test_an_acknowledgement_in_time_covers_those_that_were_lost():
    sender = deaf((1.0, 1.1))
    for at in (1.0, 1.15, 1.5, 3.0):
        assert sender.arrival(100, at) == pytest.approx(at + DELAY)


@pytest.mark.parametrize("own", [None, (1.2, inf), (1.7, inf)])
def test_acknowledgements_that_never_come_end_a_connection_until_a_new_one_begins(own):
    sender = deaf((1.0, 6.0 if own else inf), own=own)
    assert sender.arrival(100, 1.0) == pytest.approx(1.0 + DELAY)
    assert sender.arrival(100, 1.5) == inf
    if own is None:
        sender.renew()
        assert sender.arrival(100, 9.0) == pytest.approx(9.0 + DELAY)


def test_a_cut_both_ways_is_as_one_of_what_is_sent():
    both, alone = deaf((1.0, 2.0), own=(1.0, 2.0)), link((1.0, 2.0))
    for at in (0.5, 0.97, 1.0, 1.5, 2.5, 4.0):
        assert both.arrival(100, at) == alone.arrival(100, at)


def test_a_new_connection_waits_for_no_repetition_of_the_old_one():
    cut = link((1.0, 10.0))
    assert cut.arrival(100, 1.5) > 10.0 + DELAY  # sent at 1.5, 1.8, ..., 10.8
    assert cut.arrival(100, 10.1) > 10.5
    cut.renew()
    assert cut.arrival(100, 10.2) == pytest.approx(10.2 + DELAY)


def test_a_packet_that_nobody_repeats_is_lost_in_a_cut():
    cut = link((1.0, 2.0))
    assert cut.arrival(100, 1.0) > 2.0  # what waits before it does not hold it up
    assert [cut.arrival_once(at) for at in (0.5, 1.5, 2.0)] == [0.5 + DELAY, inf, 2.0 + DELAY]


def test_loss_for_a_while_comes_on_top_of_the_loss_of_the_path():
    # 4,000 lone packets at 1 - 0.8 * 0.5 = 60 %: five standard deviations are 155, a false alarm
    # in 2e6, and the seed is fixed.
    coin = Streams(2).uniform("coin")
    lossy = troubled(Trouble(10.0, 20.0, loss=0.5), loss=0.2, coin=coin)
    lost = [lossy.arrival_once(at) == inf for at in [15.0] * 4000]
    assert sum(lost) == pytest.approx(2400, abs=155)
    lost = [lossy.arrival_once(at) == inf for at in [5.0, 20.0] * 2000]
    assert sum(lost) == pytest.approx(800, abs=127)


def test_jitter_for_a_while_varies_the_delay_only_then():
    jitter = Jitter("exponential", mean_s=0.02)
    varied = troubled(Trouble(10.0, 20.0, jitter=(jitter,)))
    delays = [varied.arrival_once(at) - at for at in [15.0] * 1000]
    # Standard deviation of the mean: 0.63 ms; five of them: a false alarm in 2e6.
    assert sum(delays) / 1000 == pytest.approx(DELAY + 0.02, abs=0.0032)
    assert min(delays) >= DELAY - 1e-9
    assert [varied.arrival_once(at) for at in (9.0, 20.0)] == [9.0 + DELAY, 20.0 + DELAY]


def test_a_longer_timeout_repeats_later():
    patient = troubled(Trouble(0.0, 0.1, cut=True), tcp=Tcp(minimum_timeout_s=1.0))
    assert patient.arrival(100, 0.0) == pytest.approx(1.1 + DELAY)


BASE = {"cluster": {"model": "standalone"}, "workload": {"transactions_per_client": 1}}


@pytest.mark.parametrize(
    ("direction", "concerned"),
    [
        ("both", {(1, 0), (1, 2), (0, 1), (2, 1)}),
        ("out", {(1, 0), (1, 2)}),
        ("in", {(0, 1), (2, 1)}),
    ],
)
def test_a_scenario_says_in_which_direction_a_node_is_cut_off(direction, concerned):
    outages = [
        {"node": "n2", "direction": direction, "from_s": 3, "to_s": 4},
        {"node": "n2", "direction": direction, "from_s": 1, "to_s": 2.5},
    ]
    scenario = load(BASE | {"network": {"outage": outages}})
    found = setup_of(scenario).paths
    assert {pair for pair, path in found.items() if path.troubles} == concerned
    cuts = (Trouble(1, 2.5, cut=True), Trouble(3, 4, cut=True))
    assert all(found[pair].troubles == cuts for pair in concerned)


@pytest.mark.parametrize(
    ("outage", "message"),
    [
        ({"node": "n9", "from_s": 1, "to_s": 2}, r"network.outage.0.node"),
        ({"node": "n1", "from_s": 2, "to_s": 2}, r"network.outage.0.to_s"),
        ({"node": "n1", "from_s": 2, "to_s": 3, "direction": "up"}, r"network.outage.0.direction"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_path(outage, message):
    with pytest.raises(ScenarioError, match=message):
        load(BASE | {"network": {"outage": [outage]}})


def test_a_link_is_stalled_until_what_was_sent_in_a_cut_is_repeated():
    cut = link((1.0, 2.0))
    assert not cut.stalled(0.9)
    assert cut.stalled(1.1)
    arrival_s = cut.arrival(100, 1.2)
    assert cut.stalled(2.05)
    assert not cut.stalled(arrival_s)
    cut.renew()
    assert not cut.stalled(2.05)


def test_coarse_timers_of_the_kernel_are_late_by_an_eighth_at_most():
    exact_s = 1.0 + (2**7 - 1) * 0.304 + DELAY  # the first wait in whole ticks, then doubled
    arrivals = []
    for tenth in range(10):
        coarse = link((1.0, 31.0))
        coarse.coarsen_timers(tenth / 10)
        arrivals.append(coarse.arrival(100, 1.0))
    assert all(exact_s < arrival < 1.0 + (exact_s - 1.0) * 1.125 for arrival in arrivals)
    assert max(arrivals) - min(arrivals) > 1.0  # a wait of 19.2 s is as exact as 2.048 s
