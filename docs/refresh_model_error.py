"""Write simrep/runs/model_error.toml from the predictions of the scoreboard.

``python docs/refresh_model_error.py``: how far predicted figures of some datasets were off, by
what decides them, so that nine in ten lie within 1.64 times the error. Intervals of all other
datasets are judged by it. Nothing is simulated: it takes seconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import log
from pathlib import Path
from statistics import NormalDist
from typing import Any

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


def figures(name: str) -> Iterator[tuple[str, str, str, float]]:
    """What decides each predicted figure, its kind, its cell, and the logarithm of its error."""
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
            if 0.3 < share < 0.6:
                continue  # both decide
            processors = "shared" if setup.scenario.cluster.shared_host else "own"
            decided_by = "network" if share >= 0.6 else processors
            for one in found[key]:
                kind = paths[one["metric"]].rpartition(".")[2]
                kind = kind if kind in KINDS else "whole"
                yield decided_by, kind, key, log(one["predicted"] / one["measured"])


def main() -> None:
    """Write the file."""
    every = [figure for name in REFERENCES for figure in figures(name)]
    text = HEAD
    for decided_by in ("network", "shared", "own"):
        own = [one for one in every if one[0] == decided_by]
        text += f"\n[{decided_by}]\ncells = {len({key for _, _, key, _ in own})}\n"
        last = 0.0
        for kind in KINDS:
            errors = sorted(abs(error) for _, one, _, error in own if one == kind)
            if errors:
                place = min(len(errors) - 1, int(CONFIDENCE * len(errors)))
                last = max(last, errors[place] / NormalDist().inv_cdf(0.5 + CONFIDENCE / 2.0))
            text += f"{kind} = {last:.3f}\n"
    TARGET.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
