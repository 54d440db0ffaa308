"""Put the tables of the benchmark into the page on speed, from tests/benchmarks/results.json.

``python docs/generate_speed.py`` after ``make benchmark BENCHMARK=--write``; a test fails while the
page has other figures.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["pages"]

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "tests" / "benchmarks" / "results.json"
PAGE = ROOT / "docs" / "explanation" / "how-fast.md"
BEFORE, THIS = "5e11d09", "simrep"
TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of the table -->)", re.DOTALL)
NAMES = {
    "galera": "Galera",
    "group_replication": "Group Replication",
    "semisync": "semi-synchronous",
    "asynchronous": "asynchronous",
    "standalone": "one server",
}

Case = dict[str, Any]


def pages() -> dict[Path, str]:
    """Content of the page, by its file."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    cases: list[Case] = results["cases"]
    compiled = [name for name in results["about"]["versions"] if name not in {THIS, BEFORE}]
    tables = {
        "products": _products(cases, compiled),
        "nodes": _nodes(cases),
        "simpy": _simpy(cases, compiled),
        "about": _about(results["about"]),
    }
    page = PAGE.read_text(encoding="utf-8")
    return {PAGE: TABLE.sub(lambda match: match[1] + tables[match[2]] + match[3], page)}


def _products(cases: Sequence[Case], others: Sequence[str]) -> str:
    heads = ["product", "round trip", "clients", "CPU", "events", "calls", f"to {BEFORE}"]
    for name in others:
        heads += [f"CPU, {name}", f"to {BEFORE}"]
    rows = []
    for case in cases:
        if case["group"] not in NAMES:
            continue
        product, rtt_ms, clients = case["case"].split()
        own = case[THIS]
        counts = [f"{own['events']:.1f}", f"{own['calls']:.0f}"]
        row = [NAMES[product], f"{rtt_ms} ms", clients, _us(own), *counts, _faster(own)]
        for name in others:
            row += [_us(case[name]), _faster(case[name])]
        rows.append(row)
    return _table(heads, rows)


def _nodes(cases: Sequence[Case]) -> str:
    found = [case for case in cases if case["group"] == "nodes"]
    rows = []
    for case in found:
        product, nodes = case["case"].split()
        first = next(one for one in found if one["case"].startswith(product))
        share = case[THIS]["cpu_us"] / first[THIS]["cpu_us"]
        rows.append([NAMES[product], nodes, _us(case[THIS]), f"{share:.1f}", _faster(case[THIS])])
    return _table(["product", "nodes", "CPU", "times that of 3", f"to {BEFORE}"], rows)


def _simpy(cases: Sequence[Case], others: Sequence[str]) -> str:
    by_name = {case["case"]: case for case in cases if case["group"] in {"twin", "queue"}}
    heads = ["", "simrep", "plain SimPy", "ratio"]
    for name in others:
        heads += [f"simrep, {name}", "ratio"]
    rows = []
    for label, own, other in (
        ("a commit of Galera", "model", "twin"),
        ("a customer of a queue (M/M/1)", "simrep", "SimPy"),
    ):
        one, plain = by_name[own], by_name[other][THIS]
        row = [label, _us(one[THIS]), _us(plain), f"{plain['cpu_us'] / one[THIS]['cpu_us']:.1f}"]
        for name in others:
            row += [_us(one[name]), f"{plain['cpu_us'] / one[name]['cpu_us']:.1f}"]
        rows.append(row)
    return _table(heads, rows)


def _about(about: dict[str, Any]) -> str:
    pairs = "one pair" if about["pairs"] == 1 else f"{about['pairs']} pairs"
    return (
        f"Python {about['python']}, {about['machine']}; medians of {pairs} of runs, versions in "
        "turn.\n"
    )


def _us(measured: dict[str, float]) -> str:
    return (
        f"{measured['cpu_us']:.3g} µs"
        if measured["cpu_us"] < 1000
        else (f"{measured['cpu_us'] / 1000:.3g} ms")
    )


def _faster(measured: dict[str, float]) -> str:
    ratio = measured.get("times_faster")
    return f"{ratio:.1f} times" if ratio else ""


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


if __name__ == "__main__":
    for file, content in pages().items():
        file.write_text(content, encoding="utf-8")
        sys.stdout.write(f"{file.name}\n")
