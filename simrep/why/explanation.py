"""Why one transaction took as long as it did: its stages, and the messages that they waited for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from simrep.measure.json_values import plain
from simrep.runs.report import Report

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation

__all__ = ["Activity", "CommitStage", "Explanation", "Transmission"]


@dataclass(frozen=True, slots=True)
class CommitStage:
    """A part of the latency; the stages of a transaction follow each other without a gap.

    Attributes
    ----------
    name : str
        One of ``simrep.workload.laps.LAPS``, or ``other``.
    began_s, ended_s : float
        In simulated seconds.
    reason : str
        Whom or what it waited for, in words; empty where nothing more is known.
    """

    name: str
    began_s: float
    ended_s: float
    reason: str = ""

    @property
    def seconds(self) -> float:
        """How long it lasted."""
        return self.ended_s - self.began_s


@dataclass(frozen=True, slots=True)
class Activity:
    """What a node did for a transaction, or where that waited there.

    Attributes
    ----------
    node : int
        Position of the node.
    station : str
        Where: ``send monitor``, ``commit order``, ``redo log``, ``applier`` and so on.
    what : str
        In words: ``being applied``, ``waits for writeset 17``.
    of : str
        The transaction in words; empty for what belongs to none.
    own : bool
        Whether that is the transaction which is explained.
    waits : bool
        It waited; else it was worked on.
    began_s, ended_s : float
        In simulated seconds; cut off at the ends of the time that is shown.
    """

    node: int
    station: str
    what: str
    of: str
    own: bool
    waits: bool
    began_s: float
    ended_s: float


@dataclass(frozen=True, slots=True)
class Transmission:
    """A message between two nodes.

    Attributes
    ----------
    number : int
        Its own, from 0, in the order of sending.
    source, target : int
        Positions of the nodes.
    label : str
        What it is: ``writeset 17``, ``gap``, ``accept``, ``reply``.
    size_bytes : int
    sent_s, arrived_s, handled_s : float
        It begins to leave its node, its last byte arrives, the receiver has handled it; NaN for
        what has not happened in the run or is not known, in simulated seconds.
    cause : int or None
        The message which the sender had just handled when it sent this one; None if none did.
    own : bool
        It carries the transaction that is explained, or belongs to its round of messages.
    critical : bool
        The commit waited for it.
    """

    number: int
    source: int
    target: int
    label: str
    size_bytes: int
    sent_s: float
    arrived_s: float
    handled_s: float
    cause: int | None
    own: bool
    critical: bool


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Explanation(Report):
    """One transaction of a run, from its client's request to the answer.

    ``plot()`` draws the messages between the nodes above the stages.

    Attributes
    ----------
    number : int
        Of the transaction, from 1, in the order in which those of the measured time committed.
    rank : str
        Which one that is, in words: ``the slowest of 3,000``.
    kind : str
        Its class.
    client, node : int
        Who submitted it, and where.
    rows, size_bytes : int
        What it wrote.
    started_s, ended_s : float
        In simulated seconds.
    nodes : tuple of str
        Names by position.
    stages : tuple of CommitStage
        Without a gap from ``started_s`` to ``ended_s``.
    activities : tuple of Activity
        What happened on all nodes meanwhile, of all transactions; in the order of their begin.
    messages : tuple of Transmission
        What travelled meanwhile; in the order of sending.
    until_s : float
        End of the time that activities and messages cover: a little after ``ended_s``, until all
        nodes have committed it.
    model : str
    seed, replication : int
    scenario : mapping
        The scenario that was run, with its defaults filled in.
    versions : mapping of str to str
        What computed it.
    """

    width: ClassVar[int] = 120

    number: int
    rank: str
    kind: str
    client: int
    node: int
    rows: int
    size_bytes: int
    started_s: float
    ended_s: float
    nodes: tuple[str, ...]
    stages: tuple[CommitStage, ...]
    activities: tuple[Activity, ...]
    messages: tuple[Transmission, ...]
    until_s: float
    model: str
    seed: int
    replication: int
    scenario: Mapping[str, Any]
    versions: Mapping[str, str]

    @property
    def latency_s(self) -> float:
        """From the client's request to the answer, in seconds."""
        return self.ended_s - self.started_s

    @property
    def title(self) -> str:
        """The transaction in words."""
        return f"transaction {self.number:,} ({self.kind}) of {self.nodes[self.node]}, {self.rank}"

    def animate(self, path: str | Path | None = None, *, seconds: float = 12.0) -> FuncAnimation:
        """Messages travelling between the nodes, slowed down to so many seconds.

        Saved when a path is given (``.html`` or ``.gif``); in a notebook it shows itself.
        """
        film: FuncAnimation = self._view("animate", path, seconds=seconds)
        return film

    def trace(self, path: str | Path | None = None) -> dict[str, Any]:
        """The same as a Chrome trace, which Perfetto opens; saved when a path is given."""
        content: dict[str, Any] = self._view("trace", path)
        return content

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON can hold it."""
        stages = [
            {"name": s.name, "began_s": s.began_s, "seconds": s.seconds, "reason": s.reason}
            for s in self.stages
        ]
        content = {f.name: getattr(self, f.name) for f in fields(self)}
        return cast(
            dict[str, Any], plain(content | {"latency_s": self.latency_s, "stages": stages})
        )

    def _rows(self) -> list[dict[str, Any]]:
        """A row per stage."""
        return [
            {"stage": s.name, "began_s": s.began_s, "seconds": s.seconds, "reason": s.reason}
            for s in self.stages
        ]

    def __repr__(self) -> str:
        return f"<Explanation {self.title}: {1e3 * self.latency_s:.3f} ms>"
