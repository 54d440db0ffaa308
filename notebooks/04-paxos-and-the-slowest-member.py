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
# # 4. Paxos, quorum and the slowest member
#
# MySQL Group Replication decides by majority. So a slow member in the minority should delay nobody.
# But it does delay everybody. Why?
#
# **Write down your guess.** Two members are 0.4 ms apart, the third is 60 ms away. How long does a
# commit take when a near member writes? When the far one writes? Does a larger group make commits
# slower?
#
# *For teachers.* 45 minutes: guesses, the film of one round, the layouts. 90 minutes: a single
# leader, larger groups, the exercise.

# %%
import simrep

scenario = simrep.load("""
name = "Group Replication, third member 60 ms away"

[cluster]
model = "group_replication"
version = "mysql-8.4"
nodes = ["n1", "n2", "n3"]

[network]
rtt_ms = 0.4

[[network.path]]
from = "*"
to = "n3"
rtt_ms = 60

[workload]
preset = "sysbench-oltp-insert"
nodes = ["n1"]
threads = 1
transactions_per_client = 60

[run]
interval_s = 0.1
""")
one = simrep.run(scenario, seed=1)
print(f"half of the commits take up to {1e3 * one.latency_s['p50']:.1f} ms")
assert one.latency_s["p50"] > 0.060

# %% [markdown]
# `n1` and `n2` are a majority, 0.4 ms apart, and a commit takes 60 ms all the same. Look at the
# messages of one commit: *accept* goes to all, *ack* comes back from a majority at once, and the
# value is decided. But before it is **delivered**, every earlier place in the order has to be
# decided or given up (*skip*), and only its owner can give up a place. (In the picture `n2` is 10
# ms away and `n3` 40 ms: with 0.4 ms *accept* and *learn* would lie on one another.)

# %%
apart = scenario.replace(
    {
        "name": "Group Replication, n2 10 ms and n3 40 ms away",
        "network.rtt_ms": 10,
        "network.path": [
            {"from": "n1", "to": "n3", "rtt_ms": 40},
            {"from": "n2", "to": "n3", "rtt_ms": 30},
        ],
    }
)
commit = simrep.explain(apart, txn=20, seed=1)
commit.plot()

# %%
commit.animate(seconds=4)

# %% [markdown]
# Decided after one round trip to `n2`, 10 ms; delivered after another one to `n3`, 40 ms more.
#
# ## Which member is slow, and which one writes
#
# Deciding takes a round trip to the nearest majority, delivering takes the skip of the farthest
# member. A writer on the far side pays both.

# %%
layouts = {
    "far member in the minority": {},
    "writer on the far side": {
        "network.path": [{"from": "*", "to": "n1", "rtt_ms": 60}],
    },
    "three sites 60 ms apart": {
        "network.path": [{"from": "*", "to": "*", "rtt_ms": 60}],
    },
}
results = {name: simrep.run(scenario.replace(changed), seed=1) for name, changed in layouts.items()}
for name, result in results.items():
    print(f"{name:27} p50 {1e3 * result.latency_s['p50']:6.1f} ms")
assert results["writer on the far side"].latency_s["p50"] > 0.115

# %% [markdown]
# ## A single leader
#
# If only the primary has places in the order, nobody has to give any up. Then the majority alone
# decides, and the far member may be as slow as it likes.

# %%
LEADER = "cluster.options.group_replication_paxos_single_leader"
led = {
    f"{name}, {how}": simrep.run(scenario.replace({**changed, LEADER: leader}), seed=1)
    for name, changed in layouts.items()
    for how, leader in (("all propose", False), ("single leader", True))
}
near = led["far member in the minority, single leader"]
print(f"single leader, far member in the minority: p50 {1e3 * near.latency_s['p50']:.1f} ms")
assert near.latency_s["p50"] < 0.005

# %%
from simrep.show.plot.breakdown import plot_breakdowns

plot_breakdowns({name: result.breakdown() for name, result in led.items()})

# %% [markdown]
# The far member now lags behind by its backlog, and readers there read the past. [Consistency
# levels](../docs/howto/tune-group-replication.md) remove the staleness at the old price.
#
# ## Larger groups
#
# The median commit by the size of the group, all members 20 ms apart: a larger majority costs
# nothing as long as all are equally far.

# %%
equal = {"name": "All members 20 ms apart", "network.path": [], "network.rtt_ms": 20}
sizes = simrep.sweep(
    scenario.replace({**equal, "cluster.nodes": 3}),
    {"cluster.nodes": [3, 5, 7, 9], LEADER: [False, True]},
    seed=1,
)
median_s = {tuple(one.labels.values()): one.mean("latency_s.p50") for one in sizes.points}
assert median_s[9, True] < 1.1 * median_s[3, True]
sizes.plot(of="latency_s.p50")

# %% [markdown]
# ## What you have learned
#
# - A majority decides, but the slowest member bounds the delivery, unless there is a single leader.
# - Put the writer where the majority is; a far writer pays two round trips.
#
# **Try yourself.** Put the third member into the same site and a fourth and a fifth 60 ms away. Who
# is the majority now? Then `model = "galera"` with `version = "mariadb-11.8"` for the first layout:
# one round trip too, but for another reason ([which
# product](../docs/explanation/group-replication.md)).
#
# The solution is in the folded cell below.

# %% tags=["hide-cell"] jupyter={"source_hidden": true, "outputs_hidden": true}
# Three of five members are a majority, and they are 0.4 ms apart. The order still asks the far ones for their skips.
five = {
    "cluster.nodes": ["n1", "n2", "n3", "n4", "n5"],
    "network.path": [
        {"from": "*", "to": "n4", "rtt_ms": 60},
        {"from": "*", "to": "n5", "rtt_ms": 60},
    ],
}
for how, leader in (("all propose", False), ("single leader", True)):
    result = simrep.run(scenario.replace({**five, LEADER: leader}), seed=1)
    print(f"five members, {how:13}: p50 {1e3 * result.latency_s['p50']:5.1f} ms")
# Galera does not decide by majority: a commit waits until every node is known to have it, the far one too.
galera = {"model": "galera", "version": "mariadb-11.8", "nodes": ["n1", "n2", "n3"]}
result = simrep.run(scenario.replace(cluster=galera), seed=1)
print(f"Galera, first layout: p50 {1e3 * result.latency_s['p50']:.1f} ms")
