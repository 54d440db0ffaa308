"""What messages between members of a group are, and what members note, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simrep.modelling import MessageText
from simrep.modelling.watching import together
from simrep.models.group_replication.gcs.views import StateMessage
from simrep.models.group_replication.xcom.paxos import describe_xcom
from simrep.models.group_replication.xcom.site import STRIDE
from simrep.models.group_replication.xcom.slots import Batch, Configuration, Kind, Message

__all__ = ["SAID", "TERMS", "describe_message"]

SAID = {
    "no-answer": "{node} gets no answer from {of} for 1 s, and does nothing else meanwhile",
    "suspect": "{node} finds {of} unreachable",
    "wave": "{node} has the slots of {of} stay empty",
    "stable": "{node} has a new configuration: {of}",
    "primary": "{node} is in a view with a majority: {of}",
    "non-primary": "{node} has lost the majority and reaches {of}",
    "elected": "{node} sees {of} elected",
    "refused": "{of} does not let {node} in: the process that it was before is still a member",
    "alone": "{node} finds no group to join, and asks again",
    "rejoin": "{node} tries to come back by itself",
    "donor": "{node} is the donor of {of}",
    "joiner": "{node} is RECOVERING, with {of} as donor",
    "joined": "{node} has received what it has missed",
    "synced": "{node} is ONLINE",
    "evicted": "{node} learns that it is expelled",
    "aborted": "{node} leaves the group",
    "left": "{node} has left the group, and has its clients go",
    "not-started": "{node} does not start group replication (start_on_boot = OFF): it takes writes "
    "that no other member gets",
}
"""How members say what they note; see ``Model.said``."""
TERMS = {"stable": "configuration", "primary": "view"}
"""What XCom and the plugin agree on, one after the other; see ``Model.terms``."""
_MISSING = {Kind.PREPARE, Kind.PROMISE, Kind.READ, Kind.VALUE}
_ORDERS = {
    "add": "add a member",
    "remove": "remove a member",
    "force": "force the members",
    "lead": "another leader",
}


def describe_message(message: Any, payload: Callable[[Any], MessageText]) -> MessageText:
    """A message of a group, whether something happens in it or not.

    Parameters
    ----------
    message : object
    payload : callable
        Describes what the plugin sends.
    """
    if not isinstance(message, Message):
        text = getattr(message, "text", None)
        if text is None:
            return describe_xcom(message, payload)
        return MessageText(text, membership=getattr(message, "membership", True))
    kind = message.kinds[message.kind]
    slot = message.slot if message.slot >= 0 else None
    batch = message.batch
    # What is missing of a silent member: somebody else asks, or proposes in its place.
    missing = message.kind in _MISSING or message.ballot >= STRIDE
    if batch is None:
        if missing and message.kind in {Kind.ACCEPT, Kind.VALUE}:
            kind = f"{kind}: empty"
        return MessageText(kind, (), slot, missing)
    text = _describe_batch(batch, payload)
    membership = missing or text.membership
    return MessageText(f"{kind}: {text.label}", text.about, slot, membership)


def _describe_batch(batch: Batch, payload: Callable[[Any], MessageText]) -> MessageText:
    if batch.order is not None:
        order = batch.order
        label = _ORDERS[order.what] if isinstance(order, Configuration) else "who is there"
        return MessageText(label, membership=True)
    if not batch.payloads:
        return MessageText("nothing")
    told = [sent for sent in batch.payloads if not isinstance(sent, StateMessage)]
    if len(told) < len(batch.payloads):
        return MessageText("state exchange", membership=True)
    return together(payload(sent) for sent in told)
