"""The part that an option plays, whatever a product calls it: questions and sliders look for it.

A field of a model's options carries its role beside its description, as
``Annotated[int, roles.APPLIERS]``. A model whose options have none is simulated all the same; it
is not asked how many appliers it needs, and gets no sliders for its options.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from simrep.scenario.problems import spellings

__all__ = ["ROLES", "Role", "field_of", "levels_of", "spellings_of"]


@dataclass(frozen=True, slots=True)
class Role:
    """What an option does.

    Parameters
    ----------
    name : str
    levels : sequence
        What a slider offers; empty for all values of an option that has only a few.
    """

    name: str
    levels: Sequence[Any] = ()  # compared, too: ``typing`` keeps one of equal ``Annotated``

    def offering(self, *levels: Any) -> Self:
        """The same role, of an option with other usual values."""
        return replace(self, levels=levels)


FLOW_CONTROL_LIMIT = Role("queue at which writers are slowed down", (16, 64, 256, 1024))
WRITE_CONCURRENCY = Role("positions of the order in use at a time", (10, 25, 50, 100, 200))
SINGLE_LEADER = Role("whether a leader alone orders")
REPLICAS_WAITED_FOR = Role("replicas that a commit waits for")  # from 1 to all that there are
WAIT_POINT = Role("where in a commit it waits for them")
APPLIERS = Role("threads that apply what others have committed", (1, 2, 4, 8, 16))
REDO_DURABILITY = Role("what a commit does to the redo log", (0, 1, 2))
LOG_DURABILITY = Role("commit groups between two fsyncs of the log", (0, 1, 100))
SEND_WINDOW = Role("messages under way at a time", (4, 10, 64, 512))
IDLE_SEND_WINDOW = Role("the same, for a message that meets an empty queue", (2, 4, 32, 512))

ROLES = (
    FLOW_CONTROL_LIMIT,
    WRITE_CONCURRENCY,
    SINGLE_LEADER,
    REPLICAS_WAITED_FOR,
    WAIT_POINT,
    APPLIERS,
    REDO_DURABILITY,
    LOG_DURABILITY,
)
"""Roles that a slider is offered for, the first ones first."""


def spellings_of(role: Role, options: type[BaseModel]) -> list[str]:
    """All names of the option that plays a role, the preferred one first; empty if none does."""
    return next((spellings(name, option) for name, option, _ in _marked(role, options)), [])


def field_of(role: Role, options: type[BaseModel]) -> str | None:
    """The field that plays a role; None if none does."""
    return next((name for name, _, _ in _marked(role, options)), None)


def levels_of(role: Role, options: type[BaseModel]) -> Sequence[Any]:
    """What a slider offers for the option that plays a role; nothing if none does."""
    for _, option, mark in _marked(role, options):
        few = (False, True) if option.annotation is bool else get_args(option.annotation)
        return mark.levels or few
    return ()


def _marked(role: Role, options: type[BaseModel]) -> Iterator[tuple[str, FieldInfo, Role]]:
    """The first field that plays a role, under its name, with its mark."""
    for name, option in options.model_fields.items():
        for mark in option.metadata:
            if isinstance(mark, Role) and mark.name == role.name:
                yield name, option, mark
                return
