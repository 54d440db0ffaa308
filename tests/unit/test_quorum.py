"""Which part of a Galera group may go on: weights, orderly leaves, what is ignored.

References
----------
codership/galera ``gcomm/src/pc_proto.cpp``: ``have_quorum``, ``have_split_brain``, ``is_prim``.
"""

from __future__ import annotations

import pytest

import simrep
from simrep.models.galera.gcomm.primary import PrimaryOptions, quorum_margin


def lives(*members: int) -> list[tuple[int, int]]:
    return [(member, 0) for member in members]


@pytest.mark.parametrize(
    ("weights", "present", "left", "margin"),
    [
        ((1, 1, 1), (0, 1), (), 1),
        ((1, 1, 1), (2,), (), -1),
        ((1, 1), (0,), (), 0),
        ((1, 1), (0,), (1,), 1),
        ((1, 1, 1, 1), (0, 1), (), 0),
        ((1, 1, 1, 1, 1), (0, 1, 4), (), 1),  # two sites of two, and an arbitrator with the first
        ((2, 1, 1), (0,), (), 0),
        ((2, 1, 1), (1, 2), (), 0),
        ((3, 1, 1), (0,), (), 1),
        ((1, 1, 1), (0,), (1, 2), 1),  # both leave at once
        ((1, 1, 0), (0,), (), 0),  # a member without weight
        ((1, 1, 1), (0, 9), (), -1),  # who joins adds nothing
    ],
)
def test_quorum_is_a_matter_of_weight(
    weights: tuple[int, ...], present: tuple[int, ...], left: tuple[int, ...], margin: int
) -> None:
    options = PrimaryOptions(weights)
    last = lives(*range(len(weights)))
    assert quorum_margin(options, last, lives(*present), lives(*left)) == margin


def test_who_has_come_back_is_somebody_else() -> None:
    assert quorum_margin(PrimaryOptions(), lives(0, 1, 2), [(0, 0), (1, 1)], ()) < 0


# -- in a scenario ---------------------------------------------------------------------------------

BROKEN = """
[cluster]
model = "galera"
nodes = {nodes}
[cluster.options]
"evs.suspect_timeout" = 3
{options}
[workload]
threads = 2
think_time_ms = 20
[run]
duration_s = 12
{more}
"""
KILL_S, NOTICED_S = 2, 8  # everybody has noticed by then


def broken(*kills: str, nodes: list[str], options: str = "", more: str = "") -> simrep.Result:
    faults = "".join(
        f'[[fault]]\nwhat = "kill"\nnode = "{node}"\nat_s = {KILL_S}\n' for node in kills
    )
    return simrep.run(BROKEN.format(nodes=nodes, options=options, more=more + faults))


def goes_on(result: simrep.Result, from_s: float = NOTICED_S) -> bool:
    return bool(result.runs[0].measurement.series.commits[int(from_s) :].sum() > 0)


ARBITRATOR = '[[node]]\nname = "g"\narbitrator = true\n'


def weight(node: str, value: int) -> str:
    return f'[[node]]\nname = "{node}"\noptions = {{ "pc.weight" = {value} }}\n'


degrades = pytest.mark.filterwarnings("ignore:degraded")


@degrades
@pytest.mark.parametrize(
    ("kills", "nodes", "options", "more", "expected"),
    [
        (["b"], ["a", "b"], "", "", False),
        (["b"], ["a", "b", "g"], "", ARBITRATOR, True),
        (["b", "g"], ["a", "b", "g"], "", ARBITRATOR, False),
        (["b"], ["a", "b"], "", weight("a", 2), True),
        (["b"], ["a", "b"], "", weight("b", 2), False),
        (["b"], ["a", "b"], '"pc.ignore_sb" = true', "", True),
        (["b", "c"], ["a", "b", "c"], '"pc.ignore_sb" = true', "", False),
        (["b", "c"], ["a", "b", "c"], '"pc.ignore_quorum" = true', "", True),
    ],
)
def test_who_goes_on_after_a_crash(
    kills: list[str], nodes: list[str], options: str, more: str, expected: bool
) -> None:
    result = broken(*kills, nodes=nodes, options=options, more=more)
    assert goes_on(result) is expected
    assert (result.runs[0].measurement.errors["1180"] > 0) is not expected


@degrades
def test_a_part_that_is_bootstrapped_goes_on() -> None:
    by_hand = '[[fault]]\nwhat = "bootstrap"\nnode = "a"\nat_s = 9\n'
    result = broken("b", nodes=["a", "b"], more=by_hand)
    assert goes_on(result, 10)
    noted = [one.what for one in result.runs[0].noted if "primary" in one.what and one.node == 0]
    assert noted[-1] == "primary"
    assert "non-primary" in noted


@degrades
def test_reads_go_on_without_quorum_only_if_they_may_be_dirty() -> None:
    reads = '[[workload.class]]\nname = "r"\nstatements = 0\nreads = 1\n'
    for dirty in (False, True):
        options = f'"wsrep_dirty_reads" = {str(dirty).lower()}'
        result = broken("b", nodes=["a", "b"], options=options, more=reads)
        assert goes_on(result) is dirty


# -- arbitrators -----------------------------------------------------------------------------------


def test_an_arbitrator_acknowledges_but_commits_nothing() -> None:
    far = '[[network.path]]\nfrom = "g"\nto = "a"\nrtt_ms = 80\n'
    far += '[[network.path]]\nfrom = "g"\nto = "b"\nrtt_ms = 80\n'
    result = broken(nodes=["a", "b", "g"], more=ARBITRATOR + far)
    assert (
        result.runs[0].measurement.latency.percentile(50) > 0.080
    )  # nothing commits before it has received it
    assert set(result.counters) == {"a", "b"}
    assert (
        result.counters["a"]["wsrep_cert_index_size"] < 200
    )  # what all have committed is forgotten


@pytest.mark.parametrize(
    ("more", "model", "path"),
    [
        ('[workload]\nnodes = ["n1", "n2"]\n[[node]]\nname = "n2"\narbitrator = true\n', "galera",
         "workload.nodes.1"),
        ('[[node]]\nname = "n1"\n[[node]]\nname = "n2"\narbitrator = true\n', "semisync",
         "node.1.arbitrator"),
        ('[[node]]\nname = "n2"\noptions = { "evs.send_window" = 9 }\n', "galera",
         'node.0.options."evs.send_window"'),
        ('[[node]]\nname = "n2"\noptions = { "pc.weigth" = 2 }\n', "galera",
         'node.0.options."pc.weigth"'),
        ('[[node]]\nname = "n2"\noptions = { "pc.weight" = 256 }\n', "galera",
         'node.0.options."pc.weight"'),
    ],
)  # fmt: skip
def test_what_a_node_cannot_be_is_refused(more: str, model: str, path: str) -> None:
    text = f'[cluster]\nmodel = "{model}"\n[run]\nduration_s = 1\n{more}'
    with pytest.raises(simrep.ScenarioError, match=path.replace(".", r"\.")):
        simrep.run(text)
