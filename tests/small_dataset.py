"""A dataset of four cells that simulates in milliseconds: one with three repetitions."""

import csv
from pathlib import Path

SCENARIO = """
[cluster]
model = "galera"
nodes = 3
shared_host = true

[network]
rtt_ms = 0.1

[[network.egress]]
node = "n3"
delay_ms = 50.0

[workload]
preset = "mysqlslap-insert"
queries = 24
threads = 1
nodes = ["n1"]
"""

DATASET = """
title = "A small dataset"
source = "made up"
replications = 2
seed = 3

[metric]
column = "seconds"
result = "makespan_s"
unit = "s"
label = "run time"

[factors]
threads = "workload.threads"

[factors.delay_ms]
path = "network.egress.0.delay_ms"
at."0.05" = { "network.egress.0.delay_ms" = 0.0 }

[fit_where]
delay_ms = [0.05]

[show]
x = "threads"
by = "delay_ms"

[[series]]
name = "galera"
title = "Galera"
scenario = "galera.toml"
where = { system = "galera" }

[[series.what_if]]
name = "wide windows"
set = { 'cluster.options."evs.send_window"' = 99, 'cluster.options."evs.user_send_window"' = 99 }

[series.fit]
noise = 0.05
replications = 1

[[series.fit.parameter]]
name = "statement_us"
prior = 100.0
sigma = 1.5
"""

ROWS = [
    ("galera", 20, 4, 0.30),
    ("galera", 20, 4, 0.10),
    ("galera", 20, 4, 0.20),
    ("galera", 20, 1, 0.50),
    ("galera", 0.05, 4, 0.04),
    ("galera", 0.05, 1, 0.05),
    ("other", 0.05, 1, 9.99),
]


def write_dataset(place: Path) -> Path:
    """Write the dataset into a new folder."""
    place.mkdir()
    (place / "dataset.toml").write_text(DATASET)
    (place / "galera.toml").write_text(SCENARIO)
    write_rows(place, ROWS)
    return place


def write_rows(place: Path, rows, *more: str) -> None:
    """Write the data; ``more`` are the names of further columns."""
    with (place / "data.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("system", "delay_ms", "threads", "seconds", *more), *rows])


def change(place: Path, name: str, old: str, new: str) -> None:
    """Change a text in a file of the dataset; it has to be there."""
    text = (place / name).read_text()
    assert old in text
    (place / name).write_text(text.replace(old, new))
