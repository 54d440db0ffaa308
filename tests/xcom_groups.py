"""Groups of XCom members that fall silent, go and come, on machines that take no time."""

from __future__ import annotations

from functools import partial
from typing import Any

from simrep.kernel.streams import Streams
from simrep.models.group_replication.xcom.changing import ChangingXcom
from simrep.models.group_replication.xcom.paxos import XcomOptions
from simrep.network.mesh import Mesh
from tests.groups import Group, Matrix

__all__ = ["ChangingXcomGroup", "Seen"]


class Seen:
    """A detector that knows at once, or after a while, who is silent: a fake."""

    def __init__(self, group: ChangingXcomGroup, me: int) -> None:
        self._group = group
        self._me = me

    def may_be_dead(self, position: int) -> bool:
        """Silent for 4 s."""
        return self._silent_s(position) > 4.0

    def alive(self, position: int) -> bool:
        """Heard within 5 s."""
        return self._silent_s(position) < 5.0

    def _silent_s(self, position: int) -> float:
        since = self._group.silent.get(position)
        return 0.0 if since is None or position == self._me else self._group.clock.now - since


class ChangingXcomGroup(Group):
    """A group of members of ``ChangingXcom``; see ``Group``."""

    members: list[ChangingXcom]

    def __init__(self, delays_s: Matrix, options: XcomOptions | None = None, **how: Any) -> None:
        self._options = options or XcomOptions()
        self._streams = Streams(how.get("seed", 0) + 1)
        self.silent: dict[int, float] = {}  # since when
        self.sites: list[tuple[float, int, int, tuple[int, ...], bool]] = []
        self.views: list[tuple[float, int, tuple[int, ...], frozenset[int]]] = []
        self.exits: list[tuple[float, int, str]] = []
        super().__init__(delays_s, **how)
        for me, member in enumerate(self.members):
            member.on_site(
                lambda site, valid, me=me: self.sites.append(
                    (self.clock.now, me, site.start, site.members, valid)
                )
            )
            member.on_present(
                lambda site, there, me=me: self.views.append(
                    (self.clock.now, me, site.members, there)
                )
            )
            member.on_exit(lambda why, me=me: self.exits.append((self.clock.now, me, why)))
            member.begin(range(len(self.members)))

    def _join(self, mesh: Mesh) -> ChangingXcom:
        uniform = self._streams.uniform(f"wait/{mesh.me}")
        return ChangingXcom(self.clock, mesh, self._options, Seen(self, mesh.me), uniform)

    def kill(self, position: int) -> None:
        """End the process of a member now."""
        self.members[position].end()
        self.meshes[position].close()
        self.silent[position] = self.clock.now

    def kill_at(self, time_s: float, position: int) -> None:
        """End the process of a member at some time."""
        self.clock.at(time_s, partial(lambda who, _: self.kill(who), position))
