"""What gives out first, where it is known by construction."""

import json

import pytest
from typer.testing import CliRunner

import simrep
from simrep.cli import app
from simrep.errors import ScenarioError
from tests.server_runs import scenario

THINKING = {"threads": 1, "think_time_ms": 9.0, "think_time": "exponential"}


def asked(content, **options):
    return simrep.plan(content, "headroom", **{"steps": 1, "replications": 2, "jobs": 1, **options})


def server(cores=64, costs=None, options=None, **workload):
    content = scenario("standalone", 1, costs=costs, options=options, cores=cores, duration_s=1.0)
    content["workload"] = {**THINKING, **workload}
    return content


def replicated(workers=64, network=None, apply_us=10.0, **workload):
    """A source and a replica; logs cost nothing."""
    options = {
        "replica_parallel_workers": workers,
        "sync_binlog": 0,
        "innodb_flush_log_at_trx_commit": 2,
    }
    costs = {"statement_us": 50.0, "receive_us": 1.0, "apply_us": apply_us}
    content = scenario(
        "asynchronous", 2, costs=costs, options=options, network=network, duration_s=1.0
    )
    content["workload"] = {**THINKING, **workload}
    return content


def test_one_core_gives_out_where_its_demand_says():
    # A client is back after 9 ms and a statement of 1 ms: it makes 100 per second, a core 1,000.
    found = asked(server(cores=1, costs={"statement_us": 1000.0}))
    [rung] = found.rungs
    assert rung.by.kind == "cpu"
    assert rung.name == "CPU of n1"
    assert found.today_tps == pytest.approx(100.0, rel=0.08)
    assert found.value == pytest.approx(1000.0 / found.today_tps, rel=0.06)
    assert found.low <= found.value <= found.high
    assert rung.by.evidence in {"cores 99% busy", "cores 100% busy"}
    assert "CPU of n1" in found.sentence


def test_behind_the_cores_comes_what_is_next():
    slow = server(cores=1, costs={"statement_us": 1000.0}, threads=4)
    slow["cluster"]["costs"]["disk_mb_per_s"] = 2.0
    found = asked(slow, steps=2)
    assert [rung.by.kind for rung in found.rungs] == ["cpu", "disk"]
    first, second = (rung.factor.mean for rung in found.rungs)
    assert 1.0 < first < second


def test_a_slow_disk():
    content = server(costs={"statement_us": 50.0})
    content["cluster"]["costs"]["disk_mb_per_s"] = 0.5
    [rung] = asked(content).rungs
    assert rung.by.kind == "disk"
    assert rung.name == "disk of n1"
    assert "transfer" in rung.by.evidence


def test_a_narrow_link():
    content = replicated(network={"rtt_ms": 1.0, "bandwidth_mbit": 2.0})
    found = asked(content)
    [rung] = found.rungs
    assert rung.by.kind == "link"
    assert rung.name == "link n1 to n2"
    assert rung.why == "n2 falls behind"
    again = simrep.plan(content, "traffic", replications=2, jobs=1)
    [link] = [one for one in again.links if (one.source, one.target) == ("n1", "n2")]
    most_tps = 2e6 / 8.0 / link.bytes_per_commit
    assert found.value == pytest.approx(most_tps / found.today_tps, rel=0.1)


def test_one_applier():
    found = asked(replicated(workers=1, apply_us=1000.0))  # it applies 1,000 changes per second
    [rung] = found.rungs
    assert rung.by.kind == "appliers"
    assert rung.name == "appliers of n2"
    assert rung.why == "n2 falls behind"
    assert found.value == pytest.approx(1000.0 / found.today_tps, rel=0.1)


def test_a_hot_row():
    content = server(costs={"statement_us": 1000.0})
    content["workload"]["class"] = [{"keys": {"distribution": "uniform", "rows": 1}}]
    found = asked(content)
    [rung] = found.rungs
    assert rung.by.kind == "locks"
    assert "lock wait" in rung.by.evidence
    assert found.value == pytest.approx(1000.0 / found.today_tps, rel=0.1)


def test_arrivals_that_are_not_kept_up():
    content = server(cores=1, costs={"statement_us": 1000.0})
    content["workload"] = {"rate_tps": 300.0}
    found = asked(content)
    [rung] = found.rungs
    assert (found.by, rung.by.kind) == ("rate", "cpu")
    assert found.value == pytest.approx(1000.0 / 300.0, rel=0.1)
    assert rung.why == "arrivals queue up"
    assert found.confidence is None  # its ends are loads that were simulated
    assert found.low < found.value < found.high <= 1.11 * found.low
    carried = [level for level in rung.levels if level.offered < 900.0]
    assert all(level.kept_up_tps > 0.9 * level.offered for level in carried)


def test_arrivals_in_place_of_clients():
    content = server(cores=1, costs={"statement_us": 1000.0})
    found = asked(content, by="rate")
    assert found.offered == pytest.approx(found.today_tps)
    assert found.value == pytest.approx(1000.0 / found.today_tps, rel=0.12)
    assert any("at the rate that the clients get" in note for note in found.notes)


def test_today_is_too_much_already():
    content = server(cores=1, costs={"statement_us": 1000.0})
    content["workload"] = {"rate_tps": 2000.0}
    found = asked(content)
    assert found.value == pytest.approx(0.5, rel=0.1)  # of 2,000 arrivals 1,000 are kept up
    assert found.rungs[0].by.kind == "cpu"


def test_an_objective_ends_it_earlier():
    content = server(cores=1, costs={"statement_us": 1000.0})
    without, within = asked(content), asked(content, objective="mean<=2ms")
    assert within.value < without.value
    assert within.rungs[0].why == "mean <= 2 ms is not met"
    assert within.rungs[0].by.kind == "cpu"


def test_nothing_gives_out():
    content = server(cores=1024, costs={"statement_us": 100.0})
    content["workload"] = {"threads": 1, "think_time_ms": 200.0}
    found = asked(content)
    assert found.rungs[0].by is None
    assert not found.rungs[0].reached
    assert found.high is None
    assert found.sentence.startswith("Nothing gives out up to 64 clients")


def test_it_shows_and_saves_itself(tmp_path):
    found = asked(server(cores=1, costs={"statement_us": 1000.0}))
    found.plot(tmp_path / "headroom.png")
    assert (tmp_path / "headroom.png").exists()
    text = json.dumps(found.to_dict())
    assert "CPU of n1" in text
    found.save(tmp_path / "rows.csv")
    header, *rows = (tmp_path / "rows.csv").read_text().splitlines()
    assert header.startswith("step,gives_out,tried,what,clients,kept_up_tps")
    assert len(rows) == len(found.rungs[0].levels) + len(found.rungs[0].helped)


def test_same_seed_same_answer():
    content = server(cores=1, costs={"statement_us": 1000.0})
    assert asked(content).to_dict() == asked(content).to_dict()


@pytest.mark.parametrize(
    ("change", "options", "path"),
    [
        ({"rate_tps": 10.0}, {"by": "clients"}, "by"),
        ({"threads": 2}, {"by": "size"}, "by"),
        ({"threads": 2}, {"steps": 0}, "steps"),
        ({"threads": 2}, {"replications": 1}, "replications"),
        ({"threads": 2, "scheduled": [{"name": "large", "at_s": 1.0}]}, {}, "workload.scheduled"),
    ],
)
def test_wrong_questions(change, options, path):
    content = server()
    content["workload"] = change
    with pytest.raises(ScenarioError) as error:
        asked(content, **options)
    assert error.value.path == path


def test_from_a_shell(tmp_path):
    path = tmp_path / "cluster.toml"
    path.write_text(
        "[cluster]\nmodel = 'standalone'\nnodes = 1\n[cluster.machine]\ncores = 1\n"
        "[workload]\nthreads = 1\n[run]\nduration_s = 1\n"
    )
    done = CliRunner().invoke(
        app, ["plan", str(path), "headroom", "--steps", "1", "--replications", "2", "--jobs", "1"]
    )
    assert done.exit_code == 0, done.output
    assert "what gives out first when the load grows" in done.stdout
    assert "CPU of n1" in done.stdout


def test_a_send_window():
    # Writesets are too large to go together in one message, of which two may be under way.
    found = asked(
        {
            "cluster": {"model": "galera", "nodes": 2, "options": {"evs.send_window": 2,
                                                                   "evs.user_send_window": 2}},
            "network": {"rtt_ms": 40.0},
            "workload": {"threads": 2, "nodes": ["n1"], "class": [{"rows": 30}]},
            "run": {"duration_s": 1.0},
        }
    )  # fmt: skip
    [rung] = found.rungs
    assert rung.by.kind == "window"
    assert "evs.send_window = 2" in rung.by.evidence
