"""Where no closed form holds, the second opinion says so and why, and gives no number."""

from __future__ import annotations

import json
import warnings

import pytest
from typer.testing import CliRunner

import simrep
from simrep.cli.app import app
from simrep.contract.registry import find_model

SMALL = {"cluster": {"model": "galera"}, "workload": {"threads": 2}, "run": {"duration_s": 1}}


def changed(**values):
    return simrep.with_values(simrep.load(SMALL), values)


def reasons(model="galera", **values):
    paths = {name.replace("__", "."): value for name, value in values.items()}
    opinion = simrep.analytic(changed(**{"cluster.model": model, **paths}))
    assert (opinion.throughput_tps, opinion.latency_s) == (None, None) or opinion.holds
    return " ".join(opinion.reasons)


LARGE = {"at_s": 0.1, "rows": 10}
OUTAGE = {"node": "n2", "from_s": 0.1, "to_s": 0.2}
HOT = {"distribution": "hot", "rows": 10, "hot_rows": 2}


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"workload__class": [{"name": "a"}, {"name": "b"}]}, "several classes"),
        ({"workload__scheduled": [LARGE]}, "scheduled"),
        ({"cluster__change": [{"at_s": 0.5, "node": "n3", "what": "leave"}]}, "come and go"),
        ({"network__outage": [OUTAGE]}, "outages"),
        ({"network__loss": 0.01}, "lost segments"),
        ({"network__jitter": {"kind": "uniform", "sd_ms": 0.01}}, "jitter"),
        ({"network__bandwidth_mbit": 100}, "bandwidth"),
        ({"workload__class": [{"rows": 20_000}]}, "large transaction"),
        ({"workload__class": [{"row_bytes": 20_000}]}, "TCP"),
        ({"workload__class": [{"keys": HOT}]}, "meet another one in a row"),
        (
            {"workload__class": [{"primary_key": False}], "workload__nodes": ["*"]},
            "meet another one in a row",
        ),
        ({"cluster__machine__parallel_syncs": 1}, "fsyncs"),
        ({"cluster__options": {"wsrep_trx_fragment_size": 100}}, "streaming replication"),
        ({"cluster__options": {"repl.commit_order": 0}}, "out of order"),
        ({"cluster__costs__apply_us": 2000.0, "network__rtt_ms": 1.0}, "flow control"),
        ({"workload__threads": 60, "network__rtt_ms": 20.0}, "arrive at once"),
        ({"cluster__nodes": 3, "node": [{"name": "n3", "segment": 1}]}, "segments"),
    ],
)
def test_what_has_no_closed_form_in_galera(values, why):
    assert why in reasons(**values)


@pytest.mark.parametrize("model", ["galera", "group_replication", "semisync", "asynchronous"])
@pytest.mark.parametrize("preset", ["sysbench-tpcc", "go-tpc"])
def test_no_model_has_a_closed_form_of_several_classes(model, preset):
    load = {"preset": preset, "threads": 2, "clients": {"on_error": "stop"}}
    said = reasons(model, workload=load)
    assert "several classes" in said
    assert "clients that stop at an error" in said


@pytest.mark.parametrize(
    ("model", "values", "why"),
    [
        (
            "semisync",
            {"network__rtt_ms": 50.0, "cluster__options": {"rpl_semi_sync_source_timeout": 10}},
            "timeout",
        ),
        (
            "semisync",
            {"cluster__options": {"rpl_semi_sync_source_wait_for_replica_count": 3}},
            "than there are replicas",
        ),
        ("standalone", {"cluster__options": {"sync_binlog": 10}}, "now and then"),
        (
            "standalone",
            {"cluster__options": {"binlog_group_commit_sync_delay": 1000}},
            "waits for company",
        ),
        ("group_replication", {"workload__threads": 64, "network__rtt_ms": 40.0}, "in batches"),
        (
            "group_replication",
            {
                "workload__nodes": ["*"],
                "cluster__options": {"group_replication_single_primary_mode": False},
            },
            "fill each other's slots",
        ),
        (
            "group_replication",
            {"cluster__options": {"group_replication_consistency": "AFTER"}},
            "wait for other members",
        ),
    ],
)
def test_what_has_none_in_other_products(model, values, why):
    assert why in reasons(model, **values)


@pytest.mark.parametrize("model", simrep.model_cards())
def test_an_open_load_beyond_capacity(model):
    content = {
        "cluster": {"model": model, "machine": {"cores": 1}},
        "workload": {"rate_tps": 50_000.0},
        "run": {"duration_s": 1},
    }
    opinion = simrep.analytic(content)
    assert not opinion.holds
    assert "more arrives than" in opinion.reasons[0] or "takes all" in opinion.reasons[0]


def test_a_model_without_closed_forms_says_so(monkeypatch):
    monkeypatch.delattr(find_model("galera"), "analytic")
    assert "model 'galera' has no closed form" in reasons()


def test_rare_meetings_in_a_row_do_not_matter():
    keys = {"distribution": "uniform", "rows": 100_000}
    assert reasons(workload__class=[{"keys": keys}]) == ""


def test_inserts_of_one_node_meet_nobody_whatever_they_are_certified_by():
    values = {"workload.class": [{"primary_key": False}], "network.rtt_ms": 20.0}
    assert simrep.analytic(changed(**values)).holds


def test_reading_waits_for_no_replica():
    reading = changed(**{"workload.class": [{"statements": 0, "reads": 1}], "network.rtt_ms": 50.0})
    assert simrep.analytic(reading).latency_s < 0.001


def run(*arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CliRunner().invoke(app, ["run", *arguments], env={"COLUMNS": "150"})


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(
        '[cluster]\nmodel = "galera"\n[workload]\nqueries = 20\n[network]\nrtt_ms = 20\n',
        encoding="utf-8",
    )
    return str(path)


def test_the_command_prints_it_first_and_the_difference_last(file):
    result = run(file, "--analytic")
    assert result.exit_code == 0
    lines = result.output
    assert lines.index("closed form") < lines.index("committed") < lines.index("difference")
    assert "order" in lines


def test_its_json_has_both_and_the_difference(file):
    content = json.loads(run(file, "--analytic", "--json").stdout)
    opinion = content["analytic"]
    assert opinion["holds"]
    said = opinion["throughput_tps"] / content["throughput_tps"] - 1.0
    assert opinion["difference"]["throughput_tps"] == pytest.approx(said)
    assert abs(said) < 0.05


def test_the_command_says_why_there_is_none_and_simulates_all_the_same(file):
    result = run(file, "--analytic", "--set", "network.loss=0.01")
    assert result.exit_code == 0
    assert "no closed form holds" in result.output
    assert "lost segments" in result.output
    assert "throughput" in result.output
    content = json.loads(run(file, "--analytic", "--json", "--set", "network.loss=0.01").stdout)
    assert content["analytic"]["throughput_tps"] is None
    assert content["analytic"]["difference"] == {}


def test_without_the_option_nothing_changes(file):
    assert "analytic" not in json.loads(run(file, "--json").stdout)


def test_it_shows_itself(file):
    opinion = simrep.analytic(file)
    assert "closed forms" in str(opinion)
    assert "transactions/s" in repr(opinion)
    assert "<pre" in opinion._repr_html_()
    json.dumps(opinion.to_dict(), allow_nan=False)
    none = simrep.analytic(simrep.with_value(simrep.load(file), "network.loss", 0.1))
    assert "lost segments" in str(none)
    assert "lost segments" in repr(none)
