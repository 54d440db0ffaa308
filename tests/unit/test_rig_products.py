"""Clusters of the rig: command lines, health, counters, and what is asked of servers."""

import pytest
from pymysql.err import OperationalError

from simrep.rig.cluster import await_condition, unequal
from simrep.rig.equipment import product
from simrep.rig.errors import RigError
from simrep.rig.galera import galera_arguments, galera_problems
from simrep.rig.group_replication import FOUND, group_arguments, group_problems
from simrep.rig.server import (
    MARIADB,
    MYSQL,
    PERCONA,
    RigServer,
    option_arguments,
    option_file,
)
from simrep.rig.source_replica import replica_problems, semisync_arguments
from tests.rig_hosts import PretendedEngine, PretendedHost, PretendedServers, status_rows

SYNCED = {
    "wsrep_cluster_status": "Primary",
    "wsrep_local_state_comment": "Synced",
    "wsrep_connected": "ON",
    "wsrep_ready": "ON",
    "wsrep_cluster_state_uuid": "u",
    "wsrep_cluster_conf_id": "2",
    "wsrep_cluster_size": "2",
    "wsrep_last_committed": "7",
    "wsrep_local_recv_queue": "0",
}
ONLINE = {"member_state": "ONLINE", "member_role": "SECONDARY", "view_id": "v:2"}
PRIMARY = {**ONLINE, "member_role": "PRIMARY"}
NODES = ("n1", "n2")
REPLICA = {"Slave_IO_Running": "Yes", "Slave_SQL_Running": "Yes", "Last_IO_Error": ""}


# ---------------------------------------------------------------- command lines --


def test_options_keep_the_product_spelling():
    options = {"sync_binlog": 0, "innodb_doublewrite": False, "x": 0.25, "y": "AFTER_SYNC"}
    assert option_arguments(options) == [
        "--sync_binlog=0",
        "--innodb_doublewrite=OFF",
        "--x=0.25",
        "--y=AFTER_SYNC",
    ]


def test_options_with_a_dot_are_those_of_the_galera_provider():
    options = {
        "evs.send_window": 512,
        "gcs.fc_limit": 16,
        "wsrep_slave_threads": 4,
        "wsrep_provider_options": "evs.keepalive_period=PT5S;",
    }
    addresses = ["10.0.0.1", "10.0.0.2"]
    found = galera_arguments("n2", "10.0.0.2", addresses, "/lib/g.so", ("--sst",), options)
    assert "--wsrep-cluster-address=gcomm://10.0.0.1,10.0.0.2" in found
    assert "--wsrep-node-address=10.0.0.2" in found
    assert "--wsrep_slave_threads=4" in found
    assert found[-1] == (
        "--wsrep-provider-options=evs.keepalive_period=PT5S;evs.send_window=512;gcs.fc_limit=16"
    )


def test_members_of_a_group_know_one_another():
    options = {"group_replication_single_primary_mode": False, "replica_parallel_workers": 4}
    found = group_arguments("10.0.0.2", ["10.0.0.1", "10.0.0.2"], options)
    assert "--loose-group_replication_local_address=10.0.0.2:33061" in found
    assert "--loose-group_replication_group_seeds=10.0.0.1:33061,10.0.0.2:33061" in found
    assert found[-2:] == [
        "--loose-group_replication_single_primary_mode=OFF",
        "--replica_parallel_workers=4",
    ]


def test_each_side_of_semisynchronous_replication_has_its_own_options():
    options = {"rpl_semi_sync_source_wait_point": "AFTER_COMMIT", "sync_binlog": 1}
    source = semisync_arguments("mysql", options, source=True)
    replica = semisync_arguments("mysql", options, source=False)
    assert "--plugin-load-add=semisync_source.so" in source
    assert "--loose-rpl_semi_sync_source_wait_point=AFTER_COMMIT" in source
    assert "--plugin-load-add=semisync_replica.so" in replica
    assert not any("wait_point" in argument for argument in replica)
    assert source[-1] == replica[-1] == "--sync_binlog=1"
    theirs = semisync_arguments("mariadb", {"rpl_semi_sync_master_timeout": 5}, source=True)
    assert theirs[-1] == "--rpl_semi_sync_master_timeout=5"  # built in: a wrong name is refused
    assert semisync_arguments("mariadb", {}, source=True) == ["--rpl-semi-sync-master-enabled=ON"]
    assert semisync_arguments("mariadb", {}, source=False) == ["--rpl-semi-sync-slave-enabled=ON"]


def test_a_server_is_told_where_its_data_are(tmp_path):
    host = PretendedHost("n2", tmp_path)
    server = RigServer(host, MYSQL, 2, ["--sync_binlog=0"], tmp_path / "n2.log")
    assert server.command == ["mysqld", "--defaults-file=/data/server.cnf"]
    assert "--datadir=/data/data" in server.arguments
    assert server.socket == tmp_path / "n2" / "server.sock"
    assert server.socket_inside == "/data/server.sock"
    server.initialise()
    lines = (tmp_path / "n2" / "server.cnf").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "[mysqld]"
    assert {'server-id="2"', 'sync_binlog="0"', "skip-name-resolve"} <= set(lines)
    assert host.ran[-1][-2:] == ["--initialize-insecure", "--datadir=/data/data"]
    assert server.cpu_seconds() == 1.5


def test_an_option_file_takes_any_value():
    found = option_file(["--a=x;y=z", '--b="quoted" \\ end', "--skip-c", "--d="]).splitlines()
    assert found[:5] == ["[mysqld]", 'a="x;y=z"', 'b="\\"quoted\\" \\\\ end"', "skip-c", 'd=""']


def test_large_numbers_keep_their_digits():
    assert option_arguments({"x": 16777216.0}) == ["--x=16777216"]


def test_a_socket_whose_path_is_too_long_is_refused(tmp_path):
    host = PretendedHost("n1", tmp_path / ("x" * 120))
    with pytest.raises(RigError, match="SIMREP_RIG"):
        RigServer(host, MARIADB, 1, [], tmp_path / "log").initialise()


def test_programs_have_their_names():
    assert MARIADB.initialise[0] == "mariadb-install-db"
    assert MARIADB.arguments == ()
    assert PERCONA.arguments == (*MYSQL.arguments, "--pxc-encrypt-cluster-traffic=OFF")
    assert (MARIADB.slap_program, MYSQL.slap_program) == ("mariadb-slap", "mysqlslap")


def test_products_are_known_with_their_servers():
    with pytest.raises(RigError, match="no group_replication on mariadb: there are galera on"):
        product("group_replication", "mariadb")


# ---------------------------------------------------------------------- health --


def test_a_whole_galera_cluster_has_no_problem():
    assert galera_problems({"n1": SYNCED, "n2": SYNCED}) == ()


def test_every_problem_of_a_galera_cluster_is_told():
    donor = {**SYNCED, "wsrep_local_state_comment": "Donor/Desynced", "wsrep_cluster_conf_id": "3"}
    assert galera_problems({"n1": SYNCED, "n2": donor}) == (
        "n2: wsrep_local_state_comment is Donor/Desynced, not Synced",
        "nodes differ in wsrep_cluster_conf_id",
    )
    assert "n1: wsrep_cluster_size is 2, not 1" in galera_problems({"n1": SYNCED})


def test_a_group_has_one_primary_or_all():
    assert group_problems({"n1": [PRIMARY, ONLINE], "n2": [PRIMARY, ONLINE]}) == ()
    assert group_problems({"n1": [PRIMARY, PRIMARY], "n2": [PRIMARY, PRIMARY]}) == ()
    assert "n1 sees 0 primaries" in group_problems(
        {"n1": [ONLINE, ONLINE], "n2": [PRIMARY, ONLINE]}
    )


def test_every_problem_of_a_group_is_told():
    recovering = {**ONLINE, "member_state": "RECOVERING"}
    assert group_problems({"n1": [PRIMARY, recovering], "n2": []}) == (
        "n1 sees 1 ONLINE, 1 RECOVERING, not 2 ONLINE",
        "n2 sees nobody, not 2 ONLINE",
        "n2 sees 0 primaries",
    )
    other = {**PRIMARY, "view_id": "v:3"}
    views = {"n1": [PRIMARY, ONLINE], "n2": [other, {**ONLINE, "view_id": "v:3"}]}
    assert group_problems(views) == ("members are in 2 views",)


def test_a_source_that_went_asynchronous_is_no_semisynchronous_one():
    status = {"rpl_semi_sync_source_status": "OFF", "rpl_semi_sync_source_clients": "1"}
    wanted = {"rpl_semi_sync_source_status": "ON", "rpl_semi_sync_source_clients": "2"}
    assert unequal(status, wanted) == [
        "rpl_semi_sync_source_status is OFF, not ON",
        "rpl_semi_sync_source_clients is 1, not 2",
    ]


def test_replicas_are_asked_for_both_threads_in_both_spellings():
    assert replica_problems("n2", {"replica_io_running": "Yes", "replica_sql_running": "Yes"}) == []
    found = {"slave_io_running": "Connecting", "slave_sql_running": "Yes", "last_io_error": "why"}
    assert replica_problems("n2", found) == ["n2: replica_io_running is Connecting: why"]
    assert len(replica_problems("n2", {})) == 2


# ------------------------------------------------------------------- formation --


def galera_status(servers):
    def answer(server):
        joined = sum(host.running for host in servers)
        return status_rows({**SYNCED, "wsrep_cluster_size": str(joined), "Com_insert": "5"})

    return answer


def test_a_galera_cluster_is_founded_then_joined(monkeypatch, tmp_path):
    engine = PretendedEngine(
        2, tmp_path, {"libgalera_smm.so": "/usr/lib/galera/libgalera_smm.so\n", "rsync": "/r\n"}
    )
    PretendedServers(monkeypatch, {"show global status": galera_status(engine.hosts)})
    cluster = product("galera", "mariadb").form(engine, {"evs.send_window": 4}, tmp_path)
    first, second = (host.launched[0] for host in engine.hosts)
    options = [(tmp_path / name / "server.cnf").read_text(encoding="utf-8") for name in NODES]
    assert "--wsrep-new-cluster" in first
    assert "--wsrep-new-cluster" not in second
    assert all('wsrep-sst-method="rsync"' in text for text in options)
    assert cluster.system == "galera"
    assert cluster.health().ok
    assert cluster.health().facts["n2"]["wsrep_cluster_size"] == "2"
    assert cluster.counters()["n1"]["com_insert"] == "5"
    assert cluster.counters()["n1"]["wsrep_last_committed"] == "7"
    assert cluster.caught_up(1.0)
    engine.hosts[1].running = False
    assert cluster.health().problems == ("n2: the server is not running",)
    cluster.stop()
    assert not engine.hosts[0].running
    assert engine.hosts[0].ran[-1] == ["sh", "-c", "rm -rf /data/*"]
    cluster.stop()


def test_a_cluster_that_cannot_be_formed_leaves_no_server(monkeypatch, tmp_path):
    engine = PretendedEngine(2, tmp_path, {"libgalera_smm.so": "/g.so"})
    PretendedServers(monkeypatch, {"show global status": status_rows({})})
    monkeypatch.setattr("simrep.rig.galera.JOIN_S", 0.1)
    with pytest.raises(RigError, match="n1 synced in a cluster of 1: not within"):
        product("galera", "mariadb").form(engine, {}, tmp_path)
    assert not any(host.running for host in engine.hosts)
    options = (tmp_path / "n1" / "server.cnf").read_text(encoding="utf-8")
    assert 'wsrep-sst-method="mariabackup"' in options
    # On a command line that one would be passed to mariadb-backup, which does not know it.
    assert "innodb" not in " ".join(engine.hosts[0].launched[0])


def test_an_option_that_no_server_knows_is_refused(monkeypatch, tmp_path):
    engine = PretendedEngine(2, tmp_path)
    known = status_rows({"sync_binlog": "1", "rpl_semi_sync_source_wait_point": "AFTER_SYNC"})
    running = {"rpl_semi_sync_source_status": "ON", "rpl_semi_sync_source_clients": "1"}
    answers = {
        "show replica status": [REPLICA],
        "show global status": status_rows(running),
        "show global variables": known,
    }
    PretendedServers(monkeypatch, answers)
    form = product("semisync", "mysql").form
    form(engine, {"sync-binlog": 0, "evs.send_window": 4}, tmp_path)
    with pytest.raises(RigError, match="no option rpl_semi_sync_source_wait_pont; did you mean"):
        form(engine, {"rpl_semi_sync_source_wait_pont": "AFTER_COMMIT"}, tmp_path)
    assert not any(host.running for host in engine.hosts)


def test_a_server_that_does_not_answer_is_a_problem(monkeypatch, tmp_path):
    engine = PretendedEngine(2, tmp_path, {"libgalera_smm.so": "/g.so", "rsync": "/r"})
    PretendedServers(monkeypatch, {"show global status": galera_status(engine.hosts)})
    cluster = product("galera", "mariadb").form(engine, {}, tmp_path)

    def gone(*_):
        raise OperationalError(2013, "lost")

    monkeypatch.setattr(RigServer, "query", gone)
    assert not cluster.health().ok
    assert not cluster.caught_up(1.0)


def test_galera_needs_its_provider(tmp_path):
    with pytest.raises(RigError, match="no Galera provider"):
        product("galera", "mariadb").form(PretendedEngine(2, tmp_path), {}, tmp_path)


def test_a_group_is_bootstrapped_once(monkeypatch, tmp_path):
    engine = PretendedEngine(2, tmp_path)

    def members(_server):
        count = sum(host.running for host in engine.hosts)
        return [PRIMARY, ONLINE][:count]

    servers = PretendedServers(
        monkeypatch,
        {
            "select member_host": members,
            "select * from performance_schema": [{"COUNT_TRANSACTIONS_CHECKED": 3}],
            "select @@global.gtid_executed": [{"value": "uuid:1-5,\nother:1"}],
            "select wait_for_executed_gtid_set": [{"value": 0}],
        },
    )
    group = product("group_replication", "mysql").form(engine, {}, tmp_path)
    assert set(FOUND) <= set(servers.of("n1"))
    assert not any("bootstrap" in statement for statement in servers.of("n2"))
    assert group.health().ok
    assert group.counters()["n2"]["count_transactions_checked"] == "3"
    assert group.caught_up(1.0)
    assert any("'uuid:1-5,other:1'" in statement for statement in servers.of("n2"))
    group.stop()


@pytest.mark.parametrize(
    ("server", "follow", "wait"),
    [
        ("mysql", "change replication source to source_host='10.0.0.1'", "wait_for_executed"),
        ("mariadb", "change master to master_host='10.0.0.1'", "master_gtid_wait"),
    ],
)
def test_replicas_follow_the_first_server(monkeypatch, tmp_path, server, follow, wait):
    engine = PretendedEngine(3, tmp_path)
    prefix = "rpl_semi_sync_source" if server == "mysql" else "rpl_semi_sync_master"
    servers = PretendedServers(
        monkeypatch,
        {
            "show replica status": [REPLICA],
            "show global status": status_rows({f"{prefix}_status": "ON", f"{prefix}_clients": "2"}),
            "select @@global": [{"value": "0-1-9"}],
            f"select {wait}": [{"value": 0}],
        },
    )
    for name in ("semisync", "asynchronous"):
        cluster = product(name, server).form(engine, {}, tmp_path)
        assert cluster.system == name
        assert cluster.health().ok
        assert any(statement.startswith(follow) for statement in servers.of("n3"))
        told = servers.of("n1")
        user = next(i for i, statement in enumerate(told) if statement.startswith("create user"))
        assert told[user - 1] == "set sql_log_bin=0"  # no replica is waited for
        assert cluster.caught_up(1.0)
        cluster.stop()
    assert any("wait('0-1-9'" in s or "set('0-1-9'" in s for s in servers.of("n2"))


def test_a_server_that_ends_at_once_tells_its_log(monkeypatch, tmp_path):
    host = PretendedHost("n1", tmp_path)
    log = tmp_path / "n1.log"
    log.write_text("[ERROR] no space left", encoding="utf-8")
    host.launch = lambda argv, log: None
    with pytest.raises(RigError, match=r"n1 ended: .*no space left"):
        RigServer(host, MARIADB, 1, [], log).start()


def test_waiting_ends(monkeypatch):
    with pytest.raises(RigError, match=r"rain: not within 0\.01 s"):
        await_condition("rain", lambda: False, 0.01)
