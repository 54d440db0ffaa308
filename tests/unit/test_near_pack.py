"""Which shipped pack is nearest to a scenario, and how wide a prediction with it is."""

import json
from math import log2

import pytest
from typer.testing import CliRunner

import simrep
from simrep.cli.app import app
from simrep.contract.setup import setup_of
from simrep.errors import ScenarioError
from simrep.runs.near_pack import near_packs, pack_notice
from simrep.scenario.options import in_product_spelling
from simrep.whatif.machine_width import machine_width

NEAREST = "rig-mariadb-11.8-galera"
FILE = """
[cluster]
model = "galera"
machine = { cores = 2 }

[workload]
preset = "mysqlslap-insert"
queries = 40
threads = 4
"""


def scenario(model="galera", nodes=3, preset="mysqlslap-insert", threads=8, **more):
    own = more.pop("cluster", {})
    cluster = {"model": model, "nodes": nodes, "machine": {"cores": 2}} | own
    return simrep.load(
        {"cluster": cluster, "workload": {"preset": preset, "threads": threads}, **more}
    )


def away(found, name):
    """How far a pack is, by what differs."""
    [near] = [one for one in found if one.name == name]
    assert near.doublings == pytest.approx(sum(one.doublings for one in near.differences))
    return [(one.what, round(one.doublings, 3)) for one in near.differences]


def test_inside_its_range_a_pack_does_not_differ_and_the_surer_one_comes_first():
    first, second, *_ = near_packs(scenario())
    assert (first.name, first.differences, second.name) == (NEAREST, (), "rig-2core")
    assert first.pack.fits[0].discrepancy < second.pack.fits[0].discrepancy
    assert first.error[0] < 1.0 < first.error[1]


def test_differences_count_in_doublings_and_only_those_that_are_said():
    found = near_packs(
        scenario(
            threads=256,
            cluster={"machine": {"cores": 16}, "version": "mariadb-10.11"},
            network={"rtt_ms": 400.0},
        )
    )
    assert away(found, NEAREST) == [
        ("2 cores, here 16", 3.0),
        ("0.0455 to 100 ms of round trip, here 400", round(log2(400.0 / 100.0725), 3)),
        ("1 to 128 clients, here 256", 1.0),
        ("mariadb-11.8, here mariadb-10.11", 0.5),
    ]
    another = near_packs(scenario(cluster={"version": "pxc-8.0"}))
    assert away(another, NEAREST) == [("mariadb-11.8, here pxc-8.0", 1.0)]


def test_on_a_lan_no_round_trip_is_another():
    found = near_packs(scenario("group_replication", network={"rtt_ms": 0.7}))
    assert not any("round trip" in what for what, _ in away(found, "gr-2016-20core"))


def test_the_size_of_transactions_decides_between_packs():
    large = {"preset": "mysqlslap-insert", "threads": 8, "queries": 8,
             "class": [{"rows": 2_000_000, "row_bytes": 140}]}  # fmt: skip
    found = near_packs(simrep.load({"cluster": {"model": "galera", "nodes": 2}, "workload": large}))
    assert found[0].name == "rig-mariadb-11.8-streaming"
    assert found[0].error is not None
    [unsure] = [one for one in found if one.name == "codership-laptop"]
    assert unsure.error is None
    assert unsure.home == "not told"


def test_a_model_without_packs_has_those_of_models_with_the_same_costs():
    found = near_packs(scenario("asynchronous", 2))
    assert {one.pack.card.model for one in found} > {"semisync"}
    differs = [what for what, _ in away(found, NEAREST) if "model 'galera'" in what]
    assert len(differs) == 1


def test_the_notice_names_pack_difference_and_width_where_costs_are_defaults():
    said = pack_notice(scenario(cluster={"machine": {"cores": 1}}), "cluster.toml")
    near = near_packs(scenario())[0]
    for words in (NEAREST, "2 cores, here 1", near.home, f"factor of {near.spread:.2g}",
                  "simrep packs cluster.toml"):  # fmt: skip
        assert words in said
    assert pack_notice(scenario(cluster={"pack": NEAREST})) == ""
    assert pack_notice(scenario(cluster={"costs": {"statement_us": 50.0}})) == ""


def small():
    return simrep.load(FILE)


def test_a_machine_that_is_known_has_the_width_of_the_model_alone():
    setup = setup_of(simrep.with_value(small(), "cluster.pack", NEAREST))
    machine = setup.scenario.cluster.machine.model_dump(exclude_none=True)
    known = simrep.with_values(
        small(), {"cluster.costs": in_product_spelling(setup.costs), "cluster.machine": machine}
    )
    width = machine_width(known, NEAREST, draws=2, jobs=1)
    assert (width.low, width.high) == pytest.approx(near_packs(small())[0].error)


def test_a_machine_of_unknown_speed_has_a_wider_one_which_can_be_repeated():
    width = machine_width(small(), NEAREST, draws=4, jobs=1)
    low, high = near_packs(small())[0].error
    assert width.high / width.low > 2.0 * high / low
    assert (width.figure, width.machines) == ("throughput_tps", 4)
    assert machine_width(small(), NEAREST, draws=4, jobs=1) == width
    with pytest.raises(ScenarioError, match="draws: must be at least 2"):
        machine_width(small(), NEAREST, draws=1)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "cluster.toml"
    path.write_text(FILE)
    return str(path)


def test_commands_tell_the_nearest_pack_on_standard_error(file):
    for words in (["run", file], ["sweep", file, "--over", "workload.threads=1", "--no-cache"]):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0
        assert f"Note: no pack: all costs are defaults. The nearest that ships is '{NEAREST}'" in (
            done.stderr
        )
        assert "Note:" not in done.stdout
    done = CliRunner().invoke(app, ["run", file, "--set", f"cluster.pack={NEAREST}"])
    assert "Note:" not in done.stderr


def test_packs_are_listed_and_ranked(file):
    listed = json.loads(CliRunner().invoke(app, ["packs", "--json"]).stdout)["packs"]
    assert NEAREST in [one["name"] for one in listed]
    done = CliRunner().invoke(app, ["packs", file, "--draws", "2"])
    assert done.exit_code == 0, done.output
    assert "On a machine of unknown speed the throughput lies between" in done.stdout
    ranked = json.loads(CliRunner().invoke(app, ["packs", file, "--draws", "0", "--json"]).stdout)
    assert ranked["packs"][0]["name"] == NEAREST
    assert ranked["elsewhere"] is None
