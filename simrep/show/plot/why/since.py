"""Times after an instant, in a unit that fits them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Since"]

_UNITS = ((10.0, 1.0, "s"), (5e-4, 1e3, "ms"), (0.0, 1e6, "us"))


@dataclass(frozen=True, slots=True)
class Since:
    """How times become places on an axis.

    Attributes
    ----------
    origin_s : float
        The instant, in simulated seconds.
    per_second : float
        Units in a second.
    unit : str
        ``s``, ``ms`` or ``us``.
    """

    origin_s: float
    per_second: float
    unit: str

    @classmethod
    def fitting(cls, origin_s: float, until_s: float) -> Since:
        """With the unit in which the time from the one to the other is read best."""
        span_s = until_s - origin_s
        return next(cls(origin_s, n, unit) for least_s, n, unit in _UNITS if span_s >= least_s)

    def __call__(self, time_s: float) -> float:
        """The place of a time."""
        return (time_s - self.origin_s) * self.per_second
