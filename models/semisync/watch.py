"""A source that tells a watch who waits for which acknowledgement."""

from __future__ import annotations

from typing import Any

from simrep.contract.watching import who
from simrep.kernel.watch import Holder
from simrep.models.mysql import watch

from .acknowledgements import Acknowledgements, Call
from .source import Parts

__all__ = ["WatchedParts"]


class WatchedParts(watch.WatchedParts, Parts):
    """See ``Parts``."""

    def acknowledgements(self, **how: Any) -> Acknowledgements:
        """See ``Parts.acknowledgements``."""
        return _WatchedAcknowledgements(self, **how)


class _WatchedAcknowledgements(Acknowledgements):
    """Has a line for all who wait."""

    def __init__(self, parts: WatchedParts, **how: Any) -> None:
        super().__init__(parts.clock, **how)
        self._watch = parts.watch
        self._source = parts.name
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
        self._watch.handles(self._source, (self._replicas[replica], position))
        super().report(replica, position)
        self._watch.handles(self._source, None)

    def _over(self, wait: tuple[int, Call, Any]) -> None:
        position, call, argument = wait
        self._line.release(argument)
        self._waited_for.pop(position, None)
        call(argument)
