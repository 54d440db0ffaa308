"""A Galera node of a cluster in which none comes or goes: its verdicts are those of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from simrep.modelling import Lap, Parts

from .group import GroupMember
from .node import GaleraNode
from .options import GaleraCosts, GaleraOptions
from .verdicts import SharedApplyMonitor, SharedCertifier, Verdicts
from .writeset import UNDECIDED, Ordered, Writeset

__all__ = ["SharingNode"]

_ORDER: Final = Lap.ORDER
_CERTIFICATION: Final = Lap.CERTIFICATION
_COMMIT_ORDER: Final = Lap.COMMIT_ORDER
_COMMIT: Final = Lap.COMMIT
_FLUSH: Final = Lap.FLUSH


class SharingNode(GaleraNode):
    """A node that asks for verdicts, and goes straight through monitors at which nobody waits.

    It does what a ``GaleraNode`` does, when that does it.
    """

    def __init__(
        self,
        parts: Parts,
        options: GaleraOptions,
        costs: GaleraCosts,
        member: GroupMember,
        verdicts: Verdicts,
    ) -> None:
        self._verdicts = verdicts
        super().__init__(parts, options, costs, member)
        member.evs.on_deliver_all(self._deliver_all)

    def _make_certifier(self, parts: Parts) -> SharedCertifier:
        del parts
        self._shared = SharedCertifier(self.index, self.streams, self._verdicts)
        return self._shared

    def _make_apply_monitor(
        self, parts: Parts, report: Callable[[int], object]
    ) -> SharedApplyMonitor:
        del parts
        return SharedApplyMonitor(self._wake_dependent, report)

    def _deliver_all(self, payloads: tuple[Any, ...]) -> None:
        """The group delivers what one of its messages has brought."""
        action = self._action
        if len(payloads) > 1 and action.plain and action.seconds > 0.0:
            self._receiver.do_all(action.seconds, self._receive, payloads)
        else:
            for message in payloads:
                self._receiver.do(action.cost(), self._receive, message)

    def _receive(self, message: object) -> None:
        if not isinstance(message, Writeset):
            super()._receive(message)
            return
        verdict = message.verdict
        if verdict is UNDECIDED:
            verdict = self._verdicts.of(message)
        self._shared.ordered = seqno = verdict.seqno
        ordered = Ordered(message, seqno)
        if message.origin != self.index or not message.awaited:
            self._enqueue(ordered)
            return
        self.repl_latency.add(self.clock._now - message.sent_s)
        message.local.mark(_ORDER)
        self._wake(ordered)

    def _certify_own(self, ordered: Ordered) -> None:
        message, seqno = ordered.writeset, ordered.seqno
        verdict, local = message.verdict, message.local
        if (
            verdict.passed
            and not local.aborted
            and message.part is None
            and message.key_count <= self._few_keys
            and self._local_monitor.passes(seqno)
        ):  # it is certified without delay
            self._shared.last = verdict
            local.protected = True
            call = self._in_turn(ordered, self._commit_local)
            self._commit_monitor.enter_local(seqno, call, ordered)
        else:
            super()._certify_own(ordered)

    def _certified_local(self, ordered: Ordered) -> None:
        writeset = ordered.writeset
        verdict = writeset.verdict
        if verdict.passed and writeset.part is None and writeset.key_count <= self._few_keys:
            self._shared.last = verdict
            local = writeset.local
            local.mark(_CERTIFICATION)
            local.protected = True
            local.undo = None
            self._local_monitor.leave()
            call = self._in_turn(ordered, self._commit_local)
            self._commit_monitor.enter_local(ordered.seqno, call, ordered)
        else:
            super()._certified_local(ordered)

    def _fetch(self, _: None) -> None:
        queue = self._recv_q
        if not queue:  # another applier was faster
            self._idle_appliers += 1
            return
        ordered = queue.popleft()
        if self.flow_control.stopping:
            self.flow_control.shrunk(len(queue))
        writeset, seqno = ordered.writeset, ordered.seqno
        verdict = writeset.verdict
        if not (
            verdict.passed
            and writeset.part is None
            and writeset.key_count <= self._few_keys
            and self._local_monitor.passes(seqno)
        ):
            self._local_monitor.enter(seqno, self._certify_remote, ordered)
            return
        self._shared.last = verdict
        ordered.depends = verdict.depends
        if verdict.depends <= self.apply_monitor.last_left or self.apply_monitor.may_enter(ordered):
            self.writer.apply(ordered)

    # -- commits of whole transactions, of this node and of others ------------------------------

    def _commit_local(self, ordered: Ordered) -> None:
        writeset = ordered.writeset
        writeset.local.mark(_COMMIT_ORDER)
        seconds = self._commitment.cost()
        seconds += self._certification.cost(self._key_s * writeset.key_count)
        self.host.go_on(seconds, self._committed_local, ordered)

    def _committed_local(self, ordered: Ordered) -> None:
        writeset = ordered.writeset
        if self._redo is None or not self._early_release or writeset.journal is not None:
            self._committed(ordered)
        else:
            writeset.local.mark(_COMMIT)
            self._redo.flush(writeset.size_bytes, self._flushed_local, ordered)
            self._commit_monitor.leave(ordered.seqno)

    def _flushed_local(self, ordered: Ordered) -> None:
        self.apply_monitor.leave(ordered)
        self.local_commits += 1
        local = ordered.writeset.local
        local.mark(_FLUSH)
        if local.done.callbacks is not None:  # else its client was told that nobody knows
            self.clock.fire(local.done, True)

    def _applied(self, ordered: Ordered) -> None:
        if ordered.stream is not None:
            super()._applied(ordered)
        else:
            call = self._in_turn(ordered, self._commit_other)
            self._commit_monitor.enter(ordered.seqno, call, ordered)

    def _commit_other(self, ordered: Ordered) -> None:
        self.host.go_on(self._commitment.cost(), self._committed_other, ordered)

    def _committed_other(self, ordered: Ordered) -> None:
        writeset = ordered.writeset
        if self._redo is None or not self._early_release or writeset.journal is not None:
            self._committed(ordered)
        else:
            self._redo.flush(writeset.size_bytes, self._flushed_other, ordered)
            self._commit_monitor.leave(ordered.seqno)

    def _flushed_other(self, ordered: Ordered) -> None:
        self.apply_monitor.leave(ordered)
        if ordered.writeset.locks or ordered.writeset.scans:
            self.locks.release_all(ordered)
        self._next_writeset()
