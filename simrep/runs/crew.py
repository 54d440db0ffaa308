"""All cores for work that consists of many pieces: this process, and others beside it.

Pieces are done here, one after the other, until it shows that the rest is worth other processes:
to start one costs as much as a second of work. From then on every process takes the next piece as
soon as it is free. Processes are kept for later work and end with this one. Where others cannot
help, this process does all alone, and a warning tells why. Results are the same either way.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from math import ceil
from pathlib import Path
from threading import Condition, Event, Thread, current_thread, main_thread
from time import monotonic
from typing import IO, Any, Self, TypeVar

from simrep.errors import OneProcessWarning, ScenarioError, SimrepError
from simrep.runs.progress import begun_s, others_at_work
from simrep.runs.sampler import at_least
from simrep.runs.worker import READY, Answer, UnknownWorkError, read_frame, write_frame

__all__ = ["Crew", "Loop", "cores", "end_processes", "kill_processes"]

T = TypeVar("T")

VARIABLE = "SIMREP_JOBS"
_MOST = 1024
_WORTH_S = 1.0  # of work that waits: starting a process takes about as long
_LONG_S = 3.0  # what has taken so long will take long
_WARM_S = 0.02  # of work that waits, for processes that are there already
_LOOK_S = 0.02
_END_S = 1.0
# What most work needs is loaded before the first piece of it.
_SERVE = "import simrep.runs.batch; from simrep.runs.worker import serve; serve()"
_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_BROKEN = (
    "a process ended before its work was done: was it killed, or out of memory? Ask for fewer: "
    f"--jobs, jobs= or {VARIABLE}"
)
_OWN_CODE = (
    "a model or function of the work is in the script or notebook itself, where no other process "
    "finds it; move it to a module of its own"
)


def cores() -> int:
    """The cores that this process may use, also where a container has less than its machine."""
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota, period = map(float, _QUOTA.read_text(encoding="ascii").split())
        count = min(count, ceil(quota / period))
    return max(1, count)


class Crew(Executor):
    """So many processes of this machine, with this one.

    Parameters
    ----------
    jobs : int, optional
        Default: ``SIMREP_JOBS`` of the environment, or one for each core; 1 where this process
        itself is one of a pool.

    Raises
    ------
    ScenarioError
        If it is no number of processes.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self.alone = ""  # why there is a single process where one for each core is expected
        given = os.environ.get(VARIABLE, "").strip()
        if jobs is not None:
            self.jobs = at_least("jobs", jobs, 1, _MOST)
        elif given:
            if not given.isdecimal() or not 1 <= int(given) <= _MOST:
                raise ScenarioError(
                    VARIABLE, f"must be a whole number from 1 to {_MOST}, given {given!r}"
                )
            self.jobs = int(given)
        else:
            self.jobs = cores()
            if self.jobs > 1 and _in_a_pool():
                self.jobs, self.alone = 1, "it is one of a pool itself"


def _in_a_pool() -> bool:
    """Whether a pool of somebody else has started this process."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


class _Piece(Future[Any]):
    """A piece of work, and what comes of it."""

    def __init__(self, loop: Loop, work: Callable[..., Any], given: tuple[Any, ...]) -> None:
        super().__init__()
        self._loop = loop
        self.work, self.given = work, given

    def result(self, timeout: float | None = None) -> Any:
        """The result; until it is there, this process does whatever waits."""
        self._loop.work_until(self)
        return super().result(timeout)


_state = Condition()
"""Guards what the threads of this module share."""
_loops: list[Loop] = []
_workers: set[_Worker] = set()
_sources: dict[str, Any] = {}
"""What modules were loaded from when there was the first work for the workers."""
_seen: dict[Any, Any] = {}
"""What was warned of in other processes, as the filters of warnings remember it."""


class Loop(Executor):
    """The pieces of one loop, and who does them."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._waiting: deque[_Piece] = deque()
        self._ended: deque[_Piece] | None = None  # if pieces are handed on as they end
        self._apart: set[_Piece] = set()  # ended elsewhere, and not handed on yet
        self._room, self._busy = 0, 0  # how many others may work for it, and how many do
        self._began_s: float | None = None  # of the piece that is under way here
        self._longest_s = 0.0
        self._warned: list[warnings.WarningMessage] = []
        self._notice = ""
        self._watch: Thread | None = None
        self._over = Event()

    def __enter__(self) -> Self:
        with _state:
            _loops.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Give up what is under way: the processes that do it end."""
        self._over.set()
        with _state:
            _loops.remove(self)
            self._waiting.clear()
            for worker in [worker for worker in _workers if worker.loop is self]:
                worker.kill()
        others_at_work(None)
        self._tell()

    def submit(self, fn: Callable[..., T], /, *args: Any, **_: Any) -> Future[T]:
        """Let a piece of work wait until somebody is free."""
        piece = _Piece(self, fn, args)
        with _state:
            self._waiting.append(piece)
            _state.notify_all()
        return piece

    def work_until(self, piece: _Piece) -> None:
        """Do what waits until a piece is done."""
        while not piece.done():
            if not self._works():
                with _state:
                    while not (piece.done() or self._waiting):
                        _state.wait()
        self._apart.discard(piece)
        self._tell()

    def ended(self, count: int) -> Iterator[Future[Any]]:
        """So many pieces, each as soon as it has ended.

        As soon as others work, this process does nothing but hand on what they have done.
        """
        ended = self._ended = deque()
        for _ in range(count):
            while not ended:
                if self._room == 0 and self._works():
                    continue
                with _state:
                    if self._room:
                        self._open(self._crew.jobs)
                        self._staffed()
                    while not ended and (self._room or not self._waiting):
                        _state.wait()
            yield ended.popleft()

    def _works(self) -> bool:
        """Do the next piece that waits, if there is one."""
        with _state:
            if not self._waiting:
                return False
            piece = self._waiting.popleft()
        if not (piece.running() or piece.set_running_or_notify_cancel()):
            return True
        others_at_work(lambda: (len(self._apart), self._busy))
        self._began_s = monotonic()
        if self._watch is None:
            since_s = begun_s() or self._began_s
            self._watch = Thread(target=self._look, args=(since_s,), daemon=True)
            with suppress(RuntimeError):  # the system allows no more threads
                self._watch.start()
        try:
            result = piece.work(*piece.given)
        except Exception as error:  # noqa: BLE001  it is raised where the result is wanted
            piece.set_exception(error)
        else:
            piece.set_result(result)
        self._longest_s = max(self._longest_s, monotonic() - self._began_s)
        self._began_s = None
        if self._ended is not None:
            self._ended.append(piece)
        self._tell()
        return True

    def _look(self, since_s: float) -> None:
        """Let others help as soon as it is worth it; ``since_s``: when all of it began."""
        while not self._over.wait(_LOOK_S):
            now_s, began_s = monotonic(), self._began_s
            piece_s = max(self._longest_s, 0.0 if began_s is None else now_s - began_s)
            waits_s = len(self._waiting) * piece_s
            if waits_s > _WARM_S and (_workers or waits_s > _WORTH_S or now_s - since_s > _LONG_S):
                break
        else:
            return
        if self._crew.alone:
            self._notice = self._crew.alone
            return
        with _state:
            if not self._over.is_set():
                self._open(self._crew.jobs - 1)

    def _open(self, room: int) -> None:
        """Let so many others work for it."""
        if room > self._room:
            self._room = room
            self._staffed()
            _state.notify_all()

    def _staffed(self) -> None:
        """See to it that there are as many others as may work: some may have ended."""
        wanted = min(self._room, self._busy + len(self._waiting))
        if wanted > len(_workers) or (self._busy == 0 and self._waiting):
            _staff(wanted)

    def _tell(self) -> None:
        """Warn here of what there was to be warned of elsewhere."""
        warned, self._warned = self._warned, []
        for told in warned:
            warnings.warn_explicit(
                told.message, told.category, told.filename, told.lineno, registry=_seen
            )
        notice, self._notice = self._notice, ""
        if notice:
            asked = f"jobs=1, --jobs 1 or {VARIABLE}=1 if that is meant"
            warnings.warn(f"one process works: {notice} ({asked})", OneProcessWarning, stacklevel=5)

    # -- for workers, which hold the lock --

    def take(self) -> _Piece | None:
        """A piece for a worker, if there is one."""
        if self._busy >= self._room or not self._waiting:
            return None
        self._busy += 1
        return self._waiting.popleft()

    def hand_in(self, piece: _Piece, warned: Sequence[warnings.WarningMessage]) -> None:
        """A worker has done it."""
        self._busy -= 1
        self._warned += warned
        self._apart.add(piece)
        if self._ended is not None:
            self._ended.append(piece)

    def hand_back(self, piece: _Piece | None, why: str) -> None:
        """No worker can do it: this process does, with all that remains."""
        if piece is not None:
            self._busy -= 1
            self._waiting.appendleft(piece)
        self._room = 0
        self._notice = why


class _Worker:
    """A process beside this one, and the thread that sends it work."""

    def __init__(self) -> None:
        self.loop: Loop | None = None  # whose piece it does
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False
        self.thread = Thread(target=self._serve, daemon=True)

    def kill(self) -> None:
        """End the process, whatever it does; the lock is held."""
        self._killed = True
        _workers.discard(self)
        if self._process is not None:
            self._process.kill()
        _state.notify_all()

    def retire(self) -> None:
        """Let the process end after what it does now; the lock is held."""
        if self.loop is None:
            self.kill()
        self._killed = True
        _workers.discard(self)

    def _serve(self) -> None:
        try:
            process = self._begin()
        except OSError as error:
            self._useless(f"no other can be started ({error})")
            return
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            if read_frame(process.stdout) == READY:
                while self._next(process.stdin, process.stdout):
                    pass
            else:
                self._useless("another one ended as soon as it was started")
            with _state:
                self.kill()
            with suppress(OSError):
                process.stdin.close()

    def _begin(self) -> subprocess.Popen[bytes]:
        """Start the process; what it imports is found where this one finds it."""
        if not sys.executable:
            raise OSError("there is no interpreter")
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        command = [sys.executable, *flags, "-P", "-c", _SERVE]
        path = os.pathsep.join(place or _folder() for place in sys.path)
        pipe = subprocess.PIPE
        with _held_back():
            process = subprocess.Popen(  # noqa: S603  our own words
                command, stdin=pipe, stdout=pipe, env={**os.environ, "PYTHONPATH": path}
            )
        with _state:
            self._process = process
            if self._killed:
                process.kill()
        return process

    def _useless(self, why: str) -> None:
        with _state:
            if not self._killed:
                _workers.discard(self)
                for loop in _loops:
                    loop.hand_back(None, why)
                _state.notify_all()

    def _next(self, work: IO[bytes], answers: IO[bytes]) -> bool:
        """Let one piece be done; False if there will be no more."""
        if (taken := self._taken()) is None:
            return False
        loop, piece = taken
        body = _pickled(piece)
        why = _OWN_CODE if not body or b"__main__" in body else ""
        warned: Sequence[warnings.WarningMessage] = ()
        lives = True
        if not why and piece.set_running_or_notify_cancel():
            answer = b""
            with suppress(OSError):
                write_frame(work, pickle.dumps((_folder(), sys.path, body)))
                answer = read_frame(answers)
            lives = bool(answer)
            well, result, warned = _read(answer)
            if well:
                piece.set_result(result)
            elif isinstance(result, UnknownWorkError):
                why = f"another one cannot import what it needs ({result})"
            else:
                piece.set_exception(result)
        with _state:
            self.loop = None
            if why:
                loop.hand_back(piece, why)
            else:
                loop.hand_in(piece, warned)
            _state.notify_all()
        return lives

    def _taken(self) -> tuple[Loop, _Piece] | None:
        """A piece of a loop, as soon as there is one; None if this worker is to end."""
        with _state:
            while not self._killed:
                for loop in _loops:
                    if (piece := loop.take()) is not None:
                        self.loop = loop
                        return loop, piece
                _state.wait()
        return None


def _read(answer: bytes) -> Answer:
    """What a process has answered; that it has broken if it has not."""
    if not answer:
        return False, SimrepError(_BROKEN), ()
    try:
        found: Answer = pickle.loads(answer)  # noqa: S301  from a process of our own
    except Exception as error:  # noqa: BLE001  whatever a class does when it is read
        return False, error, ()
    return found


def _folder() -> str:
    """Where this process is; empty if that folder has been removed."""
    with suppress(OSError):
        return str(Path.cwd())
    return ""


def _pickled(piece: _Piece) -> bytes:
    """A piece as it can be sent; empty if it cannot."""
    for _ in range(3):
        try:
            return pickle.dumps((piece.work, piece.given), pickle.HIGHEST_PROTOCOL)
        except RuntimeError:  # the piece that is under way here has completed an object just now
            continue
        except Exception:  # noqa: BLE001  whatever a class does when it is pickled
            break
    return b""


def _staff(wanted: int) -> None:
    """See to it that there are so many workers, with the code that is loaded here now."""
    if any(_source(name) is not source for name, source in _sources.items()):
        for worker in tuple(_workers):
            worker.retire()
    if not _workers:
        _sources.clear()
    for name in tuple(sys.modules):
        _sources.setdefault(name, _source(name))
    for _ in range(wanted - len(_workers)):
        worker = _Worker()
        try:
            worker.thread.start()
        except RuntimeError as error:  # the system allows no more of them
            for loop in () if _workers else _loops:
                loop.hand_back(None, f"no other can be started ({error})")
            return
        _workers.add(worker)


def _source(name: str) -> Any:
    """What a module was loaded from: another object when it has been loaded again."""
    return getattr(sys.modules.get(name), "__spec__", None)


def kill_processes() -> None:
    """End all other processes, whatever they do."""
    with _state:
        for worker in tuple(_workers):
            worker.kill()


@atexit.register
def end_processes() -> None:
    """End all other processes and wait for that."""
    threads = [worker.thread for worker in tuple(_workers)]
    kill_processes()
    end_s = monotonic() + _END_S
    for thread in threads:
        thread.join(max(0.0, end_s - monotonic()))


def _forget() -> None:
    """A process that was forked has none of the threads, and its parent's workers are not its."""
    global _state  # noqa: PLW0603
    _state = Condition()
    _loops.clear()
    _workers.clear()


os.register_at_fork(after_in_child=_forget)


@contextmanager
def _held_back() -> Iterator[None]:
    """Hold Ctrl-C back until the end of the block; a process that it starts never hears of one."""
    arrived = []
    own = current_thread() is main_thread()
    former = signal.getsignal(signal.SIGINT)
    if own and former is not None:
        signal.signal(signal.SIGINT, lambda number, _: arrived.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # a child begins with this
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if own and former is not None:
            signal.signal(signal.SIGINT, former)
            if arrived and callable(former):
                former(signal.SIGINT, None)
