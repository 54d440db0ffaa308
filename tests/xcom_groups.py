"""Groups of XCom members that fall silent, go and come, on machines that take no time."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
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

    def __init__(
        self,
        delays_s: Matrix,
        options: XcomOptions | None = None,
        *,
        cache_bytes: int = 1 << 30,
        **how: Any,
    ) -> None:
        self._options = options or XcomOptions()
        self._cache_bytes = cache_bytes
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
        seen = Seen(self, mesh.me)
        return ChangingXcom(
            self.clock, mesh, self._options, seen, uniform, cache_bytes=self._cache_bytes
        )

    def kill(self, position: int) -> None:
        """End the process of a member now."""
        self.members[position].end()
        self.meshes[position].close()
        self.silent[position] = self.clock.now

    def at(self, time_s: float, call: Callable[[], object]) -> None:
        """Have something happen."""
        self.clock.at(time_s, lambda _: call())

    def tell_statistics(self) -> None:
        """Have every member send a message of its own each second, as servers do."""
        for me, member in enumerate(self.members):
            self._tell_statistics((0.1 + 0.3 * me, me, member.group))

    def _tell_statistics(self, turn: tuple[float, int, int]) -> None:
        at_s, me, group = turn
        member = self.members[me]
        if self.clock.now > 0.0 and member.running and member.group == group:
            member.send(("statistics", me, self.clock.now), 250)
        self.clock.at(at_s, self._tell_statistics, (at_s + 1.0, me, group))

    def rejoin(self, position: int, donor: int) -> None:
        """Start a member anew: it asks to be added every second, then gets a snapshot."""
        self.meshes[position].reopen()
        self.silent.pop(position, None)
        at_s = self.clock.now + 1.0
        if not self.members[donor].add(position):
            self.at(at_s, lambda: self.rejoin(position, donor))
            return

        def adopt() -> None:
            snapshot = self.members[donor].snapshot()
            if position in snapshot.sites[-1].members:
                self.members[position].adopt(snapshot)
                self.members[donor].push(position, snapshot)
            else:
                self.at(self.clock.now + 0.01, adopt)

        self.at(at_s, adopt)

    def clients(self, member: int, count: int, think_s: float = 0.010) -> list[tuple[float, float]]:
        """Closed-loop clients of a member: when each message was delivered there, and how long."""
        done: list[tuple[float, float]] = []
        began: dict[Any, float] = {}
        random = Random(member)

        def send(number: int) -> None:
            payload = (member, number, self.clock.now)
            began[payload] = self.clock.now
            self.members[member].send(payload, 300)

        def delivered(sender: int, payload: Any) -> None:
            self._deliver(member, sender, payload)
            if (since := began.pop(payload, None)) is not None:
                done.append((self.clock.now, self.clock.now - since))
                pause_s = random.expovariate(1.0 / think_s)
                self.clock.at(self.clock.now + pause_s, send, payload[1])

        self.members[member].on_deliver(delivered)
        for number in range(count):
            self.clock.at(0.001 * number, send, number)
        return done

    def order(self, member: int) -> list[tuple[int, Any]]:
        """What a member has delivered, and from whom."""
        return [(d.sender, d.payload) for d in self.deliveries if d.member == member]
