"""A run is determined by its scenario and its seed, and by nothing else."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.galera_cases import HOT_ROWS, SMALL_BYTES, Case, Load, cases

FEW = settings(max_examples=20)
RARE = 86_400.0  # seconds between keepalives when they are to play no role


# -- determinism -----------------------------------------------------------------------------------


@FEW
@given(cases(), st.integers(0, 1000))
def test_a_seed_determines_everything_and_another_is_another_run(case: Case, seed: int) -> None:
    case = replace(case, jitter_s=0.003)
    digest = case.run(seed).trace.digest()
    assert case.run(seed).trace.digest() == digest
    assert case.run(seed + 1).trace.digest() != digest


BUSY = Case(
    delays_s=((0.0, 0.002, 0.03), (0.001, 0.0, 0.02), (0.04, 0.03, 0.0)),
    jitter_s=0.002,
    segments=(0, 0, 1),
    machines=(0, 0, 1),
    cores=2,
    options={"wsrep_slave_threads": 4, "gcs.fc_limit": 1},
    costs={"statement_us": 90.0, "apply_us": 40.0, "receive_us": 15.0, "fsync_us": 150.0},
    loads=tuple(
        Load(node % 3, 0.001 * node, 0.0, ((HOT_ROWS[:1], SMALL_BYTES, True),) * 5)
        for node in range(6)
    ),
)

PRINT_DIGEST = (
    "from tests.property.test_galera_determinism import BUSY; print(BUSY.run(7).trace.digest())"
)


def test_hash_randomisation_plays_no_role() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", PRINT_DIGEST],
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout.strip()
        for hash_seed in ("0", "1", "4711")
    }
    assert digests == {BUSY.run(7).trace.digest()}


# -- what must not matter --------------------------------------------------------------------------


@FEW
@given(cases(), st.permutations(["alpha", "beta", "gamma", "delta", "epsilon"]))
def test_names_do_not_matter(case: Case, names: list[str]) -> None:
    case = replace(case, jitter_s=0.0)  # jitter is drawn from streams that are named after nodes
    renamed = replace(case, names=tuple(names[: len(case.delays_s)]))
    assert renamed.run().trace.digest() == case.run().trace.digest()


@FEW
@given(cases(), st.data())
def test_the_position_of_a_node_does_not_matter(case: Case, data: st.DataObject) -> None:
    # For one writer: what several nodes send on one number is ordered by position, and so are
    # messages that arrive at the same time. The phases of the keepalives are drawn by position;
    # without keepalives, nodes that report often must acknowledge when they are blocked.
    alone = {"evs.keepalive_period": RARE, "gap_when_blocked": True, "gcs.fc_limit": 1000}
    size = len(case.delays_s)
    order = data.draw(st.permutations(range(size)))
    place = [order.index(node) for node in range(size)]
    case = replace(
        case,
        jitter_s=0.0,
        segments=(0,) * size,
        machines=tuple(range(size)),
        options=case.options | alone,
        costs={},
        loads=(replace(case.loads[0], node=0),),
    )
    moved = replace(
        case,
        delays_s=tuple(tuple(case.delays_s[i][j] for j in order) for i in order),
        loads=tuple(replace(load, node=place[load.node]) for load in case.loads),
    )
    ends = [attempt.ended_s for attempt in case.run().attempts]
    assert [attempt.ended_s for attempt in moved.run().attempts] == pytest.approx(ends, abs=1e-9)


@FEW
@given(cases(), st.sampled_from([0.25, 2.0, 8.0]))
def test_a_cluster_k_times_as_slow_takes_k_times_as_long(case: Case, k: float) -> None:
    # Powers of two scale without rounding. Only what has no scale is left out: the retry of a
    # full output queue after 10 ms, TCP's first window, the threshold for long certifications.
    case = replace(
        case,
        jitter_s=0.0,
        options=case.options | {"output_queue_messages": 0},
        costs=case.costs | {"certify_key_us": 0.0},
        loads=tuple(
            replace(load, work=tuple((hot, SMALL_BYTES, auto) for hot, _, auto in load.work))
            for load in case.loads
        ),
    )
    scaled = replace(
        case,
        delays_s=tuple(tuple(k * delay for delay in row) for row in case.delays_s),
        options=case.options | {"evs.keepalive_period": k * case.options["evs.keepalive_period"]},
        costs={name: k * cost for name, cost in case.costs.items()},
        loads=tuple(
            replace(load, begin_s=k * load.begin_s, pause_s=k * load.pause_s) for load in case.loads
        ),
        slice_s=k * case.slice_s,
    )
    before, after = case.run(), scaled.run()
    assert [k * attempt.ended_s for attempt in before.attempts] == [
        attempt.ended_s for attempt in after.attempts
    ]
    assert after.histories()[0].orders == before.histories()[0].orders
