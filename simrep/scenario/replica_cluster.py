"""The ``[replica_cluster]`` table: another cluster that follows this one asynchronously."""

from __future__ import annotations

from math import inf
from typing import Self

from pydantic import Field, model_validator

from simrep.errors import ScenarioError
from simrep.scenario.table import Bandwidth, Checks, Interval, Milliseconds, Name, Table

__all__ = ["ReplicaClusterTable"]


class ReplicaClusterTable(Table):
    """Another cluster that follows this one asynchronously, as in an InnoDB ClusterSet."""

    name: Name = Field("replica cluster", description="what it is called")
    follows: tuple[Name, ...] | None = Field(
        None,
        min_length=1,
        description="nodes that it gets transactions from, in the order in which it turns to "
        "them; default: all nodes in their order",
    )
    rtt_ms: Milliseconds = Field(description="round trip between the nodes and there")
    bandwidth_mbit: Bandwidth | None = Field(
        None, description="of the way there, in megabits per second; default: unlimited"
    )
    retry_s: Interval = Field(
        3.0,
        description="time between two attempts to connect "
        "(clusterSetReplicationConnectRetry; SOURCE_CONNECT_RETRY alone is 60)",
    )
    attempts: Checks = Field(
        10,
        description="attempts that fail before it turns to the next node "
        "(clusterSetReplicationRetryCount)",
    )
    silence_s: Interval = Field(
        60.0,
        description="a node that is silent for so long is given up (replica_net_timeout)",
    )

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        for place, name in enumerate(self.follows or ()):
            if name in (self.follows or ())[:place]:
                raise ScenarioError(f"follows.{place}", f"node {name!r} is there twice")
        return self

    @property
    def bytes_per_s(self) -> float:
        """The bandwidth in bytes per second."""
        return inf if self.bandwidth_mbit is None else self.bandwidth_mbit * 1e6 / 8
