"""Ctrl-C and requests to end: the work stops, what was made is removed all the same."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

__all__ = ["ended_by_signals", "undisturbed"]

_REQUESTS = (signal.SIGTERM, signal.SIGHUP)


def _end(number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let a request to end, or a terminal that is closed, do what Ctrl-C does."""
    if current_thread() is not main_thread():
        yield
        return
    before = {number: signal.signal(number, _end) for number in _REQUESTS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore signals while servers are stopped and hosts removed."""
    if current_thread() is not main_thread():
        yield
        return
    numbers = (signal.SIGINT, *_REQUESTS)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
