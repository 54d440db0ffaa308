"""Why a scenario has no closed form, whatever its model is."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from simrep.contract.closed_form.transaction import row_count
from simrep.contract.setup import Setup
from simrep.scenario.faults import CHANGES, LINKS
from simrep.workload.classes import TransactionClass

__all__ = ["contention", "doubts"]

_LARGE = 1000  # rows of a statement: the engine lists no more
_RARE = 0.01  # share of transactions that meet another one in a row: what is less hardly shows
_FIRST_SEGMENTS = 10  # of TCP, before the first acknowledgement


def doubts(setup: Setup) -> Iterator[str]:
    """Everything that a closed form leaves out and the scenario has."""
    workload = setup.workload
    if len(workload.classes) > 1:
        yield "several classes of transactions: they meet in the same queues and mean times differ"
    if workload.scheduled:
        yield "scheduled transactions: what they do to the others changes with time"
    if workload.courses:
        yield "a load that varies: nothing of it is steady"
    if any(one.policy and isfinite(one.policy.read_timeout_s) for one in workload.sources):
        yield "clients that give up waiting (read_timeout_s)"
    if workload.stops:
        yield 'clients that stop at an error (on_error = "stop"): fewer and fewer are left'
    if any(machine.second_thread_gain for machine in setup.machines.values()):
        yield "second hardware threads: how fast a core is depends on how many are busy"
    if setup.scenario.workload.interpreters is not None:
        yield "clients wait for the lock of their interpreter (interpreters)"
    if setup.scenario.proxy is not None:
        yield "a proxy decides which server clients go to"
    if any(loop.think is not None for loop in workload.loops):
        yield "clients that think for different times"
    if setup.moves:
        yield "servers come and go"
    if any(fault.what not in CHANGES | LINKS for fault in setup.scenario.faults):
        yield "faults: what they do changes with time"
    if setup.node_costs:
        yield "costs of single nodes: those of all nodes are taken"
    machines = setup.machines.values()
    if any(one.cpu_factor is not None or one.fsync_factor is not None for one in machines):
        yield "machines that are slower or faster (cpu_factor, fsync_factor)"
    if any(arrivals.connections is not None for arrivals in workload.arrivals):
        yield "arrivals wait for a connection"
    yield from _network(setup)
    if any(machine.parallel_syncs is not None for machine in setup.machines.values()):
        yield "fsyncs of all servers of a machine wait for each other (parallel_syncs)"
    for one in workload.classes[:1]:
        yield from _transaction(setup, one)


def _network(setup: Setup) -> Iterator[str]:
    paths = setup.paths.values()
    if any(path.troubles for path in paths):
        yield "outages of the network, or other faults of links"
    if any(path.loss for path in paths):
        yield "lost segments: what is repeated arrives a timeout later"
    if any(path.latency.jitter for path in paths):
        yield "jitter: the slowest of several ways that vary has no simple mean"
    if any(isfinite(path.bytes_per_s) for path in paths):
        yield "limited bandwidth: messages queue up on the links"
    if any(path.relayed for path in paths):
        yield "a delay relay, which all messages queue up for"


def _transaction(setup: Setup, one: TransactionClass) -> Iterator[str]:
    if one.load_data or one.xa_hold_s is not None or one.session is not None:
        yield "a transaction of a special kind (LOAD DATA, XA or session variables)"
    if one.steps:
        yield "statements of several kinds, which take steps of their own"
    elif one.rows > _LARGE:
        yield f"a large transaction ({one.rows:,} rows per statement), which takes steps of its own"
    elif setup.paths:
        least = min(path.tcp.segment_bytes for path in setup.paths.values()) * _FIRST_SEGMENTS
        if row_count(one) * one.row_bytes > least:
            yield f"more bytes than TCP sends at once ({least:,}): its windows decide"


def contention(setup: Setup, under_way: float) -> str:
    """Why row locks and conflicts cannot be left out; empty if they can.

    Parameters
    ----------
    setup : Setup
    under_way : float
        Mean number of transactions at a time.
    """
    (one,) = setup.workload.classes
    rows = row_count(one)
    if not rows or (one.keys.distribution == "fresh" and one.primary_key):
        return ""
    same = 1.0
    if one.keys.distribution != "fresh":
        same = one.keys.same_row()
    elif len({*setup.workload.nodes, *(stream.node for stream in setup.workload.arrivals)}) < 2:
        return ""  # rows of equal content: inserts of one node do not lock each other's
    share = min(1.0, max(0.0, under_way - 1.0) * rows * rows * same)
    if share <= _RARE:
        return ""
    return (
        f"about {share:.0%} of the transactions meet another one in a row: they wait for locks or "
        "fail in certification"
    )
