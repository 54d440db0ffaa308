"""Acknowledgements that tell a watch who waits for them."""

from __future__ import annotations

from typing import Any

from simrep.contract.cluster import Cluster
from simrep.kernel.watch import Holder, Line, Watch
from simrep.models.watched import who

from .acknowledgements import Acknowledgements, Call

__all__ = ["WatchedAcknowledgements"]


class WatchedAcknowledgements(Acknowledgements):
    """See ``Acknowledgements``; a line for all who wait.

    Parameters
    ----------
    watch : Watch
    cluster : Cluster
    source : int
        Position of the source.
    **how
        Of ``Acknowledgements``.
    """

    def __init__(self, watch: Watch, cluster: Cluster, source: int, **how: Any) -> None:
        super().__init__(watch.clock, **how)
        self._watch = watch
        self._source = cluster.names[source]
        self._replicas = [node for node in range(cluster.size) if node != source]
        self._names = [cluster.names[node] for node in self._replicas]
        self._waited_for: dict[int, Any] = {}
        self._line = Line(
            watch,
            cluster.names[source],
            "acknowledgement",
            self._holder,
            who=lambda wait: who(wait[0]),
        )

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
        self._line.cut()
        self._line.go(argument)
        self._waited_for.pop(position, None)
        call(argument)
