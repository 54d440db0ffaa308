"""What the group communication of a member needs of its total order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from simrep.modelling import Deliver
from simrep.models.group_replication.xcom.detector import Presence

__all__ = ["Order"]


class Order(Presence, Protocol):
    """What the group needs of the total order of a member: ``ChangingXcom``."""

    @property
    def latest(self) -> Any:
        """The configuration that was installed last."""

    def send(self, payload: Any, size_bytes: int) -> bool:
        """See ``TotalOrder.send``."""
        ...

    def on_send(self, call: Callable[[list[Any]], object]) -> None:
        """Tell ``call(payloads)`` what is proposed now, in one slot."""

    def on_deliver(self, deliver: Deliver) -> None:
        """See ``TotalOrder.on_deliver``."""

    def on_site(self, call: Callable[[Any, bool], object]) -> None:
        """Tell ``call(site, valid)`` of configurations: installed, then valid."""

    def on_present(self, call: Callable[[Any, frozenset[int]], object]) -> None:
        """Tell ``call(site, positions)`` who is there, as all have agreed."""

    def on_exit(self, call: Callable[[str], object]) -> None:
        """Tell ``call(why)`` when XCom ends by itself."""

    def add(self, position: int, life: int) -> bool:
        """Have the group take in a process of a member."""

    def remove(self, positions: Sequence[int]) -> bool:
        """Have the group remove members."""

    def force(self, positions: Sequence[int]) -> bool:
        """Make these the group, without a majority of it."""

    def lead(self, position: int) -> bool:
        """Have the group make a member its single leader."""

    def begin(self, members: Sequence[int]) -> None:
        """Be in a group of these members that has been there for long."""

    def boot(self) -> None:
        """Make a group of its own."""

    def snapshot(self) -> Any:
        """What a member that joins begins with."""

    def push(self, position: int, snapshot: Any) -> None:
        """Send a member that joins what it has missed since then."""

    def adopt(self, snapshot: Any) -> None:
        """Begin in a group that is there."""

    def end(self) -> None:
        """Stop."""
