"""Derived metrics that simulate in a second: one server against a source with a replica."""

from pathlib import Path

SERVER = """
[cluster]
model = "standalone"
nodes = 1

[cluster.machine]
cores = 2

[cluster.costs]
statement_us = 1000.0

[workload]
threads = 1

[run]
duration_s = 0.4
warmup_s = 0.1
"""

# The replica applies one change per 2 ms. The primary is as fast as the server.
REPLICATED = (
    SERVER.replace('"standalone"', '"asynchronous"')
    .replace("nodes = 1", "nodes = 2")
    .replace("[cluster.costs]", "[cluster.costs]\napply_us = 2000.0")
    .replace("[workload]", "[cluster.options]\nreplica_parallel_workers = 1\n\n[workload]")
)

DATASET = """
title = "A small dataset of derived metrics"
source = "made up"
replications = 2
seed = 3

[factors]
members = "cluster.nodes"
clients = "workload.threads"

[factors.load]
at.light = { "cluster.costs.statement_us" = 500.0 }

[fit_where]
members = [2]
quantity = ["highest"]

[derived]
along = "clients"
baseline = { mode = "alone", members = 1 }
precision = 0.2

[derived.metric]
highest = { kind = "maximum_ratio" }
kept_up = { kind = "sustained_ratio" }
added_ms = { kind = "mean_latency_added_ms" }

[[series]]
name = "server"
title = "One server"
scenario = "server.toml"
where = { mode = "alone" }

[[series.simulate]]
members = 1
load = ["heavy", "light"]
clients = [1, 2, 4]

[[series]]
name = "replicated"
title = "A source with replicas"
scenario = "replicated.toml"
where = { mode = "replicated" }

[[series.simulate]]
members = [2, 3]
load = ["heavy", "light"]
clients = [1, 2, 4]

[[series.sustained]]
members = 2
load = "heavy"
"""

# The same in the format before.
CURVES = """
title = "A small dataset of curves"
source = "made up"
replications = 2
seed = 3
precision = 0.2

[axis]
path = "workload.threads"
name = "clients"
values = [1, 2, 4]

[factors]
members = "cluster.nodes"

[factors.load]
at.light = { "cluster.costs.statement_us" = 500.0 }

[factors.mode]

[show]
facet = "load"
across = "members"
by = "mode"

[baseline]
mode = "alone"
members = 1

[quantity.highest]
kind = "maximum_ratio"

[quantity.kept_up]
kind = "sustained_ratio"

[quantity.added_ms]
kind = "mean_latency_added_ms"

[[fit_where]]
members = 2
quantity = "highest"

[[curve]]
scenario = "server.toml"
factors = { members = 1, load = ["heavy", "light"], mode = "alone" }

[[curve]]
scenario = "replicated.toml"
factors = { members = [2, 3], load = ["heavy", "light"], mode = "replicated" }

[[sustained]]
scenario = "replicated.toml"
factors = { members = 2, load = "heavy", mode = "replicated" }
"""

ROWS = """load,mode,members,quantity,low,high,unit
heavy,replicated,2,highest,0.9,1.1,ratio
heavy,replicated,2-3,highest,1.2,1.3,ratio
heavy,replicated,2,kept_up,0.9,1.0,ratio
heavy+light,replicated,2,added_ms,-1,1,ms
"""


def write_derived(place: Path, definition: str = DATASET) -> Path:
    """Write the dataset into a new folder."""
    place.mkdir()
    (place / "dataset.toml").write_text(definition)
    (place / "server.toml").write_text(SERVER)
    (place / "replicated.toml").write_text(REPLICATED)
    (place / "data.csv").write_text(ROWS)
    return place
