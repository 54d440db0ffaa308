"""Tables of earlier releases that say what goes wrong: they are read, and become faults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, Self

from pydantic import Field, model_validator

from simrep.errors import ScenarioError
from simrep.scenario.faults import FaultTable, FaultWord
from simrep.scenario.problems import dotted
from simrep.scenario.table import Name, Seconds, Table

__all__ = ["ChangeTable", "OutageTable", "listed_faults", "outdated"]

_WORDS: dict[str, FaultWord] = {"crash": "kill", "leave": "leave", "join": "restart"}


class ChangeTable(Table):
    """A ``[[cluster.change]]``: a server that comes or goes; ``[[fault]]`` says it too.

    ``crash`` is the fault ``kill``, ``join`` is ``restart``.
    """

    at_s: Seconds = Field(description="when, in simulated seconds")
    node: Name = Field(description="its node")
    what: Literal["crash", "leave", "join"] = Field(
        description="crash: it dies; leave: it shuts down in order; join: it comes back"
    )
    transfer_s: Seconds = Field(
        0.0, description="of join: how long it takes to transfer the state to it"
    )

    def fault(self, path: str) -> FaultTable:
        """The same as a fault; ``path`` is where the scenario says it."""
        joins = self.what == "join"
        fault = FaultTable.model_construct(
            what=_WORDS[self.what],
            node=self.node,
            at_s=self.at_s,
            transfer_s=self.transfer_s if joins else None,
        )
        return fault.told_at(path)


class OutageTable(Table):
    """A ``[[network.outage]]``: nothing gets through to or from a node for a while.

    It is the fault ``cut``. Where a model does not play that, TCP keeps the connections and
    repeats what was lost, so that it arrives later, and servers do not notice. Clients on the
    machine of the node are not concerned.
    """

    node: Name = Field(description="the node that is cut off from the others")
    direction: Literal["both", "out", "in"] = Field(
        "both", description="what is lost: everything, what the node sends, or what is sent to it"
    )
    from_s: Seconds = Field(description="begin, in simulated time with the warm-up")
    to_s: Seconds = Field(description="end")

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if not self.to_s > self.from_s:
            raise ScenarioError(
                "to_s", f"must be after from_s = {self.from_s:g}, given {self.to_s:g}"
            )
        return self

    def fault(self, path: str) -> FaultTable:
        """The same as a fault; ``path`` is where the scenario says it."""
        fault = FaultTable.model_construct(
            what="cut",
            node=self.node,
            at_s=self.from_s,
            until_s=self.to_s,
            direction=self.direction,
        )
        return fault.told_at(path)


def listed_faults(
    faults: Iterable[FaultTable], changes: Iterable[ChangeTable], outages: Iterable[OutageTable]
) -> tuple[FaultTable, ...]:
    """All that goes wrong, as faults that know where the scenario says them."""
    return (
        *(fault.told_at(dotted(["fault", fault.name or n])) for n, fault in enumerate(faults)),
        *(change.fault(f"cluster.change.{position}") for position, change in enumerate(changes)),
        *(outage.fault(f"network.outage.{position}") for position, outage in enumerate(outages)),
    )


def outdated(changes: Sequence[ChangeTable], outages: Sequence[OutageTable]) -> Iterator[str]:
    """What to write instead of tables of earlier releases that a scenario has."""
    if changes:
        yield (
            "[[cluster.change]] is read as before, and [[fault]] takes its place: what = "
            '"kill" (crash), "leave" or "restart" (join)'
        )
    if outages:
        yield (
            '[[network.outage]] is read as before, and [[fault]] takes its place: what = "cut", '
            "from at_s to until_s; of a model that plays no cut, servers do not notice an outage"
        )
