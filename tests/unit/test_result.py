"""Results: combining replications, what goes to JSON, the digest and the tables."""

import json
import math
import pickle
from typing import Any

import pytest

from simrep.kernel.clock import Clock
from simrep.measure.confidence import mean_interval
from simrep.measure.meter import Meter
from simrep.measure.stations import StationUse
from simrep.measure.units import describe, duration, number
from simrep.runs.record import RunRecord
from simrep.runs.result import Result

SCENARIO = {"name": "two clients", "load": {"clients": 2, "queries": 8}}
VERSIONS = {"simrep": "0.1.0", "python": "3.11.9"}


def record(
    replication: int = 0,
    *,
    latency_s: float = 0.25,
    committed: int = 8,
    aborted: int = 0,
    kinds: tuple[str, ...] = ("insert",),
    log: bool = False,
    seed: int = 7,
) -> RunRecord:
    """One client whose transactions all take ``latency_s``; the aborted ones come last."""
    clock = Clock()
    meter = Meter(clock, log=log)
    for index in range(committed + aborted):
        end = meter.committed if index < committed else meter.aborted
        kind = kinds[index % len(kinds)]
        start = index * latency_s
        clock.at(
            (index + 1) * latency_s, lambda args: args[0](args[1], args[2]), (end, start, kind)
        )
    clock.run()
    return RunRecord(
        seed,
        replication,
        meter.measurement(),
        counters={"a": {"wsrep_local_cert_failures": aborted, "paused": 0.5 * replication}},
        stations=(StationUse("a cpu", 2, committed, 0.5, 0.1, 0.001, 0.02),),
    )


def combine(*records: RunRecord, **changes: Any) -> Result:
    return Result.combine(records, **{"scenario": SCENARIO, "versions": VERSIONS, **changes})


def test_one_replication_is_reported_as_it_was() -> None:
    result = combine(record(committed=8, aborted=2))
    assert (result.committed, result.aborted) == (8, 2)
    assert result.makespan_s == 2.5
    assert result.throughput_tps == 8 / 2.5
    assert result.latency_s == {"mean": 0.25, "p50": 0.25, "p95": 0.25, "p99": 0.25, "max": 0.25}
    assert (result.stall_max_s, result.stall_began_s) == (0.5, 2.0)  # the two aborts at the end
    assert result.counters == {"a": {"wsrep_local_cert_failures": 2, "paused": 0.0}}
    assert result.stations[0].utilisation == 0.5
    assert (result.seed, result.replications) == (7, 1)
    assert result.intervals == {}


def test_replications_are_averaged_and_latencies_pooled() -> None:
    result = combine(record(0, latency_s=0.25), record(1, latency_s=0.5, committed=9))
    assert result.replications == 2
    assert result.throughput_tps == (4.0 + 2.0) / 2
    assert result.makespan_s == (2.0 + 4.5) / 2
    assert result.committed == 8.5
    assert result.aborted == 0
    assert result.histogram.count == 17
    assert result.latency_s["mean"] == pytest.approx((8 * 0.25 + 9 * 0.5) / 17)
    assert result.latency_s["max"] == 0.5
    assert (result.stall_max_s, result.stall_began_s) == (0.5, 0.0)
    assert result.counters["a"]["paused"] == 0.25
    assert result.series.commits.tolist() == [2.0, 3.0, 1.5, 1.0, 1.0]
    assert result.classes["insert"].latency.count == 17


def test_intervals_are_those_of_the_replications() -> None:
    latencies = (0.25, 0.5, 0.4)
    result = combine(*(record(i, latency_s=value) for i, value in enumerate(latencies)))
    expected = mean_interval([1 / value for value in latencies])
    assert result.intervals["throughput_tps"] == pytest.approx((expected.low, expected.high))
    assert set(result.intervals) == {
        "throughput_tps",
        "makespan_s",
        *(f"latency_s.{name}" for name in ("mean", "p50", "p95", "p99")),
    }


def test_the_order_of_replications_does_not_matter() -> None:
    records = [record(i, latency_s=0.1 + 0.07 * i) for i in range(3)]
    assert combine(*records).digest() == combine(*reversed(records)).digest()


def test_mixed_up_replications_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        combine()
    with pytest.raises(ValueError, match="more than once"):
        combine(record(1), record(1))
    with pytest.raises(ValueError, match="different seeds"):
        combine(record(0, seed=1), record(1, seed=2))


def test_the_dict_is_json_and_has_the_promised_keys() -> None:
    content = combine(record(0), record(1, latency_s=0.5)).to_dict()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    promised = "throughput_tps makespan_s committed aborted latency_s stall_max_s counters seed"
    assert {*promised.split(), "scenario", "versions"} <= content.keys()
    assert content["latency_s"].keys() == {"mean", "p50", "p95", "p99", "max"}
    assert content["scenario"] == SCENARIO
    assert content["versions"] == VERSIONS
    assert content["stations"][0]["name"] == "a cpu"
    assert content["committed"] == 8
    assert isinstance(content["committed"], int)
    assert content["series"]["commits"] == [2.0, 3.0, 1.5, 1.0, 0.5]


def test_classes_are_listed_only_when_there_are_several() -> None:
    assert "classes" not in combine(record()).to_dict()
    several = combine(record(kinds=("read", "write"))).to_dict()["classes"]
    assert {kind: several[kind]["committed"] for kind in several} == {"read": 4, "write": 4}
    assert several["read"]["latency_s"]["max"] == 0.25


def test_a_run_without_commits_is_still_json() -> None:
    result = combine(record(committed=0, aborted=3))
    content = result.to_dict()
    assert content["latency_s"]["p95"] is None
    assert content["throughput_tps"] == 0.0
    assert math.isnan(result.latency_s["p95"])
    json.dumps(content, allow_nan=False)
    both = combine(record(0, committed=0, aborted=3), record(1))
    assert "latency_s.mean" not in both.intervals
    assert "throughput_tps" in both.intervals


def test_equal_runs_have_equal_digests() -> None:
    assert combine(record()).digest() == combine(record()).digest()
    assert len(combine(record()).digest()) == 64


@pytest.mark.parametrize(
    "other",
    [
        combine(record(seed=8)),
        combine(record(latency_s=0.2501)),
        combine(record(aborted=1)),
        combine(record(kinds=("read", "write"))),
        combine(record(), scenario={**SCENARIO, "name": "three clients"}),
        combine(record(0), record(1)),
    ],
    ids=["seed", "latency", "aborted", "classes", "scenario", "replications"],
)
def test_different_runs_have_different_digests(other: Result) -> None:
    assert other.digest() != combine(record()).digest()


def test_the_digest_sees_more_than_the_figures() -> None:
    def spread(latencies: tuple[float, ...]) -> Result:
        clock = Clock()
        meter = Meter(clock)
        for latency in latencies:
            clock.at(4.0, meter.committed, 4.0 - latency)
        clock.run()
        return combine(RunRecord(7, 0, meter.measurement()))

    # Two of eleven values move towards each other: mean, p50, p95, p99 and max stay.
    high = (2.5, 2.5, 2.5, 3.0, 3.0, 3.0, 3.0, 4.0)
    one, other = spread((1.0, 1.25, 2.0, *high)), spread((1.0, 1.5, 1.75, *high))
    assert one.to_dict() == other.to_dict()
    assert one.digest() != other.digest()


def test_the_digest_does_not_depend_on_versions() -> None:
    assert combine(record(), versions={"python": "3.13.1"}).digest() == combine(record()).digest()


def test_the_series_as_a_table() -> None:
    table = combine(record(0), record(1, latency_s=0.5, committed=2)).to_pandas()
    assert table.columns.tolist() == ["replication", "start_s", "commits", "aborts"]
    assert table.groupby("replication")["commits"].sum().tolist() == [8, 2]
    assert table[table.replication == 1]["commits"].tolist() == [1, 1]


def test_the_log_as_a_table() -> None:
    table = combine(record(0, log=True, aborted=1), record(1, log=True)).to_pandas("log")
    assert len(table) == 17
    assert table["committed"].sum() == 16
    assert table["latency_s"].tolist() == [0.25] * 17
    assert set(table["kind"]) == {"insert"}


def test_tables_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match="kept no log"):
        combine(record()).to_pandas("log")
    with pytest.raises(ValueError, match="'nodes' or 'periods', given 'all'"):
        combine(record()).to_pandas("all")  # type: ignore[arg-type]


def test_a_result_travels_between_processes() -> None:
    result = combine(record(log=True))
    assert pickle.loads(pickle.dumps(result)).digest() == result.digest()


def rows(result: Result) -> dict[str, str]:
    """The printed tables by the text before the first wide gap."""
    lines = (line.strip().split("  ", 1) for line in str(result).splitlines())
    return {line[0]: line[1].strip() for line in lines if len(line) == 2}


def test_the_printed_tables_have_units_and_sensible_digits() -> None:
    result = combine(record(kinds=("read", "write"), aborted=2, latency_s=0.0301))
    printed = rows(result)
    assert printed["throughput (transactions/s)"] == "26.6"
    assert printed["latency p95"] == "30.1 ms"
    assert printed["aborted"] == "2"
    assert printed["wsrep_local_cert_failures"] == "2"
    assert printed["a cpu"].split()[:3] == ["2", "50.0%", "0.10"]
    assert printed["write"].split()[:2] == ["4", "1"]
    assert "paused" not in printed  # zero everywhere
    assert str(result).startswith("two clients, seed 7, 1 replication\n")


def test_the_printed_tables_show_intervals_of_replications() -> None:
    printed = rows(combine(record(0), record(1, latency_s=0.5)))
    assert " .. " in printed["throughput (transactions/s)"]
    assert " .. " not in printed["longest stall"]


def test_only_the_busiest_stations_are_printed() -> None:
    one = record()
    stations = tuple(StationUse(f"link {i}", 1, 5, i / 20, 0, 0, 0) for i in range(12))
    many = RunRecord(7, 0, one.measurement, {}, (*stations, StationUse("idle", 1, 0, 0, 0, 0, 0)))
    text = str(combine(many))
    assert "Stations, busiest first (8 of 12)" in text
    assert "link 11" in text
    assert "link 3" not in text
    assert "Status variables" not in text


def test_the_short_form_fits_on_a_line() -> None:
    assert repr(combine(record())) == (
        "<Result 4 transactions/s, 8 committed, 0 aborted in 2 s, p95 250 ms, seed 7, "
        "replications 1>"
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (3.2e-7, "0.320 us"),
        (45e-6, "45.0 us"),
        (0.00099999, "1.00 ms"),
        (0.0234, "23.4 ms"),
        (1.5, "1.50 s"),
        (4567.8, "4,568 s"),
        (math.nan, "-"),
    ],
)
def test_durations_take_a_unit_that_fits(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_numbers_and_names() -> None:
    assert [number(v) for v in (0, 3500, 1234.56, 0.012345, -2.5, math.nan)] == [
        "0",
        "3,500",
        "1,235",
        "0.0123",
        "-2.50",
        "-",
    ]
    assert describe("egress_delay_ms") == "egress delay (ms)"
    assert describe("threads") == "threads"
    assert describe("send_window") == "send window"
