"""Round trips between hosts, as ``ping`` sees them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from simrep.rig.engine import Host, RoundTrip
from simrep.rig.errors import RigError

__all__ = ["all_pairs", "ping_command", "read_ping"]

INTERVAL_S = 0.02
SUMMARY = re.compile(r"= ([\d.]+)/([\d.]+)/([\d.]+)/([\d.]+) ms")


def ping_command(address: str, count: int, interval_s: float) -> list[str]:
    """The command line."""
    return ["ping", "-q", "-n", "-c", str(count), "-i", f"{interval_s:g}", address]


def read_ping(text: str) -> RoundTrip:
    """The summary that it ends with."""
    found = SUMMARY.search(text)
    if found is None:
        raise RigError(f"ping got no answer: {text.strip()[-300:]}")
    least, mean, most, deviation = (float(figure) for figure in found.groups())
    return RoundTrip(least, mean, most, deviation)


def all_pairs(hosts: Sequence[Host], count: int) -> dict[tuple[str, str], RoundTrip]:
    """Round trips between any two hosts."""
    return {
        (a.name, b.name): a.ping(b.address, count=count, interval_s=INTERVAL_S)
        for a, b in combinations(hosts, 2)
    }
