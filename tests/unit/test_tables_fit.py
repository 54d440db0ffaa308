"""Tables in terminals of any width: no figure is cut or folded, no column is lost."""

import random
from io import StringIO

import pytest
from rich.console import Group
from typer.testing import CliRunner

import simrep
from simrep.cli.app import app
from simrep.runs.timeline import Line, TimelineReport
from simrep.show.text.layout import FittedTable, table
from simrep.show.views import console, tables
from tests.small_dataset import write_dataset
from tests.whatif_scenarios import wan

WIDTHS = (80, 120)
LONGEST_NUMBER = 30


def printed(renderable, width):
    page = StringIO()
    console(file=page, width=width, force_terminal=False, force_jupyter=False).print(renderable)
    return page.getvalue()


def tables_in(renderable):
    if isinstance(renderable, FittedTable):
        yield renderable
    for part in renderable.renderables if isinstance(renderable, Group) else ():
        yield from tables_in(part)


def assert_fits(renderable):
    """All tables of it, at the usual widths."""
    for width in WIDTHS:
        text = printed(renderable, width)
        assert max(map(len, text.splitlines()), default=0) <= width
        for content in tables_in(renderable):
            assert_whole(content, printed(content, width))


def assert_whole(content, text):
    assert "…" not in text
    words = text.split()
    for column in content.columns:
        assert all(word in words for word in str(column.header).split()), str(column.header)
        for cell in map(str, column.cells):
            if column.justify == "right" and len(cell) <= LONGEST_NUMBER:
                assert cell in text
            if column.justify == "left":
                assert all(word in words for word in cell.split() if len(word) <= 32), cell


@pytest.fixture(scope="module")
def short():
    return wan({"run.duration_s": 1.0, "run.warmup_s": 0.2})


def test_any_table_fits():
    draw = random.Random(3)
    for _ in range(15):
        count = draw.randint(1, 14)
        heads = [" ".join(["wsrep_something"[: draw.randint(1, 15)]] * draw.randint(1, 4))
                 for _ in range(count)]  # fmt: skip
        columns = "".join(draw.choice("lLr") if place < 3 else draw.choice("rrRl")
                          for place in range(count))  # fmt: skip
        numbers = ["1,234,567.8 ms", "-", "", "0.001 .. 1,000 s", "+12.3 %"]
        texts = ["a text of several words, folded where it must be", "n1", "slow-third"]
        rows = [[draw.choice(numbers if letter in "rR" else texts[letter == "L" :])
                 for letter in columns] for _ in range(4)]  # fmt: skip
        for keys in (None, min(2, count)):
            assert_fits(Group(table(heads, columns, rows, name="A name", keys=keys, edges=True)))


def test_a_table_with_room_is_one_block():
    content = table(("figure", "value"), rows=[("a", "1"), ("b", "2")])
    assert printed(content, 40).count("figure") == 1


def test_parts_begin_with_the_columns_that_tell_rows_apart():
    heads = ("rtt_ms", "threads", *(f"a long figure number {n}" for n in range(30)))
    content = table(heads, "r", [["20", "4", *["1,234,567,890.1 ms"] * 30]], keys=2)
    text = printed(content, 80)
    assert text.count("rtt_ms") == text.count("threads") > 5
    assert_fits(content)


def test_rows_keep_their_style_and_sections():
    content = table(("figure", *["a value"] * 30), rows=[], total=())
    content.add_row("x", *["123,456"] * 30, style="green")
    page = StringIO()
    console(file=page, width=80, force_terminal=True, color_system="standard").print(content)
    assert page.getvalue().count("\x1b[32m") > 3


@pytest.mark.filterwarnings("ignore::simrep.ShortRunWarning")
def test_runs_sweeps_and_comparisons_fit(short):
    assert_fits(simrep.run(short, replications=2).tables())
    figures = ["throughput_tps", "latency_s.mean", "latency_s.p50", "latency_s.p99", "aborted"]
    over = {"network.rtt_ms": [1, 20], "workload.threads": [1, 4]}
    assert_fits(simrep.sweep(short, over, of=figures).tables())
    assert_fits(simrep.compare(short, short.replace({"network.rtt_ms": 40.0})).tables())


def test_explanations_fit(short):
    assert_fits(simrep.explain(short, txn="slowest").tables())
    assert_fits(simrep.explain_tail(short).tables())
    assert_fits(simrep.explain_stall(short, longer_than_s=0.02).tables())


def test_datasets_fits_and_validations_fit(tmp_path):
    folder = write_dataset(tmp_path / "small")
    assert_fits(simrep.reproduce(folder, replications=2).tables())
    assert_fits(simrep.validate([folder], replications=2).tables())
    assert_fits(simrep.fit(folder, replications=1, max_steps=1).tables())


@pytest.mark.parametrize("words", ["models", "models galera", "rig list"])
def test_lists_fit(words, monkeypatch):
    shown = []
    monkeypatch.setattr(f"simrep.cli.{words.split()[0]}.show", lambda one, **_: shown.append(one))
    assert CliRunner().invoke(app, words.split()).exit_code == 0
    assert list(tables_in(Group(*shown)))
    assert_fits(Group(*shown))


def test_a_time_line_folds_its_texts_and_never_its_times():
    names = [f"a-node-with-a-long-name-{n}" for n in range(5)]
    lines = tuple(Line(11.368 + n, names[n], "primary", tuple(names)) for n in range(2))
    assert_fits(tables(TimelineReport(lines)))
