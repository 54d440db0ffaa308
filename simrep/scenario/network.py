"""The ``[network]`` table: latency, jitter, bandwidth and loss between nodes."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from simrep.errors import ScenarioError
from simrep.network import link
from simrep.scenario.table import (
    Count,
    Name,
    NotNegative,
    Positive,
    Probability,
    Real,
    Table,
    seconds,
)

__all__ = ["Egress", "JitterTable", "NetworkTable", "OutageTable", "PathTable", "TcpTable"]

Preset = Literal["aws-2017", "ibm-2024"]


class JitterTable(Table):
    """What varies on top of a constant delay."""

    kind: link.JitterKind = Field(
        description="shape of the distribution; `tc netem` draws uniform unless it is told "
        "`distribution normal`"
    )
    mean_ms: Real = Field(0.0, description="mean; usually 0 for normal and uniform")
    sd_ms: NotNegative = Field(
        0.0,
        description="standard deviation, of uniform the half width: the J of "
        "`tc netem delay D J`; not used by exponential",
    )
    samples_ms: tuple[NotNegative, ...] = Field(
        (), description="measured extra delays to draw from, for empirical"
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        kind = self.kind
        if kind == "empirical" and not self.samples_ms:
            raise ScenarioError("samples_ms", "empirical jitter needs at least one sample")
        if kind != "empirical" and self.samples_ms:
            raise ScenarioError("samples_ms", f"{kind} jitter draws from no samples")
        if kind in {"lognormal", "gamma", "exponential"} and self.mean_ms <= 0:
            raise ScenarioError(
                "mean_ms", f"{kind} jitter needs a mean above 0, given {self.mean_ms:g}"
            )
        if kind in {"normal", "uniform", "lognormal", "gamma"} and self.sd_ms <= 0:
            raise ScenarioError("sd_ms", f"{kind} jitter needs one above 0, given {self.sd_ms:g}")
        return self

    def jitter(self) -> link.Jitter:
        """The same in seconds."""
        return link.Jitter(
            kind=self.kind,
            mean_s=seconds(self.mean_ms),
            sd_s=seconds(self.sd_ms),
            samples_s=tuple(seconds(sample) for sample in self.samples_ms),
        )


class TcpTable(Table):
    """How the TCP senders are set; see :class:`simrep.network.link.Tcp`."""

    segment_bytes: Count = Field(1448, description="maximum segment size")
    initial_window_segments: Count = Field(10, description="segments before the first ack")
    window_limit_bytes: Count = Field(4 << 20, description="largest window (socket buffers)")
    minimum_timeout_ms: Positive = Field(
        200.0, description="retransmission timeout, above the round trip"
    )

    def tcp(self) -> link.Tcp:
        """The same in seconds."""
        return link.Tcp(
            segment_bytes=self.segment_bytes,
            initial_window_segments=self.initial_window_segments,
            window_limit_bytes=self.window_limit_bytes,
            minimum_timeout_s=seconds(self.minimum_timeout_ms),
        )


class PathTable(Table):
    """A ``[[network.path]]``: what differs between some nodes; later entries override earlier.

    An entry holds for messages that go from ``from`` to ``to``; one that gives ``rtt_ms`` holds,
    with everything in it, for the other direction too.
    """

    source: Name = Field("*", alias="from", description='node or site, "*" for all')
    target: Name = Field("*", alias="to", description='node or site, "*" for all')
    one_way_ms: NotNegative | None = Field(None, description="delay in this direction")
    rtt_ms: NotNegative | None = Field(None, description="round trip, half of it in each direction")
    jitter: JitterTable | None = Field(None, description="varies the delay")
    bandwidth_mbit: Positive | None = Field(None, description="megabits per second")
    loss: Probability | None = Field(None, description="probability that a segment is lost")

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if self.one_way_ms is not None and self.rtt_ms is not None:
            raise ScenarioError("rtt_ms", "give one_way_ms or rtt_ms, not both")
        given = (self.one_way_ms, self.rtt_ms, self.jitter, self.bandwidth_mbit, self.loss)
        if all(value is None for value in given):
            raise ScenarioError(
                "", "this path changes nothing", "give one_way_ms, rtt_ms, jitter, ..."
            )
        return self


class Egress(Table):
    """A ``[[network.egress]]``: delay on everything a node sends, as ``tc netem`` does it."""

    node: Name = Field(
        description="whose interface; its messages to other nodes are delayed, its answers to "
        "clients are not"
    )
    delay_ms: NotNegative = Field(0.0, description="added to every message it sends")
    jitter: JitterTable | None = Field(None, description="varies that delay")
    loss: Probability = Field(0.0, description="probability that a segment is lost there")


class OutageTable(Table):
    """A ``[[network.outage]]``: nothing gets through to or from a node for a while.

    TCP keeps the connections and repeats what was lost, so that it arrives later; servers do not
    notice, and clients on the machine of the node are not concerned.
    """

    node: Name = Field(description="the node that is cut off from the others")
    direction: Literal["both", "out", "in"] = Field(
        "both", description="what is lost: everything, what the node sends, or what is sent to it"
    )
    from_s: NotNegative = Field(description="begin, in simulated time with the warm-up")
    to_s: NotNegative = Field(description="end")

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        if not self.to_s > self.from_s:
            raise ScenarioError(
                "to_s", f"must be after from_s = {self.from_s:g}, given {self.to_s:g}"
            )
        return self

    def outage(self) -> link.Outage:
        """The same for the engine."""
        return link.Outage(self.from_s, self.to_s)


class NetworkTable(Table):
    """The network between the nodes."""

    rtt_ms: NotNegative | None = Field(
        None,
        description="round trip between any two nodes (of one site, with a preset); "
        "default: that of the pack, else 0.1",
    )
    jitter: JitterTable | None = Field(None, description="varies every one-way delay")
    bandwidth_mbit: Positive | None = Field(
        None, description="of every path, in megabits per second; default: unlimited"
    )
    loss: Probability = Field(0.0, description="probability that a segment is lost, on every path")
    preset: Preset | None = Field(
        None, description="published round trips between sites; the nodes name theirs"
    )
    paths: tuple[PathTable, ...] = Field((), alias="path", description="what differs where")
    egress: tuple[Egress, ...] = Field((), description="delays of single nodes; they add up")
    outages: tuple[OutageTable, ...] = Field(
        (), alias="outage", description="nodes that are cut off for a while"
    )
    relay_us: NotNegative | None = Field(
        None,
        description="CPU that a delay relay in user space takes per delayed message, on the "
        "machine that the nodes share; default: that of the pack, else 0 (the kernel delays)",
    )
    tcp: TcpTable = Field(default_factory=TcpTable, description="the TCP senders")
