"""The sustainable rate, where it is known: one applier, several, and a server alone."""

from __future__ import annotations

from typing import Any

import pytest

import simrep.runs.sustain as sustain_module
from simrep.contract.setup import setup_of
from simrep.errors import ScenarioError, SimrepError
from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.measure.meter import Meter
from simrep.runs.build import build_cluster
from simrep.runs.sustain import CLIENTS, SustainedRate, sustainable_rate
from simrep.scenario import load
from simrep.workload.clients import Clients
from tests.server_runs import scenario

# A replica applies a change in 1 ms of a core of its own; receiving takes next to nothing.
NO_LOGS = {"log_bin": False, "innodb_flush_log_at_trx_commit": 0}
COSTS = {"statement_us": 50.0, "receive_us": 1.0, "apply_us": 1000.0}


def replicated(workers: int = 1, **how: Any) -> dict[str, Any]:
    options = {
        "replica_parallel_workers": workers,
        "sync_binlog": 0,
        "innodb_flush_log_at_trx_commit": 2,
    }
    how.setdefault("duration_s", 1.0)
    return scenario("asynchronous", 2, costs=COSTS, options=options, **how)


def around(found: SustainedRate, rate: float, precision: float) -> bool:
    """Whether the rate is met within the bracket and the drift that counts as none.

    A drift of half the precision counts as none, and the bracket is as wide as the precision;
    the random drift of the last probes (Poisson arrivals, two standard deviations at most) is the
    rest. Seeds are fixed: this is no chance alarm.
    """
    return abs(found.rate_tps / rate - 1.0) < 1.5 * precision


@pytest.mark.parametrize("workers", [0, 1, 4])
@pytest.mark.parametrize("seed", [1, 2])
def test_replicas_keep_up_what_their_appliers_can_do(workers, seed):
    found = sustainable_rate(replicated(workers), seed=seed, precision=0.1)
    assert around(found, 1000.0 * max(1, workers), 0.1)
    assert found.limited_by == "n2"


def test_groups_keep_their_classes_and_shares():
    classes = [{"name": "write"}, {"name": "read", "statements": 0, "reads": 1}]
    groups = [
        {"node": node, "threads": threads, "class": [name]}
        for node, threads, name in (("n1", 1, "write"), ("n2", 2, "read"))
    ]
    content = {**replicated(), "workload": {"class": classes, "group": groups}}
    found = sustainable_rate(content, precision=0.1)
    # A third of them are writes, of which one applier does 1,000 per second; what may be left
    # behind is a share of all arrivals, so of the writes it is three times as much.
    assert around(found, 3000.0, 3 * 0.1)
    assert found.limited_by == "n2"


def test_a_finer_search_comes_closer():
    found = sustainable_rate(replicated(), precision=0.04)
    assert around(found, 1000.0, 0.04)
    assert found.low_tps < found.rate_tps < found.high_tps <= 1.05 * found.low_tps


@pytest.mark.parametrize("cores", [1, 2])
def test_a_server_alone_keeps_up_what_its_cores_can_do(cores):
    content = scenario(
        "standalone", 1, costs={"statement_us": 1000.0}, cores=cores, duration_s=1.0,
        options=NO_LOGS,
    )  # fmt: skip
    found = sustainable_rate(content, precision=0.1)
    assert around(found, 1000.0 * cores, 0.1)
    assert found.limited_by == CLIENTS


@pytest.mark.parametrize("start", [1.0, 100_000.0])
def test_the_start_does_not_matter(start):
    found = sustainable_rate(replicated(), precision=0.1, start_tps=start)
    assert found.probes[0].rate_tps == start
    assert around(found, 1000.0, 0.1)


def test_the_bracket_holds_what_was_tried():
    found = sustainable_rate(replicated(), precision=0.1)
    sustained = [probe.rate_tps for probe in found.probes if probe.sustained]
    refused = [probe.rate_tps for probe in found.probes if not probe.sustained]
    assert found.low_tps in sustained
    assert found.high_tps in refused
    assert found.low_tps < found.high_tps <= 1.1 * found.low_tps + 1e-9
    # The last word on the low end was as fine as the precision asks.
    assert min(p.allowed for p in found.probes if p.rate_tps == found.low_tps) == 0.05


def test_a_search_is_repeatable_and_replications_differ():
    content = replicated()
    first, again, other = (
        sustainable_rate(content, precision=0.2, replication=number) for number in (0, 0, 1)
    )
    assert first == again
    assert first.probes != other.probes


def test_clients_of_the_scenario_do_not_matter():
    few, many = (replicated(threads=number, think_time_ms=5.0) for number in (1, 64))
    rates = {sustainable_rate(one, precision=0.2, start_tps=50.0).rate_tps for one in (few, many)}
    assert len(rates) == 1


def test_groups_keep_their_proportions():
    """Node 1 gets three quarters of what both can do, so it is full first."""
    groups = [{"node": "n1", "threads": 3}, {"node": "n2", "threads": 1}]
    content = scenario(
        "standalone", 2, costs={"statement_us": 1000.0}, cores=1, duration_s=1.0, group=groups,
        options=NO_LOGS,
    )  # fmt: skip
    assert around(sustainable_rate(content, precision=0.1), 1000.0 * 4 / 3, 0.1)


def test_a_backlog_of_ones_own_is_used():
    found = sustainable_rate(
        replicated(cores=1), precision=0.1, backlog=lambda counters: dict.fromkeys(counters, 0.0),
    )  # fmt: skip
    assert found.rate_tps > 4000.0  # nobody looks at the replica
    assert found.limited_by == CLIENTS


@pytest.mark.parametrize(
    ("argument", "value"),
    [("precision", 0.0), ("precision", 0.6), ("start_tps", 0.0), ("start_tps", float("nan"))],
)
def test_an_argument_that_makes_no_sense_is_refused(argument, value):
    with pytest.raises(ScenarioError, match=argument):
        sustainable_rate(replicated(), **{argument: value})


def test_what_nobody_can_keep_up_is_an_error():
    """The replica is said to be further behind with every commit."""
    with pytest.raises(SimrepError, match="not even"):
        sustainable_rate(replicated(), precision=0.5, backlog=lambda counters: {
            "n2": counters["n1"]["Handler_commit"]
        })  # fmt: skip


def test_work_that_takes_no_time_has_no_rate():
    with pytest.raises(SimrepError, match="takes no time"):
        sustainable_rate(scenario("standalone", 1, options=NO_LOGS, duration_s=1.0))


def test_a_rate_that_is_never_too_much_is_an_error(monkeypatch):
    """Transactions that take no processor: only their clients' network."""
    monkeypatch.setattr(sustain_module, "_MOST", 4000)
    how = {"client": "own", "client_rtt_ms": 1.0, "duration_s": 1.0}
    with pytest.raises(SimrepError, match="is too much"):
        sustainable_rate(scenario("standalone", 1, options=NO_LOGS, **how), precision=0.5)


# ------------------------------------------------------------------ backlog --


def at_rest_and_busy(model, nodes, options, **costs):
    """A model whose appliers are slow, before anything happens and in the middle of it."""
    content = {
        "cluster": {"model": model, "nodes": nodes, "options": options, "costs": costs},
        "workload": {"rate_tps": 2000.0, "nodes": ["n1"]},
        "run": {"duration_s": 1.0},
    }
    setup = setup_of(load(content))
    clock, streams = Clock(), Streams(1)
    built = setup.model(build_cluster(setup, clock, streams), setup.options, setup.costs)
    yield built
    Clients(clock, streams, setup.workload, built, Meter(clock)).start()
    clock.run(0.5)
    yield built


def test_queues_of_group_replication_are_added_up():
    for group in at_rest_and_busy("group_replication", 3, {}, apply_us=4000.0):
        counters = group.counters()
        assert group.backlog() == {
            name: own["COUNT_TRANSACTIONS_IN_QUEUE"]
            + own["COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE"]
            for name, own in counters.items()
        }
    assert group.backlog()["n1"] < 20 < group.backlog()["n2"]


def test_positions_of_galera_are_compared_with_the_first():
    for cluster in at_rest_and_busy("galera", 3, {"gcs.fc_limit": 10_000}, apply_us=4000.0):
        position = {n: own["wsrep_last_committed"] for n, own in cluster.counters().items()}
        assert cluster.backlog() == {name: position["n1"] - own for name, own in position.items()}
    assert cluster.backlog()["n2"] > 20 > cluster.backlog()["n1"] == 0


@pytest.mark.parametrize("model", ["asynchronous", "semisync"])
def test_replicas_are_compared_with_their_source(model):
    for servers in at_rest_and_busy(model, 2, {}, apply_us=4000.0):
        commits = {n: own["Handler_commit"] for n, own in servers.counters().items()}
        assert servers.backlog() == {"n1": 0.0, "n2": commits["n1"] - commits["n2"]}
    assert servers.backlog()["n2"] > 20


def test_servers_without_a_source_are_compared_with_nobody():
    for servers in at_rest_and_busy("standalone", 2, {}):
        assert servers.backlog() == {"n1": 0.0, "n2": 0.0}
