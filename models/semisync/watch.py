"""A source that tells a watch who waits for which acknowledgement."""

from __future__ import annotations

from typing import Any, ClassVar

from simrep.modelling import Holder
from simrep.modelling.watching import Twin, who
from simrep.models.mysql import watch

from .acknowledgements import Acknowledgements, Call
from .changing_source import ConnectedAcknowledgements

__all__ = ["WatchedParts"]


class _WatchedAcknowledgements(Twin, Acknowledgements):
    """Has a line for all who wait."""

    def __init__(self, parts: WatchedParts, *args: Any, **how: Any) -> None:
        super().__init__(parts, *args, **how)
        names = parts.cluster.names
        self._replicas = [node for node in range(len(names)) if node != parts.index]
        self._names = [names[node] for node in self._replicas]
        self._waited_for: dict[int, Any] = {}
        self._line = parts.line("acknowledgement", self._holder, who=lambda wait: who(wait[0]))

    def _holder(self) -> Holder:
        """Whom the oldest waits for: each of those who may not have it yet."""
        position = min(self._waited_for)
        (transaction,) = who(self._waited_for[position])
        text = f"a reply of {' or '.join(self._names)} to transaction {position}"
        return Holder(text, tuple((name, transaction) for name in self._names))

    def wait(self, position: int, call: Call, argument: Any = None) -> bool:
        """See ``Acknowledgements.wait``; the argument begins with the group, and its number."""
        waits = super().wait(position, self._over, (position, call, argument))
        if waits:
            self._line.wait(argument)
            self._waited_for[position] = argument[0][argument[1] - 1]
        return waits

    def report(self, replica: int, position: int) -> None:
        """See ``Acknowledgements.report``."""
        watch, node = self._parts.watch, self._parts.name
        watch.handles(node, (self._replicas[replica], position))
        super().report(replica, position)
        watch.handles(node, None)

    def _over(self, wait: tuple[int, Call, Any]) -> None:
        position, call, argument = wait
        self._line.release(argument)
        self._waited_for.pop(position, None)
        call(argument)


class _WatchedConnectedAcknowledgements(_WatchedAcknowledgements, ConnectedAcknowledgements):
    """The same where replicas come and go."""


class WatchedParts(watch.WatchedParts):
    """See ``watching.WatchedParts``."""

    twins: ClassVar = {
        **watch.WatchedParts.twins,
        Acknowledgements: _WatchedAcknowledgements,
        ConnectedAcknowledgements: _WatchedConnectedAcknowledgements,
    }
