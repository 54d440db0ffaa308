"""Every attempt of the clients of a run in which things break: when, where, and how it ended."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from simrep.kernel.arrays import NDArray, np
from simrep.kernel.clock import Clock
from simrep.measure.counts import error_of
from simrep.measure.series import Stall

__all__ = ["WAITING", "AttemptLog", "Attempts", "ErrorCount"]

WAITING = "waiting"
"""Instead of an error, of an attempt that has had no answer for a second when the run ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCount:
    """An error that clients of one group met on one node; times in simulated seconds.

    Attributes
    ----------
    group, node : str
        Name of the group of clients, and of the node that they turned to.
    error : str
        Its number, or its words if it has none; ``waiting`` for no answer until the run ends,
        for a second at least.
    text : str
        Number and words.
    connecting : bool
        Whether they met it while they connected, and not in a transaction.
    times : int
    first_s, last_s : float
        When clients were told of the first and of the last.
    longest_s : float
        The longest time that a client waited for it, in seconds.
    """

    group: str
    node: str
    error: str
    text: str
    connecting: bool
    times: int
    first_s: float
    last_s: float
    longest_s: float

    def to_dict(self) -> dict[str, Any]:
        """All of it by name."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Attempts:
    """Attempts at transactions and at connections, in the order of their ends.

    The warm-up is included; a transaction that is submitted again is there once for each time.

    Attributes
    ----------
    groups, nodes, texts : tuple of str
        Names of the groups of clients and of the nodes, and what the errors say, to which the
        arrays point; the first text is empty.
    began_s, ended_s : numpy.ndarray of float
        Shape (attempts,), in simulated seconds; an attempt that waits for its answer has the end of
        the run.
    group, node, error : numpy.ndarray of int
        Positions in ``groups``, ``nodes`` and ``texts``; error 0 is a commit, or a connection that
        is open.
    writes : numpy.ndarray of bool
        Whether its transaction writes.
    connecting : numpy.ndarray of bool
        Whether it is an attempt to connect; only those that failed are there.
    end_s : float
        When the run ended, in simulated seconds.
    """

    groups: tuple[str, ...]
    nodes: tuple[str, ...]
    texts: tuple[str, ...]
    began_s: NDArray[np.float64]
    ended_s: NDArray[np.float64]
    group: NDArray[np.int32]
    node: NDArray[np.int32]
    error: NDArray[np.int32]
    writes: NDArray[np.bool_]
    connecting: NDArray[np.bool_]
    end_s: float

    def __len__(self) -> int:
        return len(self.ended_s)

    def of(
        self,
        *,
        group: str | None = None,
        nodes: Sequence[str] | None = None,
        writes: bool | None = None,
    ) -> Attempts:
        """Those of one group, on some nodes, or only of transactions that write (or read)."""
        keep = np.ones(len(self), np.bool_)
        if group is not None:
            keep &= self.group == self.groups.index(group)
        if nodes is not None:
            keep &= np.isin(self.node, [self.nodes.index(name) for name in nodes])
        if writes is not None:
            keep &= self.writes == writes
        return self._only(keep)

    def between(self, from_s: float = -inf, to_s: float = inf) -> Attempts:
        """Those that ended between two times."""
        return self._only((self.ended_s >= from_s) & (self.ended_s < to_s))

    def _only(self, keep: NDArray[np.bool_]) -> Attempts:
        columns = ("began_s", "ended_s", "group", "node", "error", "writes", "connecting")
        return replace(self, **{name: getattr(self, name)[keep] for name in columns})

    @property
    def commits_s(self) -> NDArray[np.float64]:
        """When transactions were committed, in simulated seconds and in order."""
        committed: NDArray[np.float64] = self.ended_s[(self.error == 0) & ~self.connecting]
        return committed

    def longest_gap(self, from_s: float = -inf, to_s: float = inf) -> Stall:
        """The longest time between two successive commits that overlaps the time between both.

        It counts from the first commit on, and to the end of the run if none follows.
        """
        edges = np.append(self.commits_s, self.end_s)
        began_s, ended_s = edges[:-1], edges[1:]
        gaps = np.where((ended_s > from_s) & (began_s < to_s), ended_s - began_s, 0.0)
        if not gaps.any():
            return Stall()
        longest = int(gaps.argmax())
        return Stall(float(gaps[longest]), float(began_s[longest]))

    def longest_wait_s(self, from_s: float = -inf, to_s: float = inf) -> float:
        """The longest attempt that overlaps the time between both, however it ended; in seconds."""
        waits = (self.ended_s - self.began_s)[(self.ended_s > from_s) & (self.began_s < to_s)]
        return float(waits.max()) if len(waits) else 0.0

    def errors(self) -> tuple[ErrorCount, ...]:
        """Errors by group, node and number, in the order in which clients met them."""
        met: dict[tuple[int, int, int, bool], list[int]] = {}
        for position in np.flatnonzero(self.error).tolist():
            key = (
                int(self.group[position]),
                int(self.node[position]),
                int(self.error[position]),
                bool(self.connecting[position]),
            )
            met.setdefault(key, []).append(position)
        return tuple(
            ErrorCount(
                group=self.groups[group],
                node=self.nodes[node],
                error=error_of(self.texts[error]),
                text=self.texts[error],
                connecting=connecting,
                times=len(positions),
                first_s=float(self.ended_s[positions[0]]),
                last_s=float(self.ended_s[positions[-1]]),
                longest_s=float((self.ended_s - self.began_s)[positions].max()),
            )
            for (group, node, error, connecting), positions in met.items()
        )


class AttemptLog:
    """Attempts while a run goes on: 31 bytes for each.

    Parameters
    ----------
    clock : Clock
    groups, nodes : sequence of str
        Their names by position.
    """

    def __init__(self, clock: Clock, groups: Sequence[str], nodes: Sequence[str]) -> None:
        self._clock = clock
        self._groups = tuple(groups)
        self._nodes = tuple(nodes)
        self._began_s = array("d")
        self._ended_s = array("d")
        self._group = array("i")
        self._node = array("i")
        self._error = array("i")
        self._writes = array("b")
        self._connecting = array("b")
        self._errors = {"": 0}

    def ended(
        self,
        began_s: float,
        group: int,
        node: int,
        *,
        writes: bool,
        error: str = "",
        connecting: bool = False,
    ) -> None:
        """An attempt that began then ends now; without an error its transaction is committed."""
        self._began_s.append(began_s)
        self._ended_s.append(self._clock.now)
        self._group.append(group)
        self._node.append(node)
        self._error.append(self._errors.setdefault(error, len(self._errors)))
        self._writes.append(writes)
        self._connecting.append(connecting)

    def attempts(self) -> Attempts:
        """All until now."""
        return Attempts(
            groups=self._groups,
            nodes=self._nodes,
            texts=tuple(self._errors),
            began_s=np.array(self._began_s, np.float64),
            ended_s=np.array(self._ended_s, np.float64),
            group=np.array(self._group, np.int32),
            node=np.array(self._node, np.int32),
            error=np.array(self._error, np.int32),
            writes=np.array(self._writes, np.bool_),
            connecting=np.array(self._connecting, np.bool_),
            end_s=self._clock.now,
        )
