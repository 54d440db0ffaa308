"""Hosts and servers of the rig that only pretend, for tests without root and without servers."""

import subprocess
from pathlib import Path

from simrep.rig.delays import DelayMatrix, Link
from simrep.rig.server import RigServer


class PretendedHost:
    """Answers programs by the first word that it knows; what was run and launched is kept."""

    def __init__(self, name: str, folder: Path, answers=None):
        number = int(name[1:])
        self.name = name
        self.address = f"10.0.0.{number}"
        self.inside = "/data"
        self.outside = folder / name
        self.outside.mkdir(parents=True, exist_ok=True)
        self.answers = answers or {}
        self.ran = []
        self.launched = []
        self.running = False

    def command(self, argv):
        return ["on", self.name, *argv]

    def run(self, argv, *, timeout_s=60.0):
        self.ran.append(list(argv))
        line = " ".join(argv)
        return next((text for word, text in self.answers.items() if word in line), "")

    def launch(self, argv, log):
        self.launched.append(list(argv))
        self.running = True

    def alive(self):
        return self.running

    def terminate(self, timeout_s=60.0):
        self.running = False

    def cpu_seconds(self):
        return 1.5


class PretendedEngine:
    """So many hosts that are up."""

    def __init__(self, count, folder: Path, answers=None):
        self.hosts = [PretendedHost(f"n{i}", folder, answers) for i in range(1, count + 1)]


class PretendedServers:
    """What servers answer instead of a database: rows by the first words of a statement."""

    def __init__(self, monkeypatch, rows):
        self.rows = rows
        self.asked = []
        monkeypatch.setattr(RigServer, "query", self._query_of())

    def _query_of(self):
        def query(server, *statements):
            self.asked += [(server.name, statement) for statement in statements]
            for beginning, answer in self.rows.items():
                if statements[-1].startswith(beginning):
                    return answer(server) if callable(answer) else list(answer)
            return []

        return query

    def of(self, name):
        return [statement for server, statement in self.asked if server == name]


def egress(nodes, slow, delay_ms):
    """Everything that one node sends is delayed, as by ``tc netem`` on that node alone."""
    links = {(slow, other): Link(delay_ms) for other in nodes if other != slow}
    return DelayMatrix(tuple(nodes), links)


def status_rows(values):
    return [{"Variable_name": name, "Value": value} for name, value in values.items()]


def compiler_is_there():
    try:
        return (
            subprocess.run(["gcc", "--version"], capture_output=True, check=False).returncode == 0
        )
    except FileNotFoundError:
        return False
