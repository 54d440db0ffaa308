"""Ctrl-C and requests to end: the work stops, what was made is removed all the same."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

__all__ = ["ended_by_signals", "undisturbed"]

Handler = Callable[[int, FrameType | None], object] | int | None
_REQUESTS = (signal.SIGTERM, signal.SIGHUP)


def _end(number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let a request to end, or a terminal that is closed, do what Ctrl-C does."""
    if current_thread() is not main_thread():
        yield
        return
    # What is ignored, as under nohup, stays so.
    wanted = [n for n in _REQUESTS if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, _end) for number in wanted}
    try:
        yield
    finally:
        _restore(before)


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
        _restore(before)


def _restore(handlers: Mapping[signal.Signals, Handler]) -> None:
    for number, handler in handlers.items():
        if handler is not None:  # of a library in C: it cannot be put back
            signal.signal(number, handler)
