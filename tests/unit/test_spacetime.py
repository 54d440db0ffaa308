"""The picture of one transaction: what is drawn, named, and left out."""

from dataclasses import replace
from itertools import combinations
from math import isfinite
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from matplotlib.patches import FancyArrowPatch, Rectangle

from simrep.show.plot.breakdown import STAGE_COLOURS
from simrep.why.commit import Explanation, Transmission
from simrep.workload.laps import LAPS
from tests.explained import BEGAN_S, explained, explanations, scaled, staged

THICK = 2.5


def arrows(figure: Any) -> list[Any]:
    return [one for one in figure.axes[0].patches if isinstance(one, FancyArrowPatch)]


def bars(axes: Any) -> list[Any]:
    return [one for one in axes.patches if isinstance(one, Rectangle) and one.get_zorder() == 3]


def texts(axes: Any) -> list[str]:
    return [one.get_text() for one in axes.texts]


def line_of(figure: Any, name: str) -> float:
    axes = figure.axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    return float(axes.get_yticks()[names.index(name)])


def foreign(explanation: Explanation, number: int) -> Explanation:
    message = Transmission(
        0, 1, 2, "gap", 110, BEGAN_S, BEGAN_S + 0.02, BEGAN_S + 0.02, None, False, False
    )
    messages = tuple(replace(message, number=position) for position in range(number))
    return replace(explanation, messages=messages)


def test_every_stage_has_a_colour() -> None:
    assert {*LAPS, "other"} <= STAGE_COLOURS.keys()


def test_messages_are_arrows_from_sending_to_arrival() -> None:
    figure = explained().plot()
    found = [(path.get_path().vertices[[0, -1]], path) for path in arrows(figure)]
    assert len(found) == 6
    thick = [path for _, path in found if path.get_linewidth() > THICK]
    assert len(thick) == 2
    places = [path._posA_posB for path in thick]  # there is no public way to ask an arrow
    (out, there), (_, back) = places
    assert (out[0], there[0]) == pytest.approx((42.03, 82.1))
    assert back[0] == pytest.approx(122.3)
    assert there[1] == line_of(figure, "n3")
    (others,) = figure.axes[0].collections[-1:]
    assert len(others.get_segments()) == 3


def test_messages_of_the_transaction_are_named_and_others_are_not() -> None:
    said = texts(explained().plot().axes[0])
    # The second node is so near that its arrows are upright, with no room for a name.
    assert said.count("writeset 17") == 1
    assert said.count("gap") == 3
    assert "writeset 15" not in said


def test_arrows_that_lie_on_each_other_share_a_label() -> None:
    messages = explained().messages
    same = tuple(replace(messages[4], number=9 + number) for number in range(3))
    other = replace(messages[4], number=12, label="writeset 18")
    said = texts(explained(messages=(*messages, *same, other)).plot().axes[0])
    assert "writeset 17 (4), 18" in said


def test_too_many_messages_of_others_are_left_out_and_counted() -> None:
    few, many = foreign(explained(), 60).plot(), foreign(explained(), 61).plot()
    assert len(few.axes[0].collections[-1].get_segments()) == 60
    assert not arrows(many)
    said = "\n".join(text for axes in many.axes for text in texts(axes))
    assert "61 messages of others are not drawn" in said
    assert "not drawn" not in "\n".join(text for axes in few.axes for text in texts(axes))


def test_waits_are_shaded_on_the_line_of_the_origin_in_the_colour_of_their_stage() -> None:
    figure = explained().plot()
    line = line_of(figure, "n1")
    shaded = {
        one.get_x(): (one.get_width(), one.get_facecolor())
        for one in bars(figure.axes[0])
        if one.get_y() < line < one.get_y() + one.get_height()
    }
    assert len(shaded) == 8  # without the client's
    began, (width, _) = next(item for item in shaded.items() if item[0] > 19.0)
    assert (began, width) == pytest.approx((20.0, 22.0))
    assert {"lock wait", "send window", "order"} <= set(texts(figure.axes[0]))


def test_other_nodes_show_what_they_do_for_the_transaction() -> None:
    figure = explained().plot()
    line = line_of(figure, "n3")
    found = [one for one in bars(figure.axes[0]) if abs(one.get_y() - line) < 0.3]
    assert [one.get_x() for one in found] == pytest.approx([82.6, 91.0, 97.5])
    legend = [text.get_text() for text in figure.axes[2].get_legend().get_texts()]
    assert "elsewhere: applier" in legend
    assert not any("send monitor" in text for text in legend)  # the origin's are its stages


def test_the_client_has_a_line_when_its_time_is_seen() -> None:
    stages = ("client", 30.0, ""), ("execute", 1.0, ""), ("order", 60.0, "")
    names = [one.get_text() for one in staged(*stages).plot().axes[0].get_yticklabels()]
    assert names == ["client 3", "n1", "n2", "n3"]
    names = [one.get_text() for one in explained(node=1).plot().axes[0].get_yticklabels()]
    assert names == ["n2", "n1", "n3"]


def test_the_waterfall_has_a_row_per_stage_with_its_figures() -> None:
    figure = explained().plot()
    below, table = figure.axes[1], figure.axes[3]
    assert [one.get_text() for one in below.get_yticklabels()][2:5] == [
        "lock wait", "send window", "order"
    ]  # fmt: skip
    said = texts(table)
    assert {"18.0 ms", "14 %", "client 4 held row 1,204", "60.0 us", "<0.1 %"} <= set(said)
    assert [one.get_x() for one in below.patches][:3] == pytest.approx([0.0, 1.1, 2.0])


def test_many_stages_share_a_row_by_name() -> None:
    statement = [("client", 1.0, ""), ("execute", 2.0, ""), ("lock wait", 3.0, "client 9")]
    figure = staged(*statement * 7, ("order", 40.0, "")).plot()
    names = [one.get_text() for one in figure.axes[1].get_yticklabels()]
    assert names == ["client (7 times)", "execute (7 times)", "lock wait (7 times)", "order"]
    assert len(figure.axes[1].patches) == 22
    assert {"21.0 ms", "26 %", "client 9"} <= set(texts(figure.axes[3]))


def test_a_stage_that_takes_nothing_is_still_found() -> None:
    figure = staged(("execute", 0.0, ""), ("order", 120.0, ""), ("commit", 1e-5, "")).plot()
    pens = [one for one in figure.axes[1].collections if one.get_linewidth()[0] >= 2.0]
    assert len(pens) == 3
    assert {"0 s", "0 %", ">99.9 %"} <= set(texts(figure.axes[3]))


@pytest.mark.parametrize(
    ("factor", "unit", "end"),
    [(1e-3, "us", 130.0), (0.1, "ms", 13.0), (1.0, "ms", 130.0), (1e3, "s", 130.0)],
)
def test_the_unit_of_the_time_axis_fits(factor: float, unit: str, end: float) -> None:
    axes = scaled(explained(), factor).plot().axes[1]
    assert axes.get_xlabel() == f"time since the transaction began ({unit})"
    assert axes.get_xlim()[1] == pytest.approx(1.012 * end)


def test_a_commit_that_waits_for_no_replica_has_a_waterfall_of_its_own_time() -> None:
    figure = staged(("execute", 0.2, ""), ("flush", 0.9, "")).plot()
    above, below = figure.axes[:2]
    assert above.get_xlim()[1] == pytest.approx(1.012 * 130.0)
    assert above.get_xlabel() == "time since the transaction began (ms)"
    assert below.get_xlim()[1] == pytest.approx(1.012 * 1.1)
    shared = explained().plot()
    assert shared.axes[0].get_xlim() == shared.axes[1].get_xlim()


def test_no_label_covers_another() -> None:
    axes = explained().plot().axes[0]
    extents = [one.get_window_extent() for one in axes.texts]
    assert len(extents) > 10
    assert not any(one.overlaps(other) for one, other in combinations(extents, 2))


def test_the_title_tells_which_transaction() -> None:
    figure = explained().plot()
    assert figure.get_suptitle() == (
        "two sites: transaction 17 (update) of n1, the slowest of 3,000"
    )
    assert "answer after 128 ms" in texts(figure.axes[0])
    assert explained(scenario={}).plot().get_suptitle().startswith("transaction 17")


def test_it_is_saved_as_png_and_svg(tmp_path: Path) -> None:
    explained().plot(tmp_path / "why.png")
    explained().plot(tmp_path / "why.svg")
    assert (tmp_path / "why.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "why.svg").read_text()


@settings(max_examples=6)
@given(explanations())
def test_anything_can_be_drawn(explanation: Explanation) -> None:
    figure = explanation.plot()
    own = [m for m in explanation.messages if (m.own or m.critical) and isfinite(m.arrived_s)]
    assert len(arrows(figure)) == len(own)


def test_among_many_arrows_what_goes_to_all_is_named_once() -> None:
    size = 5
    sent = [
        Transmission(
            source * size + target, source, target, f"report {source}", 110,
            BEGAN_S + 0.05, BEGAN_S + 0.09, BEGAN_S + 0.09, None, True, False,
        )
        for source in range(size)
        for target in range(size)
        if source != target
    ]  # fmt: skip
    nodes = tuple(f"n{number}" for number in range(size))
    many = texts(explained(nodes=nodes, messages=tuple(sent), activities=()).plot().axes[0])
    assert all(many.count(f"report {source}") == 1 for source in range(size))
    few = texts(explained(nodes=nodes, messages=tuple(sent[:4]), activities=()).plot().axes[0])
    assert few.count("report 0") == 4
