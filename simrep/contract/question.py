"""An inverse question: where its answer comes from, and how it is asked on a command line."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

__all__ = ["Kind", "Option", "Question"]

Kind = Literal[
    "text", "names", "number", "count", "time", "share", "sizes", "range", "file", "files", "levels"
]
"""What an option is, as people write it.

``names``: with commas between them; ``count``: a whole number; ``time``: ``500ms``, ``2h``;
``share``: ``5%``; ``sizes``: ``10K,64Ki``; ``range``: ``1..100``; a file is one to read. An option
of ``files`` or of ``levels`` (``PATH=1,10`` as a sweep takes them) may be repeated.
"""


@dataclass(frozen=True, slots=True)
class Option:
    """Something that a question has to know.

    Parameters
    ----------
    name : str
        Keyword argument of the function that answers, with its unit: ``longest_stall_s``.
    help : str
    kind : str
        See ``Kind``.
    default : value, optional
        As it is written on a command line; None for that of the function.
    required : bool
        There is no default.
    metavar : str
        Stands for the value in the help; that of the kind if not given.
    flag : str
        Its name on a command line, if that is not its name: ``longest-stall``.
    least : int, optional
        Of a count.
    unit : str
        In which a time is handed over: ``s`` if not given. A range without a unit is one of whole
        numbers.
    quick : number, optional
        What a first look takes instead of the default.
    """

    name: str
    help: str
    kind: Kind = "text"
    default: Any = None
    required: bool = False
    metavar: str = ""
    flag: str = ""
    least: int | None = None
    unit: str = ""
    quick: float | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question that ``simrep.plan`` answers.

    Parameters
    ----------
    name : str
    answer : str
        The function that answers, as ``package.module:function``; it is loaded when it is asked.
        It takes a scenario, the options below, and ``seed``, ``executor`` and ``progress``, and
        returns an ``Answer``.
    help : str
        What the question is, in a line, and how to ask it.
    options : tuple of Option
        In the order of the help.
    """

    name: str
    answer: str
    help: str
    options: tuple[Option, ...] = ()

    def ask(self, scenario: Any, **options: Any) -> Any:
        """The answer."""
        module, _, function = self.answer.partition(":")
        return getattr(import_module(module), function)(scenario, **options)
