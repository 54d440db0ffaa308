"""The ``[[procedure]]`` table: what operators do to one node after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, Self

from pydantic import Field, model_validator

from simrep.errors import ScenarioError
from simrep.scenario.faults import CHANGES, FaultTable
from simrep.scenario.operation import OperationTable, OperationWord
from simrep.scenario.table import Interval, Name, Queued, Seconds

__all__ = ["ProcedureTable", "ProcedureWord", "procedure_problems"]

ProcedureWord = Literal["rolling-restart", "grow", "shrink"]
_TEXTS = {"rolling-restart": "rolling restart", "grow": "grow", "shrink": "shrink"}
_CRASHES = {"kill", "power-loss"}


class ProcedureTable(OperationTable):
    """A ``[[procedure]]``: an operator takes one node after the other, and looks how each is.

    When each step is taken is not known before the run: the next one waits until the node serves
    again. A node that does not come back in time ends the procedure, and no other one is taken
    down.
    """

    done: ProcedureWord = Field(
        alias="what",
        description="rolling-restart: every node shuts down and starts again; grow: nodes that "
        "are away from the begin of the run join; shrink: nodes leave for good",
    )
    nodes: tuple[Name, ...] | None = Field(
        None,
        min_length=1,
        description="in which order; default of rolling-restart: all with data, the first one "
        "(where a single node takes writes, the one that does) last",
    )
    down_s: Seconds = Field(
        30.0,
        description="of rolling-restart: how long a node is down on purpose, from the end of its "
        "shutdown to the order to start: the work on it, such as an upgrade",
    )
    pause_s: Seconds = Field(
        10.0, description="how long the operator waits when a node is back, before the next one"
    )
    check_s: Interval = Field(1.0, description="how often the operator looks whether it is back")
    max_behind: Queued = Field(
        100, description="it is back when it serves clients and lacks so many transactions at most"
    )
    timeout_s: Interval = Field(
        600.0, description="after so long without it the procedure stops, and takes no other down"
    )
    move_writer: bool = Field(
        True,
        strict=True,
        description="whether another node is promoted before the only one that takes writes goes",
    )
    transfer_s: Seconds | None = Field(
        None,
        description="of grow: how long it takes to copy all data to a new node; a must in a group, "
        "whose members copy them",
    )

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if self.done != "rolling-restart" and self.nodes is None:
            raise ScenarioError("nodes", f"is required: which nodes {self.done} is about")
        own = {"down_s": "rolling-restart", "transfer_s": "grow"}
        for key, word in own.items():  # the scenario of a result has the defaults written out
            default = type(self).model_fields[key].default
            if self.done != word and getattr(self, key) != default:
                raise ScenarioError(key, f"is not for {self.done!r}", f"remove it, or say {word!r}")
        for place, name in enumerate(self.nodes or ()):
            if name in (self.nodes or ())[:place]:
                raise ScenarioError(f"nodes.{place}", f"node {name!r} is there twice")
        return self

    @property
    def what(self) -> OperationWord:
        """See ``OperationTable.what``."""
        return "procedure"

    @property
    def text(self) -> str:
        """See ``OperationTable.text``."""
        return _TEXTS[self.done]

    def on(self, names: Sequence[str], arbitrators: Sequence[str] = ()) -> tuple[str, ...]:
        """See ``OperationTable.on``: in the order in which they are taken."""
        if self.nodes is not None:
            return self.nodes
        first, *others = [name for name in names if name not in arbitrators]
        return (*others, first)


def procedure_problems(
    procedures: Sequence[ProcedureTable],
    faults: Sequence[FaultTable],
    names: Sequence[str],
    arbitrators: Sequence[str],
) -> Iterator[ScenarioError]:
    """What is wrong with procedures in this cluster, and beside these faults."""
    for one in procedures[1:]:
        yield ScenarioError(
            one.path, "one procedure at a time is played", "ask about the other in a run of its own"
        )
    if not procedures:
        return
    for fault in faults:
        if fault.what in CHANGES and fault.what not in _CRASHES:
            yield ScenarioError(
                f"{fault.path}.what",
                f"{fault.what!r} does not go with {procedures[0].path}, which does that itself",
                f"faults beside a procedure: {', '.join(sorted(_CRASHES))} and all that lasts",
            )
    for one in procedures:
        left = [name for name in names if name not in (*one.on(names, arbitrators), *arbitrators)]
        if one.done != "rolling-restart" and not left:
            yield ScenarioError(
                f"{one.path}.nodes",
                "is about all nodes",
                "leave out those who stay",
            )
