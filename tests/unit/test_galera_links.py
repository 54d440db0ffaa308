"""What happens to the links of a Galera cluster, and what follows for its commits and views."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import simrep


class Run(NamedTuple):
    stall_s: float
    lines: tuple[Any, ...]

    def times(self, what: str, node: str) -> list[float]:
        return [line.at_s for line in self.lines if (line.what, line.node) == (what, node)]


def run(*faults: dict[str, Any], until_s: float, **tables: Any) -> Run:
    content = {
        "cluster": {"model": "galera"},
        "workload": {"threads": 2, "think_time_ms": 100},
        "run": {"warmup_s": 1.0, "duration_s": until_s - 1.0, "replications": 1},
        "fault": list(faults),
    }
    result = simrep.run(content | tables)
    return Run(result.stall_max_s, result.timeline(0).lines)


def cut(node: str, at_s: float, until_s: float, **how: Any) -> dict[str, Any]:
    return {"what": "cut", "node": node, "at_s": at_s, "until_s": until_s} | how


def test_a_cut_of_one_link_costs_the_timeout_of_links_and_no_view():
    done = run(cut("n1", 3.0, 12.0, others=["n2"]), until_s=15.0)
    assert not {line.what for line in done.lines} & {"suspect", "stable"}
    for node in ("n1", "n2"):
        (closed,) = done.times("link-closed", node)
        assert 5.9 <= closed <= 6.6
        (back,) = done.times("link-open", node)
        assert 12.0 <= back <= 14.1
    assert 2.9 <= done.stall_s <= 3.8  # since a sign of life, up to a check, and a round trip


def test_a_node_that_is_cut_off_is_out_and_has_its_links_back_after_the_cut():
    done = run(cut("n3", 3.0, 14.0), until_s=19.0)
    for node in ("n1", "n2"):
        (suspected,) = done.times("suspect", node)
        assert 7.9 <= suspected <= 9.1
        (closed,) = done.times("link-closed", node)
        assert 5.9 <= closed <= 6.6
        (back,) = done.times("link-open", node)
        assert 14.0 <= back <= 16.1
    assert 5.9 <= done.stall_s <= 6.7


def test_in_a_cut_of_less_than_a_second_and_a_half_tcp_repeats():
    done = run(cut("n3", 3.0, 4.2), until_s=7.0)
    assert len(done.lines) == 2  # begin and end
    assert 1.2 <= done.stall_s <= 2.6  # timeouts double, of each direction by itself


def test_after_a_stop_of_less_than_three_seconds_no_link_is_lost():
    pause = {"what": "pause", "node": "n3", "at_s": 3.0, "until_s": 5.9}
    done = run(pause, until_s=8.0)
    assert len(done.lines) == 2
    assert done.stall_s == pytest.approx(2.9, abs=0.2)


@pytest.mark.parametrize(
    ("what", "at_least_s", "at_most_s"), [("power-loss", 2.9, 3.6), ("kill", 0.1, 0.11)]
)
def test_a_machine_without_power_is_lost_by_silence_and_a_killed_process_as_its_kernel_closes(
    what, at_least_s, at_most_s
):
    crash = {"what": what, "node": "n3", "at_s": 3.0}
    cluster = {"model": "galera", "costs": {"exit_ms": 100.0}}
    done = run(crash, until_s=10.0, cluster=cluster)
    for node in ("n1", "n2"):
        (closed,) = done.times("link-closed", node)
        assert at_least_s <= closed - 3.0 <= at_most_s
    assert 5.9 <= done.stall_s <= 6.7


def test_a_short_outage_of_a_relay_of_segments_costs_no_view():
    nodes = [{"name": f"n{i}", "segment": int(i > 2)} for i in range(1, 5)]
    done = run(cut("n4", 3.0, 6.0), until_s=12.0, node=nodes)
    assert not {line.what for line in done.lines} & {"suspect", "stable"}
    assert len(done.times("link-closed", "n1")) == 1
