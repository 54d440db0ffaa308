"""Whom transactions tell that they begin to see the data."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from simrep.kernel.clock import Event
from simrep.workload.transaction import Transaction

__all__ = ["Wait", "telling"]

Wait = Callable[[Transaction], Generator[Event, Any, str | None]]


def telling(snapshots: Callable[[Transaction], object], wait: Wait | None) -> tuple[Wait, Wait]:
    """What tells of snapshots: of an autocommit statement after its wait, and of others."""

    def at_once(transaction: Transaction) -> Generator[Event, Any, None]:
        snapshots(transaction)
        yield from ()

    def after_wait(transaction: Transaction) -> Generator[Event, Any, str | None]:
        error = None if wait is None else (yield from wait(transaction))
        snapshots(transaction)
        return error

    return after_wait, at_once
