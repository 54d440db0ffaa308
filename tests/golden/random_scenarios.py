"""Random scenarios of every model, always the same ones: number 17 of galera never changes.

They are drawn with ``random.Random.random`` alone, whose values are the same in every version of
Python, and are valid but for a few that a model refuses. They are small: a run takes some
hundredths of a second. The first ``PORTABLE`` of each model draw nothing but uniform numbers in
the simulation as well, so that no library version or processor changes what becomes of them.
"""

from __future__ import annotations

from typing import Any

from tests.golden.random_draw import PORTABLE, Draw, Table
from tests.golden.random_load import load
from tests.golden.random_network import changes, machines, network
from tests.golden.random_products import products

__all__ = ["COUNT", "MODELS", "PORTABLE", "scenario"]

COUNT = 300
MODELS = ("galera", "group_replication", "semisync", "asynchronous", "standalone")
MOST_NODES = {
    "galera": 5,
    "group_replication": 5,
    "semisync": 4,
    "asynchronous": 4,
    "standalone": 3,
}
NAMES = ("alpha", "beta", "gamma", "delta", "epsilon")


def scenario(model: str, number: int) -> Table:
    """The scenario of a model that bears a number, as a file would hold it."""
    draw = Draw(model, number)
    size = draw.whole(1, MOST_NODES[model])
    if size == 1 and model != "standalone" and draw.chance(0.9 if model == "semisync" else 0.7):
        size = 3
    draw.names = [f"n{position + 1}" for position in range(size)]
    written: Any = size
    if draw.chance(0.3):
        draw.names = list(NAMES[:size])
        written = list(draw.names)
    draw.changing = model == "galera" and size > 1 and draw.chance(0.15)
    cluster: Table = {"model": model, "nodes": written}
    given: Table = {"name": f"{model}/{number}", "cluster": cluster}
    products(draw, cluster)
    nodes = [{"name": name} for name in draw.names]
    machines(draw, given, nodes)
    given["network"] = network(draw, nodes)
    if draw.changing:
        changes(draw, cluster)
    workload, run = load(draw)
    given["workload"], given["run"] = workload, run
    if any(len(node) > 1 for node in nodes):
        given["node"] = [node for node in nodes if len(node) > 1]
    return given
