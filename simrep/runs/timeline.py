"""The time line of one replication in words: what happened to servers, and what they noted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simrep.kernel.timeline import Noted
from simrep.runs.report import Report
from simrep.scenario.events import Event

__all__ = ["Line", "TimelineReport", "without_repeats"]

_SAID = {
    "link-closed": "{node} loses its link to {of}",
    "link-open": "{node} has a link to {of}",
    "no-answer": "{node} has tried to connect to {of} in vain",
    "suspect": "{node} suspects {of}",
    "wave": "{node} has messages of {of} left out",
    "expel": "{node} asks to expel {of}",
    "stable": "{node} has a new view: {of}",
    "primary": "{node} is in the primary component: {of}",
    "non-primary": "{node} is in no primary component: {of}",
    "elected": "{node} sees {of} elected",
    "writable": "{node} takes writes",
    "read-only": "{node} takes no writes any more",
    "promoted": "{node} is promoted, and takes writes",
    "repointed": "{node} follows {of} from now on",
    "outside": "{node} takes writes for itself: {of} is the source now",
    "donor": "{node} gives its state to {of}",
    "joiner": "{node} gets the state from {of}",
    "applies": "{node} applies what it has missed",
    "joined": "{node} is joined",
    "recovered": "{node} starts after a crash",
    "synced": "{node} is synced",
    "ddl-waits": "{node} waits for transactions that use the table",
    "ddl-locks": "{node} has the table to itself",
    "ddl-rows": "{node} goes through the rows of the table",
    "ddl-begins": "{node} begins",
    "ddl-answers": "{node} answers the client of",
    "ddl-ends": "{node} has changed the table",
    "apply-fails": "{node} cannot apply rows of {of}",
    "inconsistent": "{node} is inconsistent, and leaves",
    "ddl-fails": "{node} does not change the table",
    "desynced": "{node} leaves flow control",
    "paused": "{node} stands still",
    "resumed": "{node} goes on",
    "locked": "{node} has granted",
    "unlocked": "{node} is told UNLOCK TABLES",
    "backup-begins": "{node} is backed up",
    "backup-copied": "{node} has its data copied",
    "backup-ends": "{node} has a backup",
    "refused": "{node} refuses",
    "fc-stop": "{node} stops the cluster: its queue is too long",
    "fc-continue": "{node} lets the cluster go on",
    "delayed": "{node} finds {of} delayed",
    "evicts": "{node} evicts {of}",
    "livelock": "{node} and {of} exclude each other again and again",
    "evicted": "{node} is evicted",
    "aborted": "{node} gives up",
    "alone": "{node} finds no group to join",
    "rejoin": "{node} tries to join again",
    "manager-hears": "{node} hears from {of} again",
    "manager-takes-for-gone": "{node} takes {of} for gone",
    "manager-waits": "{node} does not replace {of} yet",
    "manager-decides": "{node} decides for {of}",
    "manager-drained": "{node} sees that {of} has applied what it had received",
    "manager-gives-up": "{node} does not wait longer for {of}",
    "manager-leaves": "{node} leaves {of} alone",
    "manager-ends": "{node} ends with the machine of {of}",
    "manager-begins": "{node} begins again on the machine of {of}",
    "proxy-down": "{node} takes {of} out",
    "proxy-up": "{node} takes {of} in",
    "procedure-does": "{node}",
    "procedure-back": "{node} sees {of} back",
    "procedure-ends": "{node} has taken all nodes",
    "procedure-stops": "{node} stops",
    "proxy-writer": "{node} sends writes to {of}",
}
_REPEATED = {"wave", "no-answer"}
_HOW = dict.fromkeys(
    (
        "aborted",
        "apply-fails",
        "inconsistent",
        "ddl-ends",
        "ddl-fails",
        "procedure-does",
        "procedure-stops",
    ),
    ": {how}",
)
_HOW |= dict.fromkeys(("refused", "locked", "ddl-begins", "ddl-answers"), " {how}")
_HOW |= dict.fromkeys(("unlocked", "backup-ends"), "")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a time line.

    Attributes
    ----------
    at_s : float
        In simulated seconds.
    node : str
        Who noted it: a node, or another actor, as ``proxy``; empty for what the scenario lets
        happen.
    what : str
        The word of the field, or the path in the scenario.
    of : tuple of str
        The nodes that it is about.
    how : str
        Further words.
    said : str
        How the model says it, with ``{node}`` and ``{of}``; empty if as all do.
    """

    at_s: float
    node: str
    what: str
    of: tuple[str, ...] = ()
    how: str = ""
    said: str = ""

    def __str__(self) -> str:
        """In words.

        >>> str(Line(6.01, "n1", "suspect", ("n3",)))
        'n1 suspects n3'
        """
        if not self.node:
            return self.how
        pattern = self.said or _SAID.get(self.what, f"{{node}}: {self.what} {{of}}")
        said = pattern.format(node=self.node, of=", ".join(self.of)).strip()
        if self.what == "proxy-writer" and not self.of:
            said = f"{said} nobody"
        how = _HOW.get(self.what, " ({how})").format(how=self.how)
        return f"{said}{how}" if self.how else said


def without_repeats(lines: Iterable[Line]) -> Iterator[tuple[Line, str]]:
    """Lines and their texts; of what a node does again and again with nothing between, the first.

    Its text says how often it was done, and until when.
    """
    told: list[tuple[Line, int, float]] = []
    last: dict[tuple[str, str, tuple[str, ...]], int] = {}
    for line in lines:
        key = line.node, line.what, line.of
        if line.what not in _REPEATED:
            last.clear()
        elif key in last:
            first, times, _ = told[last[key]]
            told[last[key]] = first, times + 1, line.at_s
            continue
        else:
            last[key] = len(told)
        told.append((line, 1, line.at_s))
    for line, times, until_s in told:
        again = f", {times} times until {until_s:.3f} s" if times > 1 else ""
        yield line, f"{line}{again}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TimelineReport(Report):
    """What happened to the servers of one replication and what they noted, in the order of time.

    Attributes
    ----------
    lines : tuple of Line
    replication : int
    """

    lines: tuple[Line, ...]
    replication: int = 0

    @classmethod
    def of(
        cls,
        noted: Sequence[Noted],
        happened: Sequence[Event],
        names: Sequence[str],
        replication: int,
        said: Mapping[str, str],
    ) -> TimelineReport:
        """From what servers noted, and what the scenario let happen; names by position.

        ``said`` is how the model says it: ``Model.said``.
        """
        lines = [
            *(Line(one.at_s, "", one.path, one.nodes, one.what) for one in happened),
            *(
                Line(one.until_s, "", one.path, one.nodes, f"{one.what}: it ends")
                for one in happened
                if one.lasts
            ),
            *(
                Line(
                    *(one.at_s, one.who(names), one.what),
                    *(tuple(names[n] for n in one.of), one.how, said.get(one.what, "")),
                )
                for one in noted
            ),
        ]
        lines.sort(key=lambda line: line.at_s)
        return cls(tuple(dict.fromkeys(lines)), replication)

    def to_dict(self) -> dict[str, Any]:
        """All lines as JSON can hold them."""
        return {"replication": self.replication, "lines": list(self._rows())}

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        return [
            {
                "at_s": line.at_s,
                "node": line.node,
                "what": line.what,
                "of": list(line.of),
                "how": line.how,
                "text": str(line),
            }
            for line in self.lines
        ]

    def __repr__(self) -> str:
        return f"<TimelineReport of replication {self.replication}, {len(self.lines)} lines>"
