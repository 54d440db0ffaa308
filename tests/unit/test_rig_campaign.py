"""Campaigns without servers: order, gates, marks, interruption and resuming."""

import signal

import pytest

from simrep.rig import campaign as campaigns
from simrep.rig import measure as measuring
from simrep.rig.campaign import Campaign
from simrep.rig.errors import BusyError, MixedError, RigError
from simrep.rig.experiment import Experiment, StoredExperiment
from simrep.rig.journal import Journal, State
from tests.fake_cluster import World


def experiment(**changes):
    content = {
        "title": "Made up",
        "question": "Does it run?",
        "repetitions": 2,
        "system": [{"name": "galera", "product": "galera", "options": {"wsrep_slave_threads": 4}}],
        "layout": [{"name": "lan"}, {"name": "slow", "egress_ms": {"n3": 50}}],
        "load": [{"name": "inserts", "transactions": 10}],
        "grid": [
            {"system": "galera", "layout": ["lan", "slow"], "load": "inserts", "threads": [1, 2]}
        ],
    }
    return StoredExperiment("made-up", Experiment.model_validate(content | changes), "text\n")


@pytest.fixture
def world(monkeypatch):
    made = World()
    monkeypatch.setattr(measuring, "run_load", made.run_load)
    monkeypatch.setattr(measuring, "wait_for_quiet", lambda *_: 0.0)
    monkeypatch.setattr(measuring, "busy_cpu_s", lambda: 0.0)
    monkeypatch.setattr(measuring, "stolen_cpu_s", lambda: 0.0)
    monkeypatch.setattr(measuring, "_EQUAL_S", 0.05)
    monkeypatch.setattr(measuring.time, "sleep", lambda _s: None)
    monkeypatch.setattr(campaigns, "_SETTLE_S", 0.0)
    return made


def campaign(world, folder, stored=None, **options):
    return Campaign(stored or experiment(), world, folder, **options)


def test_all_runs_of_a_cluster_share_it_and_repetitions_alternate(world, tmp_path):
    one = campaign(world, tmp_path)
    assert one.run()
    entries = one.journal.entries
    found = [(e.row["layout"], e.row["threads"], e.row["repetition"]) for e in entries]
    assert found == [
        (layout, threads, repetition)
        for layout in ("lan", "slow")
        for repetition in (1, 2)
        for threads in (1, 2)
    ]
    assert world.seen["form"] == world.seen["up"] == 1
    assert world.seen["set_delays"] == 2
    assert all(e.passed for e in entries)
    assert {e.row["seconds"] for e in entries} == {2.5}
    assert world.seen["stop"] == 1
    assert world.seen["down"] >= 1


def test_transactions_are_kept_run_by_run(world, tmp_path):
    one = campaign(world, tmp_path)
    one.run()
    files = sorted(path.name for path in (tmp_path / "transactions").iterdir())
    assert files == sorted(f"{entry.id}.a1.csv.gz" for entry in one.journal.entries)


def interrupt(_world, _cluster):
    raise KeyboardInterrupt


def nothing(_world, _cluster):
    pass


def test_an_interrupted_campaign_leaves_nothing_behind_and_resumes(world, tmp_path):
    world.events = iter([nothing, nothing, interrupt])
    first = campaign(world, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        first.run()
    assert world.seen["stop"] == 1
    assert world.seen["down"] == 1
    assert len(Journal(tmp_path / "runs.jsonl").entries) == 2

    again = campaign(world, tmp_path)
    assert len(again.missing) == 6
    assert again.run()
    assert world.seen["loads"] == 3 + 6
    assert len({entry.id for entry in again.entries()}) == len(again.entries()) == 8

    world.accuracy = world.machine = None  # a campaign that is through asks for nothing
    assert campaign(world, tmp_path).run()
    assert world.seen["loads"] == 3 + 6


def test_what_is_measured_is_written_down_before(world, tmp_path):
    world.events = iter([interrupt])
    with pytest.raises(KeyboardInterrupt):
        campaign(world, tmp_path).run()
    assert (tmp_path / "experiment.toml").read_text() == "text\n"
    again = campaign(world, tmp_path)
    again.run()
    [known] = again.state.clusters().values()
    assert known["starts_s"] >= known["start_s"]
    assert len(again.state.content["software"]) == 1


@pytest.mark.parametrize("known", ["machine", "version"])
def test_what_another_machine_or_version_has_measured_is_not_continued(world, tmp_path, known):
    world.events = iter([nothing, interrupt])
    with pytest.raises(KeyboardInterrupt):
        campaign(world, tmp_path).run()
    state = State(tmp_path / "state.json")
    if known == "machine":
        state.update(machine={"cpu": "another one", "cpus": 2})
    else:
        [key] = state.clusters()
        state.cluster(key, {"version": "10.6.18-MariaDB"})
    with pytest.raises(MixedError, match="give another one with --out"):
        campaign(world, tmp_path).run()
    assert world.seen["loads"] == 2


def test_a_request_to_end_that_is_ignored_stays_so(world, tmp_path):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        world.events = iter([lambda *_: signal.raise_signal(signal.SIGHUP)])
        assert campaign(world, tmp_path).run()
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_request_to_end_is_an_interruption(world, tmp_path):
    world.events = iter([lambda *_: signal.raise_signal(signal.SIGTERM)])
    with pytest.raises(KeyboardInterrupt):
        campaign(world, tmp_path).run()
    assert world.seen["stop"] == 1
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def lose_a_row(_world, cluster):
    cluster.rows["n2"] = -1


def change_view(world, _cluster):
    world.view += 1


def commit_too_much(_world, cluster):
    cluster.rows["all"] += 1


@pytest.mark.parametrize(
    ("event", "gate"),
    [
        (lose_a_row, "equal rows"),
        (change_view, "same members"),
        (commit_too_much, "rows written"),
    ],
)
def test_a_run_that_fails_a_gate_is_marked_and_measured_again(world, tmp_path, event, gate):
    world.events = iter([event])
    one = campaign(world, tmp_path)
    assert one.run()
    marked, *others = one.journal.entries
    assert not marked.passed
    assert marked.row["passed"] == 0
    assert gate in marked.row["failed_gates"]
    assert all(entry.passed for entry in others)
    again = [entry for entry in others if entry.id == marked.id]
    assert [entry.attempt for entry in again] == [2]
    assert len(one.entries()) == 9


@pytest.mark.parametrize(
    ("setting", "gate"), [("late_ms", "delays kept"), ("off_ms", "round trips")]
)
def test_delays_that_are_not_kept_mark_runs_until_no_attempt_is_left(
    world, tmp_path, setting, gate
):
    setattr(world, setting, 9.0)
    one = campaign(world, tmp_path)
    one.run()
    delayed = [e for e in one.journal.entries if gate in e.row["failed_gates"]]
    assert len(delayed) >= 8
    assert {entry.attempt for entry in delayed} == {1, 2}
    assert not one.missing


def test_a_run_beside_other_work_is_marked(world, tmp_path, monkeypatch):
    used = iter([0.0, 9.0, *[0.0] * 100])
    monkeypatch.setattr(measuring, "busy_cpu_s", lambda: next(used))
    one = campaign(world, tmp_path)
    one.run()
    assert [entry.row["failed_gates"] for entry in one.journal.entries][:2] == ["alone", ""]


def test_a_load_that_was_cut_off_is_marked(world, tmp_path):
    def cut_off(_world, cluster):
        cluster.rows["all"] -= 1

    world.events = iter([cut_off])
    world.lost = iter([1])
    one = campaign(world, tmp_path)
    one.run()
    assert one.journal.entries[0].row["failed_gates"] == "in time"
    assert one.journal.entries[1].passed


def fail(_world, _cluster):
    raise OSError("the connection is gone: /home/me/rig/n1/server.sock")


def test_a_load_that_fails_is_written_down_and_the_next_goes_on(world, tmp_path):
    world.events = iter([fail])
    one = campaign(world, tmp_path)
    assert one.run()
    first = one.journal.entries[0]
    assert first.row["failed_gates"] == "measured"
    assert first.failed[0].detail == "OSError: the connection is gone: server.sock"
    assert world.seen["form"] == 2
    assert len(one.journal.entries) == 9


def break_cluster(world, _cluster):
    world.broken = 1


def test_a_broken_cluster_is_formed_anew(world, tmp_path):
    world.events = iter([break_cluster])
    one = campaign(world, tmp_path)
    assert one.run()
    assert "healthy after" in one.journal.entries[0].row["failed_gates"]
    assert world.seen["form"] == 3  # after the break, and for the second attempt
    assert not one.problems


def test_a_cluster_that_does_not_start_keeps_no_other_from_being_measured(world, tmp_path):
    systems = [
        {"name": "odd", "product": "galera", "options": {"refused": True}},
        {"name": "galera", "product": "galera"},
    ]
    grid = [{"system": ["odd", "galera"], "layout": "lan", "load": "inserts"}]
    told = []
    one = campaign(world, tmp_path, experiment(system=systems, grid=grid), tell=told.append)
    assert not one.run()
    assert [entry.row["system"] for entry in one.journal.entries] == ["galera", "galera"]
    assert [run.cell.system for run in one.missing] == ["odd", "odd"]
    assert "does not start" in one.problems[0]
    assert any("does not start" in one.text for one in told)


def test_a_part_of_an_experiment_counts_for_the_whole(world, tmp_path):
    stored = experiment()
    part = stored.experiment.part(repetitions=1)
    one = campaign(world, tmp_path, stored, part=part)
    assert one.run()
    assert len(one.journal.entries) == 4
    assert not one.missing
    assert len(one.absent) == 4
    whole = campaign(world, tmp_path, stored)
    assert whole.run()
    assert world.seen["loads"] == 8


def test_a_line_that_a_crash_cut_off_is_dropped(world, tmp_path):
    one = campaign(world, tmp_path)
    one.run()
    path = tmp_path / "runs.jsonl"
    path.write_text(cut := path.read_text()[:-20])
    again = Journal(path)
    assert again.entries == one.journal.entries[:-1]
    assert path.read_text() == cut  # whoever writes may not be done
    assert len(campaign(world, tmp_path).missing) == 1
    assert campaign(world, tmp_path).run()
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) == len(Journal(path).entries) == 8
    assert all(line.endswith("\n") for line in lines)


def test_progress_is_told(world, tmp_path):
    told = []
    campaign(world, tmp_path, tell=told.append).run()
    measured = [one for one in told if " r" in one.text and " s, mean " in one.text]
    assert [one.done for one in measured] == list(range(1, 9))
    assert [one.left_s is None for one in measured] == [True] * 5 + [False] * 3
    assert {one.total for one in measured} == {8}
    assert "galera.lan.inserts.t1 r1: 2.5 s, mean 50.00 ms" in measured[0].text
    assert measured[-1].left_s == 0.0


def test_a_machine_that_cannot_tell_how_exact_its_delays_are_measures_all_the_same(
    world, tmp_path, monkeypatch
):
    def refuse():
        raise RigError("no C compiler")

    monkeypatch.setattr(world, "accuracy", refuse)
    one = campaign(world, tmp_path)
    assert one.run()
    assert one.state.content["accuracy"] == {"problem": "no C compiler"}


def test_beside_another_rig_nothing_is_tried(world, tmp_path, monkeypatch):
    def refuse():
        raise BusyError("another rig is at work on this machine")

    monkeypatch.setattr(world, "accuracy", refuse)
    with pytest.raises(BusyError):
        campaign(world, tmp_path).run()
    assert world.seen["form"] == 0


def one_cell(**changes):
    """An experiment of one cell, repeated until it is known."""
    grid = [{"system": "galera", "layout": "lan", "load": "inserts"}]
    return experiment(grid=grid, **{"most_repetitions": 5, **changes})


def test_a_cell_that_is_known_to_a_tenth_is_not_repeated_further(world, tmp_path):
    world.seconds = iter([1.0, 1.01])
    one = campaign(world, tmp_path, one_cell())
    assert one.run()
    assert len(one.journal.entries) == 2
    assert not one.absent


@pytest.mark.parametrize(
    ("seconds", "runs"),
    [
        ([1.0, 1.1, 1.05, 1.05], 4),  # halves of the intervals: 60 %, 12 % and 6 % of the mean
        ([1.0, 2.0, 1.0, 2.0, 1.0, 2.0], 5),  # never known, so the limit ends it
    ],
)
def test_a_cell_is_repeated_on_its_cluster_until_it_is_known(world, tmp_path, seconds, runs):
    world.seconds = iter(seconds)
    told = []
    one = campaign(world, tmp_path, one_cell(), tell=told.append)
    assert one.run()
    assert [entry.row["repetition"] for entry in one.journal.entries] == [*range(1, runs + 1)]
    assert world.seen["form"] == 1
    said = [one.text for one in told if "not known" in one.text]
    assert said == ["galera.lan.inserts.t1: not known to 10%, so once more: seconds"] * (runs - 2)
    assert len(one.entries()) == len(one.wanted) == runs


def test_only_the_cell_that_is_not_known_is_repeated_further(world, tmp_path):
    stored = experiment(most_repetitions=3)
    world.seconds = iter([1.0, 5.0, 1.0, 9.0])  # lan: one client, two clients, in turn
    one = campaign(world, tmp_path, stored)
    assert one.run()
    further = [entry.row for entry in one.journal.entries if entry.row["repetition"] == 3]
    assert [(row["layout"], row["threads"]) for row in further] == [("lan", 2)]


def test_repeating_is_resumed(world, tmp_path):
    world.seconds = iter([1.0, 2.0, 1.0, 2.0, 1.0])
    world.events = iter([nothing, nothing, nothing, interrupt])
    with pytest.raises(KeyboardInterrupt):
        campaign(world, tmp_path, one_cell()).run()
    again = campaign(world, tmp_path, one_cell())
    assert [run.repetition for run in again.missing] == [4]
    assert [run.repetition for run in again.absent] == [4]
    assert again.run()
    assert [entry.row["repetition"] for entry in again.entries()] == [1, 2, 3, 4, 5]
    assert not again.absent


def test_a_further_repetition_that_is_marked_is_measured_again(world, tmp_path):
    world.seconds = iter([1.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    world.events = iter([nothing, nothing, commit_too_much])
    one = campaign(world, tmp_path, one_cell(most_repetitions=3))
    assert one.run()
    tried = [(e.row["repetition"], e.attempt, e.passed) for e in one.journal.entries]
    assert tried == [(1, 1, True), (2, 1, True), (3, 1, False), (3, 2, True)]


def test_a_part_with_fewer_repetitions_is_not_repeated_further(world, tmp_path):
    stored = one_cell()
    world.seconds = iter([1.0, 2.0])
    one = campaign(world, tmp_path, stored, part=stored.experiment.part(repetitions=2))
    assert one.run()
    assert not one.missing
    assert len(one.journal.entries) == 2
    assert [run.repetition for run in one.absent] == [3]
