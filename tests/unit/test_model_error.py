"""The error of the model hangs on what a figure is, and on what decides it."""

import pytest

from simrep.runs.model_error import Expectation, expectation, model_error, network_share

TABLE = Expectation(20, {"whole": 0.1, "p50": 0.1, "p95": 0.2, "p99": 0.4})


@pytest.mark.parametrize(
    ("rtt_s", "latency_s", "share"),
    [
        (0.05, 0.1, 0.5),  # a round trip and as much of waiting
        (0.05, 0.03, 1.0),  # one delay, one way
        (0.1, 0.001, 0.0),  # asynchronous: nobody waits for the distance
        (0.0, 0.001, 0.0),
        (0.05, float("nan"), 0.0),  # nothing committed
    ],
)
def test_the_part_of_the_network_is_the_round_trip_that_a_commit_waits_for(rtt_s, latency_s, share):
    assert network_share(rtt_s, latency_s) == pytest.approx(share)


def test_a_fit_that_meets_its_cells_does_not_narrow_what_others_showed():
    assert TABLE.of("latency_s.p95", 0.02, 12.0).relative == pytest.approx(0.2)
    assert TABLE.of("latency_s.p95", 0.02, 12.0).freedom == pytest.approx(20.0)


def test_a_fit_that_misses_its_cells_widens_all_figures_alike():
    wide = {name: TABLE.of(f"latency_s.{name}", 0.3, 12.0).relative for name in ("mean", "p99")}
    assert wide["p99"] == pytest.approx(4 * wide["mean"])
    assert 0.1 < wide["mean"] < 0.3  # ten cells of a fit and the table count alike
    assert TABLE.of("makespan_s", 0.3, 12.0).relative == wide["mean"]


def test_the_expectation_of_a_fit_itself_is_not_counted_twice():
    assert TABLE.of("makespan_s", 0.1, 2.0).relative == pytest.approx(0.1)
    assert TABLE.of("makespan_s", 0.1, 2.0).freedom == pytest.approx(10.0)


def test_network_and_processors_add_by_their_shares():
    def error(network):
        return model_error(
            "latency_s.mean", network=network, shared=True, discrepancy=0.1, freedom=2.0
        ).relative

    network, shared = error(1.0), error(0.0)
    assert error(0.5) == pytest.approx(((network / 2) ** 2 + (shared / 2) ** 2) ** 0.5)
    assert network < shared


def test_a_fit_says_nothing_of_the_network():
    def error(network, discrepancy):
        return model_error(
            "latency_s.mean", network=network, shared=True, discrepancy=discrepancy, freedom=12.0
        ).relative

    assert error(1.0, 0.9) == error(1.0, 0.1)
    assert error(0.0, 0.9) > 1.5 * error(0.0, 0.1)


def test_the_shipped_sizes_grow_towards_high_percentiles():
    for decided_by in ("network", "shared", "own"):
        errors = expectation(decided_by).errors
        assert errors["whole"] <= errors["p50"] <= errors["p95"] <= errors["p99"]
        assert expectation(decided_by).cells >= 10
