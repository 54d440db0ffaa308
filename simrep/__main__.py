"""``python -m simrep`` and the console script: ready for Ctrl-C before anything else is loaded."""

import _signal as signal  # type: ignore[import-not-found]  # the module proper loads more
import os

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:  # in the background of a shell
        signal.signal(signal.SIGINT, _end)
    from simrep.cli import main as command

    command()


def _end(_number: int, _frame: object) -> None:
    """An exception might be lost in a library that is just being loaded."""
    os.write(2, b"Interrupted.\n")
    os._exit(130)


if __name__ == "__main__":
    main()
