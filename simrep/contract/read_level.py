"""A consistency of reads that users of a product may choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["ReadLevel", "Sees"]

Sees = Literal["all", "own", "any"]
"""What a read surely sees; see ``ReadLevel``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLevel:
    """One of them, which ``plan reads`` weighs.

    Parameters
    ----------
    name : str
        As people write it.
    sees : {"all", "own", "any"}
        What a read surely sees: all that anybody had been told, all that its own client had been
        told, or any state that there once was.
    options : mapping of str to value
        Settings of all servers, in the product's own spelling.
    session : mapping of str to value
        Session variables of clients that only read.
    clients : mapping of str to value
        What clients do, by the keys of ``[workload.clients]``.
    """

    name: str
    sees: Sees
    options: Mapping[str, Any] = field(default_factory=dict)
    session: Mapping[str, Any] = field(default_factory=dict)
    clients: Mapping[str, Any] = field(default_factory=dict)
