"""Figures of sources that lose their replicas, and of what the loss of a source takes with it."""

import pytest

from simrep import reproduce

HEAD = """
[cluster]
model = "semisync"
nodes = 3
options = { rpl_semi_sync_source_timeout = 1000, source_connect_retry = 1 }

[network]
rtt_ms = 20

[workload]
client = "node"
think_time_ms = 40

[workload.clients]
retry_pause_s = 0.1

[[workload.group]]
name = "A"
node = "n1"
threads = 4
"""
FAULT = """
[[fault]]
what = "{}"
node = "{}"
at_s = {}
"""
RUN = """
[run]
duration_s = {}
"""
FAULTS = {
    "replicas": [
        ("kill", "n2", 1.0), ("kill", "n3", 1.0), ("restart", "n2", 3.0), ("restart", "n3", 3.5),
    ],
    "source": [("kill", "n1", 1.0), ("promote", "n2", 1.5), ("restart", "n1", 2.0)],
}  # fmt: skip
ENDS_S = {"replicas": 6.5, "source": 3.8005}
DATASET = """
title = "Servers of a source with two replicas are killed"
source = "made up"
replications = 2
failures = {}
factors.settings.at.none = {}
"""
SERIES = """
[[series]]
name = "{0}"
title = "kill -9"
scenario = "{0}.toml"
where = {{ experiment = "{0}" }}
"""
MEASURED = {
    "replicas": [
        "waiting_off_after_inject_s", "source_clients_0_after_inject_s",
        "source_clients_1_after_inject_s", "waiting_on_again_after_restart_or_heal_s",
        "waiting_on_with_2_clients_after_restart_s", "stall_survivors_s", "async_fallback_tps",
        "acked_lost_on_source_n",
    ],
    "source": [
        "acked_missing_on_most_advanced_n", "old_source_rows_missing_on_most_advanced_n",
        "rows_read_by_others_on_source_missing_on_most_advanced_n",
        "rows_on_replica_not_acknowledged_n", "old_source_restart_s", "err_A_n1_2013_n",
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    """Medians of the simulated runs, by their names."""
    folder = tmp_path_factory.mktemp("acknowledgements")
    rows = ["experiment,settings,run,metric,value,unit"]
    for name, metrics in MEASURED.items():
        faults = "".join(FAULT.format(*fault) for fault in FAULTS[name])
        (folder / f"{name}.toml").write_text(HEAD + faults + RUN.format(ENDS_S[name]))
        rows += [f"{name},none,1,{metric},1.0,s" for metric in metrics]
    (folder / "dataset.toml").write_text(DATASET + "".join(map(SERIES.format, MEASURED)))
    (folder / "data.csv").write_text("\n".join(rows) + "\n")
    return {figure.metric: figure.predicted for figure in reproduce(folder).failures}


def test_a_source_waits_for_its_last_replicas_until_the_timeout(figures):
    assert figures["waiting_off_after_inject_s"] == pytest.approx(1.0, abs=0.1)
    assert figures["stall_survivors_s"] == pytest.approx(1.0, abs=0.1)
    assert figures["source_clients_1_after_inject_s"] < 1.1
    assert figures["source_clients_0_after_inject_s"] < 1.1
    assert figures["async_fallback_tps"] > 60, "nobody waits for replicas that are gone"
    assert figures["acked_lost_on_source_n"] == 0


def test_it_waits_again_for_the_first_and_is_whole_with_the_last(figures):
    again = figures["waiting_on_again_after_restart_or_heal_s"]
    assert 1.8 < again < 2.3, "the start of a server, and what it has missed"
    assert figures["waiting_on_with_2_clients_after_restart_s"] == pytest.approx(
        again + 0.5, abs=0.1
    )


def test_a_source_that_waits_takes_nothing_with_it_but_what_is_unanswered(figures):
    assert figures["acked_missing_on_most_advanced_n"] == 0
    assert figures["rows_read_by_others_on_source_missing_on_most_advanced_n"] == 0
    extra = figures["old_source_rows_missing_on_most_advanced_n"]
    assert 0 <= extra + figures["rows_on_replica_not_acknowledged_n"] <= 4
    assert figures["err_A_n1_2013_n"] == 4
    assert figures["old_source_restart_s"] == pytest.approx(1.8, abs=0.1)
