"""The door to NumPy for all that runs: arrays and random numbers.

Where NumPy is not installed, as in a web page, `simrep.kernel.columns` and `simrep.kernel.pcg64`
stand in for the little of it that a run needs, with the same numbers. Questions that need more, as
fits do, import NumPy themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, cast

__all__ = ["NUMPY", "NDArray", "Seeded", "np", "seeded"]

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    try:
        import numpy as np
        from numpy.typing import NDArray
    except ModuleNotFoundError:
        from simrep.kernel import columns as np

        NDArray = list  # annotations need something that takes a type

NUMPY: Final = hasattr(np, "random")
"""Whether NumPy is installed."""

Seeded = Callable[[Sequence[int], Sequence[int]], "np.random.Generator"]
"""Makes a generator of entropy and a key."""


def _of_numpy(entropy: Sequence[int], key: Sequence[int]) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy, spawn_key=key)))


def _made() -> Seeded:
    if NUMPY:
        return _of_numpy
    from simrep.kernel import pcg64

    return cast("Seeded", pcg64.seeded)


seeded: Final = _made()
"""The PCG64 generator of ``numpy.random.SeedSequence(entropy, spawn_key=key)``, or its twin."""
