"""Moving the values of a scenario by sliders, and seeing at once what that does."""

from __future__ import annotations

import asyncio
import warnings
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from html import escape
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simrep.errors import ScenarioError, SimrepError, nearest
from simrep.exploration.sliders import Given, Slider, sliders_of
from simrep.measure.units import duration, number
from simrep.runs.result import Result
from simrep.runs.run import run
from simrep.scenario import Scenario, load, with_values
from simrep.show.plot.axes import path_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Exploration", "explore"]

_NOW, _FIRST = "now", "first"
_DUE = "simrep-due"
_STYLE = f"<style>.{_DUE} {{ filter: grayscale(1); opacity: 0.3; }}</style>"
_REST_S = 0.12  # a slider that has not moved for so long has come to rest
_DPI = 85
_PANELS = 5


def explore(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    sliders: Given | None = None,
    seed: int | None = None,
) -> Exploration:
    """Move values of a scenario by sliders in a notebook, and see at once what that does.

    Each position of the sliders is a run of its own with the same random numbers. Choose a
    scenario of some hundred transactions: a run then takes a fraction of a second.

    Parameters
    ----------
    scenario : str, Path, mapping or Scenario
        A TOML file, its text or content, or a scenario that was loaded before.
    sliders : mapping of str to levels, optional
        What can be moved, by path: ``(1, 200)`` is a range, ``[4, 16, 512]`` are levels, and
        ``{"small": {path: value, ...}, ...}`` levels that set several values under any name.
        Default: the longest delay, the load, and up to four options of the model.
    seed : int, optional
        Root of all random numbers; default: ``run.seed`` of the scenario.

    Returns
    -------
    Exploration
        As the last line of a notebook's cell it shows its sliders; where there are none, a
        picture of the scenario and of what the first slider does.

    Raises
    ------
    ScenarioError
        If the scenario cannot be run, or a slider leads to nothing that it has.
    """
    loaded = load(scenario)
    return Exploration(loaded, sliders_of(loaded, sliders), seed)


class Exploration:
    """A scenario with sliders over some of its values."""

    def __init__(self, scenario: Scenario, sliders: tuple[Slider, ...], seed: int | None) -> None:
        self._scenario, self._seed = scenario, seed
        self._sliders = {slider.name: slider for slider in sliders}
        self._start = tuple(slider.first for slider in sliders)
        self._at = self._start
        self._found: dict[tuple[int, ...], Result] = {}
        self._widget: Any = None
        self.first = self._result(self._start)
        """Of the scenario as it was given."""

    @property
    def now(self) -> Result:
        """Of the present positions of the sliders."""
        return self._result(self._at)

    @property
    def levels(self) -> dict[str, list[Any]]:
        """What each slider can be set to, by its name."""
        return {name: [one.label for one in s.levels] for name, s in self._sliders.items()}

    @property
    def settings(self) -> dict[str, Any]:
        """What each slider is set to, by its name."""
        return {
            name: slider.levels[position].label
            for (name, slider), position in zip(self._sliders.items(), self._at, strict=True)
        }

    def set(self, settings: Mapping[str, Any]) -> None:
        """Set sliders by their names, as a hand does; those that are not named stay.

        Raises
        ------
        ScenarioError
            If there is no such slider, or it has no such level.
        """
        positions = dict(zip(self._sliders, self._at, strict=True))
        for name, value in settings.items():
            if name not in self._sliders:
                raise ScenarioError("sliders", f"there is no {name!r}", nearest(name, positions))
            labels = self.levels[name]
            if value not in labels:
                valid = ", ".join(map(_text, labels))
                raise ScenarioError(name, f"has no level {value!r}", f"valid: {valid}")
            positions[name] = labels.index(value)
        self._at = tuple(positions.values())
        if self._widget is not None:
            self._widget.show(self._at)

    def _told(self, at: tuple[int, ...]) -> str:
        """A setting in words: the sliders that were moved, or that none was."""
        moved = [
            f"{path_label(name, self._sliders)} {_text(slider.levels[now].label)}"
            f" (first {_text(slider.levels[first].label)})"
            for (name, slider), now, first in zip(
                self._sliders.items(), at, self._start, strict=True
            )
            if now != first
        ]
        return "; ".join(moved) or "the first setting"

    @property
    def sentence(self) -> str:
        """The present setting beside the first one, in words."""
        said = _figures(self.now)
        if self._at == self._start:
            return f"{said}. That is the first setting."
        return f"{said}; the first setting: {_figures(self.first)}."

    def plot(self, path: str | Path | None = None) -> Figure:
        """Latencies, throughput and stages, now and at first; saved when a path is given."""
        from simrep.exploration.figure import plot_settings

        return plot_settings(self._beside(), path, title=self._title())

    def overview(self, path: str | Path | None = None) -> Figure:
        """The same, and below it what the first slider does: the picture without sliders."""
        from simrep.exploration.figure import plot_overview

        slider = next(iter(self._sliders.values()))
        levels = []
        for position in _spread(len(slider.levels), self._at[0]):
            with suppress(SimrepError):  # what cannot be run is not drawn
                found = self._result((position, *self._at[1:]))
                now = " (now)" if position == self._at[0] else ""
                levels.append((f"{_text(slider.levels[position].label)}{now}", found))
        over = path_label(slider.name, self._sliders)
        return plot_overview(self._beside(), over, levels, path, title=self._title())

    def _title(self) -> str:
        name = str(self._scenario.name or "")
        return f"{name}: {self._told(self._at)}" if name else self._told(self._at)

    def widget(self) -> Any:
        """The sliders and the picture, as an ipywidget."""
        if self._widget is None:
            self._widget = _Panel(self)
            self._widget.show(self._at)
        return self._widget.box

    def _beside(self) -> dict[str, Result]:
        if self._at == self._start:
            return {_FIRST: self.first}
        return {_NOW: self.now, _FIRST: self.first}

    def _result(self, at: tuple[int, ...]) -> Result:
        if at not in self._found:
            values = {
                path: value
                for slider, position in zip(self._sliders.values(), at, strict=True)
                for path, value in slider.levels[position].settings.items()
            }
            changed = with_values(self._scenario, values) if values else self._scenario
            self._found[at] = run(changed, seed=self._seed)
        return self._found[at]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Sliders for who can show them, and a picture for who cannot."""
        picture = b64encode(_png(self.overview())).decode("ascii")
        sliders = {} if find_spec("ipywidgets") is None else self.widget()._repr_mimebundle_()
        return {**sliders, "text/plain": self.sentence, "image/png": picture}

    def __str__(self) -> str:
        return self.sentence


class _Panel:
    """Sliders, words and a picture, kept up with each other."""

    def __init__(self, exploration: Exploration) -> None:
        import ipywidgets

        self._exploration = exploration
        looks = {"style": {"description_width": "16em"}, "layout": {"width": "38em"}}
        self._controls = [
            ipywidgets.SelectionSlider(
                options=[(_text(level.label), at) for at, level in enumerate(slider.levels)],
                value=slider.first,
                description=path_label(slider.name, exploration._sliders),
                continuous_update=False,
                **looks,
            )
            for slider in exploration._sliders.values()
        ]
        self._words = ipywidgets.HTML()
        self._image = ipywidgets.Image(format="png", layout={"max_width": "100%"})
        self._drawn = exploration._at
        self.box = ipywidgets.VBox([*self._controls, self._words, self._image])
        at_rest = _AtRest(self._follow)

        def moved(_: object) -> None:
            self._image.add_class(_DUE)  # until the picture is that of the sliders
            at_rest()

        for control in self._controls:
            control.observe(moved, names="value")

    def show(self, at: tuple[int, ...]) -> None:
        """Put the sliders there, and show what that gives."""
        for control, position in zip(self._controls, at, strict=True):
            control.value = position
        self._draw()

    def _follow(self) -> None:
        """Go where the sliders are."""
        at = tuple(control.value for control in self._controls)
        if at != self._exploration._at:
            self._exploration._at = at
            self._draw()
        elif at == self._drawn:
            self._image.remove_class(_DUE)

    def _draw(self) -> None:
        exploration = self._exploration
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                said = [exploration.sentence]
                self._image.value = _png(exploration.plot())
                self._drawn = exploration._at
                self._image.remove_class(_DUE)
            except SimrepError as error:
                shown = exploration._told(self._drawn)
                said = [f"This cannot be run: {error}", f"The picture still shows {shown}."]
                self._image.add_class(_DUE)
        said += list(dict.fromkeys(str(one.message) for one in caught))
        self._words.value = _STYLE + "".join(f"<p>{escape(line)}</p>" for line in said)


class _AtRest:
    """Calls something once after the last of several calls, in a kernel; elsewhere each time."""

    def __init__(self, action: Callable[[], None]) -> None:
        self._action = action
        self._waiting: asyncio.TimerHandle | None = None

    def __call__(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._action()
            return
        if self._waiting is not None:
            self._waiting.cancel()
        self._waiting = loop.call_later(_REST_S, self._action)


def _png(figure: Figure) -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=_DPI)
    return buffer.getvalue()


def _figures(result: Result) -> str:
    p95 = duration(result.latency_s["p95"])
    return f"p95 {p95}, {number(result.throughput_tps)} transactions/s"


def _spread(count: int, kept: int) -> list[int]:
    """Positions of at most five levels from the first to the last, one of them among these."""
    if count <= _PANELS:
        return list(range(count))
    even = {round(step * (count - 1) / (_PANELS - 1)) for step in range(_PANELS)}
    if kept not in even:
        inner = even - {0, count - 1}
        even = even - {min(inner, key=lambda position: abs(position - kept))} | {kept}
    return sorted(even)


def _text(label: Any) -> str:
    return f"{label:g}" if isinstance(label, float) else str(label)
