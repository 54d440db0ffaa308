"""What a rolling restart costs, as ``simrep plan`` tells it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import simrep

SCENARIO: dict[str, Any] = {
    "cluster": {"model": "semisync"},
    "workload": {"rate_tps": 40, "nodes": ["n1"], "clients": {"on_error": "next"}},
    "run": {"duration_s": 5.0},
}


def test_the_answer_is_the_sum_of_its_steps(tmp_path: Path) -> None:
    answer = simrep.plan(
        SCENARIO, "rolling-restart", down_s=2.0, pause_s=1.0, replications=2, jobs=1
    )
    steps = answer.to_frame()
    assert list(steps["node"][:3]) == ["n2", "n3", "n1"]
    totals = steps.groupby("replication")["duration_s"].sum()
    assert answer.value == pytest.approx(totals.median(), abs=1e-9)
    assert answer.low <= answer.value <= answer.high
    assert set(steps["serving"]) == {2.0}
    assert "at the fewest 2 of 3 serve" in answer.sentence
    assert "n1" in str(answer)
    answer.plot(tmp_path / "restart.png")


def test_a_first_look_repeats_it_less_often() -> None:
    answer = simrep.plan(
        SCENARIO, "rolling-restart", down_s=0.1, pause_s=0.1, nodes=["n2"], quick=True, jobs=1
    )
    assert len(answer.runs) == 2  # else 4
    own = simrep.plan(
        SCENARIO,
        "rolling-restart",
        down_s=0.1,
        pause_s=0.1,
        nodes=["n2"],
        quick=True,
        replications=3,
        jobs=1,
    )
    assert len(own.runs) == 3


def test_it_plays_the_procedure_itself() -> None:
    own = {"what": "rolling-restart", "at_s": 1.0}
    with pytest.raises(simrep.ScenarioError, match="plays a procedure itself"):
        simrep.plan(SCENARIO | {"procedure": [own]}, "rolling-restart")
