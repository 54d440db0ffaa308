"""What there is to see of work that takes long: how much is done, and how much time is left.

Work is watched from outside. A thread of its own looks twice a second at how far it is, as a run
tells by its clock, so nothing is done for it while events are simulated. There is one watcher at a
time: what a function does inside of another one is seen as a part of that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import wraps
from inspect import Parameter, signature
from math import inf
from threading import Event, Thread
from time import monotonic
from typing import Any, ParamSpec, TextIO, TypeVar

from simrep.printable import printable

__all__ = [
    "Tell",
    "Work",
    "begun_s",
    "others_at_work",
    "piece_ended",
    "piece_of",
    "told",
    "uncounted",
    "watched",
    "work_expected",
]

Tell = Callable[[int, int | None], object]
"""Called with how much is done, and how much there is in all, if that is known."""
P = ParamSpec("P")
T = TypeVar("T")

LONG_S = 3.0
"""Work that takes longer says so before."""
PATIENCE_S = 2.0
"""A bar, or an estimate, comes after this time."""
_LOOK_S = 0.5
_LATE, _WRONG_S = 1.2, 5.0  # an estimate is wrong if so many times it is over, and so much is left
_ROUND = (1, 2, 3, 5, 10, 15, 20, 30, 45)  # seconds, minutes or hours of an estimate


class Work:
    """How much of some work is done, and what that tells of the time that is left."""

    def __init__(self) -> None:
        self._began_s = monotonic()
        self._pieces, self._runs, self._ended = 1, 1, 0
        self._aside_s = 0.0  # of pilots, which do not count
        self.counts = True
        self._share: Callable[[], float] | None = None
        self.others: Callable[[], tuple[int, int]] | None = None
        self.begun_s = self._began_s
        self._before = 0.0  # what had been done when it began
        self._costs: Sequence[float] = ()
        self.done = 0
        self.total: int | None = None

    def update(self, done: int, total: int | None) -> None:
        """So much is done now, of so much."""
        self.done = done
        self._ended, self._share = 0, None
        if total:
            self.total = total

    def expect(
        self, total: int, pieces: int, done: int, costs: Sequence[float] = (), runs: int = 1
    ) -> None:
        """There will be so much, of so many pieces of so many runs; so much was done before."""
        if self.total is None:
            self._began_s, self.total = monotonic(), total
            self._pieces, self._runs, self._aside_s = pieces, runs, 0.0
            self.done, self._costs = done, costs
            self._ended, self._share = 0, None
            self._before = self._cost(done)

    def piece(self, share: Callable[[], float] | None) -> None:
        """A run has begun that tells which share of it is over; None: it has ended."""
        if not self.counts:
            return
        if share is None and self._share is not None:
            self._ended += 1
        self._share = share

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Runs inside do not count, and their time is no part of what others take."""
        if not self.counts:
            yield
            return
        began_s, self.counts = monotonic(), False
        try:
            yield
        finally:
            self.counts = True
            self._aside_s += monotonic() - max(began_s, self._began_s)

    @property
    def part(self) -> float:
        """How much is done, with the part of what is under way."""
        share = 0.0 if self._share is None else self._share()
        ended, busy = (0, 0) if self.others is None else self.others()
        # What is under way elsewhere is taken to be as far as what is here.
        here = (self._ended + share) / self._runs
        there = ended + busy * (here % 1.0)
        return self.done + min(0.99, here / self._pieces) + there / self._pieces

    def left_s(self) -> float | None:
        """The time that is left; None if nothing tells it yet."""
        part = self.part
        done = self._cost(part)
        if self.total is None or not done > self._before:
            return None
        spent_s = monotonic() - self._began_s - self._aside_s
        left_s = spent_s * (self._cost(self.total) - done) / (done - self._before)
        begun = int(part) + 1  # of which each has had its pilots
        return max(0.0, left_s + self._aside_s * (self.total - begun) / begun)

    def _cost(self, part: float) -> float:
        """What so many of the parts cost together."""
        if not self._costs:
            return part
        whole = int(part)
        return sum(self._costs[:whole]) + (part - whole) * sum(self._costs[whole : whole + 1])


_WORK: ContextVar[Work | None] = ContextVar("work", default=None)


@contextmanager
def watched(label: str = "", *, bar: bool = False, quiet: bool = False) -> Iterator[Work]:
    """Watch what is done inside: an estimate in words, and a bar on a terminal.

    Parameters
    ----------
    label : str
        What stands in front of the bar.
    bar : bool
        Draw a bar where standard error is a terminal.
    quiet : bool
        Say nothing at all.
    """
    outer = _WORK.get()
    if outer is not None:
        yield outer
        return
    quiet = quiet or sys.platform == "emscripten"  # there are no threads in a page
    work = Work()
    token = _WORK.set(work)
    over = Event()
    stream = sys.stderr
    shown = _Bar(label, stream) if bar and stream.isatty() else None
    watcher = Thread(target=_watch, args=(work, over, stream, shown), daemon=True)
    if not quiet:
        watcher.start()
    try:
        yield work
    finally:
        _WORK.reset(token)
        over.set()
        if not quiet:
            watcher.join()


def told(function: Callable[P, T]) -> Callable[P, T]:
    """A function whose work is watched, with the argument ``progress`` if it has one.

    It takes a callable, True for a bar on a terminal, or False for silence. Without it an estimate
    is printed on standard error when work takes longer than 3 s.
    """
    kinds = {one.kind for one in signature(function).parameters.values()}
    asked = "progress" in signature(function).parameters or Parameter.VAR_KEYWORD in kinds

    @wraps(function)
    def within(*given: P.args, **options: P.kwargs) -> T:
        progress: Any = options.pop("progress", None) if asked else None
        nested = _WORK.get() is not None
        with watched(function.__name__, bar=progress is True, quiet=progress is False) as work:

            def tell(done: int, total: int | None) -> None:
                if not nested:
                    work.update(done, total)
                if callable(progress):
                    progress(done, total)

            if asked:
                options["progress"] = tell
            return function(*given, **options)

    return within


def work_expected(
    total: int, pieces: int = 1, done: int = 0, costs: Sequence[float] = (), runs: int = 1
) -> None:
    """Tell who watches how much there is to do, before the first of it is done.

    Parameters
    ----------
    total : int
        0 if nobody knows.
    pieces : int
        Of which each part of it consists, and which several processes may share.
    done : int
        What is known from before, and takes no time.
    costs : sequence of float
        How much work each part is, in any unit; default: all are alike.
    runs : int
        Of which each piece consists.
    """
    work = _WORK.get()
    if work is not None and total > 0:
        work.expect(total, pieces, done, costs, runs)


@contextmanager
def uncounted() -> Iterator[None]:
    """Runs inside are no part of what is expected: pilots."""
    work = _WORK.get()
    with nullcontext() if work is None else work.aside():
        yield


def piece_of(share: Callable[[], float]) -> None:
    """Tell who watches how to see which share of a run is over."""
    work = _WORK.get()
    if work is not None:
        work.piece(share)


def piece_ended() -> None:
    """Tell who watches that the run is over."""
    work = _WORK.get()
    if work is not None:
        work.piece(None)


def others_at_work(count: Callable[[], tuple[int, int]] | None) -> None:
    """Tell who watches how to see what other processes do.

    It gives the number of pieces that have ended there and are not counted yet, and of those that
    are under way.
    """
    work = _WORK.get()
    if work is not None:
        work.others = count


def begun_s() -> float | None:
    """When the work began that is watched, by the monotonic clock; None if there is none."""
    work = _WORK.get()
    return None if work is None else work.begun_s


def _watch(work: Work, over: Event, stream: TextIO, bar: _Bar | None) -> None:
    if over.wait(PATIENCE_S):
        return
    # An estimate that has turned out to be wrong is said anew.
    said_until_s, began_s = -inf, monotonic() - PATIENCE_S
    try:
        while True:
            left_s = work.left_s()
            now_s = monotonic()
            spent_s = now_s - began_s if said_until_s == -inf else LONG_S - _WRONG_S
            if left_s is not None and now_s > said_until_s and spent_s + left_s > LONG_S:
                said_until_s = now_s + _LATE * left_s
                count = f"{work.done} of {work.total} done" if work.total != 1 else ""
                text = f"About {in_words(left_s)} to go{', ' if count else ''}{count}."
                (stream if bar is None else bar).write(f"{text}\n")
                stream.flush()
            if bar is not None:
                bar.show(work, left_s)
            if over.wait(_LOOK_S):
                return
    finally:
        if bar is not None:
            bar.end()


def in_words(seconds: float) -> str:
    """A time as roughly as an estimate is, never less than it is.

    >>> in_words(13.0), in_words(70.0), in_words(2.2 * 3600.0), in_words(90 * 3600.0)
    ('15 s', '2 min', '3 h', '90 h')
    """
    for unit, size_s in (("s", 1.0), ("min", 60.0)):
        for number in _ROUND:
            if seconds <= number * size_s:
                return f"{number} {unit}"
    hours = seconds / 3600.0
    return f"{next((number for number in _ROUND if hours <= number), round(hours))} h"


class _Bar:
    """A bar with a count and the time that is left."""

    def __init__(self, label: str, stream: TextIO) -> None:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, Progress, TextColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
            TextColumn("{task.fields[left]}"),
            console=Console(file=stream),
            transient=True,
        )
        self._task = self._bar.add_task(escape(printable(label)), total=None, count="", left="")
        self._begun = False

    def write(self, text: str) -> None:
        """Print above the bar."""
        self._bar.console.print(text, end="", highlight=False, markup=False)

    def show(self, work: Work, left_s: float | None) -> None:
        """Draw it as it is now."""
        if not self._begun:
            self._begun = True
            self._bar.start()
        self._bar.update(
            self._task,
            completed=work.part,
            total=work.total,
            count=f"{work.done}/{work.total}" if work.total else "",
            left="" if left_s is None else f"{in_words(left_s)} left",
        )

    def end(self) -> None:
        """Take it away."""
        if self._begun:
            self._bar.stop()
