"""The film of one transaction: where the messages are, what the clock says, and the files."""

import gc
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from PIL import Image

from simrep.errors import ScenarioError
from simrep.show.plot.breakdown import STAGE_COLOURS
from simrep.show.plot.style import Sheet, styled
from simrep.show.plot.why.animation import Scene, film_times
from simrep.why.commit import Explanation
from tests.explained import BEGAN_S, explained, explanations


def scene(explanation: Explanation, ms: float) -> Any:
    """The axes of the nodes at a time after the begin of the transaction."""
    with styled():
        figure = Sheet(9.0, 5.2)
        Scene(explanation, figure).show(explanation.started_s + ms / 1e3)
    return figure.axes[0]


def texts(axes: Any) -> list[str]:
    return [one.get_text() for one in (*axes.texts, *axes.figure.texts) if one.get_text()]


def dots(axes: Any) -> list[tuple[float, float]]:
    """Messages on their way: small markers without a line."""
    lines = [one for one in axes.get_lines() if one.get_linestyle() == "None"]
    small = [one for one in lines if one.get_markersize() < 20]
    return [place for one in small for place in zip(*one.get_data(), strict=True)]


def place_of(axes: Any, name: str) -> np.ndarray:
    return np.array(next(one for one in axes.texts if one.get_text() == name).get_position())


def test_a_message_is_as_far_as_its_time_says() -> None:
    axes = scene(explained(), 62.065)  # writeset 17 is half-way to n3, the gap of n2 too
    assert {"writeset 17", "gap"} <= set(texts(axes))
    half = 0.5 * (place_of(axes, "n1") + place_of(axes, "n3"))
    assert min(np.hypot(*(half - place)) for place in dots(axes)) < 0.06
    assert len(dots(axes)) == 2
    assert dots(scene(explained(), 0.5)) == []


def test_what_happens_is_written_beside_the_nodes() -> None:
    said = texts(scene(explained(), 95.0))
    assert "order" in said
    assert "commit order:\nwaits for writeset 16" in said
    assert "95.0 ms" in said
    assert "order: gap of n3, which it sent when writeset 17 arrived there" in said
    said = texts(scene(explained(), 129.0))
    assert {"committed", "answered after 128 ms"} <= set(said)


def test_the_origin_has_the_colour_of_the_present_stage() -> None:
    for ms, stage in ((30.0, "send window"), (60.0, "order")):
        discs = [one for one in scene(explained(), ms).get_lines() if one.get_markersize() > 20]
        assert discs[0].get_color() == STAGE_COLOURS[stage]


def test_too_many_messages_of_others_are_not_shown() -> None:
    gap = explained().messages[2]
    many = tuple(gap for _ in range(61))
    assert len(dots(scene(explained(messages=many[:60]), 20.0))) == 60
    assert dots(scene(explained(messages=many), 20.0)) == []


@settings(max_examples=60)
@given(explanations())
def test_the_frames_cover_the_time_in_order(explanation: Explanation) -> None:
    times = film_times(explanation, 96)
    assert len(times) == 96
    assert times[0] == explanation.started_s
    assert times[-1] == explanation.until_s
    assert np.all(np.diff(times) >= 0.0)


def test_the_film_is_slow_while_a_message_of_the_transaction_travels() -> None:
    quiet = explained(messages=tuple(one for one in explained().messages if one.own))
    for explanation, least in ((explained(), 1.5), (quiet, 3.0)):
        times = film_times(explanation, 96) - BEGAN_S
        steps = np.diff(times)
        travelling = (times[:-1] > 0.043) & (times[1:] < 0.082)
        waiting = (times[:-1] > 0.001) & (times[1:] < 0.014)
        assert steps[waiting].mean() > least * steps[travelling].mean()
    assert ((times > 0.04203) & (times < 0.0423)).sum() >= 2  # 0.3 ms to the near node are seen


@settings(max_examples=5)
@given(explanations())
def test_any_instant_can_be_drawn(explanation: Explanation) -> None:
    for time_s in film_times(explanation, 5):
        scene(explanation, 1e3 * (time_s - explanation.started_s))


@pytest.fixture
def few_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight a second, however short the film is."""
    monkeypatch.setattr("simrep.show.plot.why.film._FEWEST", 2)


@pytest.mark.usefixtures("few_frames")
def test_a_page_holds_all_frames_and_fetches_nothing(tmp_path: Path) -> None:
    path = tmp_path / "film.html"
    explained().animate(path, seconds=1.0)
    page = path.read_text(encoding="utf-8")
    assert len(re.findall(r'frames\[\d+\] = "data:image/png;base64', page)) == 8
    assert "http" not in page
    assert ".fa-play:before" in page
    assert len(page) < 1_000_000


@pytest.mark.usefixtures("few_frames")
def test_a_gif_has_a_picture_per_frame(tmp_path: Path) -> None:
    path = tmp_path / "film.gif"
    explained().animate(path, seconds=1.0)
    with Image.open(path) as film:
        assert film.format == "GIF"
        assert film.n_frames > 4  # frames that are equal are one
        assert film.info["duration"] == pytest.approx(125, abs=10)


@pytest.mark.usefixtures("few_frames")
def test_a_notebook_shows_the_film() -> None:
    assert "data:image/png" in explained().animate(seconds=0.3)._repr_html_()


def test_a_film_that_nobody_looks_at_is_no_mistake() -> None:
    explained().animate()
    gc.collect()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"path": "film.avi"}, "must end in .html, .gif or .mp4"),
        ({"seconds": 0.0}, "must be above 0"),
        ({"seconds": float("inf")}, "must be above 0 and finite"),
    ],
)
def test_what_cannot_be_made_is_refused(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        explained().animate(**arguments)
