"""A model tells which servers it stands for; the engine asks all models and knows none."""

from functools import partial
from typing import ClassVar

import pytest

from simrep.contract.setup import setup_of
from simrep.errors import ScenarioError
from simrep.intake.description import Overrides
from simrep.modelling import Clue, Evidence, Recognition, ServerReading, ServerRelease
from simrep.scenario import load
from tests.own_models import Silent, install
from tests.server_files import SYSBENCH, described_from, finding

STATUS = {
    "Uptime": "100",
    "acme_members": "4",
    "acme_rtt_us": "2512",
    "acme_sent": "5000",
    "acme_seen": "10000",
    "Com_insert": "30000",
    "Com_commit": "5000",
}


class AcmeRecognition(Recognition):
    rank: ClassVar[int] = 5
    identity: ClassVar[frozenset[str]] = frozenset({"acme_provider"})
    packed: ClassVar[frozenset[str]] = frozenset({"acme_settings"})
    replicated: ClassVar[tuple[str, str] | None] = ("acme_sent", "acme_seen")

    def evidence(self, server: ServerReading) -> Evidence | None:
        provider = server.is_on("acme_provider")
        return provider and Evidence(provider.spelling, (provider.place,))

    def release(self, server: ServerReading) -> ServerRelease:
        return ServerRelease("acme", server.release, server.release_entry)

    def nodes(self, server: ServerReading) -> Clue | None:
        members = server.status.latest("acme_members")
        return members and Clue(int(members.value), members.places, members.name)

    def round_trip_ms(self, server: ServerReading, nodes: int) -> Clue | None:
        wait_us = server.status.latest("acme_rtt_us")
        return wait_us and Clue(wait_us.value / 1e3, wait_us.places, wait_us.name)

    def spellings(self, option: str) -> tuple[str, ...]:
        return (f"acme_{option}",)

    def remarks(self, server: ServerReading) -> list[str]:
        return ["Four members."]


class Acme(Silent):
    name = "acme"
    recognition = AcmeRecognition()


@pytest.fixture
def described(tmp_path, monkeypatch):
    own = {"acme": "Acme", "silent": "Silent"}
    values = {name: f"{__name__}:{value}" for name, value in own.items()}
    install(monkeypatch, broken="tests.own_models:WithoutCounters", **values)
    return partial(described_from, tmp_path)


def test_a_model_of_ones_own_is_recognised(described):
    options = ("acme_provider", "wsrep_provider = x", "other", "acme_settings = acme_copies = 2")
    one = described("\n".join(["[mysqld]", *options, ""]), STATUS)
    cluster = one.scenario["cluster"]
    assert (cluster["model"], cluster["nodes"]) == ("acme", 4)
    assert cluster["options"] == {"copies": 2}
    assert finding(one, "cluster.version").note == "the model's newest: it knows no acme"
    assert one.scenario["network"] == {"rtt_ms": 2.51}
    rates = [group["rate_tps"] for group in one.scenario["workload"]["group"]]
    assert rates == [50.0, *[pytest.approx(100 / 3, rel=1e-3)] * 3]
    assert [unused.setting for unused in one.not_simulated] == ["other"]
    assert one.remarks[-1] == "Four members."
    del cluster["pack"]
    assert setup_of(load(one.scenario)).model is Acme


def test_a_model_that_does_not_recognise_the_server_leaves_it_to_others(described):
    assert described("[mysqld]\nwsrep_provider = x\n").scenario["cluster"]["model"] == "galera"
    assert described("[mysqld]\n").scenario["cluster"]["model"] == "standalone"


def test_a_model_that_tells_nothing_is_simulated_when_it_is_named(described):
    one = described("[mysqld]\n", STATUS, overrides=Overrides(model="silent"))
    assert one.scenario["cluster"] == {"model": "silent", "nodes": 3, "pack": "mine.pack.toml"}
    assert not [each for each in one.settings if each.setting.startswith("pack.costs")]
    assert not one.remarks


def test_a_benchmark_without_a_cost_to_fit_is_refused(described):
    with pytest.raises(ScenarioError, match="silent has no cost 'statement_us' to fit"):
        described("[mysqld]\n", sysbench=SYSBENCH, overrides=Overrides(model="silent"))


def test_a_model_that_cannot_be_used_says_so_when_it_is_named(described):
    with pytest.raises(ScenarioError, match="counters"):
        described("[mysqld]\n", overrides=Overrides(model="broken"))
