"""Inverse questions about scenarios whose answers are known."""

import pytest

import simrep
from simrep.errors import ScenarioError, SimrepError
from simrep.models.galera.questions.fragment_sizes import fragment_sizes
from simrep.models.galera.questions.gcache import gcache_bytes
from simrep.runs.sustain import CLIENTS
from tests.server_runs import scenario
from tests.small_streaming import SCENARIO as STREAMING
from tests.whatif_scenarios import wan

FAST = {"replications": 4, "precision": 0.2}
SHORT = {"duration_s": 1, "warmup_s": 0.2}


def replicated(workers=1, apply_us=1000.0, **how):
    """A replica that applies a change in 1 ms: 1,000 per second and applier."""
    options = {
        "replica_parallel_workers": workers,
        "sync_binlog": 0,
        "innodb_flush_log_at_trx_commit": 2,
    }
    costs = {"statement_us": 50.0, "receive_us": 1.0, "apply_us": apply_us}
    return scenario("asynchronous", 2, costs=costs, options=options, duration_s=1.0, **how)


# -- the round trip ------------------------------------------------------------------------------


def test_the_largest_round_trip_meets_the_objective_and_the_next_does_not():
    found = simrep.plan(wan(), "rtt", objective="p50<=100ms", within=(10.0, 200.0), **FAST)
    assert found.value == found.low < found.high
    assert 25.0 < found.low < found.high < 100.0  # a commit takes one to two round trips
    p50 = {
        ms: simrep.run(wan({"network.rtt_ms": ms}), replications=4).latency_s["p50"]
        for ms in (found.low, found.high)
    }
    assert p50[found.low] <= 0.1 < p50[found.high]
    assert found.sentence.startswith("Round trip: up to ")
    assert "95 % sure" in found.sentence


def test_answers_outside_the_range_are_said_to_be_there():
    short = wan(run=SHORT)
    beyond = simrep.plan(short, "rtt", objective="p50<=100ms", within=(8.0, 12.0), **FAST)
    assert beyond.value == 12.0
    assert beyond.high is None
    assert "The limit lies beyond" in beyond.sentence
    never = simrep.plan(short, "rtt", objective="p50<=1ms", within=(10.0, 50.0), **FAST)
    assert never.value is None
    assert "not met even at 10" in never.sentence


def test_where_there_are_several_delays_one_has_to_be_named():
    far = wan(network={"egress": [{"node": "n3", "delay_ms": 30.0}]})
    with pytest.raises(ScenarioError, match="say which one"):
        simrep.plan(far, "rtt", objective="p50<=100ms")
    found = simrep.plan(
        far, "rtt", objective="p50<=100ms", path="network.egress.0.delay_ms",
        within=(10.0, 200.0), **FAST,
    )  # fmt: skip
    assert 10.0 < found.value < 100.0
    assert found.question == ("The largest delay (network.egress.0.delay_ms) with p50 <= 100 ms")
    assert found.sentence.startswith("Delay: up to ")


def test_the_delay_of_all_other_links_may_be_the_one_that_is_named():
    short = wan(run=SHORT, network={"path": [{"from": "n1", "to": "n2", "rtt_ms": 10.0}]})
    how = {"objective": "p50<=100ms", "within": (10.0, 20.0), **FAST}
    found = simrep.plan(short, "rtt", path="network.rtt_ms", **how)
    assert found.question.count("round trip") == found.question.count("network.rtt_ms") == 1
    heads = str(found).splitlines()[2]
    assert "round trip" in heads
    assert "<=" not in heads  # the question tells the limit


# -- clients and appliers ------------------------------------------------------------------------


def test_the_fewest_clients_for_a_throughput():
    # Each client of a server alone thinks for 10 ms: about 100 transactions/s per client.
    content = scenario("standalone", 1, costs={"statement_us": 10.0}, duration_s=0.5)
    content["workload"] = content.get("workload", {}) | {"threads": 1, "think_time_ms": 10.0}
    found = simrep.plan(content, "clients", objective="tps>=450", **FAST)
    assert found.value == 5.0
    assert found.low == 4.0


def test_a_second_condition_may_leave_nothing():
    found = simrep.plan(wan(), "clients", objective="tps>=100000,p50<=1s", within=(1, 8), **FAST)
    assert found.value is None
    assert "is never met" in found.sentence


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"workload.threads": None, "workload.rate_tps": 10.0}, "workload.rate_tps"),
        (
            {
                "workload.queries": 100,
                "run.duration_s": None,
                "run.warmup_s": 0.0,
            },
            "workload.queries",
        ),
    ],
)
def test_only_the_clients_of_a_lasting_closed_loop_can_be_counted(changes, path):
    with pytest.raises(ScenarioError) as caught:
        simrep.plan(wan(changes), "clients", objective="tps>=1")
    assert caught.value.path == path


@pytest.mark.slow
def test_the_fewest_appliers_that_keep_up():
    slow = replicated(apply_us=4000.0)
    found = simrep.plan(slow, "appliers", tps=625.0, within=(2, 4), replications=4)
    assert found.value == 3.0
    assert found.low == 2.0
    assert "625 transactions/s kept up" in found.question


def test_what_has_no_appliers_is_told():
    with pytest.raises(ScenarioError, match="has no appliers"):
        simrep.plan(scenario("standalone", 1, duration_s=1.0), "appliers", tps=10.0)


# -- rate, gcache --------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_highest_rate_of_a_single_applier():
    found = simrep.plan(replicated(), "rate", precision=0.1, replications=3)
    assert found.low < 1000.0 < found.high
    assert found.high < 1.4 * found.low
    assert found.sentence.endswith("Above it n2 falls behind.")
    assert set(found.to_frame().columns) >= {"rate_tps", "drift", "sustained"}


@pytest.mark.slow
def test_a_server_alone_is_limited_by_its_clients():
    content = scenario("standalone", 1, costs={"statement_us": 1000.0}, duration_s=1.0)
    found = simrep.plan(content, "rate", precision=0.3, replications=2)
    assert {one.limited_by for one in found.searches} == {CLIENTS}
    assert "queue up before they commit" in found.sentence


def test_the_gcache_holds_the_writesets_of_the_outage_and_what_is_set_aside():
    found = simrep.plan(wan(), "gcache", outage_s=7200.0, replications=4)
    run = simrep.run(wan(), replications=4)
    own = run.counters["n1"]
    volume = own["wsrep_replicated_bytes"] / own["wsrep_local_commits"]
    needed = run.throughput_tps * volume * 7200.0 * 128 / 127
    assert found.low <= needed * 1.02
    assert found.high >= needed * 0.98
    assert found.value >= found.high
    assert found.value % (1 << 20) == 0
    assert found.sentence.startswith(f"gcache.size = {found.value / (1 << 20):,.0f}M (")


def test_no_more_than_a_million_writesets_are_set_aside():
    assert gcache_bytes(1.0, 100.0, 127.0) == pytest.approx(12_800.0)
    many = 1e9
    assert gcache_bytes(1.0, 1.0, many) == pytest.approx(many + (1 << 20))
    assert gcache_bytes(0.0, 0.0, 10.0) == 0.0


def test_only_galera_has_a_gcache():
    with pytest.raises(ScenarioError, match=r"no answer to 'gcache' .model 'galera' has"):
        simrep.plan(replicated(), "gcache", outage_s=60.0, replications=2)


# -- large transactions --------------------------------------------------------------------------


@pytest.mark.slow
def test_the_largest_transaction_stalls_no_longer_than_allowed():
    found = simrep.plan(
        simrep.load(STREAMING), "transaction", longest_stall_s=0.03, replications=4,
        precision=0.5, within=(4000, 20_000),
    )  # fmt: skip
    assert 4000 <= found.value < 20_000
    stalls = found.to_frame().set_index("value").stall_s
    assert stalls[found.low] <= 0.03 < stalls[found.high]


def test_a_transaction_is_not_larger_than_its_table():
    with pytest.raises(ScenarioError, match="20,000 rows"):
        simrep.plan(simrep.load(STREAMING), "transaction", within=(10, 30_000))


def test_a_transaction_that_stalls_nobody_is_no_question():
    alone = simrep.load(STREAMING).replace({"workload.think_time_ms": 5000.0})
    with pytest.raises(SimrepError, match="nobody"):
        simrep.plan(alone, "transaction", longest_stall_s=0.1, replications=4)


@pytest.mark.slow
def test_the_largest_fragment_is_the_largest_recommended():
    sizes = (10_000, 100_000, 1_000_000)
    same = {"sizes": sizes, "longest_stall_s": 0.1, "largest_slowdown": 3.0, "least_payload": 0.2}
    found = simrep.plan(simrep.load(STREAMING), "fragment", **same)
    all_sizes = fragment_sizes(simrep.load(STREAMING), **same)
    assert found.sizes.to_dict() == all_sizes.to_dict()
    largest = all_sizes.recommended[-1].size if all_sizes.recommended else None
    assert found.value == largest


# -- all of them ---------------------------------------------------------------------------------


def test_an_unknown_question_names_the_nearest():
    with pytest.raises(ScenarioError, match="'clients'"):
        simrep.plan(wan(), "client")


@pytest.mark.parametrize(
    ("how", "path"),
    [
        ({"precision": 0.0}, "precision"),
        ({"replications": 3}, "replications"),
        ({"confidence": 1.0}, "confidence"),
        ({"within": (0.0, 5.0)}, "within"),
        ({"within": (5.0, 1.0)}, "within"),
    ],
)
def test_wrong_options_are_named(how, path):
    with pytest.raises(ScenarioError) as caught:
        simrep.plan(wan(), "rtt", objective="p50<=100ms", **how)
    assert caught.value.path == path


def test_an_answer_shows_itself(tmp_path):
    found = simrep.plan(
        wan(run=SHORT), "rtt", objective="p50<=100ms,tps>=10", within=(10.0, 200.0), **FAST
    )
    assert "network" in found.scenario
    assert "met" in str(found)
    assert found._repr_html_().startswith("<pre")
    assert list(found.to_frame().verdict).count("met") >= 1
    content = found.to_dict()
    assert content["value"] == found.value
    assert len(content["steps"]) == len(found.tried)
    found.plot(tmp_path / "rtt.png")
    assert (tmp_path / "rtt.png").stat().st_size > 1000
