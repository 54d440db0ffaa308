"""One matrix of one-way delays: what every engine is told, and what pings are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Self

from simrep.errors import nearest
from simrep.rig.errors import RigError

__all__ = ["DelayMatrix", "Link"]

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Link:
    """What happens to packets from one node to another.

    Attributes
    ----------
    delay_ms : float
        Added one-way delay.
    jitter_ms : float
        Half width of a uniform jitter, at most the delay; packets never overtake one another.
    loss : float
        Probability of a packet's loss.
    rate_mbit : float
        Megabits per second; 0 means without limit.
    """

    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    loss: float = 0.0
    rate_mbit: float = 0.0

    def __post_init__(self) -> None:
        figures = (self.delay_ms, self.jitter_ms, self.rate_mbit, self.loss)
        if not all(isfinite(figure) and figure >= 0 for figure in figures) or self.loss >= 1:
            raise RigError(f"a link needs figures of 0 and above and a loss below 1, given {self}")
        if self.jitter_ms > self.delay_ms:
            raise RigError(f"jitter cannot make packets early: at most the delay, given {self}")

    @property
    def plain(self) -> bool:
        """Whether nothing happens to packets."""
        return self == Link()


@dataclass(frozen=True, slots=True)
class DelayMatrix:
    """Links that differ from the plain one, by ordered pair of nodes.

    Attributes
    ----------
    nodes : tuple of str
    links : mapping of (sender, receiver) to Link
        Pairs without an entry are not delayed.
    """

    nodes: tuple[str, ...]
    links: Mapping[Pair, Link] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for pair in self.links:
            for name in pair:
                if name not in self.nodes:
                    raise RigError(f"no node {name!r} to delay ({nearest(name, self.nodes)})")
            if pair[0] == pair[1]:
                raise RigError(f"{pair[0]!r} cannot be delayed towards itself")

    @classmethod
    def none(cls, nodes: Iterable[str]) -> Self:
        """No added delay."""
        return cls(tuple(nodes))

    @classmethod
    def egress(cls, nodes: Iterable[str], slow: str, delay_ms: float, jitter_ms: float = 0) -> Self:
        """Everything that one node sends is delayed, as by ``tc netem`` on that node alone."""
        names = tuple(nodes)
        link = Link(delay_ms, jitter_ms)
        if slow not in names:
            raise RigError(f"no node {slow!r} to delay ({nearest(slow, names)})")
        return cls(names, {(slow, other): link for other in names if other != slow})

    def link(self, sender: str, receiver: str) -> Link:
        """What happens to packets from one to the other."""
        return self.links.get((sender, receiver), Link())

    def one_way_ms(self, sender: str, receiver: str) -> float:
        """Added delay of one direction."""
        return self.link(sender, receiver).delay_ms

    def round_trip_ms(self, a: str, b: str) -> float:
        """Added delay there and back."""
        return self.one_way_ms(a, b) + self.one_way_ms(b, a)

    def leaving(self, sender: str) -> Iterator[tuple[str, Link]]:
        """Receivers that the sender's packets reach late, with their links."""
        for receiver in self.nodes:
            link = self.link(sender, receiver)
            if not link.plain:
                yield receiver, link
