"""The group communication of MySQL: who is suspected and removed, and when."""

from __future__ import annotations

from tests.replication_groups import Members


def test_nothing_but_signs_of_life_is_sent_in_a_group_in_which_nothing_happens() -> None:
    members = Members()
    done = members.write(0)
    members.clock.run(until=0.5)
    assert all(len(delivered) == len(members.delivered[0]) for delivered in members.delivered)
    for delivered in members.delivered:
        delivered.clear()
    members.groups[0].on_deliver(lambda *_: None)
    members.clock.run(until=1.0)
    before = [transport.sent for transport in members.transports]
    members.clock.run(until=61.0)
    more = [
        transport.sent - sent for transport, sent in zip(members.transports, before, strict=True)
    ]
    assert done
    assert more == [120, 120, 120]  # one a second to each of the two others
    assert not members.timeline.noted
