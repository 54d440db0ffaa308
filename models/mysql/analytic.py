"""A MySQL or MariaDB server in closed form: execution, logs and their group commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Any

from simrep.modelling import Setup
from simrep.modelling.closed_form import (
    Groups,
    GroupStage,
    Journey,
    Pace,
    Step,
    Turns,
    Work,
    cost_s,
    execution,
    row_count,
)

from .options import ServerCosts, ServerOptions
from .server import ENVELOPE_BYTES

__all__ = ["CONTENTION", "PAGE_READS", "NodesForm", "ServerForm", "size_bytes"]

_US = 1e-6
_COMMIT = "commit"


def size_bytes(setup: Setup) -> int:
    """Size of the one kind of transaction in the binary log."""
    (one,) = setup.workload.classes
    return row_count(one) * one.row_bytes + ENVELOPE_BYTES


class NodesForm:
    """What the closed forms of all products know of machines and of the network between them."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.costs: Any = setup.costs
        self._machines = [setup.machines[machine] for machine in setup.placement]

    def cost(self, node: int, us: float, pause_s: float, more_s: float = 0.0) -> float:
        """Mean time of a routine of so many microseconds on the machine of a node."""
        return cost_s(self._machines[node], us * _US, pause_s, more_s)

    def wake_s(self, node: int) -> float:
        """To wake a thread on an idle core, as after every wait for a disk."""
        machine = self._machines[node]
        return ((machine.wakeup_us or 0.0) + (machine.sleep_us or 0.0)) * _US

    def hops_s(self, pace: Pace, copies: int, more_s: float = 0.0) -> list[list[float]]:
        """One-way times of messages that are sent in so many copies, with the work of both ends."""
        costs, paths, nodes = self.costs, self.setup.paths, range(len(self._machines))
        hops = [[0.0 for _ in nodes] for _ in nodes]
        for source, target in permutations(nodes, 2):
            hops[source][target] = (
                copies * self.cost(source, costs.send_us, pace.any_s)
                + paths[source, target].latency.base_s
                + self.cost(target, costs.receive_us, pace.any_s, more_s)
                + self.wake_s(target)
            )
        return hops


CONTENTION = "threads contend for latches of the storage engine (latch_us)"
"""Why there is no closed form of a server whose throughput falls with more threads."""
PAGE_READS = "pages of data are read from the disk (innodb_buffer_pool_size)"
"""Why there is none where not all data are in memory."""


class ServerForm(NodesForm):
    """The closed form of servers that know nothing of each other.

    What products add is in the methods that they override: where only some nodes take writes, what
    is waited for before and after the commit, and what else costs CPU.
    """

    def __init__(self, setup: Setup, *, log_bin: bool = True) -> None:
        options, costs = setup.options, setup.costs
        assert isinstance(options, ServerOptions)
        assert isinstance(costs, ServerCosts)
        super().__init__(setup)
        self.options: Any = options
        self.writes = row_count(setup.workload.classes[0]) > 0
        self._server_options = options
        self._server_costs = costs
        self._log_bin = log_bin

    def doubts(self) -> Iterator[str]:
        """See ``ClosedForm.doubts``."""
        options, (one, *_) = self._server_options, self.setup.workload.classes
        if options.binlog_group_commit_sync_delay or options.binlog_commit_wait_count:
            yield "a group commit that waits for company: how many come in time is chance"
        if options.innodb_buffer_pool_size is not None:
            yield PAGE_READS
        if self._server_costs.latch_us:
            yield CONTENTION
        if options.sync_binlog > 1:
            yield "a binary log that is synced now and then: groups differ (sync_binlog)"
        if row_count(one) * one.row_bytes > options.max_binlog_cache_size:
            yield "transactions that do not fit into their binary log cache fail"

    def journey(self, node: int, pace: Pace) -> Journey:
        """See ``ClosedForm.journey``."""
        prepare_s = self.prepare_s(node, pace) if self.writes else 0.0
        costs = self._server_costs.of_sessions()
        steps = execution(self.setup, node, costs, pace, prepare_s)
        if not self.writes:
            return Journey(steps, connect_s=costs.connect_s)
        return Journey(
            (*steps, *self.before_commit(node, pace), *self._commit(node, pace)),
            self._all_beside_s(node, pace),
            costs.connect_s,
        )

    def limits(self, rates: Mapping[int, float]) -> Iterator[str]:
        """See ``ClosedForm.limits``."""
        yield from ()

    def notes(self) -> Iterator[str]:
        """See ``ClosedForm.notes``."""
        yield "waits are means of a decomposition: approximate where several clients share a place"

    # -- what products add ---------------------------------------------------------------------

    def prepare_s(self, node: int, pace: Pace) -> float:
        """CPU of the client's thread after the statements, before anybody is waited for."""
        return 0.0

    def before_commit(self, node: int, pace: Pace) -> tuple[Step, ...]:
        """What is waited for between the statements and the logs."""
        return ()

    def held_s(self, node: int, pace: Pace) -> float:
        """How long a group is held under the lock of its last stage, in seconds."""
        return 0.0

    def each_held_s(self, node: int, pace: Pace) -> float:
        """What every transaction of a group waits for after the other, after the commit."""
        return 0.0

    def after_commit(self, node: int, pace: Pace) -> tuple[Step, ...]:
        """What is waited for between the engine's commit and the answer."""
        return ()

    def beside_s(self, node: int, pace: Pace) -> dict[int, float]:
        """CPU on nodes that no client waits for."""
        return {}

    def _all_beside_s(self, node: int, pace: Pace) -> dict[int, float]:
        """With the CPU that leaders of groups take for the others."""
        beside = self.beside_s(node, pace)
        if self._log_bin:
            costs = self._server_costs
            leader_us = costs.commit_us + costs.binlog_write_us + costs.switch_us
            byte_s = costs.binlog_byte_ns * 1e-9 * size_bytes(self.setup)
            beside[node] = beside.get(node, 0.0) + leader_us * _US + byte_s
        return beside

    # -- the logs ------------------------------------------------------------------------------

    def _redo_s(self, size: int) -> float:
        """A flush of the redo log."""
        level, costs = self._server_options.innodb_flush_log_at_trx_commit, self._server_costs
        if level == 0:
            return 0.0
        write_s = costs.log_write_us * _US
        if level == 2:
            return write_s
        return write_s + self._fsync_s(size)

    def _fsync_s(self, size: int) -> float:
        """An fsync, on an idle core with warm caches."""
        costs = self._server_costs
        fsync_us = costs.fsync_us + costs.fsync_work_us
        return fsync_us * _US + size / (costs.disk_mb_per_s * 1e6)

    def _binlog_sync_s(self, node: int, size: int) -> float:
        """An fsync of the binary log, and the thread that writes the journal."""
        costs = self._server_costs
        if not self._server_options.sync_binlog:
            return 0.0
        journal_s = (costs.switch_us + costs.journal_us) * _US
        return self._fsync_s(size) + journal_s + self.wake_s(node)

    def _commit(self, node: int, pace: Pace) -> tuple[Step, ...]:
        costs = self._server_costs
        size = size_bytes(self.setup)
        switch_s = costs.switch_us * _US
        commit_s = self.cost(node, costs.commit_us, pace.own_s)
        warm_s = costs.commit_us * _US
        redo = GroupStage(self._redo_s(size))
        after = self.after_commit(node, pace)
        if not self._log_bin:
            alone, answer = Work(_COMMIT, commit_s, wakes=0), Work("answer", switch_s, wakes=1)
            return alone, Groups("redo log", (redo,)), *after, answer
        byte_s = costs.binlog_byte_ns * 1e-9 * size
        write_s = self.cost(node, costs.binlog_write_us, pace.own_s, byte_s) + self.wake_s(node)
        each_s = costs.binlog_write_us * _US + byte_s
        sync_s = self._binlog_sync_s(node, size)
        held_s = self.held_s(node, pace)
        commit_s += self.wake_s(node)
        generation = self._server_options.commit_pipeline
        if generation in {"mysql-5.1", "mysql-5.5"}:
            again_s = self._redo_s(0)
            if generation == "mysql-5.1":
                one_s = redo.seconds + write_s + sync_s + commit_s + again_s
                return Turns("binary log, one by one", one_s), *after
            return (
                Groups("redo log", (redo,)),
                Turns("binary log, one by one", write_s + sync_s + commit_s),
                Groups("redo log", (GroupStage(again_s),)),
                *after,
            )
        last = GroupStage(held_s + commit_s, warm_s)
        if generation == "mysql-5.7":
            newer = (GroupStage(redo.seconds + write_s, each_s), GroupStage(sync_s), last)
            return Groups("group commit", newer, answer_s=switch_s), *after
        if generation == "mariadb":
            logs = Groups("group commit", (redo, GroupStage(write_s + sync_s, each_s), last))
            return logs, *after, Work("answer", switch_s, wakes=1)
        # Redo logs are flushed before, by groups that others join or leave behind.
        before = Groups("redo log", (redo,))
        stages: tuple[GroupStage, ...] = (GroupStage(write_s, each_s), GroupStage(sync_s), last)
        if turn_s := self.each_held_s(node, pace):
            stages = (*stages, GroupStage(turn_s, turn_s))
        return before, Groups("group commit", stages, answer_s=switch_s), *after
