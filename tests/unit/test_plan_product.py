"""Products and layouts at regions: what is built, how it is ranked, and why."""

import json

import pytest
from typer.testing import CliRunner

import simrep
from simrep.cli import app
from simrep.errors import ScenarioError
from simrep.network.regions import PRESETS
from simrep.whatif.drill.demand import Demand
from simrep.whatif.drill.weigh import weigh
from simrep.whatif.plan.candidates import candidates
from simrep.whatif.plan.regions import CODES, round_trips
from tests.whatif_scenarios import TOML, wan

REGIONS = ["us-east-1", "us-west-2", "eu-west-1"]


def built(scenario=None, regions=REGIONS, writes=("us-east-1",)):
    return candidates(scenario or wan(), regions, writes, round_trips(regions))


# -- round trips ---------------------------------------------------------------------------------


def test_codes_stand_for_the_sites_of_the_published_tables():
    for preset, codes in CODES.items():
        assert set(codes.values()) <= PRESETS[preset].sites
    trips = round_trips(REGIONS)
    assert trips.rtt_ms["us-east-1", "us-west-2"] == 87.0
    assert trips.rtt_ms["us-west-2", "us-east-1"] == 88.7  # each direction as published
    assert trips.source == "preset aws-2017"
    assert round_trips(["dallas", "us-east"]).rtt_ms["us-east", "dallas"] == 31.0


@pytest.mark.parametrize(
    ("regions", "said"),
    [
        (["us-east-1", "us-wst-2"], "'us-west-2'"),
        (["us-east-1", "dallas"], "different providers"),
        (["sydney", "madrid"], "nothing is known"),
    ],
)
def test_what_is_not_published_is_told(regions, said):
    with pytest.raises(ScenarioError, match=said):
        round_trips(regions)


def test_a_table_of_ones_own(tmp_path):
    table = tmp_path / "rtts.csv"
    table.write_text("from,to,rtt_ms\nhere,there,12.5\n")
    trips = round_trips(["here", "there"], table)
    assert trips.rtt_ms == {("here", "there"): 12.5, ("there", "here"): 12.5}
    table.write_text("from,to,rtt_ms\nhere,there,near\n")
    with pytest.raises(ScenarioError, match="line 2"):
        round_trips(["here", "there"], table)
    with pytest.raises(ScenarioError, match="cannot be read"):
        round_trips(["here", "there"], tmp_path / "none.csv")


# -- candidates ----------------------------------------------------------------------------------


def test_layouts_have_a_server_in_every_region_and_clients_where_they_write():
    found, left_out = built()
    assert not left_out
    assert {one.product for one in found} == {
        "Galera", "Group Replication", "Group Replication, single leader", "semi-synchronous",
        "asynchronous",
    }  # fmt: skip
    for one in found:
        assert set(one.layout) == set(REGIONS)
        assert one.layout[0] == "us-east-1"
        assert one.scenario.workload.nodes == ("n1",)
        assert one.scenario.workload.threads == 4
        assert len(one.scenario.node_names) == len(one.layout)


def test_options_and_version_are_kept_for_the_product_of_the_scenario_alone():
    own = wan(cluster={"version": "mariadb-11.8",
                       "options": {"evs.send_window": 32, "wsrep_slave_threads": 7}})  # fmt: skip
    found, _ = built(own)
    for one in found:
        options = one.scenario.cluster.options
        if one.product == "Galera":
            assert one.scenario.cluster.version == "mariadb-11.8"
            assert options["evs.send_window"] == 32
            assert options["wsrep_slave_threads"] == 7
        else:
            assert one.scenario.cluster.version is None
            assert options["replica_parallel_workers"] == 7


def test_what_writes_in_several_regions_is_multi_primary():
    found, left_out = built(writes=("us-east-1", "eu-west-1"))
    assert {one.product for one in found} == {"Galera", "Group Replication"}
    assert any("semi-synchronous" in one for one in left_out)
    for one in found:
        assert one.scenario.workload.nodes == ("n1", "n2")
        assert one.layout == ("us-east-1", "eu-west-1", "us-west-2")


def test_two_servers_have_no_majority():
    found, left_out = built(regions=REGIONS[:2])
    assert "Galera" not in {one.product for one in found}
    assert any(one.startswith("Galera: 2 servers") for one in left_out)


def test_what_is_lost_with_the_region():
    found, _ = built()
    loss = {(one.product, len(one.layout)): one.loss for one in found}
    assert loss["Galera", 3] == "the others go on, nothing answered is lost"
    assert loss["Group Replication", 4].startswith("the others stop until")
    assert loss["Group Replication", 5].endswith("answered transactions may be lost")
    assert loss["semi-synchronous", 3].startswith("nothing answered is lost")
    assert loss["semi-synchronous", 4].startswith("answered transactions may be lost")
    assert loss["asynchronous", 3] == (
        "transactions that were not sent yet are lost, failover by a manager"
    )
    for one in found:
        assert one.keeps_data == ("nothing answered is lost" in one.loss)
        assert one.goes_on == one.loss.startswith("the others go on")


def test_the_scenario_chooses_who_fails_over():
    own = wan(cluster={"model": "asynchronous", "options": {"failover_manager": "none"}})
    found, _ = built(own)
    [mine] = [one for one in found if one.product == "asynchronous"]
    assert mine.scenario.cluster.options["failover_manager"] == "none"
    assert mine.loss.endswith("failover by hand")
    leader = wan(cluster={"model": "group_replication",
                          "options": {"group_replication_single_primary_mode": False}})  # fmt: skip
    found, _ = built(leader)
    [group] = [one for one in found if one.product == "Group Replication, single leader"][:1]
    assert group.scenario.cluster.options["group_replication_paxos_single_leader"] is True


@pytest.mark.parametrize("durability", ["keeps-data", "goes-on"])
def test_durability_is_part_of_the_objective(durability):
    short = wan(run={"duration_s": 0.3, "warmup_s": 0.1})
    answer = simrep.plan(
        short, "product", regions=REGIONS, writes="us-east-1", objective="tps>=0.1",
        durability=durability, replications=2,
    )  # fmt: skip
    for one in answer.ranked:
        durable = one.candidate.keeps_data and (one.candidate.goes_on or durability != "goes-on")
        assert (one.tried.verdict == "met") == durable, one.candidate
        assert one.reason.startswith("not durable enough") != durable
    assert "without loss of data" in answer.sentence
    assert {row["goes_on"] for row in answer.to_dict()["steps"]} == {False, True}


def test_who_does_not_keep_an_rto_fails(monkeypatch):
    drilled = []

    def weighed(demand, scenario, seed, executor):
        drilled.append(scenario.cluster.model)
        kept = scenario.cluster.model != "asynchronous"
        return (
            kept,
            f"{demand}: {'kept, whatever was played.' if kept else 'not kept, x (RTO 9 s).'}",
        )

    monkeypatch.setattr("simrep.whatif.plan.product.weigh", weighed)
    answer = simrep.plan(
        wan(run={"duration_s": 0.2, "warmup_s": 0.1}), "product", regions=REGIONS[:2],
        writes="us-east-1", objective="tps>=0.1", rto_s=5.0, replications=2,
    )  # fmt: skip
    assert len(drilled) == len(answer.ranked)
    for one in answer.ranked:
        fails = one.candidate.product == "asynchronous"
        assert (one.tried.verdict == "failed") == fails
        assert one.reason.startswith("RTO <= 5 s: not kept, x (RTO 9 s); ") == fails
    assert "RTO <= 5 s" in answer.sentence
    with pytest.raises(ScenarioError, match="must be at most 180"):
        simrep.plan(wan(), "product", regions=REGIONS, writes="us-east-1", objective="tps>=1",
                    rto_s=600.0)  # fmt: skip


def test_an_rto_rests_on_a_drill_of_the_candidate(monkeypatch):
    monkeypatch.setattr("simrep.whatif.drill.weigh._REPLICATIONS", 1)
    calm = {"threads": 4, "think_time_ms": 130, "nodes": ["n1"]}
    alone = simrep.load({"cluster": {"model": "standalone"}, "workload": calm,
                         "run": {"duration_s": 1}})  # fmt: skip
    for rto_s, expected in ((60.0, False), (120.0, True)):
        kept, told = weigh(Demand.of(rto_s, 0.0), alone, 1, None)
        assert kept is expected, told  # back 30 s after a kill, 90 s after a loss of power
        assert ("power loss writer (RTO" in told) is not expected
        assert "kill writer" not in told


def test_an_unknown_durability_names_those_there_are():
    with pytest.raises(ScenarioError, match="goes-on") as caught:
        simrep.plan(wan(), "product", regions=REGIONS, writes="us-east-1", objective="tps>=1",
                    durability="go-on")  # fmt: skip
    assert caught.value.path == "durability"


@pytest.mark.parametrize(
    ("regions", "writes", "path"),
    [
        (REGIONS, ["ap-south-1"], "writes"),
        (REGIONS, [], "writes"),
        (["us-east-1", "us-east-1"], ["us-east-1"], "regions"),
        (["us-east-1"], ["us-east-1"], "regions"),
    ],
)
def test_wrong_regions_are_named(regions, writes, path):
    with pytest.raises(ScenarioError) as caught:
        simrep.plan(wan(), "product", regions=regions, writes=writes, objective="tps>=1")
    assert caught.value.path == path


# -- the ranking ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_ranking_puts_first_what_surely_meets_the_objective(tmp_path):
    found = simrep.plan(
        wan(run={"duration_s": 0.5, "warmup_s": 0.2}),
        "product",
        regions=REGIONS,
        writes="us-east-1",
        objective="tps>=200,p50<=20ms",
        replications=2,
    )
    verdicts = [one.tried.verdict for one in found.ranked]
    assert verdicts == sorted(verdicts, key=["met", "open", "failed"].index)
    best = found.best.candidate
    assert best.product == "asynchronous" or "us-east-1" in best.servers
    galera = next(one for one in found.ranked if one.candidate.product == "Galera")
    assert galera.tried.verdict == "failed"  # over the ocean, 4 clients
    assert "% above the limit" in galera.reason or "% below the limit" in galera.reason
    assert "'order'" in galera.reason  # where its time goes
    assert "meets tps >= 200" in found.sentence
    assert "aws-2017" in str(found)
    assert found.to_frame()["product"][0] == best.product
    found.plot(tmp_path / "products.png")
    assert (tmp_path / "products.png").stat().st_size > 1000


@pytest.mark.slow
def test_the_command(tmp_path):
    file = tmp_path / "cluster.toml"
    file.write_text(TOML.replace("duration_s = 2", "duration_s = 0.6"))
    done = CliRunner().invoke(
        app,
        ["plan", str(file), "product", "--regions", ",".join(REGIONS), "--writes", "us-east-1",
         "--objective", "tps>=500,p99<=250ms", "--replications", "2", "--json",
         "--set", "run.duration_s=0.4", "--set", "run.warmup_s=0.1"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)
    assert content["steps"][0]["verdict"] in {"met", "open", "failed"}
    assert all(step["reason"] for step in content["steps"])
