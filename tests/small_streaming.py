"""A large transaction beside two clients, in milliseconds: a scenario, and a dataset of it."""

from __future__ import annotations

import csv
from pathlib import Path

SCENARIO = """
name = "small streaming"

[cluster]
model = "galera"
nodes = 2

[network]
rtt_ms = 0.2

[workload]
threads = 2

[[workload.class]]
name = "payload"

[workload.class.keys]
distribution = "uniform"
rows = 1000

[[workload.scheduled]]
name = "large"
at_s = 0.2
rows = 20000
table = "big"

[workload.scheduled.keys]
distribution = "scan"
rows = 20000

[workload.scheduled.session]
wsrep_trx_fragment_size = 0

[run]
settle_s = 0.1
interval_s = 0.02
"""

DATASET = """
title = "A small large transaction"
source = "made up"
replications = 2
seed = 3

[[metric]]
column = "execution_s"
result = "scheduled.large.execution_s"
unit = "s"
label = "execution"

[[metric]]
column = "stall_s"
result = "scheduled.large.stall_s"
unit = "s"
label = "longest stall"
absolute = 0.03

[[metric]]
column = "tps"
result = "scheduled.large.before_tps"
unit = "1/s"
label = "others before"
fitted = true

[[metric]]
column = "fragments"
result = "scheduled.large.fragments"
unit = ""
label = "fragments"
missing = -1

[factors]
fragment_bytes = "workload.scheduled.0.session.wsrep_trx_fragment_size"

[fit_where]
fragment_bytes = [0]

[show]
x = "fragment_bytes"
timeline = true

[show.bands]
before = "tps"
execution = "execution_s"
stall = "stall_s"

[[series]]
name = "galera"
title = "Galera"
scenario = "cluster.toml"

[series.fit]
replications = 1

[[series.fit.extra]]
column = "stall_s"
result = "scheduled.large.stall_s"
absolute = 0.02

[[series.fit.parameter]]
name = "row_us"
prior = 20.0
"""

COLUMNS = ("fragment_bytes", "execution_s", "stall_s", "tps", "fragments")
ROWS = [
    (0, 0.2, 0.18, 3000, -1),
    (100000, 0.25, 0, 3000, 20),
    (1000000, "", 0.5, 3000, 2),
]


def write_dataset(place: Path) -> Path:
    """Write the dataset into a new folder."""
    place.mkdir()
    (place / "dataset.toml").write_text(DATASET)
    (place / "cluster.toml").write_text(SCENARIO)
    write_rows(place, ROWS)
    return place


def write_rows(place: Path, rows) -> None:
    """Write the data."""
    with (place / "data.csv").open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
