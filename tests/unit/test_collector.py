"""Python's collector is as it was after a simulation."""

import gc
from collections.abc import Iterator

import pytest

import simrep
from simrep.kernel.clock import Clock

SCENARIO = {
    "cluster": {"model": "standalone"},
    "workload": {"threads": 2},
    "run": {"duration_s": 0.05, "warmup_s": 0.0, "seed": 1},
}


@pytest.fixture(autouse=True)
def _thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(701, 11, 12)
    yield
    gc.set_threshold(*before)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The thresholds while a clock runs."""
    thresholds = []
    run = Clock.run

    def watched(clock: Clock, *until: float) -> object:
        thresholds.append(gc.get_threshold())
        return run(clock, *until)

    monkeypatch.setattr(Clock, "run", watched)
    return thresholds


def test_it_looks_seldom_during_a_run_and_as_before_after_it(seen: list[tuple[int, ...]]) -> None:
    simrep.run(SCENARIO, replications=1)
    assert {first for first, _, _ in seen} == {200_000}
    assert gc.get_threshold() == (701, 11, 12)


def test_it_is_as_before_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Clock, "most_events", 10)
    with pytest.raises(simrep.SimrepError):
        simrep.run(SCENARIO, replications=1)
    assert gc.get_threshold() == (701, 11, 12)


def test_where_it_is_off_it_stays_off(seen: list[tuple[int, ...]]) -> None:
    gc.set_threshold(0)
    simrep.run(SCENARIO, replications=1)
    assert {first for first, _, _ in seen} == {0}
    assert gc.get_threshold()[0] == 0
