"""A process beside the one that asks for results: it reads work, does it and answers.

It is a fresh interpreter, which reads nothing of the script that asks: no ``if __name__ ==
"__main__"`` is needed there. It never hears of Ctrl-C, and it ends with the process that started
it, even if that is killed. One frame is a length of eight bytes and as many of a pickle.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import IO, Any

from simrep.errors import SimrepError

__all__ = ["READY", "Answer", "UnknownWorkError", "read_frame", "serve", "write_frame"]

READY = b"ready"
Answer = tuple[bool, Any, Sequence[warnings.WarningMessage]]
"""Whether it went well; the result, or the exception; what was warned of."""


class UnknownWorkError(Exception):
    """Something of the work cannot be imported in this process."""


def read_frame(stream: IO[bytes]) -> bytes:
    """The next frame; empty at the end of the stream."""
    head = stream.read(8)
    if len(head) < 8:
        return b""
    size = int.from_bytes(head, "big")
    body = stream.read(size)
    return body if len(body) == size else b""


def write_frame(stream: IO[bytes], body: bytes) -> None:
    """Write a frame, at once."""
    stream.write(len(body).to_bytes(8, "big"))
    stream.write(body)
    stream.flush()


def serve() -> None:
    """Answer frame by frame, until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["SIMREP_JOBS"] = "1"
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed here is no answer
    frames: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_read, args=(frames,), daemon=True).start()
    write_frame(answers, READY)
    while True:
        answer = _answer(frames.get())
        try:
            body = pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # noqa: BLE001  whatever a class does when it is pickled
            body = pickle.dumps((False, TypeError(f"cannot be sent: {error}"), ()))
        write_frame(answers, body)


def _read(frames: SimpleQueue[bytes]) -> None:
    """Read on while there is work, so as to notice when nobody is left who wants it."""
    while frame := read_frame(sys.stdin.buffer):
        frames.put(frame)
    os._exit(0)


def _answer(frame: bytes) -> Answer:
    folder, path, body = pickle.loads(frame)  # noqa: S301  from our own parent
    sys.path[:] = path
    try:
        if folder:
            os.chdir(folder)
        work: Callable[..., Any]
        work, given = pickle.loads(body)  # noqa: S301  from our own parent
    except Exception as error:  # noqa: BLE001  whatever a module does when it is imported
        return False, UnknownWorkError(f"{type(error).__name__}: {error}"), ()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return True, work(*given), [_plain(one) for one in caught]
        except Exception as error:  # noqa: BLE001  it is raised where the result is wanted
            if not isinstance(error, SimrepError):
                error.add_note(f"In a process beside this one:\n{traceback.format_exc()}")
            return False, error, [_plain(one) for one in caught]


def _plain(told: warnings.WarningMessage) -> warnings.WarningMessage:
    """The same without its line of source, which another process can read itself."""
    return warnings.WarningMessage(told.message, told.category, told.filename, told.lineno)
