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
# # 11. A maintenance window
#
# It is Sunday, four in the morning. The shop has few customers, and you have a list: a new column,
# a backup, an upgrade of every server. Which of them will the customers notice?
#
# **Write down your guess** for each of these four. How long do orders stand still
#
# 1. while an `ALTER TABLE` of 300,000 rows runs,
# 2. while the same statement runs node by node (`wsrep_OSU_method = RSU`),
# 3. while a backup holds `FLUSH TABLES WITH READ LOCK` on one node for five seconds,
# 4. while all three servers are restarted one after the other?
#
# *For teachers.* 45 minutes: the guesses, parts 1 and 2. 90 minutes: all parts and both exercises.

# %%
import warnings

import simrep

warnings.simplefilter("ignore", simrep.DegradedWarning)  # that nodes refuse clients is a subject
shop = simrep.load("""
name = "Shop on a Sunday"

[cluster]
model = "galera"
version = "mariadb-11.8"
nodes = 3

[cluster.options]
wsrep_slave_threads = 4

[network]
rtt_ms = 0.5

[workload]
think_time_ms = 20
think_time = "exponential"

[[workload.group]]
name = "orders"
node = "n1"
class = ["order"]
threads = 6
clients = { on_error = "next", retry_pause_s = 0.02 }

[[workload.group]]
name = "invoices"
node = "n2"
class = ["invoice"]
threads = 2
clients = { on_error = "next", retry_pause_s = 0.02 }

[[workload.class]]
name = "order"

[[workload.class]]
name = "invoice"
table = "invoices"

[run]
warmup_s = 0
duration_s = 10
""")
shop

# %% [markdown]
# ## 1. A new column
#
# The statement is issued on n2 and changes the table of the orders. The invoices are in another
# table.

# %%
column = {
    "name": "new column",
    "node": "n2",
    "at_s": 2,
    "kind": "copy",
    "rows": 300_000,
    "bytes": 60_000_000,
    "class": ["order"],
}


def stalls(operation: str, result: simrep.Result) -> None:
    """How long each group of clients did not commit because of an operation."""
    for group, stall in result.faults[operation].stalls.items():
        print(f"{group:8} {stall.stall_s.median:5.2f} s without a commit")


toi = simrep.run(shop.replace({"workload.ddl": [column]}), seed=1)
stalls("new column", toi)
toi.plot()

# %% [markdown]
# Everybody stands still, also writers of another table. The statement is a part of the total order:
# it holds the place at which a node commits, on every node, while the node works on it.
#
# Now node by node. The statement is local, and its node leaves flow control meanwhile:

# %%
rsu = simrep.run(shop.replace({"workload.ddl": [column | {"method": "RSU"}]}), seed=1)
stalls("new column", rsu)
print(rsu.timeline())

# %% [markdown]
# Only clients of n2 wait. The price: n2 falls behind, you do it three times, and the old and the
# new definition have to get along in between.
#
# ## 2. A backup
#
# A tool locks all tables of n3, where nobody writes. Who notices?


# %%
def locked(what: str) -> simrep.Result:
    """The shop, in which n3 is locked from 2 s to 7 s."""
    lock = {"name": "backup", "what": what, "node": "n3", "at_s": 2, "until_s": 7}
    return simrep.run(shop.replace({"maintenance": [lock]}), seed=1)


for what in ("lock-tables", "flush-tables-with-read-lock"):
    print(what)
    stalls("backup", locked(what))

# %% [markdown]
# `LOCK TABLES` lets the queue of n3 grow, and after `gcs.fc_limit` writesets n3 stops the whole
# cluster. `FLUSH TABLES WITH READ LOCK` takes n3 out of flow control first, so the others go on. n3
# has to catch up afterwards:

# %%
locked("flush-tables-with-read-lock").plot()

# %% [markdown]
# ## 3. Every server, one after the other
#
# An operator shuts down one node, works on it for five seconds, starts it, waits until it has
# caught up, and takes the next one. Clients turn to the next server when theirs has gone.

# %%
upgrade = shop.replace(
    {
        "procedure": [
            {"name": "upgrade", "what": "rolling-restart", "at_s": 2, "down_s": 5, "pause_s": 3}
        ],
        "run": {"duration_s": 48},
    }
)
rolled = simrep.run(upgrade, seed=1)
rolled

# %%
rolled.plot()

# %% [markdown]
# Each node stops the others when it comes back, because the group has to form a view with it.
# Compare this with your fourth guess.
#
# ## What you have learned
#
# - A schema change by total order isolation stops every commit on every node, for as long as it takes there.
# - Node by node, only the clients of that node wait. The node falls behind meanwhile.
# - A lock on an idle node stops the busy ones, unless the node has left flow control.
# - A rolling restart costs little where clients find another server. It costs most when a node comes back.
#
# **Try yourself.**
#
# 1. The table has three million rows. Does `kind = "instant"` save the night?
# 2. How many writesets may n3 be behind before it stops the others? Set `gcs.fc_limit` to 1000 and lock its tables again.
#
# [Change a table](../docs/howto/change-a-table.md) has the other products. The solutions are in the
# folded cell below.

# %% tags=["hide-cell"] jupyter={"source_hidden": true, "outputs_hidden": true}
# An instant change stops nobody for longer than a few commits take. A longer queue delays the stop: of three nodes, each
# counts the limit times the square root of 3, so that 1000 stands for 1,732 writesets, 4.6 s of this load.
for kind in ("copy", "instant"):
    large = column | {"rows": 3_000_000, "bytes": 600_000_000, "kind": kind}
    longer = {"workload.ddl": [large], "run": {"duration_s": 60}}
    print(kind)
    stalls("new column", simrep.run(shop.replace(longer), seed=1))
lock = {"name": "backup", "what": "lock-tables", "node": "n3", "at_s": 2, "until_s": 7}
for limit in (16, 1000):
    changed = {"maintenance": [lock], "cluster.options": {"gcs.fc_limit": limit}}
    print(f"gcs.fc_limit = {limit}")
    stalls("backup", simrep.run(shop.replace(changed), seed=1))
