"""What the slowest transactions of a run waited for: the answer, and how it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import isnan
from typing import Any, cast

from simrep.measure.json_values import plain
from simrep.measure.units import amount, duration
from simrep.runs.report import Report

__all__ = ["Blocker", "TailExplanation", "TailStage"]

_BEYOND = " beyond the way of the messages"
_WAITING = {
    "client": "with the client: waiting for a connection, pausing, on the way",
    "execute": "executing statements",
    "lock wait": "waiting for row locks",
    "queue": "waiting for the turn to send, or for flow control",
    "consistency": "waiting for what the consistency level asks for",
    "send window": "waiting for the send window",
    "order": "waiting for the total order beyond the way of the messages",
    "certification": "waiting to be certified",
    "flush": "writing and syncing logs, and waiting to do so",
    "acknowledgement": "waiting for an acknowledgement beyond the way of the messages",
    "commit order": "waiting for earlier transactions to commit",
    "commit": "committing in the engine",
    "retries": "in attempts that failed",
}
_WORTH = 0.05
"""Share of a stage that deserves a sentence, and of its blockers."""


@dataclass(frozen=True, slots=True)
class Blocker:
    """For whom the slowest waited in one stage.

    Attributes
    ----------
    who : str
        Transactions of a class, or a queue of a node.
    doing : str
        What those were doing, ``stage order`` for example; empty if it is not known.
    seconds : float
        Mean time per slow transaction.
    """

    who: str
    doing: str
    seconds: float


@dataclass(frozen=True, slots=True)
class TailStage:
    """One stage of the slowest transactions; means in seconds.

    Attributes
    ----------
    name : str
        One of ``simrep.workload.laps.LAPS``.
    slow_s, rest_s : float
        Of the slowest, and of all others.
    floor_s : float
        What the network alone takes in this stage.
    above_s : float
        Of the slowest, above the floor. Where a stage is shorter than its floor, the messages have
        travelled during the stages before it, and the rest of the floor is taken off those.
    share : float
        Of all time above the network floor.
    blockers : tuple of Blocker
        For whom they waited, the longest first; empty where that is not known.
    """

    name: str
    slow_s: float
    rest_s: float
    floor_s: float
    above_s: float
    share: float
    blockers: tuple[Blocker, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class TailExplanation(Report):
    """Where the time of the slowest transactions of a run went.

    ``plot()`` draws the time above the network floor, by stages.

    Attributes
    ----------
    share : float
        Of all transactions, that counted as the slowest.
    transactions, committed : int
        How many those are, and all.
    from_s : float
        Latency of the fastest of them in seconds.
    latency_s, rest_s : float
        Their mean latency, and that of all others (NaN if there are none), in seconds.
    floor_s : float
        The network floor: what messages alone take of them, in seconds; 0 where there are none,
        and where servers come and go; NaN if the model does not tell which message ends a wait.
    stages : tuple of TailStage
        Those first that took longest above the network floor.
    model : str
    seed, replication : int
    scenario : mapping
        The scenario that was run, with its defaults filled in.
    versions : mapping of str to str
        What computed it.
    """

    share: float
    transactions: int
    committed: int
    from_s: float
    latency_s: float
    rest_s: float
    floor_s: float
    stages: tuple[TailStage, ...]
    model: str
    seed: int
    replication: int
    scenario: Mapping[str, Any]
    versions: Mapping[str, str]

    @property
    def above_s(self) -> float:
        """Mean time of the slowest above the network floor, in seconds."""
        return sum(stage.above_s for stage in self.stages)

    def sentences(self) -> list[str]:
        """The answer in words; what explains a sentence is indented below it."""
        first = (
            f"The slowest {100 * self.share:.3g} % ({amount(self.transactions)} of "
            f"{amount(self.committed)}, from {duration(self.from_s)} on) took "
            f"{duration(self.latency_s)} on average"
        )
        if not isnan(self.rest_s):
            first += f", the others {duration(self.rest_s)}"
        if self.floor_s > 0.0:
            first += f"; the network alone needs {duration(self.floor_s)}"
        said = [f"{first}."]
        if isnan(self.floor_s):
            said.append(
                f"The network floor is not known: model {self.model!r} does not tell which message "
                "a node handles (Network.handler)."
            )
        over = "the time above the network floor" if self.floor_s > 0.0 else "that time"
        for stage in self.stages:
            if stage.share < _WORTH:
                break
            said.append(f"{100 * stage.share:.0f} % of {over} was {self._waiting(stage.name)}.")
            for one in stage.blockers[:3]:
                part = one.seconds / stage.slow_s
                if part >= _WORTH:
                    doing = f", then {_doing(one.doing)}" if one.doing else ""
                    said.append(f"  {100 * part:.0f} % of that stage for {one.who}{doing}.")
        return said

    def _waiting(self, stage: str) -> str:
        words = _WAITING.get(stage, stage)
        return words.removesuffix(_BEYOND) if isnan(self.floor_s) else words

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON can hold it."""
        content = {f.name: getattr(self, f.name) for f in fields(self)}
        more = {"above_s": self.above_s, "sentences": self.sentences()}
        return cast(dict[str, Any], plain(content | more))

    def _rows(self) -> list[dict[str, Any]]:
        """A row per stage."""
        return [
            {name: value for name, value in asdict(stage).items() if name != "blockers"}
            for stage in self.stages
        ]

    def __repr__(self) -> str:
        return (
            f"<TailExplanation of {self.transactions:,} of {self.committed:,} transactions, "
            f"{duration(self.above_s)} above the network floor>"
        )


def _doing(text: str) -> str:
    return f"in its {text}" if text.startswith("stage ") else text
