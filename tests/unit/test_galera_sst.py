"""How scripts copy all data to a node: their programs, what they compress, and what they wait."""

from __future__ import annotations

from typing import Any

import pytest

import simrep
from simrep.errors import ScenarioError
from simrep.runs.replication import Replication, simulate

MB = 1_000_000


def copied(
    options: dict[str, Any], *, mb: float = 100.0, mbit: float | None = None, cores: int = 4,
    costs: dict[str, float] | None = None, think_ms: float = 40.0,
    lasts_s: float = 26.0,
) -> Replication:  # fmt: skip
    """n2 leaves, comes back, and gets all data from n1, on whose clients nobody else waits."""
    network: dict[str, Any] = {"rtt_ms": 0.5}
    if mbit is not None:
        network["bandwidth_mbit"] = mbit
    told = {
        "cluster": {
            "model": "galera",
            "nodes": 2,
            "machine": {"cores": cores},
            "data_bytes": int(mb * MB),
            "costs": {"start_ms": 300.0, "sst_prepare_ms": 1000.0, "engine_start_ms": 1000.0}
            | (costs or {}),
            "options": {"gcache.size": 1, "gmcast.time_wait": "PT0.4S", **options},
        },
        "network": network,
        "workload": {"threads": 2, "nodes": ["n1"], "think_time_ms": think_ms},
        "fault": [
            {"what": "leave", "node": "n2", "at_s": 0.5},
            {"what": "restart", "node": "n2", "at_s": 1.5},
        ],
        "run": {"duration_s": lasts_s, "warmup_s": 0.0},
    }
    return simulate(simrep.load(told), 1)


def copy_s(run: Replication) -> float:
    """From the request until the donor is done, without the scripts."""
    asked_s = next(one.at_s for one in run.noted if one.what == "joiner")
    given_s = next(one.at_s for one in run.noted if one.what == "joined" and one.node == 0)
    return given_s - asked_s - 0.4


def commits_per_s(run: Replication) -> float:
    """Of the donor's clients, while it copies."""
    asked_s = next(one.at_s for one in run.noted if one.what == "donor")
    given_s = next(one.at_s for one in run.noted if one.what == "joined" and one.node == 0)
    assert run.attempts is not None
    lasts_s = given_s - asked_s
    return len(run.attempts.between(asked_s, given_s).commits_s) / lasts_s


BACKUP = {"wsrep_sst_method": "mariabackup"}


def test_the_thread_of_a_backup_reads_and_works_in_turn() -> None:
    """4 ns to read and 1.9 ns of work with one thread, the disk alone with two; 10 s before."""
    for threads, byte_ns in ((1, 5.9), (2, 4.0)):
        run = copied(BACKUP | {"sst.backup-threads": threads})
        assert copy_s(run) - 10.0 == pytest.approx(100 * MB * byte_ns * 1e-9, rel=0.03, abs=0.01)


def test_a_compressor_sends_fewer_bytes_and_takes_its_time_to_do_so() -> None:
    """Over 100 Mbit/s, 80 ns for a byte; gzip -6 works 30 ns for it and leaves 0.3 of it."""
    plain = copy_s(copied(BACKUP, mbit=100.0)) - 10.0
    packed = copy_s(copied(BACKUP | {"sst.compressor": "gzip"}, mbit=100.0)) - 10.0
    assert plain == pytest.approx(8.0, rel=0.05)
    assert packed == pytest.approx(100 / 33, rel=0.05)
    four = copy_s(copied(BACKUP | {"sst.compressor": "pigz -p 4"}, mbit=100.0)) - 10.0
    assert four == pytest.approx(8.0 / 3.3, rel=0.05)


def test_the_tools_own_compression_is_undone_when_all_has_arrived() -> None:
    def prepares_s(options: dict[str, Any]) -> float:
        run = copied(BACKUP | options, cores=1)
        given_s = next(one.at_s for one in run.noted if one.what == "joined" and one.node == 0)
        synced_s = next(one.at_s for one in run.noted if one.what == "synced" and one.node == 1)
        return synced_s - given_s

    # By one core, 1.33 ns for a byte; the disk reads the small and writes the large: 6.1 ns.
    longer_s = prepares_s({"sst.compress": "quicklz"}) - prepares_s({})
    assert longer_s == pytest.approx(100 * MB * 6.1e-9, rel=0.1)


def test_little_memory_has_pages_read_again_for_each_batch() -> None:
    """Some 1,500 writesets in 500 pages of 16 KiB, 1 ms each: once, or in batches."""

    def prepares_s(memory: str) -> float:
        run = copied(
            BACKUP | {"innodb_buffer_pool_size": "5M", "sst.use-memory": memory},
            mb=8.2, think_ms=12.0, costs={"page_read_us": 1000.0}, lasts_s=20.0,
        )  # fmt: skip
        given_s = next(one.at_s for one in run.noted if one.what == "joined" and one.node == 0)
        later = (one.at_s for one in run.noted if one.what == "joiner" and one.how == "IST")
        return next(later) - given_s

    once_s, often_s = prepares_s("1G"), prepares_s("300K")
    assert 0.5 < often_s - once_s < 5.0


def test_a_limit_is_kept() -> None:
    run = copied(BACKUP | {"sst.rlimit": "20M"})
    assert copy_s(run) - 10.0 == pytest.approx(100 * MB / (20 << 20), rel=0.03)


def test_scripts_take_cores_from_the_donor() -> None:
    """On one core, compressing leaves its clients less."""
    costs = {"statement_us": 2000.0}
    alone = commits_per_s(copied(BACKUP, cores=1, costs=costs, mb=200, think_ms=5.0))
    squeezed = copied(
        BACKUP | {"sst.compressor": "gzip"}, cores=1, costs=costs, mb=200, think_ms=5.0
    )
    assert copy_s(squeezed) - 10.0 > 1.2 * 200 / 33, "clients use its core as well"
    assert commits_per_s(squeezed) < 0.9 * alone


def test_rsync_stops_the_donor_until_all_is_copied() -> None:
    run = copied({"wsrep_sst_method": "rsync"}, mb=500.0, lasts_s=10.0)
    assert copy_s(run) == pytest.approx(500 * MB * 4e-9, rel=0.03)
    asked_s = next(one.at_s for one in run.noted if one.what == "donor") + 0.5
    assert run.attempts is not None
    assert len(run.attempts.between(asked_s, asked_s + 1.4).commits_s) == 0


def test_tls_costs_work_on_both_ends() -> None:
    costs = {"sst_byte_ns": 0.1, "sst_tls_byte_ns": 20.0}
    run = copied({"wsrep_sst_method": "rsync", "sst.encrypt": 3}, costs=costs, lasts_s=10.0)
    assert copy_s(run) == pytest.approx(100 * MB * 23.2e-9, rel=0.03)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"wsrep_sst_method": "rsync", "sst.compressor": "zstd"}, "does not read it"),
        ({"wsrep_sst_method": "clone", "sst.encrypt": 2}, "does not read it"),
        (BACKUP | {"sst.compressor": "xz -9"}, "no speed is known of 'xz'"),
        (BACKUP | {"sst.compressor": "zstd -19"}, "level 19"),
        (BACKUP | {"sst.compressor": "zstd --long"}, "'--long' of zstd is not simulated"),
        (BACKUP | {"sst.compress": "lz4"}, "mariabackup has no lz4"),
        (BACKUP | {"sst.compress": "quicklz", "sst.compressor": "lz4"}, "files are compressed"),
        (BACKUP | {"sst.compress-threads": 4}, "only goes with sst.compress"),
        (BACKUP | {"sst.use-memory": "2G"}, "set innodb_buffer_pool_size"),
    ],
)
def test_what_a_script_does_not_read_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        copied(options)
