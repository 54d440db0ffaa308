"""How a command ends before its work is done: Ctrl-C, and the limit of its time.

Ctrl-C is an exception where the command is, so that it can tell what has ended. A thread watches
beside it: if the exception gets lost in a library, or a second Ctrl-C comes, it ends the process at
once. Either way no other process is left, and nothing is half-written.
"""

from __future__ import annotations

import inspect
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from threading import Thread, Timer
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer

from simrep.errors import ScenarioError, SimrepError
from simrep.files import discard_unfinished
from simrep.measure.grammar import duration

__all__ = ["INTERRUPTED", "OutOfTime", "at_its_own_pace", "interruptible", "limited", "telling"]

INTERRUPTED = 130
"""Exit code of a command that was interrupted and tells what it has finished."""

_SAME_S = 0.2  # programs around this one may hand the same Ctrl-C on
_PATIENCE_S = 1.3
_SOON_S = 0.01
_LONGEST_S = 365 * 86400.0
_AGAIN_S = 1.0  # for a library that loses the exception

_OPTION = inspect.Parameter(
    "time_limit",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        str | None,
        typer.Option(
            "--time-limit",
            metavar="TIME",
            help="Give up after this real time: 90s, 5min.",
        ),
    ],
)


class OutOfTime(BaseException):
    """The limit of the command's time is reached: no error, which work might take for its own."""


class _Watch(Thread):
    """Reads the numbers of signals, which the interpreter writes down when they come."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._numbers, self._written = os.pipe()
        self.patient = False

    def begin(self) -> None:
        os.set_blocking(self._written, False)
        signal.set_wakeup_fd(self._written)
        self.start()

    def run(self) -> None:
        self._interrupt(within_s=None)
        while self._interrupt(within_s=_SAME_S):
            pass
        if not self._interrupt(within_s=_PATIENCE_S) and self.patient:
            self._interrupt(within_s=None)
        _end_at_once()

    def _interrupt(self, *, within_s: float | None) -> bool:
        while select.select([self._numbers], [], [], within_s)[0]:
            if os.read(self._numbers, 1)[0] == signal.SIGINT:
                return True
        return False


_watch = _Watch()


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end the process of a command, from here to its last moment."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a shell
        yield
        return
    interrupted = False

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal interrupted
        if not interrupted:  # a second one is the watch's
            interrupted = True
            raise KeyboardInterrupt

    def told(lost: sys.UnraisableHookArgs) -> None:
        nonlocal interrupted
        if lost.exc_type is not KeyboardInterrupt:
            former_told(lost)
            return
        interrupted = False  # it came in a finaliser, and comes again when that is over
        again = Timer(_SOON_S, os.kill, (os.getpid(), signal.SIGINT))
        again.daemon = True
        again.start()

    _watch.begin()
    former_told, sys.unraisablehook = sys.unraisablehook, told
    try:
        signal.signal(signal.SIGINT, interrupt)
        yield
    except SystemExit:
        if interrupted:  # no library may make it wait for its threads
            _leave(INTERRUPTED)
        raise
    except BaseException:
        if interrupted:  # a library may have made another exception of it
            _end_at_once()
        raise
    finally:
        signal.signal(signal.SIGINT, lambda *_: _end_at_once())
        sys.unraisablehook = former_told


def telling() -> None:
    """The work is over, and what has ended is told: that may take as long as it takes."""
    _watch.patient = True


def at_its_own_pace() -> None:
    """Let the command end in its own way: it has servers to stop and networks to remove."""
    if _watch.is_alive():
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end_at_once() -> NoReturn:
    with suppress(OSError):
        if sys.stderr.isatty():
            os.write(2, b"\x1b[?25h")  # a progress bar hides the cursor
        os.write(2, b"Interrupted.\n")
    _leave(INTERRUPTED)


def _leave(code: int) -> NoReturn:
    """End this process, and those that it started, without waiting for anything."""
    with suppress(Exception):
        if crew := sys.modules.get("simrep.runs.crew"):
            crew.kill_processes()
    with suppress(Exception):
        discard_unfinished()
    if util := sys.modules.get("multiprocessing.util"):  # it would warn of semaphores that are left
        last = Thread(target=util._run_finalizers, args=(0,), daemon=True)
        last.start()
        last.join(_SAME_S)
    os._exit(code)


def limited(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the option ``--time-limit``; one that is stopped by it has no result."""
    signature = inspect.signature(command, eval_str=True)

    @wraps(command)
    def within(*given: Any, time_limit: str | None = None, **options: Any) -> None:
        with _time_limit(time_limit):
            command(*given, **options)

    vars(within)["__signature__"] = signature.replace(
        parameters=[*signature.parameters.values(), _OPTION]
    )
    within.__annotations__ = {}
    return within


@contextmanager
def _time_limit(text: str | None) -> Iterator[None]:
    if text is None:
        yield
        return
    limit_s = duration("--time-limit", text)
    if not 0.0 < limit_s <= _LONGEST_S:
        raise ScenarioError("--time-limit", f"must be above 0 and at most 365d, given {text!r}")

    over = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal over
        over = True
        raise OutOfTime

    def told(lost: sys.UnraisableHookArgs) -> None:
        if lost.exc_type is not OutOfTime:  # it came in a finaliser, and comes again
            former_told(lost)

    former_told, sys.unraisablehook = sys.unraisablehook, told
    former = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit_s, _AGAIN_S)
    try:
        yield
    except BaseException as end:
        if not over or isinstance(end, KeyboardInterrupt):
            raise
        known = isinstance(end, OutOfTime) and end.args
        kept = f": {end}" if known else ", and there is no result"
        raise SimrepError(f"stopped after {text} (--time-limit){kept}") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, former)
        sys.unraisablehook = former_told
