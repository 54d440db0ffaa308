"""Write simrep/runs/model_error.toml from the predictions of the scoreboard.

``python docs/refresh_model_error.py``: how far predicted figures of some datasets were off, by
what decides them, so that nine in ten lie within 1.64 times the error. Where the network decides
only a part, the other part's error is taken off. Intervals of all other datasets are judged by it.
Nothing is simulated: it takes seconds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from math import log, sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

from simrep import load, with_values
from simrep.contract.setup import setup_of
from simrep.data.dataset import load_dataset
from simrep.runs.model_error import network_share
from simrep.runs.prediction import factors_of

DOCS = Path(__file__).parent
TARGET = DOCS.parent / "simrep" / "runs" / "model_error.toml"
REFERENCES = (
    "concurrency", "durability",  # one machine for all servers
    "sysbench-4-vcores", "tpcc-4-vcores", "tpcc-40-cores", "openstack-galera", "group-commit",
)  # fmt: skip
KINDS = ("whole", "p50", "p95", "p99")
HEAD = """# How far predictions were off where they were compared with real clusters: standard
# deviations of the logarithm of predicted over measured, by what decides the figure. Cells of
# concurrency and durability (network, shared) and of the datasets of separate machines (own);
# written by docs/refresh_model_error.py.
"""
CONFIDENCE = 0.9
TIMES = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2.0)  # so many errors are such an interval's half
DECIDES = 0.3  # of a mean latency: the network, from this share on


class Figure(NamedTuple):
    """A predicted figure."""

    kind: str
    cell: str
    processors: str  # ``shared`` or ``own``
    network: float  # the network's share of the mean latency
    error: float  # logarithm of predicted over measured


def figures(name: str) -> Iterator[Figure]:
    """All predicted figures of a dataset."""
    dataset = load_dataset(name)
    content = json.loads((DOCS / "validation" / f"{name}.json").read_text(encoding="utf-8"))
    paths = {metric.column: metric.result for metric in dataset.definition.metrics}
    found: dict[str, list[dict[str, Any]]] = {}
    for one in content["cells"]:
        if not one["used_in_fit"] and one["within"] is None and one["relative_error"] is not None:
            found.setdefault(json.dumps([one["series"], one["factors"]]), []).append(one)
    for series in dataset.definition.series:
        base = load(dataset.scenario_path(series))
        for cell in dataset.cells[series.name]:
            key = json.dumps([series.name, dict(cell.factors)])
            if key not in found:
                continue
            setup = setup_of(with_values(base, cell.settings))
            rtt_s = factors_of(setup).get("rtt_ms", 0.0) / 1e3
            means = [
                one["predicted"] for one in found[key] if paths[one["metric"]] == "latency_s.mean"
            ]
            share = network_share(rtt_s, *means) if means else 0.0
            processors = "shared" if setup.scenario.cluster.shared_host else "own"
            for one in found[key]:
                kind = paths[one["metric"]].rpartition(".")[2]
                kind = kind if kind in KINDS else "whole"
                error = log(one["predicted"] / one["measured"])
                yield Figure(kind, f"{name} {key}", processors, share, error)


def errors(every: Iterable[Figure], needed: Callable[[Figure], float]) -> dict[str, float]:
    """By kind, the error that nine in ten of the figures do not need more of."""
    by_kind: dict[str, list[float]] = {}
    for one in every:
        by_kind.setdefault(one.kind, []).append(needed(one))
    found: dict[str, float] = {}
    last = 0.0
    for kind in KINDS:
        if kind in by_kind:
            sizes = sorted(by_kind[kind])
            last = max(last, sizes[min(len(sizes) - 1, int(CONFIDENCE * len(sizes)))])
        found[kind] = last
    return found


def main() -> None:
    """Write the file."""
    every = [figure for name in REFERENCES for figure in figures(name)]
    parts: dict[str, tuple[list[Figure], dict[str, float]]] = {}
    for processors in ("shared", "own"):
        theirs = [one for one in every if one.network < DECIDES and one.processors == processors]
        parts[processors] = theirs, errors(theirs, lambda one: abs(one.error) / TIMES)

    def of_network(one: Figure) -> float:
        """What is left for the network when the processors have had their part."""
        rest = (1.0 - one.network) * parts[one.processors][1][one.kind]
        return sqrt(max(0.0, (one.error / TIMES) ** 2 - rest**2)) / one.network

    distant = [one for one in every if one.network >= DECIDES]
    parts = {"network": (distant, errors(distant, of_network)), **parts}
    text = HEAD
    for name, (figures_of_it, sizes) in parts.items():
        text += f"\n[{name}]\ncells = {len({one.cell for one in figures_of_it})}\n"
        text += "".join(f"{kind} = {size:.3f}\n" for kind, size in sizes.items())
    TARGET.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
