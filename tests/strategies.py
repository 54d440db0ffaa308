"""Hypothesis strategies: small scenarios of any kind, as the mapping that a file would hold."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

__all__ = ["galera_options", "networks", "scenarios", "workloads"]

_delay_ms = st.floats(0.0, 60.0).map(lambda value: round(value, 3))


@st.composite
def networks(draw: st.DrawFn, names: list[str]) -> dict[str, Any]:
    """A delay of its own for every direction, some jitter, some egress delays."""
    network: dict[str, Any] = {
        "path": [
            {"from": source, "to": target, "one_way_ms": draw(_delay_ms)}
            for source in names
            for target in names
            if source != target
        ]
    }
    kind = draw(st.sampled_from([None, "normal", "exponential", "gamma"]))
    if kind is not None:
        network["jitter"] = {"kind": kind, "mean_ms": 0.5, "sd_ms": 0.3}
    if draw(st.booleans()):
        slow = draw(st.sampled_from(names))
        network["egress"] = [{"node": slow, "delay_ms": draw(_delay_ms)}]
    if draw(st.booleans()):
        network["bandwidth_mbit"] = draw(st.sampled_from([10, 100, 1000]))
    return network


@st.composite
def galera_options(draw: st.DrawFn) -> dict[str, Any]:
    """Windows, flow control and appliers, tight ones too."""
    window = draw(st.sampled_from([1, 2, 4, 10, 512]))
    return {
        "evs.send_window": window,
        "evs.user_send_window": min(window, draw(st.sampled_from([1, 2, 4, 512]))),
        "evs.use_aggregate": draw(st.booleans()),
        "gcs.fc_limit": draw(st.sampled_from([1, 4, 16, 100])),
        "gcs.fc_factor": draw(st.sampled_from([0.5, 1.0])),
        "wsrep_slave_threads": draw(st.integers(1, 8)),
        "wsrep_retry_autocommit": draw(st.integers(0, 2)),
        "innodb_flush_log_at_trx_commit": draw(st.integers(0, 2)),
        "commit_monitor_through_flush": draw(st.booleans()),
    }


@st.composite
def workloads(draw: st.DrawFn, names: list[str]) -> dict[str, Any]:
    """A few clients on any of the nodes; about half of the workloads conflict."""
    hot = st.fixed_dictionaries(
        {"distribution": st.just("hot"), "rows": st.just(20), "hot_rows": st.integers(1, 5)}
    )
    uniform = st.fixed_dictionaries(
        {"distribution": st.just("uniform"), "rows": st.integers(4, 1000)}
    )
    classes = []
    for position in range(draw(st.integers(1, 2))):
        statements = draw(st.integers(1, 3))
        classes.append(
            {
                "name": f"class{position}",
                "statements": statements,
                "rows": draw(st.integers(1, 3)),
                "row_bytes": draw(st.sampled_from([50, 300, 40_000])),
                "reads": draw(st.integers(0, 1)),
                "primary_key": draw(st.booleans()),
                "keys": draw(st.one_of(st.just({"distribution": "fresh"}), hot, uniform)),
            }
        )
    return {
        "threads": draw(st.integers(1, 6)),
        "transactions_per_client": draw(st.integers(1, 6)),
        "nodes": draw(st.lists(st.sampled_from(names), min_size=1, unique=True)),
        "retry": draw(st.booleans()),
        "class": classes,
    }


@st.composite
def scenarios(draw: st.DrawFn, most_nodes: int = 5) -> dict[str, Any]:
    """A Galera cluster of 2 to ``most_nodes`` nodes with a fixed number of transactions."""
    names = [f"n{position + 1}" for position in range(draw(st.integers(2, most_nodes)))]
    return {
        "cluster": {
            "model": "galera",
            "nodes": names,
            "shared_host": draw(st.booleans()),
            "machine": {"cores": draw(st.integers(1, 4))},
            "options": draw(galera_options()),
        },
        "node": [{"name": name, "segment": draw(st.integers(0, 1))} for name in names],
        "network": draw(networks(names)),
        "workload": draw(workloads(names)),
        "run": {"seed": draw(st.integers(0, 1000)), "limit_s": 3600.0},
    }
