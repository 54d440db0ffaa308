"""Programs run to their end, with what they said when they fail."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping, Sequence

from simrep.rig.errors import RigError

__all__ = ["run", "succeeds"]

TOLD_CHARACTERS = 1500


def run(
    argv: Sequence[str], *, timeout_s: float = 60.0, environment: Mapping[str, str] | None = None
) -> str:
    """What a program printed.

    Raises
    ------
    RigError
        If it is missing, fails or takes too long; the message ends with what it printed.
    """
    shown = shlex.join(argv)[:300]
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            env=environment,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except FileNotFoundError:
        raise RigError(f"there is no program {argv[0]!r} on this machine") from None
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
