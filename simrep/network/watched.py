"""Networks that tell a watch of every message."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from simrep.kernel.trace import Sent
from simrep.kernel.watch import Watch
from simrep.network.link import Link
from simrep.network.network import Copy, EventfulNetwork, Network, Receive

__all__ = ["WatchedEventfulNetwork", "WatchedNetwork"]


class WatchedNetwork(Network):
    """A network that tells a watch of every message."""

    def __init__(self, watch: Watch, *how: Any) -> None:
        super().__init__(*how)
        self._watch = watch

    def handler(self, node: int, handle: Receive) -> Receive:
        """See ``Network.handler``."""
        watch, name = self._watch, self.names[node]

        def told(message: Any) -> None:
            watch.handles(name, message)
            handle(message)
            watch.handles(name, None)

        return told

    def send(self, source: int, target: int, size_bytes: int, message: Any, at: float) -> None:
        """See ``Network.send``."""
        receive = self._tell(source, target, size_bytes, message, at)
        super().send(source, target, size_bytes, message, at)
        self._receive[target] = receive

    def send_copies(
        self, source: int, copies: Sequence[Copy], size_bytes: int, message: Any, each_s: float
    ) -> None:
        """See ``Network.send_copies``."""
        self._send_each(source, copies, size_bytes, message, each_s)

    def send_once(self, source: int, target: int, size_bytes: int, message: Any, at: float) -> None:
        """See ``Network.send_once``."""
        receive = self._tell(source, target, size_bytes, message, at)
        super().send_once(source, target, size_bytes, message, at)
        self._receive[target] = receive

    def send_on(
        self, link: Link, source: int, target: int, size_bytes: int, message: Any, at: float
    ) -> None:
        """See ``Network.send_on``."""
        receive = self._tell(source, target, size_bytes, message, at)
        super().send_on(link, source, target, size_bytes, message, at)
        self._receive[target] = receive

    def _tell(self, source: int, target: int, size_bytes: int, message: Any, at: float) -> Receive:
        """Tell of a message, whose arrival will be told; who receives those that are not."""
        receive = self._receive[target]
        sent = self._watch.sends(source, target, size_bytes, message, at)
        if sent is not None:
            self._receive[target] = partial(self._arrived, sent, receive)
        return receive

    def _arrived(self, sent: Sent, receive: Receive, message: Any) -> None:
        self._watch.arrives(sent)
        receive(message)


class WatchedEventfulNetwork(WatchedNetwork, EventfulNetwork):
    """A network in which something happens, and that tells a watch of every message."""
