"""A station with arrivals that do not wait for answers."""

from __future__ import annotations

from math import inf

__all__ = ["open_station_s"]


def open_station_s(rate: float, service_s: float, servers: float, variation: float = 1.0) -> float:
    """Mean time at a station with Poisson arrivals; infinite where it cannot take them.

    M/M/c by Erlang's formula; for other service times the wait is scaled as in M/G/c (exact for
    one server: Pollaczek and Khinchine). A part of a server that others take makes the rest slower.

    Parameters
    ----------
    rate : float
        Arrivals per second.
    service_s : float
        Mean service time in seconds.
    servers : float
        What the station can work on at a time.
    variation : float
        Coefficient of variation of the service time.

    References
    ----------
    L. Kleinrock, Queueing Systems, vol. 1, 1975, section 3.5. A. M. Lee, P. A. Longton, Queueing
    processes associated with airline passenger check-in, Operational Research Quarterly 10 (1959).
    """
    if service_s <= 0.0:
        return 0.0
    load = rate * service_s
    if load >= servers:
        return inf
    whole = max(1, int(servers))
    slower = whole / servers  # 1, or what a fraction of a server is rounded off to
    work = load * slower
    if work >= whole:
        return inf
    blocking = 1.0  # Erlang's loss formula, by its recursion in the number of servers
    for number in range(1, whole + 1):
        blocking = work * blocking / (number + work * blocking)
    waiting = blocking / (1.0 - work / whole * (1.0 - blocking))
    wait_s = waiting * service_s * slower / (whole - work)
    return service_s + wait_s * (1.0 + variation**2) / 2.0
