"""A Galera node of a cluster in which none comes or goes: its verdicts are those of all."""

from __future__ import annotations

from typing import Final

from simrep.modelling import Lap, Parts

from .group import GroupMember
from .node import GaleraNode
from .options import GaleraCosts, GaleraOptions
from .verdicts import SharedCertifier, SharedReports, Verdicts
from .writeset import Kind, Ordered, Writeset

__all__ = ["SharingNode"]

_WRITESET: Final = Kind.WRITESET
_ORDER: Final = Lap.ORDER


class SharingNode(GaleraNode):
    """A node that asks for verdicts, and goes straight through monitors at which nobody waits.

    It does what a ``GaleraNode`` does, when that does it.
    """

    certifier: SharedCertifier

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

    def _make_certifier(self, parts: Parts) -> SharedCertifier:
        del parts
        return SharedCertifier(self.index, self.streams, self._verdicts)

    def _make_reports(self) -> SharedReports:
        return SharedReports()

    def _receive(self, message: object) -> None:
        if not isinstance(message, Writeset):
            super()._receive(message)
            return
        verdict = self._verdicts.of(message)
        self.certifier.ordered = seqno = verdict.seqno
        ordered = Ordered(message, seqno)
        if message.origin != self.index or not message.awaited:
            self._enqueue(ordered)
            return
        self.repl_latency.add(self.clock._now - message.sent_s)
        local = message.local
        local.mark(_ORDER)
        if (
            verdict.passed
            and message.part is None
            and message.key_count <= self._few_keys
            and self._local_monitor.passes(seqno)
        ):  # it is certified without delay
            self.certifier.last = verdict
            local.protected = True
            self._commit_monitor.enter_local(seqno, self._commit, ordered)
        else:
            self._local_monitor.enter(seqno, self._certify_local, ordered)

    def _fetch(self, _: None) -> None:
        queue = self._recv_q
        if not queue:  # another applier was faster
            self._idle_appliers += 1
            return
        ordered = queue.popleft()
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
        self.certifier.last = verdict
        ordered.depends = verdict.depends
        if verdict.depends <= self.apply_monitor.last_left or self.apply_monitor.may_enter(ordered):
            self.writer.apply(ordered)
