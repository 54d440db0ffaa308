"""Pictures, traces and films of what really happens in every model."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from matplotlib.patches import FancyArrowPatch
from typer.testing import CliRunner

import simrep
from simrep.cli.app import app
from tests.trace_format import check_trace

OPTIONS: dict[str, dict[str, Any]] = {
    "standalone": {"model": "standalone", "nodes": 1},
    "asynchronous": {"model": "asynchronous", "nodes": 3},
    "semisync": {"model": "semisync", "nodes": 3},
    "semisync 5.5": {"model": "semisync", "version": "mysql-5.5", "nodes": 3},
    "galera": {"model": "galera", "nodes": 3},
    "group_replication": {"model": "group_replication", "nodes": 3},
}
REPLICATED = [name for name in OPTIONS if name != "standalone"]
WAITING = ["galera", "group_replication", "semisync", "semisync 5.5"]


def scenario(name: str) -> dict[str, Any]:
    nodes = [f"n{number + 1}" for number in range(OPTIONS[name]["nodes"])]
    waits = name in WAITING  # the others commit so often that less time will do
    content = {
        "cluster": {**OPTIONS[name], "nodes": nodes},
        "workload": {"preset": "sysbench-oltp-update-index", "threads": 8, "nodes": ["n1"]},
        "run": {
            "duration_s": 0.4 if waits else 0.05,
            "warmup_s": 0.1 if waits else 0.01,
            "seed": 2,
        },
    }
    return content | ({"network": {"rtt_ms": 20.0}} if len(nodes) > 1 else {})


@cache
def explanation(name: str) -> simrep.Explanation:
    return simrep.explain(scenario(name), txn="p95")


@pytest.mark.parametrize("name", OPTIONS)
def test_every_model_has_a_picture(name: str, tmp_path: Path) -> None:
    found = explanation(name)
    figure = found.plot(tmp_path / "why.png")
    assert (tmp_path / "why.png").read_bytes().startswith(b"\x89PNG")
    arrows = [one for one in figure.axes[0].patches if isinstance(one, FancyArrowPatch)]
    assert len(arrows) == sum(one.own or one.critical for one in found.messages)
    assert bool(arrows) == (name in REPLICATED)
    rows = [one.get_text() for one in figure.axes[1].get_yticklabels()]
    assert rows == [stage.name for stage in found.stages]


@pytest.mark.parametrize("name", WAITING)
def test_what_the_commit_waited_for_is_thick_and_named(name: str) -> None:
    figure = explanation(name).plot()
    arrows = [one for one in figure.axes[0].patches if isinstance(one, FancyArrowPatch)]
    assert any(one.get_linewidth() > 2.5 for one in arrows)
    bold = [one.get_text() for one in figure.axes[0].texts if one.get_fontweight() == "bold"]
    labels = {one.label for one in explanation(name).messages if one.critical}
    assert any(label in text for label in labels for text in bold)


@pytest.mark.parametrize("name", OPTIONS)
def test_every_model_has_a_trace(name: str, tmp_path: Path) -> None:
    found = explanation(name)
    found.trace(tmp_path / "trace.json")
    events = check_trace((tmp_path / "trace.json").read_text(encoding="utf-8"))
    names = [one["args"]["name"] for one in events if one["name"] == "process_name"]
    assert names == list(found.nodes)
    assert any(one["ph"] == "s" for one in events) == (name in REPLICATED)


def test_a_film_fits_into_a_page(tmp_path: Path) -> None:
    explanation("galera").animate(tmp_path / "film.html", seconds=1.0)
    frames = 24
    assert (tmp_path / "film.html").stat().st_size < 3e6 * frames / 120


def test_the_command_writes_the_picture_and_the_trace(tmp_path: Path) -> None:
    file, plot, trace = (tmp_path / name for name in ("c.toml", "why.svg", "why.json"))
    file.write_text(
        '[cluster]\nmodel = "galera"\nnodes = 3\n[network]\nrtt_ms = 20\n[workload]\n'
        'preset = "sysbench-oltp-update-index"\nthreads = 4\n[run]\nduration_s = 0.4\n'
        "warmup_s = 0.1\n"
    )
    options = ["--txn", "p95", "--plot", str(plot), "--trace", str(trace)]
    done = CliRunner().invoke(app, ["explain", str(file), *options])
    assert done.exit_code == 0, done.output
    assert "<svg" in plot.read_text(encoding="utf-8")
    check_trace(trace.read_text(encoding="utf-8"))


def test_the_command_writes_the_picture_of_the_slowest(tmp_path: Path) -> None:
    found = simrep.explain_tail(scenario("galera"), share=0.1)
    figure = found.plot(tmp_path / "tail.png")
    assert (tmp_path / "tail.png").read_bytes().startswith(b"\x89PNG")
    shown = [one.get_text() for one in figure.axes[0].get_yticklabels()]
    assert shown == [one.name for one in found.stages if one.above_s > 0] + ["network floor"]
