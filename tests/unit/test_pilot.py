"""How searches shorten runs that are fast, and what they leave alone."""

from simrep.runs.pilot import short_setup
from tests.whatif_scenarios import wan

FAST = {"network.rtt_ms": 0.1, "run.duration_s": 60.0}


def seconds(changes, *figures):
    setup, _ = short_setup(wan(changes), 1, figures)
    return setup.scenario.run.duration_s


def test_fast_runs_end_after_enough_transactions():
    few = seconds(FAST, "throughput_tps")  # 5,000 of them
    many = seconds(FAST, "latency_s.p99.9")  # 40,000
    assert 2.0 <= few < many < 60.0


def test_slow_runs_and_totals_are_left_alone():
    assert seconds({"run.duration_s": 10.0}, "throughput_tps", "latency_s.p95") == 10.0
    for figure in ("aborted", "latency_s.max", "stall_max_s"):
        assert seconds(FAST, "throughput_tps", figure) == 60.0
    assert seconds(FAST) == 60.0


def test_a_fixed_number_of_transactions_stays():
    fixed = {"workload.transactions_per_client": 5, "run.duration_s": None, "run.warmup_s": 0.0}
    assert seconds(fixed, "throughput_tps") is None


def test_a_warm_up_that_is_not_set_is_found_out():
    by_itself = wan().source
    del by_itself["run"]["warmup_s"]
    setup, _ = short_setup(wan().model_validate(by_itself), 1, ("throughput_tps",))
    assert setup.scenario.run.warmup is None
    assert setup.scenario.run.warmup_s >= 0.0
