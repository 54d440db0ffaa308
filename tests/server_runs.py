"""Short runs of MySQL servers whose costs are all zero but those that a test sets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simrep.contract.setup import setup_of
from simrep.kernel.clock import Clock
from simrep.kernel.streams import Streams
from simrep.kernel.trace import Trace, TraceEvent
from simrep.measure.meter import Meter
from simrep.runs.build import build_cluster
from simrep.runs.result import Result
from simrep.runs.run import run
from simrep.scenario import load
from simrep.workload.clients import Clients

__all__ = ["MS", "US", "Quiet", "one_server", "scenario", "until_quiet"]

US, MS = 1e-6, 1e-3
_SETTLED_S = 20.0  # longer than the cuts of tests, and than a wait for an acknowledgement

_SERVER = (
    "connect_us", "statement_us", "row_us", "row_read_us", "client_us", "commit_us", "rollback_us",
    "binlog_write_us", "binlog_byte_ns", "log_write_us", "fsync_us", "switch_us",
)  # fmt: skip
_REPLICATION = ("send_us", "receive_us", "byte_ns", "schedule_us", "apply_us", "apply_row_us")
_COSTS = {
    "standalone": _SERVER,
    "asynchronous": _SERVER + _REPLICATION,
    "semisync": (*_SERVER, *_REPLICATION, "reply_us", "acknowledge_us"),
}


def scenario(
    model: str,
    size: int,
    *,
    version: str | None = None,
    options: dict[str, Any] | None = None,
    costs: dict[str, float] | None = None,
    network: dict[str, Any] | None = None,
    cores: int = 64,
    duration_s: float | None = None,
    **workload: Any,
) -> dict[str, Any]:
    """A scenario as a file would hold it; without a duration, its transactions are counted."""
    free = dict.fromkeys(_COSTS[model], 0.0)
    cluster: dict[str, Any] = {
        "model": model,
        "nodes": size,
        "machine": {"cores": cores},
        "options": options or {},
        "costs": {**free, "disk_mb_per_s": 1e9, **(costs or {})},
    }
    if version is not None:
        cluster["version"] = version
    content: dict[str, Any] = {"cluster": cluster, "workload": workload, "network": network or {}}
    if duration_s is not None:
        content["run"] = {"duration_s": duration_s}
    return content


def one_server(**how: Any) -> Result:
    """Run a standalone server."""
    return run(scenario("standalone", 1, **how))


@dataclass(frozen=True)
class Quiet:
    """What is left when nothing happens any more: clients have ended and replicas caught up."""

    counters: Mapping[str, Mapping[str, float]]
    events: Sequence[TraceEvent]
    submitted: int
    committed: int
    aborted: int

    def of(self, node: int, what: str) -> list[TraceEvent]:
        """The trace of one node and kind, in order."""
        return [event for event in self.events if (event.node, event.what) == (node, what)]


def until_quiet(content: Mapping[str, Any], seed: int = 1) -> Quiet:
    """Run a scenario with a fixed number of transactions, and go on until nothing is left."""
    setup = setup_of(load(content))
    clock, streams = Clock(), Streams(seed)
    trace = Trace(clock)
    cluster = build_cluster(setup, clock, streams, trace)
    model = setup.model(cluster, setup.options, setup.costs)
    clients = Clients(clock, streams, setup.workload, model, Meter(clock, 0.0, 1.0, False))
    clients.start()
    if cluster.changes:  # connections have timers for ever
        while clients.in_flight or any(model.backlog().values()) or clock.now < _SETTLED_S:
            clock.run(clock.now + _SETTLED_S)
    else:
        clock.run()
    assert clients.in_flight == 0
    return Quiet(
        model.counters(), trace.events, clients.submitted, clients.committed, clients.aborted
    )
