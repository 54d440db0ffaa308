"""What a crash or a loss of power takes from a source and its replicas, by their settings."""

from __future__ import annotations

import re
from math import ceil

import pytest

import simrep
from simrep.kernel.clock import Clock
from simrep.models.mysql.log_files import LogFile

pytestmark = pytest.mark.filterwarnings("ignore::simrep.DegradedWarning")

CRASH_S = 12.0
RATE_TPS = 20.0
"""Two clients, about."""


def run(*faults, model="asynchronous", version="mysql-9", nodes=3, duration_s=23.0, costs=None,
        **options):  # fmt: skip
    if nodes > 1:
        options = {"replica_net_timeout": 6, "source_connect_retry": 2, **options}
    names = ("what", "node", "at_s")
    faults = [
        fault if isinstance(fault, dict) else dict(zip(names, fault, strict=True))
        for fault in faults
    ]
    return simrep.run(
        {
            "cluster": {"model": model, "nodes": nodes, "version": version, "options": options}
            | ({"costs": costs} if costs else {}),
            "network": {"rtt_ms": 1.0},
            "workload": {"threads": 2, "think_time_ms": 100.0, "nodes": ["n1"]}
            | {"clients": {"read_timeout_s": 5.0}},
            "run": {"duration_s": duration_s, "warmup_s": 1.0, "seed": 3},
            "fault": faults,
        }
    )


def crash(what, node="n1", **how):
    """A server ends and starts again."""
    return run((what, node, CRASH_S), ("restart", node, CRASH_S + 1.0), **how)


def lines(result, what, node):
    return [line for line in result.timeline().lines if (line.what, line.node) == (what, node)]


def found(result, node="n1"):
    """What crash recovery finds: lost of both logs, of the engine, and of the binary log."""
    text = "; ".join(line.how for line in lines(result, "recovered", node))
    patterns = (r"^lost (\d+)", r"engine lacks (\d+)", r"log lacks (\d+)")
    return tuple(int(match[1]) if (match := re.search(one, text)) else 0 for one in patterns)


def refused(result, node):
    """Why its IO thread has stopped."""
    (*_, line) = lines(result, "link-closed", node)
    return line.how.removeprefix("the IO thread stops: ")


def executed(result):
    return [result.counters[node]["Executed_Gtid_Set"] for node in ("n2", "n3")]


NOTHING, SECOND = (0, 0), (1, ceil(1.2 * RATE_TPS))
SECONDS = (0.6 * CRASH_S * RATE_TPS, CRASH_S * RATE_TPS)


@pytest.mark.parametrize(
    ("model", "version", "what", "settings", "lost", "engine", "binlog"),
    [
        # A process that ends loses what it has not handed to the kernel.
        ("asynchronous", "mysql-9", "kill", (0, 2), NOTHING, NOTHING, NOTHING),
        ("asynchronous", "mysql-9", "kill", (1, 0), NOTHING, NOTHING, NOTHING),
        ("asynchronous", "mariadb-11.8", "kill", (1, 0), NOTHING, SECOND, NOTHING),
        ("asynchronous", "mysql-9", "power-loss", (1, 1), NOTHING, NOTHING, NOTHING),
        ("asynchronous", "mysql-9", "power-loss", (1, 2), NOTHING, SECOND, NOTHING),
        ("semisync", "mysql-9", "power-loss", (1, 0), NOTHING, SECOND, NOTHING),
        ("asynchronous", "mysql-9", "power-loss", (0, 1), NOTHING, NOTHING, SECONDS),
        ("semisync", "mysql-9", "power-loss", (100, 1), NOTHING, NOTHING, (0, 100)),
        ("asynchronous", "mysql-9", "power-loss", (0, 2), SECOND, NOTHING, SECONDS),
        ("semisync", "mysql-9", "power-loss", (0, 2), SECOND, NOTHING, SECONDS),
    ],
)
def test_what_a_source_loses(model, version, what, settings, lost, engine, binlog):
    names = ("sync_binlog", "innodb_flush_log_at_trx_commit")
    options = dict(zip(names, settings, strict=True))
    result = crash(what, model=model, version=version, **options)
    for (least, most), number in zip((lost, engine, binlog), found(result), strict=True):
        assert least <= number <= most
    # Replicas had received it all before, so nothing of it is lost while they are there.
    assert result.faults.fates.lost.median == 0.0
    assert result.faults.fates.overlooked.median == found(result)[1]
    if lost == NOTHING:
        assert executed(result) == [result.counters["n1"]["Binlog_commits"]] * 2
    else:
        assert refused(result, "n2") == "1236 the replica has more GTIDs than the source"


def test_numbers_that_a_source_has_lost_it_gives_to_others():
    """When its replicas come later it has more than they have, and nobody notices."""
    result = crash(
        "power-loss", sync_binlog=0, innodb_flush_log_at_trx_commit=2,
        replica_net_timeout=10, duration_s=26.0,
    )  # fmt: skip
    lost, _, _ = found(result)
    for node in ("n2", "n3"):
        (opened,) = lines(result, "link-open", node)
        assert opened.how.startswith(f"{lost} of its transactions have the numbers of others")
        assert lines(result, "synced", node)
    assert executed(result) == [result.counters["n1"]["Binlog_commits"]] * 2
    assert result.faults.fates.overlooked.median == 2.0 * lost  # the old ones, and the new ones


@pytest.mark.parametrize("version", ["mysql-5.7", "mariadb-11.8"])
def test_replicas_are_ahead_of_a_source_that_knows_from_its_binary_log_what_it_has(version):
    result = crash("power-loss", version=version, sync_binlog=0)
    for node in ("n2", "n3"):
        assert refused(result, node) == "1236 the replica has more GTIDs than the source"
        assert not lines(result, "link-open", node)
    assert result.faults.fates.lost.median == 0.0  # its storage engine has them, and the replicas


def test_a_replica_that_lacks_what_the_source_has_lost_of_its_binary_log_is_refused():
    away = ("kill", "n2", 6.0), ("restart", "n2", CRASH_S + 4.0)
    result = run(*away, ("power-loss", "n1", CRASH_S), ("restart", "n1", CRASH_S + 1.0),
                 sync_binlog=0)  # fmt: skip
    assert refused(result, "n2") == "1236 the source has purged required GTIDs"
    assert executed(result)[0] < executed(result)[1]


@pytest.mark.parametrize(
    ("version", "sync_binlog", "flush_log", "fetched_again"),
    [
        ("mysql-9", 1, 1, False),
        ("mysql-9", 0, 1, False),  # its engine has them
        ("mysql-9", 1, 2, False),  # its binary log has them, so it never gets them again
        ("mysql-9", 0, 2, True),
        ("mariadb-11.8", 1, 2, True),  # a replica of MariaDB asks its engine
    ],
)
def test_what_a_replica_loses_it_fetches_again_if_it_knows(
    version, sync_binlog, flush_log, fetched_again
):
    result = crash(
        "power-loss", "n2", version=version, log_replica_updates=True,
        sync_binlog=sync_binlog, innodb_flush_log_at_trx_commit=flush_log,
    )  # fmt: skip
    assert executed(result) == [result.counters["n1"]["Binlog_commits"]] * 2
    lost, engine, _ = found(result, "n2")
    assert (lost + engine > 0) == (flush_log == 2)
    committed = [result.counters[node]["Handler_commit"] for node in ("n2", "n3")]
    assert committed[1] == executed(result)[0]
    before = [line.at_s for line in lines(result, "synced", "n2")]
    assert before == [pytest.approx(CRASH_S + 2.8, abs=0.2)]
    assert result.faults.fates.overlooked.median == (0.0 if fetched_again else engine)


@pytest.mark.parametrize(
    ("what", "options", "loses"),
    [
        # Acknowledged means written: it takes an fsync until it is on the disk.
        ("power-loss", {"sync_relay_log": 10_000}, True),
        ("power-loss", {"sync_relay_log": 1}, False),
        ("kill", {"relay_log_recovery": False}, False),
        # What is not applied is dropped, and the source is gone from which it would come again.
        ("kill", {"relay_log_recovery": True}, True),
    ],
)
def test_what_was_acknowledged_is_lost_with_the_relay_logs_and_the_source(what, options, loses):
    ends = [(what, node, 10.0) for node in ("n1", "n2", "n3")]
    starts = [(("restart"), node, 11.0) for node in ("n2", "n3")]
    result = run(
        *ends, *starts, model="semisync", duration_s=60.0, replica_parallel_workers=0,
        costs={"apply_us": 2e5}, **options,
    )  # fmt: skip
    assert (result.faults.fates.lost.median > 50.0) == loses
    if not loses:
        assert result.faults.fates.lost.median == 0.0


def test_what_a_replica_before_mysql_8_would_execute_again_is_refused():
    with pytest.raises(simrep.ScenarioError, match=r"n2.*executes some again.*sync_binlog = 1"):
        crash("power-loss", "n2", version="mysql-5.6", sync_binlog=0, log_replica_updates=True)


def test_the_kernel_writes_back_what_has_been_dirty_for_long():
    clock = Clock()
    file, lost = LogFile(clock, phase_s=2.0), []
    for at_s in (1.0, 10.0, 31.9, 32.1):
        clock.at(at_s, file.append, at_s)
    clock.at(31.95, lambda _: lost.append(list(file)))
    clock.at(33.0, lambda _: lost.append(list(file)))  # it looks at 2, 7, ..., 32 s
    clock.at(40.0, lambda _: lost.append(file.lose()))
    clock.run(50.0)
    assert lost == [[1.0, 10.0, 31.9], [32.1], [32.1]]


@pytest.mark.parametrize(
    ("version", "what", "settings", "lost"),
    [
        ("mysql-9", "kill", {"innodb_flush_log_at_trx_commit": 0}, NOTHING),
        ("mysql-5.7", "kill", {"innodb_flush_log_at_trx_commit": 0}, SECOND),
        ("mysql-9", "power-loss", {}, NOTHING),
        ("mysql-9", "power-loss", {"sync_binlog": 0}, NOTHING),  # InnoDB has it
        ("mysql-9", "power-loss", {"innodb_flush_log_at_trx_commit": 2}, SECOND),
        ("mysql-9", "power-loss", {"innodb_flush_log_at_trx_commit": 2, "log_bin": False}, SECOND),
        ("mysql-9", "leave", {"innodb_flush_log_at_trx_commit": 2, "sync_binlog": 0}, NOTHING),
    ],
)
def test_what_a_server_without_replicas_loses(version, what, settings, lost):
    result = crash(what, model="standalone", version=version, nodes=1, **settings)
    least, most = lost
    assert least <= result.faults.fates.lost.median <= most
    (started,) = lines(result, "synced", "n1")
    assert started.at_s == pytest.approx(CRASH_S + 2.8, abs=0.1)  # start_ms
    assert result.counters["n1"]["Handler_commit"] > 50  # and clients are there again


@pytest.mark.parametrize(("role", "cuts"), [("MASTER", False), ("SLAVE", True)])
def test_a_source_of_mariadb_that_was_replaced_cuts_off_what_it_had_only_prepared(role, cuts):
    cut = {"what": "cut", "node": "n1", "at_s": 5.5, "until_s": 9.0}
    ends = ("power-loss", "n1", 6.0), ("promote", "n2", 7.0), ("restart", "n1", 8.0)
    result = run(
        cut, *ends, model="semisync", version="mariadb-11.8", duration_s=10.4,
        log_replica_updates=True, sync_binlog=1, init_rpl_role=role,
        rpl_semi_sync_master_wait_point="AFTER_SYNC",
    )  # fmt: skip
    assert result.faults.fates.extra.median == (0.0 if cuts else 2.0)  # both clients waited
    assert result.faults.fates.lost.median == 0.0
