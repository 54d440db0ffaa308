"""The ``[[fault]]`` table: what goes wrong in a run, when, and where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, PrivateAttr, field_validator, model_validator

from simrep.errors import ScenarioError
from simrep.scenario.jitter import JitterTable
from simrep.scenario.table import Factor, Interval, Loss, Name, Seconds, Table

__all__ = ["CHANGES", "LINKS", "ChangeWord", "FaultTable", "FaultWord"]

FaultWord = Literal[
    "slow",
    "pause",
    "disk-stall",
    "kill",
    "power-loss",
    "leave",
    "restart",
    "bootstrap",
    "promote",
    "cut",
    "loss",
    "jitter",
]
ChangeWord = Literal["kill", "power-loss", "leave", "restart", "bootstrap", "promote"]
CHANGES: frozenset[str] = frozenset(get_args(ChangeWord))
"""Words of faults that let a server come or go, or change its role, each in an instant."""
LINKS: frozenset[str] = frozenset({"cut", "loss", "jitter"})
"""Words of faults that happen to links."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """Which keys a fault has, by its word."""

    ends: Literal["never", "may", "must"] = "may"  # whether it has an end; else that of the run
    keys: tuple[str, ...] = ()  # besides those of all
    needs: tuple[str, ...] = ()  # one of these at least
    places: tuple[str, ...] = ("node", "host")  # one of these


_of_links = partial(_Rule, keys=("others", "direction"), places=("node", "host", "nodes"))
_RULES: Mapping[str, _Rule] = {
    "slow": _Rule(needs=("cpu_factor", "fsync_factor")),
    "pause": _Rule("must"),
    "disk-stall": _Rule(),
    "kill": _Rule("never"),
    "power-loss": _Rule("never"),
    "leave": _Rule("never"),
    "restart": _Rule("never", keys=("transfer_s",)),
    "bootstrap": _Rule("never", places=("node",)),
    "promote": _Rule("never", keys=("transactions_timeout_s",), places=("node",)),
    "cut": _of_links(),
    "loss": _of_links(needs=("loss",)),
    "jitter": _of_links(needs=("jitter",)),
}
assert tuple(_RULES) == get_args(FaultWord)
_MEANT: Mapping[str, str] = {
    "crash": "kill",
    "shutdown": "leave",
    "stop": "leave pause",
    "freeze": "pause",
    "join": "restart",
    "start": "restart",
    "isolate": "cut",
    "partition": "cut",
    "failover": "promote",
    "switchover": "promote",
}
"""Words that others use, and those here that are nearest by their meaning."""
_PLACES = ("node", "host", "nodes")
_OWN_KEYS = tuple(
    dict.fromkeys(key for rule in _RULES.values() for key in (*rule.keys, *rule.needs))
)

Names = Annotated[tuple[Name, ...], Field(min_length=1)]


class FaultTable(Table):
    """A ``[[fault]]``: something that goes wrong at a node, at a machine, or on links.

    ``slow``: code or fsyncs take several times as long. ``pause``: a server's process is stopped
    (SIGSTOP), or a machine frozen (a virtual machine that is paused); what arrives for it waits,
    and its timers are late. ``disk-stall``: no fsync returns.

    ``kill``: the process dies, and its kernel closes the connections. ``power-loss``: the machine
    is silent from then on. ``leave``: the server shuts down in order. ``restart``: it starts again.
    ``bootstrap``: it is told to be a primary component by itself; one that is away starts so.
    ``promote``: the node becomes the one that takes writes, by hand.

    ``cut``: nothing gets through. ``loss``: segments are lost. ``jitter``: delays vary. They happen
    to all links between ``node`` (or all of a ``host``, or several ``nodes``) and ``others``. What
    several of them do to one link adds up.
    """

    name: Name | None = Field(
        None, description="by which paths find it: `fault.NAME.at_s`; default: its position"
    )
    what: FaultWord = Field(
        description="slow: code or fsyncs take longer; pause: it stands still; disk-stall: no "
        "fsync returns; kill: the process dies; power-loss: the machine is silent; leave: it "
        "shuts down in order; restart: it starts again; bootstrap: it is primary by itself; "
        "promote: it becomes the one that takes writes, by hand; "
        "cut: nothing gets through; loss: segments are lost; jitter: delays vary"
    )
    at_s: Seconds = Field(description="begin, in simulated seconds with the warm-up")
    until_s: Interval | None = Field(
        None,
        description="end, not of what happens in an instant (kill, power-loss, leave, restart, "
        "bootstrap, promote); default: that of the run, but a pause needs one",
    )
    node: Name | None = Field(None, description="the node whose server it happens to")
    host: Name | None = Field(
        None, description="the machine it happens to, instead of a single node"
    )
    nodes: Names | None = Field(
        None, description="of cut, loss and jitter: several nodes on one side"
    )
    others: Names | None = Field(
        None,
        description="of cut, loss and jitter: the nodes on the other side; default: all others",
    )
    direction: Literal["both", "out", "in"] | None = Field(
        None,
        description="of cut, loss and jitter: whether it happens to everything, to what the node "
        "(or its side) sends, or to what is sent to it; default: both",
    )
    cpu_factor: Factor | None = Field(
        None, description="of slow: how many times as long code takes; default: 1"
    )
    fsync_factor: Factor | None = Field(
        None, description="of slow: how many times as long an fsync takes; default: 1"
    )
    loss: Loss | None = Field(None, description="of loss: probability that a segment is lost")
    jitter: JitterTable | None = Field(
        None, description="of jitter: what is added to every one-way delay"
    )
    transfer_s: Seconds | None = Field(
        None,
        description="of restart: how long it takes to transfer the state to it; default: what "
        "the model makes of it",
    )
    transactions_timeout_s: Seconds | None = Field(
        None,
        description="of promote: transactions that run on the old primary may go on for so long, "
        "and none may begin; default: they may go on for ever",
    )

    _path: str = PrivateAttr(default="fault")

    @field_validator("what", mode="before")
    @classmethod
    def _known(cls, given: object) -> object:
        if isinstance(given, str) and given in _MEANT:
            *most, last = map(repr, _RULES)
            meant = " or ".join(map(repr, _MEANT[given].split()))
            raise ScenarioError(
                "",
                f"must be {', '.join(most)} or {last}, given {given!r}",
                f"did you mean {meant}?",
            )
        return given

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        rule = _RULES[self.what]
        self._check_place(rule)
        self._check_end(rule)
        if self.name is not None and self.name.isdigit():
            raise ScenarioError(
                "name", f"would be a position in the list, given {self.name!r}", "let it be a word"
            )
        for key in _OWN_KEYS:
            if getattr(self, key) is not None and key not in (*rule.keys, *rule.needs):
                words = [repr(word) for word, of in _RULES.items() if key in (*of.keys, *of.needs)]
                raise ScenarioError(
                    key,
                    f"is not for {self.what!r}, given {_written(getattr(self, key))}",
                    f"remove it, or say {' or '.join(words)}",
                )
        if rule.needs and all(getattr(self, key) in (None, 0.0, 1.0) for key in rule.needs):
            raise ScenarioError(
                rule.needs[0], "this fault changes nothing", f"give {' or '.join(rule.needs)}"
            )
        return self

    def _check_place(self, rule: _Rule) -> None:
        given = [key for key in _PLACES if getattr(self, key) is not None]
        for key in given:
            if key not in rule.places:
                raise ScenarioError(
                    key, f"is not for {self.what!r}", f"say {' or '.join(rule.places)}"
                )
        if len(given) != 1:
            *most, last = rule.places
            places = f"{', of a '.join(most)} or of a {last}" if most else last
            places = places.replace("of a nodes", "of nodes")
            said = {0: "neither", 2: "both"}.get(len(given), "all of them")
            raise ScenarioError("node", f"a fault is of a {places}, given {said}")
        side = self.nodes or ()
        for key, names in (("nodes", side), ("others", self.others or ())):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ScenarioError(key, f"node {twice[0]!r} is there twice")

    def _check_end(self, rule: _Rule) -> None:
        if self.until_s is None:
            if rule.ends == "must":
                raise ScenarioError("until_s", f"is required: a {self.what} has to end")
            return
        if rule.ends == "never":
            raise ScenarioError(
                "until_s",
                f"is not for {self.what!r}, which happens in an instant, given {self.until_s:g}",
                "a server comes back by a fault of its own: what = 'restart'",
            )
        if not self.until_s > self.at_s:
            raise ScenarioError(
                "until_s", f"must be after at_s = {self.at_s:g}, given {self.until_s:g}"
            )

    @property
    def path(self) -> str:
        """Where the scenario says it: ``fault.0``, ``fault.NAME``, ``network.outage.0``."""
        return self._path

    def told_at(self, path: str) -> Self:
        """The same, said at a path."""
        copy = self.model_copy()
        copy._path = path
        return copy

    @property
    def own(self) -> bool:
        """Whether a ``[[fault]]`` says it, and no table of earlier releases."""
        return self._path.startswith("fault")

    @property
    def lasts(self) -> bool:
        """Whether it goes on for a while, or happens in an instant."""
        return self.what not in CHANGES

    @property
    def end_s(self) -> float:
        """When it ends, in simulated seconds; infinite if it goes on to the end of the run."""
        if not self.lasts:
            return self.at_s
        return inf if self.until_s is None else self.until_s

    def struck(self, names: Sequence[str], hosts: Sequence[str]) -> tuple[int, ...]:
        """Positions of the nodes that it happens to; of links, those on its side.

        Parameters
        ----------
        names, hosts : sequence of str
            Nodes and their machines, by position.
        """
        chosen = (self.node,) if self.nodes is None else self.nodes
        return tuple(
            position
            for position, (name, host) in enumerate(zip(names, hosts, strict=True))
            if name in chosen or (self.host is not None and host == self.host)
        )

    def links(self, names: Sequence[str], hosts: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Ordered pairs of nodes whose link it happens to, by position; see ``struck``."""
        if self.what not in LINKS:
            return
        side = self.struck(names, hosts)
        for position, name in enumerate(names):
            if position in side or (self.others is not None and name not in self.others):
                continue
            for inside in side:
                if self.direction != "in":
                    yield inside, position
                if self.direction != "out":
                    yield position, inside


def _written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(value)
