"""What a server says of itself to those who ask before they send it clients."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ServerStatus"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """The answer of a server to a proxy, or to whoever else looks after it.

    It is asked of a server that has just answered a connection. One that is dead, silent or frozen
    says nothing: the connection is refused, or times out.

    Attributes
    ----------
    state : str
        In the word of the product: ``Synced``, ``ONLINE``, ``replica``.
    serves : bool
        It is in good standing and answers queries: a proxy may send it clients that read.
    writes : bool
        It takes writes, too: it is not read-only.
    lag_s : float or None
        How many seconds it is behind by its own words; None: it does not say so, as products
        without that figure do, or does not know.
    queue : int
        Transactions that it has received and not applied.
    donor : bool
        It gives its state to another server now.
    rank : int
        By which a proxy picks among equals: the lowest first.
    """

    state: str
    serves: bool
    writes: bool
    lag_s: float | None = None
    queue: int = 0
    donor: bool = False
    rank: int = 0
