"""A run without NumPy, SciPy and all that draws: every model, with the same result."""

import json
import subprocess
import sys

import pytest

import simrep

PROGRAM = """
import json, sys
for name in ("numpy", "scipy", "matplotlib", "rich", "typer", "tomlkit", "pandas"):
    sys.modules[name] = None  # an import of it fails
import simrep
scenarios = json.load(sys.stdin)
print(json.dumps([simrep.run(one, replications=1).digest() for one in scenarios]))
"""
MODELS = ("standalone", "asynchronous", "semisync", "group_replication", "galera")


def scenario(model):
    given = {
        "cluster": {"model": model},
        "network": {"rtt_ms": 4, "jitter": {"kind": "gamma", "mean_ms": 0.5, "sd_ms": 0.3}},
        "workload": {
            "rate_tps": 40,
            "connections": 5,
            "class": [{"name": "stock", "keys": {"distribution": "zipf", "rows": 50}}],
        },
        "run": {"duration_s": 2.5, "seed": 3},
    }
    if model != "standalone":
        given["fault"] = [
            {"what": "kill", "node": "n3", "at_s": 0.5},
            {"what": "restart", "node": "n3", "at_s": 1},
        ]
    return given


def test_results_are_equal():
    scenarios = [scenario(model) for model in MODELS]
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        input=json.dumps(scenarios), capture_output=True, text=True, check=True,
    )  # fmt: skip
    expected = [simrep.run(one, replications=1).digest() for one in scenarios]
    assert json.loads(ended.stdout) == expected


PACKS = """
import sys
for name in ("numpy", "scipy"):
    sys.modules[name] = None
import json, simrep
scenario = json.load(sys.stdin)
print(*simrep.run(scenario, replications=1).prediction.intervals["latency_s.mean"])
try:
    simrep.run(scenario, replications=2)
except simrep.ScenarioError as error:
    print(error)
"""


def test_a_pack_has_its_interval_or_says_which_package_it_needs():
    scenario = {
        "cluster": {"model": "galera", "pack": "rig-2core"},
        "workload": {"threads": 1, "nodes": ["n1"]},
        "run": {"duration_s": 0.5, "seed": 1},
    }
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PACKS],
        input=json.dumps(scenario), capture_output=True, text=True, check=True,
    )  # fmt: skip
    interval, refused = ended.stdout.splitlines()
    expected = simrep.run(scenario, replications=1).prediction.intervals["latency_s.mean"]
    assert [float(bound) for bound in interval.split()] == pytest.approx(expected, rel=1e-9)
    assert "NumPy, which is not installed" in refused
    assert "draws=0" in refused
