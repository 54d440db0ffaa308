"""The tables by which exponential and normal numbers are made of bits, layer by layer.

256 layers of equal area lie under a density; nearly always one multiplication and one comparison
decide. The tables are those of NumPy, computed with 40 digits when they are first asked for.

References
----------
G. Marsaglia and W. W. Tsang, The ziggurat method for generating random variables, Journal of
Statistical Software 5 (2000), issue 8.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from functools import cache
from math import ulp
from typing import Final, NamedTuple

__all__ = ["EXPONENTIAL_TAIL", "NORMAL_TAIL", "Layers", "exponential_layers", "normal_layers"]

EXPONENTIAL_TAIL: Final = 7.69711747013104972
NORMAL_TAIL: Final = 3.6541528853610088
"""Where the lowest layer ends and the tail begins."""

# To more digits, with which the uppermost layer closes at a density of 1; and the area of a layer.
_EXPONENTIAL: Final = (
    "7.6971174701310497140446280480151554991",
    "0.0039496598225815572199775719568148610919",
)
_NORMAL: Final = (
    "3.6541528853610087716454297203995157630",
    "0.0049286732339746553473617754023360280691",
)

# NumPy's widths of normal layers come from a recursion in double precision: so many units in the
# last place they lie above the right ones. Its densities and limits are as right as they must be.
_NORMAL_ERRORS: Final = """
-9 -60 -18 -16 -14 -15 -16 -13 -13 -7 -7 -6 -5 -5 -5 -5 -5 -6 -5 -6 -7 -7 -6 -7 -7 -6 -6 -5 -6
-6 -7 -5 -6 -6 -6 -6 -6 -7 -5 -5 -4 -3 -4 -5 -3 -4 -4 -4 -4 -4 -4 -5 -2 -3 -3 -4 -4 -3 -4 -4 -3
-3 -2 -2 -3 -3 -4 -3 -4 -3 -3 -3 -2 -2 -1 -2 -2 -3 -3 -3 -2 -2 -3 -3 -3 -2 -2 -2 -2 -1 -2 -1 -1
-1 -1 -1 -2 -1 -1 -1 -1 -1 -2 -1 -1 -2 -2 -2 -2 -2 -2 -2 -2 -2 -1 -1 -1 -1 -1 -1 -1 -1 0 0 -1 -1
-1 -2 -1 -1 -1 -1 -2 -2 -2 -1 -1 -2 -2 -2 -3 -3 -4 -3 -3 -3 -2 -2 -1 -2 -1 -1 -1 -1 -1 -1 0 0 1
0 0 -1 0 0 0 0 0 0 0 0 0 1 2 2 3 3 3 2 2 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 -1 -1 -1 -1 -1 -2 -1 -2
-2 -2 -2 -2 -2 -1 -1 -1 -1 0 0 -1 -1 0 0 0 0 -1 0 0 0 0 0 0 0 0 0 0 -1 0 -1 -1 -1 -1 -1 -1 -1 0
0 1 0 1 1 1 1 1 1 0 0 1 1 1 0
"""


class Layers(NamedTuple):
    """Of each layer: which bits need no second look, the width of a bit, and the density."""

    sure: list[int]
    width: list[float]
    density: list[float]


@cache
def exponential_layers() -> Layers:
    """For numbers of 53 bits and a mean of 1."""
    return _layers(_EXPONENTIAL, 53, lambda x: (-x).exp(), lambda y: -y.ln())


@cache
def normal_layers() -> Layers:
    """For numbers of 52 bits and a standard deviation of 1."""
    sure, width, density = _layers(
        _NORMAL, 52, lambda x: (-x * x / 2).exp(), lambda y: (-2 * y.ln()).sqrt()
    )
    errors = map(int, _NORMAL_ERRORS.split())
    width = [one + off * ulp(one) for one, off in zip(width, errors, strict=True)]
    return Layers(sure, width, density)


def _layers(
    shape: tuple[str, str],
    bits: int,
    density: Callable[[Decimal], Decimal],
    inverse: Callable[[Decimal], Decimal],
) -> Layers:
    with localcontext(Context(prec=40)):
        edge, area = map(Decimal, shape)
        scale = Decimal(1 << bits)
        first = area / density(edge)
        sure, width, heights = [0] * 256, [0.0] * 256, [1.0] * 256
        sure[0], width[0] = int(edge / first * scale), float(first / scale)
        width[255], heights[255] = float(edge / scale), float(density(edge))
        for layer in range(254, 0, -1):
            inner = inverse(area / edge + density(edge))
            sure[layer + 1] = int(inner / edge * scale)
            width[layer], heights[layer] = float(inner / scale), float(density(inner))
            edge = inner
        return Layers(sure, width, heights)
