"""What a replication model may expect of a total-order broadcast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["Deliver", "TotalOrder"]

Deliver = Callable[[int, Any], object]
"""Called as ``deliver(sender, payload)``, on every member in the same order."""


class TotalOrder(Protocol):
    """One member of a group whose members all deliver the same messages in the same order."""

    def send(self, payload: Any, size_bytes: int) -> bool:
        """Hand over a message; False when the output queue is full and the caller must retry."""
        ...

    def on_deliver(self, deliver: Deliver) -> None:
        """Deliver messages of all members, one's own included, to ``deliver``."""
        ...
