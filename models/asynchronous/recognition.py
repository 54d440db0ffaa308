"""A source of replication, recognised by its replicas and its binary log."""

from __future__ import annotations

from typing import ClassVar

from simrep.modelling import Clue, Evidence, Place, ServerReading
from simrep.models.mysql.recognition import MysqlRecognition

__all__ = ["SourceRecognition"]

_CONNECTED = "Slaves_connected"
_CLIENTS = ("Rpl_semi_sync_source_clients", "Rpl_semi_sync_master_clients", _CONNECTED)


class SourceRecognition(MysqlRecognition):
    """A server with a binary log that replicas read."""

    rank: ClassVar[int] = 40
    default_nodes: ClassVar[int] = 2

    def evidence(self, server: ServerReading) -> Evidence | None:
        """Replicas, unless there is no binary log for them."""
        log = server.setting("log_bin")
        if log is not None and server.is_on("log_bin") is None and log.value:
            return None
        connected = server.status.latest(_CONNECTED)
        if connected is not None and connected.value > 0:
            return Evidence(connected.name, connected.places)
        replicas = _replicas(server)
        return Evidence("a replica reads its binary log", replicas[:1]) if replicas else None

    def nodes(self, server: ServerReading) -> Clue | None:
        """The source and its replicas."""
        for name in _CLIENTS:
            clients = server.status.latest(name)
            if clients is not None and clients.value >= 1:
                note = f"{clients.name} and the source"
                return Clue(int(clients.value) + 1, clients.places, note)
        replicas = _replicas(server)
        note = "replicas that are listed, and the source"
        return Clue(len(replicas) + 1, replicas, note) if replicas else None


def _replicas(server: ServerReading) -> tuple[Place, ...]:
    """Rows of SHOW REPLICAS (SHOW SLAVE HOSTS), or dump threads of SHOW PROCESSLIST."""
    registered = [
        row.place
        for row in server.rows
        if "server_id" in row.cells and row.cells.keys() & {"source_id", "master_id"}
    ]
    dumps = [
        row.place for row in server.rows if row.cells.get("command", "").startswith("Binlog Dump")
    ]
    return tuple(registered or dumps)
