"""Links that are interrupted for a while."""

import pytest

from simrep.errors import ScenarioError
from simrep.kernel.clock import Clock
from simrep.network.link import InterruptedLink, Link, Outage, Tcp
from simrep.scenario import load
from simrep.scenario.network import paths

DELAY, TIMEOUT = 0.05, 0.3  # of a repetition: a round trip and 0.2 s


def link(*outages: tuple[float, float]) -> InterruptedLink:
    return InterruptedLink(Clock(), DELAY, outages=[Outage(*one) for one in outages])


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
    assert arrival == pytest.approx(1.0 + TIMEOUT + TIMEOUT + DELAY)


def test_a_longer_timeout_repeats_later():
    patient = InterruptedLink(
        Clock(), DELAY, outages=[Outage(0.0, 0.1)], tcp=Tcp(minimum_timeout_s=1.0)
    )
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
    found = paths(scenario.network, scenario.node_tables(), 0.1)
    assert {pair for pair, path in found.items() if path.outages} == concerned
    assert all(found[pair].outages == ((1, 2.5), (3, 4)) for pair in concerned)


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
