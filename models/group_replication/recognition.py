"""A member of a replication group, recognised by the name of the group or its members."""

from __future__ import annotations

from typing import ClassVar

from simrep.modelling import Clue, Evidence, Place, ScenarioError, ServerReading, ServerRelease
from simrep.models.mysql.recognition import MARIADB, MysqlRecognition

__all__ = ["GroupRecognition"]

_NAME, _SEEDS = "group_replication_group_name", "group_replication_group_seeds"
_TABLE = "replication_group_members"


class GroupRecognition(MysqlRecognition):
    """A server with the plugin of Group Replication."""

    rank: ClassVar[int] = 20
    identity: ClassVar[frozenset[str]] = frozenset({_NAME, _SEEDS})

    def evidence(self, server: ServerReading) -> Evidence | None:
        """The name of the group, or its members."""
        name, members = server.is_on(_NAME), _members(server)
        if name is not None:
            return Evidence(name.spelling, (name.place,))
        return Evidence(_TABLE, members[:1]) if members else None

    def release(self, server: ServerReading) -> ServerRelease:
        """That of the server, which is no MariaDB."""
        if server.family == MARIADB.name:
            raise ScenarioError("--model", "MariaDB has no group replication")
        return super().release(server)

    def nodes(self, server: ServerReading) -> Clue | None:
        """Members, or else those that a new one may ask."""
        members, seeds = _members(server), server.is_on(_SEEDS)
        if members:
            return Clue(len(members), members, f"rows of {_TABLE}")
        if seeds is None:
            return None
        hosts = [host for host in seeds.value.split(",") if host.strip()]
        return Clue(len(hosts), (seeds.place,), f"addresses in {seeds.spelling}")


def _members(server: ServerReading) -> tuple[Place, ...]:
    """Rows of performance_schema.replication_group_members that are in the group."""
    states = {"ONLINE", "RECOVERING"}
    return tuple(row.place for row in server.rows if row.cells.get("member_state") in states)
