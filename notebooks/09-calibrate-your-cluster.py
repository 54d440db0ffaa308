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
# How does the simulation know your machines? Where the network decides, defaults are good enough.
# Where processors and disks do, it has to be told. Two ways: read your server's own counters, and
# fit the costs to a few measurements without a WAN.
#
# **Write down your guess.** Which of these can counters tell: the statements of a transaction, the
# bytes of a row, the time of a statement on a processor? And how many runs does a fit of two costs
# need: 2, 6 or 60?
#
# *For teachers.* 45 minutes: guesses, the scenario from counters, the what-if. 90 minutes: the fit,
# its judgement by unseen cells, the exercise with the class's own servers.
#
# ## From `my.cnf` and counters
#
# Usually you save them on your server (`SHOW GLOBAL STATUS` twice, some minutes apart). These are
# made up.

# %%
import shutil
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
    *(sys.executable, "-m", "simrep", "from-server"),
    *("--mycnf", "my.cnf", "--status", "10h00.txt", "--status", "10h10.txt"),
    *("--fsync-us", "700", "--cores", "16", "--out", "mine"),
]
done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=True)
print((work / "mine.toml").read_text())

# %% [markdown]
# A comment beside each value names its source. Does the scenario commit as much as the counters say? And what if the
# nodes move 10 ms apart? (Arrivals are random: with 750 of them in five seconds, up to 10/s more or
# less is chance.)

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
# Counters cannot tell the cost of a statement. Some runs of a load tool with different numbers of
# threads can. A dataset is a folder: the measurements, the scenario, and a definition that connects
# them. This one ships with simrep: three nodes of MariaDB on a machine of two cores, 500 inserts
# with 1 to 64 threads, with and without a delay.

# %%
folder = work / "galera-rig"
shutil.copytree(simrep.load_dataset("galera-rig").folder, folder)
measured = simrep.load_dataset(folder).cells["galera"]
for cell in measured[:4]:
    threads, delay_ms = cell.factors["threads"], cell.factors["egress_delay_ms"]
    print(f"{threads} threads, delay {delay_ms:g} ms: {cell.values['seconds']:.3f} s")
print(f"... {len(measured)} cells in all")

# %% [markdown]
# Costs are fitted to the cells *without* a delay. (Two costs and one replication, to be quick; the
# shipped fit has eight costs.) Below the figures stand the costs that the cells really tell.

# %%
fitted = simrep.fit(
    folder,
    parameters=("statement_us", "receive_us"),
    cells="egress_delay_ms == 0",
    replications=1,
    max_steps=3,
)
for estimate in fitted.estimates:
    print(f"{estimate.name:13} expected {estimate.prior:6.1f}, fitted {estimate.value:6.1f}")
print(*fitted.remarks(), sep="\n")

# %% [markdown]
# Judge a fit by cells that it has not seen. The costs go into the scenario, and the cells with 50
# ms are predicted:

# %%
rig = folder / "galera.toml"
costs = {f"cluster.costs.{name}": value for name, value in fitted.costs.items()}
rig.write_text(simrep.load(rig).replace(costs).to_toml())
judged = simrep.reproduce(folder, replications=1)
judged.plot()

# %%
cells = judged.to_frame()
unseen = cells[(cells.egress_delay_ms == 50) & (cells.variant == "")]
errors = 100 * unseen.relative_error.abs()
print(f"{len(unseen)} cells with 50 ms: median error {errors.median():.1f} %")
assert errors.median() < 15

# %% [markdown]
# ## What you have learned
#
# - A scenario of your own server takes a minute, and names the source of each value.
# - A few runs of a load tool without a WAN fit the costs; measurements with a delay are kept to
#   judge.
#
# **Try yourself.** Take your own `my.cnf` and counters ([Start from your
# server](../docs/howto/start-from-your-server.md)), then your own measurements ([Fit your
# machine](../docs/howto/fit-your-machine.md)). `simrep calibrate FOLDER --write` writes the pack
# for you, with the certainty of each cost.
#
# The solution is in the folded cell below.

# %% tags=["hide-cell"] jupyter={"source_hidden": true, "outputs_hidden": true}
# There is no one solution: the servers are yours. This is the order of the commands, in a shell.
#
#   simrep from-server --mycnf my.cnf --status early.txt --status late.txt --out mine
#   simrep run mine.toml                   # is it the load that you know?
#   simrep calibrate FOLDER --write        # the dataset of your own runs, without a WAN
#   simrep validate FOLDER                 # how far off it is on cells that it has not seen
print("The commands are in the comments of this cell.")
