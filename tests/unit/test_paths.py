"""From the network table to the paths between nodes."""

from __future__ import annotations

from typing import Any

import pytest

from simrep.scenario import load
from simrep.scenario.network import paths
from tests.small_scenario import problem, small


def one_way_ms(content: dict[str, Any]) -> dict[str, float]:
    scenario = load(content)
    names = scenario.node_names
    found = paths(scenario.network, scenario.node_tables(), 0.1)
    return {
        names[i] + names[j]: round(path.latency.base_s * 1e3, 9) for (i, j), path in found.items()
    }


def test_half_the_round_trip_in_each_direction() -> None:
    assert set(one_way_ms(small(network={"rtt_ms": 7})).values()) == {3.5}
    assert set(one_way_ms(small()).values()) == {0.05}


def test_later_paths_override_earlier_ones_and_egress_adds() -> None:
    network = {
        "rtt_ms": 2,
        "path": [
            {"rtt_ms": 20},
            {"from": "b", "to": "c", "rtt_ms": 30, "loss": 0.1},
            {"from": "c", "to": "b", "one_way_ms": 1},
        ],
        "egress": [
            {"node": "b", "delay_ms": 100, "loss": 0.5},
            {"node": "b", "delay_ms": 7, "jitter": {"kind": "normal", "sd_ms": 1}},
        ],
    }
    content = small(cluster={"nodes": ["a", "b", "c"]}, network=network)
    assert one_way_ms(content) == {
        "ab": 10, "ac": 10, "ba": 117, "bc": 122, "ca": 10, "cb": 1,
    }  # fmt: skip
    scenario = load(content)
    found = paths(scenario.network, scenario.node_tables(), 0.1)
    assert found[2, 1].loss == 0.1  # an entry with rtt_ms holds in both directions
    assert found[1, 2].loss == pytest.approx(1 - 0.9 * 0.5)
    assert found[1, 0].latency.jitter[0].sd_s == 0.001


def test_units_are_converted_once() -> None:
    network = {"bandwidth_mbit": 8, "tcp": {"minimum_timeout_ms": 300}, "rtt_ms": 100}
    scenario = load(small(network=network))
    path = paths(scenario.network, scenario.node_tables(), 0.0)[0, 1]
    assert path.bytes_per_s == 1e6
    assert path.tcp.minimum_timeout_s == 0.3
    assert path.latency.base_s == 0.05


def sites(*names: str) -> list[dict[str, str]]:
    return [{"name": f"n{i + 1}", "site": name} for i, name in enumerate(names)]


def test_presets_give_round_trips_between_sites() -> None:
    content = small(
        network={"preset": "aws-2017", "rtt_ms": 0.5},
        node=sites("virginia", "virginia", "tokyo"),
    )
    assert one_way_ms(content) == {
        "n1n2": 0.25, "n2n1": 0.25, "n1n3": 72.5, "n2n3": 72.5, "n3n1": 72.5, "n3n2": 72.5,
    }  # fmt: skip
    # Each direction is half of what was measured from its end.
    content["node"] = sites("virginia", "oregon", "sao-paulo")
    assert one_way_ms(content)["n1n2"] == 43.5
    assert one_way_ms(content)["n2n1"] == 44.35
    assert one_way_ms(content)["n3n1"] == one_way_ms(content)["n1n3"] == 60


def test_a_pair_that_nobody_measured_must_be_given() -> None:
    content = small(network={"preset": "ibm-2024"}, node=sites("osaka", "madrid", "madrid"))
    assert "no figure from 'osaka' to 'madrid'" in str(problem(content))
    content["network"]["path"] = [{"from": "osaka", "to": "madrid", "rtt_ms": 240}]
    assert one_way_ms(content)["n3n1"] == 120
    content["node"] = sites("osaka", "osaka", "madird")
    assert "did you mean 'madrid'?" in str(problem(content | {"network": {"preset": "ibm-2024"}}))
