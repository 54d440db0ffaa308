"""How servers react to a fault: the answers of a run about it, message by message and in words."""

import sys
from dataclasses import replace
from functools import cache
from math import nan

import numpy as np
import pytest
from typer.testing import CliRunner

import simrep
from simrep.cli.app import app
from simrep.errors import ScenarioError
from simrep.runs.result import Result
from simrep.show.plot.style import Sheet, styled
from simrep.show.plot.why import film as films
from simrep.show.plot.why.view_change import STATES, Pace, ViewChangeScene
from simrep.why.stall import StallExplanation, explain_stall
from simrep.why.window import WindowExplanation, explain_window
from tests.legible import problems

SUSPECT_S = 1.5
TOML = f"""
[cluster]
model = "galera"
nodes = 3
options = {{ "evs.suspect_timeout" = {SUSPECT_S}, "evs.keepalive_period" = 0.5 }}

[[fault]]
name = "n3-dies"
what = "kill"
node = "n3"
at_s = 1.0

[workload]
think_time_ms = 20

[[workload.group]]
name = "A"
node = "n1"
threads = 2

[[workload.group]]
name = "B"
node = "n3"
threads = 2

[run]
duration_s = 5.0
"""


@cache
def result() -> Result:
    return simrep.run(TOML)


@cache
def window() -> WindowExplanation:
    return result().explain_fault("n3-dies")


@cache
def stall() -> StallExplanation:
    return explain_stall(TOML)


def test_a_run_says_when_survivors_went_on_and_what_clients_of_the_dead_saw() -> None:
    fault = result().faults["n3-dies"]
    stall_s = fault.stalls["A"].stall_s.median
    assert SUSPECT_S < fault.primary_s.median < stall_s < SUSPECT_S + 2.5
    assert fault.stalls["B"].stall_s.median > 3.9  # to the end of the run
    during = result().faults.around("n3-dies")["during"]
    assert "2013" in during.groups["B"].errors
    assert not during.groups["A"].errors
    content = result().to_dict()
    assert content["fates"]["lost"] == 0
    assert list(content["phases"]) == ["before", "n3-dies"]


def test_its_figures_have_paths() -> None:
    figure = "faults.n3-dies.stalls.A.stall_s"
    swept = simrep.sweep(TOML, {"fault.n3-dies.at_s": [1.0]}, of=figure)
    assert all(stall_s > SUSPECT_S for stall_s in swept.to_frame()[figure])


def test_its_picture_names_the_fault_and_can_be_read() -> None:
    figure = result().plot()
    assert problems(figure) == []
    assert any("n3 killed" in text.get_text() for text in figure.axes[0].texts)
    assert [one.get_text() for one in figure.axes[1].get_yticklabels()] == ["n1", "n2", "n3"]


def test_a_stall_is_told_by_the_timers_it_consists_of() -> None:
    phases = stall().phases
    assert sum(one.seconds for one in phases) == pytest.approx(stall().stall.seconds, abs=0.01)
    assert any("evs.suspect_timeout" in one.why for one in phases)
    text = "\n".join(stall().sentences())
    assert "1.50 s suspect timeout" in text
    figure = stall().plot()
    assert problems(figure) == []
    assert figure.axes[0].get_yticklabels()[0].get_text() == "timers and messages"


def test_a_view_change_is_told_message_by_message() -> None:
    labels = {one.label for one in window().messages}
    assert {"join", "install"} <= labels
    assert not any("writeset" in label for label in labels)
    joins = [one for one in window().messages if one.label == "join"]
    assert all({one.source, one.target} == {0, 1} for one in joins)
    assert any(line.what == "primary" for line in window().lines)
    assert problems(window().plot()) == []


def test_copies_that_are_sent_at_once_are_a_row() -> None:
    join = next(one for one in window().messages if one.label == "join")
    sent = [replace(join, source=0, target=target) for target in (1, 2, 1)]
    later = replace(sent[0], sent_s=join.sent_s + 1.0, arrived_s=nan)
    shown = str(replace(window(), messages=(*sent, later)))
    rows = [line.split() for line in shown.splitlines() if " join" in line]
    assert rows[0][2:8] == ["n1", "n2,", "n3", "join", "(3", "copies)"]
    assert rows[1][2:5] == ["n1", "n2", "join"]
    assert rows[1][-1] == "lost"


def test_its_film_stretches_messages_and_tells_what_nodes_noted() -> None:
    pace = Pace.of(window())
    times = np.array(pace.times(160))
    assert (times[0], times[-1]) == (window().from_s, window().until_s)
    assert np.all(np.diff(times) >= 0.0)
    installs = [one for one in window().messages if one.label == "install"]
    seen = [((times >= one.sent_s) & (times < one.arrived_s)).sum() for one in installs]
    assert min(seen) >= 3
    with styled():
        figure = Sheet(9.0, 5.2)
        scene = ViewChangeScene(window(), figure)
        for time_s in (window().from_s, installs[0].sent_s, window().until_s):
            scene.show(time_s)
            assert problems(figure) == []
            said = {one.get_text() for one in figure.axes[0].texts if one.get_visible()}
            assert "n3 killed" in said
            assert ("install" in " ".join(said)) == (time_s == installs[0].sent_s)
    assert "primary component n1, n2" in {text.replace("\n", " ") for text in said}


def test_a_film_shows_which_links_are_cut_who_is_gone_and_who_comes_back() -> None:
    faults = [
        {"what": "cut", "node": "n2", "at_s": 1.0, "until_s": 2.0},
        {"what": "leave", "node": "n3", "at_s": 3.0},
        {"what": "restart", "node": "n3", "at_s": 3.5},
    ]
    load = {"think_time_ms": 100, "threads": 2}
    tables = {"cluster": {"model": "galera"}, "workload": load, "fault": faults}
    found = explain_window({**tables, "run": {"duration_s": 5}}, from_s=0.5, until_s=3.7)
    with styled():
        scene = ViewChangeScene(found, Sheet(9.0, 5.2))
    scene.show(1.5)
    plain = [ends for ends, link in scene.ring.links.items() if link.get_linestyle() == "-"]
    assert plain == [(0, 2)]
    for time_s, state in ((2.5, "in"), (3.2, "gone"), (3.6, "back")):
        scene.show(time_s)
        assert scene.ring.discs[2].get_color() == STATES[state][0], time_s


def test_a_time_needs_both_ends_and_a_fault_has_to_be_there() -> None:
    with pytest.raises(ScenarioError, match="n3-dies"):
        explain_window(TOML, fault="n3-dyes")
    with pytest.raises(ScenarioError, match="both ends"):
        explain_window(TOML, from_s=1.0)


def test_the_command_line_shows_it(tmp_path, monkeypatch) -> None:
    path = tmp_path / "dies.toml"
    path.write_text(TOML)
    shown = CliRunner().invoke(app, ["explain", str(path), "--from", "0.99s", "--until", "1.01s"])
    assert shown.exit_code == 0, shown.output
    assert "n3 killed" in shown.output
    monkeypatch.setattr(films, "_MOST", 10)
    film = tmp_path / "dies.gif"
    time = ["--from", "0.99s", "--until", "1.01s"]
    CliRunner().invoke(app, ["explain", str(path), *time, "--film", str(film)])
    assert film.read_bytes().startswith(b"GIF")
    for wrong in (["--from", "1s", "--stall"], ["--stall", "--film", "stall.gif"],
                  ["--fault", "0", "--film", "dies.avi"]):  # fmt: skip
        assert CliRunner().invoke(app, ["explain", str(path), *wrong]).exit_code == 2


def test_an_mp4_is_made_where_there_is_ffmpeg(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(films, "_FEWEST", 2)
    film = tmp_path / "dies.mp4"
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ScenarioError, match="ffmpeg"):
        window().animate(film, seconds=0.2)
    program = tmp_path / "ffmpeg"
    program.write_text(f'#!{sys.executable}\nimport sys\nseen = sys.stdin.buffer.read()\n'
                       'open(sys.argv[-1], "wb").write(b"%d" % len(seen))\n')  # fmt: skip
    program.chmod(0o755)
    window().animate(film, seconds=0.2)
    assert int(film.read_bytes()) == 2 * 720 * 416 * 4  # frames of 4 bytes a pixel
