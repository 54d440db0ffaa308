# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 5. Semi-synchronous replication through the generations
#
# "A commit waits until a replica has received it." Every generation of MySQL and MariaDB does that.
# Yet 32 clients over the same line commit ten times a second with one version and three hundred
# times with another. How can that be?
#
# **Write down your guess.** The replica is a WAN away. How many commits per second does one client
# make, with the oldest and with the newest version? And 32 clients? Whose fault is the difference:
# the network's, the disk's, or a thread's?
#
# *For teachers.* 45 minutes: guesses, the rates, the stages. 90 minutes: the wait point and hot
# rows, several replicas, the exercise.

# %%
import simrep

scenario = simrep.load("""
name = "A replica 100 ms away"

[cluster]
model = "semisync"
version = "mysql-8.4"
nodes = 2

[network]
rtt_ms = 100

[workload]
preset = "sysbench-oltp-insert"
threads = 32

[run]
duration_s = 4
warmup_s = 1
""")
VERSION, THREADS = "cluster.version", "workload.threads"
versions = ["mysql-5.5", "mysql-5.6", "mysql-5.7", "mysql-8.4", "mariadb-11.8"]
found = simrep.sweep(scenario, {THREADS: [1, 8, 32], VERSION: versions}, seed=1)
found.plot(of="throughput_tps")

# %%
rate = {
    (point.labels[VERSION], point.labels[THREADS]): point.mean("throughput_tps")
    for point in found.points
}
for version in versions:
    print(f"{version:13} 1 client {rate[version, 1]:4.0f}/s, 32 clients {rate[version, 32]:4.0f}/s")
assert rate["mysql-5.5", 32] < 1.2 * rate["mysql-5.5", 1]  # one transaction per round trip
assert rate["mysql-8.4", 32] > 20 * rate["mysql-8.4", 1]  # clients share round trips

# %% [markdown]
# **Compare with your guess.** With one client all are equally fast: a round trip is a round trip.
# With many clients the queues differ:
#
# - **MySQL 5.5 and 5.6**: the thread that sends also reads the reply, before it sends the next
#   transaction. One transaction per round trip, whatever the number of clients.
# - **From MySQL 5.7 on** a separate thread reads replies, and transactions that commit together
#   wait together.
# - **MariaDB** differs: a waiting group holds up the one after the next, for up to a second round
#   trip. Clients that come together, as here, do not notice.
#
# ## Where the time goes

# %%
from simrep.show.plot.breakdown import plot_breakdowns

shown = {
    version: simrep.run(scenario.replace({VERSION: version}), seed=1)
    for version in ("mysql-5.5", "mysql-8.4", "mariadb-11.8")
}
plot_breakdowns({version: result.breakdown() for version, result in shown.items()})

# %% [markdown]
# ## Before or after the commit: the wait point
#
# `AFTER_SYNC` waits before the storage engine commits, `AFTER_COMMIT` after it. With `AFTER_SYNC`
# nobody reads a commit that a crash may still lose, and rows stay locked during the wait. If
# everybody wants the same row, `AFTER_SYNC` does one update per round trip, and `AFTER_COMMIT` one
# per client.

# %%
POINT = "cluster.options.rpl_semi_sync_source_wait_point"
hot = scenario.replace(
    {
        "workload.preset": "sysbench-oltp-update-index",
        "workload.class": [
            {
                "name": "update",
                "keys": {"distribution": "hot", "rows": 10_000, "hot_rows": 1, "hot_fraction": 1.0},
            }
        ],
    }
)
points = {
    f"{rows}, {point}": simrep.run(base.replace({POINT: point}), seed=1)
    for rows, base in (("own rows", scenario), ("one hot row", hot))
    for point in ("AFTER_SYNC", "AFTER_COMMIT")
}
for name, result in points.items():
    print(f"{name:26} {result.throughput_tps:6.0f}/s")
assert points["one hot row, AFTER_SYNC"].throughput_tps < 11
assert points["one hot row, AFTER_COMMIT"].throughput_tps > 100

# %%
plot_breakdowns({name: result.breakdown() for name, result in points.items()})

# %% [markdown]
# ## Which replica a commit waits for
#
# Of several replicas the fastest decides, not the slowest as with Galera. A second replica nearby
# takes the distance out of the commit, and the far one follows when it can.

# %%
three = scenario.replace(
    {
        "cluster.nodes": 3,
        "network.path": [{"from": "n1", "to": "n2", "rtt_ms": 1}],
        "run.duration_s": 2,
    }
)
WAIT = "cluster.options.rpl_semi_sync_source_wait_for_replica_count"
for wait in (1, 2):
    result = simrep.run(three.replace({WAIT: wait}), seed=1)
    print(
        f"wait for {wait}: p50 {1e3 * result.latency_s['p50']:6.1f} ms, "
        f"{result.throughput_tps:6.0f} transactions/s"
    )

# %% [markdown]
# ## What you have learned
#
# - With many clients the version matters as much as the distance.
# - `AFTER_SYNC` protects readers and pays with hot rows; `AFTER_COMMIT` the other way round.
#
# **Try yourself.** Which transactions are lost if the source crashes? Read [Semi-synchronous
# replication](../docs/explanation/semi-synchronous.md#what-a-crash-loses). Then let the clients of
# MySQL 5.6 write ten rows per transaction instead of one: how do rows per second change?
#
# The solution is in the folded cell below.

# %% tags=["hide-cell"] jupyter={"source_hidden": true, "outputs_hidden": true}
# Before an answer, one replica has received the transaction: a crash loses none that was answered. With AFTER_COMMIT
# other clients may have read a transaction that is lost; with AFTER_SYNC nobody has.
#
# MySQL 5.6 sends one transaction per round trip, however large it is: ten rows each are ten times the rows.
old = scenario.replace({VERSION: "mysql-5.6"})
for rows in (1, 10):
    result = simrep.run(old.replace({"workload.class": [{"rows": rows}]}), seed=1)
    print(f"{rows:2} rows each: {rows * result.throughput_tps:4.0f} rows/s")
