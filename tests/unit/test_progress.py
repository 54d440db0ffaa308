"""What there is to see of long work: estimates, bars, silence, and that nothing changes by it."""

import io
import re
import time

import pytest

import simrep
from simrep.runs import progress
from simrep.runs.progress import Work, in_words, uncounted, watched
from tests.whatif_scenarios import wan

SHORT = {"duration_s": 1, "warmup_s": 0.2}
ESTIMATE = re.compile(r"About \d+ (s|min|h) to go")
ENOUGH = 1000  # looks at what is printed; only a broken machine or program needs as many


@pytest.fixture
def clock(monkeypatch):
    """A time that the test sets."""
    now = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def impatient(monkeypatch):
    """Everything takes long."""
    for name, seconds in (("PATIENCE_S", 0.0), ("LONG_S", 0.0), ("_LOOK_S", 0.001)):
        monkeypatch.setattr(progress, name, seconds)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(stream, words):
    """Wait until something is printed."""
    for _ in range(ENOUGH):
        if words in stream.getvalue():
            return True
        time.sleep(0.01)
    return False


def test_the_time_that_is_left_is_as_long_as_what_is_done_took(clock):
    work = Work()
    assert work.left_s() is None
    work.expect(10, 1, 0)
    clock[0] = 8.0
    assert work.left_s() is None  # nothing tells it yet
    work.update(2, 10)
    assert work.left_s() == pytest.approx(32.0)
    work.update(10, 10)
    assert work.left_s() == 0.0


def test_runs_under_way_count_by_their_clock(clock):
    work = Work()
    clock[0] = 5.0  # a pilot before it takes no part in the estimate
    work.expect(3, 2, 0)  # three pairs of two runs
    clock[0] = 6.0
    work.piece(lambda: 0.5)
    assert work.left_s() == pytest.approx(11.0)  # a quarter of a pair in 1 s: 12 s in all
    work.piece(None)
    assert work.part == pytest.approx(0.5)
    work.piece(lambda: 1.0)
    assert work.part == pytest.approx(0.99)  # until the pair is handed on


def test_pilots_of_a_point_do_not_pass_for_its_runs(clock):
    with watched(quiet=True) as work:
        work.expect(3, 1, 0, runs=2)  # three points of two runs, each after a pilot
        with uncounted():
            work.piece(lambda: 0.5)
            clock[0] = 4.0
            assert work.left_s() is None
            work.piece(None)
        clock[0] = 5.0
        work.piece(lambda: 0.5)
        assert work.left_s() == pytest.approx(11.0 + 8.0)  # a quarter of a point in 1 s; pilots
        work.piece(None)
        assert work.part == pytest.approx(0.5)
        work.others = lambda: (0, 1)  # another point, half of which is taken to be done
        assert work.part == pytest.approx(1.0)


def test_parts_that_are_more_work_take_longer(clock):
    work = Work()
    work.expect(2, 2, 0, (1.0, 9.0))
    clock[0] = 1.0
    work.piece(lambda: 1.0)
    assert work.left_s() == pytest.approx(19.0)  # half of a tenth
    work.update(1, 2)
    clock[0] = 2.0
    assert work.left_s() == pytest.approx(18.0)


def test_an_estimate_that_was_wrong_is_said_anew(clock):
    work, said = Work(), io.StringIO()
    work.expect(100, 1, 0)

    class Over:
        def wait(self, seconds):
            clock[0] += seconds
            work.update(min(int(clock[0]), 6) if clock[0] < 30.0 else 30, 100)  # it gets slow
            return clock[0] > 500.0

    work.update(5, 100)
    progress._watch(work, Over(), said, None)
    first, *later = said.getvalue().splitlines()
    assert first == "About 2 min to go, 2 of 100 done."
    assert 1 <= len(later) <= 3
    assert all(ESTIMATE.match(line) for line in later)


def test_what_was_known_before_takes_no_time(clock):
    work = Work()
    work.expect(10, 1, 8)
    clock[0] = 3.0
    work.update(9, 10)
    assert work.left_s() == pytest.approx(3.0)


def test_an_estimate_is_never_told_as_less_than_it_is():
    for seconds in (0.2, 4.4, 31.0, 61.0, 3600.0, 90_000.0):
        number, unit = in_words(seconds).split()
        assert float(number) * {"s": 1.0, "min": 60.0, "h": 3600.0}[unit] >= seconds * 0.99


def test_work_that_takes_long_says_so_once(impatient, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with watched("work", bar=True) as work:
        work.expect(4, 1, 0)
        work.piece(lambda: 0.5)
        assert shown(stream, "to go, 0 of 4 done.")
        work.update(1, 4)
        time.sleep(0.02)
    assert len(ESTIMATE.findall(stream.getvalue())) == 1
    assert "\x1b" not in stream.getvalue()  # no bar where there is no terminal


def test_a_terminal_has_a_bar_with_count_and_time(impatient, monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    with watched("[work]", bar=True) as work:
        work.expect(4, 1, 0)
        work.update(1, 4)
        assert shown(stream, "1/4")
        assert shown(stream, "left")
    assert "[work]" in stream.getvalue()


def test_short_work_says_nothing(capsys):
    simrep.run(wan(run=SHORT))
    assert capsys.readouterr().err == ""


def test_watching_changes_no_number(impatient, capsys):
    quiet = simrep.run(wan(run=SHORT), replications=2, progress=False)
    assert capsys.readouterr().err == ""
    assert simrep.run(wan(run=SHORT), replications=2).digest() == quiet.digest()


def slow(monkeypatch):
    """A run that the watcher surely sees: it waits for it."""
    from simrep.runs import replication

    ended = replication.piece_ended

    def wait():
        for _ in range(ENOUGH // 5):
            if said.is_set():
                break
            time.sleep(0.005)
        ended()

    said = __import__("threading").Event()
    in_words = progress.in_words
    monkeypatch.setattr(progress, "in_words", lambda left_s: (said.set(), in_words(left_s))[1])
    monkeypatch.setattr(replication, "piece_ended", wait)


SCENARIO = wan(run=SHORT)
QUESTION = {"objective": "mean<=60ms", "within": (20.0, 30.0), "replications": 4, "precision": 1.0}


@pytest.mark.parametrize(
    "ask",
    [
        lambda how: simrep.run(SCENARIO, **how),
        lambda how: simrep.compare(SCENARIO, SCENARIO, replications=2, **how),
        lambda how: simrep.sweep(SCENARIO, {"workload.threads": [1, 2]}, **how),
        lambda how: simrep.plan(SCENARIO, "rtt", **QUESTION, **how),
        lambda how: simrep.explain(SCENARIO),
    ],
    ids=["run", "compare", "sweep", "plan", "explain"],
)
@pytest.mark.filterwarnings("ignore::simrep.ShortRunWarning")
def test_every_function_tells_how_long_it_takes(ask, impatient, monkeypatch, capsys):
    slow(monkeypatch)
    told = []
    ask({"progress": lambda done, total: told.append((done, total))})
    assert len(ESTIMATE.findall(capsys.readouterr().err)) == 1
    assert all(done <= total for done, total in told)


def test_what_is_asked_inside_of_a_question_is_a_part_of_it(impatient, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with watched("outer") as work:
        work.expect(4, 1, 0)
        simrep.run(SCENARIO, replications=2)
        assert (work.done, work.total) == (0, 4)
        assert shown(stream, "0 of 4 done")
    assert len(ESTIMATE.findall(stream.getvalue())) == 1
