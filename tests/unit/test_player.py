"""What the player is given: all that happened in a run, in a page that runs only its own script."""

import base64
import json
import re
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from itertools import accumulate

import pytest
from typer.testing import CliRunner

import simrep
from simrep.cli import app
from simrep.errors import ScenarioError, SimrepError
from simrep.runs.replication import simulate
from simrep.scenario.schema import load
from simrep.show.player.columns import HOLE, Texts, kind_of
from simrep.show.player.document import document
from simrep.why.recording import record
from tests.hostile_names import HOSTILE
from tests.own_models import install

MODELS = ["galera", "group_replication", "semisync", "asynchronous", "standalone"]


def scenario(model="galera", **more):
    cluster = {"model": model, "nodes": 1 if model == "standalone" else 3}
    return {
        "cluster": cluster,
        "network": {"rtt_ms": 4},
        "workload": {"rate_tps": 200, "connections": 8},
        "run": {"duration_s": 0.25},
    } | more


def texts_of(content, column, numbers):
    """A column of texts with their numbers put back."""
    left = iter(numbers)
    return [
        re.sub(HOLE, lambda _: str(next(left)), content["texts"][pattern]) for pattern in column
    ]


class Page(HTMLParser):
    """What elements a page has, and what is in its scripts."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.runs, self.scripts, self.title, self.within = [], {}, [], "", None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.within = tag, dict(attrs)

    def handle_endtag(self, tag):
        self.within = None

    def handle_data(self, data):
        if self.within is None:
            return
        tag, attributes = self.within
        if tag == "title":
            self.title += data
        elif tag == "script" and "data-run" in attributes:
            packed = zlib.decompress(base64.b64decode(data))
            self.runs[attributes["data-run"]] = json.loads(packed)
        elif tag == "script":
            self.scripts.append(data)


@pytest.mark.parametrize("model", MODELS)
def test_a_document_has_all_messages_and_stages_of_a_run(model):
    recording = record(scenario(model))
    content = json.loads(json.dumps(document(recording), allow_nan=False))
    messages, told = content["messages"], content["transactions"]
    sent = [tick * content["tick_s"] for tick in accumulate(messages["sent"])]
    assert sent == pytest.approx([one.sent_s for one in recording.messages], abs=1e-7)
    assert bool(sent) is (model != "standalone")
    labels = [messages["labels"][place] for place in messages["label"]]
    assert labels == [one.label for one in recording.messages]
    assert len(told["started"]) == len(recording.transactions) > 0
    stages = [stage for one in recording.transactions for stage in one.stages]
    reasons = texts_of(content, told["reason"], told["numbers"])
    assert reasons == [stage.reason for stage in stages]
    assert texts_of(content, content["steps"]["what"], content["steps"]["numbers"]) == [
        one.what for one in recording.steps
    ]
    places = iter(told["stage_took"])
    for count, took in zip(told["stage_count"], told["took"], strict=True):
        assert sum(next(places) for _ in range(count)) == took
    assert sum(content["rates"]["commits"]) == len(recording.commits_s)
    assert sum(content["rates"]["messages"]) == len(recording.messages)


@pytest.mark.parametrize("model", MODELS)
def test_a_chosen_transaction_is_told_as_its_explanation_tells_it(model):
    found = simrep.explain(scenario(model), txn=5)
    recording = record(scenario(model), txn=5)
    told = recording.transactions[recording.chosen]
    assert told.stages == found.stages
    assert (told.started_s, told.ended_s) == (found.started_s, found.ended_s)
    labels = [recording.messages[place].label for place in told.critical]
    assert labels == [one.label for one in found.messages if one.critical]


def test_a_model_of_ones_own_is_played(monkeypatch):
    install(monkeypatch, quorum="tests.quorum_model:Quorum")
    content = document(record(scenario("quorum")))
    assert len(content["transactions"]["started"]) > 10
    assert content["messages"]["kinds"]
    assert set(content["steps"]["node"]) == {1, 2}  # of the first node there are stages


@pytest.mark.slow
def test_a_drill_has_a_run_of_each_fault_that_was_played():
    slowly = scenario("semisync", workload={"threads": 1, "think_time_ms": 500})
    found = simrep.drill(slowly, faults=["pause writer 5 s"], replications=1, limit_s=10.0)
    (cell,) = found.cells
    page = Page(found.player().html())
    ((name, content),) = page.runs.items()
    assert name == content["title"] == "pause writer 5 s"
    (band,) = content["bands"]
    assert (band["kind"], band["until"] - band["at"]) == ("paused", 50_000_000)
    # The run is that of the outcome: writes were away for as long.
    longest_s = max(end - begin for begin, end in content["quiet"]) * content["tick_s"]
    assert longest_s == pytest.approx(cell.outcomes[cell.typical].rto_s, abs=0.6)


def test_messages_are_about_the_transactions_that_they_carry():
    recording = record(scenario())
    writesets = [one for one in recording.messages if one.label == "writeset"]
    assert writesets
    for one in writesets:
        whose = [recording.transactions[place] for place in one.about]
        assert all(told.node == one.source and told.started_s <= one.sent_s for told in whose)


def test_of_too_long_a_run_a_part_is_kept_and_the_rest_counted():
    whole, part = record(scenario()), record(scenario(), most=300, look_s=(0.2, 0.21))
    assert len(part.messages) + len(part.steps) <= 300
    assert part.from_s <= 0.2 < part.until_s <= whole.length_s
    counted = sum(part.others.values())
    assert counted + len(part.messages) == pytest.approx(len(whole.messages), abs=10)
    assert part.commits_s == whole.commits_s
    inside = [one for one in whole.messages if part.from_s < one.sent_s < part.until_s]
    assert {one.sent_s for one in inside} <= {one.sent_s for one in part.messages}


def test_faults_are_bands_and_marks():
    faults = [
        {"what": "kill", "node": "n3", "at_s": 0.05},
        {"what": "restart", "node": "n3", "at_s": 0.2, "transfer_s": 0.1},
        {"what": "pause", "node": "n2", "at_s": 0.1, "until_s": 0.15},
    ]
    content = document(record(scenario(fault=faults)))
    bands = [(one["node"], one["kind"], one["at"], one["until"]) for one in content["bands"]]
    assert (2, "down", 500_000, 2_000_000) in bands
    assert (1, "paused", 1_000_000, 1_500_000) in bands
    assert [one["text"] for one in content["events"]] == ["n3 killed", "n2 paused", "n3 restarts"]
    assert any(note["kind"] == "fault" for note in content["notes"])


DYING = {
    "cluster": {"model": "semisync", "options": {"failover_manager": "orchestrator"}},
    "workload": {"rate_tps": 100, "connections": 4, "clients": {"connect_timeout_s": 1}},
    "fault": [
        {"what": "kill", "node": "n1", "at_s": 0.3},
        {"what": "restart", "node": "n1", "at_s": 7},
    ],
    "run": {"duration_s": 10, "log": True},
}


@pytest.fixture(scope="module")
def dying():
    """The source of a semi-synchronous cluster dies, another one is promoted, it comes back."""
    return record(scenario(**DYING))


def test_failed_attempts_are_those_that_the_run_counts(dying):
    failed = [one for one in dying.transactions if one.error]
    answered = [one for one in failed if not one.error.startswith("no answer")]
    run = simulate(load(scenario(**DYING)), seed=dying.seed)
    log = run.measurement.log
    there = ~log.committed
    ends_s = (log.started_s + log.latency_s)[there]
    assert [one.ended_s for one in answered] == pytest.approx(sorted(ends_s), abs=1e-9)
    assert [one.error for one in answered] == list(log.error[there])
    assert answered
    assert len(dying.aborts_s) == len(answered)
    # Recording changes nothing: the same transactions commit at the same times.
    assert dying.committed == int(log.committed.sum()) == len(dying.commits_s)
    # Their stages follow each other from the begin of the attempt to its end.
    for one in failed:
        assert one.unknown  # the connection was lost during the commit, or there is no answer
        edges = [one.stages[0].began_s, *(stage.ended_s for stage in one.stages)]
        assert edges[0] == one.started_s
        assert edges[-1] == one.ended_s
        assert edges == sorted(edges)
    attempts = run.attempts
    refused = attempts.connecting & (attempts.error > 0)
    assert [one.ended_s for one in dying.refusals] == list(attempts.ended_s[refused])
    assert {one.error for one in dying.refusals} >= {"2003 connection refused"}


def test_who_takes_writes_is_told_over_time(dying):
    first, second, third = dying.writers
    assert (first.node, first.from_s, first.until_s) == (0, 0.0, 0.3)
    promoted = next(line for line in dying.lines if line.what == "promoted")
    assert (dying.nodes[second.node], second.from_s) == (promoted.node, promoted.at_s)
    assert second.until_s == dying.length_s
    # The old source comes back and takes writes that nobody else gets.
    assert third.node == 0
    assert third.from_s > 7.0
    assert [one.outside for one in dying.writers] == [False, False, True]
    content = document(dying)
    assert content["leader"] == "source"
    assert [one["outside"] for one in content["writers"]] == [False, False, True]
    errors = [place for place in content["transactions"]["error"] if place >= 0]
    assert len(errors) + dying.committed == len(dying.transactions)
    assert "2013 lost connection to the server" in {content["texts"][one] for one in errors}


def test_a_deadlock_has_the_stages_up_to_it():
    keys = {"distribution": "hot", "rows": 10, "hot_rows": 1, "hot_fraction": 1.0}
    classes = [{"name": "w", "rows": 1, "keys": keys}]
    recording = record(scenario(workload={"threads": 4, "nodes": ["n1", "n2"], "class": classes}))
    failed = [one for one in recording.transactions if one.error]
    assert {one.error for one in failed} == {"1213 deadlock"}
    assert any(len(one.stages) > 1 for one in failed)
    assert not any(one.unknown for one in failed)
    assert len(recording.writers) == 3  # all nodes, from begin to end
    assert {(one.from_s, one.until_s) for one in recording.writers} == {(0.0, recording.length_s)}


def test_texts_that_differ_in_numbers_are_kept_once():
    texts, numbers = Texts(), []
    told = ["waits for writeset 17 of n1", "waits for writeset 1,018 of n02", "2.05 ms", HOLE]
    places = [texts.split(text, numbers) for text in told]
    left = iter(numbers)
    back = [re.sub(HOLE, lambda _: str(next(left)), texts.patterns[place]) for place in places]
    assert back == [*told[:3], r"\x01"]
    assert kind_of("accept: 3 transactions") == "accept: transactions"


def test_a_page_loads_nothing_and_names_are_data():
    title, link, script, *_ = HOSTILE
    nodes = [{"name": name} for name in HOSTILE[:3]]
    content = scenario(node=nodes, name=script, cluster={"model": "galera"})
    content["workload"] = {"threads": 2, "class": [{"name": link}, {"name": title, "rows": 2}]}
    page = Page(record(content).player().html())
    assert page.title == f"simrep: {script}"
    assert list(page.runs) == [script]
    assert page.runs[script]["nodes"] == list(HOSTILE[:3])
    assert len(page.scripts) == 1
    assert "SimrepPlayer" in page.scripts[0]
    for tag, attributes in page.tags:
        assert not {"src", "href", "style"} & set(attributes), tag
        assert not [name for name in attributes if name.startswith("on")], tag
    policy = next(one["content"] for tag, one in page.tags if "http-equiv" in one)
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_every_view_of_one_run_has_a_player(tmp_path):
    result = simrep.run(scenario(), replications=1)
    for name, found in {
        "run": result,
        "commit": result.explain(txn=3),
        "window": result.explain_fault(from_s=0.1, until_s=0.2),
        "stall": simrep.explain_stall(scenario(), longer_than_s=0.001),
    }.items():
        page = Page((found.player(tmp_path / f"{name}.html")).html())
        (content,) = page.runs.values()
        assert len(content["transactions"]["started"]) == result.committed
    with pytest.raises(SimrepError, match="has no player"):
        simrep.sweep(scenario(), over={"network.rtt_ms": [1.0]}, replications=1).player()


def test_the_command_writes_a_page(tmp_path):
    file = tmp_path / "cluster.toml"
    file.write_text(
        '[cluster]\nmodel = "semisync"\n[workload]\nthreads = 2\n[run]\nduration_s = 0.1\n'
    )
    out = tmp_path / "run.html"
    done = CliRunner().invoke(app, ["explain", str(file), "--html", str(out)])
    assert done.exit_code == 0, done.output
    (content,) = Page(out.read_text(encoding="utf-8")).runs.values()
    assert content["chosen"] >= 0
    nowhere = str(tmp_path / "no" / "run.html")
    refused = CliRunner().invoke(app, ["explain", str(file), "--html", nowhere])
    assert refused.exit_code == 2


def test_what_cannot_be_recorded_is_refused():
    with pytest.raises(ScenarioError, match="there is no transaction 100000"):
        record(scenario(), txn=100_000)
    with pytest.raises(ScenarioError, match="must end after its begin"):
        record(scenario(), look_s=(0.2, 0.1))


def test_a_document_is_made_without_the_libraries_of_figures():
    code = (
        "import sys; import simrep.show.player.document; "
        "print([name for name in ('matplotlib', 'pandas', 'scipy') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
