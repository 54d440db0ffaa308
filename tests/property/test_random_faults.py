"""Whatever goes wrong in a run: work is conserved, watching changes nothing, and it goes on."""

import random

import pytest

from simrep.runs.replication import simulate
from simrep.scenario import load
from simrep.testing import invariants

PRODUCTS = [
    {"model": "galera"},
    {"model": "group_replication"},
    {"model": "semisync", "version": "mysql-5.7"},  # its coordinator waits busily
    {"model": "asynchronous"},
    {"model": "standalone"},
]


def drawn(seed):
    """A scenario with up to four faults, and when the last of them ends."""
    draw = random.Random(seed)
    shared = seed % 2 == 0
    machine = {"cores": draw.choice([1, 2]), "wakeup_us": 20.0, "variation": 0.2}
    cluster = PRODUCTS[seed % len(PRODUCTS)] | {"nodes": 3, "shared_host": shared}
    faults, end_s = [], 0.02
    for _ in range(draw.randint(1, 4)):
        begin_s = round(end_s + draw.uniform(0.0, 0.03), 3)
        end_s = round(begin_s + draw.choice([0.001, 0.01, 0.08]), 3)
        fault = {"what": draw.choice(["slow", "pause", "disk-stall"]), "at_s": begin_s}
        fault["until_s"] = end_s
        if fault["what"] == "slow":
            fault |= {
                "cpu_factor": draw.choice([1.5, 50.0]),
                "fsync_factor": draw.choice([2.0, 50.0]),
            }
        place = {"host": "host"} if shared and draw.random() < 0.5 else {}
        faults.append(fault | (place or {"node": draw.choice(["n1", "n2", "n3"])}))
    content = {
        "cluster": cluster | {"machine": machine},
        "network": {"rtt_ms": draw.choice([0.1, 2.0])},
        "workload": {"threads": draw.choice([1, 8, 32]), "nodes": ["n1"]},
        "run": {"duration_s": end_s + 0.1, "seed": seed},
        "fault": faults,
    }
    return load(content), end_s


@pytest.mark.parametrize("seed", range(10))
def test_random_faults(seed):
    scenario, end_s = drawn(seed)
    plain = simulate(scenario, seed, trace=True)
    watched = simulate(scenario, seed, trace=True, watch_s=0.005)
    assert watched.trace_digest == plain.trace_digest
    invariants.check_conservation(plain.traffic)
    invariants.check_stages(plain.measurement)
    assert plain.trace[-1].time_s > end_s + 0.05  # nobody hangs
    assert all(0.0 <= one.utilisation <= 1.0 + 1e-9 for one in plain.stations)
