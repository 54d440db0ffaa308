"""Clients that go on by themselves equal SimPy processes that wait for events, bit for bit."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simrep.contract.setup import Setup, setup_of
from simrep.kernel.clock import Event
from simrep.models.galera import Galera
from simrep.models.group_replication import GroupReplication
from simrep.models.standalone import Standalone
from simrep.runs.replication import Replication, simulate
from simrep.scenario import load
from simrep.workload.first_reads import FirstReads
from simrep.workload.transaction import Transaction

MODELS = {"galera": Galera, "group_replication": GroupReplication, "standalone": Standalone}


def by_processes(kind: type[Any]) -> type[Any]:
    """The model, every transaction of which is a generator of events to its client."""

    class Long(kind):
        def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
            return (yield from super().transact(transaction))

    return Long


def outcome(setup: Setup) -> tuple[Any, ...]:
    run: Replication = simulate(setup, seed=3, trace=True)
    measured = run.measurement
    return (
        run.trace_digest,
        run.traffic,
        measured.latency.figures(),
        measured.laps,
        run.counters,
        measured.stall,
    )


@settings(max_examples=10, deadline=None, derandomize=True)
@given(
    model=st.sampled_from(sorted(MODELS)),
    clients=st.sampled_from(
        [{"threads": 5}, {"rate_tps": 300.0}, {"threads": 3, "think_time_ms": 4}]
    ),
    client=st.sampled_from([{}, {"client": "own", "client_rtt_ms": 0.7}]),
    autocommit=st.booleans(),
    rows=st.sampled_from([4, 2000]),
    seed=st.integers(0, 3),
)
def test_digests_are_equal(model, clients, client, autocommit, rows, seed) -> None:
    update = {"name": "update", "statements": 1, "keys": {"distribution": "uniform", "rows": rows}}
    if not autocommit:
        update |= {"statements": 3, "reads": 2}
    read = {"name": "read", "statements": 0, "reads": 1 if autocommit else 4, "weight": 0.5}
    nodes = {"nodes": ["*"]} if model == "galera" else {}
    scenario = load(
        {
            "cluster": {"nodes": 3 if model != "standalone" else 1, "model": model},
            "workload": {**clients, **client, **nodes, "class": [update, read]},
            "run": {"duration_s": 0.15, "warmup_s": 0.05, "seed": seed},
        }
    )
    setup = setup_of(scenario)
    long = replace(setup, model=by_processes(MODELS[model]))
    assert outcome(setup) == outcome(long)


@settings(max_examples=10, deadline=None, derandomize=True)
@given(
    model=st.sampled_from(sorted(MODELS)),
    threads=st.sampled_from([1, 12]),
    client_us=st.sampled_from([0, 15]),
    reads=st.integers(0, 6),
    seed=st.integers(0, 3),
)
def test_reads_in_one_visit_are_reads_one_by_one(model, threads, client_us, reads, seed) -> None:
    mixed = {"name": "mixed", "reads": reads, "range_reads": 2, "statements": 2}
    mixed["keys"] = {"distribution": "uniform", "rows": 30}
    setup = setup_of(
        load(
            {
                "cluster": {"nodes": 2, "model": model, "costs": {"client_us": client_us}},
                "workload": {"threads": threads, "think_time": "exponential", "class": [mixed]},
                "run": {"duration_s": 0.15, "warmup_s": 0.05, "seed": seed},
            }
        )
    )
    short = outcome(setup)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(FirstReads, "parts_of", lambda *_: [])
        assert outcome(setup) == short
