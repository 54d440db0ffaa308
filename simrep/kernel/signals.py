"""Where a compiled run hears of signals. This module is never compiled."""

from __future__ import annotations

__all__ = ["hear"]


def hear() -> None:
    """Let the handlers of signals that have come run now; what one of them raises is raised here.

    Python runs them between two instructions of its own, of which compiled code has none.
    """
