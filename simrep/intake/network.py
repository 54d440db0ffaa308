"""The round trip between nodes, as far as counters of a server tell it."""

from __future__ import annotations

from simrep.intake.given import Findings, Number
from simrep.intake.product import Product
from simrep.intake.read import Server

__all__ = ["rtt_ms"]

_DEFAULT_MS = 0.1
_EVS_LATENCY = "wsrep_evs_repl_latency"
_WAITS = ("rpl_semi_sync_source_tx_avg_wait_time", "rpl_semi_sync_master_tx_avg_wait_time")
_DIGITS = 3
_STEADY = 0.25
"""Standard deviation relative to the mean up to which the network decides a latency."""


def rtt_ms(server: Server, product: Product, found: Findings, given_ms: float | None) -> float:
    """The round trip in milliseconds.

    Parameters
    ----------
    server : Server
    product : Product
    found : Findings
    given_ms : float or None
        What somebody has measured: counters are not looked at then.

    Notes
    -----
    Galera (``gcomm/src/evs_proto.cpp``, ``validate_reg_msg``): ``wsrep_evs_repl_latency`` is the
    time from sending a message until it is known that all nodes have it, in seconds, over the
    last ``evs.stats_report_period``. That is a round trip with two nodes, and with three and more
    three one-way delays where all are equal. Where the values are near to each other the network
    decides them, and their mean is taken. Else servers that were busy are in the mean, and the
    minimum is taken: it may be a third too small, since keepalives and writesets of other nodes
    that are on their way at the same time acknowledge a message earlier.

    Semi-synchronous replication: the mean wait for an acknowledgement, in microseconds, has the
    work of dump thread and replica in it, too, so it is an upper bound.
    """
    setting = "network.rtt_ms"
    if product.nodes == 1:
        return 0.0
    if given_ms is not None:
        return float(found.told(setting, given_ms, "--rtt-ms"))
    figure = None
    if product.model == "galera":
        figure = _of_evs(server, product.nodes)
    elif product.model == "semisync":
        figure = _of_waits(server)
    if figure is None:
        why = "no counter tells it: ping between the nodes, and --rtt-ms"
        return float(found.default(setting, _DEFAULT_MS, why))
    value, note = figure
    rounded = float(f"{value.value:.{_DIGITS}g}")
    return float(found.read(setting, rounded, value.places, note))


def _of_evs(server: Server, nodes: int) -> tuple[Number, str] | None:
    """The value is ``min/avg/max/stddev/n`` in seconds."""
    given = server.status.after.get(_EVS_LATENCY)
    if given is None:
        return None
    parts = given.value.split("/")
    try:
        least, mean, _, deviation, samples = [float(part) for part in parts]
    except ValueError:
        return None
    if not (samples and least > 0.0):
        return None
    steady = deviation <= _STEADY * mean
    latency_s, which = (mean, "mean") if steady else (least, "least")
    one_way = 2 if nodes == 2 else 3
    note = (
        f"2/{one_way} of the {which} of {samples:g} values of {given.spelling}, "
        f"{1e3 * latency_s:.3g} ms: {one_way} one-way delays with {nodes} nodes"
    )
    return Number(2e3 / one_way * latency_s, (given.place,)), note


def _of_waits(server: Server) -> tuple[Number, str] | None:
    for name in _WAITS:
        wait_us = server.status.latest(name)
        if wait_us is not None and wait_us.value > 0.0:
            spelling = server.status.after[name].spelling
            note = f"{spelling}: upper bound, with the work of dump thread and replica"
            return Number(wait_us.value / 1e3, wait_us.places), note
    return None
