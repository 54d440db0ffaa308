"""A server's files as a scenario: product, options, network, load."""

import tomllib
from functools import partial

import pytest

from simrep.errors import ScenarioError
from simrep.intake.description import Overrides, ServerFiles, from_server
from simrep.runs.run import run
from simrep.scenario import load, with_values
from simrep.scenario.pack import Pack
from tests.server_files import (
    GALERA_AFTER,
    GALERA_BEFORE,
    GALERA_CNF,
    SEMISYNC_AFTER,
    as_batch,
    as_box,
    as_vertical,
    boxed,
    described_from,
    finding,
    write,
)

PROVIDER = "/usr/lib/galera4/libgalera_smm.so"
GALERA_RUNS = {
    "version": "11.8.9-MariaDB-4 from Debian",
    "wsrep_on": "ON",
    "wsrep_provider": PROVIDER,
    "wsrep_slave_threads": "4",
    "wsrep_provider_options": "evs.send_window = 4; evs.keepalive_period = PT1S; gcs.fc_limit = 16",
    "innodb_flush_log_at_trx_commit": "1",
    "thread_pool_size": "2",
}


@pytest.fixture
def described(tmp_path):
    return partial(described_from, tmp_path)


def test_what_scripts_of_a_state_transfer_read(described):
    section = (
        "wsrep_sst_method = mariabackup\n[sst]\ncompressor = 'zstd -1 -T4'\nbackup-threads = 4\n"
        "compress-threads = 8\nstreamfmt = mbstream\n[xtrabackup]\nrlimit = 50M\n"
    )
    one = described(GALERA_CNF + section)
    options = one.scenario["cluster"]["options"]
    assert options["wsrep_sst_method"] == "mariabackup"
    assert options["sst.compressor"] == "zstd -1 -T4"
    assert options["sst.backup-threads"] == 4
    assert options["sst.rlimit"] == 50 << 20
    assert "sst.compress-threads" not in options, "the tool compresses nothing"


# -- the whole -----------------------------------------------------------------------------------


def test_a_galera_server(described):
    one = described(GALERA_CNF, GALERA_BEFORE, GALERA_AFTER)
    cluster = one.scenario["cluster"]
    assert (cluster["model"], cluster["nodes"], cluster["pack"]) == ("galera", 3, "mine.pack.toml")
    assert cluster["options"] == {
        "evs.keepalive_period": 2.0,
        "gcache.size": 2 << 30,
        "gcs.fc_limit": 64,
        "wsrep_slave_threads": 8,
        "innodb_flush_log_at_trx_commit": 2,
    }
    assert one.scenario["network"] == {"rtt_ms": pytest.approx(0.08)}
    workload = one.scenario["workload"]
    assert workload["rate_tps"] == pytest.approx(895.6)
    assert workload["connections"] == 32
    [kind] = workload["class"]
    assert (kind["statements"], kind["rows"], kind["reads"]) == (4, 1, 14)
    assert kind["autocommit"] is False
    assert kind["keys"]["distribution"] == "uniform"


def test_everything_says_where_it_comes_from(described):
    one = described(GALERA_CNF, GALERA_BEFORE, GALERA_AFTER)
    assert finding(one, "cluster.options.gcs.fc_limit").origin == "my.cnf:22"
    assert "status0.txt" in finding(one, "workload.rate_tps").origin
    assert "status1.txt" in finding(one, "workload.rate_tps").origin
    assert all(each.note for each in one.defaults)
    defaults = {each.setting for each in one.defaults}
    assert {"pack.costs.fsync_us", "pack.machine.cores", "workload.client"} <= defaults
    unused = {each.setting: each.note for each in one.not_simulated}
    assert {"innodb-buffer-pool-size", "user", "binlog_format"} <= unused.keys()
    assert "in memory" in unused["innodb-buffer-pool-size"]
    assert not any(name.startswith("wsrep") for name in unused)


def test_both_texts_are_what_was_found_and_can_be_run(described, tmp_path):
    one = described(GALERA_CNF, GALERA_BEFORE, GALERA_AFTER)
    text = one.scenario_text()
    assert tomllib.loads(text) == one.scenario
    assert tomllib.loads(one.pack_text()) == one.pack
    Pack.model_validate(one.pack)
    assert '"gcs.fc_limit" = 64 # my.cnf:22' in text
    assert "cores = 4 # default: " in one.pack_text()
    write(tmp_path, "mine.pack.toml", one.pack_text())
    short = {"run.duration_s": 1.0, "run.warmup_s": 0.2}
    scenario = with_values(load(write(tmp_path, "mine.toml", text)), short)
    assert run(scenario, seed=1).committed > 500


def test_simulated_writesets_have_the_measured_size(described):
    one = described(GALERA_CNF, GALERA_BEFORE, GALERA_AFTER)
    scenario = {**one.scenario, "cluster": {**one.scenario["cluster"]}}
    del scenario["cluster"]["pack"]
    scenario["run"] = {"duration_s": 0.5}
    counters = run(scenario, seed=2).counters["n1"]
    size = counters["wsrep_replicated_bytes"] / counters["wsrep_replicated"]
    assert size == pytest.approx(8380968 / 4478, rel=0.01)


def test_what_somebody_knows_counts_above_the_files(described):
    overrides = Overrides("galera", "10.11.6-MariaDB", 5, 16, 12.5, 900.0)
    one = described(GALERA_CNF, GALERA_BEFORE, GALERA_AFTER, overrides=overrides)
    assert one.scenario["cluster"]["version"] == "mariadb-10.11"
    assert one.scenario["cluster"]["nodes"] == 5
    assert one.scenario["network"] == {"rtt_ms": 12.5}
    assert one.pack["machine"] == {"cores": 16}
    assert one.pack["costs"] == {"fsync_us": 900.0}
    assert finding(one, "network.rtt_ms").origin == "--rtt-ms"


def test_nothing_to_read_is_refused():
    with pytest.raises(ScenarioError, match="nothing to read"):
        from_server(ServerFiles(), name="mine")


@pytest.mark.parametrize("form", [as_box, as_batch, as_vertical])
def test_the_form_of_the_counters_does_not_matter(described, form):
    plain = described(GALERA_CNF, GALERA_BEFORE, GALERA_AFTER)
    other = described(GALERA_CNF, form(GALERA_BEFORE), form(GALERA_AFTER))
    assert other.scenario == plain.scenario


# -- product -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cnf", "variables", "model", "version"),
    [
        ("", GALERA_RUNS, "galera", "mariadb-11.8"),
        ("", GALERA_RUNS | {"version": "5.5.5-10.6.18-MariaDB-log"}, "galera", "mariadb-10.6"),
        ("", GALERA_RUNS | {"version": "10.5.1-MariaDB", "wsrep_on": "OFF"}, "standalone", None),
        (
            "[mysqld]\npxc_strict_mode=ENFORCING\n",
            {"version": "8.0.36-28.1", "wsrep_provider": PROVIDER},
            "galera",
            "pxc-8.0",
        ),
        (
            "",
            {
                "version": "5.7.17-13-57-log",
                "version_comment": "Percona XtraDB Cluster (GPL), Release rel13, WSREP 27.20",
                "wsrep_provider": PROVIDER,
            },
            "galera",
            "pxc-5.7.16",
        ),
        (
            "",
            {"version": "8.0.36", "group_replication_group_name": "aaaaaaaa-aaaa"},
            "group_replication",
            "mysql-8.0",
        ),
        (
            "[mysqld]\ngroup_replication_group_name=a\n",
            {"version": "5.7.44"},
            "group_replication",
            "mysql-5.7.17",
        ),
        ("", {"version": "9.7.4-2", "rpl_semi_sync_source_enabled": "ON"}, "semisync", "mysql-9"),
        ("[mysqld]\nrpl_semi_sync_master_enabled=1", {"version": "5.6"}, "semisync", "mysql-5.6"),
        ("", {"version": "8.4", "rpl_semi_sync_source_enabled": "0"}, "standalone", "mysql-8.4"),
    ],
)
def test_model_and_version(described, cnf, variables, model, version):
    cluster = described(cnf, variables=variables).scenario["cluster"]
    assert cluster["model"] == model
    if version is not None:
        assert cluster["version"] == version


def test_a_replica_that_reads_the_binary_log(described):
    replicas = boxed([("Server_Id", "Host", "Port", "Source_Id"), ("2", "", "3306", "1")])
    one = described("", as_box(SEMISYNC_AFTER | {"Rpl_semi_sync_source_status": "OFF"}) + replicas)
    assert one.scenario["cluster"]["model"] == "asynchronous"
    assert one.scenario["cluster"]["nodes"] == 2


def test_members_of_a_group_are_counted(described):
    members = boxed(
        [
            ("CHANNEL_NAME", "MEMBER_HOST", "MEMBER_STATE"),
            *[("group_replication_applier", f"db{number}", "ONLINE") for number in range(5)],
        ]
    )
    one = described("", as_box(SEMISYNC_AFTER | {"Rpl_semi_sync_source_status": "OFF"}) + members)
    assert one.scenario["cluster"]["model"] == "group_replication"
    assert one.scenario["cluster"]["nodes"] == 5


def test_without_a_version_the_newest_is_taken_and_that_is_said(described):
    one = described(GALERA_CNF.replace("[mysqld-5.7]", "[mysqld_safe]"), GALERA_AFTER)
    assert one.scenario["cluster"]["version"] == "mariadb-11.8"
    assert "--server-version" in finding(one, "cluster.version").note


def test_without_counters_addresses_tell_the_number_of_nodes(described):
    one = described(GALERA_CNF + "wsrep_cluster_address = gcomm://a,b,c,d,e?pc.wait_prim=no\n")
    assert one.scenario["cluster"]["nodes"] == 5
    assert one.scenario["workload"]["class"] == [{"name": "insert"}]


# -- options -------------------------------------------------------------------------------------


def test_running_variables_count_above_the_option_file(described):
    one = described(GALERA_CNF, variables=GALERA_RUNS)
    options = one.scenario["cluster"]["options"]
    assert options["wsrep_slave_threads"] == 4
    assert options["innodb_flush_log_at_trx_commit"] == 1
    note = finding(one, "cluster.options.wsrep_slave_threads").note
    assert note == "my.cnf:21 says 8"


def test_running_variables_that_are_defaults_are_not_listed(described):
    options = described("", variables=GALERA_RUNS).scenario["cluster"]["options"]
    assert options == {"wsrep_slave_threads": 4}


def test_a_value_that_the_model_does_not_have_is_left_out_and_said(described):
    one = described("[mysqld]\ninnodb_flush_log_at_trx_commit = 3\n")
    assert "options" not in one.scenario["cluster"]
    [unused] = one.not_simulated
    assert unused.setting == "innodb_flush_log_at_trx_commit"
    assert "at most 2" in unused.note
    assert "1 is simulated" in unused.note


def test_passwords_are_shown_to_nobody(described):
    one = described("[mysqld]\nwsrep_sst_auth = sst:s3cret\nreport-password = s3cret\n")
    assert {each.setting for each in one.not_simulated} == {"wsrep_sst_auth", "report-password"}
    assert "s3cret" not in f"{one.to_dict()} {one.scenario_text()} {one.pack_text()}"


def test_processors_of_a_mariadb_are_the_size_of_its_thread_pool(described):
    assert described("", variables=GALERA_RUNS).pack["machine"] == {"cores": 2}
    configured = "[mysqld]\nthread_pool_size = 2\n"
    assert described(configured, variables=GALERA_RUNS).pack["machine"] == {"cores": 4}
