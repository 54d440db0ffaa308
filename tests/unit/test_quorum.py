"""Which part of a Galera group may go on: weights, orderly leaves, what is ignored.

References
----------
codership/galera ``gcomm/src/pc_proto.cpp``: ``have_quorum``, ``have_split_brain``, ``is_prim``.
"""

from __future__ import annotations

import pytest

from simrep.models.galera.gcomm.primary import PrimaryOptions, quorum_margin


def lives(*members: int) -> list[tuple[int, int]]:
    return [(member, 0) for member in members]


@pytest.mark.parametrize(
    ("weights", "present", "left", "margin"),
    [
        ((1, 1, 1), (0, 1), (), 1),
        ((1, 1, 1), (2,), (), -1),
        ((1, 1), (0,), (), 0),
        ((1, 1), (0,), (1,), 1),
        ((1, 1, 1, 1), (0, 1), (), 0),
        ((1, 1, 1, 1, 1), (0, 1, 4), (), 1),  # two sites of two, and an arbitrator with the first
        ((2, 1, 1), (0,), (), 0),
        ((2, 1, 1), (1, 2), (), 0),
        ((3, 1, 1), (0,), (), 1),
        ((1, 1, 1), (0,), (1, 2), 1),  # both leave at once
        ((1, 1, 0), (0,), (), 0),  # a member without weight
        ((1, 1, 1), (0, 9), (), -1),  # who joins adds nothing
    ],
)
def test_quorum_is_a_matter_of_weight(
    weights: tuple[int, ...], present: tuple[int, ...], left: tuple[int, ...], margin: int
) -> None:
    options = PrimaryOptions(weights)
    last = lives(*range(len(weights)))
    assert quorum_margin(options, last, lives(*present), lives(*left)) == margin


def test_who_has_come_back_is_somebody_else() -> None:
    assert quorum_margin(PrimaryOptions(), lives(0, 1, 2), [(0, 0), (1, 1)], ()) < 0
