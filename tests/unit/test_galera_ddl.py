"""Statements that change a table of a Galera cluster: who stops, who loses, who falls behind."""

from __future__ import annotations

from typing import Any

import pytest

import simrep

ROWS, ROW_US, DDL_MS = 100_000, 10.0, 20.0
WORK_S = ROWS * ROW_US * 1e-6 + DDL_MS * 1e-3
COSTS = {"ddl_copied_row_us": ROW_US, "ddl_row_us": ROW_US, "ddl_ms": DDL_MS, "ddl_byte_ns": 0.0}
INSERT = {"name": "insert"}
USER = {"name": "user", "table": "t2", "statements": 2, "pause_ms": 50.0}
READ = {"name": "read", "statements": 0, "reads": 1}


def scenario(
    ddl: dict[str, Any],
    *faults: dict[str, Any],
    version: str = "mariadb-11.8",
    end_s: float = 5.0,
    nodes: list[dict[str, Any]] | None = None,
    groups: dict[str, tuple[str, str, int]] | None = None,
    **options: Any,
) -> dict[str, Any]:
    chosen = groups or {"A": ("n1", "insert", 4), "B": ("n2", "insert", 2)}
    return {
        "cluster": {
            "model": "galera",
            "version": version,
            "options": {"wsrep_slave_threads": 4} | options,
            "costs": COSTS,
        },
        "node": nodes or [{"name": name} for name in ("n1", "n2", "n3")],
        "network": {"rtt_ms": 0.5},
        "workload": {
            "think_time_ms": 10.0,
            "class": [INSERT, USER, READ],
            "group": [
                {"name": name, "node": node, "class": [kind], "threads": threads}
                for name, (node, kind, threads) in chosen.items()
            ],
            "ddl": [{"name": "alter", "node": "n2", "at_s": 2.0, "rows": ROWS} | ddl],
        },
        "fault": list(faults),
        "run": {"warmup_s": 0.0, "duration_s": end_s, "replications": 1},
    }


def used(scenario: dict[str, Any]) -> dict[str, Any]:
    """The same without classes that nobody submits."""
    kinds = {kind for group in scenario["workload"]["group"] for kind in group["class"]}
    mine = [one for one in scenario["workload"]["class"] if one["name"] in kinds]
    named = scenario["workload"]["ddl"][0].get("class")
    assert named is None or kinds.issuperset(named)
    return scenario | {"workload": scenario["workload"] | {"class": mine}}


def run(ddl: dict[str, Any], *faults: dict[str, Any], **how: Any) -> simrep.Result:
    return simrep.run(used(scenario(ddl, *faults, **how)))


def times(result: simrep.Result, what: str) -> dict[str, float]:
    return {line.node: line.at_s for line in result.timeline(0).lines if line.what == what}


def stall_s(result: simrep.Result, group: str) -> float:
    return result.faults["alter"].stalls[group].stall_s.median


def errors(result: simrep.Result, group: str) -> dict[str, int]:
    phase = result.faults.phases["alter"].groups[group]
    return {name: int(met.times.median) for name, met in phase.errors.items()}


@pytest.mark.parametrize("kind", ["copy", "inplace"])
def test_nobody_commits_while_the_statement_is_executed(kind: str) -> None:
    """Not even on other nodes, and to other tables."""
    done = run({"kind": kind, "class": []})
    for group in ("A", "B"):
        assert WORK_S <= stall_s(done, group) <= WORK_S + 0.02
    begins, ends = times(done, "ddl-begins"), times(done, "ddl-ends")
    assert set(begins) == set(ends) == {"n1", "n2", "n3"}
    for node in begins:
        assert ends[node] - begins[node] == pytest.approx(WORK_S, abs=1e-6)
        assert done.counters[node]["ddl_held_s"] == pytest.approx(WORK_S, abs=1e-6)
    assert times(done, "ddl-answers") == {"n2": ends["n2"]}
    assert not errors(done, "A")


def test_an_instant_statement_takes_the_time_of_a_definition() -> None:
    done = run({"kind": "instant", "class": []})
    assert DDL_MS * 1e-3 <= stall_s(done, "A") <= DDL_MS * 1e-3 + 0.02


def test_the_disk_decides_where_it_is_slower() -> None:
    slow = [{"name": name, "costs": {"ddl_byte_ns": 100.0}} for name in ("n1", "n2", "n3")]
    done = run({"class": [], "bytes": 15_000_000}, nodes=slow)
    assert 1.52 <= stall_s(done, "A") <= 1.54


def test_writesets_wait_where_appliers_are_busy() -> None:
    """As measured (galera-operations): with six writers and four appliers 0, 0 and 3."""
    done = run({"class": []}, end_s=2.5)
    queues = [done.counters[node]["wsrep_local_recv_queue_max"] for node in ("n1", "n2", "n3")]
    assert queues[2] == 3
    assert max(queues[:2]) <= 1


def test_a_node_that_is_slower_stops_the_others() -> None:
    """n1 goes on first; writesets that the others cannot commit yet fill their queues."""
    slow = {"name": "n3", "costs": {"ddl_copied_row_us": 2 * ROW_US}}
    done = run({"class": []}, nodes=[{"name": "n1"}, {"name": "n2"}, slow])
    ends = times(done, "ddl-ends")
    assert ends["n3"] - ends["n1"] == pytest.approx(WORK_S - DDL_MS * 1e-3, abs=0.01)
    assert done.counters["n3"]["wsrep_flow_control_sent"] >= 1
    assert done.counters["n3"]["wsrep_local_recv_queue_max"] > 28
    lines = done.timeline(0).lines
    (stop,) = [line for line in lines if line.what == "fc-stop"]
    (go_on,) = [line for line in lines if line.what == "fc-continue"]
    assert ends["n1"] < stop.at_s < ends["n3"] <= go_on.at_s


@pytest.mark.parametrize("kind", ["copy", "inplace"])
def test_transactions_that_use_the_table_lose(kind: str) -> None:
    """Those that are open, on every node; the others of their clients come afterwards."""
    groups = {"A": ("n1", "user", 8), "B": ("n2", "insert", 2)}
    done = run({"kind": kind, "class": ["user"]}, groups=groups)
    told = errors(done, "A")
    assert set(told) == {"1213"}
    assert told["1213"] >= 2
    assert not errors(done, "B")
    assert done.counters["n1"]["ddl_victims"] >= 2
    assert done.counters["n2"]["ddl_victims"] == 0
    refused = done.counters["n1"]["wsrep_local_cert_failures"]
    if kind == "copy":  # writers wait for the table, and have seen the statement then
        assert refused == 0
    else:  # they go on, and are refused: they have not seen it
        assert refused >= 2


def test_readers_go_on_beside_a_copy() -> None:
    groups = {"A": ("n1", "insert", 2), "R": ("n3", "read", 1)}
    done = run({"class": ["insert", "read"]}, groups=groups)
    assert stall_s(done, "R") < 0.02
    assert stall_s(done, "A") >= WORK_S


def test_rsu_stops_its_node_alone() -> None:
    done = run({"class": [], "method": "RSU"}, groups={"A": ("n1", "insert", 4)})
    assert stall_s(done, "A") < 0.05
    assert set(times(done, "ddl-ends")) == {"n2"}
    begins, ends = times(done, "ddl-begins")["n2"], times(done, "ddl-ends")["n2"]
    assert ends - begins == pytest.approx(WORK_S, abs=1e-6)
    behind = done.counters["n2"]["wsrep_local_recv_queue_max"]
    assert 0.9 <= behind / (WORK_S * 4 / 0.0113) <= 1.1
    assert not any(line.what == "fc-stop" for line in done.timeline(0).lines)
    assert times(done, "desynced")["n2"] <= begins < ends <= times(done, "joined")["n2"]
    assert times(done, "synced")["n2"] > ends


def test_rsu_is_refused_where_clients_are_always_committing() -> None:
    """The server looks for a moment without, for five milliseconds."""
    early = {"class": [], "method": "RSU", "at_s": 0.1}
    base = used(scenario(early, groups={"B": ("n2", "insert", 64)}, end_s=0.3))
    done = simrep.run(base | {"workload": base["workload"] | {"think_time_ms": 0.0}})
    assert set(times(done, "ddl-fails")) == {"n2"}
    assert not times(done, "ddl-ends")
    assert set(times(done, "synced")) == {"n2"}


def test_nbo_holds_commits_only_at_its_begin_and_end() -> None:
    groups = {"A": ("n1", "insert", 4), "B": ("n2", "user", 4)}
    done = run({"class": ["user"], "method": "NBO"}, groups=groups, version="pxc-8.0")
    assert stall_s(done, "A") <= DDL_MS * 1e-3 + 0.03
    assert WORK_S <= stall_s(done, "B") <= WORK_S + 0.2
    for node in ("n1", "n2", "n3"):
        assert done.counters[node]["ddl_held_s"] == pytest.approx(2e-3 * DDL_MS, abs=1e-6)
    ends = times(done, "ddl-ends")
    assert max(ends.values()) - min(ends.values()) < 0.01


def test_nbo_waits_for_the_slowest_node() -> None:
    slow = {"name": "n3", "costs": {"ddl_copied_row_us": 2 * ROW_US}}
    done = run(
        {"class": [], "method": "NBO"},
        nodes=[{"name": "n1"}, {"name": "n2"}, slow],
        version="pxc-8.0",
    )
    ends = times(done, "ddl-ends")
    assert min(ends.values()) >= 2.0 + 2 * WORK_S - DDL_MS * 1e-3
    assert max(ends.values()) - min(ends.values()) < 0.01


@pytest.mark.parametrize(
    ("ddl", "version", "problem"),
    [
        ({"method": "NBO"}, "mariadb-11.8", "no non-blocking operations"),
        ({"method": "NBO", "kind": "instant"}, "pxc-8.0", "shares or locks its table"),
    ],
)
def test_what_a_version_does_not_know_is_refused(
    ddl: dict[str, Any], version: str, problem: str
) -> None:
    with pytest.raises(simrep.ScenarioError, match=problem) as caught:
        run(ddl, version=version)
    assert caught.value.path == "workload.ddl.alter.method"


def test_a_node_that_was_away_executes_the_statement_when_it_is_back() -> None:
    """It comes with the writesets that the node has missed."""
    faults = (
        {"what": "kill", "node": "n3", "at_s": 1.0},
        {"what": "restart", "node": "n3", "at_s": 9.0},
    )
    done = run({"class": [], "at_s": 7.5}, *faults, end_s=22.0)
    begins, ends = times(done, "ddl-begins"), times(done, "ddl-ends")
    assert begins["n3"] > 9.0 > begins["n1"]
    assert ends["n3"] - begins["n3"] == pytest.approx(WORK_S, abs=1e-6)
    assert times(done, "synced")["n3"] > ends["n3"]


def test_nobody_gives_all_data_during_an_nbo() -> None:
    faults = (
        {"what": "kill", "node": "n3", "at_s": 1.0},
        {"what": "restart", "node": "n3", "at_s": 9.0},
    )
    long = {"class": [], "at_s": 7.5, "rows": 2_000_000, "method": "NBO"}
    size = {"gcache.size": 10_000}
    done = run(long, *faults, end_s=24.0, version="pxc-8.0", **size)
    (line,) = [one for one in done.timeline(0).lines if one.what == "aborted"]
    assert line.node == "n3"
    assert "NBO" in str(line)


def test_a_statement_to_a_server_that_is_gone_does_nothing() -> None:
    done = run({"class": []}, {"what": "kill", "node": "n2", "at_s": 1.0})
    assert not times(done, "ddl-begins")
    assert set(times(done, "refused")) <= {"n2"}


def test_a_stall_is_explained_by_the_statement() -> None:
    told = simrep.explain_stall(used(scenario({"class": []})))
    names = [phase.name for phase in told.phases]
    assert "schema change" in names
    phase = told.phases[names.index("schema change")]
    assert phase.seconds == pytest.approx(WORK_S, abs=0.01)
    assert "ALTER TABLE (copy)" in phase.why
    assert not any(one.name == "not explained" for one in told.phases)
