"""Elections of a primary: who it is, and when it takes writes."""

from __future__ import annotations

from collections import deque

import pytest

from simrep.models.group_replication.election import (
    Election,
    ElectionActions,
    MemberInfo,
    MemberState,
    pick_primary,
)
from simrep.models.group_replication.messages import Control, Word

ONLINE, RECOVERING = MemberState.ONLINE, MemberState.RECOVERING


@pytest.mark.parametrize(
    ("members", "primary"),
    [
        ({1: MemberInfo(ONLINE), 2: MemberInfo(ONLINE)}, 1),
        ({1: MemberInfo(ONLINE), 2: MemberInfo(ONLINE, weight=60)}, 2),
        ({1: MemberInfo(RECOVERING, weight=90), 2: MemberInfo(ONLINE)}, 2),
        ({1: MemberInfo(ONLINE, weight=90), 2: MemberInfo(ONLINE, primary=True)}, 2),
        ({1: MemberInfo(RECOVERING)}, None),
    ],
)
def test_the_primary_is_who_has_the_highest_weight_of_those_online(members, primary):
    assert pick_primary(members) == primary


class Scripted(ElectionActions):
    """A member of a group whose messages are delivered to all in one order."""

    def __init__(self, group, member):
        self.group, self.member = group, member
        self.backlog, self.commits = [], []  # whom to call when it is applied, or has ended
        self.writes = member == 0
        self.conflicts = False
        self.election = Election(member, self)
        self.election.begin(0, range(len(group.names)), running=False)

    def send(self, message):
        self.group.order.append(message)

    def when_applied(self, call):
        self.backlog.append(call)

    def set_writable(self):
        self.writes = True

    def set_read_only(self, call):
        self.writes = False
        self.commits.append(call)

    def detect_conflicts(self, *, on):
        self.conflicts = on


class Group:
    def __init__(self, size=3):
        self.names = list(range(size))
        self.order = deque()
        self.members = {name: Scripted(self, name) for name in self.names}

    def leave(self, *gone):
        self.members = {at: left for at, left in self.members.items() if at not in gone}
        infos = {at: MemberInfo(ONLINE, left.election.primary == at)
                 for at, left in self.members.items()}  # fmt: skip
        for member in self.members.values():
            member.election.see(infos)

    def deliver(self):
        """All that is on its way; what was told."""
        said = []
        while self.order:
            message = self.order.popleft()
            said.append((message.member, message.word))
            for member in self.members.values():
                member.election.deliver(message)
        return said

    def do(self, what):
        """Let backlogs be applied, or commits end."""
        for member in self.members.values():
            calls = getattr(member, what)
            while calls:
                calls.pop(0)()

    @property
    def writers(self):
        return [at for at, member in self.members.items() if member.writes]


def test_a_new_primary_takes_writes_when_it_has_applied_its_backlog():
    group = Group()
    group.leave(0)
    assert {member.election.primary for member in group.members.values()} == {1}
    assert group.deliver() == []
    assert group.writers == []
    group.do("backlog")
    assert group.deliver() == [(1, Word.READY), (1, Word.APPLIED)]
    assert group.writers == [1]
    assert not any(member.election.running or member.conflicts for member in group.members.values())


def test_a_primary_that_leaves_during_its_election_is_followed_by_the_next():
    group = Group(4)
    group.leave(0)
    group.leave(1)
    group.do("backlog")
    group.deliver()
    assert group.writers == [2]


def test_a_switch_by_hand_looks_for_conflicts_until_the_old_primary_has_ended():
    group = Group()
    group.order.append(Control(Word.ELECT, 2, of=2))
    group.deliver()
    assert group.writers == [0]
    group.do("backlog")
    assert group.deliver() == [(2, Word.READY), (2, Word.READ_ONLY)]
    assert group.writers == [2]
    assert all(member.conflicts for member in group.members.values())
    group.do("commits")
    assert group.deliver() == [(0, Word.READ_ONLY), (1, Word.READ_ONLY)]
    group.do("backlog")
    assert group.deliver() == [(2, Word.APPLIED)]
    assert not any(member.election.running or member.conflicts for member in group.members.values())


def test_a_switch_by_hand_ends_also_without_the_old_primary():
    group = Group()
    group.order.append(Control(Word.ELECT, 1, of=1))
    group.deliver()
    group.do("backlog")
    group.deliver()
    group.leave(0)
    group.do("commits")
    group.deliver()
    group.do("backlog")
    assert group.deliver() == [(1, Word.APPLIED)]
    assert group.writers == [1]


def test_who_is_told_to_be_primary_and_is_not_there_is_not_elected():
    group = Group()
    group.leave(2)
    group.order.append(Control(Word.ELECT, 1, of=2))
    group.deliver()
    assert group.writers == [0]


def test_a_primary_that_is_there_again_as_another_process_is_none():
    group = Group()
    group.members[0] = Scripted(group, 0)
    infos = {0: MemberInfo(RECOVERING), 1: MemberInfo(ONLINE), 2: MemberInfo(ONLINE)}
    for member in (1, 2):
        group.members[member].election.see(infos, {0})
    group.members[0].election.begin(None, infos, running=False)
    group.members[0].election.see(infos, {0})
    assert {member.election.primary for member in group.members.values()} == {1}
