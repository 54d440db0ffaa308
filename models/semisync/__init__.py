"""Semi-synchronous replication of MySQL and MariaDB: a commit waits until replicas have it.

The first node is the source, all others are its semi-synchronous replicas. Replication is that of
``simrep.models.asynchronous``; in addition a commit waits until enough replicas have written the
transaction to their relay logs and said so. They need not have applied it.

MySQL 5.5 and 5.6
    The dump thread that has sent a transaction waits for the acknowledgement itself before it
    sends the next: one transaction per round trip and replica, however many clients there are.
    Clients wait after the commit in the storage engine.
MySQL 5.7 and later
    A thread of its own receives acknowledgements, and transactions follow each other on the way.
    ``AFTER_SYNC``: the leader of a commit group waits for its last transaction before the engine
    commits, row locks held. ``AFTER_COMMIT``: afterwards. The k-th fastest replica decides.
MariaDB
    As 5.7, with one acknowledgement. With ``AFTER_SYNC`` only one more group can be written while
    one waits, so that groups come near two round trips apart.

When a wait reaches the timeout the whole source becomes asynchronous, until a replica has
acknowledged the end of the binary log. ``loss_at`` tells from a trace what a
crash of the source at any instant would lose.

Assumptions
-----------
Conservative
    As in ``simrep.models.asynchronous``.
Optimistic
    As there; threads do not contend for the mutex of the acknowledgements or, before 5.7, for
    that of the binary log.
Left out
    As there. Asynchronous replicas beside semi-synchronous ones; MariaDB's one wake-up of all who
    wait, before 11.3.
Validated
    Against own measurements of MySQL 9.7 and MariaDB 11.8 at 0.05 and 50 ms (dataset
    ``semisync-rig``) and against published ones over a WAN (dataset ``semisync-wan``). Crashes and
    silences of replicas, and crashes of a source, of MySQL 9.7 (``semisync-failures``).

References
----------
plugin/semisync of MySQL 5.6 and 9; sql/binlog.cc (call_after_sync_hook,
process_after_commit_stage_queue) of MySQL 9; sql/semisync_master.cc and sql/log.cc of MariaDB
11.8; MySQL 8.4 Reference Manual, Semisynchronous Replication.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from simrep.modelling import (
    Cluster,
    Degradation,
    Deployment,
    Noted,
    Operation,
    Recognition,
    Setup,
    StallPhase,
)
from simrep.modelling.closed_form import ClosedForm
from simrep.models.asynchronous import MANAGED, Asynchronous
from simrep.models.asynchronous.failover import failover_phases
from simrep.models.asynchronous.source import SOURCE

from .ahead import AheadSemisyncReplica
from .changing_replica import ChangingSemisyncReplica
from .changing_source import ChangingSemisyncSource
from .loss import Loss, loss_at
from .options import SemisyncCosts, SemisyncOptions
from .recognition import SemisyncRecognition
from .replica import SemisyncReplica
from .source import SemisyncSource
from .stall_phases import stall_phases
from .watch import WatchedParts

__all__ = ["Loss", "Semisync", "loss_at"]


class Semisync(Asynchronous):
    """The source and its semi-synchronous replicas.

    Parameters
    ----------
    cluster : Cluster
        Machines, network and clock.
    options : SemisyncOptions
    costs : SemisyncCosts
    """

    name: ClassVar[str] = "semisync"
    Options: ClassVar[type[SemisyncOptions]] = SemisyncOptions
    Costs: ClassVar[type[SemisyncCosts]] = SemisyncCosts
    recognition: ClassVar[Recognition] = SemisyncRecognition()
    said: ClassVar[Mapping[str, str]] = {
        "async": "{node} waits for no acknowledgement any more",
        "sync": "{node} waits for acknowledgements again",
    }
    dynamic: ClassVar[frozenset[str]] = Asynchronous.dynamic | {
        "rpl_semi_sync_source_wait_for_replica_count",
        "rpl_semi_sync_source_timeout",
    }
    made_of: ClassVar = (WatchedParts, SemisyncSource, SemisyncReplica)
    replica_ahead: ClassVar = AheadSemisyncReplica
    changing_made_of: ClassVar = (ChangingSemisyncSource, ChangingSemisyncReplica)
    source: SemisyncSource
    _options: SemisyncOptions

    def __init__(self, cluster: Cluster, options: SemisyncOptions, costs: SemisyncCosts) -> None:
        super().__init__(cluster, options, costs)
        if not cluster.changes:
            cluster.network.on_receive(SOURCE, self.source.receive)

    def _thread_us(self) -> Iterable[float]:
        every: list[Any] = self._costs
        source, *replicas = every
        if self._options.stop_and_wait and self._options.enabled:
            return [0.0]
        more = (source.acknowledge_us, *(costs.reply_us for costs in replicas))
        return [*super()._thread_us(), *more]

    @staticmethod
    def deployments() -> Sequence[Deployment]:
        """See ``Model.deployments``."""
        return (Deployment(name="semi-synchronous", keeps="replica", here=(1, 2), options=MANAGED),)

    @staticmethod
    def analytic(setup: Setup) -> ClosedForm:
        """See ``ClosedForm``."""
        from .analytic import SemisyncForm

        return SemisyncForm(setup)

    @staticmethod
    def stall_phases(
        noted: Sequence[Noted],
        names: Sequence[str],
        options: SemisyncOptions,
        from_s: float,
        until_s: float,
    ) -> Sequence[StallPhase]:
        """See ``Model.stall_phases``: a failover, or the timeout of a wait for acknowledgements."""
        failover = failover_phases(noted, names, options, from_s, until_s)
        return failover or stall_phases(noted, names, options, from_s, until_s)

    def degradation(self) -> Sequence[Degradation]:
        """Commits answered although too few replicas had acknowledged them."""
        sources = self._sources()
        enabled = self._options.enabled
        times = sum(source.unacknowledged for source in sources) if enabled else 0
        why = max(sources, key=lambda source: source.unacknowledged).why_alone
        return (Degradation("unacknowledged_commits", times, why),)

    def _sources(self) -> Sequence[SemisyncSource]:
        """The source, or all servers where another one may be that."""
        if self._changes is None:
            return [self.source]
        return [member.source for member in self._members]

    def operate(self, operation: Operation) -> None:
        """Set options, or what ``Asynchronous`` plays."""
        super().operate(operation)
        if operation.what == "set":
            for node in operation.nodes:
                self._members[node].source.set_options(operation.options)

    def counters(self) -> Mapping[str, Mapping[str, float]]:
        """Those of ``Asynchronous``, and of the acknowledgements on the source.

        ``Unacknowledged_commits`` is no status variable: transactions, not waits, whose clients
        were answered before enough replicas had acknowledged them. With ``AFTER_SYNC`` MySQL's
        ``yes_tx`` and ``no_tx`` count a commit group once.
        """
        servers = {name: dict(counters) for name, counters in super().counters().items()}
        for number, source in enumerate(self._sources()):
            if number == SOURCE or source.unacknowledged or source.acknowledgements.requests:
                servers[self.servers[number].name] |= source.counters()
        return servers
