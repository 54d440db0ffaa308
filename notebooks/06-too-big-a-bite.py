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
# # 6. Too big a bite: streaming replication
#
# Every night somebody updates a whole table in one transaction. A Galera cluster replicates it at
# its commit, as one writeset, and everybody else waits until the other nodes have applied it. How
# long, and which remedy is there?
#
# **Write down your guess.** When does the stall of the others begin: when the update begins, when
# it commits, or when its client has the answer? Whom does it stop? Which size of fragment is best:
# the smallest, the largest, or one in between?
#
# *For teachers.* 45 minutes: guesses, the run and its marks, the causes. 90 minutes: fragments, all
# sizes, the exercise.

# %%
import simrep

scenario = simrep.load("""
name = "Nightly update"

[cluster]
model = "galera"
version = "mariadb-11.8"
nodes = ["n1", "n2"]

[network]
rtt_ms = 0.4

[workload]
rate_tps = 200
connections = 20

[[workload.scheduled]]
name = "nightly"
at_s = 2
rows = 100_000
row_bytes = 100
table = "big"
keys = { distribution = "scan", rows = 100_000 }

[run]
settle_s = 1
interval_s = 0.1
""")
SIZE = "workload.scheduled.0.session.wsrep_trx_fragment_size"
whole = simrep.run(scenario, seed=1)
whole.plot()

# %% [markdown]
# The marks: it begins, is replicated as soon as it is executed, its client gets the answer
# (commit), and the last node has it (end). The others stand still twice: for a moment while it is
# replicated, and longer *after* the answer.

# %%
bite = whole.scheduled["nightly"]
print(
    f"{bite.rows:,.0f} rows, {bite.size_bytes / 1e6:.0f} MB: takes {bite.duration_s:.2f} s, and for "
    f"{bite.stall_s:.1f} s the others stand still"
)
assert bite.stall_s >= 0.2

# %% [markdown]
# ## Who blocked whom

# %%
stall = simrep.explain_stall(scenario, seed=1)
print(*stall.sentences(), sep="\n")
stall.plot()

# %% [markdown]
# The other node applies it, and meanwhile its queue fills up until flow control stops the cluster.
# (The 500 ms lie between two commits. The 0.4 s above are counted in whole intervals of 0.1 s.)
#
# ## Smaller bites
#
# Streaming replication (Galera 4) replicates a transaction in fragments while it executes. The
# others commit between them. Each fragment costs the large transaction a turn of the group.

# %%
streamed = simrep.run(scenario.replace({SIZE: 50_000}), seed=1)
bites = streamed.scheduled["nightly"]
print(
    f"{bites.fragments:,.0f} fragments: takes {bites.duration_s:.2f} s, and the others stand still "
    f"for {bites.stall_s:.1f} s"
)
assert bites.stall_s < bite.stall_s
streamed.plot()

# %% [markdown]
# ## Which size?
#
# Small fragments cost time, large ones hold up the others again. All sizes on one grid, with three
# criteria: the longest stall, the slowdown of the large transaction, and the remaining payload.

# %%
tried = [3_200, 10_000, 32_000, 100_000, 1_000_000, 10_000_000]
sizes = simrep.plan(scenario, "fragment", sizes=tried, longest_stall_s=0.3).sizes
print(sizes)
sizes.plot()

# %%
print("recommended:", ", ".join(f"{one.size:,} bytes" for one in sizes.recommended))
assert sizes.recommended

# %% [markdown]
# ## What you have learned
#
# - A large transaction is not slow because it is large; everybody else pays.
# - Fragments in the middle of the range help both. Small ones slow down the large transaction; one
#   as large as the transaction helps nobody.
#
# **Try yourself.** Put the second node 40 ms away (`network.rtt_ms`): which sizes are still
# recommended? Then schedule the update on the `table` that the payload writes to, and see who waits
# for whom. [Large transactions](../docs/explanation/large-transactions.md) gives the reasons.
#
# The solution is in the folded cell below.

# %% tags=["hide-cell"] jupyter={"source_hidden": true, "outputs_hidden": true}
# Each fragment takes a turn of the group, and turns are 40 ms longer now: no size meets all three criteria.
distant = scenario.replace({"network.rtt_ms": 40})
print(simrep.plan(distant, "fragment", sizes=tried[3:], longest_stall_s=0.3).sizes)
# With a payload in the same table, a client that wants a row which the update has reached waits for the row lock until
# the end of the update. A client with another row only stands still as before.
updates = {"name": "payload", "keys": {"distribution": "uniform", "rows": 100_000}}
for table in ("small", "big"):
    result = simrep.run(scenario.replace({"workload.class": [{**updates, "table": table}]}), seed=1)
    waited_s = result.breakdown().stages.get("lock wait", 0.0)
    print(f"payload in {table:5}: {1e3 * waited_s:5.1f} ms of a commit are lock wait")
