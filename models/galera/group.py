"""How a Galera node reaches its group: its member of the total order, and its send monitor."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from simrep.modelling import (
    BookedCores,
    Clock,
    DirectMesh,
    Host,
    Inbox,
    Lap,
    Mesh,
    MessageWork,
    Parts,
    PausableMutex,
    Thread,
)
from simrep.models.galera.gcomm.causal import ChangingLocalCausal, LocalCausal
from simrep.models.galera.gcomm.changing_evs import ChangingEvs
from simrep.models.galera.gcomm.evs import Evs, EvsOptions
from simrep.models.galera.gcomm.gmcast import Gmcast, LinkOptions
from simrep.models.galera.gcomm.quiet_evs import QuietEvs

from .options import GaleraCosts, GaleraOptions, GaleraSession
from .state_exchange import StateExchange
from .writeset import Control, Kind, LocalTransaction, Writeset

__all__ = ["THREADS", "GroupMember", "Sender", "waits_for_reads"]

THREADS: Final = 4
"""Threads of a quiet node, in the order in which what they begin at an instant counts.

Senders that are woken, the applier, the receiver of the ordered stream, the group communication.
"""

_US: Final = 1e-6
_RETRY_S: Final = 0.010  # gcs retries a send that the output queue refused (gcs_core.cpp)
# Of every message on its way out: a global name is cheaper than an attribute.
_QUEUE: Final = Lap.QUEUE
_WINDOW: Final = Lap.WINDOW


class _Fragment:
    """A part of a writeset that is larger than a message; the last part is the writeset."""

    kind = Kind.FRAGMENT


_FRAGMENT: Final = _Fragment()


class _Nowhere:
    """Where a dead process sends to."""

    def send(self, _payload: Any, _size_bytes: int) -> bool:
        """Take everything and lose it."""
        return True


def waits_for_reads(options: GaleraOptions, sessions: Iterable[Any]) -> bool:
    """Whether any client may ask for a wait with ``wsrep_sync_wait``."""
    own = (one.sync_wait for one in sessions if isinstance(one, GaleraSession))
    return options.sync_wait > 0 or any(own)


class GroupMember:
    """What of a node lasts when its server is started anew."""

    def __init__(
        self,
        parts: Parts,
        options: GaleraOptions,
        costs: GaleraCosts,
        keepalive_at_s: float,
        inboxes: list[Inbox | None] | None = None,
        *,
        quiet: bool = False,
    ) -> None:
        cluster, index = parts.cluster, parts.index
        clock, host = parts.clock, cluster.hosts[index]
        self.options = EvsOptions(
            send_window=options.send_window,
            user_send_window=options.user_send_window,
            use_aggregate=options.use_aggregate,
            keepalive_period_s=options.keepalive_period_s,
            queue_limit_messages=options.output_queue_messages,
            gap_when_blocked=options.gap_when_blocked,
        )
        work = MessageWork(
            host.routine(costs.send_us * _US),
            host.routine(costs.receive_us * _US),
            costs.byte_ns * 1e-9,
        )
        thread = Thread(host)
        self.mesh: Mesh
        self.evs: Evs
        self.group: Evs | StateExchange  # as its server sees it
        self.quiet: QuietEvs | None = None  # if it is computed ahead
        if inboxes is not None:
            self._direct(parts, thread, work, inboxes, keepalive_at_s, quiet=quiet)
            return
        self.mesh = (
            _links(parts, options, thread, work)
            if cluster.changes
            else parts.mesh(cluster.segments, thread, work)
        )
        how = (clock, self.mesh, cluster.size, self.options, keepalive_at_s)
        period_s = options.causal_keepalive_period_s
        if period_s is None:
            period_s = options.keepalive_period_s
        asks = waits_for_reads(options, cluster.sessions)
        if cluster.changes:
            self.changing = ChangingLocalCausal(period_s, *how) if asks else ChangingEvs(*how)
            self.evs = self.changing
            self.group = StateExchange(self.changing, self.options.mtu_bytes)
        else:
            self.group = self.evs = LocalCausal(period_s, *how) if asks else Evs(*how)

    def _direct(
        self,
        parts: Parts,
        thread: Thread,
        work: MessageWork,
        inboxes: list[Inbox | None],
        keepalive_at_s: float,
        *,
        quiet: bool,
    ) -> None:
        """Reach members some of which are told of messages when they are sent."""
        cluster, index = parts.cluster, parts.index
        clock = parts.clock
        mesh = DirectMesh(clock, cluster.network, index, cluster.segments, thread, work, inboxes)
        how = (clock, mesh, cluster.size, self.options, keepalive_at_s)
        self.mesh = mesh
        if quiet:
            cores = BookedCores(cluster.hosts[index], THREADS)
            inboxes[index] = self.quiet = self.group = self.evs = QuietEvs(cores, *how)
        else:
            self.group = self.evs = Evs(*how)


def _links(parts: Parts, options: GaleraOptions, thread: Thread, work: MessageWork) -> Gmcast:
    """How a node reaches the others if links may end."""
    cluster, index = parts.cluster, parts.index
    return parts.make(
        Gmcast,
        parts.clock,
        cluster.network,
        index,
        cluster.segments,
        thread,
        work,
        LinkOptions(options.peer_timeout_s, options.time_wait_s),
        cluster.streams.uniform(f"galera/links/{index}"),
        cluster.timeline,
    )


class Sender:
    """The send monitor of a node, and what passes through it or past it."""

    def __init__(self, clock: Clock, host: Host, switch_s: float, evs_options: EvsOptions) -> None:
        self._clock = clock
        self._host: Host | QuietEvs = host
        self._switch_s = switch_s
        self._mtu = evs_options.mtu_bytes
        # Held for all messages of a writeset; paused by flow control.
        self.monitor = self._send_monitor()
        self.replicated = self.replicated_bytes = 0

    def _send_monitor(self) -> PausableMutex:
        return PausableMutex(self._clock, self._hand_over)

    def use(self, cores: QuietEvs) -> None:
        """Wake threads on its cores."""
        self._host = cores

    def connect(self, group: Evs | StateExchange) -> None:
        """Where messages are handed to."""
        self._group: Evs | StateExchange | _Nowhere = group
        group.on_send(self._left)

    def disconnect(self) -> None:
        """What is sent from now on gets nowhere."""
        self._group = _Nowhere()

    def replicate(self, writeset: Writeset) -> None:
        """Send a writeset to the group when it is its turn; its transaction may be withdrawn."""
        self.monitor.enter(self._send, writeset)
        if writeset.sent_s < 0.0:  # it waits
            writeset.local.withdraw = partial(self._withdraw, writeset)

    def rollback(self, writeset: Writeset) -> None:
        """Send a rollback fragment, which nobody waits for and nothing can withdraw."""
        self.monitor.enter(self._begin, writeset)

    def report_committed(self, node: int, seqno: int) -> None:
        """Tell the group, behind the writesets that had seen less."""
        self.monitor.enter(self._report, Control(Kind.LAST_COMMITTED, node, seqno))

    def control(self, message: Control) -> None:
        """Send a message of the group layer; it is retried until the output queue takes it."""
        if not self._group.send(message, message.size_bytes):
            self._clock.at(self._clock._now + _RETRY_S, self.control, message)

    def fail(self, local: LocalTransaction, *, retry: bool = True) -> None:
        """A local transaction has lost against another node, or its node serves nobody."""
        if not local.done.triggered:  # else its connection was lost
            local.retry = retry
            self._clock.fire(local.done, False)

    def _withdraw(self, writeset: Writeset) -> None:
        """Take a victim of brute force out of the queue for the send monitor."""
        if self.monitor.withdraw(writeset):
            self._host.run(self._switch_s, self.fail, writeset.local)

    def _hand_over(self, call: Any, argument: Any) -> None:
        """Wake a thread whose turn it is."""
        self._host.run(self._switch_s, call, argument)

    def _send(self, writeset: Writeset) -> None:
        local = writeset.local
        local.withdraw = None
        if local.aborted:
            self.monitor.leave()
            self.fail(local)
            return
        local.mark(_QUEUE)
        self._begin(writeset)

    def _begin(self, writeset: Writeset) -> None:
        writeset.sent_s = self._clock._now
        if writeset.journal is not None:
            writeset.journal.replicate()
        self.replicated += 1
        self.replicated_bytes += writeset.size_bytes
        size_bytes = writeset.size_bytes
        if size_bytes > self._mtu:
            self._send_rest((writeset, size_bytes))
        elif self._group.send(writeset, size_bytes):
            self.monitor.leave()
        else:
            self._clock.at(self._clock._now + _RETRY_S, self._send_rest, (writeset, size_bytes))

    def _send_rest(self, work: tuple[Writeset, int]) -> None:
        """Hand the messages of a writeset to the group communication, holding the monitor."""
        writeset, left = work
        mtu = self._mtu
        while left > mtu:
            if not self._group.send(_FRAGMENT, mtu):
                self._clock.at(self._clock._now + _RETRY_S, self._send_rest, (writeset, left))
                return
            left -= mtu
        if self._group.send(writeset, left):
            self.monitor.leave()
        else:
            self._clock.at(self._clock._now + _RETRY_S, self._send_rest, (writeset, left))

    def _left(self, payloads: tuple[Any, ...]) -> None:
        """The windows let a message go."""
        for payload in payloads:
            if isinstance(payload, Writeset):
                payload.local.mark(_WINDOW)

    def _report(self, message: Control) -> None:
        if self._group.send(message, message.size_bytes):
            self.monitor.leave()
        else:
            self._clock.at(self._clock._now + _RETRY_S, self._report, message)
