"""Bytes over links against what a protocol sends, counted by hand."""

import pytest

import simrep
from simrep.contract.setup import setup_of
from simrep.scenario import load
from tests.own_models import install
from tests.quorum_model import REPLY_BYTES

SCENARIO = {
    "cluster": {"model": "quorum", "nodes": 4},
    "network": {"rtt_ms": 2},
    "workload": {"preset": "mysqlslap-insert", "threads": 3, "nodes": ["n1"]},
    "run": {"duration_s": 1},
}


def test_a_leader_sends_each_follower_every_transaction(monkeypatch):
    """Its rows and the word to apply them go to each follower, and one reply comes back."""
    install(monkeypatch, quorum="tests.quorum_model:Quorum")
    found = simrep.plan(SCENARIO, "traffic", replications=2, jobs=1)
    [of_class] = setup_of(load(SCENARIO)).workload.classes
    sent = {"n1": of_class.size_bytes + REPLY_BYTES}
    for link in found.links:
        back = REPLY_BYTES if link.target == "n1" else 0.0
        # Of 1,500 commits those at both ends of the measured time count by half.
        assert link.bytes_per_commit == pytest.approx(sent.get(link.source, back), rel=0.01)
    assert len(found.links) == 12


@pytest.mark.parametrize("row_bytes", [100, 1000])
def test_replicas_get_what_the_log_holds(row_bytes):
    """A row that is longer by so many bytes makes as many more for each replica."""
    content = {
        "cluster": {"model": "asynchronous", "nodes": 3},
        "workload": {"threads": 2, "class": [{"rows": 10, "row_bytes": row_bytes}]},
        "run": {"duration_s": 1},
    }
    found = simrep.plan(content, "traffic", replications=2, jobs=1)
    out = {link.target: link.bytes_per_commit for link in found.links if link.source == "n1"}
    assert out["n2"] == pytest.approx(out["n3"], rel=0.01)
    headers = out["n2"] - 10 * row_bytes
    assert 100 < headers < 1000
    assert all(link.bytes_per_commit == 0.0 for link in found.links if link.source != "n1")
