"""Mean times at one station, of arrivals from outside and of customers who come back."""

from __future__ import annotations

from math import exp, expm1, inf, log

__all__ = ["closed_station_s", "open_release_s", "open_station_s"]

_GROUPS = 300
_RARE = 1e-9


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


def closed_station_s(
    customers: int, away_s: float, service_s: float, servers: float, variation: float = 1.0
) -> float:
    """Mean time at a station with waiting, of customers that are away between two visits.

    With exponential service exact (the machine repairman, M/M/c//N), however long they are away.
    For other service times the wait is scaled as in M/G/c, and never below what the load alone
    brings about: so many customers cannot pass faster than the servers work.

    Parameters
    ----------
    customers : int
        At least 1.
    away_s : float
        Mean time from the end of a visit to the next, in seconds.
    service_s : float
        Mean service time in seconds.
    servers : float
        What the station can work on at a time; not whole where others take a part of it.
    variation : float
        Coefficient of variation of the service time.

    References
    ----------
    L. Kleinrock, Queueing Systems, vol. 1, 1975, section 3.8. A. O. Allen, Probability,
    Statistics, and Queueing Theory, 2nd edition 1990, section 5.3 (the scaling of the wait).
    """
    if service_s <= 0.0:
        return 0.0
    least = max(service_s, customers * service_s / servers - away_s)
    if away_s <= 0.0:
        return max(least, customers * service_s / min(customers, servers))
    # Logarithms of the probabilities of n at the station, up to a constant.
    logs = [0.0]
    for present in range(1, customers + 1):
        rate = min(present, servers) / service_s
        logs.append(logs[-1] + log((customers - present + 1) / (away_s * rate)))
    top = max(logs)
    weights = [exp(value - top) for value in logs]
    total = sum(weights)
    throughput = sum(
        weight * min(present, servers) / service_s for present, weight in enumerate(weights)
    ) / total  # fmt: skip
    wait_s = (customers / throughput if throughput > 0.0 else inf) - away_s - service_s
    return max(least, service_s + max(0.0, wait_s) * (1.0 + variation**2) / 2.0)


def open_release_s(rate: float, answer_s: float) -> float:
    """Mean wait of Poisson arrivals who go on together when the last of them has its answer.

    A group that holds a lock until its last member is answered lets others gather behind it, whose
    answers are under way meanwhile. Nobody waits less than for the own answer, nor much more than
    one and a half times that.

    Parameters
    ----------
    rate : float
        Arrivals per second.
    answer_s : float
        From an arrival to its own answer.
    """
    if rate <= 0.0 or answer_s <= 0.0:
        return answer_s
    # From the first, who finds nobody, through group after group until one finds nobody behind it.
    arrivals, waits_s = 1.0, answer_s
    hold_s, reached = answer_s, 1.0
    for _ in range(_GROUPS):
        some = -expm1(-rate * hold_s)  # the probability that anybody gathers
        arrivals += reached * rate * hold_s
        # Half of the hold, and the answer of the last, which was under way for a while.
        waits_s += reached * (rate * hold_s * (hold_s / 2.0 + answer_s) - hold_s + some / rate)
        age_s = 1.0 / rate - hold_s * (1.0 - some) / some
        hold_s = answer_s - age_s
        reached *= some
        if reached < _RARE:
            break
    return waits_s / arrivals
