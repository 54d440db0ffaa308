"""One station of a closed network: customers who are away for a while, and come back."""

from __future__ import annotations

from math import exp, inf, log

__all__ = ["closed_station_s"]


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
