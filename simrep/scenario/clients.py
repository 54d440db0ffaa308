"""The ``[workload.clients]`` table: what clients do about errors and servers that do not answer."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Literal, Self

from pydantic import Field, model_validator

from simrep.errors import ScenarioError
from simrep.scenario.table import Backoff, Interval, Name, Table
from simrep.workload.policy import Policy

__all__ = ["ClientsTable"]


class ClientsTable(Table):
    """What clients do when a server does not answer, or answers with an error."""

    on_error: Literal["stay", "next", "stop"] = Field(
        "stay",
        description="after an error: stay with the node (pinned), connect to the next node of "
        "the list (failing over), or end for good, as threads of go-tpc do (stop; with "
        "workload.retry only where the connection or the service is lost)",
    )
    nodes: tuple[Name, ...] | None = Field(
        None,
        min_length=2,
        description='of on_error = "next": that list; default: all nodes in their order',
    )
    read_timeout_s: Interval | None = Field(
        None,
        description="after so long without the end of a transaction its client closes the "
        "connection; default: it waits for ever",
    )
    connect_timeout_s: Interval = Field(
        10.0, description="after so long an attempt to connect has failed"
    )
    retry_pause_s: Interval = Field(
        1.0,
        description="pause after an error of a node that serves nobody, and between attempts to "
        "connect; instead of the think time",
    )
    retry_backoff: Backoff = Field(
        1.0,
        description="every further pause in a row is so many times as long; the first one after "
        "something has worked is retry_pause_s again",
    )
    longest_pause_s: Interval | None = Field(
        None, description="but not longer than that; default: without limit"
    )
    via: Literal["proxy", "direct"] | None = Field(
        None,
        description="whether they go to the [proxy], or to their node; default: to the proxy if "
        "there is one",
    )
    place: Literal["node"] | None = Field(
        None,
        description="node: they sit beside their node, and reach others by its network, with its "
        "delays and cuts; default: they reach every node alike, and no cut keeps them from it",
    )
    read_your_writes: Literal["none", "gtid-wait"] = Field(
        "none",
        description="gtid-wait: before a read on another node they let that wait until it has "
        "their last write (WAIT_FOR_EXECUTED_GTID_SET, MASTER_GTID_WAIT)",
    )
    gtid_wait_timeout_s: Interval | None = Field(
        None, description="but at most so long, then they read all the same; default: for ever"
    )

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if self.place is not None and self.via == "proxy":
            raise ScenarioError(
                "place",
                "clients of a proxy are where it is",
                'place the proxy (proxy.beside), or set via = "direct"',
            )
        if self.gtid_wait_timeout_s is not None and self.read_your_writes == "none":
            raise ScenarioError(
                "gtid_wait_timeout_s", "nobody waits", 'set read_your_writes = "gtid-wait"'
            )
        if self.nodes is None:
            return self
        if self.on_error != "next":
            raise ScenarioError(
                "nodes",
                f"is the list of clients that go to the next node, on_error is {self.on_error!r}",
                'set on_error = "next", or remove it',
            )
        for place, name in enumerate(self.nodes):
            if name in self.nodes[:place]:
                raise ScenarioError(f"nodes.{place}", f"node {name!r} is there twice")
        return self

    def above(self, other: ClientsTable | None) -> ClientsTable:
        """The keys of both tables; where both say something, those of this one."""
        if other is None:
            return self
        own = {name: getattr(self, name) for name in self.model_fields_set}
        return other.model_copy(update=own)

    @property
    def direct(self) -> bool:
        """Whether they go to their node even where there is a proxy."""
        return self.via == "direct" or self.place is not None

    @property
    def _own_writes_s(self) -> float | None:
        if self.read_your_writes == "none":
            return None
        return inf if self.gtid_wait_timeout_s is None else self.gtid_wait_timeout_s

    def policy(self, position: Mapping[str, int]) -> Policy:
        """The same for the engine; ``position`` is that of each node by its name."""
        return Policy(
            on_error=self.on_error,
            nodes=tuple(position[name] for name in self.nodes or ()),
            read_timeout_s=inf if self.read_timeout_s is None else self.read_timeout_s,
            connect_timeout_s=self.connect_timeout_s,
            retry_pause_s=self.retry_pause_s,
            retry_backoff=self.retry_backoff,
            longest_pause_s=inf if self.longest_pause_s is None else self.longest_pause_s,
            direct=self.direct,
            beside_node=self.place is not None,
            own_writes_s=self._own_writes_s,
        )
