"""Random valid scenarios of every model: those of tests/golden, and what came later on top."""

from __future__ import annotations

from typing import Any

from tests.golden.random_draw import Draw, Table
from tests.golden.random_scenarios import MODELS, scenario

__all__ = ["MODELS", "drawn"]

FIRST = 1000  # those before are kept with their results in tests/golden
TOKENS = ("slow", "pause", "disk-stall")
WORDS = ("kill", "power-loss", "leave", "cut", "loss", "jitter")


def drawn(model: str, number: int) -> dict[str, Any]:
    """The scenario of a model that bears a number."""
    content = scenario(model, FIRST + number)
    draw = Draw(f"{model}+", number)
    draw.names = _names(content)
    _faults(draw, content)
    more = Draw(f"{model}+links", number)
    more.names = draw.names
    _troubles(more, content)
    _traits(draw, content)
    _mixes(draw, content)
    _sysbench(draw, content["workload"])
    _variation(draw, content)
    _clients(Draw(f"{model}+clients", number), content)
    _proxy(Draw(f"{model}+proxy", number), content)
    return content


def _proxy(draw: Draw, content: Table) -> None:
    """A proxy between clients and servers."""
    if not draw.chance(0.15):
        return
    likes = ("haproxy", "haproxy-operator", "proxysql", "maxscale", "mysql-router")
    proxy: Table = {"like": draw.pick(likes)}
    if draw.chance(0.5):
        proxy["check_s"] = draw.pick((0.01, 0.1, 2.0))
    for key in ("split", "redispatch", "fail_back", "donors"):
        if draw.chance(0.3):
            proxy[key] = draw.chance(0.5)
    if draw.chance(0.3):
        proxy |= {"writers": "all", "on_fail_back": "close", "on_marked_down": "close"}
    if draw.chance(0.3) and not content["workload"].get("client_rtt_ms"):
        proxy["beside"] = draw.pick(_names(content))
    if draw.chance(0.3):
        proxy["max_queue"] = draw.whole(0, 5)
    content["proxy"] = proxy


def _names(content: Table) -> list[str]:
    nodes = content["cluster"]["nodes"]
    return [f"n{position + 1}" for position in range(nodes)] if isinstance(nodes, int) else nodes


def _faults(draw: Draw, content: Table) -> None:
    """Something goes wrong at a node."""
    if not draw.chance(0.15) or content["run"].get("warmup"):
        return
    at_s = draw.real(0, 0.1)
    fault: Table = {"at_s": at_s, "node": draw.pick(draw.names), "what": draw.pick(TOKENS)}
    fault["until_s"] = round(at_s + draw.pick((0.005, 0.05, 0.2)), 3)
    if fault["what"] == "slow":
        fault[draw.pick(("cpu_factor", "fsync_factor"))] = draw.real(1.5, 20, 1)
    content["fault"] = [fault]


def _troubles(draw: Draw, content: Table) -> None:
    """A server that goes and comes back, or links that are cut, lose segments or vary."""
    if not draw.chance(0.2) or content["run"].get("warmup") or "change" in content["cluster"]:
        return
    node, at_s = draw.pick(draw.names), draw.real(0, 0.1)
    fault: Table = {"at_s": at_s, "node": node, "what": draw.pick(WORDS)}
    faults = content.setdefault("fault", [])
    faults.append(fault)
    until_s = round(at_s + draw.pick((0.01, 0.1, 4.0)), 3)
    if fault["what"] in {"kill", "power-loss", "leave"}:
        if draw.chance(0.7):
            faults.append({"at_s": until_s, "node": node, "what": "restart", "name": "back"})
        return
    if draw.chance(0.8):
        fault["until_s"] = until_s
    if draw.chance(0.5):
        fault["direction"] = draw.pick(("in", "out", "both"))
    if fault["what"] == "loss":
        fault["loss"] = draw.real(0.01, 0.5)
    if fault["what"] == "jitter":
        fault["jitter"] = {"kind": "uniform", "mean_ms": draw.real(0, 5), "sd_ms": 1.0}


def _traits(draw: Draw, content: Table) -> None:
    """A node of its own kind."""
    if not draw.chance(0.12) or content["cluster"].get("shared_host") or "host" in content:
        return
    name = draw.pick(draw.names)
    nodes = {node["name"]: node for node in content.setdefault("node", [])}
    node = nodes.setdefault(name, {"name": name})
    node[draw.pick(("cpu_factor", "fsync_factor"))] = draw.real(0.3, 6, 1)
    if draw.chance(0.5):
        node["costs"] = {"fsync_us": draw.pick((0.0, 2000.0))}
    content["node"] = list(nodes.values())


def _mixes(draw: Draw, content: Table) -> None:
    """Groups with a mix of their own."""
    workload = content["workload"]
    classes = [one.get("name", "write") for one in workload.get("class", [])]
    if len(classes) < 2 or "group" not in workload:
        return
    for group in workload["group"]:
        if draw.chance(0.5):
            group["class"] = draw.subset(classes)


def _sysbench(draw: Draw, workload: Table) -> None:
    """Words of sysbench instead of what the preset says."""
    preset = workload.get("preset", "")
    if not preset.startswith("sysbench") or draw.chance(0.4):
        return
    words: Table = {}
    if preset != "sysbench-oltp-insert":
        words["rand_type"] = draw.pick(("uniform", "gaussian", "special", "pareto", "zipfian"))
        words["table_size"] = draw.pick((100, 10_000))
    words["tables"] = draw.whole(1, 4)
    if preset == "sysbench-oltp-read-write":
        words |= {"range_selects": False, "point_selects": draw.whole(0, 3)}
    workload["sysbench"] = words


def _clients(draw: Draw, content: Table) -> None:
    """Clients that give up, wait, or turn to another node."""
    if not draw.chance(0.3):
        return
    policy: Table = {"retry_pause_s": draw.pick((0.001, 0.02, 1.0))}
    if draw.chance(0.5):
        policy["read_timeout_s"] = draw.real(0.001, 0.1)
    if draw.chance(0.3):
        policy["connect_timeout_s"] = draw.real(0.001, 0.1)
    if content["cluster"]["model"] == "galera" and draw.chance(0.5):
        policy["on_error"] = "next"
    content["workload"]["clients"] = policy


def _variation(draw: Draw, content: Table) -> None:
    """Load that changes: phases instead of a number, a wave or a burst on top of it."""
    workload, run = content["workload"], content["run"]
    length_s = run.get("duration_s", 0.0)
    many = [name for name in ("rate_tps", "threads") if name in workload]
    if not draw.chance(0.3) or not length_s or not many or "warmup" in run:
        return
    name = many[0]
    middle_s = round(0.5 * length_s, 4)
    kind = draw.pick(("phases", "wave", "burst"))
    if kind == "phases":
        level = workload.pop(name)
        workload["variation"] = {
            "phase": [
                {"at_s": 0, name: level},
                {
                    "at_s": middle_s,
                    name: level * draw.pick((0, 1, 2)),
                    "ramp_s": draw.pick((0, 0.01)),
                },
            ]
        }
    elif kind == "wave":
        workload["variation"] = {"wave": {"period_s": max(0.01, middle_s), "amplitude": 0.7}}
    else:
        burst = {"at_s": middle_s, "for_s": draw.pick((0.005, 0.05)), "factor": draw.pick((0, 3))}
        workload["variation"] = {"burst": [burst]}
