"""The contract between engine and model: what is a model, and what is refused."""

from __future__ import annotations

import inspect
import json
import pickle
import subprocess
import sys
from importlib import import_module

import pytest
from typer.testing import CliRunner

import simrep
from simrep.cli import app
from simrep.contract.card import model_card, package_of
from simrep.contract.model import Leader, Model, SessionTable
from simrep.contract.registry import find_model, models_that
from simrep.errors import ScenarioError
from simrep.exploration.sliders import sliders_of
from simrep.whatif.plan.candidates import candidates
from simrep.whatif.plan.regions import round_trips
from tests.own_models import Complete, Silent, install

HOME = "tests.own_models"
SHIPPED = ("asynchronous", "galera", "group_replication", "semisync", "standalone")


def scenario(model, **tables):
    content = {"cluster": {"model": model}, "workload": {"queries": 20}, **tables}
    content["cluster"] = {"model": model, **tables.get("cluster", {})}
    return content


# ----------------------------------------------------------- shipped models --


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_models_inherit_and_are_complete(name):
    model = find_model(name)
    assert issubclass(model, Model)
    assert not inspect.isabstract(model)
    assert model.name == name
    assert model.Session is None or issubclass(model.Session, SessionTable)


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize(
    "member", [name for name, value in vars(Model).items() if inspect.isroutine(value)]
)
def test_shipped_models_override_with_the_same_arguments(name, member):
    own, base = (inspect.getattr_static(kind, member) for kind in (find_model(name), Model))
    assert isinstance(own, staticmethod) == isinstance(base, staticmethod)
    parameters = [
        list(inspect.signature(getattr(kind, member)).parameters)
        for kind in (find_model(name), Model)
    ]
    assert parameters[0] == parameters[1]


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_models_tell_their_backlog_and_a_closed_form(name):
    model = find_model(name)
    assert model.backlog is not Model.backlog
    assert model.analytic is not Model.analytic


def test_leaders_alone_take_writes():
    def leader(name, **options):
        model = find_model(name)
        return model.writers(model.Options(**options))

    assert leader("galera") is None
    assert leader("standalone") is None
    assert leader("asynchronous") == leader("semisync") == Leader("source", "replica")
    assert leader("group_replication").title == "primary"
    many = {"group_replication_single_primary_mode": False}
    assert leader("group_replication", **many) is None


@pytest.mark.parametrize("model", ["asynchronous", "semisync"])
@pytest.mark.parametrize(
    "workload",
    [
        {"nodes": ["n1", "n2"], "threads": 2, "queries": 10},
        {"rate_tps": 10.0, "nodes": ["n2"]},
        {"group": [{"node": "n2", "threads": 1}]},
        {"scheduled": [{"name": "big", "node": "n2", "rows": 10, "at_s": 0.1}]},
        {
            "nodes": ["n2"],
            "class": [{"name": "r", "statements": 0, "reads": 1}, {"name": "w"}],
        },
    ],
)
def test_who_writes_on_a_replica_is_refused_before_anything_runs(model, workload):
    timed = {} if "queries" in workload else {"run": {"duration_s": 1.0}}
    content = {"cluster": {"model": model, "nodes": 2}, "workload": workload, **timed}
    with pytest.raises(ScenarioError, match="'n2', a replica: it is read-only") as refused:
        simrep.analytic(content)
    named = [key for key in ("group.0", "scheduled.0.node") if key.partition(".")[0] in workload]
    assert refused.value.path == f"workload.{(named or ['nodes'])[0]}"
    assert refused.value.hint == "let it write on the source, 'n1'"


def test_of_a_group_its_own_classes_count():
    classes = [{"name": "r", "statements": 0, "reads": 1}, {"name": "w"}]
    groups = [{"node": "n1", "threads": 1}, {"node": "n2", "threads": 2, "class": ["r"]}]
    workload = {"class": classes, "group": groups, "transactions_per_client": 5}
    content = {"cluster": {"model": "semisync", "nodes": 2}, "workload": workload}
    assert simrep.run(content).committed == 15
    groups[1]["class"] = ["w"]
    with pytest.raises(ScenarioError, match=r"workload\.group\.1: class 'w' writes on 'n2'"):
        simrep.run(content)


def test_who_reads_on_a_replica_is_welcome():
    reading = {"nodes": ["n2"], "queries": 10, "class": [{"statements": 0, "reads": 1}]}
    content = {"cluster": {"model": "semisync", "nodes": 2}, "workload": reading}
    assert simrep.run(content).committed == 10


# -------------------------------------------------------- models of others --


def test_a_subclass_gets_defaults(monkeypatch):
    install(monkeypatch, silent=f"{HOME}:Silent")
    model = find_model("silent")
    assert model is Silent
    assert model.Session is None
    assert not model.faults
    assert model.silence_limit_s(model.Options()) is None
    assert not model.has_xa(model.Options())
    assert model.writers(model.Options()) is None
    assert model.describe(object()).label == "message"
    assert simrep.run(scenario("silent")).committed == 20


def test_a_complete_class_that_does_not_inherit_works_and_warns(monkeypatch):
    install(monkeypatch, complete=f"{HOME}:Complete")
    with pytest.warns(DeprecationWarning, match=r"'complete' \(tests.own_models:Complete\) does"):
        model = find_model("complete")
    assert issubclass(model, Model)
    assert issubclass(model, Complete)
    assert package_of(model) == "tests"
    assert model_card(model)["summary"].startswith("Models of one's own")
    assert pickle.loads(pickle.dumps(model)) is model
    with pytest.warns(DeprecationWarning, match="refuse it"):
        assert simrep.run(scenario("complete")).committed == 20


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("without-counters", "WithoutCounters", r"is not complete: it has no counters\(\)"),
        (
            "no-model",
            "NoModel",
            r"is not complete: its Options is no pydantic model, it has no Costs, .*transact\(\)",
        ),
        ("acme", "Silent", "is not complete: its name is 'silent'"),
        ("acme", "install", "is no class"),
        ("acme", "Nothing", "cannot be loaded: .*Nothing"),
    ],
)
def test_what_is_no_model_is_refused(monkeypatch, name, value, said):
    install(monkeypatch, **{name: f"{HOME}:{value}"})
    with pytest.raises(
        ScenarioError, match=rf"model '{name}' \({HOME}:{value}\) {said}"
    ) as refused:
        find_model(name)
    assert refused.value.path == "cluster.model"


def test_a_package_that_is_not_there_is_an_error_and_no_traceback(monkeypatch):
    install(monkeypatch, acme="acme_of_nobody:Acme")
    with pytest.raises(ScenarioError, match="cannot be loaded: No module named"):
        find_model("acme")


def test_hints_name_those_installed_models_that_can(monkeypatch):
    install(monkeypatch, silent=f"{HOME}:Silent", broken=f"{HOME}:NoModel")
    assert models_that(lambda model: "bootstrap" in model.faults) == "galera and group_replication"
    assert models_that(lambda model: model.writers(model.Options())) == (
        "asynchronous, group_replication and semisync"
    )
    assert models_that(lambda _: False) == "none that is installed"


@pytest.mark.parametrize(
    ("tables", "path", "said"),
    [
        (
            {"cluster": {"change": [{"at_s": 1.0, "node": "n2", "what": "leave"}]}},
            "cluster.change.0.what",
            "'silent' does not play 'leave' .models that do: asynchronous, galera, ",
        ),
        (
            {"workload": {"queries": 1, "class": [{"session": {"x": 1}}]}},
            "workload.class.0.session",
            "knows no session variables",
        ),
        (
            {"workload": {"queries": 1, "class": [{"xa_hold_ms": 1.0, "autocommit": False}]}},
            "workload.class.0.xa_hold_ms",
            "models that have, in their newest version: galera",
        ),
    ],
)
def test_what_a_model_does_not_tell_is_refused(monkeypatch, tables, path, said):
    install(monkeypatch, silent=f"{HOME}:Silent")
    with pytest.raises(ScenarioError, match=said) as refused:
        simrep.run(scenario("silent", **tables))
    assert refused.value.path == path


def test_a_model_that_does_not_tell_its_backlog_has_no_sustainable_rate(monkeypatch):
    install(monkeypatch, silent=f"{HOME}:Silent")
    with pytest.raises(ScenarioError, match=r"'silent' does not tell .* method backlog\(\)"):
        simrep.sustainable_rate(scenario("silent"))
    one_core = scenario("silent", cluster={"machine": {"cores": 1}})
    found = simrep.sustainable_rate(one_core, backlog=lambda _: {}, precision=0.1)
    assert 900 < found.rate_tps < 1100  # a commit takes 1 ms
    with pytest.raises(ScenarioError, match="'silent' does not tell"):
        simrep.plan(scenario("silent"), "rate", replications=2)


def test_a_model_without_a_closed_form_has_no_second_opinion(monkeypatch):
    install(monkeypatch, silent=f"{HOME}:Silent")
    opinion = simrep.analytic(scenario("silent"))
    assert opinion.reasons[0] == "model 'silent' has no closed form"


# ------------------------------------------- what is found by roles, and not by names --


def test_appliers_of_a_model_of_ones_own_are_counted(monkeypatch):
    install(monkeypatch, follower=f"{HOME}:Follower")
    answer = simrep.plan(
        scenario("follower"), "appliers", tps=250, within=(1, 8), replications=4, precision=0.5
    )
    assert answer.value == 3  # 100/s each


def test_a_model_without_appliers_says_who_has_some(monkeypatch):
    install(monkeypatch, silent=f"{HOME}:Silent", follower=f"{HOME}:Follower")
    with pytest.raises(ScenarioError, match="'silent' has no appliers to count") as refused:
        simrep.plan(scenario("silent"), "appliers", tps=250)
    assert "asynchronous, follower, galera, group_replication and semisync" in str(refused.value)


def test_options_of_a_model_of_ones_own_get_sliders(monkeypatch):
    install(monkeypatch, follower=f"{HOME}:Follower")
    loaded = simrep.load(scenario("follower"))
    offered = {one.name: [level.label for level in one.levels] for one in sliders_of(loaded, None)}
    assert list(offered)[2:] == [
        "cluster.options.limit",
        "cluster.options.place",
        "cluster.options.apply.threads",
    ]
    assert offered["cluster.options.limit"] == [100, 200]
    assert offered["cluster.options.place"] == ["before", "after"]
    assert offered["cluster.options.apply.threads"] == [1, 2, 4, 8]  # as far as it is allowed


def test_a_model_of_ones_own_is_a_candidate_when_it_tells(monkeypatch):
    install(monkeypatch, follower=f"{HOME}:Follower", silent=f"{HOME}:Silent")
    regions = ["us-east-1", "us-west-2", "eu-west-1"]
    given = simrep.load(scenario("galera", cluster={"options": {"wsrep_applier_threads": 3}}))
    found, left_out = candidates(given, regions, regions[:1], round_trips(regions, None))
    assert [one.product for one in found] == [
        "Galera",
        *["Group Replication"] * 3,
        *["Group Replication, single leader"] * 3,
        "Acme",
        *["semi-synchronous"] * 2,
        "asynchronous",
    ]
    own = next(one for one in found if one.product == "Acme")
    assert own.scenario.cluster.options == {"apply.threads": 3, "limit": 150}
    assert not left_out
    _, left_out = candidates(given, regions, regions[:2], round_trips(regions, None))
    assert "Acme: takes writes in one region only." in left_out


# ----------------------------------------------------------- questions of its own --


def test_a_model_of_ones_own_answers_its_own_questions(monkeypatch, tmp_path):
    install(monkeypatch, follower=f"{HOME}:Follower")
    file = tmp_path / "own.toml"
    file.write_text('cluster.model = "follower"\nworkload.queries = 20\n')
    assert "lag" in CliRunner().invoke(app, ["plan", "--help"]).stdout
    assert "--longest" in CliRunner().invoke(app, ["plan", "lag", "--help"]).stdout
    done = CliRunner().invoke(app, ["plan", str(file), "lag", "--longest", "100ms", "--json"])
    assert json.loads(done.stdout)["value"] == 1
    with pytest.raises(ScenarioError, match=r"'galera' has no answer to 'lag' \(model 'follower'"):
        simrep.plan(scenario("galera"), "lag", longest_s=1.0)


# ---------------------------------------------------------- what a model imports --


@pytest.mark.parametrize("name", ["", ".closed_form", ".figure", ".questions", ".watching"])
def test_the_names_for_authors_of_models_are_there(name):
    module = import_module(f"simrep.modelling{name}")
    assert module.__doc__
    assert module.__all__ == sorted(module.__all__)
    assert all(hasattr(module, own) for own in module.__all__)


def test_what_authors_of_models_import_is_light():
    slow = {"matplotlib", "scipy", "pandas", "rich", "typer"}
    code = (
        "import sys, simrep.modelling, simrep.modelling.closed_form, simrep.modelling.watching; "
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not slow & set(done.stdout.split())
