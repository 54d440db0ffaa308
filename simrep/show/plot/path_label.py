"""What an axis or a slider over a value of the scenario is called."""

from __future__ import annotations

from collections.abc import Iterable

from simrep.measure.units import describe

__all__ = ["path_label"]

_PRODUCTS_OWN = ("cluster.options.", "cluster.costs.")
_SAID = {"rtt_ms": "round trip (ms)", "rate_tps": "arrivals per second"}


def path_label(path: str, among: Iterable[str] = ()) -> str:
    """The last name of a path with its unit; options keep the product's spelling.

    Parameters
    ----------
    path : str
        Of a value of the scenario, or any name.
    among : iterable of str
        What stands beside it: a path that would be called the same keeps its full length.

    Examples
    --------
    >>> path_label("network.path.0.rtt_ms"), path_label("workload.threads")
    ('round trip (ms)', 'threads')
    """
    short = _short(path)
    if any(other != path and _short(other) == short for other in among):
        return describe(path)
    return short


def _short(path: str) -> str:
    for table in _PRODUCTS_OWN:
        if path.startswith(table):
            return path.removeprefix(table).strip("\"'")
    last = path.rpartition(".")[2]
    return _SAID.get(last, describe(last))
