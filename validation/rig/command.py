"""Programs run to their end, with what they said when they fail."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping, Sequence
from typing import IO

from simrep.rig.errors import RigError

__all__ = ["run", "succeeds"]

TOLD_CHARACTERS = 1500
SHOWN_CHARACTERS = 300


def run(
    argv: Sequence[str],
    *,
    timeout_s: float = 60.0,
    environment: Mapping[str, str] | None = None,
    given: IO[bytes] | None = None,
) -> str:
    """What a program printed.

    Parameters
    ----------
    argv : sequence of str
    timeout_s : float
    environment : mapping, optional
        By default that of this process.
    given : file, optional
        What it reads; by default nothing.

    Raises
    ------
    RigError
        If it is missing, fails or takes too long; the message ends with what it printed.
    """
    shown = shlex.join(argv)
    if len(shown) > SHOWN_CHARACTERS:  # what matters comes last: before it stands where it runs
        shown = f"{shown[:60]} ... {shown[-SHOWN_CHARACTERS + 65 :]}"
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            env=environment,
            stdin=subprocess.DEVNULL if given is None else given,
            check=False,
        )
    except FileNotFoundError:
        raise RigError(f"there is no program {argv[0]!r} on this machine") from None
    except OSError as error:
        raise RigError(f"{argv[0]!r} cannot be run: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise RigError(f"`{shown}` did not end within {timeout_s:g} s") from None
    if done.returncode:
        told = (done.stdout + done.stderr).strip()[-TOLD_CHARACTERS:]
        raise RigError(f"`{shown}` failed with code {done.returncode}: {told}")
    return done.stdout


def succeeds(argv: Sequence[str], *, timeout_s: float = 60.0) -> bool:
    """Whether a program ends well."""
    try:
        run(argv, timeout_s=timeout_s)
    except RigError:
        return False
    return True
