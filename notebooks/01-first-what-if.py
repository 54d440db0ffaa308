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
# # 1. A first what-if
#
# Three database servers replicate synchronously, and one moves to another region. What will a
# commit cost, and how much will the cluster still commit? simrep simulates the cluster message by
# message. Run the cells from top to bottom (Shift+Enter), then move the sliders.
#
# **Write down your guess.** The far server is 20 ms away (round trip), and sixteen clients write.
# How long does half of the commits take? How long do 95 %? By how much do faster processors and
# disks shorten them?
#
# *For teachers.* 45 minutes: guesses, the run and its stages, the sliders in class. 90 minutes: the
# better machines, then the exercise in pairs.

# %%
import simrep

scenario = simrep.load("""
name = "Third node in another region"

[cluster]
model = "galera"
version = "mariadb-11.8"
nodes = ["n1", "n2", "n3"]

[network]
rtt_ms = 0.5

[[network.path]]
from = "*"
to = "n3"
rtt_ms = 20

[workload]
preset = "sysbench-oltp-update-index"
threads = 16
nodes = ["n1"]
queries = 500

[run]
interval_s = 0.1
""")

# %% [markdown]
# The tables describe the product and its nodes, the network and the load. `n1` and `n2` are 0.5 ms
# apart, `n3` has a round trip of 20 ms. Sixteen clients write at `n1`, 500 transactions in all,
# like sysbench.

# %%
result = simrep.run(scenario)
print(
    f"{result.throughput_tps:.0f} transactions/s; half of them take up to "
    f"{1e3 * result.latency_s['p50']:.1f} ms, 95 % up to {1e3 * result.latency_s['p95']:.1f} ms"
)
result.plot()

# %% [markdown]
# **Compare with your guess.** No commit is faster than the round trip to the far node: Galera
# commits when *all* nodes are known to have the transaction. Some take two round trips. (One far
# node is the best case. When all nodes are equally far from each other, the floor is one and a half
# round trips, as notebook 7 shows.) Where does the time go?

# %%
print(result.breakdown())

# %% [markdown]
# Not to processors, not to disks: `order` and `send window` wait for the network, and a wait for a
# row lock is a wait for another commit. Would better machines help?

# %%
faster = scenario.replace(
    {
        "cluster.machine.cores": 16,  # instead of 4
        "cluster.costs.statement_us": 45,  # instead of 90
        "cluster.costs.fsync_us": 15,  # instead of 150
    }
)
change = simrep.compare(
    scenario,
    faster,
    figures=["throughput_tps", "latency_s.mean"],
    labels=("today", "better machines"),
    replications=6,
)
print(change.verdict)
change.plot()

# %% [markdown]
# ## Now you
#
# Move the round trip to 100 ms and watch the curve move to the right. Then add threads: which of
# the two figures, latency or throughput, can you buy back? Then the send window (notebook 3
# explains it).

# %%
simrep.explore(
    scenario,
    sliders={
        "network.path.0.rtt_ms": (1, 200),
        "workload.threads": [1, 4, 16, 64],
        "send window": {
            "Galera's default": {
                "cluster.options.evs.send_window": 4,
                "cluster.options.evs.user_send_window": 2,
            },
            "no limit": {
                "cluster.options.evs.send_window": 512,
                "cluster.options.evs.user_send_window": 512,
            },
        },
    },
)

# %% [markdown]
# ## What you have learned
#
# - The network sets the floor of every commit: one round trip to a single far node, one and a half
#   where all nodes are equally far from each other.
# - Throughput is clients divided by latency: more clients make up for the distance, faster machines
#   do not.
#
# **Try yourself.** Change the scenario: `model = "group_replication"`, then `model = "semisync"`,
# both with `version = "mysql-8.4"`. Remove the slider `send window`, a setting of Galera. Who waits
# for the far node, and who does not? Then describe [your own
# cluster](../docs/howto/describe-your-cluster.md).
#
# The solution is in the folded cell below.

# %% tags=["hide-cell"] jupyter={"source_hidden": true, "outputs_hidden": true}
# Galera and Group Replication wait for the far node. Semi-synchronous replication waits for one replica, and the near one
# is enough: the far node follows behind, and a commit does not see the distance.
for model in ("group_replication", "semisync"):
    cluster = {"model": model, "version": "mysql-8.4", "nodes": ["n1", "n2", "n3"]}
    other = simrep.run(scenario.replace(cluster=cluster))
    print(f"{model:18} p50 {1e3 * other.latency_s['p50']:5.1f} ms, {other.throughput_tps:5.0f}/s")
