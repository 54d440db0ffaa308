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
# # 10. The day a node dies
#
# A replicated database is bought for the day on which something breaks. Three nodes of Galera stand
# in one room. Two of them take orders, the third serves reports. On a Tuesday its process is
# killed. What happens to the two others?
#
# **Write down your guess.** For how long do the two others take no orders: 0, 1, 5 or 10 seconds?
# Is it longer when the machine loses power? When the node is cut off by a switch? And how long with
# Group Replication, if a secondary dies, and if the primary dies?
#
# *For teachers.* 45 minutes: guesses, the crash and its six seconds, four ways to lose a node. 90
# minutes: the cut-off node, Group Replication, the drill, the exercise.

# %%
import warnings

import simrep

warnings.simplefilter("ignore", simrep.DegradedWarning)  # that nodes refuse clients is the subject
scenario = simrep.load("""
name = "Orders"

[cluster]
model = "galera"
version = "mariadb-11.8"
nodes = 3

[network]
rtt_ms = 0.2

[[workload.group]]
name = "orders"
node = "n1"
threads = 2
clients = { on_error = "next", retry_pause_s = 0.02 }

[[workload.group]]
name = "stock"
node = "n2"
threads = 2

[[workload.group]]
name = "reports"
node = "n3"
threads = 2

[workload]
think_time_ms = 60
think_time = "exponential"

[[fault]]
name = "crash"
at_s = 4
node = "n3"
what = "kill"

[run]
duration_s = 16
""")
crash = simrep.run(scenario, seed=1, replications=3)
crash.plot()

# %% [markdown]
# Clients of the dead node learn at once that their connection is gone. The others wait: nobody else
# has failed, and yet nobody commits for six seconds.
#
# **Compare with your guess.** Most people expect five seconds, because `evs.suspect_timeout` is 5
# s, or none, because the connections were closed at once. Ask three runs:

# %%
seen = crash.faults["crash"]
print(f"suspected after {seen.suspected_s.low:.2f} to {seen.suspected_s.high:.2f} s")
print(f"a new view after {seen.view_s.low:.2f} to {seen.view_s.high:.2f} s")
print(f"commits again after {seen.primary_s.low:.2f} to {seen.primary_s.high:.2f} s")

# %% [markdown]
# ## Where do six seconds come from?
#
# Each node keeps the time of the last message that brought anything new from n3, and looks at it
# every half second. When it is older than 5 s, the first node to look suspects n3 and sends a *join*
# message without it. The other node has not looked yet, so its answer still lists n3. It looks half a
# second later, and suspects n3 too, but a look sends no message. Both agree only when the join
# messages are repeated, one second after the first.

# %%
simrep.explain_stall(scenario, seed=1)

# %% [markdown]
# Message by message, from the first suspicion to the new primary component:

# %%
crash.explain_fault("crash").plot()

# %% [markdown]
# ## Killed, frozen, cut off
#
# The same node, four ways to lose it. `leave` is an orderly shutdown.


# %%
def stall_s(what: str, **keys: object) -> float:
    """How long the clients of n2 do not commit because of a fault of n3."""
    fault = {"name": "fault", "at_s": 4, "node": "n3", "what": what, **keys}
    result = simrep.run(scenario.replace({"fault": [fault]}), seed=2)
    return result.faults["fault"].stalls["stock"].stall_s.median


print(f"shut down in order   {stall_s('leave'):5.2f} s")
print(f"killed               {stall_s('kill'):5.2f} s")
print(f"power lost           {stall_s('power-loss'):5.2f} s")
print(f"cut off              {stall_s('cut'):5.2f} s")
print(f"frozen for 3 s       {stall_s('pause', until_s=7):5.2f} s")
print(f"frozen for 8 s       {stall_s('pause', until_s=12):5.2f} s")

# %% [markdown]
# ## The cut-off node
#
# A cut-off node lives. It answers reads until it notices that it is alone; then it refuses. A
# COMMIT that waits on it fails with error 1180, and the client does not know the outcome: the
# majority may have it.

# %%
apart = scenario.replace(
    {
        "fault": [
            {"name": "switch", "at_s": 4, "until_s": 14, "node": "n1", "what": "cut"},
        ],
        "run": {"duration_s": 24},
    }
)
switch = simrep.run(apart, seed=3)
switch

# %% [markdown]
# ## The way back
#
# The switch works again at 14 s. The node comes back by itself, and this stops the writers once
# more: the group has to form a view with it. Then a donor sends the missing writesets (IST).

# %%
print(switch.timeline())

# %% [markdown]
# ## The same day with Group Replication
#
# The room is the same, the product another. All orders go to n1, the primary. Again the
# process of n3 is killed.

# %%
group = scenario.replace(
    {
        "cluster": {"model": "group_replication", "version": "mysql-9", "nodes": 3},
        "workload.group": [
            {"name": "orders", "node": "n1", "threads": 4, "clients": {"on_error": "next"}}
        ],
        "run": {"duration_s": 30},
    }
)
secondary = simrep.run(group, seed=1)
for name, from_s, to_s, seen in secondary.faults.phases["crash"].parts():
    orders = seen["orders"]
    p50_ms = 1e3 * orders.latency.percentile(50)
    rate_tps = orders.throughput_tps.median
    print(f"{name}, {from_s:.0f} to {to_s:.0f} s: {rate_tps:.0f} commits/s, {p50_ms:.1f} ms")
secondary.plot()

# %% [markdown]
# Nobody stops, and everybody becomes slow. A dead member still owns its places in the total order.
# Each time the others come to such a place, they wait for two timers before they agree that nothing
# is there (a dot in the lower picture). Each client commits once meanwhile.
#
# And when the primary dies? Most people add the 5 s of the detector and the 5 s of
# `member_expel_timeout`, and expect ten seconds. But the thread that looks at suspicions runs every
# 15 s, and a shorter timeout changes nothing, unless it is 0:

# %%
primary = group.replace({"fault.crash.node": "n1"})
print(simrep.explain_stall(primary, seed=1))
for timeout_s in (0, 1, 5, 15, 16):
    options = {"group_replication_member_expel_timeout": timeout_s}
    changed = primary.replace({"cluster.options": options, "run.duration_s": 45})
    crash = simrep.run(changed, seed=1).faults["crash"]
    print(f"{timeout_s:2} s: {crash.elected[0]} takes writes after {crash.writable_s.median:.1f} s")

# %% [markdown]
# [When Group Replication breaks](../docs/explanation/when-group-replication-breaks.md) has the
# rest: minorities, frozen and silent members, and why a killed member that returns makes the others
# slow once more.
#
# ## The drill
#
# A fire brigade does not wait for the fire. Kill the node that takes the orders, then cut its site
# off from the two others, with four products, once each. Orders go to the next server after an
# error. Orchestrator looks after sources with replicas.

# %%
shop = simrep.load(
    {
        "name": "Orders at three sites",
        "cluster": {"model": "galera", "nodes": ["n1", "n2", "n3"]},
        "node": [{"name": f"n{number}", "site": site} for number, site in enumerate("abc", 1)],
        "network": {"rtt_ms": 1},
        "workload": {"threads": 4, "nodes": ["n1"], "think_time_ms": 150},
        "run": {"duration_s": 10},
    }
)
drill = simrep.drill(
    shop,
    faults=["kill writer", "cut site of writer"],
    products=["galera", "group_replication", "semisync", "asynchronous"],
    replications=1,
    rto_s=10,
    rpo=0,
)
print(drill)
drill.plot()

# %% [markdown]
# Read the errors: 2013 is a lost connection, 2003 a refused one, 1290 a server that takes no
# writes. A client that handles only the first loses its orders on the way to a new source.
#
# Galera and Group Replication refuse the requests of a lone site. The asynchronous source goes on
# for its clients as if nothing had happened: nobody stops, and nobody has a second copy of their
# orders. All faults and columns: [the drill](../docs/reference/drill.md). The choice of a product:
# [Choose by what you may lose](../docs/howto/choose-by-what-you-may-lose.md).
#
# ## What you have learned
#
# - A crash stops all writers of a Galera cluster for about six seconds. A closed connection does
#   not shorten that.
# - A node that comes back stops them again.
# - Group Replication goes on without a secondary, at one commit per client and quarter of a second,
#   for 21 seconds. Without its primary it stops for as long.
# - An answered transaction is not lost. One without an answer may be there all the same.
# - Failures show which product fits. Play them before they happen.
#
# **Try yourself.** A colleague proposes `evs.suspect_timeout = PT3S`. How much shorter is the stall
# after a crash? And how does the cluster then react to a network that stutters for 3.2 s? [When
# Galera breaks](../docs/explanation/when-galera-breaks.md) explains the timers.
#
# The solution is in the folded cell below.

# %% tags=["hide-cell"] jupyter={"source_hidden": true, "outputs_hidden": true}
# The stall shrinks by two seconds. But a stutter that TCP and the old timeout would have survived removes the node.
for timeout in ("PT5S", "PT3S"):
    options = {"cluster.options": {"evs.suspect_timeout": timeout}}
    crashed = simrep.run(scenario.replace(options), seed=4).faults["crash"]
    cut = {"name": "stutter", "at_s": 4, "until_s": 7.2, "node": "n3", "what": "cut"}
    stutter = simrep.run(scenario.replace({**options, "fault": [cut]}), seed=4).faults["stutter"]
    removed = "the node is removed" if stutter.suspected else "nobody is removed"
    print(f"{timeout}: crash {crashed.primary_s.median:.2f} s; stutter of 3.2 s: {removed}")
