"""Who is evicted from a Galera group for its delays (``evs.auto_evict``), and what becomes of it.

References
----------
codership/galera ``gcomm/src/evs_proto.cpp``: ``check_inactive``, ``handle_delayed_list``.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import simrep

pytestmark = pytest.mark.filterwarnings("ignore:degraded")

SCENARIO = """
[cluster]
model = "galera"
nodes = {nodes}
[cluster.options]
"evs.auto_evict" = {auto_evict}
"evs.keepalive_period" = "PT0.1S"
"evs.delay_margin" = "PT0.2S"
"evs.inactive_check_period" = "PT0.05S"
"evs.suspect_timeout" = "PT2S"
"evs.join_retrans_period" = "PT0.1S"
{options}
[network]
rtt_ms = 0.4
jitter = {{ kind = "exponential", mean_ms = 0.02 }}
[workload]
threads = {nodes}
nodes = ["*"]
think_time_ms = 100
[run]
duration_s = {duration_s}
"""
OUT_S, EVERY_S = 0.5, 1.5


def flaps(times: int, more: str = 'node = "n3"', every_s: float = EVERY_S) -> str:
    """A link that is lost again and again, each time for longer than a delay takes."""
    tables = (
        f'[[fault]]\nwhat = "cut"\n{more}\nat_s = {at_s}\nuntil_s = {at_s + OUT_S}\n'
        for at_s in (1.0 + every_s * number for number in range(times))
    )
    return "".join(tables)


def fault(what: str, at_s: float) -> str:
    return f'[[fault]]\nwhat = "{what}"\nnode = "n3"\nat_s = {at_s}\n'


def run(
    faults: str, auto_evict: int = 3, *, nodes: int = 3, duration_s: float = 8, options: str = ""
) -> simrep.Result:
    text = SCENARIO.format(
        nodes=nodes, auto_evict=auto_evict, duration_s=duration_s, options=options
    )
    return simrep.run(text + faults)


def told(result: simrep.Result, what: str) -> Sequence[tuple[float, str, tuple[str, ...]]]:
    lines = result.timeline().lines
    return [(line.at_s, line.node, line.of) for line in lines if line.what == what]


@pytest.mark.parametrize("auto_evict", [1, 2, 3])
def test_who_was_delayed_so_often_is_evicted(auto_evict: int) -> None:
    """A single delay never is enough."""
    result = run(flaps(4), auto_evict)
    last_s = 1.0 + EVERY_S * (max(auto_evict, 2) - 1)
    evictions = told(result, "evicts")
    assert {(node, of) for _, node, of in evictions} == {("n1", ("n3",)), ("n2", ("n3",))}
    assert all(last_s + 0.2 < at_s < last_s + OUT_S for at_s, _, _ in evictions)
    incident = result.faults[f"fault.{max(auto_evict, 2) - 1}"]
    assert incident.evicted == ("n3",)
    assert incident.evicted_s.median == pytest.approx(evictions[0][0] - last_s)
    assert incident.primary_s.median > incident.view_s.median > incident.evicted_s.median
    ((ended_s, node, _),) = told(result, "evicted")
    assert node == "n3"
    assert ended_s > last_s + OUT_S  # it learns of it when it comes back
    assert result.nodes["n3"].errors["1047"] > 0
    for other in ("n1", "n2"):
        assert sum(result.nodes[other].errors.values()) == 0


@pytest.mark.parametrize(
    ("faults", "nodes", "options"),
    [
        (flaps(2), 3, ""),
        (flaps(4, every_s=1.6), 3, '"evs.delayed_keep_period" = "PT0.3S"'),  # it is forgotten
        (flaps(4, 'node = "n3"\nothers = ["n1"]'), 4, ""),  # one of four has noticed
        (flaps(4), 2, ""),  # each is on the list of the other
        (fault("kill", 2) + fault("restart", 4), 3, ""),
    ],
)
def test_nobody_is_evicted_without_delays_and_votes(faults: str, nodes: int, options: str) -> None:
    if nodes == 2:
        faults = faults.replace("n3", "n2")
    result = run(faults, nodes=nodes, options=options)
    assert told(result, "delayed")
    assert not told(result, "evicts")
    assert not told(result, "evicted")


def test_a_cluster_without_delays_is_as_without_eviction() -> None:
    healthy = fault("leave", 2) + fault("restart", 3)
    with_it, without = run(healthy), run(healthy, 0)
    assert with_it.timeline().lines == without.timeline().lines
    assert with_it.committed == without.committed


def test_who_is_evicted_comes_back_as_somebody_else_when_its_server_is_started_again() -> None:
    result = run(flaps(3) + fault("leave", 7) + fault("restart", 7.5), duration_s=14)
    assert len(told(result, "evicted")) == 1
    assert [node for at_s, node, _ in told(result, "synced") if at_s > 7.5] != []
    primary = [of for _, node, of in told(result, "primary") if node == "n3"]
    assert primary[-1] == ("n1", "n2", "n3")
    assert result.faults["fault.2"].absences["n3"].ended == ("evicted",)


def test_a_server_that_crashes_as_it_is_evicted_is_refused_as_who_it_was() -> None:
    """It knows from its disk who it was, and forgets that when it is told (issue 212)."""
    dies = fault("kill", 1.0 + 2 * EVERY_S + 0.05)
    again = fault("restart", 7) + fault("kill", 10) + fault("restart", 10.5)
    result = run(flaps(3) + dies + again, duration_s=18)
    ended = [(line.what, line.how) for line in result.timeline().lines if line.node == "n3"
             and line.what in {"evicted", "aborted"}]  # fmt: skip
    assert ended == [("evicted", ""), ("aborted", "it is evicted from the group")]
    assert [at_s for at_s, node, _ in told(result, "synced") if node == "n3" and at_s > 10.5]


@pytest.mark.parametrize(
    "network", ["loss = 0.001", 'jitter = { kind = "lognormal", mean_ms = 100, sd_ms = 300 }']
)
def test_delays_that_only_the_network_makes_are_refused_without_a_fault(network: str) -> None:
    text = '[cluster]\nmodel = "galera"\n[cluster.options]\n"evs.auto_evict" = 3\n'
    with pytest.raises(simrep.ScenarioError, match=r"evs\.auto_evict: .*\[\[fault\]\]"):
        simrep.run(f"{text}[network]\n{network}\n[run]\nduration_s = 1\n")
