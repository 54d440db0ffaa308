"""The ``[cluster]``, ``[[node]]`` and ``[[host]]`` tables: what runs where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from simrep.errors import ScenarioError
from simrep.scenario import prior
from simrep.scenario.old_faults import ChangeTable
from simrep.scenario.table import (
    Cores,
    DataBytes,
    Factor,
    Gain,
    HotShare,
    Microseconds,
    Multiple,
    Name,
    Others,
    Period,
    Table,
    Variation,
    Weight,
    Whole,
    Words,
)

__all__ = [
    "DEFAULT_MACHINE",
    "MOST_NODES",
    "SHARED_HOST",
    "ClusterTable",
    "HostTable",
    "MachineTable",
    "NodeTable",
    "hosts_of",
]

MOST_NODES = 64
SHARED_HOST = "host"
"""Name of the machine that all nodes share with ``cluster.shared_host``."""


def _node_names(value: Any) -> Any:
    """Three nodes are n1, n2 and n3; a list gives the names."""
    if isinstance(value, bool) or not isinstance(value, (int, list, tuple)):
        raise ScenarioError(
            "", f"must be a number of nodes or a list of their names, given {value!r}"
        )
    size = value if isinstance(value, int) else len(value)
    if not 1 <= size <= MOST_NODES:
        raise ScenarioError("", f"a cluster has 1 to {MOST_NODES} nodes, given {size}")
    if isinstance(value, int):
        return tuple(f"n{position + 1}" for position in range(value))
    twice = sorted({str(name) for name in value if value.count(name) > 1})
    if twice:
        raise ScenarioError("", f"node {twice[0]!r} is there twice")
    return tuple(value)


NodeNames = Annotated[
    tuple[Name, ...],
    BeforeValidator(_node_names),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": MOST_NODES},
                {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
            ]
        }
    ),
]


class MachineTable(Table):
    """Traits of a machine; what is not given comes from the pack."""

    cores: Cores | None = Field(None, description="CPU cores; default: 4")
    slice_ms: Annotated[Period | None, prior.SLICE] = Field(
        None, description="longest use of a core while others wait; default: 1"
    )
    spin_ms: Annotated[Period | None, prior.SPIN] = Field(
        None,
        description="how long a thread that waits busily keeps a core from others (one or a few of "
        "the scheduler's ticks; with autogroup always slice_ms); default: 4",
    )
    cold_factor: Annotated[Factor | None, prior.COLD_FACTOR] = Field(
        None, description="how much longer code takes that has not run for a while; default: 1"
    )
    cold_after_ms: Annotated[Period | None, prior.COLD_AFTER] = Field(
        None, description="the pause after which half of that is reached; default: 2"
    )
    cpu_factor: Multiple | None = Field(
        None, description="how many times as long code takes on it; default: 1"
    )
    fsync_factor: Multiple | None = Field(
        None, description="how many times as long an fsync takes on its disk; default: 1"
    )
    wakeup_us: Annotated[Microseconds | None, prior.WAKE_UP] = Field(
        None, description="time to wake an idle core for work; default: 0"
    )
    interrupt_us: Microseconds | None = Field(
        None,
        description="with core_queues: the same for a thread that sleeps until its disk has done "
        "something; default: wakeup_us",
    )
    sleep_us: Annotated[Microseconds | None, prior.SLEEP] = Field(
        None,
        description="with core_queues: CPU that a thread takes to fall asleep and to be woken, "
        "beside its work; a machine that a fault slows or stops, or with cpu_factor, has one "
        "queue, and leaves out what a pack says of it; default: 0, no more than its work takes",
    )
    variation: Annotated[Variation | None, prior.VARIATION] = Field(
        None, description="coefficient of variation of CPU demands; default: 0"
    )
    disk_variation: Annotated[Variation | None, prior.DISK_VARIATION] = Field(
        None,
        description="coefficient of variation of the time that its disk takes for an fsync, or to "
        "read or write a page (lognormal); default: 0",
    )
    autogroup: bool | None = Field(
        None,
        description="its scheduler is fair between programs first, each server and all clients, "
        "then between threads of each (Linux: sched_autogroup_enabled, or a container for each); "
        "default: one queue in order of arrival, as on every machine that a fault slows or stops",
    )
    core_queues: bool | None = Field(
        None,
        description="with autogroup: each core has a queue and an account of its own, and an fsync "
        "takes turns on the cores, as Linux has it; default: one queue for all cores",
    )
    newidle_us: Annotated[Microseconds | None, prior.NEW_IDLE] = Field(
        None,
        description="with core_queues: the longest that a core took of late to look for threads "
        "that wait for another one, which it does not do in pauses that are shorter (Linux: "
        "max_newidle_lb_cost); default: 20",
    )
    second_thread_gain: Annotated[Gain | None, prior.SECOND_THREAD] = Field(
        None,
        description="what the second hardware thread of a core (hyper-threads) adds to its speed; "
        "cores counts cores, not threads; default: 0, no second threads",
    )
    others: Others | None = Field(
        None,
        description="with core_queues: threads of programs beside the scenario, which compute all "
        "the time, on a machine that is busy with other work; default: 0",
    )
    others_weight: Weight | None = Field(
        None,
        description="what they weigh together on a core, where a program of the scenario weighs 1 "
        "(Linux: the ratio of cpu.weight or cpu.shares); default: 1",
    )
    parallel_syncs: Cores | None = Field(
        None,
        description="fsyncs that its disk works on at a time, for all nodes on it (1: one spindle "
        "or one journal); default: as many as there are",
    )

    def above(self, lower: MachineTable) -> MachineTable:
        """These traits, and those of ``lower`` where none is given."""
        traits = {key: getattr(self, key) for key in MachineTable.model_fields}
        given = {key: value for key, value in traits.items() if value is not None}
        return MachineTable.model_validate({**lower.model_dump(), **given})


DEFAULT_MACHINE = MachineTable(
    cores=4,
    slice_ms=1.0,
    spin_ms=4.0,
    cold_factor=1.0,
    cold_after_ms=2.0,
    wakeup_us=0.0,
    sleep_us=0.0,
    variation=0.0,
    disk_variation=0.0,
    autogroup=False,
    core_queues=False,
    newidle_us=20.0,
    second_thread_gain=0.0,
    others=0,
    others_weight=1.0,
)


class HostTable(MachineTable):
    """A ``[[host]]``: a machine that nodes are placed on by its name."""

    name: Name = Field(description="name that nodes refer to")


class NodeTable(MachineTable):
    """A ``[[node]]``: what differs from the other nodes.

    Traits of a machine are for a node that has a machine of its own.
    """

    name: Name = Field(description="name of the node")
    host: Name | None = Field(None, description="machine it runs on; default: one of its own")
    costs: dict[str, Any] | None = Field(
        None, description="single costs of this node, above the cluster's"
    )
    options: dict[str, Any] | None = Field(
        None, description="single options of this node, above the cluster's"
    )
    arbitrator: bool = Field(
        False,
        strict=True,
        description="it has no data and no clients: it acknowledges what the others send, and "
        "votes on who goes on",
    )
    site: Name | None = Field(None, description="where it is, for presets and paths")
    segment: Annotated[Whole, Field(le=255)] = Field(
        0, description="network segment (gmcast.segment)"
    )


def hosts_of(nodes: Sequence[NodeTable], *, shared: bool) -> tuple[str, ...]:
    """The machine of each node by its name."""
    return tuple(SHARED_HOST if shared else node.host or node.name for node in nodes)


class ClusterTable(Table):
    """The replication product and the machines it runs on."""

    model: Name = Field(description="name of an installed model, e.g. galera")
    version: Name | None = Field(
        None, description="product version whose defaults hold; default: the newest"
    )
    pack: Words | None = Field(
        None,
        description="calibrated costs: a shipped pack by name, or a file (*.toml) by its path, "
        "seen from the scenario file; of a pack of another model its machine and network hold, and "
        "the costs that both models have",
    )
    nodes: NodeNames | None = Field(
        None, description="how many nodes (named n1, n2, ...) or their names; default: 3"
    )
    shared_host: bool = Field(
        False, strict=True, description="all nodes and their clients share one machine"
    )
    machine: MachineTable = Field(
        default_factory=MachineTable, description="traits of every machine, above the pack's"
    )
    changes: tuple[ChangeTable, ...] = Field(
        (), alias="change", description="servers that come and go, as earlier releases say it"
    )
    data_bytes: DataBytes = Field(
        10_000_000_000,
        description="data on the disk of each node, which a server that lost it all is given "
        "(10 GB: ten sysbench tables of four million rows)",
    )
    hot_share: Annotated[HotShare, prior.HOT_SHARE] = Field(
        0.2,
        description="share of the data that has all other accesses, where they do not fit into "
        "memory (innodb_buffer_pool_size): 0.2 of the data has 0.8 of them; 0.5: all alike",
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description="options in the product's own spelling"
    )
    costs: dict[str, Any] = Field(
        default_factory=dict, description="single costs, above the pack's"
    )
