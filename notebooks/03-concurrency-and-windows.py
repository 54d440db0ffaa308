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
# # 3. Why concurrency hides latency, and what the EVS window does
#
# A commit over a WAN takes a round trip, 80 ms here. How can a cluster still do more than six
# hundred commits per second? Which limit do its clients meet, and why do twice as many get only a
# third more?
#
# **Write down your guess.** How many commits per second do 1, 16, 64 and 128 clients make? Does a
# single commit get slower when others are under way, and by how much?
#
# *For teachers.* 45 minutes: guesses, threads and windows, the film of one slow commit. 90 minutes:
# the slowest twentieth, the third round trip, the exercise.

# %%
import simrep

scenario = simrep.load("""
name = "Galera, third node 80 ms away"

[cluster]
model = "galera"
version = "mariadb-11.8"
nodes = ["n1", "n2", "n3"]

[cluster.options]
wsrep_slave_threads = 16

[network]
rtt_ms = 0.5

[[network.path]]
from = "*"
to = "n3"
rtt_ms = 80

[workload]
preset = "sysbench-oltp-insert"
nodes = ["n1"]
threads = 1

[run]
duration_s = 4
warmup_s = 1
""")
SEND, USER = "cluster.options.evs.send_window", "cluster.options.evs.user_send_window"
windows = {
    "4/2, the default": {SEND: 4, USER: 2},
    "512/512": {SEND: 512, USER: 512},
}

# %% [markdown]
# ## Threads and windows
#
# Transactions do not wait for each other: many can be on their way. The EVS window limits the
# sequence numbers under way in the whole cluster: by default 4, and 2 for a message that meets an
# empty queue.

# %%
found = simrep.sweep(scenario, {"workload.threads": [1, 4, 16, 64, 128], "window": windows}, seed=2)
found.plot(of="throughput_tps")

# %% [markdown]
# **Compare with your guess.** Up to 64, four times the threads make nearly four times the
# throughput (the axis of the threads grows by factors): throughput = clients / latency, Little's
# law. With 128 and the default window the latency has grown, too.

# %%
for point in found.points:
    threads = point.labels["workload.threads"]
    by_law = threads / point.mean("latency_s.mean")
    print(
        f"{threads:3} threads, window {point.labels['window']:17} "
        f"{point.mean('throughput_tps'):6.0f}/s, threads / latency {by_law:6.0f}/s"
    )
    assert abs(by_law / point.mean("throughput_tps") - 1) < 0.1

# %% [markdown]
# ## What the window costs
#
# Latency does *not* stay. With the small window some transactions take two round trips: they find
# the window used up, wait until an answer arrives, and only then set out on their own round trip.

# %%
found.plot(of="latency_s.p95")

# %%
busy = scenario.replace({"workload.threads": 16})
small = simrep.run(busy, seed=2)
large = simrep.run(busy.replace(windows["512/512"]), seed=2)
assert large.latency_s["p95"] < small.latency_s["p95"]
print(
    f"p95 {1e3 * small.latency_s['p95']:.0f} ms with the default window, "
    f"{1e3 * large.latency_s['p95']:.0f} ms with 512/512"
)
small.plot()

# %% [markdown]
# ## One slow commit, seen from within
#
# Time runs to the right, each line is a node, each arrow a message. Look where the transaction
# waits before its own message leaves.

# %%
slow = simrep.explain(busy, txn="p95", seed=2)
slow.plot()

# %%
print(slow)

# %% [markdown]
# The same as a film, slowed down:

# %%
slow.animate(seconds=3)

# %% [markdown]
# Was this commit an exception? The slowest twentieth of all commits shows whether others waited for
# the same, beyond the round trip that no commit can avoid:

# %%
tail = simrep.explain_tail(busy, share=0.05, seed=2)
print(*tail.sentences(), sep="\n")
tail.plot()

# %% [markdown]
# ## A third round trip
#
# With 128 threads so many writesets leave together that the others cannot apply them at once. Their
# receive queues grow beyond `gcs.fc_limit`, and flow control stops the sender: its *stop* and
# *continue* travel as far as any message.

# %%
crowd = scenario.replace({"workload.threads": 128})
third = simrep.explain(crowd, txn="p95", seed=2)
for stage in third.stages:
    if stage.seconds > 0.01:
        print(f"{1e3 * stage.seconds:5.1f} ms {stage.name}: {stage.reason}")
assert third.latency_s > 0.230

# %%
for name, changed in {
    "default": {},
    "gcs.fc_limit 256": {"cluster.options.gcs.fc_limit": 256},
    "windows 512/512": windows["512/512"],
}.items():
    result = simrep.run(crowd.replace(changed), seed=2)
    print(
        f"{name:16} {result.throughput_tps:5.0f}/s, p95 {1e3 * result.latency_s['p95']:3.0f} ms, "
        f"flow control sent {result.counters['n3']['wsrep_flow_control_sent']:2.0f} times by n3"
    )

# %% [markdown]
# A longer queue takes away the third round trip. Larger windows take away the second one and with
# it the third: writesets leave when they come, not in one heap.
#
# ## What you have learned
#
# - Concurrency hides latency: throughput grows with the clients, but no commit gets faster.
# - The window decides who takes one round trip and who takes two. Larger windows take away the
#   second one.
# - Too many clients for the window meet flow control, which costs a third one.
#
# **Try yourself.** How large does the window have to be for 16 threads? Try 8/4, 16/8, 32/16. With
# the default window, do 100 threads commit more than 128, or less? Then let the clients insert
# 1,000 rows each (`"workload.class": [{"rows": 1000}]`): large writesets travel in pieces, and the
# window bites again. [Plan threads and windows](../docs/howto/plan-threads-and-windows.md) has the
# recipe.
#
# The solution is in the folded cell below.

# %% tags=["hide-cell"] jupyter={"source_hidden": true, "outputs_hidden": true}
# From 8/4 on 95 % of the commits take one round trip: inserts that come together leave in one message.
for send, user in ((4, 2), (8, 4), (16, 8), (32, 16)):
    result = simrep.run(busy.replace({SEND: send, USER: user}), seed=2)
    print(f"window {send:2}/{user:2}: p95 {1e3 * result.latency_s['p95']:4.0f} ms")
# Flow control costs more than 28 further clients bring.
for threads in (100, 128):
    result = simrep.run(scenario.replace({"workload.threads": threads}), seed=2)
    print(f"{threads} threads: {result.throughput_tps:4.0f}/s")
# 1,000 rows of 190 bytes are six pieces, and each piece takes a place in the window.
large = busy.replace({"workload.class": [{"rows": 1000, "row_bytes": 190}]})
for name, window in windows.items():
    result = simrep.run(large.replace(window), seed=2)
    print(f"1,000 rows, {name:16} {result.throughput_tps:4.0f}/s")
