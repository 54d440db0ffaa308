"""Closed forms of queueing theory, the oracles of the tests beside this file.

References
----------
L. Kleinrock, Queueing Systems, vol. 1, 1975 (M/M/k: section 3.5; M/G/1: section 5.6).
M. Reiser and S. S. Lavenberg, Mean-value analysis of closed multichain queuing networks,
J. ACM 27(2), 1980, doi:10.1145/322186.322195.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["erlang_c", "mm_wait_s", "mva", "pollaczek_khinchine_wait_s"]


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
