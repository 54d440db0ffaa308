"""Scenario files: what they mean, and what is said when they are wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from simrep.contract.setup import setup_of
from simrep.errors import ScenarioError
from simrep.scenario import Scenario, json_schema, load, with_value, with_values
from tests.galera_cases import galera_scenarios
from tests.small_scenario import problem, small

WAN = """
name = "three sites"

[cluster]
model = "galera"
version = "pxc-5.7.16"

[cluster.options]
"gcs.fc_limit" = 64

[network]
rtt_ms = 0.2

[[network.egress]]
node = "n3"
delay_ms = 50

[workload]
preset = "mysqlslap-insert"
threads = 16
"""


# ------------------------------------------------------------------ reading --
def test_a_file_its_text_and_its_content_are_the_same(tmp_path: Path) -> None:
    file = tmp_path / "wan.toml"
    file.write_text(WAN)
    from_file = load(file)
    content = from_file.to_dict()
    assert load(str(file)) == from_file
    assert load(WAN).to_dict() == load(from_file.source).to_dict() == content
    assert from_file.folder == tmp_path
    assert load(from_file) is from_file


def test_what_a_scenario_says_can_be_loaded_again_as_json() -> None:
    scenario = load(WAN)
    again = load(json.loads(json.dumps(scenario.to_dict())))
    assert again.to_dict() == scenario.to_dict()
    assert again.workload.classes == scenario.workload.classes


@given(galera_scenarios())
@settings(max_examples=30)
def test_any_scenario_survives_a_round_trip(content: dict[str, Any]) -> None:
    scenario = load(content)
    again = load(scenario.to_dict())
    assert again.to_dict() == scenario.to_dict()
    assert setup_of(again).paths == setup_of(scenario).paths


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"missing\.toml: cannot be read: No such file"):
        load(tmp_path / "missing.toml")
    (tmp_path / "broken.toml").write_text("[cluster\n")
    with pytest.raises(ScenarioError, match=r"broken\.toml: is not valid TOML: .*line 1"):
        load(tmp_path / "broken.toml")


def test_the_schema_has_the_names_that_files_use() -> None:
    schema = json_schema()
    assert set(schema["properties"]) == {
        "name", "description", "cluster", "node", "host", "network", "workload", "proxy", "fault",
        "maintenance", "backup", "setting", "procedure", "replica_cluster", "run",
    }  # fmt: skip
    definitions = schema["$defs"]
    assert {"from", "to"} <= set(definitions["PathTable"]["properties"])
    assert "class" in definitions["WorkloadTable"]["properties"]
    for name, definition in definitions.items():
        for key, field in definition.get("properties", {}).items():
            assert field.get("description"), f"{name}.{key} has no description"


# ------------------------------------------------------------------- errors --
@pytest.mark.parametrize(
    ("tables", "path", "said"),
    [
        ({"network": {"rtt_ms": -5}}, "network.rtt_ms", ["at least 0", "-5"]),
        ({"network": {"rtt_ms": "50"}}, "network.rtt_ms", ["a number", "'50'", "without quotes"]),
        ({"network": {"rtt_ms": float("nan")}}, "network.rtt_ms", ["finite"]),
        ({"network": {"rtt_s": 0.05}}, "network.rtt_s", ["did you mean rtt_ms = 50?"]),
        ({"network": {"bandwidth_gbit": 1}}, "network.bandwidth_gbit", ["bandwidth_mbit = 1000"]),
        ({"network": {"threads": 4}}, "network.threads", ["belongs to [workload]"]),
        ({"network": {"loss": 1.0}}, "network.loss", ["at most 0.5", "[[fault]]: cut"]),
        ({"networks": {}}, "networks", ["did you mean 'network'?"]),
        ({"cluster": {"nodes": 0}}, "cluster.nodes", ["1 to 64 nodes", "given 0"]),
        ({"cluster": {"nodes": []}}, "cluster.nodes", ["given 0"]),
        ({"cluster": {"nodes": "3"}}, "cluster.nodes", ["a number of nodes or a list", "'3'"]),
        ({"cluster": {"nodes": ["a", "a"]}}, "cluster.nodes", ["'a' is there twice"]),
        ({"cluster": {"model": "galara"}}, "cluster.model", ["did you mean 'galera'?"]),
        ({"cluster": {"version": "mariadb-11.9"}}, "cluster.version", ["'mariadb-11.8'"]),
        ({"cluster": {"pack": "none-such"}}, "cluster.pack", ["'none-such'", "*.toml"]),
        (
            {"cluster": {"options": {"evs.send_windw": 4}}},
            'cluster.options."evs.send_windw"',
            ["did you mean 'evs.send_window'?"],
        ),
        (
            {"cluster": {"options": {"evs.send_window": "4"}}},
            'cluster.options."evs.send_window"',
            ["a whole number", "write 4 without quotes"],
        ),
        (
            {"cluster": {"options": {"wsrep_slave_threads": 1, "wsrep_applier_threads": 2}}},
            "cluster.options",
            ["'wsrep_applier_threads' is given twice", "'wsrep_slave_threads'"],
        ),
        ({"cluster": {"costs": {"apply_ms": 3}}}, "cluster.costs.apply_ms", ["apply_us = 3000"]),
        (
            {"cluster": {"nodes": 3}, "node": [{"name": "n4"}]},
            "node.0.name",
            ["no node 'n4'", "n1, n2, n3"],
        ),
        ({"node": [{"name": "n1", "host": "big"}]}, "node.0.host", ["no host 'big'"]),
        (
            {
                "cluster": {"nodes": 2},
                "node": [{"name": "n1", "host": "n2"}],
                "host": [{"name": "n2"}],
            },
            "host.0.name",
            ["node 'n2' has a machine of its own"],
        ),
        ({"host": [{"name": "big"}]}, "host.0.name", ["no node runs on host 'big'"]),
        (
            {"network": {"egress": [{"node": "n5", "delay_ms": 1}]}},
            "network.egress.0.node",
            ["no node 'n5'"],
        ),
        (
            {"network": {"path": [{"from": "n1", "to": "tokyo", "rtt_ms": 1}]}},
            "network.path.0.to",
            ["no node or site 'tokyo'"],
        ),
        (
            {"network": {"path": [{"rtt_ms": 2, "one_way_ms": 1}]}},
            "network.path.0.rtt_ms",
            ["not both"],
        ),
        ({"network": {"path": [{"from": "n1"}]}}, "network.path.0", ["changes nothing"]),
        ({"network": {"jitter": {"kind": "gama"}}}, "network.jitter.kind", ["mean 'gamma'?"]),
        ({"network": {"jitter": {"kind": "gamma"}}}, "network.jitter.mean_ms", ["above 0"]),
        ({"network": {"jitter": {"kind": "uniform"}}}, "network.jitter.sd_ms", ["above 0"]),
        ({"network": {"preset": "aws-2017"}}, "network.preset", ["a site for node 'n1'"]),
        ({"workload": {"threads": 11}}, "workload.queries", ["11 threads", "given 10"]),
        ({"workload": {"threads": True}}, "workload.threads", ["a whole number"]),
        ({"workload": {"rate_tps": 5.0}}, "workload.rate_tps", ["combined with queries"]),
        ({"workload": {"nodes": ["n7"]}}, "workload.nodes.0", ["no node 'n7'"]),
        ({"workload": {"client_rtt_ms": 1}}, "workload.client_rtt_ms", ['client = "own"']),
        (
            {"workload": {"class": [{"statements": 2, "autocommit": True}]}},
            "workload.class.0.autocommit",
            ["2 statements"],
        ),
        (
            {"workload": {"class": [{"keys": {"rows": 5}}]}},
            "workload.class.0.keys.distribution",
            ["is required when rows is given"],
        ),
        ({"workload": {"connections": 3}}, "workload.connections", ["open loop", "threads"]),
        (
            {"workload": {"group": [{"node": "n1", "threads": 2, "connections": 2}]}},
            "workload.group.0.connections",
            ["open loop"],
        ),
        (
            {"workload": {"class": [{"load_data": True, "statements": 2}]}},
            "workload.class.0.load_data",
            ["one statement that inserts"],
        ),
        (
            {"workload": {"class": [{"xa_hold_ms": 5, "autocommit": True}]}},
            "workload.class.0.xa_hold_ms",
            ["not an autocommit statement"],
        ),
        (
            {"workload": {"class": [{"load_data": True, "xa_hold_ms": 5}]}},
            "workload.class.0.xa_hold_ms",
            ["commits on the way"],
        ),
        ({"workload": {"class": [{"pause_ms": -1}]}}, "workload.class.0.pause_ms", ["at least 0"]),
        (
            {"workload": {"scheduled": [{"node": "n9"}]}},
            "workload.scheduled.0.node",
            ["no node 'n9'"],
        ),
        (
            {"workload": {"scheduled": [{"name": "write"}]}},
            "workload.scheduled.0.name",
            ["'write' already"],
        ),
        (
            {"workload": {"scheduled": [{"rows": 7, "keys": {"distribution": "scan", "rows": 6}}]}},
            "workload.scheduled.0.rows",
            ["at most keys.rows = 6", "given 7"],
        ),
        ({"run": {"duration_s": 5}}, "run.duration_s", ["fixed number of transactions"]),
        ({"workload": {}, "run": {"seed": -1}}, "run.seed", ["at least 0"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_errors_name_the_place_the_value_and_a_way_out(
    tables: dict[str, Any], path: str, said: list[str]
) -> None:
    error = problem(small(**tables))
    assert error.path == path
    for words in said:
        assert words in str(error)


def test_all_problems_of_a_file_are_in_one_message() -> None:
    error = problem(small(network={"rtt_ms": -1}, run={"replications": 0, "warmup_ms": 3}))
    lines = str(error).splitlines()
    assert lines[0].endswith("3 problems")
    assert sorted(line.split(":")[0].strip() for line in lines[1:]) == [
        "network.rtt_ms", "run.replications", "run.warmup_ms",
    ]  # fmt: skip


def test_a_load_without_an_end_needs_a_duration() -> None:
    content = {"cluster": {"model": "galera"}, "workload": {"threads": 2}}
    assert problem(content).path == "run.duration_s"
    assert load(content | {"run": {"duration_s": 1.0}}).run.duration_s == 1.0


# ----------------------------------------------------------------- variants --
def test_with_value_changes_one_value_and_nothing_else() -> None:
    base = load(WAN)
    for path, value in {
        "network.rtt_ms": 5,
        "network.egress.0.delay_ms": 100.0,
        "cluster.nodes": 5,
        "network.jitter": {"kind": "exponential", "mean_ms": 0.1},
        "network.tcp.segment_bytes": 9000,
        "workload.class.0.primary_key": False,  # the class stands in the preset only
    }.items():
        changed = with_value(base, path, value).to_dict()
        expected = base.to_dict()
        *tables, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        inner: Any = expected
        for step in tables:
            inner = inner[step]
        inner[last] = ["n1", "n2", "n3", "n4", "n5"] if path == "cluster.nodes" else value
        found: Any = changed
        for step in tables:
            found = found[step]
        if path == "network.jitter":
            inner[last] = found[last]
            assert found[last]["mean_ms"] == 0.1
        assert changed == expected
    assert base == load(WAN)


@pytest.mark.parametrize("name", ['"evs.send_window"', "'evs.send_window'", "evs.send_window"])
def test_option_names_with_dots_may_be_quoted(name: str) -> None:
    changed = with_value(load(WAN), f"cluster.options.{name}", 512)
    options = setup_of(changed).scenario.cluster.options
    assert (options["evs.send_window"], options["gcs.fc_limit"]) == (512, 64)


def test_values_that_need_each_other_are_set_together() -> None:
    base = load(WAN)
    values = {
        "network.jitter.kind": "gamma",
        "network.jitter.mean_ms": 2,
        "network.jitter.sd_ms": 1,
    }
    jitter = with_values(base, values).network.jitter
    assert jitter is not None
    assert (jitter.kind, jitter.mean_ms, jitter.sd_ms) == ("gamma", 2, 1)
    with pytest.raises(ScenarioError, match="above 0"):
        with_value(base, "network.jitter.kind", "gamma")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("network.egress.1.delay_ms", "only 1 entries"),
        ("workload.variation.burst.0.at_s", r"no entries to count \(write \[\[workload\.vari"),
        ("network.egress.first.delay_ms", "a position in a list"),
        ("network.rtt", "did you mean 'rtt_ms'?"),
        ("network.rtt_ms.value", "network.rtt_ms is not a table"),
        ("network..rtt_ms", "not a dotted path"),
        ("", "not a dotted path"),
    ],
)
def test_paths_that_lead_nowhere_are_errors(path: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        with_value(load(WAN), path, 1)


# ----------------------------------------------------------------- workload --
def test_keys_of_ones_own_override_those_of_a_preset() -> None:
    def workload(**own: Any) -> Any:
        return load(small(workload={"queries": 20, "preset": "mysqlslap-insert"} | own)).workload

    assert workload().classes[0].name == "insert"
    changed = workload(**{"class": [{"primary_key": False}]}).classes
    assert [(one.name, one.primary_key, one.row_bytes) for one in changed] == [
        ("insert", False, 100)
    ]
    mixed = workload(**{"class": [{"name": "insert", "weight": 3.0}, {"name": "other"}]}).classes
    assert [(one.name, one.weight) for one in mixed] == [("insert", 3.0), ("other", 1.0)]


@pytest.mark.parametrize(
    "own", [{"rate_tps": 10.0}, {"threads": 2}, {"group": [{"node": "n2", "rate_tps": 5.0}]}]
)
def test_a_preset_with_a_number_of_queries_can_be_run_for_a_time(own: dict[str, Any]) -> None:
    scenario = load(
        {
            "cluster": {"model": "galera"},
            "workload": {"preset": "mysqlslap-insert"} | own,
            "run": {"duration_s": 1.0},
        }
    )
    assert isinstance(scenario, Scenario)
    assert scenario.workload.queries is None
