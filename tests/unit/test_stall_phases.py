"""What a stall of Galera consists of, in words: timers and messages, from lines of a time line."""

import pytest

from simrep.kernel.timeline import Noted
from simrep.models.galera.options import GaleraOptions
from simrep.models.galera.stall_phases import stall_phases

NAMES = ("n1", "n2", "n3")


def phases(rows, from_s, until_s):
    noted = [Noted(at_s, NAMES.index(node), what, tuple(map(NAMES.index, of)))
             for at_s, node, what, of in rows]  # fmt: skip
    return stall_phases(noted, NAMES, GaleraOptions(), from_s, until_s)


def figures(found):
    return [(one.name, round(one.seconds, 6)) for one in found]


BOTH = ("n1", "n2")


def test_a_crash_is_a_timeout_a_tick_a_retransmission_and_messages():
    found = phases(
        [
            (10.01, "n1", "link-closed", ("n3",)),
            (15.31, "n1", "suspect", ("n3",)),
            (15.81, "n2", "suspect", ("n3",)),
            (16.33, "n1", "stable", BOTH),
            (16.34, "n1", "primary", BOTH),
        ],
        10.0,
        16.36,
    )
    assert figures(found) == [
        ("suspect timeout", 5.0),
        ("to the next tick", 0.31),
        ("join retransmission", 1.0),
        ("messages", 0.02),
        ("messages", 0.01),
        ("first commit", 0.02),
    ]
    assert "n1 sees no progress of n3" in found[0].why


def test_ticks_within_a_hop_need_no_retransmission():
    found = phases(
        [
            (15.26, "n1", "suspect", ("n3",)),
            (15.4, "n1", "stable", BOTH),
            (15.63, "n1", "primary", BOTH),
        ],
        10.1,
        15.7,
    )
    assert [name for name, _ in figures(found)] == [
        *("suspect timeout", "to the next tick", "messages", "messages", "first commit")
    ]


def test_a_message_that_came_too_early_costs_a_keepalive():
    found = phases([(20.6, "n1", "stable", NAMES), (21.61, "n1", "primary", NAMES)], 20.5, 21.62)
    assert ("keepalive", 1.0) in figures(found)
    assert sum(one.seconds for one in found) == pytest.approx(1.12)


def test_without_quorum_the_stall_goes_on():
    found = phases(
        [
            (15.1, "n1", "suspect", ("n2",)),
            (16.1, "n1", "stable", ("n1",)),
            (16.1, "n1", "non-primary", ("n1",)),
        ],
        10.0,
        30.0,
    )
    assert figures(found)[-1] == ("no quorum", pytest.approx(13.9))


def test_no_quorum_lasts_until_links_are_back_whatever_views_others_have_meanwhile():
    found = phases(
        [
            (15.1, "n1", "suspect", ("n2",)),
            (16.1, "n1", "stable", ("n1",)),
            (16.1, "n1", "non-primary", ("n1",)),
            (16.3, "n2", "stable", ("n2",)),
            (16.3, "n2", "non-primary", ("n2",)),
            (25.0, "n1", "link-open", ("n2",)),
            (26.1, "n1", "stable", BOTH),
            (26.2, "n1", "primary", BOTH),
        ],
        10.0,
        27.2,
    )
    assert figures(found)[3:] == [
        ("no quorum", 8.9),
        ("join retransmission", 1.0),
        ("messages", 0.1),
        ("messages", 0.1),
        ("first commit", 1.0),
    ]
    assert "n1 has a link to n2" in found[3].why
    assert "after a pause" in found[-1].why


def test_two_changes_of_the_view_follow_each_other():
    found = phases(
        [
            (15.1, "n1", "suspect", ("n3",)),
            (16.1, "n1", "stable", BOTH),
            (16.11, "n1", "primary", BOTH),
            (16.6, "n1", "suspect", ("n2",)),
            (17.6, "n1", "stable", ("n1",)),
            (17.6, "n1", "non-primary", ("n1",)),
        ],
        10.0,
        20.0,
    )
    assert figures(found)[-1] == ("no quorum", pytest.approx(2.4))
    assert sum(one.seconds for one in found) == pytest.approx(10.0)


def test_a_lost_link_is_a_timeout_and_a_repair():
    found = phases([(13.2, "n1", "link-closed", ("n2",))], 10.0, 13.5)
    assert figures(found) == [
        ("peer timeout", 3.0), ("to the next check", 0.2), ("repair", 0.3)
    ]  # fmt: skip


def test_nothing_noted_is_nothing_explained():
    assert phases([], 10.0, 13.5) == []
