"""A recording as text: how many messages of each kind, and what happened to servers."""

from __future__ import annotations

from collections import Counter

from rich.console import Group

from simrep.measure.units import amount, size
from simrep.show.player.columns import kind_of
from simrep.show.text.layout import table, title, words
from simrep.show.views import tables
from simrep.why.recording import Recording

__all__ = ["recording_tables"]


@tables.register(Recording)
def recording_tables(recording: Recording) -> Group:
    """A row per kind of message."""
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for one in recording.messages:
        kind = kind_of(one.label)
        counts[kind] += 1
        sizes[kind] += one.size_bytes
    rows = [(kind, amount(count), size(sizes[kind])) for kind, count in counts.most_common()]
    facts = (
        f"from {recording.from_s:.3f} to {recording.until_s:.3f} s of {recording.length_s:.3f} s: "
        f"{amount(recording.committed)} commits, {amount(len(recording.messages))} messages"
    )
    return Group(
        title(f"Recording of {recording.model}"),
        words(facts),
        words(""),
        table(["message", "number", "bytes"], "lrr", rows),
    )
