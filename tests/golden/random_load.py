"""Random loads, and how long they are simulated."""

from __future__ import annotations

from tests.golden.random_draw import FRAGMENTS, Draw, Table

__all__ = ["load"]

SOURCE_REPLICA = ("semisync", "asynchronous")


def _keys(draw: Draw, rows: int) -> Table:
    kind = draw.pick(("fresh", "hot", "hot", "uniform", "uniform", "scan", "zipf"))
    if draw.portable and kind == "zipf":
        kind = "uniform"
    if kind == "fresh":
        return {"distribution": kind}
    total = rows + draw.pick((1, 10, 100, 10_000))
    keys: Table = {"distribution": kind, "rows": total}
    if kind == "hot":
        keys |= {"hot_rows": draw.whole(1, min(total, 10)), "hot_fraction": draw.real(0.1, 1, 2)}
    if kind == "zipf":
        keys["exponent"] = draw.pick((0.0, 0.8, 1.3))
    return keys


def _kind(draw: Draw, name: str, *, large: bool = False) -> Table:
    """A class of transactions, or the content of a scheduled one."""
    rows = draw.pick((1, 1, 1, 2, 3, 10))
    if large:
        rows = draw.pick((20, 200, 1000))
        if draw.chance(0.07):
            rows = draw.pick((10_500, 21_000))
    kind: Table = {"name": name, "rows": rows}
    if rows > 1000 or (large and draw.chance(0.25)):
        return kind | {"load_data": True, "row_bytes": draw.pick((20, 60))}
    if draw.chance(0.3):
        kind["statements"] = draw.whole(1, 4)
    if draw.chance(0.5):
        kind["row_bytes"] = draw.pick(
            (1, 50, 300, 2000) if large else (50, 300, 2000, 30_000 // rows)
        )
    if draw.chance(0.1):
        kind["statement_bytes"] = draw.pick((0, 60, 4000))
    if draw.chance(0.25):
        kind["reads"] = draw.whole(1, 3)
    if draw.chance(0.08):
        kind |= {"range_reads": draw.whole(1, 2), "range_rows": draw.pick((5, 100))}
    if draw.chance(0.12):
        kind["primary_key"] = False
    if draw.chance(0.65):
        kind["keys"] = _keys(draw, rows)
    if draw.chance(0.15):
        kind["table"] = draw.pick(("t1", "t2"))
    alone = kind.get("statements", 1) + kind.get("reads", 0) + kind.get("range_reads", 0) == 1
    if alone and draw.chance(0.25):
        kind["autocommit"] = draw.chance(0.3)
    if not alone and draw.chance(0.15):
        kind["pause_ms"] = draw.pick((0.2, 3.0))
    if draw.streaming and draw.chance(0.12):
        unit, size = draw.pick(FRAGMENTS)
        kind["session"] = {"wsrep_trx_fragment_unit": unit, "wsrep_trx_fragment_size": size}
    if draw.streaming and not kind.get("autocommit") and draw.chance(0.07):
        kind["xa_hold_ms"] = draw.pick((0.0, 1.0, 20.0))
    return kind


def _read_only(draw: Draw, name: str) -> Table:
    return {"name": name, "statements": 0, "reads": draw.whole(1, 3)}


def _mix(draw: Draw) -> Table:
    """What transactions do, and where."""
    mix: Table = {}
    if draw.chance(0.15):
        presets = ["mysqlslap-insert", "sysbench-oltp-insert", "sysbench-oltp-update-index"]
        mix["preset"] = draw.pick([*presets, "sysbench-oltp-read-write"])
    elif draw.chance(0.05):
        mix["class"] = [_read_only(draw, "read")]
        mix["nodes"] = draw.pick((["*"], draw.subset(draw.names)))
    else:
        classes = [_kind(draw, f"class{position}") for position in range(draw.pick((1, 1, 2, 3)))]
        if draw.chance(0.1):
            classes.append(_read_only(draw, "read"))
        for one in classes:
            if draw.chance(0.3):
                one["weight"] = draw.real(0.2, 3)
        mix["class"] = classes
    if "nodes" not in mix and draw.chance(0.8 if draw.anywhere else 0.015):
        mix["nodes"] = draw.pick((["*"], ["*"], draw.subset(draw.names)))
    if draw.chance(0.4) and not draw.tight:
        mix["retry"] = True
    if draw.chance(0.12):
        mix["client"] = "own"
        if draw.chance(0.6):
            mix["client_rtt_ms"] = draw.pick((0.1, 2.0))
    return mix


def _scheduled(draw: Draw, most_s: float) -> list[Table]:
    found = []
    for position in range(draw.pick((1, 1, 2))):
        one = _kind(draw, f"large{position}", large=True)
        one["at_s"] = draw.real(0, most_s)
        if draw.anywhere and draw.chance(0.5):
            one["node"] = draw.pick(draw.names)
        found.append(one)
    return found


def _lap_s(draw: Draw, mix: Table) -> float:
    """About how long a transaction takes."""
    statements, pause_ms = 15 if "preset" in mix else 1, 0.0
    for one in mix.get("class", []):
        number = one.get("statements", 1) + one.get("reads", 0) + one.get("range_reads", 0)
        statements = max(statements, number)
        pause_ms = max(pause_ms, number * one.get("pause_ms", 0.0))
    lap_ms = 3 + 3 * draw.hop_ms + pause_ms
    return 1e-3 * (lap_ms + statements * (0.2 + mix.get("client_rtt_ms", 0.0)))


def load(draw: Draw) -> tuple[Table, Table]:
    """``[workload]`` and ``[run]``."""
    workload = _mix(draw)
    run: Table = {"seed": draw.whole(0, 1000), "limit_s": 120.0}
    if draw.chance(0.5):
        run["interval_s"] = draw.pick((0.01, 0.05, 0.3))
    if draw.chance(0.1):
        run["log"] = True
    kind = draw.pick(("fixed", "fixed", "timed", "timed", "settle", "open", "groups"))
    if draw.portable and kind == "open":
        kind = "fixed"
    if kind == "settle" and workload.get("preset") == "mysqlslap-insert":
        workload["preset"] = "sysbench-oltp-insert"  # that one fixes the number of transactions
    length_s = _lap_s(draw, workload) * draw.real(9, 25)
    if draw.changing:
        length_s = draw.real(0.8, 2.0)
    if draw.timed or draw.lossy:  # until TCP sends again
        length_s += draw.real(0.3, 0.7)
    if workload.get("retry"):  # clients may be each other's victims for ever
        run["limit_s"] = round(max(1.5, 40 * length_s), 1)
        if draw.model in {"asynchronous", "standalone"}:  # whose commits wait for no message
            run["limit_s"] = 5.0
    if kind == "settle" or draw.chance(0.12):
        workload["scheduled"] = _scheduled(draw, 0.5 * length_s)
    is_open = kind == "open" or (kind == "groups" and not draw.portable and draw.chance(0.5))
    _clients(draw, workload, kind, length_s, is_open=is_open)
    if not is_open:
        _thinking(draw, workload, kind, length_s)
    _length(draw, workload, run, kind, length_s)
    return workload, run


def _clients(draw: Draw, workload: Table, kind: str, length_s: float, *, is_open: bool) -> None:
    """How many there are, and where, or how many transactions arrive."""
    if kind == "groups":
        workload.pop("nodes", None)
        classes = workload.get("class", [{}])
        read_only = all(one.get("statements") == 0 for one in classes)
        anywhere = draw.anywhere or read_only
        workload["group"] = []
        for name in draw.subset(draw.names) if anywhere else draw.names[:1]:
            group: Table = {"node": name, "threads": draw.whole(1, 5)}
            if is_open:
                group = {"node": name, "rate_tps": round(draw.real(10, 70) / length_s, 3)}
                if draw.chance(0.4):
                    group["connections"] = draw.pick((1, 3))
            workload["group"].append(group)
    elif is_open:
        workload["rate_tps"] = round(draw.real(30, 160) / length_s, 3)
        if draw.chance(0.4):
            workload["connections"] = draw.pick((1, 2, 10))
    else:
        workload["threads"] = draw.pick((1, 2, 3, 4, 6, 8, 12, 16))
        if draw.changing or kind == "settle":
            workload["threads"] = draw.whole(1, 5)


def _thinking(draw: Draw, workload: Table, kind: str, length_s: float) -> None:
    """Pauses of the clients, in long runs so long that not too much is submitted."""
    clients = workload.get("threads", 6)
    if draw.changing:
        workload["think_time_ms"] = draw.pick((10.0, 30.0, 60.0))
    elif kind == "settle":
        workload["think_time_ms"] = draw.pick((2.0, 10.0, 30.0))
    elif kind != "fixed" and (clients * length_s > 1.2 or draw.model in SOURCE_REPLICA):
        workload["think_time_ms"] = round(1e3 * clients * length_s / draw.real(80, 300), 2)
    elif draw.chance(0.2):
        workload["think_time_ms"] = draw.pick((0.5, 2.0, 10.0))
    if workload.get("think_time_ms") and not draw.portable and draw.chance(0.5):
        workload["think_time"] = "exponential"


def _length(draw: Draw, workload: Table, run: Table, kind: str, length_s: float) -> None:
    """How long the run takes, or how many transactions."""
    warm = draw.chance(0.4)
    if kind == "fixed":
        threads = workload["threads"]
        each = draw.whole(1, max(1, 200 // threads))
        if draw.chance(0.4):
            workload["queries"] = threads * each + draw.whole(0, threads - 1)
        else:
            workload["transactions_per_client"] = each
        return
    if kind == "settle":
        run["settle_s"] = round(length_s * draw.real(0.05, 0.4), 4)
    else:
        run["duration_s"] = round(length_s, 4)
    automatic = kind != "settle" and not draw.timed and "scheduled" not in workload
    if warm and automatic and draw.chance(0.25):
        run["warmup"] = "auto"
    elif warm and kind == "settle":  # before the first of them begins
        run["warmup_s"] = round(0.9 * min(one["at_s"] for one in workload["scheduled"]), 4)
    elif warm:
        run["warmup_s"] = round(length_s * draw.real(0.1, 0.5), 4)
