"""MySQL Group Replication: certification over a total order made by Paxos (XCom).

A transaction runs on one member under row locks. At commit, before it enters the binary log, its
row events and the hashes of its keys travel as one message through the group communication
(``xcom``), which delivers it on all members in one order. Every member certifies
it; of two concurrent transactions that touch a row, the first ordered wins. The origin then
commits through the group commit of its binary log and answers its client; the others write it to
a relay log and apply it with parallel workers. In single-primary mode only the first node takes
writes; in multi-primary mode all do.

``ALTER TABLE`` is ordered when it has ended on the member that executes it. It has no write set, so
it never fails in certification; the others apply it as a barrier, between all before it and all
after it. Their queues grow meanwhile, until flow control slows the writers down.

Assumptions
-----------
Conservative
    One run queue per machine in order of arrival; a large transfer to the disk is not interleaved
    with small ones; garbage collection holds up the applier module for its whole length.
Optimistic
    All data are in memory, but for those of clients where ``innodb_buffer_pool_size`` is given:
    appliers read no pages from the disk even then, and the logs have a disk of their own. The
    coordinator assigns whole transactions. Where nothing happens that servers notice, the message
    cache never overflows, and nobody asks for what a member that is silent for more than 0.1 s has
    missed to say.
Left out
    Gap locks; threads of the storage engine that spin while they wait
    (``innodb_log_spin_cpu_abs_lwm``); what becomes of rows, in multi-primary mode, that another
    member writes to a table while it is changed, which the manual forbids: they are applied when
    the statement has ended, and no applier stops because of them; Router, ClusterSet and monitors;
    servers of different releases in a group; a minority that is made a group beside another one.
Servers that come and go
    Where the scenario lets something happen that servers notice, members have connections, a
    detector, suspicions, views, elections and recovery (``gcs``, ``xcom``, ``changing_member``),
    and XCom is Paxos in full. The order of a group in which nobody fails is the same.
Validated
    Against published measurements of MySQL 5.7.17 (``wan-concurrency``) and of groups of two to
    nine members (``group-replication-overview``, as ratios) and own ones of MySQL 9.7, two to
    five members, 0 to 100 ms, 1 to 128 threads, also with a single leader, up to 100,000 rows in
    a transaction (``group-replication-*`` and others). Flow control and consistency levels in a
    few settings; larger transactions against none. Crashes, cuts and returns of members of MySQL
    9.7, 0 and 50 ms (``group-replication-failures``).

A victim of a transaction ordered before it is rolled back while it still executes; once its own
message is sent it waits for its verdict, which is then negative.

References
----------
plugin/group_replication/src of MySQL 8.0 and 9: observer_trans.cc, certifier.cc, pipeline_stats.cc,
consistency_manager.cc; its XCom; MySQL 8.4 Reference Manual, chapter Group Replication.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from math import inf
from typing import Any, ClassVar

from simrep.modelling import (
    Change,
    Cluster,
    Deployment,
    Event,
    Host,
    Leader,
    MessageText,
    Model,
    Noted,
    Operation,
    Question,
    ReadLevel,
    Recognition,
    ScenarioError,
    ServerStatus,
    Setup,
    StallPhase,
    Station,
    Transaction,
    parts_of,
    rejoin_question,
    timeouts_question,
)
from simrep.modelling.closed_form import ClosedForm
from simrep.models.group_replication.gcs.texts import SAID, TERMS, describe_message
from simrep.models.mysql.maintenance import MAINTENANCE, maintain
from simrep.models.mysql.server import ERRORS
from simrep.models.mysql.set_options import APPLIER_RESTARTS, DURABILITY, set_durability
from simrep.models.mysql.table_changes import check_table_change

from .changes import Changes
from .changing_member import ChangingMember
from .history import History
from .member import CONFLICT, LOOP_S, TOO_LARGE, Member
from .options import GroupReplicationCosts, GroupReplicationOptions, GroupReplicationSession
from .past import Past
from .quiet.member import QuietMember, quiet_members
from .quiet.messages import Inbox
from .quiet.verdicts import Verdicts
from .recognition import GroupRecognition
from .seat import Seat
from .stall_phases import stall_phases
from .watch import WatchedParts, describe_payload

__all__ = ["GroupReplication"]

_MOST_MEMBERS = 9
# A member that misses a slot of another asks for it after 0.1 s, again after 0.14 s, and then has
# the group agree that it is empty (xcom_base.cc, wakeup_delay and propose_missing_values).
_AGREED_S = 0.24


class GroupReplication(Model):
    """The group of one replication.

    Parameters
    ----------
    cluster : Cluster
        Machines, network and clock.
    options : GroupReplicationOptions
    costs : GroupReplicationCosts

    Raises
    ------
    ScenarioError
        If there are more members than a group may have.
    """

    name: ClassVar[str] = "group_replication"
    Options: ClassVar[type[GroupReplicationOptions]] = GroupReplicationOptions
    Session: ClassVar[type[GroupReplicationSession]] = GroupReplicationSession
    Costs: ClassVar[type[GroupReplicationCosts]] = GroupReplicationCosts
    faults: ClassVar = frozenset(
        {
            "slow", "pause", "disk-stall", "kill", "power-loss", "leave", "restart", "bootstrap",
            "promote", "cut", "loss", "jitter",
        }
    )  # fmt: skip
    operations: ClassVar = MAINTENANCE | {"ddl", "set"}
    dynamic: ClassVar[frozenset[str]] = frozenset(
        f"group_replication_flow_control_{name}"
        for name in (
            "mode", "certifier_threshold", "applier_threshold", "hold_percent", "release_percent",
            "min_quota", "min_recovery_quota", "max_quota", "member_quota_percent",
        )
    ) | DURABILITY  # fmt: skip
    static: ClassVar[Mapping[str, str]] = {"replica_parallel_workers": APPLIER_RESTARTS}
    node_options: ClassVar[frozenset[str]] = frozenset({"group_replication_member_weight"})
    said: ClassVar[Mapping[str, str]] = SAID
    terms: ClassVar[Mapping[str, str]] = TERMS
    node_costs: ClassVar[bool] = True
    waits_for_own: ClassVar[bool] = True
    piles_up: ClassVar[bool] = True
    errors: ClassVar[tuple[str, ...]] = (*ERRORS, TOO_LARGE, CONFLICT)
    recognition: ClassVar[Recognition] = GroupRecognition()

    def __init__(
        self, cluster: Cluster, options: GroupReplicationOptions, costs: GroupReplicationCosts
    ) -> None:
        if cluster.size > _MOST_MEMBERS:
            raise ScenarioError(
                "cluster.nodes",
                f"a group has at most {_MOST_MEMBERS} members, given {cluster.size}",
                "leave nodes out",
            )
        # Members start one after the other, so their loops of once a second are not in step.
        self._phase = cluster.streams.uniform("group_replication/loops")
        self._cluster = cluster
        self._options = options
        self._costs = costs
        self._parts = parts_of(cluster, WatchedParts)
        self._changes: Changes | None = None
        self._quiet: list[QuietMember] = []
        self.members: Sequence[Member]
        if cluster.changes:
            self._begin_changing()
        else:
            self._begin_lasting()

    def _begin_lasting(self) -> None:
        """A group in which nothing happens."""
        cluster, options = self._cluster, self._options
        quiet = quiet_members(cluster, options, self._costs)
        inboxes: list[Inbox | None] | None = [None] * cluster.size if quiet else None
        verdicts = Verdicts(len(quiet), detects_conflicts=not options.single_primary_mode)
        members: list[Member] = []
        for parts in self._parts:
            costs = cluster.costs_of(parts.index, self._costs)
            how = parts, options, costs, LOOP_S * self._phase()
            if parts.index in quiet:
                assert inboxes is not None
                self._quiet.append(QuietMember(*how, inboxes, verdicts))
                members.append(self._quiet[-1])
            else:
                members.append(parts.make(Member, *how, inboxes))
        self.members = members
        if cluster.history_s:
            Past(cluster.clock, members, options, self._costs, cluster.history_s, cluster.past_by_s)

    def _begin_changing(self) -> None:
        """A group whose servers may come and go."""
        cluster, options = self._cluster, self._options
        history = History()
        members: list[ChangingMember] = []
        self.members = members
        kernels: dict[Host, float] = {}
        looks = cluster.streams.uniform("group_replication/detectors")()
        seats = [
            Seat.of(
                parts,
                options,
                cluster.costs_of(parts.index, self._costs),
                history,
                members.__getitem__,
                self._abort,
                self._restart,
                kernels,
                looks,
            )
            for parts in self._parts
        ]

        def start(index: int) -> ChangingMember:
            parts = self._parts[index].anew()
            costs = cluster.costs_of(index, self._costs)
            at_s = cluster.clock.now + LOOP_S * self._phase()
            return parts.make(ChangingMember, parts, options, costs, at_s, seats[index])

        def start_s(index: int) -> float:
            return cluster.costs_of(index, self._costs).start_ms * 1e-3

        members.extend(start(index) for index in range(cluster.size))
        self._changes = Changes(cluster, options, members, seats, history, start, start_s)

    def _abort(self, index: int) -> None:
        assert self._changes is not None
        self._changes.abort(index)

    def _restart(self, index: int, donor: int) -> None:
        assert self._changes is not None
        self._changes.start_anew(index, donor)

    @staticmethod
    def pause_limit_s(options: GroupReplicationOptions) -> float:
        """See ``Model.pause_limit_s``: any, as the others notice it."""
        del options
        return inf

    @staticmethod
    def silence_limit_s(options: GroupReplicationOptions) -> float:
        """See ``Model.silence_limit_s``: then others have the group agree on empty slots."""
        del options
        return _AGREED_S

    @staticmethod
    def deployments() -> Sequence[Deployment]:
        """See ``Model.deployments``."""
        return (
            Deployment(
                name="Group Replication",
                keeps="majority",
                here=(1, 2, 3),
                options={"group_replication_single_primary_mode": True},
                writers={"group_replication_single_primary_mode": False},
            ),
            Deployment(
                name="Group Replication, single leader",
                keeps="majority",
                here=(1, 2, 3),
                options={"group_replication_paxos_single_leader": True},
            ),
        )

    @staticmethod
    def analytic(setup: Setup) -> ClosedForm:
        """See ``ClosedForm``."""
        from .analytic import GroupReplicationForm

        return GroupReplicationForm(setup)

    @staticmethod
    def read_levels() -> Sequence[ReadLevel]:
        """See ``Model.read_levels``."""
        option, both = "group_replication_consistency", "BEFORE_AND_AFTER"
        eventual, before = {option: "EVENTUAL"}, {option: "BEFORE"}
        return (
            ReadLevel(name="EVENTUAL", sees="any", options=eventual),
            ReadLevel(name="BEFORE (readers)", sees="all", options=eventual, session=before),
            ReadLevel(name="AFTER (all)", sees="all", options={option: "AFTER"}),
            ReadLevel(name=f"{both} (all)", sees="all", options={option: both}),
        )

    @staticmethod
    def questions() -> Sequence[Question]:
        """See ``Model.questions``."""
        return (
            rejoin_question(f"{__name__}.rejoin:member_return"),
            timeouts_question(f"{__name__}.timeouts:expel_timeouts"),
        )

    @staticmethod
    def writers(options: GroupReplicationOptions) -> Leader | None:
        """In single-primary mode the first member, the primary."""
        if not options.single_primary_mode:
            return None
        otherwise = "set group_replication_single_primary_mode = false"
        return Leader("primary", "secondary", otherwise, moves=True)

    def connect(self, node: int) -> Generator[Event, Any, str | None]:
        """Open a connection to one member."""
        return self.members[node].connect()

    def transact(self, transaction: Transaction) -> Generator[Event, Any, bool]:
        """Run a transaction; it fails by a deadlock, in certification, or when it is too large."""
        return self.members[transaction.node].transact(transaction)

    def status(self, node: int) -> ServerStatus:
        """See ``Model.status``: by ``performance_schema.replication_group_members``."""
        self.settle()
        return self.members[node].status()

    def change(self, change: Change) -> None:
        """Let a server crash, leave, join or get another role now."""
        assert self._changes is not None
        self._changes.change(change)

    def operate(self, operation: Operation) -> None:
        """Let an operator set options, change or lock tables, or make a backup."""
        assert self._changes is not None
        if operation.what in MAINTENANCE:
            node = operation.nodes[0]
            costs = self._cluster.costs_of(node, self._costs)
            maintain(self._cluster, self._changes.member(node).server, operation, costs)
            return
        if operation.what == "set":
            for node in operation.nodes:
                changing = self._changes.member(node)
                set_durability(operation, changing.server)
                changing.flow_control.set_options(operation.options)
            return
        member = self._changes.member(operation.nodes[0])
        told = check_table_change(
            operation,
            self._options,
            member.server.name if member.read_only else "",
            many_write=not self._options.single_primary_mode,
        )
        assert member.server.tables is not None
        member.server.tables.alter(told)

    @staticmethod
    def stall_phases(
        noted: Sequence[Noted],
        names: Sequence[str],
        options: GroupReplicationOptions,
        from_s: float,
        until_s: float,
    ) -> list[StallPhase]:
        """See ``Model.stall_phases``."""
        return stall_phases(noted, names, options, from_s, until_s)

    @staticmethod
    def describe(message: Any) -> MessageText:
        """What a message is."""
        return describe_message(message[0], describe_payload)

    def settle(self) -> None:
        """See ``Model.settle``."""
        for member in self._quiet:
            member.settle()

    def counters(self) -> Mapping[str, Mapping[str, float]]:
        """Counters of every member (``performance_schema.replication_group_member_stats``)."""
        self.settle()
        return {member.server.name: member.counters() for member in self.members}

    def backlog(self) -> Mapping[str, float]:
        """Transactions that wait on each member to be certified or applied.

        Where servers come and go: by how many each has committed less than the first of them.
        """
        self.settle()
        if self._changes is not None:
            counts = {member.server.name: member.executed.count for member in self.members}
            first = max(counts.values())
            return {name: first - count for name, count in counts.items()}
        return {
            member.server.name: (
                member.waiting_certification + member.channel.backlog + member.older
            )
            for member in self.members
        }

    def stations(self) -> Iterable[Station]:
        """Threads, logs and disks; machines are the engine's."""
        return [station for member in self.members for station in member.stations()]
