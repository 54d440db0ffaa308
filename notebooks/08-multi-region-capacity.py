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
# # 8. Capacity planning for a multi-region deployment
#
# The shop goes to Europe. The database shall survive the loss of a region, 300 orders per second have
# to go through, and 95 % of them within a quarter of a second. Which product, which layout, how many connections?

# %%
import simrep

scenario = simrep.load("""
name = "Orders"

[cluster]
model = "galera"
version = "mariadb-11.8"

[cluster.options]
wsrep_slave_threads = 8

[workload]
threads = 32
think_time_ms = 10

[[workload.class]]
name = "order"
statements = 4
row_bytes = 300

[run]
duration_s = 1
warmup_s = 0.5
""")
OBJECTIVE = "tps>=300,p95<=250ms"

# %% [markdown]
# ## Which product?
#
# Three regions, and clients that write in Virginia. Published round trips between the regions are known.

# %%
answer = simrep.plan(
    scenario,
    "product",
    regions=["us-east-1", "us-west-2", "eu-west-1"],
    writes="us-east-1",
    objective=OBJECTIVE,
    replications=3,
)
answer

# %%
for one in answer.ranked[:3]:
    print(f"{one.candidate.product}, {one.candidate.servers}: {one.reason}")
assert answer.best is not None
answer.plot()

# %% [markdown]
# Read the reasons, and not only the order: the fastest one may lose orders when Virginia is lost. Who meets the
# objective, goes on without Virginia, and loses nothing that was answered? That takes a product that waits for a
# majority, and more than half of the servers elsewhere. (`open` is too close to call with so few replications.)

# %%
safe = [
    one
    for one in answer.ranked
    if one.candidate.keeps in {"all", "majority"}
    and 2 * one.candidate.layout.count("us-east-1") < len(one.candidate.layout)
]
assert safe
for one in safe:
    print(f"{one.candidate.product}: {one.tried.verdict}")

# %% [markdown]
# ## How many connections?
#
# Group Replication with a single leader and one server per region. Clients, not processors, make up for the
# distance.

# %%
sites = {
    "node": [
        {"name": "n1", "site": "virginia"},
        {"name": "n2", "site": "oregon"},
        {"name": "n3", "site": "ireland"},
    ],
    "network.preset": "aws-2017",
    "workload.nodes": ["n1"],
}
regions = scenario.replace(
    {
        **sites,
        "cluster": {
            "model": "group_replication",
            "version": "mysql-8.4",
            "options": {
                "group_replication_paxos_single_leader": True,
                "replica_parallel_workers": 8,
            },
        },
    }
)
connections = simrep.plan(
    regions, "clients", objective="tps>=300", within=(8, 64), precision=0.2, replications=6
)
print(connections.sentence)
connections.plot()

# %% [markdown]
# ## How far away may a region be?
#
# With that many connections, and all regions equally far from each other:

# %%
threads = int(connections.value or 64)
far = regions.replace(
    {
        "workload.threads": threads,
        "node": [{"name": "n1"}, {"name": "n2"}, {"name": "n3"}],
        "network": {"rtt_ms": 50},
    }
)
distance = simrep.plan(
    far, "rtt", objective="tps>=300", within=(20, 200), precision=0.1, replications=6
)
print(distance.sentence)
distance.plot()

# %% [markdown]
# ## What matters?
#
# The answer rests on numbers that nobody has measured. Which of them would change it?

# %%
matters = simrep.sensitivity(
    regions.replace({"workload.threads": threads}),
    of="latency_s.p95",
    over={
        "network.delays": (0.8, 1.25),
        "workload.threads": (16, 64),
        "cluster.costs.fsync_us": (50, 2000),
        "cluster.costs.statement_us": (30, 500),
        "cluster.options.replica_parallel_workers": (2, 16),
    },
    points=3,
    repeats=3,
)
matters.plot()

# %% [markdown]
# ## What you have learned
#
# - Ask the inverse question: not what a cluster does, but which one does what you need.
# - Look at what an answer rests on: measure what is at the top of the last picture, and leave the rest.
#
# **Try yourself.** Let clients write in all three regions (`writes` takes a list). Who meets the objective now? And
# how much gcache does an outage of four hours need? Only Galera has one, so ask it of the first scenario at the same
# sites: `simrep.plan(scenario.replace(sites), "gcache", outage_s=4 * 3600)`.
# [Ask the inverse question](../docs/howto/plan-a-cluster.md) has the other questions.
