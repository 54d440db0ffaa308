"""Product options, costs and packs: which layer wins, and every spelling of a name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simrep.contract.setup import setup_of
from simrep.errors import ScenarioError
from simrep.scenario import load, with_value
from simrep.scenario.options import versions
from tests.small_scenario import problem, small

WAN = {
    "cluster": {
        "model": "galera",
        "version": "pxc-5.7.16",
        "options": {"gcs.fc_limit": 64},
    },
    "workload": {"queries": 10},
}


def test_versions_stand_between_model_defaults_and_the_scenario() -> None:
    options = setup_of(load(WAN)).scenario.cluster.options
    assert options["evs.send_window"] == 4
    assert options["gcs.fc_limit"] == 64
    later = setup_of(
        with_value(load(WAN), "cluster.version", "pxc-5.7.17-29.20")
    ).scenario.cluster.options
    assert (later["evs.send_window"], later["evs.user_send_window"]) == (10, 4)


def test_every_shipped_version_is_valid() -> None:
    known = versions("simrep.models", "galera")
    assert set(known) == {
        "galera-2", "galera-3", "galera-4", "pxc-5.6", "pxc-5.7.16", "pxc-5.7.17-29.20",
        "pxc-8.0", "mariadb-10.3", "mariadb-10.4", "mariadb-10.5", "mariadb-10.6",
        "mariadb-10.11", "mariadb-11.8",
    }  # fmt: skip
    limits, serial, annotated = {}, set(), set()
    for version in known:
        options = setup_of(load(small(cluster={"version": version}))).scenario.cluster.options
        limits[version] = options["gcs.fc_limit"]
        if options["commit_monitor_through_flush"]:
            serial.add(version)
        if options["binlog_annotate_row_events"]:
            annotated.add(version)
    assert (limits["pxc-5.7.16"], limits["pxc-8.0"], limits["mariadb-11.8"]) == (16, 100, 16)
    assert serial == {"galera-2", "galera-3", "mariadb-10.3", "pxc-5.6", "pxc-5.7.16"}
    assert annotated == {version for version in known if version.startswith("mariadb")}


@pytest.mark.parametrize(
    "options",
    [
        {"wsrep_applier_threads": 7, "gcs.fc_single_primary": "YES"},
        {"wsrep_slave_threads": 7, "gcs": {"fc_master_slave": True}},  # no quotes in the file
    ],
)
def test_every_spelling_of_the_product_is_understood(options: dict[str, Any]) -> None:
    resolved = setup_of(load(small(cluster={"options": options}))).scenario.cluster.options
    assert resolved["wsrep_slave_threads"] == 7
    assert resolved["gcs.fc_master_slave"] is True


PACK = """
[pack]
name = "mine"
model = "galera"
[machine]
cores = 2
variation = 0.1
[network]
rtt_ms = 0.08
[costs]
apply_us = 33.0
commit_us = 44.0
"""


def test_a_pack_gives_costs_machine_and_round_trip(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(PACK)
    (tmp_path / "scenario.toml").write_text("""
        [cluster]
        model = "galera"
        pack = "mine.toml"
        machine = { variation = 0.0 }
        costs = { commit_us = 55.0 }
        [[node]]
        name = "n1"
        host = "big"
        [[node]]
        name = "n2"
        [[host]]
        name = "big"
        cores = 32
        [workload]
        queries = 1
    """)
    setup = setup_of(load(tmp_path / "scenario.toml"))
    costs = setup.scenario.cluster.costs
    assert (costs["apply_us"], costs["commit_us"]) == (33.0, 55.0)
    assert {name: machine.cores for name, machine in setup.machines.items()} == {
        "big": 32, "n2": 2,
    }  # fmt: skip
    assert setup.machines["big"].variation == 0.0
    assert setup.paths[0, 1].latency.base_s == 0.00004
    assert setup.versions["pack"].startswith("mine sha256:")


def test_of_a_pack_of_another_model_what_both_know_holds(tmp_path: Path) -> None:
    pack = PACK.replace("commit_us", "certify_us = 9.0\ncommit_us")
    (tmp_path / "mine.toml").write_text(pack)
    content = small(cluster={"model": "standalone", "pack": str(tmp_path / "mine.toml")})
    setup = setup_of(load(content))
    own = setup_of(load(small(cluster={"model": "standalone"}))).scenario.cluster.costs
    costs = setup.scenario.cluster.costs
    assert costs == own | {"commit_us": 44.0}  # standalone servers neither apply nor certify
    assert own["commit_us"] != 44.0
    assert {machine.cores for machine in setup.machines.values()} == {2}
    assert setup.paths[0, 1].latency.base_s == 0.00004
    (tmp_path / "mine.toml").write_text(pack.replace("certify_us", "certfy_us"))
    assert "did you mean 'certify_us'?" in str(problem(content))


@pytest.mark.parametrize("model", ["standalone", "asynchronous"])
def test_a_shipped_pack_can_be_used_for_a_control(model: str) -> None:
    setup = setup_of(load(small(cluster={"model": model, "pack": "rig-2core"})))
    galera = setup_of(load(small(cluster={"model": "galera", "pack": "rig-2core"})))
    assert setup.machines == galera.machines
    costs, theirs = setup.scenario.cluster.costs, galera.scenario.cluster.costs
    for name in ("connect_us", "client_us", "statement_us", "row_us", "commit_us"):
        assert costs[name] == theirs[name]


def test_a_bad_pack_is_named_with_its_mistake(tmp_path: Path) -> None:
    def loaded(text: str) -> ScenarioError:
        (tmp_path / "bad.toml").write_text(text)
        return problem(small(cluster={"pack": str(tmp_path / "bad.toml")}))

    stranger = str(loaded(PACK.replace('"galera"', '"galerra"')))
    assert "holds costs of model 'galerra', which is not installed" in stranger
    assert "did you mean 'galera'?" in stranger
    assert "did you mean 'cores'?" in str(loaded(PACK.replace("cores", "coers")))
    assert "not valid TOML" in str(loaded("[pack"))
    misspelt = loaded(PACK.replace("apply_us", "aply_us"))
    assert misspelt.path.startswith('"pack ')
    assert "did you mean 'apply_us'?" in str(misspelt)
