"""Whatever happens to a Galera group, it never has two primary components."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import event, given, settings
from hypothesis import strategies as st

from simrep.models.galera.gcomm.primary import Presence
from tests.primary_groups import PrimaryGroup


@dataclass
class Component:
    """Members of a view, its messages, and how many of them each member has delivered."""

    members: list[int]
    messages: list[tuple[int, object]] = field(default_factory=list)
    delivered: dict[int, int] = field(default_factory=dict)


class Schedule:
    """A group that is cut, joined, stopped and started at any message.

    What EVS promises is kept: who comes along has delivered the same in the view, and what anybody
    has delivered, all members of the view have received.
    """

    def __init__(self, draw: st.DataObject, weights: tuple[int, ...]) -> None:
        self._draw = draw
        self.group = PrimaryGroup(len(weights), *weights)
        everybody = list(range(len(weights)))
        self.components = [Component(everybody, [], dict.fromkeys(everybody, 0))]
        self.away: dict[int, None] = {}

    def choose(self, most: int) -> int:
        return self._draw.draw(st.integers(0, most))

    def step(self) -> None:
        """Whatever may happen next."""
        what = self.choose(5)
        if what == 0 and self.away:
            member = list(self.away)[self.choose(len(self.away) - 1)]
            del self.away[member]
            self.group.come_back(member)
            self.begin([member])
        elif what == 1 and self.components:
            component = self.pick()
            member = component.members[self.choose(len(component.members) - 1)]
            leaves = bool(self.choose(1))
            self.away[member] = None
            self.group.crash(member, how=Presence.LEFT if leaves else Presence.CRASHED)
            component.members.remove(member)
            self.components.remove(component)
            if component.members:
                self.end(component, component.members, [member] if leaves else [])
                self.begin(component.members)
        elif what == 2 and self.components:
            component = self.pick()
            self.components.remove(component)
            cut = self.choose(len(component.members))
            for part in (component.members[:cut], component.members[cut:]):
                if part:
                    self.end(component, part, [])
                    self.begin(part)
        elif what == 3 and len(self.components) > 1:
            together = [self.pick(remove=True), self.pick(remove=True)]
            for component in together:
                self.end(component, component.members, [])
            self.begin(sorted(member for one in together for member in one.members))
        elif self.components:
            self.deliver(self.pick(), self.choose(12))

    def pick(self, *, remove: bool = False) -> Component:
        at = self.choose(len(self.components) - 1)
        return self.components.pop(at) if remove else self.components[at]

    def begin(self, members: list[int]) -> None:
        component = Component(members, [], dict.fromkeys(members, 0))
        self.components.append(component)
        self.group.begin(*members)
        self.collect(component)

    def collect(self, component: Component) -> None:
        component.messages += [(sender.mesh.me, payload) for sender, payload in self.group.sent]
        self.group.sent.clear()

    def deliver(self, component: Component, times: int) -> None:
        """Let members deliver messages of their view, one each time."""
        for _ in range(times):
            behind = [
                m for m in component.members if component.delivered[m] < len(component.messages)
            ]
            if not behind:
                return
            self.deliver_next(component, behind[self.choose(len(behind) - 1)])

    def deliver_next(self, component: Component, member: int) -> None:
        source, payload = component.messages[component.delivered[member]]
        component.delivered[member] += 1
        self.group.members[member].deliver_to(source, payload)
        self.collect(component)

    def end(self, component: Component, part: list[int], left: list[int]) -> None:
        """A part of a view comes along into the next one."""
        safe = max(component.delivered[member] for member in part)
        received = max(component.delivered.values())
        known = received + self.choose(len(component.messages) - received)
        for member in part:
            while component.delivered[member] < safe:
                self.deliver_next(component, member)
        for member in part:
            self.group.members[member].primary.transitional(part, left)
        for member in part:
            for source, payload in component.messages[safe:known]:
                self.group.members[member].deliver_to(source, payload)
        self.group.sent.clear()
        component.delivered |= dict.fromkeys(part, max(safe, known))


@settings(max_examples=150)
@given(st.data(), st.lists(st.integers(0, 3), min_size=2, max_size=6).map(tuple))
def test_there_is_never_more_than_one_primary_component(
    data: st.DataObject, weights: tuple[int, ...]
) -> None:
    schedule = Schedule(data, weights)
    group = schedule.group
    for _ in range(data.draw(st.integers(5, 25))):
        schedule.step()
        apart = [
            {member for member in component.members if group.members[member].primary.primary}
            for component in schedule.components
        ]
        primary = [part for part in apart if part]
        assert len(primary) <= 1
    assert not any(member.aborted for member in group.members)
    event(f"primary at the end: {bool(primary)}")
