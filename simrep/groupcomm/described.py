"""What messages of group communication are, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from simrep.groupcomm.view import Message
from simrep.groupcomm.xcom import KINDS
from simrep.kernel.chronicle import MessageText

__all__ = ["describe_evs", "describe_xcom"]

Describe = Callable[[Any], MessageText]


def describe_evs(message: Any, payload: Describe) -> MessageText:
    """A message of an EVS group; ``payload`` describes what the application sends."""
    if not isinstance(message, Message):  # of a change of the view
        return MessageText(type(message).__name__.lstrip("_").lower())
    if message.last < 0:
        return MessageText("gap")
    if not message.payloads:
        return MessageText("empty message")
    return _together(payload(one) for one in message.payloads)


def describe_xcom(message: Any, payload: Describe) -> MessageText:
    """A message of XCom; a slot is the position of what is proposed in it and of all answers."""
    kind = KINDS[message.kind]
    if message.batch is None or not message.batch[0]:
        return MessageText(kind, (), message.slot if message.slot >= 0 else None)
    label, about, _ = _together(payload(one) for one in message.batch[0])
    return MessageText(f"{kind}: {label}", about, message.slot)


def _together(texts: Iterable[MessageText]) -> MessageText:
    """Several messages that travel as one."""
    parts = list(texts)
    counts = Counter(text.label for text in parts)
    label = " + ".join(name if n == 1 else f"{n} {_plural(name)}" for name, n in counts.items())
    return MessageText(label, tuple(one for text in parts for one in text.about))


def _plural(name: str) -> str:
    return name if name.endswith("s") else f"{name}s"
