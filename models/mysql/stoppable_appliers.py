"""Appliers that are stopped while their server goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .appliers import Appliers, RelayEntry

__all__ = ["StoppableAppliers"]


class StoppableAppliers(Appliers):
    """What they have begun with they commit; the rest of the relay log they leave.

    References
    ----------
    sql/rpl_replica.cc of MySQL 9, terminate_slave_threads; sql/rpl_rli_pdb.cc (workers end what
    they have been given, so that no gap is left).
    """

    def __init__(self, *args: Any, **how: Any) -> None:
        self._stopped: Callable[[], object] | None = None
        super().__init__(*args, **how)

    def stop(self, call: Callable[[], object]) -> None:
        """``call()`` when they have ended all that they had begun, and it is noted."""
        self._stopped = call
        self._relay.clear()
        self._relay_s.clear()
        self._held = None
        self._waits = False
        spin, self._spin = self._spin, None
        if spin is not None:
            self._host.stop(spin, _nothing)
        if not self._started_s:
            call()

    def submit(self, change: RelayEntry) -> None:
        """See ``Appliers.submit``."""
        if self._stopped is None:
            super().submit(change)

    def _committed(self, change: RelayEntry) -> None:
        super()._committed(change)
        if self._stopped is not None and not self._started_s:
            self._clock.at(self._clock.now, _call, self._stopped)


def _call(call: Callable[[], object]) -> None:
    call()


def _nothing(_: object) -> None:
    pass
