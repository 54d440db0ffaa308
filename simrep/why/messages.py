"""The messages of a story: what they are, which carry a transaction, and what led to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable

from simrep.kernel.chronicle import MessageText, Sent
from simrep.runs.story import Story, belongs
from simrep.workload.transaction import Transaction

__all__ = ["Messages"]


class Messages:
    """Each is described once; what is asked about transactions then costs little.

    Parameters
    ----------
    story : Story
    """

    def __init__(self, story: Story) -> None:
        self.names = story.names
        self._texts = [story.describe(sent.message) for sent in story.sent]
        self._carrying: dict[int, list[Sent]] = defaultdict(list)
        self._placed: dict[Hashable, list[Sent]] = defaultdict(list)
        self._followers: dict[int, list[Sent]] = defaultdict(list)
        for sent, text in zip(story.sent, self._texts, strict=True):
            for one in text.about:
                self._carrying[id(getattr(one, "whole", None) or one)].append(sent)
            if text.position is not None:
                self._placed[text.position].append(sent)
            if sent.cause is not None:
                self._followers[sent.cause.number].append(sent)

    def text(self, sent: Sent) -> MessageText:
        """What a message is."""
        return self._texts[sent.number]

    def of(self, transaction: Transaction) -> set[Sent]:
        """Those that carry a transaction, and the answers to them."""
        found = {
            sent
            for sent in self._carrying.get(id(transaction), ())
            if any(belongs(one, transaction) for one in self.text(sent).about)
        }
        positions = {self.text(sent).position for sent in found} - {None}
        found |= {sent for position in positions for sent in self._placed[position]}
        return found | {one for sent in found for one in self._followers.get(sent.number, ())}

    def cause(self, sent: Sent) -> Sent | None:
        """What its sender had been handling, or what it answers."""
        if sent.cause is not None:
            return sent.cause
        position = self.text(sent).position
        answered = [
            other
            for other in (self._placed[position] if position is not None else ())
            if other.target == sent.source and other.arrived_s <= sent.sent_s
        ]
        return answered[-1] if answered else None
