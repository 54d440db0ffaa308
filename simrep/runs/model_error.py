"""How far the model itself is off, by what a figure is and by what decides it.

Where the network decides how long a commit takes, the model is off by a few per cent. Where
processors decide it is off by more, high percentiles most of all. ``model_error.toml`` has the
sizes and the measured cells behind them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import isfinite, sqrt

from simrep.user_files import parse_toml

__all__ = ["Expectation", "ModelError", "expectation", "model_error", "network_share"]

_KINDS = ("p50", "p95", "p99")
_WHOLE = "whole"
_WEIGHT = 10.0
"""How many cells of a fit the table counts for, at most."""
_PRIOR, _PRIOR_CELLS = 0.1, 2.0
"""What went into the discrepancy of a fit before any residual (``EXPECTED`` of the calibration)."""


@dataclass(frozen=True, slots=True)
class ModelError:
    """The error of the model in one figure.

    Attributes
    ----------
    relative : float
        Standard deviation of the logarithm.
    freedom : float
        On how many cells that rests.
    """

    relative: float
    freedom: float


@dataclass(frozen=True, slots=True)
class Expectation:
    """Errors of figures that one thing decides.

    Attributes
    ----------
    cells : float
        Measured cells behind them.
    errors : mapping of str to float
        Standard deviation of the logarithm by kind of figure: ``whole`` (rates, times of all
        transactions, means), ``p50``, ``p95``, ``p99``.
    """

    cells: float
    errors: Mapping[str, float]

    def of(self, figure: str, discrepancy: float, freedom: float) -> ModelError:
        """The error in a figure, with the residuals of a fit: they may widen it."""
        kind = figure.rpartition(".")[2]
        weight = min(self.cells, _WEIGHT)
        own = max(0.0, freedom - _PRIOR_CELLS)
        squares = max(0.0, freedom * discrepancy**2 - _PRIOR_CELLS * _PRIOR**2)
        whole = self.errors[_WHOLE] ** 2
        level = max(1.0, (squares + weight * whole) / ((own + weight) * whole))
        relative = self.errors[kind if kind in _KINDS else _WHOLE] * sqrt(level)
        return ModelError(relative, own + weight)


@cache
def expectation(decided_by: str) -> Expectation:
    """What is known of figures that ``network``, ``shared`` or ``own`` processors decide."""
    text = files("simrep.runs").joinpath("model_error.toml").read_text(encoding="utf-8")
    table = parse_toml(text, "model_error.toml")[decided_by]
    return Expectation(table.pop("cells"), table)


def network_share(rtt_s: float, latency_s: float) -> float:
    """Which part of the mean latency is the way over the network: 0 to 1.

    A commit that takes less than half of the longest round trip does not wait for it.
    """
    if not isfinite(latency_s) or latency_s <= 0.0 or latency_s < rtt_s / 2.0:
        return 0.0
    return min(1.0, rtt_s / latency_s)


def model_error(
    figure: str, *, network: float, shared: bool, discrepancy: float, freedom: float
) -> ModelError:
    """The error of the model in a figure of a run.

    Parameters
    ----------
    figure : str
        Its path in a result, e.g. ``latency_s.p95``.
    network : float
        See :func:`network_share`.
    shared : bool
        Whether all servers share one machine.
    discrepancy, freedom : float
        Error of the model that the fits of a pack tell, and on how many cells that rests. It is
        one of what processors decide: no fitted cost is about the network.
    """
    parts = (
        (network, expectation("network").of(figure, 0.0, 0.0)),
        (
            1.0 - network,
            expectation("shared" if shared else "own").of(figure, discrepancy, freedom),
        ),
    )
    squares = [(share * error.relative) ** 2 for share, error in parts]
    total = sum(squares)
    spread = sum(
        square**2 / error.freedom for square, (_, error) in zip(squares, parts, strict=True)
    )
    return ModelError(sqrt(total), total**2 / spread)
