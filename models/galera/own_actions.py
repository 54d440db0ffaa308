"""What a Galera node finds out of a message at its place in the order."""

from __future__ import annotations

from .member_states import Grant
from .writeset import Kind, StateRequest

__all__ = ["Answer", "Desync"]


class Answer:
    """A request at its place in the order, and what follows from it."""

    kind = Kind.REQUEST

    def __init__(self, request: StateRequest, grant: Grant | None) -> None:
        self.request = request
        self.grant = grant


class Desync:
    """A node that leaves flow control, at its place in the order; whether it may."""

    kind = Kind.DESYNC

    def __init__(self, node: int, *, may: bool) -> None:
        self.node = node
        self.may = may
