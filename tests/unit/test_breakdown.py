"""Where the latency goes: every stage against a closed form where only one thing takes time."""

from __future__ import annotations

import json
from math import isnan
from typing import Any

import pytest
from typer.testing import CliRunner

from simrep.cli import app
from simrep.contract.registry import find_model
from simrep.kernel.clock import Clock
from simrep.measure.breakdown import Breakdown
from simrep.measure.meter import Meter
from simrep.runs.record import RunRecord
from simrep.runs.result import Result
from simrep.runs.run import run
from simrep.show.plot.breakdown import plot_breakdowns
from simrep.workload.laps import LAPS, Lap

MS, US = 1e-3, 1e-6
MODELS = ["standalone", "asynchronous", "semisync", "galera", "group_replication"]
UPDATE = {"name": "update", "keys": {"distribution": "hot", "rows": 1, "hot_rows": 1}}
WINDOWS = {"evs.send_window": 512, "evs.user_send_window": 512, "evs.keepalive_period": 86_400}


def only(
    model: str,
    *,
    size: int = 3,
    costs: dict[str, float] | None = None,
    options: dict[str, Any] | None = None,
    version: str | None = None,
    rtt_ms: float = 0.0,
    log: bool = False,
    cores: int = 64,
    **workload: Any,
) -> Result:
    """Run a cluster on which nothing takes time but what is asked for."""
    free: dict[str, float] = dict.fromkeys(find_model(model).Costs.model_fields, 0.0)
    free["page_reads_at_a_time"] = 1
    free |= {"disk_mb_per_s": 1e9, "compression_ratio": 1.0}
    known = find_model(model).Costs.model_fields
    content: dict[str, Any] = {
        "cluster": {
            "model": model,
            "nodes": size,
            "machine": {"cores": cores},
            "options": options or {},
            "costs": {name: cost for name, cost in (free | (costs or {})).items() if name in known},
        },
        "network": {"rtt_ms": rtt_ms},
        "workload": {"transactions_per_client": 4, **workload},
        "run": {"log": log},
    }
    if version is not None:
        content["cluster"]["version"] = version
    return run(content, seed=1)


def stages_of(result: Result) -> dict[str, float]:
    """All stages but those of a few bytes on an almost infinitely fast disk."""
    return {name: s for name, s in result.breakdown().stages.items() if s > 1e-9}


def near(stages: dict[str, float], rel: float = 1e-8) -> Any:
    return pytest.approx(stages, rel=rel)


# -- one thing takes time --------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_the_way_between_client_and_server_is_the_clients(model: str) -> None:
    far = {"client": "own", "client_rtt_ms": 8.0}
    assert stages_of(only(model, **far)) == near({"client": 8 * MS})
    # BEGIN, three statements and COMMIT.
    several = only(model, **far, **{"class": [{"statements": 3}]})
    assert stages_of(several) == near({"client": 5 * 8 * MS})


@pytest.mark.parametrize("model", MODELS)
def test_client_and_server_that_share_a_core_are_told_apart(model: str) -> None:
    result = only(model, costs={"client_us": 70.0, "statement_us": 90.0, "row_us": 5.0})
    assert stages_of(result) == near({"client": 70 * US, "execute": 95 * US})


@pytest.mark.parametrize("model", MODELS)
def test_building_the_message_belongs_to_the_execution(model: str) -> None:
    class_ = {"class": [{"autocommit": False}]}
    result = only(model, costs={"statement_us": 90.0, "replicate_us": 10.0}, **class_)
    builds = model in {"galera", "group_replication"}
    assert stages_of(result) == near({"execute": (100 if builds else 90) * US})


@pytest.mark.parametrize("model", MODELS)
def test_fsyncs_are_the_flush(model: str) -> None:
    fsyncs = 1 if model == "galera" else 2
    result = only(model, costs={"fsync_us": 500.0})
    assert stages_of(result) == near({"flush": fsyncs * 500 * US})


@pytest.mark.parametrize(
    ("version", "fsyncs"),
    [("mysql-5.1", 3), ("mysql-5.5", 3), ("mysql-5.6", 2), ("mysql-8.4", 2), ("mariadb-11.8", 2)],
)
def test_in_every_generation_fsyncs_are_the_flush(version: str, fsyncs: int) -> None:
    options = {"log_bin": True, "sync_binlog": 1, "innodb_flush_log_at_trx_commit": 1}
    result = only("standalone", version=version, options=options, costs={"fsync_us": 500.0})
    assert stages_of(result) == near({"flush": fsyncs * 500 * US})


def test_without_a_binary_log_the_redo_log_is_the_flush() -> None:
    costs = {"fsync_us": 500.0, "commit_us": 20.0}
    result = only("standalone", options={"log_bin": False}, costs=costs)
    assert stages_of(result) == near({"flush": 500 * US, "commit": 20 * US})


@pytest.mark.parametrize("model", MODELS)
def test_the_engine_commit_is_the_commit(model: str) -> None:
    assert stages_of(only(model, costs={"commit_us": 20.0})) == near({"commit": 20 * US})


@pytest.mark.parametrize("model", ["galera", "group_replication"])
def test_the_network_between_the_nodes_is_the_order(model: str) -> None:
    result = only(model, rtt_ms=20.0)
    assert stages_of(result) == near({"order": result.latency_s["mean"]})
    assert result.latency_s["mean"] >= 20 * MS * 0.999


@pytest.mark.parametrize("wait_point", ["AFTER_SYNC", "AFTER_COMMIT"])
def test_a_round_trip_to_a_replica_is_the_acknowledgement(wait_point: str) -> None:
    options = {"rpl_semi_sync_source_wait_point": wait_point}
    result = only("semisync", rtt_ms=20.0, options=options)
    assert stages_of(result) == near({"acknowledgement": 20 * MS}, 1e-3)


def test_nobody_waits_for_an_asynchronous_replica() -> None:
    result = only("asynchronous", rtt_ms=20.0, costs={"statement_us": 90.0})
    assert stages_of(result) == near({"execute": 90 * US})


@pytest.mark.parametrize("model", ["standalone", "asynchronous", "semisync"])
def test_a_hot_row_is_waited_for_as_long_as_others_hold_it(model: str) -> None:
    clients, each, fsync_s = 3, 5, 500 * US
    result = only(
        model,
        size=1,
        costs={"fsync_us": 500.0},
        options={"rpl_semi_sync_source_enabled": False} if model == "semisync" else {},
        threads=clients,
        transactions_per_client=each,
        **{"class": [UPDATE]},
    )
    # One after the other holds the row for two fsyncs: the k-th at the start waits for k - 1
    # others, all later ones for the other clients.
    hold_s = 2 * fsync_s
    first = sum(range(clients)) / clients
    waits = (first + (each - 1) * (clients - 1)) / each
    assert stages_of(result) == near({"lock wait": waits * hold_s, "flush": hold_s})


def test_galera_waits_in_its_send_monitor_while_flow_control_stops_it() -> None:
    apply_s = 50 * MS
    result = only(
        "galera",
        rtt_ms=1.0,
        options={"gcs.fc_limit": 1, "wsrep_slave_threads": 1} | WINDOWS,
        costs={"apply_us": apply_s / US},
        transactions_per_client=100,
    )
    stages = stages_of(result)
    assert stages.keys() == {"queue", "order"}
    assert stages["order"] < 3 * MS
    # A commit takes as long as its apply on the replicas, but for the few in their queues.
    assert stages["queue"] == pytest.approx(apply_s - stages["order"], rel=0.05)


def test_quotas_of_group_replication_are_the_queue() -> None:
    options = {"group_replication_flow_control_max_quota": 2}
    result = only("group_replication", rtt_ms=1.0, options=options, transactions_per_client=20)
    throttled_s = result.counters["n1"]["Gr_flow_control_throttle_time_sum"] * US
    assert throttled_s > 5.0
    assert result.breakdown().stages["queue"] == pytest.approx(throttled_s / 20, rel=1e-9)


def test_commits_in_order_through_the_flush_wait_for_each_other() -> None:
    clients, fsync_s = 4, 5 * MS
    result = only(
        "galera",
        rtt_ms=1.0,
        options={"commit_monitor_through_flush": True} | WINDOWS,
        costs={"fsync_us": fsync_s / US},
        threads=clients,
        transactions_per_client=1,
    )
    stages = stages_of(result)
    assert stages.keys() == {"order", "flush", "commit order"}
    assert stages["flush"] == pytest.approx(fsync_s, rel=1e-9)
    # All are delivered within a millisecond or two, and the k-th commits after k - 1 fsyncs.
    assert stages["commit order"] == pytest.approx((clients - 1) / 2 * fsync_s, abs=2 * MS)


def test_consistency_levels_have_a_stage_of_their_own() -> None:
    def stages(level: str, **class_: Any) -> dict[str, float]:
        options = {"group_replication_consistency": level}
        result = only("group_replication", rtt_ms=20.0, options=options, **{"class": [class_]})
        return stages_of(result)

    eventual = stages("EVENTUAL")
    after = stages("AFTER")
    assert eventual.keys() == {"order"}
    assert after.keys() == {"order", "consistency"}
    assert min(after["order"], after["consistency"]) > 0.999 * 10 * MS
    reads = {"statements": 0, "reads": 1}
    assert stages("BEFORE", **reads).keys() == {"consistency"}
    assert not stages("AFTER", **reads)


def test_what_failed_attempts_took_are_retries() -> None:
    result = only(
        "galera",
        rtt_ms=20.0,
        options={"wsrep_retry_autocommit": 0},
        log=True,
        size=2,
        threads=2,
        transactions_per_client=3,
        retry=True,
        **{"nodes": ["n1", "n2"], "class": [UPDATE]},
    )
    (record,) = result.runs
    log = record.measurement.log
    assert log is not None
    assert not log.committed.all()
    # The last attempt of a transaction begins when the one before has failed; the log has the
    # time since the first for both.
    failed: dict[tuple[int, float], float] = {}
    for started_s, latency_s, client, committed in zip(
        log.started_s, log.latency_s, log.client, log.committed, strict=True
    ):
        if not committed:
            failed[client, started_s] = latency_s
    retries_s = sum(failed.values()) / result.breakdown().transactions
    assert result.breakdown().stages["retries"] == pytest.approx(retries_s, rel=1e-9)


# -- what is counted -------------------------------------------------------------------------------


def record(replication: int, rows: list[tuple[str, float, float]], start_s: float = 0.0) -> Any:
    """Transactions by class, with seconds of execution and flush, one after the other."""
    clock = Clock()
    meter = Meter(clock, start_s)
    end = 0.0
    for kind, execute_s, flush_s in rows:
        seconds = [0.0] * len(LAPS)
        seconds[Lap.EXECUTE], seconds[Lap.FLUSH] = execute_s, flush_s
        started_s, end = end, end + execute_s + flush_s

        def commit(
            _: Any, started_s: float = started_s, kind: str = kind, s: list[float] = seconds
        ) -> None:
            meter.laps(kind, s)
            meter.committed(started_s, kind)

        clock.at(end, commit)
    clock.run()
    return RunRecord(1, replication, meter.measurement())


def test_replications_are_weighted_by_their_transactions() -> None:
    one, other = [("w", 1.0, 3.0)] * 600, [("w", 5.0, 3.0)] * 200
    result = Result.combine([record(0, one), record(1, other)])
    breakdown = result.breakdown()
    assert breakdown.transactions == 800
    assert breakdown.stages == near({"execute": 2.0, "flush": 3.0})
    assert breakdown.shares == near({"execute": 0.4, "flush": 0.6})


def test_classes_have_breakdowns_of_their_own() -> None:
    result = Result.combine([record(0, [("r", 1.0, 0.0), ("w", 2.0, 4.0), ("w", 4.0, 4.0)])])
    assert result.breakdown("r").stages == {"execute": 1.0}
    assert result.breakdown("w").stages == {"execute": 3.0, "flush": 4.0}
    content = result.to_dict()
    assert content["classes"]["r"]["breakdown"]["transactions"] == 1
    assert content["breakdown"]["stages"].keys() == {"execute", "flush"}
    with pytest.raises(ValueError, match="no class 'x', there are 'r', 'w'"):
        result.breakdown("x")


def test_the_warm_up_does_not_count() -> None:
    rows = [("w", 1.0, 1.0), ("w", 3.0, 1.0), ("w", 5.0, 1.0)]
    result = Result.combine([record(0, rows, start_s=2.5)])
    assert result.breakdown().stages == {"execute": 4.0, "flush": 1.0}


def test_what_a_model_has_not_marked_is_other() -> None:
    breakdown = Breakdown.of(LAPS, [[1.0] + [0.0] * (len(LAPS) - 1)], 4.0, 2)
    assert breakdown.stages == {"client": 0.5, "other": 1.5}


@pytest.mark.filterwarnings("ignore:no transaction committed")
def test_nothing_committed_is_an_empty_breakdown() -> None:
    result = Result.combine([record(0, [])])
    breakdown = result.breakdown()
    assert (dict(breakdown.stages), breakdown.transactions) == ({}, 0)
    assert isnan(breakdown.latency_s)
    assert str(breakdown).split() == ["stage", "mean", "share"]
    assert result.to_dict()["breakdown"]["latency_s"] is None
    assert "Where the time goes" not in str(result)


def test_the_digest_is_that_of_the_figures_alone() -> None:
    one = record(0, [("w", 1.0, 3.0), ("r", 1.0, 0.0)])
    other = record(0, [("w", 3.0, 1.0), ("r", 1.0, 0.0)])
    results = [Result.combine([one]), Result.combine([other])]
    assert results[0].breakdown() != results[1].breakdown()
    assert results[0].digest() == results[1].digest()


# -- how it is shown -------------------------------------------------------------------------------


def test_the_table_has_stages_in_order_and_their_sum() -> None:
    breakdown = Result.combine([record(0, [("w", 0.0012, 0.0036)])]).breakdown()
    assert str(breakdown).splitlines() == [
        "stage       mean   share",
        "execute  1.20 ms   25.0%",
        "flush    3.60 ms   75.0%",
        "latency  4.80 ms  100.0%",
    ]


def test_the_command_line_prints_it_and_json_has_it(tmp_path: Any) -> None:
    file = tmp_path / "c.toml"
    file.write_text('cluster.model = "galera"\nworkload.queries = 20\nnetwork.rtt_ms = 10\n')
    shown = CliRunner().invoke(app, ["run", str(file)])
    assert "Where the time goes" in shown.output
    assert {"execute", "order", "flush"} <= set(shown.output.split())
    printed = CliRunner().invoke(app, ["run", str(file), "--json"])
    content = json.loads(printed.stdout)
    stages = content["breakdown"]["stages"].values()
    assert sum(stage["mean_s"] for stage in stages) == pytest.approx(content["latency_s"]["mean"])
    assert sum(stage["share"] for stage in stages) == pytest.approx(1.0)


def test_bars_are_as_long_as_the_latency_and_name_every_stage_once(tmp_path: Any) -> None:
    two = Result.combine([record(0, [("w", 0.001, 0.003)])]).breakdown()
    one = Result.combine([record(0, [("w", 0.002, 0.0)])]).breakdown()
    figure = plot_breakdowns({"two": two, "one": one}, tmp_path / "bars.png")
    assert (tmp_path / "bars.png").stat().st_size > 0
    (axes,) = figure.axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["two", "one"]
    ends = [max(bars[row].get_x() + bars[row].get_width() for bars in axes.containers)
            for row in range(2)]  # type: ignore[index]  # fmt: skip
    assert ends == pytest.approx([4.0, 2.0])
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["execute", "flush"]


def test_nothing_to_draw_is_said() -> None:
    with pytest.raises(ValueError, match="no transactions"):
        plot_breakdowns({"none": Breakdown({}, float("nan"), 0)})
