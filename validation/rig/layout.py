"""A delay layout of an experiment: which pairs of nodes are how far from one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from simrep.errors import ScenarioError
from simrep.rig.delays import DelayMatrix, Link
from simrep.scenario.table import Bandwidth, Loss, Milliseconds, Name, Table

__all__ = ["Between", "FileName", "Layout"]

_KEPT = ("jitter_ms", "loss", "bandwidth_mbit")


def _no_number(name: str) -> str:
    try:
        float(name)
    except ValueError:
        return name
    raise ScenarioError("", f"{name!r} is a number to those who read the data", f"x{name}")


FileName = Annotated[
    str, Field(min_length=1, pattern=r"^[A-Za-z0-9][A-Za-z0-9_+-]*$"), AfterValidator(_no_number)
]
"""A name that becomes one of files, and a value of columns."""


def _meet(one: str, other: str) -> bool:
    return "*" in {one, other} or one == other


class Between(Table):
    """A ``[[layout.path]]``: delay from one node to another."""

    source: Name = Field(alias="from", description='node, "*" for all')
    target: Name = Field(alias="to", description='node, "*" for all')
    one_way_ms: Milliseconds | None = Field(None, description="added delay in this direction")
    rtt_ms: Milliseconds | None = Field(
        None, description="added round trip: half of it in this direction and half in the other"
    )
    jitter_ms: Milliseconds = Field(0.0, description="half width of a uniform jitter")
    loss: Loss = Field(0.0, description="probability that a packet is lost")
    bandwidth_mbit: Bandwidth | None = Field(None, description="megabits per second")

    @model_validator(mode="after")
    def _one_delay(self) -> Self:
        if self.one_way_ms is not None and self.rtt_ms is not None:
            raise ScenarioError("rtt_ms", "give one_way_ms or rtt_ms, not both")
        return self

    def meets(self, other: Between) -> bool:
        """Whether there may be a direction that both are about."""
        return any(_meet(a, c) and _meet(b, d) for a, b in self._ends() for c, d in other._ends())

    def _ends(self) -> list[tuple[str, str]]:
        forth = (self.source, self.target)
        return [forth] if self.rtt_ms is None else [forth, (self.target, self.source)]

    @property
    def link(self) -> Link:
        """What happens to packets in this direction."""
        delay_ms = self.one_way_ms or (self.rtt_ms or 0.0) / 2
        return Link(delay_ms, self.jitter_ms, self.loss, self.bandwidth_mbit or 0.0)


class Layout(Table):
    """A ``[[layout]]``: delays that are added to a network that has next to none.

    ``all_ms`` comes first, ``path`` overrides it, and ``egress_ms`` is added to both.
    """

    name: FileName = Field(description="as grids and the data name it")
    title: str = Field("", description="for people")
    all_ms: Milliseconds = Field(0.0, description="one way, between any two nodes")
    paths: tuple[Between, ...] = Field((), alias="path", description="single directions or pairs")
    egress_ms: dict[str, Milliseconds] = Field(
        {}, description="by node: added to everything that it sends, as `tc netem` on it does"
    )

    @model_validator(mode="after")
    def _unambiguous(self) -> Self:
        """A simulation keeps what a later path does not give, the rig does not."""
        for position, path in enumerate(self.paths):
            for earlier in self.paths[:position]:
                lost = [key for key in _KEPT if getattr(earlier, key) and not getattr(path, key)]
                if lost and earlier.meets(path):
                    raise ScenarioError(
                        f"path.{position}.{lost[0]}",
                        "is required: an earlier path gives it for the same direction",
                    )
        return self

    def matrix(self, nodes: Sequence[str]) -> DelayMatrix:
        """The delays between the nodes of a cluster."""
        links = {(a, b): Link(self.all_ms) for a in nodes for b in nodes if a != b}
        for path in self.paths:
            for a, b in list(links):
                forth = path.source in {"*", a} and path.target in {"*", b}
                back = path.source in {"*", b} and path.target in {"*", a}
                if forth or (back and path.rtt_ms is not None):
                    links[a, b] = path.link
        for (a, b), link in links.items():
            extra_ms = self.egress_ms.get(a, 0.0)
            links[a, b] = Link(link.delay_ms + extra_ms, link.jitter_ms, link.loss, link.rate_mbit)
        return DelayMatrix(
            tuple(nodes), {pair: link for pair, link in links.items() if not link.plain}
        )

    def names(self) -> set[str]:
        """All nodes that it speaks of."""
        ends = {end for path in self.paths for end in (path.source, path.target)}
        return (ends | self.egress_ms.keys()) - {"*"}

    def settings(self, base_rtt_ms: float) -> dict[str, Any]:
        """The same for a scenario, by path: one holds instead of the round trip without delay."""
        paths: list[dict[str, Any]] = []
        if self.all_ms:
            rtt_ms = round(base_rtt_ms + 2 * self.all_ms, 6)
            paths.append({"from": "*", "to": "*", "rtt_ms": rtt_ms})
        for path in self.paths:
            entry: dict[str, Any] = {"from": path.source, "to": path.target}
            if path.rtt_ms is not None:
                entry["rtt_ms"] = round(base_rtt_ms + path.rtt_ms, 6)
            else:
                entry["one_way_ms"] = round(base_rtt_ms / 2 + (path.one_way_ms or 0.0), 6)
            if path.jitter_ms:
                entry["jitter"] = {"kind": "uniform", "sd_ms": path.jitter_ms}
            if path.loss:
                entry["loss"] = path.loss
            if path.bandwidth_mbit is not None:
                entry["bandwidth_mbit"] = path.bandwidth_mbit
            paths.append(entry)
        egress = [{"node": n, "delay_ms": float(d)} for n, d in self.egress_ms.items() if d]
        return {"network.path": paths, "network.egress": egress}
