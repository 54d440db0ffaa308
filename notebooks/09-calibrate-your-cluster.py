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
# # 9. Calibrate on your own cluster
#
# Where the network decides, defaults are good enough. Where processors and disks do, the simulation has
# to know yours. Two ways: read what your server says of itself, and fit costs to a few measurements without a WAN.
#
# ## From `my.cnf` and counters
#
# Usually you save them on your server (`SHOW GLOBAL STATUS` twice, some minutes apart). These are made up.

# %%
import subprocess
import sys
import tempfile
from pathlib import Path

import simrep

work = Path(tempfile.mkdtemp(prefix="simrep-"))
(work / "my.cnf").write_text("""
[mysqld]
innodb_flush_log_at_trx_commit = 2

[galera]
wsrep_on               = ON
wsrep_provider         = /usr/lib/galera/libgalera_smm.so
wsrep_cluster_address  = "gcomm://10.0.0.11,10.0.0.12,10.0.0.13"
wsrep_slave_threads    = 8
wsrep_provider_options = "gcs.fc_limit = 64; evs.keepalive_period = PT2S"
""")
before = {
    "Uptime": 1000, "Com_insert": 100_000, "Com_update": 200_000, "Com_delete": 0,
    "Com_select": 400_000, "Com_begin": 100_000, "Com_commit": 100_000,
    "wsrep_replicated": 100_000, "wsrep_replicated_bytes": 90_000_000,
    "wsrep_received": 1000, "wsrep_cluster_size": 3,
    "wsrep_evs_repl_latency": "0.0006/0.0012/0.0200/0.0005/4478",
    "Innodb_rows_inserted": 100_000, "Innodb_rows_updated": 200_000, "Threads_connected": 33,
}  # fmt: skip
grown = {
    "Uptime": 600, "Com_insert": 90_000, "Com_update": 180_000, "Com_select": 360_000,
    "Com_begin": 90_000, "Com_commit": 90_000, "wsrep_replicated": 90_000,
    "wsrep_replicated_bytes": 81_000_000, "Innodb_rows_inserted": 90_000,
    "Innodb_rows_updated": 180_000,
}  # fmt: skip
after = before | {name: before[name] + more for name, more in grown.items()}
for name, counters in (("10h00.txt", before), ("10h10.txt", after)):
    lines = [f"{variable}\t{value}" for variable, value in counters.items()]
    (work / name).write_text("\n".join(["Variable_name\tValue", *lines, ""]))

# %%
command = [
    *(sys.executable, "-m", "simrep", "calibrate"),
    *("--from-mycnf", "my.cnf", "--status", "10h00.txt", "--status", "10h10.txt"),
    *("--fsync-us", "700", "--cores", "16", "--out", "mine"),
]
done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=True)
print((work / "mine.toml").read_text())

# %% [markdown]
# Each value has a comment that says where it was read. Is it the load that the counters tell of? And what
# if the nodes move 10 ms apart?

# %%
mine = simrep.load(work / "mine.toml").replace({"run.duration_s": 5})
measured_tps = grown["wsrep_replicated"] / grown["Uptime"]
today = simrep.run(mine)
print(
    f"counters {measured_tps:.0f} writing transactions/s, simulated {today.throughput_tps:.0f}/s in all"
)
simrep.run(mine.replace({"network.rtt_ms": 10})).plot()

# %% [markdown]
# ## Fit costs to measurements
#
# Counters cannot tell what a statement costs. Five hundred inserts with some numbers of threads can. A dataset
# is a folder: the measurements, the scenario, a pack with the costs to be filled in, and what connects them.

# %%
folder = work / "calibration"
folder.mkdir()
(folder / "data.csv").write_text("""threads,delay_ms,seconds
1,0,0.262
4,0,0.149
8,0,0.131
32,0,0.107
8,50,4.23
32,50,1.31
""")
(folder / "cluster.toml").write_text("""
[cluster]
model = "galera"
version = "mariadb-11.8"
pack = "my-machine.toml"

[cluster.options]
wsrep_slave_threads = 16
innodb_flush_log_at_trx_commit = 2

[network]
rtt_ms = 0.2

[[network.egress]]
node = "n3"
delay_ms = 0

[workload]
preset = "mysqlslap-insert"
threads = 1
nodes = ["n1"]
""")
(folder / "my-machine.toml").write_text("""
[pack]
name = "my-machine"
model = "galera"
description = "three servers of two cores"
machine = "made up for this notebook"
source = "made up for this notebook"

[machine]
cores = 2

[costs]
""")
(folder / "dataset.toml").write_text("""
title = "Our cluster: 500 inserts by threads"
source = "made up for this notebook"

[metric]
column = "seconds"
result = "makespan_s"
unit = "s"
label = "time for 500 inserts"

[factors]
threads = "workload.threads"
delay_ms = "network.egress.0.delay_ms"

[fit_where]
delay_ms = [0]

[show]
x = "threads"
by = "delay_ms"

[[series]]
name = "galera"
title = "MariaDB 11.8"
scenario = "cluster.toml"

[series.fit]
noise = 0.05

[[series.fit.parameter]]
name = "statement_us"
prior = 90.0
sigma = 0.7

[[series.fit.parameter]]
name = "commit_us"
prior = 20.0
sigma = 0.7
""")
fitted = simrep.fit(folder, replications=1, max_steps=6)
for name, value in fitted.costs.items():
    print(f"{name} = {value:.1f}")
print(*fitted.remarks(), sep="\n")

# %% [markdown]
# Only the cells without a delay were used. Those with 50 ms are predictions: a fit is judged by them.

# %%
for residual in fitted.residuals:
    print(f"{residual.label}: {residual.relative_error:+.1%}")

# %%
costs = "\n".join(f"{name} = {value:.4g}" for name, value in fitted.costs.items())
pack = folder / "my-machine.toml"
pack.write_text(pack.read_text().partition("[costs]")[0] + f"[costs]\n{costs}\n")
judged = simrep.reproduce(folder, replications=1)
judged.plot()

# %% [markdown]
# ## What you have learned
#
# - A scenario of your own server takes a minute, and says of every value where it is from.
# - A few runs of a load tool without a WAN fit the costs; measurements with a delay are kept to judge.
#
# **Try yourself.** Take your own `my.cnf` and counters ([Start from your
# server](../docs/howto/start-from-your-server.md)), then your own measurements ([Fit your
# machine](../docs/howto/fit-your-machine.md)). `simrep calibrate FOLDER --write` writes the pack for you, with how
# sure each cost is.
