"""The largest load within an objective, where it is known what a server carries."""

import csv
import json

import pytest
from typer.testing import CliRunner

import simrep
from simrep.cli import app
from simrep.errors import ScenarioError
from tests.server_runs import scenario

FAST = {"replications": 4, "precision": 0.2}


def server(cores=1, **workload):
    """A statement takes 1 ms of one core: 1,000 transactions/s, and as many ms as clients."""
    content = scenario("standalone", 1, costs={"statement_us": 1000.0}, duration_s=0.3)
    content["cluster"]["machine"]["cores"] = cores
    content["workload"] = {"threads": 1, **workload}
    content["run"]["warmup_s"] = 0.1
    return content


def replicated(workers=1):
    """A replica with so many appliers, each of which applies 1,000 changes per second."""
    options = {
        "replica_parallel_workers": workers,
        "sync_binlog": 0,
        "innodb_flush_log_at_trx_commit": 2,
    }
    costs = {"statement_us": 50.0, "receive_us": 1.0, "apply_us": 1000.0}
    content = scenario("asynchronous", 2, costs=costs, options=options, duration_s=0.5)
    content["workload"] = {"threads": 2}
    return content


def test_as_many_clients_as_share_the_limit():
    found = simrep.plan(server(), "capacity", objective="mean<=20.5ms", **FAST)
    assert found.by == "clients"
    assert found.value == found.low <= 20 < found.high <= 25
    assert "number of clients" in found.question
    [one] = found.carried
    assert one.limited_by.startswith("mean is 2")
    assert max(tried.value for tried in one.search.tried) <= 64  # it does not go on beyond


def test_not_even_one_client():
    found = simrep.plan(server(), "capacity", objective="mean<=100us", **FAST)
    assert found.value is None
    assert "is not met even with one client: mean is 1" in found.sentence
    assert len(found.carried[0].search.tried) == 1


def test_never_exceeded_up_to_the_end_of_the_range():
    found = simrep.plan(server(), "capacity", objective="mean<=10s", within=(1, 8), **FAST)
    assert (found.value, found.high) == (8.0, None)
    assert found.sentence == "mean <= 10 s holds up to 8 clients, where the search ends."


def test_a_rate_is_limited_by_the_objective_or_by_what_is_kept_up():
    slow = simrep.plan(server(), "capacity", objective="mean<=3ms", by="rate", **FAST)
    assert 200.0 < slow.value < 800.0  # with shared cores, the mean is 1 ms / (1 - utilisation)
    full = simrep.plan(server(), "capacity", objective="mean<=10s", by="rate", **FAST)
    assert slow.value < full.value <= 1000.0
    assert "transactions queue up before they commit" in full.sentence


def test_a_rate_that_the_replica_does_not_follow_is_too_much():
    found = simrep.plan(replicated(), "capacity", objective="p95<=50ms", by="rate", **FAST)
    assert 700.0 < found.low < 1000.0 < found.high
    assert found.carried[0].limited_by == "n2 falls behind"  # clients do not see it


def test_an_open_loop_is_asked_for_a_rate():
    open_loop = server(threads=None, rate_tps=100.0)
    found = simrep.plan(open_loop, "capacity", objective="mean<=10s", within=(100, 200), **FAST)
    assert found.by == "rate"
    assert (found.value, found.high) == (200.0, None)
    with pytest.raises(ScenarioError) as caught:
        simrep.plan(open_loop, "capacity", objective="mean<=10s", by="clients")
    assert caught.value.path == "workload.rate_tps"


def test_topologies_are_asked_the_same(tmp_path):
    found = simrep.plan(
        server(),
        "capacity",
        objective="mean<=4.5ms",
        over={"cluster.machine.cores": [1, 2]},
        beside=[{**server(4), "name": "four"}],
        within=(2, 16),
        replications=4,
        precision=0.5,
    )
    values = [one.search.value for one in found.carried]
    assert len(values) == 4
    assert found.value == max(values)
    assert values[0] <= 4 < values[1] <= 8  # twice the cores, twice the clients
    assert values[2:] == values[:2]  # the changes are those of every scenario
    rows = found.to_frame()
    assert list(rows["cluster.machine.cores"]) == [1, 2, 1, 2]
    assert list(rows.clients) == values
    found.save(tmp_path / "capacity.csv")
    with (tmp_path / "capacity.csv").open() as file:
        assert [float(row["clients"]) for row in csv.DictReader(file)] == values
    found.plot(tmp_path / "capacity.png")
    assert (tmp_path / "capacity.png").stat().st_size > 1000
    assert "four" in str(found)
    content = json.loads(json.dumps(found.to_dict()))
    assert len(content["searches"]) == 4


def test_topologies_that_meet_nothing_are_drawn(tmp_path):
    found = simrep.plan(
        server(), "capacity", objective="mean<=100us", over={"cluster.machine.cores": [1, 2]},
        **FAST,
    )  # fmt: skip
    assert found.value is None
    assert found.sentence == "None of 2 topologies meets mean <= 100 us."
    found.plot(tmp_path / "capacity.png")


@pytest.mark.parametrize(
    ("how", "path"),
    [
        ({"by": "threads"}, "by"),
        ({"objective": "p98<=5ms"}, "objective"),
        ({"over": {"cluster.nodse": [3]}}, "cluster.nodse"),
        ({"within": (5, 1)}, "within"),
        ({"beside": ["missing.toml"]}, "missing.toml"),
    ],
)
def test_wrong_options_are_named(how, path):
    with pytest.raises(ScenarioError) as caught:
        simrep.plan(server(), "capacity", **{"objective": "mean<=5ms", **how})
    assert path in str(caught.value)


def test_what_happens_at_a_given_time_has_no_lasting_rate():
    timed = server(scheduled=[{"name": "large", "at_s": 0.2, "rows": 10}])
    with pytest.raises(ScenarioError, match="needs a lasting load"):
        simrep.plan(timed, "capacity", objective="mean<=5ms", by="rate")


def test_processes_and_threads_give_the_same_answer():
    from concurrent.futures import ThreadPoolExecutor

    how = {"objective": "mean<=5.5ms", "by": "rate", "replications": 4, "precision": 0.5}
    with ThreadPoolExecutor(2) as pool:
        several = simrep.plan(server(), "capacity", executor=pool, **how)
    assert several.to_dict() == simrep.plan(server(), "capacity", **how).to_dict()


def test_the_command(tmp_path):
    toml = tmp_path / "one.toml"
    toml.write_text(
        '[cluster]\nmodel = "standalone"\nnodes = 1\n[cluster.machine]\ncores = 1\n'
        "[cluster.costs]\nstatement_us = 1000\n[workload]\nthreads = 1\n"
        "[run]\nduration_s = 0.3\nwarmup_s = 0.1\n"
    )
    (tmp_path / "two.toml").write_text(f'name = "two"\n{toml.read_text()}')
    words = ["plan", toml, "capacity", "--objective", "mean<=5ms", "--within", "2..8",
             "--over", "cluster.machine.cores=1,2", "--beside", tmp_path / "two.toml",
             "--precision", "50%", "--replications", 4, "--out", tmp_path / "c.csv",
             "--plot", tmp_path / "c.png"]  # fmt: skip
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == 0, done.output
    assert "Most is carried by" in done.stdout
    assert len((tmp_path / "c.csv").read_text().splitlines()) == 5
    assert (tmp_path / "c.png").exists()
    bad = CliRunner().invoke(app, [*map(str, words), "--out", str(tmp_path / "c.xls")])
    assert bad.exit_code == 2
