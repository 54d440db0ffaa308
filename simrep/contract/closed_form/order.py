"""How long a message takes that is ordered: safe delivery, consensus, and what follows it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

__all__ = ["Delays", "consensus_s", "kth_fastest", "safe_order_s", "shortest_s", "slot_order_s"]

Delays = Sequence[Sequence[float]]
"""One-way times by sender and receiver, in seconds; zero to oneself."""


def safe_order_s(delays_s: Delays, origin: int) -> float:
    """From sending a message until it is known at its origin that everybody has it, in seconds.

    The message reaches one member, whose own message reaches another, whose report comes back: the
    longest of these ways, with three members or more the longest cycle of three.
    """
    members = range(len(delays_s))
    return max(
        delays_s[origin][first] + delays_s[first][second] + delays_s[second][origin]
        for first, second in product(members, repeat=2)
    )


def consensus_s(there_s: Delays, back_s: Delays, origin: int) -> float:
    """Until a majority, the origin included, has answered a proposal, in seconds.

    Parameters
    ----------
    there_s, back_s : sequence of sequence of float
        One-way times of the proposal and of the answer.
    origin : int
    """
    size = len(there_s)
    round_trips = [
        there_s[origin][other] + back_s[other][origin] for other in range(size) if other != origin
    ]
    return kth_fastest(round_trips, size // 2) if round_trips else 0.0


def slot_order_s(there_s: Delays, back_s: Delays, origin: int, *, single_leader: bool) -> float:
    """From proposing a message until it is delivered at its origin, in seconds.

    After consensus everybody is told, by the proposer or by the skip of somebody who knows, and
    skips its own earlier slot: the farthest decides. Only a single leader delivers at once.
    """
    agreed_s = consensus_s(there_s, back_s, origin)
    if single_leader:
        return agreed_s
    told_s = shortest_s(there_s, origin)
    return agreed_s + max(
        (
            told_s[other] + there_s[other][origin]
            for other in range(len(there_s))
            if other != origin
        ),
        default=0.0,
    )


def shortest_s(delays_s: Delays, origin: int) -> list[float]:
    """The shortest way from one member to each, over any others, in seconds."""
    told_s = list(delays_s[origin])
    for _ in delays_s:
        told_s = [
            min(direct, *(told_s[by] + delays_s[by][to] for by in range(len(delays_s)) if by != to))
            for to, direct in enumerate(told_s)
        ]
    return told_s


def kth_fastest(seconds: Sequence[float], k: int) -> float:
    """The k-th smallest, counted from 1."""
    return sorted(seconds)[k - 1]
