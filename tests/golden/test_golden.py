"""Nothing changes unnoticed: every event of a few tiny clusters is pinned."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.golden.clusters import CLUSTERS, pin
from tests.golden.regenerate import PINNED


@pytest.fixture(scope="module")
def pinned() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(PINNED.read_text())
    return loaded


@pytest.mark.parametrize("name", CLUSTERS)
def test_events_are_the_pinned_ones(name: str, pinned: dict[str, Any]) -> None:
    assert pin(name).as_dict() == pinned[name], (
        f"{name} runs differently than before. If that is intended, pin it anew with\n"
        "    python -m tests.golden.regenerate\n"
        'and say in the changelog under "Numbers changed" what changed and why.'
    )


def test_everything_that_is_pinned_is_run(pinned: dict[str, Any]) -> None:
    assert list(pinned) == list(CLUSTERS)
