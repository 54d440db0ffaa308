"""Every name that a file gives is data in every output: text, HTML, SVG, JSON, traces and films."""

import csv
import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
import rich.markup
from typer.testing import CliRunner

import simrep
from simrep.cli import app
from simrep.runs.batch import figures_of
from simrep.show.plot.why import film as films
from tests.hostile_names import (
    HOSTILE,
    assert_plain_html,
    assert_plain_picture,
    named_everywhere,
)
from tests.server_files import GALERA_CNF, write
from tests.small_dataset import change, write_dataset

TITLE, LINK, SCRIPT, FORMULA, HIDDEN, *_ = HOSTILE
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    """No text of a result is read as markup, and none as emoji."""

    def refused(*_: Any, **__: Any) -> Any:
        raise AssertionError("markup")

    for module in ("rich.console", "rich.text"):
        monkeypatch.setattr(f"{module}.render_markup", refused, raising=False)
    monkeypatch.setattr(rich.markup, "render", refused)
    monkeypatch.setattr("rich.console._emoji_replace", refused)


def squeezed(text: str) -> str:
    return "".join(text.split())


def assert_shown(result: Any, *names: str) -> None:
    """All views of a result hold these names as they are."""
    for text in (str(result), assert_plain_html(result._repr_html_())):
        for name in names:
            assert squeezed(name) in squeezed(text)
    content = json.dumps(result.to_dict(), allow_nan=False)
    assert json.loads(content) == result.to_dict()


@pytest.fixture(scope="module")
def ran() -> simrep.Result:
    return simrep.run(named_everywhere(), replications=2)


def test_a_run(ran: simrep.Result) -> None:
    assert ran.classes.keys() == set(HOSTILE)
    text = str(ran)
    for name in HOSTILE:
        assert squeezed(name) in squeezed(text)
    assert list(ran.counters) == [SCRIPT, FORMULA, HIDDEN]
    assert_shown(ran, *HOSTILE)
    assert FORMULA in assert_plain_picture(ran.plot())
    assert assert_plain_html(ran.nodes._repr_html_())
    assert FORMULA in assert_plain_picture(ran.nodes.plot())


def test_a_scenario_shows_itself_and_reads_what_it_wrote() -> None:
    scenario = simrep.load(named_everywhere())
    assert_plain_html(scenario._repr_html_())
    assert simrep.load(scenario.to_toml()) == scenario


def test_a_sweep() -> None:
    over = {name: {one: {"workload.threads": count} for count, one in enumerate(HOSTILE[:3], 1)}
            for name in HOSTILE[:1]}  # fmt: skip
    over[LINK] = {
        HIDDEN: {"network.rtt_ms": 1},
        FORMULA: {"network.rtt_ms": 2},
    }
    swept = simrep.sweep(named_everywhere(), over)
    assert_shown(swept, FORMULA, HIDDEN)
    words = assert_plain_picture(swept.plot())
    assert {f" {HIDDEN}", FORMULA} <= {*words.split("\n")}
    assert_plain_picture(swept.plot(kind="heat"))


@pytest.mark.parametrize("bad", ["n\x1b[2J", "\u202e", "\ud800"])
def test_labels_of_python_are_as_plain_as_those_of_files(bad: str) -> None:
    content = named_everywhere()
    for over in ({"x": {bad: {"network.rtt_ms": 1}}}, {bad: {"y": {"network.rtt_ms": 1}}}):
        with pytest.raises(simrep.ScenarioError, match="which cannot be shown"):
            simrep.sweep(content, over)
    with pytest.raises(simrep.ScenarioError, match="which cannot be shown"):
        simrep.compare(content, content, labels=("A", bad))


def test_a_comparison_an_effect_and_closed_forms() -> None:
    classes = [{"name": LINK, "statements": 0, "reads": 1}, {"name": TITLE}]
    scenario = named_everywhere(
        workload={"class": classes, "nodes": [SCRIPT]}, run={"duration_s": 0.3}
    )
    compared = simrep.compare(
        scenario,
        {**scenario, "workload": {**scenario["workload"], "threads": 2}},
        figures=["throughput_tps"],
        labels=(HIDDEN, TITLE),
        replications=2,
    )
    assert_shown(compared, HIDDEN, TITLE)
    assert_plain_picture(compared.plot())
    ranges = {"network.rtt_ms": (1.0, 9.0)}
    moved = simrep.sensitivity(scenario, over=ranges, points=2, repeats=3)
    assert_shown(moved, TITLE)
    assert_plain_picture(moved.plot())
    assert_shown(simrep.analytic(scenario), TITLE)


def test_explanations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    why = simrep.explain(named_everywhere(), txn="slowest")
    assert_shown(why, SCRIPT)
    assert SCRIPT in assert_plain_picture(why.plot())
    trace = why.trace(tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text()) == trace
    monkeypatch.setattr(films, "_FEWEST", 2)
    film = why.animate(seconds=0.2).to_jshtml()
    assert not any(name in film for name in (SCRIPT, LINK))
    tail = simrep.explain_tail(named_everywhere())
    assert_shown(tail)
    assert_plain_picture(tail.plot())
    stall = simrep.explain_stall(named_everywhere(), longer_than_s=0.001)
    assert_shown(stall)
    assert_plain_picture(stall.plot())


def test_answers_to_inverse_questions() -> None:
    classes = [{"name": LINK, "statements": 0, "reads": 1}, {"name": TITLE}]
    scenario = named_everywhere(workload={"class": classes, "nodes": [HIDDEN]}, network={})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", simrep.ShortRunWarning)
        answer = simrep.plan(
            scenario, "rtt", objective="tps>=20", within=(1.0, 9.0), replications=4
        )
    assert_shown(answer)
    assert_plain_picture(answer.plot())


def hostile(text: str, names: dict[str, str]) -> str:
    for plain, name in names.items():
        text = text.replace(plain, name)
    return text


def test_a_dataset(tmp_path: Path) -> None:
    place = write_dataset(tmp_path / "[link=x]$_{<script>")
    system, delay = "_<script>$x_1^{", "[/]$_ms"
    definition = (place / "dataset.toml").read_text()
    for old, new in (
        ("A small dataset", LINK),
        ("made up", SCRIPT),
        ("run time", FORMULA),
        ("factors.delay_ms", f"factors.'{delay}'"),
        ("\ndelay_ms", f"\n'{delay}'"),
        ('"delay_ms"', f"'{delay}'"),
        ('title = "Galera"', f"title = '{TITLE}'"),
        ('system = "galera"', f"system = '{system}'"),
        ("wide windows", HIDDEN),
    ):
        assert old in definition
        definition = definition.replace(old, new.replace('"', "'"))
    (place / "dataset.toml").write_text(definition)
    change(place, "data.csv", "delay_ms", delay)
    data = (place / "data.csv").read_text().replace("galera", system)
    (place / "data.csv").write_text(data)
    done = simrep.reproduce(place)
    assert_shown(done, TITLE, SCRIPT, FORMULA)
    assert_plain_picture(done.plot())
    scored = simrep.validate([place])
    assert_shown(scored, TITLE)
    assert_plain_picture(scored.plot())


def test_files_of_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    escapes = "\x1b]0;owned\x07\x1b[2J\u202e"
    options = "\n".join(f"loose_{number} = {name}" for number, name in enumerate(HOSTILE))
    text = f"{GALERA_CNF}\n[mysqld]\n{options}\nloose_{escapes} = {escapes}\n"
    write(tmp_path, "a\nb\x1b.cnf", text)
    done = CliRunner().invoke(app, ["from-server", "--mycnf", "a\nb\x1b.cnf", "--out", "mine"])
    assert done.exit_code == 0, done.output
    for character in "\x1b\x07\u202e":
        assert character not in done.output
    for name in HOSTILE[2:-1]:
        assert squeezed(name.partition(";")[0]) in squeezed(done.stdout)
    assert simrep.load("mine.toml").cluster.model == "galera"
    assert "\x1b" not in (tmp_path / "mine.toml").read_text()


def test_no_cell_of_a_table_is_a_formula(tmp_path: Path) -> None:
    names = ["=1+1", "+1", "-1", "@sum", "plain"]
    levels = {name: {"workload.threads": 1} for name in names}
    load = {"cluster": {"model": "standalone"}, "workload": {"transactions_per_client": 2}}
    simrep.sweep(load, {"=level": levels}).save(tmp_path / "rows.csv")
    head, *rows = csv.reader((tmp_path / "rows.csv").read_text().splitlines())
    assert head[0] == "'=level"
    assert [row[0] for row in rows] == ["'=1+1", "'+1", "'-1", "'@sum", "plain"]


def test_words_of_results_are_made_in_one_place() -> None:
    for folder in ("simrep", "models"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text()
            if path.name != "layout.py":
                assert "rich.text import" not in text, path
                assert not re.search(r"(?<!\w)Table\(\w+=", text), path
            if path.name not in {"views.py", "progress.py"}:  # the latter escapes
                assert not re.search(r"(?<!\w)Console\(", text), path


def test_names_with_dots_and_slashes_have_figures() -> None:
    classes = [{"name": name} for name in ("x", "x.y", "y/x")]
    scheduled = [{"name": "big.one", "at_s": 0.01}]
    names = ["a", "a/cpu", "db.eu/redo"]
    done = simrep.run(
        {
            "cluster": {"model": "galera", "nodes": names},
            "workload": {"threads": 6, "nodes": ["*"], "class": classes, "scheduled": scheduled},
            "run": {"duration_s": 0.1},
        }
    )
    for path, value in {
        "nodes.db.eu/redo.committed": done.nodes["db.eu/redo"].committed,
        'nodes."db.eu/redo".committed': done.nodes["db.eu/redo"].committed,
        "classes.x.committed": done.classes["x"].committed,
        "classes.x.y.committed": done.classes["x.y"].committed,
        "classes.'x.y'.latency_s.p50": done.classes["x.y"].latency.percentile(50),
        "scheduled.big.one.duration_s": done.scheduled["big.one"].duration_s,
    }.items():
        assert figures_of(done, [path]) == (value,), path
    with pytest.raises(simrep.ScenarioError, match=r"no 'db' here .valid: a, a/cpu, db.eu/redo"):
        figures_of(done, ["nodes.db.us.committed"])


def test_sliders_and_their_words() -> None:
    pytest.importorskip("ipywidgets")
    levels = {
        SCRIPT: {"workload.threads": 1},
        HIDDEN: {"workload.threads": 2},
    }
    box = simrep.explore(named_everywhere(), sliders={LINK: levels}).widget()
    [words] = [child for child in box.children if type(child).__name__ == "HTML"]
    style, end, told = words.value.partition("</style>")  # of ours, before all names
    assert_plain_html(told if end else style)
    assert not box.children[0].description_allow_html


def test_pictures_with_long_names_have_room_for_their_axes() -> None:
    names = tuple((f"{number}" + "-db.production.example" * 9)[:190] for number in range(9))
    content = named_everywhere(names)
    for result in (
        simrep.run(content),
        simrep.explain(content),
        simrep.explain_stall(content, longer_than_s=0.001),
    ):
        assert "…" in assert_plain_picture(result.plot())  # and matplotlib warns of nothing
