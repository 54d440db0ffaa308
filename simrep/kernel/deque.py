"""Queues of two ends: Python's own, or in a compiled simrep those that are compiled, too."""

from __future__ import annotations

from simrep.kernel.build import COMPILED

if COMPILED:
    from simrep.kernel.native_deque import Deque as deque  # noqa: N813 - it stands for that one
else:
    from collections import deque

__all__ = ["deque"]
