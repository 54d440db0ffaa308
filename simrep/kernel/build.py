"""How this simrep was built: compiled ahead of time, or as plain Python."""

from __future__ import annotations

from typing import Final

__all__ = ["BUILD", "COMPILED"]

COMPILED: Final = not __file__.endswith(".py")
"""Whether the layers that run are compiled (``CONTRIBUTING.md``: two wheels); results are equal.

A compiled simrep has a clock of its own instead of SimPy's. ``mypy`` takes this for false, and when
it compiles for true, so that both clocks are type-checked.
"""

BUILD: Final = "compiled" if COMPILED else "interpreted"
