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
from typing import Any, TypeVar, cast

from simrep.errors import SimrepError

__all__ = ["VIEWS", "Figures", "View", "animate", "html", "plot", "tables", "trace"]

Show = TypeVar("Show", bound=Callable[..., Any])


class View:
    """One way to show results.

    Parameters
    ----------
    name : str
        What it gives, for messages.
    modules : mapping of str to str
        By the name of a type of result: the module in ``simrep.show`` that registers its view.
    """

    def __init__(self, name: str, modules: Mapping[str, str]) -> None:
        def unknown(result: object, *_: Any, **__: Any) -> Any:
            raise SimrepError(f"a result of type {type(result).__name__} has no {name}")

        self._unknown = unknown
        self._views = singledispatch(unknown)
        self._modules: dict[type | str, str] = {
            kind: f"simrep.show.{module}" for kind, module in modules.items()
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


class Figures(View):
    """Figures: drawn in the style of simrep, and saved when a path is given."""

    def __call__(self, result: object, path: str | Path | None = None, **options: Any) -> Any:
        """Draw a result.

        Parameters
        ----------
        result : object
        path : str or Path, optional
            Where to save it, as PNG, PDF or SVG by the ending of the name.
        **options
            Those of its figure.
        """
        from simrep.show.plot.style import save, styled

        with styled():
            figure = super().__call__(result, **options)
            save(figure, path)
        return figure


tables = View(
    "tables",
    {
        "Analytic": "text.analytic",
        "Comparison": "text.comparison",
        "DatasetResult": "text.dataset",
        "Explanation": "text.why",
        "FitResult": "text.fit",
        "Product": "text.plan",
        "Rate": "text.plan",
        "Result": "text.run",
        "Sensitivity": "text.sensitivity",
        "ServerDescription": "text.server",
        "StallExplanation": "text.why",
        "Sweep": "text.sweep",
        "TailExplanation": "text.why",
        "Threshold": "text.plan",
        "Validation": "text.validation",
    },
)
plot = Figures(
    "figure",
    {
        "Comparison": "plot.comparison",
        "DatasetResult": "plot.dataset",
        "Explanation": "plot.why.spacetime",
        "Product": "plot.plan",
        "Rate": "plot.plan",
        "Result": "plot.run",
        "Sensitivity": "plot.sensitivity",
        "StallExplanation": "plot.why.stall",
        "Sweep": "plot.sweep",
        "TailExplanation": "plot.why.tail",
        "Threshold": "plot.plan",
        "Validation": "plot.validation",
    },
)
animate = View("film", {"Explanation": "plot.why.animation"})
trace = View("trace", {"Explanation": "text.chrome_trace"})
html = View("page", {"Sweep": "text.sweep"})

VIEWS = {"tables": tables, "plot": plot, "animate": animate, "trace": trace, "html": html}
"""By the name of the method of a result."""
