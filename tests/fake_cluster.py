"""An engine and clusters that are made up: what a campaign does is seen without servers."""

import time
from collections import Counter
from pathlib import Path

from simrep.rig.cluster import Health
from simrep.rig.delays import DelayMatrix
from simrep.rig.engine import RoundTrip
from simrep.rig.relays import DelayStatistics
from simrep.rig.transactions import Loaded, Transaction


class FakeEngine:
    name = "netns"
    delay_method = "relay"

    def __init__(self, world):
        self.world = world
        self.names = ()
        self.delays = DelayMatrix(())

    def up(self, count):
        self.names = tuple(f"n{number}" for number in range(1, count + 1))
        self.delays = DelayMatrix(self.names)
        self.world.seen["up"] += 1

    def set_delays(self, delays):
        self.delays = delays
        self.world.seen["set_delays"] += 1

    def round_trips(self, *, count=20):
        off_ms = self.world.off_ms if self.delays.links else 0.0
        return {
            (a, b): RoundTrip(0.0, 0.1 + self.delays.round_trip_ms(a, b) + off_ms, 0, 0)
            for a in self.names
            for b in self.names
            if a < b
        }

    def delay_statistics(self, *, reset=False):
        return DelayStatistics(100, 10_000, 0, self.world.late_ms, 1.0, 0.01)

    def description(self):
        return {"engine": "netns"}

    def down(self):
        self.world.seen["down"] += 1


class FakeNode:
    def __init__(self, name, cluster):
        self.name = name
        self.cluster = cluster
        self.socket = Path("/nowhere")

    def query(self, *statements):
        rows = self.cluster.rows
        *_, last = statements
        if last.startswith("truncate"):
            rows.clear()
        own = rows.get("all", 0) + rows.get(self.name, 0)
        return [{"number" if "as number" in last else "total": own}]

    def cpu_seconds(self):
        return 0.0


class FakeCluster:
    system = "galera"

    def __init__(self, world, count):
        self.world = world
        self.rows = {}
        self.nodes = [FakeNode(f"n{number}", self) for number in range(1, count + 1)]
        self.members = self.nodes

    def health(self):
        if self.world.broken > 0:
            self.world.broken -= 1
            return Health(("n2 is Donor",), {})
        return Health((), {"view": self.world.view})

    def counters(self):
        self.world.seen["counters"] += 1
        return {"n1": {"wsrep_local_bf_aborts": str(self.world.seen["counters"])}}

    def caught_up(self, timeout_s=60.0):
        return True

    def description(self):
        return {"system": "galera", "version": "11.8.9-MariaDB", "commands": {}, "variables": {}}

    def stop(self):
        self.world.seen["stop"] += 1


class World:
    """What happens, and what was done; the product and the equipment of a campaign.

    ``events`` are called one after the other when a load runs, which lasts ``seconds``.
    """

    def __init__(self):
        self.seen = Counter()
        self.off_ms = self.late_ms = 0.0
        self.broken = 0
        self.view = 1
        self.events = iter(())
        self.refuse = ()
        self.lost = iter(())
        self.seconds = iter(())

    def engine(self, server):
        return FakeEngine(self)

    def product(self, product, server):
        return self

    def form(self, engine, options, logs, **_more):
        self.seen["form"] += 1
        if options.get("refused"):
            raise RuntimeError("the server does not start")
        return FakeCluster(self, len(engine.names))

    def accuracy(self):
        return {"delay_method": "relay", "delays": []}

    def machine(self):
        return {"cpu": "made up", "cpus": 2}

    def run_load(self, load, cluster, *, seed, limit_s, beside=None, during=None):
        """Commit what the load should, on every node."""
        self.seen["loads"] += 1
        with during:
            time.sleep(0.001)
        count = load.each * load.threads
        cluster.rows["all"] = cluster.rows.get("all", 0) + count
        event = next(self.events, None)
        if event is not None:
            event(self, cluster)
        records = tuple(
            Transaction(0, "n1", 0.1 * i, 0.1 * i, 0.1 * i + 0.05, 1, 20, 1, 0)
            for i in range(count)
        )
        count -= next(self.lost, 0)
        lasted_s = next(self.seconds, 2.5)
        return Loaded(count, 0, lasted_s, 0.1, 0, 0.05, 0.05, 0.05, 0.05, 0.05, records=records)
