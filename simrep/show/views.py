"""One door to all views: the tables, the figure, the film of a result, by the type of the result.

A result knows none of its views, and a view is loaded when the first such result is shown. Results
of simrep are listed here; a model registers those of its own questions::

    @tables.register(Gcache)
    def _(answer: Gcache) -> Group: ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import singledispatch
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from simrep.errors import SimrepError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["VIEWS", "Figures", "View", "animate", "console", "html", "player", "plot", "tables",
           "trace"]  # fmt: skip

Show = TypeVar("Show", bound=Callable[..., Any])


class View:
    """One way to show results.

    Parameters
    ----------
    name : str
        What it gives, for messages.
    modules : mapping of str to tuple of str
        By module in ``simrep.show``: the names of the types of results whose view it registers.
    """

    def __init__(self, name: str, modules: Mapping[str, tuple[str, ...]]) -> None:
        def unknown(result: object, *_: Any, **__: Any) -> Any:
            raise SimrepError(f"a result of type {type(result).__name__} has no {name}")

        self._unknown = unknown
        self._views = singledispatch(unknown)
        self._modules: dict[type | str, str] = {
            kind: f"simrep.show.{module}" for module, kinds in modules.items() for kind in kinds
        }

    def register(self, kind: type) -> Callable[[Show], Show]:
        """Decorate the function that shows results of a type: ``show(result, **options)``."""
        return cast(Callable[[Show], Show], self._views.register(kind))

    def register_module(self, kind: type, module: str) -> None:
        """Name a module that calls :meth:`register` and is slow to load, as matplotlib is."""
        self._modules[kind] = module

    def __call__(self, result: object, *arguments: Any, **options: Any) -> Any:
        """Show a result.

        Raises
        ------
        SimrepError
            If there is no such view of results of its type.
        """
        kind = type(result)
        if self._views.dispatch(kind) is self._unknown:
            for base in kind.__mro__:
                module = self._modules.get(base) or self._modules.get(base.__name__)
                if module is not None:
                    import_module(module)
                    break
        return self._views.dispatch(kind)(result, *arguments, **options)


def console(**how: Any) -> Console:
    """What every table is printed on, with the options of Rich: what it prints is no markup."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, **how)


class Figures(View):
    """Figures: drawn in the style of simrep, and saved when a path is given."""

    def __call__(self, result: object, path: str | Path | None = None, **options: Any) -> Any:
        """Draw a result with the options of its figure; see :meth:`Report.plot` for the path."""
        from simrep.show.plot.style import save, styled

        with styled():
            return save(super().__call__(result, **options), path)


tables = View(
    "tables",
    {
        "text.analytic": ("Analytic",),
        "text.calibration": ("FitResult", "ServerDescription"),
        "text.dataset": ("DatasetResult", "Validation"),
        "text.drill": ("Drill",),
        "text.effect": ("Comparison", "Sensitivity"),
        "text.faults": ("Faults", "TimelineReport"),
        "text.headroom": ("Headroom",),
        "text.reads": ("Reads",),
        "text.recording": ("Recording",),
        "text.plan": ("Capacity", "Product", "Rate", "Threshold", "Timeouts"),
        "text.rejoin": ("Rejoin",),
        "text.procedures": ("RollingRestart",),
        "text.nodes": ("Nodes",),
        "text.run": ("Result",),
        "text.replica_cluster": ("ReplicaClusterLag",),
        "text.staleness": ("Staleness",),
        "text.sweep": ("Sweep",),
        "text.traffic": ("Traffic",),
        "text.why": (*("Explanation", "StallExplanation", "TailExplanation", "WindowExplanation"),),
    },
)
plot = Figures(
    "figure",
    {
        "plot.dataset": ("DatasetResult",),
        "plot.drill": ("Drill",),
        "plot.errors": ("Validation",),
        "plot.effect": ("Comparison", "Sensitivity"),
        "plot.headroom": ("Headroom",),
        "plot.nodes": ("Nodes",),
        "plot.reads": ("Reads",),
        "plot.plan": ("Capacity", "Product", "Rate", "Threshold", "Timeouts"),
        "plot.rejoin": ("Rejoin",),
        "plot.rolling_restart": ("RollingRestart",),
        "plot.run": ("Result",),
        "plot.staleness": ("Staleness",),
        "plot.sweep": ("Sweep",),
        "plot.traffic": ("Traffic",),
        "plot.why.bars": ("StallExplanation", "TailExplanation"),
        "plot.why.spacetime": ("Explanation",),
        "plot.why.window": ("WindowExplanation",),
    },
)
animate = View(
    "film",
    {"plot.why.animation": ("Explanation",), "plot.why.view_change": ("WindowExplanation",)},
)
trace = View("trace", {"text.chrome_trace": ("Explanation",)})
html = View("page", {"text.sweep": ("Sweep",)})
player = View(
    "player",
    {
        "player.drills": ("Drill",),
        "player.page": (
            *("Explanation", "Recording", "Result", "StallExplanation"),
            *("TailExplanation", "WindowExplanation"),
        ),
    },
)

VIEWS = {
    "tables": tables,
    "plot": plot,
    "animate": animate,
    "trace": trace,
    "html": html,
    "player": player,
}
"""By the name of the method of a result."""
