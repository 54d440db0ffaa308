"""Random small scenarios of any model, as the mapping that a file would hold (needs Hypothesis)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

__all__ = ["networks", "scenarios", "workloads"]

Table = dict[str, Any]

_delay_ms = st.floats(0.0, 60.0).map(lambda value: round(value, 3))
_hot_rows = st.fixed_dictionaries(
    {"distribution": st.just("hot"), "rows": st.just(20), "hot_rows": st.integers(1, 5)}
)
_all_rows = st.fixed_dictionaries(
    {"distribution": st.just("uniform"), "rows": st.integers(4, 1000)}
)
_keys = st.one_of(st.just({"distribution": "fresh"}), _hot_rows, _all_rows)


@st.composite
def networks(draw: st.DrawFn, names: Sequence[str]) -> Table:
    """A delay of its own for every direction, some jitter, some egress delays."""
    network: Table = {
        "path": [
            {"from": source, "to": target, "one_way_ms": draw(_delay_ms)}
            for source in names
            for target in names
            if source != target
        ]
    }
    kind = draw(st.sampled_from([None, "normal", "exponential", "gamma"]))
    if kind is not None:
        network["jitter"] = {"kind": kind, "mean_ms": 0.5, "sd_ms": 0.3}
    if draw(st.booleans()):
        slow = draw(st.sampled_from(names))
        network["egress"] = [{"node": slow, "delay_ms": draw(_delay_ms)}]
    if draw(st.booleans()):
        network["bandwidth_mbit"] = draw(st.sampled_from([10, 100, 1000]))
    return network


@st.composite
def workloads(draw: st.DrawFn, names: Sequence[str]) -> Table:
    """A few clients on any of the nodes; about half of the workloads conflict."""
    classes = [
        {
            "name": f"class{position}",
            "statements": draw(st.integers(1, 3)),
            "rows": draw(st.integers(1, 3)),
            "row_bytes": draw(st.sampled_from([50, 300, 40_000])),
            "reads": draw(st.integers(0, 1)),
            "primary_key": draw(st.booleans()),
            "keys": draw(_keys),
        }
        for position in range(draw(st.integers(1, 2)))
    ]
    return {
        "threads": draw(st.integers(1, 6)),
        "transactions_per_client": draw(st.integers(1, 6)),
        "nodes": draw(st.lists(st.sampled_from(names), min_size=1, unique=True)),
        "retry": draw(st.booleans()),
        "class": classes,
    }


@st.composite
def scenarios(
    draw: st.DrawFn,
    model: str,
    *,
    options: st.SearchStrategy[Table] | None = None,
    costs: st.SearchStrategy[Table] | None = None,
    nodes: tuple[int, int] = (2, 5),
    writers: int | None = None,
    duration_s: float | None = None,
) -> Table:
    """A cluster of a model under a small load.

    Parameters
    ----------
    model : str
        As in ``cluster.model``.
    options, costs : strategy of dict, optional
        For ``cluster.options`` and ``cluster.costs``; defaults if not given.
    nodes : tuple of int
        Fewest and most nodes.
    writers : int, optional
        Only so many nodes, the first ones, take writes; all if not given.
    duration_s : float, optional
        Run for so long; if not given, until every client has submitted its transactions. Clients
        that meet in deadlocks and begin again may do so for ever, which only a duration ends.
    """
    names = [f"n{position + 1}" for position in range(draw(st.integers(*nodes)))]
    workload = draw(workloads(names[:writers]))
    run: Table = {"seed": draw(st.integers(0, 1000))}
    if duration_s is None:
        run["limit_s"] = 3600.0
    else:
        del workload["transactions_per_client"]
        run["duration_s"] = duration_s
    cluster: Table = {
        "model": model,
        "nodes": names,
        "shared_host": draw(st.booleans()),
        "machine": {"cores": draw(st.integers(1, 4))},
    }
    if options is not None:
        cluster["options"] = draw(options)
    if costs is not None:
        cluster["costs"] = draw(costs)
    return {
        "cluster": cluster,
        "network": draw(networks(names)),
        "workload": workload,
        "run": run,
    }
