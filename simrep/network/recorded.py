"""A network that tells a chronicle of every message."""

from __future__ import annotations

from functools import partial
from typing import Any

from simrep.kernel.chronicle import Chronicle, Sent
from simrep.network.network import Network, Receive

__all__ = ["RecordedNetwork"]


class RecordedNetwork(Network):
    """See ``Network``.

    Parameters
    ----------
    chronicle : Chronicle
    *how
        Of ``Network``.
    """

    def __init__(self, chronicle: Chronicle, *how: Any) -> None:
        super().__init__(*how)
        self._chronicle = chronicle

    def handler(self, node: int, handle: Receive) -> Receive:
        """See ``Network.handler``."""
        chronicle, name = self._chronicle, self.names[node]

        def told(message: Any) -> None:
            chronicle.handles(name, message)
            handle(message)
            chronicle.handles(name, None)

        return told

    def send(self, source: int, target: int, size_bytes: int, message: Any, at: float) -> None:
        """See ``Network.send``."""
        sent = self._chronicle.sends(source, target, size_bytes, message, at)
        receive = self._receive[target]
        if sent is None or receive is None:
            super().send(source, target, size_bytes, message, at)
        else:
            self._receive[target] = partial(self._arrived, sent, receive)
            super().send(source, target, size_bytes, message, at)
            self._receive[target] = receive

    def _arrived(self, sent: Sent, receive: Receive, message: Any) -> None:
        self._chronicle.arrives(sent)
        receive(message)
