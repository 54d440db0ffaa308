"""Closed forms of queueing theory and of ordering, the oracles of the tests beside this file.

References
----------
L. Kleinrock, Queueing Systems, vol. 1, 1975 (M/M/k: section 3.5; M/G/1: section 5.6).
M. Reiser and S. S. Lavenberg, Mean-value analysis of closed multichain queuing networks,
J. ACM 27(2), 1980, doi:10.1145/322186.322195.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "consensus_s",
    "erlang_c",
    "longest_triangle_s",
    "mm_wait_s",
    "mva",
    "pollaczek_khinchine_wait_s",
    "safe_delivery_s",
    "safe_message_copies",
    "shortest_paths",
    "slot_delivery_s",
    "slot_message_copies",
    "window_throughput",
]


def erlang_c(servers: int, load: float) -> float:
    """Probability that an arrival at M/M/k must wait, for an offered load in erlangs."""
    blocking = 1.0  # Erlang B by its recursion in the number of servers
    for k in range(1, servers + 1):
        blocking = load * blocking / (k + load * blocking)
    return blocking / (1.0 - load / servers * (1.0 - blocking))


def mm_wait_s(servers: int, rate: float, service_s: float) -> float:
    """Mean time in the queue of M/M/k in seconds."""
    load = rate * service_s
    return erlang_c(servers, load) * service_s / (servers - load)


def pollaczek_khinchine_wait_s(rate: float, mean_s: float, second_moment_s2: float) -> float:
    """Mean time in the queue of M/G/1 in seconds."""
    return rate * second_moment_s2 / (2.0 * (1.0 - rate * mean_s))


def mva(
    demands_s: Sequence[float], think_s: float, customers: int
) -> tuple[float, float, list[float]]:
    """Exact mean value analysis of a closed network of single servers and a think time.

    Parameters
    ----------
    demands_s : sequence of float
        Mean service demand per cycle at each station, in seconds.
    think_s : float
        Mean think time in seconds.
    customers : int

    Returns
    -------
    throughput : float
        Cycles per second.
    response_s : float
        Mean time from the end of thinking to its next beginning, in seconds.
    lengths : list of float
        Mean number of customers at each station.
    """
    lengths = [0.0] * len(demands_s)
    throughput = response_s = 0.0
    for population in range(1, customers + 1):
        times = [demand * (1.0 + length) for demand, length in zip(demands_s, lengths, strict=True)]
        response_s = sum(times)
        throughput = population / (think_s + response_s)
        lengths = [throughput * time for time in times]
    return throughput, response_s, lengths


def shortest_paths(delays_s: Sequence[Sequence[float]]) -> list[list[float]]:
    """The largest delays below the given ones that obey the triangle inequality."""
    nodes = range(len(delays_s))
    best = [list(row) for row in delays_s]
    for via in nodes:
        for i in nodes:
            for j in nodes:
                best[i][j] = min(best[i][j], best[i][via] + best[via][j])
    return best


def longest_triangle_s(delays_s: Sequence[Sequence[float]], origin: int) -> float:
    """How long an isolated safe message takes to be delivered where it was sent, in seconds.

    With three members or more the longest cycle through the origin and two others, and with two
    the round trip, of delays that obey the triangle inequality.
    """
    others = [i for i in range(len(delays_s)) if i != origin]
    if len(others) == 1:
        other = others[0]
        return delays_s[origin][other] + delays_s[other][origin]
    return max(
        delays_s[origin][x] + delays_s[x][y] + delays_s[y][origin]
        for x in others
        for y in others
        if x != y
    )


def safe_delivery_s(delays_s: Sequence[Sequence[float]], origin: int, member: int) -> float:
    """How long an isolated safe message takes to be delivered at any member, in seconds.

    The message reaches x, whose completion reaches y, whose report that it has everything reaches
    the member: the longest of these walks, on which the origin and the member are an x and a y
    too.
    """
    nodes = range(len(delays_s))
    return max(
        delays_s[origin][x] + delays_s[x][y] + delays_s[y][member] for x in nodes for y in nodes
    )


def safe_message_copies(size: int) -> int:
    """Unicast messages that an isolated safe message costs in a group of ``size`` members.

    Every member sends a message that covers the number, and everybody acknowledges it: two
    broadcasts each. Of two members, the second acknowledges by its completion.
    """
    return 3 if size == 2 else 2 * size * (size - 1)


def consensus_s(delays_s: Sequence[Sequence[float]], origin: int) -> float:
    """How long a proposal takes to be accepted by a majority, its proposer included, in seconds.

    The round trip to the floor(n/2)-th nearest of the n - 1 others.
    """
    others = [i for i in range(len(delays_s)) if i != origin]
    round_trips = sorted(delays_s[origin][i] + delays_s[i][origin] for i in others)
    return round_trips[len(delays_s) // 2 - 1]


def _shortest_s(delays_s: Sequence[Sequence[float]], origin: int) -> list[float]:
    """The shortest way to each member, over any others."""
    nodes = range(len(delays_s))
    found = list(delays_s[origin])
    found[origin] = 0.0
    for _ in nodes:
        found = [
            min(found[x], *(found[y] + delays_s[y][x] for y in nodes if y != x)) for x in nodes
        ]
    return found


def slot_delivery_s(
    delays_s: Sequence[Sequence[float]], origin: int, member: int, *, single_leader: bool = False
) -> float:
    """How long an isolated proposal takes to be delivered at a member, in seconds.

    After consensus the learn message reaches the member and, with several leaders, the skip
    messages of all others do. These skip when they know of the decision, by the learn message or by
    the skip of somebody who knows: after the shortest way. With a single leader, which the
    origin is, nobody skips.
    """
    nodes = range(len(delays_s))
    known = _shortest_s(delays_s, origin)
    learned = (
        0.0 if single_leader else max(known[x] + delays_s[x][member] for x in nodes if x != origin)
    )
    return consensus_s(delays_s, origin) + max(learned, delays_s[origin][member])


def slot_message_copies(size: int, *, single_leader: bool = False) -> int:
    """Unicast messages that an isolated proposal costs in a group of ``size`` members.

    Accept, its acknowledgement and learn for each of the others; with several leaders, a skip
    from each of them to everybody.
    """
    others = size - 1
    return 3 * others if single_leader else others * (size + 2)


def window_throughput(window: int, delivery_s: float) -> float:
    """Messages per second of a sender that always has the window full of unaggregated messages."""
    return window / delivery_s
