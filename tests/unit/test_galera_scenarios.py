"""What a scenario may ask of Galera, by version: streaming, XA, servers that come and go."""

from __future__ import annotations

from typing import Any

import pytest

import simrep
from simrep.contract.setup import setup_of
from simrep.errors import ScenarioError
from simrep.runs.run import simulate
from simrep.scenario import load
from tests.clusters import timers
from tests.small_scenario import problem, small

# -- streaming replication and XA ------------------------------------------------------------------

LARGE = {"name": "large", "rows": 5000, "at_s": 0.1}


@pytest.mark.parametrize("version", ["pxc-5.7.16", "galera-3"])
def test_galera_3_has_no_streaming_replication(version: str) -> None:
    cluster = {"model": "galera", "version": version}
    option = problem(small(cluster=cluster | {"options": {"wsrep_trx_fragment_size": 1000}}))
    assert "this version has no streaming replication" in str(option)
    assert "wsrep_trx_fragment_size" in str(option.path)
    session = {"session": {"wsrep_trx_fragment_size": 1000}}
    one = problem(small(cluster=cluster, workload={"class": [session]}))
    assert one.path == "workload.class.0.session.wsrep_trx_fragment_size"
    other = problem(small(cluster=cluster, workload={"scheduled": [LARGE | session]}))
    assert other.path == "workload.scheduled.0.session.wsrep_trx_fragment_size"
    for error in (option, one, other):
        assert "Galera 4 has it" in str(error)


def test_no_fragments_are_all_right_in_galera_3() -> None:
    session = {"session": {"wsrep_trx_fragment_size": 0}}
    setup = setup_of(
        load(
            small(
                cluster={"model": "galera", "version": "pxc-5.7.16"},
                workload={"class": [session]},
            )
        )
    )
    assert setup.workload.classes[0].session.fragment_size == 0


@pytest.mark.parametrize(
    "cluster",
    [
        {"model": "galera", "version": "pxc-5.7.16"},
        {"model": "group_replication"},
        {"model": "semisync"},
        {"model": "asynchronous"},
        {"model": "standalone"},
    ],
    ids=lambda cluster: cluster["model"],
)
def test_only_galera_4_has_xa_transactions(cluster: dict[str, Any]) -> None:
    error = problem(small(cluster=cluster, workload={"class": [{"xa_hold_ms": 5}]}))
    assert error.path == "workload.class.0.xa_hold_ms"
    assert "no XA transactions" in str(error)


@pytest.mark.parametrize("model", ["semisync", "asynchronous", "standalone"])
def test_other_models_know_no_session_variables(model: str) -> None:
    session = {"session": {"wsrep_trx_fragment_size": 1000}}
    error = problem(small(cluster={"model": model}, workload={"class": [session]}))
    assert error.path == "workload.class.0.session"


def test_another_product_has_other_session_variables() -> None:
    session = {"session": {"wsrep_trx_fragment_size": 1000}}
    error = problem(small(cluster={"model": "group_replication"}, workload={"class": [session]}))
    assert error.path == "workload.class.0.session.wsrep_trx_fragment_size"


def test_a_wrong_session_variable_is_named() -> None:
    session = {"session": {"wsrep_trx_fragment_sice": 1000}}
    error = problem(small(workload={"class": [session]}))
    assert "did you mean 'wsrep_trx_fragment_size'?" in str(error)


def test_a_scheduled_transaction_is_streamed_as_its_session_says() -> None:
    session = {"session": {"wsrep_trx_fragment_unit": "rows", "wsrep_trx_fragment_size": 1000}}
    result = simrep.run(
        small(workload={"scheduled": [LARGE | session], "queries": None, "threads": 1})
        | {"run": {"settle_s": 0.1}},
    )
    assert result.scheduled["large"].fragments == 5
    with pytest.raises(ScenarioError):
        simrep.run(small(cluster={"options": {"wsrep_trx_fragment_unit": "pages"}}))


# -- servers that come and go ----------------------------------------------------------------------


def changing(*changes: dict[str, Any], **how: Any) -> dict[str, Any]:
    content: dict[str, Any] = {
        "cluster": {"model": "galera", "nodes": 3, "change": list(changes)} | how,
        "workload": {"threads": 4, "nodes": ["*"]},
        "run": {"duration_s": 1.0},
    }
    return content


def test_a_lost_connection_is_told_to_the_journal() -> None:
    content = small(
        cluster={
            "model": "galera",
            "nodes": 3,
            "change": [{"at_s": 1.0, "node": "n1", "what": "crash"}],
            "costs": {"row_us": 1000.0},
        },
        workload={
            "queries": None,
            "nodes": ["n2"],
            "scheduled": [
                {"name": "cut", "at_s": 0.5, "rows": 5000},
                {"name": "late", "at_s": 1.5, "node": "n1"},
            ],
        },
    ) | {"run": {"settle_s": 0.5}}
    content["workload"].pop("queries")
    result = simrep.run(content)
    assert result.scheduled["cut"].error.startswith("2013")
    assert result.scheduled["late"].error.startswith("2013")


def test_to_watch_them_changes_nothing() -> None:
    content = changing(
        {"at_s": 0.5, "node": "n1", "what": "crash"},
        {"at_s": 1.5, "node": "n1", "what": "join", "transfer_s": 0.2},
        {"at_s": 3.5, "node": "n3", "what": "leave"},
        options=timers(0.3),
        costs={"row_us": 50.0},
    )
    content["workload"] |= {
        "think_time_ms": 5.0,
        "class": [{"keys": {"distribution": "hot", "rows": 1000}}],
        "scheduled": [
            {
                "name": name,
                "at_s": at_s,
                "rows": 20_000,
                "node": node,
                "table": "big",
                "keys": {"distribution": "scan", "rows": 20_000},
                "session": {"wsrep_trx_fragment_size": 50_000},
            }
            for name, at_s, node in (("cut", 0.1, "n1"), ("late", 1.2, "n2"))
        ],
    }
    content["run"] = {"duration_s": 4.5}
    scenario = load(content)
    plain = simulate(scenario, 1, trace=True)
    watched = simulate(scenario, 1, trace=True, watch_s=0.01)
    assert watched.trace_digest == plain.trace_digest
    assert plain.scheduled[0].error.startswith("2013")
    assert plain.scheduled[1].fragments == 40


GONE = {"at_s": 1.0, "node": "n2", "what": "crash"}
BACK = {"at_s": 2.0, "node": "n2", "what": "join"}


def test_changes_come_in_the_order_of_time() -> None:
    setup = setup_of(load(changing(BACK, GONE)))
    assert [(one.at_s, one.node, one.what) for one in setup.changes] == [
        (1.0, 1, "kill"),
        (2.0, 1, "restart"),
    ]


@pytest.mark.parametrize(
    ("changes", "position"),
    [
        ([BACK], 0),
        ([GONE, GONE | {"at_s": 1.5}], 1),
        ([GONE, GONE | {"at_s": 1.5, "what": "leave"}], 1),
        ([GONE, BACK, BACK | {"at_s": 3.0}], 2),
        ([BACK | {"at_s": 3.0}, GONE, BACK], 0),
    ],
)
def test_nobody_joins_who_is_there_or_goes_who_is_not(
    changes: list[dict[str, Any]], position: int
) -> None:
    error = problem(changing(*changes))
    assert error.path == f"cluster.change.{position}.what"


def test_a_change_of_an_unknown_node_is_an_error() -> None:
    error = problem(changing(GONE | {"node": "n4"}))
    assert error.path == "cluster.change.0.node"
    assert "no node 'n4'" in str(error)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (GONE | {"at_s": -1.0}, "cluster.change.0.at_s"),
        (GONE | {"what": "reboot"}, "cluster.change.0.what"),
        ({"node": "n1", "what": "crash"}, "cluster.change.0.at_s"),
        (BACK | {"transfer_s": -1}, "cluster.change.0.transfer_s"),
    ],
)
def test_wrong_changes_are_named(change: dict[str, Any], path: str) -> None:
    assert problem(changing(change)).path == path
