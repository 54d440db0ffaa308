"""What is on the disk of a Galera server when its process ends, or its machine loses power."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from simrep.modelling import Clock

from .gcache import Gcache
from .schema_change import NewRows
from .writeset import Ordered

__all__ = ["Durability", "Remains"]

_FLUSH_S = 1.0  # innodb_flush_log_at_timeout


@dataclass(frozen=True, slots=True)
class Remains:
    """What the next process finds.

    Attributes
    ----------
    position, views : int
        Up to which writeset everything is there (``--wsrep-recover``), and how many views.
    gcache : Gcache or None
    streams : mapping
        Stored fragments of streaming transactions that had not ended.
    clean : bool
        Whether the server has shut down, so that it need not find out its position.
    definitions : mapping
        See ``AlteringNode.definitions``.
    """

    position: int = 0
    views: int = 0
    gcache: Gcache | None = None
    streams: Mapping[tuple[int, int], tuple[Ordered, ...]] = field(default_factory=dict)
    clean: bool = False
    definitions: Mapping[str, NewRows] = field(default_factory=dict)


class Durability:
    """Which commits survive what (``innodb_flush_log_at_trx_commit``).

    1: all survive. 2: those that are written to the system survive a crash of the process, but
    of a machine only those of the last flush, once a second. 0: neither.

    Parameters
    ----------
    clock : Clock
    committed : callable
        Up to which writeset everything is committed.
    flush_log_at_trx_commit : int
    """

    def __init__(
        self, clock: Clock, committed: Callable[[], int], flush_log_at_trx_commit: int
    ) -> None:
        self._clock = clock
        self._committed = committed
        self._at_commit = flush_log_at_trx_commit
        self._flushed = 0
        self._flushes = False  # once a second
        if flush_log_at_trx_commit != 1:
            self._flush(None)

    def _flush(self, _: None) -> None:
        self._flushes = True
        self._flushed = self._committed()
        self._clock.at(self._clock.now + _FLUSH_S, self._flush)

    def set_flush(self, flush_log_at_trx_commit: int) -> None:
        """The option is set on the running server."""
        if self._at_commit == 1 != flush_log_at_trx_commit and not self._flushes:
            self._flush(None)
        self._at_commit = flush_log_at_trx_commit

    def start_after(self, position: int) -> None:
        """Begin with what is on the disk."""
        self._flushed = position

    def position(self, what: str) -> int:
        """Up to which writeset everything is on the disk after this has happened."""
        survives = {"leave": (0, 1, 2), "power-loss": (1,)}.get(what, (1, 2))
        return self._committed() if self._at_commit in survives else self._flushed
