"""Random machines and networks, and servers that come and go."""

from __future__ import annotations

from tests.golden.random_draw import Draw, Table

__all__ = ["changes", "machines", "network"]

SITES = {
    "aws-2017": ("california", "frankfurt", "ireland", "oregon", "tokyo", "virginia"),
    "ibm-2024": ("dallas", "frankfurt", "london", "washington"),
}


def _traits(draw: Draw) -> Table:
    traits = {
        "cores": draw.pick((1, 1, 2, 3, 4, 8, 32)),
        "slice_ms": draw.pick((0.05, 0.5, 3.0)),
        "spin_ms": draw.pick((0.1, 1.0, 10.0)),
        "wakeup_us": draw.pick((5.0, 60.0)),
        "parallel_syncs": draw.pick((1, 1, 2)),
    }
    kept = {name: value for name, value in traits.items() if draw.chance(0.2)}
    if "cores" not in kept and draw.chance(0.4):
        kept["cores"] = draw.whole(1, 4)
    rare = {
        "cold_factor": draw.real(1.0, 3.0, 2),
        "cold_after_ms": draw.pick((0.2, 2.0)),
        "variation": draw.pick((0.1, 0.5, 1.0)),
    }
    rare = {name: value for name, value in rare.items() if draw.chance(0.15)}
    return kept if draw.portable else kept | rare


def machines(draw: Draw, given: Table, nodes: list[Table]) -> None:
    """Machines of their own, one for all, or named hosts."""
    cluster = given["cluster"]
    if draw.chance(0.7) and (traits := _traits(draw)):
        cluster["machine"] = traits
    if draw.chance(0.25):
        cluster["shared_host"] = True
    elif draw.chance(0.25):
        hosts = [f"host{position}" for position in range(draw.whole(1, 2))]
        for node in nodes:
            if draw.chance(0.6):
                node["host"] = draw.pick(hosts)
        used = [name for name in hosts if any(node.get("host") == name for node in nodes)]
        if used:
            given["host"] = [{"name": name, **_traits(draw)} for name in used]
    if draw.model == "galera" and draw.chance(0.2):
        for node in nodes:
            node["segment"] = draw.whole(0, 1)


def changes(draw: Draw, cluster: Table) -> None:
    """One or two servers go, and most of them come back."""
    found: list[Table] = []
    for name in draw.subset(draw.names[: draw.whole(1, 2)]):
        at_s = draw.real(0.1, 0.6)
        found.append({"at_s": at_s, "node": name, "what": draw.pick(("crash", "leave"))})
        if draw.chance(0.75):
            back: Table = {"at_s": round(at_s + draw.real(0.05, 1.0), 3), "node": name}
            back["what"] = "join"
            if draw.chance(0.7):
                back["transfer_s"] = draw.real(0.0, 0.4)
            found.append(back)
    cluster["change"] = found
    draw.timed = True


def _jitter(draw: Draw) -> Table:
    scale = max(draw.hop_ms, 0.05)
    kind = draw.pick(("uniform", "empirical"))
    if not draw.portable:
        kinds = ("normal", "uniform", "lognormal", "gamma", "exponential", "empirical")
        kind = draw.pick(kinds)
    if kind == "empirical":
        return {"kind": kind, "samples_ms": [draw.real(0, scale) for _ in range(4)]}
    jitter: Table = {"kind": kind, "mean_ms": max(draw.real(0, scale), 0.001)}
    if kind != "exponential":
        jitter["sd_ms"] = max(draw.real(0.01, 0.6 * scale), 0.001)
    return jitter


def network(draw: Draw, nodes: list[Table]) -> Table:
    draw.hop_ms = draw.pick((0.0, 0.02, 0.1, 0.25, 0.5, 2.0, 8.0, 30.0))
    found: Table = {}
    if draw.chance(0.85):
        found["rtt_ms"] = round(2 * draw.hop_ms, 3)
    if draw.chance(0.3):
        found["path"] = [
            {"from": source, "to": target, "one_way_ms": draw.real(0, 2 * draw.hop_ms)}
            for source in draw.names
            for target in draw.names
            if source != target
        ]
    elif draw.chance(0.2):
        path: Table = {"from": draw.pick(("*", *draw.names)), "to": draw.pick(draw.names)}
        traits: Table = {
            "rtt_ms": draw.real(0, 4 * draw.hop_ms),
            "bandwidth_mbit": draw.pick((20, 200)),
            "jitter": _jitter(draw),
        }
        chosen = draw.subset(list(traits))
        found["path"] = [path | {name: traits[name] for name in chosen}]
    elif draw.chance(0.08):
        draw.hop_ms = 40.0
        found["preset"] = preset = draw.pick(list(SITES))
        for node in nodes:
            node["site"] = draw.pick(SITES[preset])
    if draw.chance(0.3):
        found["jitter"] = _jitter(draw)
    if draw.chance(0.25):
        egress: Table = {"node": draw.pick(draw.names), "delay_ms": draw.real(0, draw.hop_ms + 1)}
        if draw.chance(0.3):
            egress["jitter"] = _jitter(draw)
        found["egress"] = [egress]
    if draw.chance(0.25):
        found["bandwidth_mbit"] = draw.pick((10, 100, 1000))
    if draw.chance(0.06) and not draw.portable:
        draw.lossy = True
        found["loss"] = draw.pick((0.001, 0.02))
    if draw.chance(0.1):
        found["tcp"] = {"window_limit_bytes": draw.pick((3000, 65_536))}
    if draw.chance(0.1):
        draw.timed = True
        from_s = draw.real(0, 0.1)
        found["outage"] = [
            {
                "node": draw.pick(draw.names),
                "direction": draw.pick(("both", "out", "in")),
                "from_s": from_s,
                "to_s": round(from_s + draw.pick((0.004, 0.05, 0.4)), 3),
            }
        ]
    return found
