"""Films: a scene drawn at one simulated time after the other, in a notebook or as a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from io import BytesIO
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from matplotlib import rc_context
from matplotlib.animation import FFMpegWriter, FuncAnimation
from PIL import Image

from simrep.errors import ScenarioError
from simrep.files import whole_file, write_text
from simrep.show.plot.style import Sheet, styled

__all__ = ["AnyScene", "Film", "check_ending", "make_film"]

_WIDTH, _HEIGHT, _DPI = 9.0, 5.2, 80  # inches, dots per inch
_PER_SECOND, _FEWEST, _MOST = 8.0, 24, 160  # frames
_COLOURS = 64
_WRITERS = {".gif": "pillow", ".mp4": "ffmpeg"}

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


class AnyScene(Protocol):
    """What a film shows: it draws itself on a figure at any simulated time."""

    def show(self, time_s: float) -> None:
        """Move everything to where it is at that simulated second."""


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
    """An animation of a scene at simulated times, one a frame; it shows itself in a notebook."""

    def __init__(
        self, figure: Sheet, scene: AnyScene, times: Sequence[float], seconds: float
    ) -> None:
        def show(time_s: float) -> list[Any]:
            scene.show(time_s)
            return []

        interval_ms = 1e3 * seconds / len(times)
        super().__init__(figure, show, frames=times, interval=interval_ms, cache_frame_data=False)
        self._draw_was_started = True  # a film that nobody looks at is nothing to be warned of

    def to_jshtml(
        self, fps: int | None = None, embed_frames: bool = True, default_mode: str | None = None
    ) -> str:
        """A player with all frames, which needs nothing from outside."""
        signs = "".join(f'.fa-{n}:before{{content:"{sign}"}}' for n, sign in _SIGNS.items())
        style = f"<style>{signs}.fa-flip-horizontal{{display:inline-block;rotate:180deg}}</style>"
        with rc_context({"savefig.dpi": _DPI}):
            player = super().to_jshtml(fps, embed_frames, default_mode)
        return _FONT.sub(lambda _: style, player)

    def _repr_html_(self) -> str:
        return self.to_jshtml()


def make_film(
    scene: Callable[[Sheet], AnyScene],
    times: Callable[[int], Sequence[float]],
    path: str | Path | None,
    seconds: float,
) -> Film:
    """A film of so many seconds, saved if there is a path.

    Parameters
    ----------
    scene : callable
        Makes the scene on an empty figure.
    times : callable
        The simulated seconds of so many frames.
    path : str or Path, optional
        A player for a browser (``.html``), a ``.gif``, or an ``.mp4`` where ffmpeg is installed.
    seconds : float
    """
    ending = "" if path is None else check_ending("path", path)
    if not 0.0 < seconds < inf:
        raise ScenarioError("seconds", f"must be above 0 and finite, given {seconds}")
    frames = min(max(round(_PER_SECOND * seconds), _FEWEST), _MOST)
    with styled():
        figure = _Screen(_WIDTH, _HEIGHT)
        figure.set_dpi(_DPI)
        film = Film(figure, scene(figure), times(frames), seconds)
        if path is not None and ending == ".html":
            write_text(path, film.to_jshtml())
        elif path is not None:
            with TemporaryDirectory() as folder, whole_file(path) as file:
                drawn = Path(folder) / f"film{ending}"
                film.save(drawn, writer=_WRITERS[ending], dpi=_DPI)
                file.write(drawn.read_bytes())
    return film


def check_ending(place: str, path: str | Path) -> str:
    """The ending of the name of a film's file, which says how it is made.

    Raises
    ------
    ScenarioError
        At that place of the caller, if no such film can be made here.
    """
    ending = Path(path).suffix.lower()
    if ending not in {".html", *_WRITERS}:
        raise ScenarioError(place, f"must end in .html, .gif or .mp4, given {str(path)!r}")
    if ending == ".mp4" and not FFMpegWriter.isAvailable():
        raise ScenarioError(
            place, f"{str(path)!r} needs ffmpeg, which is not installed here",
            "install ffmpeg, or use a name that ends in .gif or .html",
        )  # fmt: skip
    return ending
