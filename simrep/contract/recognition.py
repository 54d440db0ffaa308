"""How a model recognises the servers that it stands for, by their files and counters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, NamedTuple

from simrep.contract.server_reading import FileEntry, Place, ServerReading

__all__ = ["Clue", "Evidence", "Recognition", "ServerBranch", "ServerRelease"]


class Evidence(NamedTuple):
    """Why a server is taken for one of a model's.

    Attributes
    ----------
    note : str
    places : tuple of Place
        Where it stands; empty where the model is taken because nothing speaks for another.
    """

    note: str
    places: tuple[Place, ...] = ()


class Clue(NamedTuple):
    """A figure of the scenario that the files tell, where it stands, and how it follows."""

    value: float
    places: tuple[Place, ...]
    note: str


class ServerRelease(NamedTuple):
    """The version of a server.

    Attributes
    ----------
    family : str
        How the model's versions begin that are meant: ``FAMILY-8.4``.
    numbers : tuple of int or None
        None if nothing says so.
    entry : FileEntry or None
        Where it stands; None if it was told.
    """

    family: str
    numbers: tuple[int, ...] | None
    entry: FileEntry | None


@dataclass(frozen=True, slots=True)
class ServerBranch:
    """A branch of a family of servers, which has names and versions of its own.

    Parameters
    ----------
    name : str
        How versions of its models begin.
    groups : tuple of str
        Groups of an option file that it reads, without the number of a release.
    prefixes : tuple of str
        How variables and counters begin that no other branch has.
    word : str
        In small letters what its version says of itself; empty for the branch of all others.
    numbers : str
        A regular expression whose first group is the part of the version with its numbers.
    """

    name: str
    groups: tuple[str, ...]
    prefixes: tuple[str, ...] = ()
    word: str = ""
    numbers: str = "(.*)"

    @property
    def own_groups(self) -> tuple[str, ...]:
        """Groups whose number of a release says which one the file was written for."""
        return tuple(name for name in self.groups if name.startswith(self.name))

    def release(self, text: str) -> tuple[int, ...] | None:
        """The numbers of a version: ``8.0.36-28.1``."""
        match = re.fullmatch(self.numbers, text, re.IGNORECASE)
        return tuple(map(int, re.findall(r"\d+", match[1]))) or None if match else None


class Recognition:
    """What a model knows of the files of its servers: of the base class, nothing.

    A model of one's own derives from it and sets ``Model.recognition`` to one.
    """

    rank: ClassVar[int] = 50
    """Models are asked in this order: those first whose evidence leaves no doubt."""
    branches: ClassVar[tuple[ServerBranch, ...]] = ()
    """Servers that its product runs in."""
    default_nodes: ClassVar[int] = 3
    """Servers, where nothing tells their number."""
    single: ClassVar[bool] = False
    """Whether it is one server, whatever the files say."""
    identity: ClassVar[frozenset[str]] = frozenset()
    """Settings that tell product, version or nodes, and nothing else that is simulated."""
    not_simulated: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Options that matter in other respects, and why they have no effect here."""
    packed: ClassVar[frozenset[str]] = frozenset()
    """Settings whose value is a list of further ones: ``a = b; c = d``."""
    sections: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Groups of the option file that programs beside the server read: how names of their options
    begin here."""
    path_switches: ClassVar[frozenset[str]] = frozenset()
    """Switches that a file name turns on."""
    lasting: ClassVar[tuple[str, ...]] = ()
    """How counters begin that are not reset with all others (``FLUSH STATUS``)."""
    transactions: ClassVar[tuple[str, ...]] = ()
    """Counters of transactions that write, the most exact first."""
    replicated: ClassVar[tuple[str, str] | None] = None
    """Counters of the transactions that a node replicates and receives, where all may write."""
    sizes: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Counters of bytes, and of the transactions that these are of, as the model spells them."""

    def evidence(self, server: ServerReading) -> Evidence | None:
        """Why the server is one of this model's; None if nothing says so."""
        return None

    def release(self, server: ServerReading) -> ServerRelease:
        """The version, as the model names it."""
        return ServerRelease(server.family, server.release, server.release_entry)

    def nodes(self, server: ServerReading) -> Clue | None:
        """How many servers there are."""
        return None

    def cores(self, server: ServerReading) -> Clue | None:
        """How many processors the server has."""
        return None

    def round_trip_ms(self, server: ServerReading, nodes: int) -> Clue | None:
        """The round trip between servers in milliseconds."""
        return None

    def spellings(self, option: str) -> tuple[str, ...]:
        """Further names that a server has for an option of the model."""
        return ()

    def remarks(self, server: ServerReading) -> list[str]:
        """Counters that nothing is set from, for people to compare the simulated ones with."""
        return []
