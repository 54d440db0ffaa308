"""The picture of the slowest transactions: bars by stage, the network floor, and the blockers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simrep.show.plot.breakdown import STAGE_COLOURS
from simrep.why.tail import Blocker, TailExplanation, TailStage

ORDER = Blocker("update on n1", "stage order", 0.069)
OTHERS = (Blocker("update on n1", "being executed", 0.004), Blocker("keepalive of n2", "", 0.001))


def tail(**changes: Any) -> TailExplanation:
    stages = (
        TailStage("lock wait", 0.074, 0.005, 0.0, 0.074, 0.76, (ORDER, *OTHERS)),
        TailStage("send window", 0.023, 0.015, 0.0, 0.023, 0.24, ()),
        TailStage("order", 0.081, 0.081, 0.081, 0.0, 0.0, ()),
    )
    return TailExplanation(
        **{
            "share": 0.05, "transactions": 92, "committed": 1830, "from_s": 0.162,
            "latency_s": 0.178, "rest_s": 0.101, "floor_s": 0.081, "stages": stages,
            "model": "galera", "seed": 1, "replication": 0, "scenario": {"name": "two sites"},
            "versions": {},
        } | changes
    )  # fmt: skip


def names(figure: Any) -> list[str]:
    return [one.get_text() for one in figure.axes[0].get_yticklabels()]


def test_a_bar_per_stage_above_the_floor_and_one_for_the_floor() -> None:
    figure: Any = tail().plot()
    assert names(figure) == ["lock wait", "send window", "network floor"]
    bars = figure.axes[0].patches
    assert [one.get_width() for one in bars] == pytest.approx([74.0, 23.0, 81.0])
    assert bars[0].get_facecolor()[:3] == pytest.approx(
        [int(STAGE_COLOURS["lock wait"][i : i + 2], 16) / 255 for i in (1, 3, 5)]
    )
    assert figure.axes[0].get_xlabel().endswith("(ms)")


def test_time_share_and_blockers_stand_beside_the_bars() -> None:
    said = [one.get_text().replace("\n", " ") for one in tail().plot().axes[1].texts]
    assert {"74 ms", "76 %", "23 ms", "24 %", "81 ms"} <= set(said)
    assert "93 % update on n1 (order); 5 % update on n1 (being executed)" in said
    assert not any("keepalive" in text for text in said)


def test_the_title_compares_with_the_others() -> None:
    text = "the slowest 5 % of 1,830 transactions: 178 ms, the others 101 ms"
    assert tail().plot().get_suptitle() == f"two sites: {text}"
    assert tail(scenario={}).plot().get_suptitle() == f"T{text[1:]}"


def test_a_run_without_anything_above_the_floor_can_be_drawn(tmp_path: Path) -> None:
    nothing = tuple(replace(one, above_s=0.0) for one in tail().stages)
    figure = tail(stages=nothing, floor_s=0.0).plot(tmp_path / "tail.png")
    assert names(figure) == ["network floor"]
    assert (tmp_path / "tail.png").read_bytes().startswith(b"\x89PNG")
