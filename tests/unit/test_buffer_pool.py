"""Data that do not fit into memory: pages are read from the disk."""

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import simrep
from simrep.errors import ScenarioError
from simrep.server.buffer_pool import miss_probability

# Half of the data is in memory, and all pages are alike: every second one that is needed is read.
HALF = {"innodb_buffer_pool_size": "1G"}


def scenario(
    threads: int,
    options: dict[str, Any],
    *,
    model: str = "standalone",
    work: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    one = {"statements": 0, "reads": 10} if work is None else work
    return {
        "cluster": {
            "model": model,
            "nodes": 1 if model == "standalone" else 3,
            "data_bytes": 2 << 30,
            **({"hot_share": 0.5} if options else {}),
            "options": options,
            "costs": {"statement_us": 500.0, "page_read_us": 1000.0, "page_reads_at_a_time": 4},
            "machine": {"cores": 64},
        },
        "workload": {"threads": threads, "class": [{"name": "some", **one}]},
        "run": {"duration_s": 0.3, "warmup_s": 0.1, "seed": 1},
        **more,
    }


def update(rows: int, statements: int = 1) -> dict[str, Any]:
    keys = {"distribution": "uniform", "rows": 1_000_000}
    return {"statements": statements, "rows": rows, "keys": keys}


def test_a_pool_as_large_as_the_data_reads_nothing() -> None:
    all_in_memory, large = (
        simrep.run(scenario(1, options, work=update(1)))
        for options in ({}, {"innodb_buffer_pool_size": (2 << 30) - 1})
    )
    assert large.throughput_tps == all_in_memory.throughput_tps
    assert large.latency_s["mean"] == all_in_memory.latency_s["mean"]
    assert large.stations == all_in_memory.stations
    assert "n1/pages" not in {one.name for one in large.stations}


def test_the_reads_of_a_thread_follow_each_other() -> None:
    in_memory, on_disk = (simrep.run(scenario(1, options)) for options in ({}, HALF))
    # 10 pages, every second one in 1 ms. Chance: 0.5 * 10 ** 0.5 ms for each of about 30:
    # 1.6 ms over the root of 30 is 0.29 ms of 10 (15 %: five of them, false alarms one in 10^6).
    mean_s = in_memory.latency_s["mean"] + 10 * 0.5 * 0.001
    assert on_disk.latency_s["mean"] == pytest.approx(mean_s, rel=0.15)


@pytest.mark.parametrize(
    ("work", "requests"), [(None, 10 * 0.5), (update(1, 10), 10 * 0.5 * 2), (update(65), 0.5 * 2)]
)
def test_many_threads_get_as_many_pages_as_the_disk_has(
    work: dict[str, Any] | None, requests: float
) -> None:
    """A page that is changed is written back, too; neighbouring rows are on one page."""
    result = simrep.run(scenario(64, HALF, work=work))
    # 1,200 requests, each of them by chance: a standard deviation of 2 %.
    assert result.throughput_tps == pytest.approx(4 / 0.001 / requests, rel=0.1)
    [pages] = [one for one in result.stations if one.name == "n1/pages"]
    assert pages.utilisation > 0.99


def test_new_rows_are_appended_to_pages_in_memory() -> None:
    rows = {"statements": 10}
    in_memory, on_disk = (simrep.run(scenario(1, options, work=rows)) for options in ({}, HALF))
    assert on_disk.throughput_tps == in_memory.throughput_tps


def test_a_long_statement_reads_its_pages_as_it_goes() -> None:
    rows = 65 * 100
    in_memory, on_disk = (
        simrep.run(scenario(1, options, work=update(rows))) for options in ({}, HALF)
    )
    # 50 reads, of pages that are written back beside them; a standard deviation of 10 % of each.
    mean_s = in_memory.latency_s["mean"] + 100 * 0.5 * 0.001
    assert on_disk.latency_s["mean"] == pytest.approx(mean_s, rel=0.2)


def test_rows_that_were_locked_for_an_update_are_in_memory_then() -> None:
    step = {"for_update": True, "table": "t", **update(1)}
    once, twice = (
        simrep.run(scenario(64, HALF, work={"step": [one, one]})).throughput_tps
        for one in ({"table": "t", **update(1)}, step)
    )
    assert twice == pytest.approx(once, rel=0.1)


@pytest.mark.parametrize("model", ["galera", "semisync"])
def test_every_product_reads_pages(model: str) -> None:
    run = {"duration_s": 0.2, "warmup_s": 0.1, "seed": 1}
    result = simrep.run(scenario(16, HALF, model=model, work=update(1, 4), run=run))
    assert result.throughput_tps < 4 / 0.001 / (4 * 0.5 * 2) * 3.3  # on each of three nodes
    assert "n1/pages" in {one.name for one in result.stations}


def test_a_stalled_disk_reads_no_pages() -> None:
    stall = {"what": "disk-stall", "node": "n1", "at_s": 0.1, "until_s": 0.3}
    result = simrep.run(scenario(8, HALF, fault=[stall]))
    assert result.latency_s["max"] == pytest.approx(0.2, abs=0.03)


def test_a_size_is_written_as_the_server_does() -> None:
    with pytest.raises(simrep.ScenarioError, match="innodb_buffer_pool_size"):
        simrep.run(scenario(1, {"innodb_buffer_pool_size": "1M"}))
    [reason] = simrep.analytic(scenario(1, {"innodb_buffer_pool_size": 1 << 30})).reasons
    assert "innodb_buffer_pool_size" in reason


@pytest.mark.parametrize("hot", [0.1, 0.3, 0.5])
def test_misses_are_those_of_a_pool_that_keeps_the_latest_pages(hot: float) -> None:
    size, kept, numbers = 2000, 400, np.random.default_rng(7).random(40_000)
    power = np.log(1.0 - hot) / np.log(hot)
    pool: OrderedDict[int, None] = OrderedDict()
    misses = 0
    for number, page in enumerate((numbers ** (1.0 / power) * size).astype(int).tolist()):
        if page in pool:
            pool.move_to_end(page)
            continue
        misses += number >= 10_000
        pool[page] = None
        if len(pool) > kept:
            pool.popitem(last=False)
    # 30,000 references: a standard deviation below 0.003.
    assert miss_probability(kept / size, hot) == pytest.approx(misses / 30_000, abs=0.02)


def test_the_limits_of_a_pool() -> None:
    assert miss_probability(1.0, 0.2) == 0.0
    assert miss_probability(0.0, 0.2) == 1.0
    assert miss_probability(0.3, 0.5) == pytest.approx(0.7)


def test_a_skew_is_refused_where_all_data_are_in_memory() -> None:
    content = scenario(1, {})
    content["cluster"]["hot_share"] = 0.5
    with pytest.raises(ScenarioError, match=r"cluster\.hot_share: decides which pages .* 0\.5"):
        simrep.run(content)


def test_scattered_rows_have_a_page_each() -> None:
    neighbours = {"range_reads": 1, "range_rows": 10}
    together, apart = (
        simrep.run(scenario(1, HALF, work={"step": [one]})).latency_s["mean"]
        for one in (neighbours, {**neighbours, "read_pages": 10})
    )
    # 9 pages more, every second one in 1 ms; a standard deviation below 0.4 ms of about 50 means.
    assert apart - together == pytest.approx(9 * 0.5 * 0.001, rel=0.3)


@pytest.mark.parametrize("for_update", [False, True])
def test_a_small_table_stays_in_memory(for_update: bool) -> None:
    small = {"reads": 1, "read_pages": 0, "pages": 0, "for_update": for_update, **update(2)}
    in_memory, on_disk = (
        simrep.run(scenario(1, options, work={"step": [small]})) for options in ({}, HALF)
    )
    assert on_disk.throughput_tps == in_memory.throughput_tps
    pages = next(one for one in on_disk.stations if one.name == "n1/pages")
    assert pages.visits == 0


def test_what_a_locking_read_has_read_is_there_for_the_update() -> None:
    scattered = {"pages": 10, **update(10)}
    at_once, locked_before = (
        simrep.run(scenario(1, HALF, work={"step": [one]})).latency_s["mean"]
        for one in (scattered, {**scattered, "for_update": True})
    )
    # 5 ms of reads, once; the other statement takes 0.5 ms.
    assert locked_before - at_once == pytest.approx(0.0005, abs=0.0015)


def test_a_streaming_transaction_needs_the_same_pages() -> None:
    step = {"read_pages": 10, "range_reads": 1, "range_rows": 10, "pages": 0, **update(1)}
    whole, streamed = (
        simrep.run(scenario(1, {**HALF, **more}, model="galera", work={"step": [step]})).latency_s[
            "mean"
        ]
        for more in ({}, {"wsrep_trx_fragment_size": 1_000_000})
    )
    assert streamed == pytest.approx(whole, rel=0.25)
