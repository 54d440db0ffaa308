"""What servers log while they are broken: lines with their time of arrival, and what they mean.

The words are those that models note, so that one definition serves what is measured and what is
simulated: ``suspect``, ``primary``, ``synced``.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from simrep.kernel.timeline import Noted

if TYPE_CHECKING:
    from simrep.rig.cell import ProductName

__all__ = ["LogLine", "LogWatch", "noted"]

_LOOK_S = 0.005
"""Between two looks at the logs: so late a line may be."""
_MOST = 400


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a server's log, and when it came: on the monotonic clock, or on that of a load."""

    at_s: float
    node: str
    text: str


class LogWatch:
    """Notices lines that servers append to their logs, from ``with`` on to its end.

    Parameters
    ----------
    logs : mapping of node to Path
    """

    def __init__(self, logs: Mapping[str, Path]) -> None:
        self._logs = logs
        self._places = {node: _size(path) for node, path in logs.items()}
        self._rest = dict.fromkeys(logs, b"")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.lines: list[LogLine] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(_LOOK_S):
            self._look()
        self._look()

    def _look(self) -> None:
        for node, path in self._logs.items():
            place = self._places[node]
            if _size(path) <= place:
                continue
            with path.open("rb") as file:
                file.seek(place)
                added = file.read()
            self._places[node] = place + len(added)
            *whole, self._rest[node] = (self._rest[node] + added).split(b"\n")
            now_s = time.monotonic()
            for line in whole:
                text = line.decode("utf-8", "replace").rstrip()[:_MOST]
                self.lines.append(LogLine(now_s, node, text))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@dataclass(slots=True)
class _Reader:
    """Reads the logs of one run; nodes are known by their addresses.

    Attributes
    ----------
    places : mapping of address to int
        Positions of the nodes.
    names : sequence of str
    known : dict of str to int
        Galera: positions by what nodes call one another in logs.
    members : dict of int to list of str
        Galera: of the view that a node is telling.
    """

    places: Mapping[str, int]
    names: Sequence[str]
    known: dict[str, int] = field(default_factory=dict)
    members: dict[int, list[str]] = field(default_factory=dict)
    telling: set[int] = field(default_factory=set)

    def at(self, address: str) -> tuple[int, ...]:
        """The position of an address; empty if it is none of the nodes."""
        own = self.places.get(address)
        return () if own is None else (own,)


_Rule = tuple[re.Pattern[str], str]

_ADDRESS = r"(\d+\.\d+\.\d+\.\d+)"
_GALERA: Sequence[_Rule] = (
    (re.compile(r"suspecting node: ([0-9a-f-]+)"), "suspect"),
    (re.compile(rf"declaring [0-9a-f-]+ at \w+://{_ADDRESS}:\d+ stable"), "stable"),
    (re.compile(rf"connection established to [0-9a-f-]+ \w+://{_ADDRESS}"), "link-open"),
    (re.compile(r"connection to peer .*? timed out"), "link-closed"),
    (re.compile(r"turning message relay requesting on"), "link-closed"),
    (re.compile(r"Receiving IST"), "joiner IST"),
    (re.compile(r"SST started on donor"), "donor SST"),
    (re.compile(r"Shifting \w+ -> DONOR"), "donor"),
    (re.compile(r"Shifting \w+ -> JOINED"), "joined"),
    (re.compile(r"Shifting \w+ -> SYNCED"), "synced"),
)
_COMPONENT = re.compile(r"New COMPONENT: primary = (yes|no).*memb_num = (\d+)")
_OWN = re.compile(r"WSREP: \(([0-9a-f-]+), 'tcp://")
_PEER = re.compile(rf"connection established to ([0-9a-f-]+) \w+://{_ADDRESS}")
_VIEW = re.compile(r"view\(view_id\((PRIM|NON_PRIM),.* memb \{")
_MEMBER = re.compile(r"^\s+([0-9a-f]{8}-[0-9a-f]{4}),\d+")


def _of_galera(line: LogLine, node: int, reader: _Reader) -> Iterator[tuple[str, tuple[int, ...]]]:
    text = line.text
    if (own := _OWN.search(text)) is not None:
        reader.known[own[1]] = node
    if (peer := _PEER.search(text)) is not None and peer[2] in reader.places:
        reader.known[peer[1]] = reader.places[peer[2]]
    if _VIEW.search(text):
        reader.members[node] = []
        reader.telling.add(node)
    elif node in reader.telling:
        if (member := _MEMBER.match(text)) is not None:
            reader.members[node].append(member[1])
        elif text.lstrip().startswith("}"):
            reader.telling.discard(node)
    if (component := _COMPONENT.search(text)) is not None:
        word = "primary" if component[1] == "yes" else "non-primary"
        found = [reader.known.get(name) for name in reader.members.get(node, ())]
        places = tuple(sorted(place for place in found if place is not None))
        if len(places) != int(component[2]):  # not all are known: the number is what counts
            places = tuple(range(int(component[2])))
        yield word, places
        return
    for pattern, word in _GALERA:
        if (match := pattern.search(text)) is not None:
            told = match[1] if match.groups() else ""
            known = (reader.known[told],) if told in reader.known else ()
            yield word, reader.at(told) or known
            return


_GROUP: Sequence[_Rule] = (
    (re.compile(rf"Member with address {_ADDRESS}:\d+ has become unreachable"), "suspect"),
    (re.compile(rf"Adding new node to the configuration: {_ADDRESS}:"), "stable"),
    (re.compile(rf"A new primary with address {_ADDRESS}:\d+ was elected"), "elected"),
    (re.compile(r"Setting super_read_only=OFF"), "writable"),
    (re.compile(r"Member was expelled from the group"), "evicted"),
    (re.compile(r"Started auto-rejoin procedure attempt"), "rejoin"),
    (re.compile(r"This server was declared online within"), "synced"),
    (re.compile(r"not able to reach a majority"), "non-primary"),
    (re.compile(rf"\[GCS\] Connected to {_ADDRESS}:"), "link-open"),
    (re.compile(rf"Sender task disconnected from {_ADDRESS}:"), "link-closed"),
    (re.compile(rf"[Ee]xpel.*{_ADDRESS}:|Removing members? that have failed"), "expel"),
)
_CHANGED = re.compile(r"Group membership changed to (.*) on view")


def _of_group(line: LogLine, _node: int, reader: _Reader) -> Iterator[tuple[str, tuple[int, ...]]]:
    if (changed := _CHANGED.search(line.text)) is not None:
        found = [reader.at(address) for address in re.findall(_ADDRESS, changed[1])]
        yield "primary", tuple(sorted(place for own in found for place in own))
        return
    for pattern, word in _GROUP:
        if (match := pattern.search(line.text)) is not None:
            told = next((group for group in match.groups() if group), "")
            yield word, reader.at(told)
            return


_SOURCE: Sequence[_Rule] = (
    (re.compile(r"[Ss]emi-?sync replication (?:source )?switched OFF"), "async"),
    (re.compile(r"[Ss]emi-?sync replication (?:source )?switched ON"), "sync"),
    (re.compile(r"Start (?:semi-?sync|asynchronous) binlog_dump to \w+ \(server_id: (\d+)"),
     "link-open"),
    (re.compile(r"Stop (?:semi-?sync|asynchronous) binlog_dump to \w+ \(server_id: (\d+)"),
     "link-closed"),
)  # fmt: skip


def _of_source(line: LogLine, _node: int, reader: _Reader) -> Iterator[tuple[str, tuple[int, ...]]]:
    for pattern, word in _SOURCE:
        if (match := pattern.search(line.text)) is not None:
            number = int(match[1]) if match.groups() else 0
            yield word, (number - 1,) if 0 < number <= len(reader.names) else ()
            return


_Told = Callable[[LogLine, int, _Reader], Iterator[tuple[str, tuple[int, ...]]]]
_PRODUCTS: Mapping[ProductName, _Told] = {
    "galera": _of_galera,
    "group_replication": _of_group,
    "semisync": _of_source,
    "asynchronous": _of_source,
}


def noted(
    product: ProductName, lines: Iterable[LogLine], addresses: Mapping[str, str]
) -> tuple[Noted, ...]:
    """What the lines of a run mean, in the words of the models.

    Parameters
    ----------
    product : str
    lines : iterable of LogLine
        In their order.
    addresses : mapping of node to str
        All nodes in their order.
    """
    names = tuple(addresses)
    reader = _Reader({address: place for place, address in enumerate(addresses.values())}, names)
    found = []
    for line in lines:
        node = names.index(line.node)
        for word, of in _PRODUCTS[product](line, node, reader):
            what, _, how = word.partition(" ")
            found.append(Noted(line.at_s, node, what, of, how))
    return tuple(found)
