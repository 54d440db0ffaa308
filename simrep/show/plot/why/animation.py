"""One transaction as a film: messages travel between the nodes while a clock runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.animation import FuncAnimation
from numpy.typing import NDArray
from PIL import Image

from simrep.errors import ScenarioError
from simrep.show.plot.style import Sheet, styled
from simrep.show.plot.why.scene import Scene
from simrep.show.views import animate
from simrep.why.commit import Explanation

__all__ = ["Film", "animate_explanation", "film_times"]

_WIDTH, _HEIGHT, _DPI = 9.0, 5.2, 80  # inches, dots per inch
_PER_SECOND, _FEWEST, _MOST = 8.0, 24, 120  # frames
_COLOURS = 64

_STILL, _OTHERS = 0.25, 0.6  # lengths of a second in which nothing moves, or only what is pale
_SEEN = 3.0  # frames for the shortest flight of a message
_FOR_SHORT = 0.5  # of the frames may go to such flights
_HELD = 0.08  # of the frames show the end

_FONT = re.compile(r'<link rel="stylesheet"\s+href="https://[^"]*font-awesome[^"]*">')
_SIGNS = {
    "minus": "-",
    "fast-backward": "|\u25c0",
    "step-backward": "\u25c1",
    "play": "\u25b6",
    "pause": "||",
    "step-forward": "\u25b7",
    "fast-forward": "\u25b6|",
    "plus": "+",
}
"""What stands on the buttons, without a font that a browser would have to fetch."""


class _Screen(Sheet):
    """A sheet whose PNG files have few colours, for a film is many of them in one file."""

    def savefig(self, fname: Any, **kwargs: Any) -> None:
        if kwargs.get("format") != "png":
            super().savefig(fname, **kwargs)
            return
        drawn = BytesIO()
        super().savefig(drawn, **kwargs)
        Image.open(drawn).convert("RGB").quantize(_COLOURS).save(fname, format="png")


class Film(FuncAnimation):
    """An animation that shows itself in a notebook.

    Parameters
    ----------
    figure : Sheet
    scene : Scene
        What is drawn on it.
    times : sequence of float
        The simulated second of each frame.
    seconds : float
        How long it lasts.
    """

    def __init__(self, figure: Sheet, scene: Scene, times: Sequence[float], seconds: float) -> None:
        def show(time_s: float) -> list[Any]:
            scene.show(time_s)
            return []

        interval_ms = 1e3 * seconds / len(times)
        super().__init__(figure, show, frames=times, interval=interval_ms, cache_frame_data=False)
        self._draw_was_started = True  # a film that nobody looks at is nothing to be warned of

    def to_jshtml(
        self,
        fps: int | None = None,
        embed_frames: bool = True,
        default_mode: str | None = None,
    ) -> str:
        """A player with all frames, which needs nothing from outside."""
        signs = "".join(f'.fa-{n}:before{{content:"{sign}"}}' for n, sign in _SIGNS.items())
        style = f"<style>{signs}.fa-flip-horizontal{{display:inline-block;rotate:180deg}}</style>"
        with rc_context({"savefig.dpi": _DPI}):
            player = super().to_jshtml(fps, embed_frames, default_mode)
        return _FONT.sub(lambda _: style, player)

    def _repr_html_(self) -> str:
        return self.to_jshtml()


@animate.register(Explanation)
def animate_explanation(
    explanation: Explanation, path: str | Path | None = None, *, seconds: float = 12.0
) -> Film:
    """Show the messages on their way between the nodes, and what the transaction waits for.

    Parameters
    ----------
    explanation : Explanation
        Of one transaction.
    path : str or Path, optional
        Where to save it: ``.html``, a player for a browser, or ``.gif``.
    seconds : float
        How long the film is.

    Returns
    -------
    Film
        A matplotlib animation, which shows itself in a notebook.

    Raises
    ------
    ScenarioError
        If the name has another ending or the film would not last.

    Notes
    -----
    The film is slow while a message of the transaction travels and fast while none does; its clock
    shows simulated time.
    """
    ending = Path(path).suffix.lower() if path is not None else ""
    if path is not None and ending not in {".html", ".gif"}:
        raise ScenarioError("path", f"must end in .html or .gif, given {str(path)!r}")
    if not 0.0 < seconds < inf:
        raise ScenarioError("seconds", f"must be above 0 and finite, given {seconds}")
    frames = min(max(round(_PER_SECOND * seconds), _FEWEST), _MOST)
    with styled():
        figure = _Screen(_WIDTH, _HEIGHT)
        figure.set_dpi(_DPI)
        times = film_times(explanation, frames)
        film = Film(figure, Scene(explanation, figure), times.tolist(), seconds)
        if path is not None and ending == ".html":
            Path(path).write_text(film.to_jshtml(), encoding="utf-8")
        elif path is not None:
            film.save(path, writer="pillow", dpi=_DPI)
    return film


def film_times(explanation: Explanation, frames: int) -> NDArray[np.float64]:
    """Simulated seconds of the frames, ascending, from the begin of the transaction.

    Parameters
    ----------
    explanation : Explanation
    frames : int
        At least 2.
    """
    began_s, until_s = explanation.started_s, explanation.until_s
    held = round(_HELD * frames)
    moving = frames - held
    flights = [
        (max(one.sent_s, began_s), min(one.arrived_s, until_s), one.own or one.critical)
        for one in explanation.messages
        if one.sent_s < until_s and one.arrived_s > began_s  # not what never arrives
    ]
    own = [(sent_s, arrived_s) for sent_s, arrived_s, shown in flights if shown]
    edges = np.unique([began_s, until_s, *(edge for flight in own for edge in flight)])
    middles, spans_s = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges)
    busy = np.array([any(a < at < b for a, b in own) for at in middles])
    others = np.array([any(a < at < b for a, b, _ in flights) for at in middles])
    weights = spans_s * np.where(busy, 1.0, np.where(others, _OTHERS, _STILL))
    lengths = moving * weights / weights.sum()
    least = min(_SEEN, _FOR_SHORT * moving / max(1, int(busy.sum())))
    lengths = np.where(busy, np.maximum(lengths, least), lengths)
    at = np.concatenate(([0.0], np.cumsum(lengths)))
    times = np.interp(np.linspace(0.0, at[-1], moving), at, edges)
    return np.concatenate((times, np.full(held, until_s)))
