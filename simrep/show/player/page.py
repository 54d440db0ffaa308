"""A page in which the player plays runs: one file that needs no other, and loads nothing."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from simrep.files import write_text
from simrep.printable import printable
from simrep.runs.result import Result
from simrep.scenario.changes import without_pack
from simrep.show.player.document import document
from simrep.show.views import player
from simrep.why.commit import Explanation
from simrep.why.recording import Recording, record
from simrep.why.stall import StallExplanation
from simrep.why.tail import TailExplanation
from simrep.why.window import WindowExplanation

__all__ = ["Player", "script", "style"]

_SCRIPTS = ("run.js", "look.js", "marks.js", "picture.js", "film.js", "overview.js", "panel.js",
            "player.js", "controls.js")  # fmt: skip
_FRAME_PX = 900  # the height of the player in a notebook


class Player:
    """Runs, ready to be played.

    A notebook shows it; ``save`` writes a page.

    Parameters
    ----------
    documents : sequence of dict
        Of :func:`simrep.show.player.document.document`.
    names : sequence of str, optional
        What the page calls them in its list; default: their titles.
    """

    def __init__(
        self, documents: Sequence[Mapping[str, Any]], names: Sequence[str] | None = None
    ) -> None:
        self.documents = tuple(documents)
        self.names = tuple(names or (str(one["title"]) for one in documents))

    def html(self) -> str:
        """The page."""
        own_script, own_style = f"{script()}\n{_text('page.js')}", f"{style()}\n{_text('page.css')}"
        return Template(_text("player.html")).substitute(
            policy=_policy(own_script, own_style),
            title=html.escape(f"simrep: {printable(self.names[0])}"),
            style=own_style,
            script=own_script,
            runs="\n".join(map(_run, self.documents, self.names)),
        )

    def save(self, path: str | Path) -> None:
        """Write the page."""
        write_text(path, self.html())

    def _repr_html_(self) -> str:
        content = html.escape(self.html(), quote=True)
        return (
            f'<iframe srcdoc="{content}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {_FRAME_PX}px; border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Player of {len(self.documents)} runs>"


def script() -> str:
    """The script of the component: it defines ``SimrepPlayer``, and nothing else, for the page."""
    parts = "\n".join(map(_text, _SCRIPTS))
    return (
        "window.SimrepPlayer = (() => {\n"
        '"use strict";\n'
        f"{parts}\n"
        "Object.assign(SimrepPlayer, { element });\n"
        "return SimrepPlayer;\n})();"
    )


def style() -> str:
    """The style sheet of the component: all its rules begin with ``.simrep-player``."""
    return _text("player.css")


Place = str | Path | None


@player.register(Recording)
def _of_recording(recording: Recording, path: Place = None) -> Player:
    made = Player([document(recording)])
    if path is not None:
        made.save(path)
    return made


@player.register(Result)
def _of_result(result: Result, path: Place = None, *, replication: int = 0) -> Player:
    return _of_run(result.again(replication), result.seed, replication, path)


@player.register(Explanation)
def _of_explanation(found: Explanation, path: Place = None) -> Player:
    again = without_pack(found.scenario)
    return _of_run(again, found.seed, found.replication, path, txn=found.number)


@player.register(WindowExplanation)
def _of_window(found: WindowExplanation, path: Place = None) -> Player:
    look_s, again = (found.from_s, found.until_s), without_pack(found.scenario)
    return _of_run(again, found.seed, found.replication, path, look_s=look_s)


@player.register(StallExplanation)
def _of_stall(found: StallExplanation, path: Place = None) -> Player:
    began_s, seconds = found.stall.began_s, found.stall.seconds
    around_s = (max(0.0, began_s - 0.1 * seconds), began_s + 1.2 * seconds)
    look_s, again = around_s if seconds > 0.0 else None, without_pack(found.scenario)
    return _of_run(again, found.seed, found.replication, path, look_s=look_s)


@player.register(TailExplanation)
def _of_tail(found: TailExplanation, path: Place = None) -> Player:
    return _of_run(without_pack(found.scenario), found.seed, found.replication, path)


def _of_run(
    scenario: Mapping[str, Any], seed: int, replication: int, path: Place, **how: Any
) -> Player:
    return _of_recording(record(scenario, seed=seed, replication=replication, **how), path)


@cache
def _text(name: str) -> str:
    return (files("simrep.show.player") / "page" / name).read_text(encoding="utf-8")


def _run(content: Mapping[str, Any], name: str) -> str:
    """A document in the page; base64 has no character that HTML reads."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    packed = base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii")
    title = html.escape(printable(name), quote=True)
    return f'<script type="text/plain" data-run="{title}">{packed}</script>'


def _policy(own_script: str, own_style: str) -> str:
    """Nothing but the own script and style runs in the page, and nothing is loaded."""
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"script-src '{_hash(own_script)}'; style-src '{_hash(own_style)}'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
