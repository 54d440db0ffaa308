"""One matrix of one-way delays, which pings are compared with, and ``tc netem`` made of it.

Where the kernel has netem, every late receiver has a band of ``prio``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

from simrep.errors import nearest
from simrep.rig.errors import RigError

__all__ = ["DelayMatrix", "Link", "Pair", "netem_commands", "netem_probe", "netem_removal"]

QUEUE_PACKETS = 100_000  # netem drops beyond its limit, 1000 by default: too few at 50 ms
MOST_BANDS = 16
ORDERLY_KBIT = 100_000_000  # with a rate, 100 Gbit/s here, jitter does not change packets' order

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
        Probability of a packet's loss; 1 is a link that is cut.
    rate_mbit : float
        Megabits per second; 0 means without limit.
    relayed : bool
        Packets pass by the relay even if nothing happens to them yet: a link that is cut later does
        not change its way then.
    """

    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    loss: float = 0.0
    rate_mbit: float = 0.0
    relayed: bool = False

    def __post_init__(self) -> None:
        figures = (self.delay_ms, self.jitter_ms, self.rate_mbit, self.loss)
        if not all(isfinite(figure) and figure >= 0 for figure in figures) or self.loss > 1:
            raise RigError(f"a link needs figures of 0 and above and a loss up to 1, given {self}")
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

    def link(self, sender: str, receiver: str) -> Link:
        """What happens to packets from one to the other."""
        return self.links.get((sender, receiver), Link())

    def round_trip_ms(self, a: str, b: str) -> float:
        """Added delay there and back."""
        return self.link(a, b).delay_ms + self.link(b, a).delay_ms

    def leaving(self, sender: str) -> Iterator[tuple[str, Link]]:
        """Receivers that the sender's packets reach late, with their links."""
        for receiver in self.nodes:
            link = self.link(sender, receiver)
            if not link.plain:
                yield receiver, link


def netem_probe(device: str) -> list[list[str]]:
    """Commands that succeed where netem can be used; the last one leaves the device as it was."""
    root = ["tc", "qdisc", "add", "dev", device, "root", "netem", "delay", "1ms"]
    return [root, netem_removal(device)]


def netem_removal(device: str) -> list[str]:
    """The command that takes all delay off a device; it fails if there is none."""
    return ["tc", "qdisc", "del", "dev", device, "root"]


def netem_commands(device: str, receivers: Sequence[tuple[str, Link]]) -> list[list[str]]:
    """Commands that delay what a device sends to each of the given addresses.

    The first band takes all other packets; it is not delayed.
    """
    if not receivers:
        return []
    bands = len(receivers) + 1
    if bands > MOST_BANDS:
        raise ValueError(f"{len(receivers)} late receivers: prio has {MOST_BANDS} bands")
    plain = ["0"] * 16
    add_queue = ["tc", "qdisc", "add", "dev", device, "parent"]
    add_filter = ["tc", "filter", "add", "dev", device, "parent"]
    root = ["tc", "qdisc", "add", "dev", device, "root", "handle", "1:", "prio"]
    commands = [[*root, "bands", str(bands), "priomap", *plain]]
    for band, (address, link) in enumerate(receivers, start=2):
        parent = f"1:{band:x}"
        commands.append([*add_queue, parent, "handle", f"{band + 15:x}:", "netem", *_netem(link)])
        match = ["u32", "match", "ip", "dst", f"{address}/32"]
        commands.append(
            [*add_filter, "1:", "protocol", "ip", "prio", "1", *match, "flowid", parent]
        )
    return commands


def _netem(link: Link) -> list[str]:
    words = ["limit", str(QUEUE_PACKETS)]
    if link.delay_ms or link.jitter_ms:
        words += ["delay", f"{link.delay_ms * 1000:g}us"]
        words += [f"{link.jitter_ms * 1000:g}us"] if link.jitter_ms else []
    if link.loss:
        words += ["loss", f"{link.loss * 100:g}%"]
    rate_kbit = link.rate_mbit * 1000
    if link.jitter_ms and not rate_kbit:
        rate_kbit = ORDERLY_KBIT
    if rate_kbit:
        words += ["rate", f"{rate_kbit:.15g}kbit"]
    return words
