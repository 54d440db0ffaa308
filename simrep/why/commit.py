"""Why one transaction took as long as it did: it is found in one run, and followed in a second."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import ceil, isnan
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from simrep.contract.setup import Setup
from simrep.errors import ScenarioError
from simrep.kernel.trace import Sent
from simrep.kernel.watch import Span
from simrep.measure.units import amount, duration, plain
from simrep.runs.progress import told, work_expected
from simrep.runs.report import Report
from simrep.runs.story import Follow, Journey, Story, belongs
from simrep.scenario.events import Event, events, within
from simrep.scenario.schema import Scenario
from simrep.why.origin import meanwhile
from simrep.why.reasons import Causes, Messages, Reasons
from simrep.why.replay import Replay
from simrep.workload.laps import LAPS
from simrep.workload.transaction import Transaction

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation

__all__ = ["Activity", "CommitStage", "Explanation", "Transmission", "explain", "silence_s",
           "stages_of"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class CommitStage:
    """A part of the latency; the stages of a transaction follow each other without a gap.

    Attributes
    ----------
    name : str
        One of ``simrep.workload.laps.LAPS``, or ``other``.
    began_s, ended_s : float
        In simulated seconds.
    reason : str
        Whom or what it waited for, in words; empty where nothing more is known.
    """

    name: str
    began_s: float
    ended_s: float
    reason: str = ""

    @property
    def seconds(self) -> float:
        """How long it lasted."""
        return self.ended_s - self.began_s


@dataclass(frozen=True, slots=True)
class Activity:
    """What a node did for a transaction, or where that waited there.

    Attributes
    ----------
    node : int
        Position of the node.
    station : str
        Where: ``send monitor``, ``commit order``, ``redo log``, ``applier`` and so on.
    what : str
        In words: ``being applied``, ``waits for writeset 17``.
    of : str
        The transaction in words; empty for what belongs to none.
    own : bool
        Whether that is the transaction which is explained.
    waits : bool
        It waited; else it was worked on.
    began_s, ended_s : float
        In simulated seconds; cut off at the ends of the time that is shown.
    """

    node: int
    station: str
    what: str
    of: str
    own: bool
    waits: bool
    began_s: float
    ended_s: float


@dataclass(frozen=True, slots=True)
class Transmission:
    """A message between two nodes.

    Attributes
    ----------
    number : int
        Its own, from 0, in the order of sending.
    source, target : int
        Positions of the nodes.
    label : str
        What it is: ``writeset 17``, ``gap``, ``accept``, ``reply``.
    size_bytes : int
    sent_s, arrived_s, handled_s : float
        It begins to leave its node, its last byte arrives, the receiver has handled it; NaN for
        what has not happened in the run or is not known, in simulated seconds.
    cause : int or None
        The message which the sender had just handled when it sent this one; None if none did.
    own : bool
        It carries the transaction that is explained, or belongs to its round of messages.
    critical : bool
        The commit waited for it.
    """

    number: int
    source: int
    target: int
    label: str
    size_bytes: int
    sent_s: float
    arrived_s: float
    handled_s: float
    cause: int | None
    own: bool
    critical: bool


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Explanation(Report):
    """One transaction of a run, from its client's request to the answer.

    ``plot()`` draws the messages between the nodes above the stages.

    Attributes
    ----------
    number : int
        Of the transaction, from 1, in the order in which those of the measured time committed.
    rank : str
        Which one that is, in words: ``the slowest of 3,000``.
    kind : str
        Its class.
    client, node : int
        Who submitted it, and where.
    rows, size_bytes : int
        What it wrote.
    started_s, ended_s : float
        In simulated seconds.
    nodes : tuple of str
        Names by position.
    stages : tuple of CommitStage
        Without a gap from ``started_s`` to ``ended_s``.
    activities : tuple of Activity
        What happened on all nodes meanwhile, of all transactions; in the order of their begin.
    messages : tuple of Transmission
        What travelled meanwhile; in the order of sending.
    until_s : float
        End of the time that activities and messages cover: a little after ``ended_s``, until all
        nodes have committed it.
    model : str
    seed, replication : int
    scenario : mapping
        The scenario that was run, with its defaults filled in.
    versions : mapping of str to str
        What computed it.
    """

    width: ClassVar[int] = 120

    number: int
    rank: str
    kind: str
    client: int
    node: int
    rows: int
    size_bytes: int
    started_s: float
    ended_s: float
    nodes: tuple[str, ...]
    stages: tuple[CommitStage, ...]
    activities: tuple[Activity, ...]
    messages: tuple[Transmission, ...]
    until_s: float
    model: str
    seed: int
    replication: int
    scenario: Mapping[str, Any]
    versions: Mapping[str, str]

    @property
    def latency_s(self) -> float:
        """From the client's request to the answer, in seconds."""
        return self.ended_s - self.started_s

    @property
    def title(self) -> str:
        """The transaction in words."""
        return f"transaction {self.number:,} ({self.kind}) of {self.nodes[self.node]}, {self.rank}"

    def animate(self, path: str | Path | None = None, *, seconds: float = 12.0) -> FuncAnimation:
        """Messages travelling between the nodes, slowed down to so many seconds.

        Saved when a path is given (``.html``, ``.gif`` or ``.mp4``); in a notebook it shows itself.
        """
        film: FuncAnimation = self._view("animate", path, seconds=seconds)
        return film

    def trace(self, path: str | Path | None = None) -> dict[str, Any]:
        """The same as a Chrome trace, which Perfetto opens; saved when a path is given."""
        content: dict[str, Any] = self._view("trace", path)
        return content

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON can hold it."""
        stages = [
            {"name": s.name, "began_s": s.began_s, "seconds": s.seconds, "reason": s.reason}
            for s in self.stages
        ]
        content = {f.name: getattr(self, f.name) for f in fields(self)}
        return cast(
            dict[str, Any], plain(content | {"latency_s": self.latency_s, "stages": stages})
        )

    def _rows(self) -> list[dict[str, Any]]:
        """A row per stage."""
        return [
            {"stage": s.name, "began_s": s.began_s, "seconds": s.seconds, "reason": s.reason}
            for s in self.stages
        ]

    def __repr__(self) -> str:
        return f"<Explanation {self.title}: {1e3 * self.latency_s:.3f} ms>"


_PERCENTILE = re.compile(r"p(?:(\d{1,2}(?:\.\d+)?)|99(\d+))")  # p999 is p99.9
_SILENCE_S, _SILENCE_HOPS = 0.1, 10  # a member that says nothing for longer is away
_AFTER_HOPS = 2  # what other nodes do with it is shown for at least so long


@told
def explain(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    txn: str | int = "slowest",
    seed: int | None = None,
    replication: int = 0,
) -> Explanation:
    """Simulate one replication and tell why one of its transactions took as long as it did.

    Parameters
    ----------
    scenario : str, Path, mapping or Scenario
        What :func:`simrep.run` takes.
    txn : str or int
        Which transaction: ``"slowest"``, a percentile (``"p50"``, ``"p95"``, ``"p99.9"`` or
        ``"p999"``: the one whose latency that is), or its number, from 1, in the order in which
        those of the measured time committed.
    seed, replication : int
        Together they choose the random numbers; default: ``run.seed`` of the scenario and its
        first replication. The run is that of :func:`simrep.run`, bit for bit.

    Raises
    ------
    ScenarioError
        If the scenario or an argument is not valid.
    SimrepError
        If no transaction committed while it was measured.

    Notes
    -----
    The run is simulated twice: once to find the transaction, and once more, with the same random
    numbers, to keep what happened while it was under way.
    """
    pick, replay = _pick(txn), Replay.of(scenario, seed, replication)
    work_expected(1, pieces=2)
    story = replay.story(Follow.stages())
    number, rank = pick(story.journeys)
    found = story.journeys[number]
    latency_s = found.latency_s
    began_s, ended_s = found.transaction.started_s, found.ended_s
    until_s = ended_s + max(latency_s, _AFTER_HOPS * _longest_hop_s(replay.setup))
    story = replay.story(Follow(max(0.0, began_s - latency_s), until_s))
    journey = story.journeys[number]
    assert journey.ended_s == ended_s
    return _explanation(replay, story, journey, number + 1, rank, until_s)


def silence_s(setup: Setup) -> float:
    """From whom nothing comes for so long is away: no message of its is on the way, in seconds."""
    return max(_SILENCE_S, _SILENCE_HOPS * _longest_hop_s(setup))


def _longest_hop_s(setup: Setup) -> float:
    return max((path.latency.base_s for path in setup.paths.values()), default=0.0)


def _pick(txn: str | int) -> Any:
    """Finds the position of a transaction among the journeys, and says which one it is."""
    allowed = "slowest, a percentile as p95 or p99.9, or a number from 1"
    if isinstance(txn, str):
        txn = int(txn) if txn.isdecimal() else txn
    elif not isinstance(txn, bool):
        try:
            txn = index(txn)
        except TypeError:
            raise ScenarioError("txn", f"{txn!r} is no transaction", allowed) from None
    if isinstance(txn, bool) or (isinstance(txn, int) and txn < 1):
        raise ScenarioError("txn", f"{txn!r} is no transaction", allowed)
    if isinstance(txn, int):
        number = txn

        def numbered(journeys: list[Journey]) -> tuple[int, str]:
            if number > len(journeys):
                raise ScenarioError(
                    "txn", f"{number:,} is too high", f"{len(journeys):,} transactions committed"
                )
            return number - 1, f"one of {amount(len(journeys))}"

        return numbered
    match = _PERCENTILE.fullmatch(txn)
    if txn != "slowest" and match is None:
        raise ScenarioError("txn", f"{txn!r} is no transaction", allowed)
    if match is not None and match[2]:
        txn = f"p99.{match[2]}"
    share = 1.0 if match is None else float(txn[1:]) / 100.0

    def ranked(journeys: list[Journey]) -> tuple[int, str]:
        order = sorted(range(len(journeys)), key=lambda n: journeys[n].latency_s)
        place = max(0, ceil(share * len(order)) - 1)
        which = "the slowest" if match is None else f"the {txn}"
        return order[place], f"{which} of {amount(len(order))}"

    return ranked


def _explanation(
    replay: Replay, story: Story, journey: Journey, number: int, rank: str, latest_s: float
) -> Explanation:
    setup = replay.setup
    transaction, nodes = journey.transaction, tuple(setup.scenario.node_names)
    began_s, ended_s = transaction.started_s, journey.ended_s
    messages = Messages(story)
    causes = Causes(story, messages, journey)
    reasons = Reasons(story, nodes, silence_s(setup))
    happened = within(events(setup.scenario), began_s, ended_s)
    stages = stages_of(journey, causes, reasons, nodes[transaction.node], happened)
    own_ends_s = [span.ended_s for span in story.spans_of(transaction)]
    own_ends_s += [s.arrived_s for s in story.sent if s in causes.own and not isnan(s.arrived_s)]
    until_s = min(max([ended_s, *own_ends_s]), latest_s)
    return Explanation(
        number=number,
        rank=rank,
        kind=transaction.kind,
        client=transaction.client,
        node=transaction.node,
        rows=transaction.rows,
        size_bytes=transaction.size_bytes,
        started_s=began_s,
        ended_s=ended_s,
        nodes=nodes,
        stages=stages,
        activities=_activities(story, transaction, reasons, nodes, began_s, until_s),
        messages=_messages(story, messages, causes, began_s, until_s),
        until_s=until_s,
        model=setup.model.name,
        seed=replay.seed,
        replication=replay.replication,
        scenario=setup.scenario.to_dict(),
        versions=setup.versions,
    )


def stages_of(
    journey: Journey, causes: Causes, reasons: Reasons, node: str, happened: Sequence[Event]
) -> tuple[CommitStage, ...]:
    """Legs as stages; neighbours of one name are one, and what is left is ``other``."""
    names: list[str] = []
    ends_s: list[float] = []
    at_s = journey.transaction.started_s
    for leg in journey.legs:
        if leg.seconds <= 0.0:
            continue
        at_s += leg.seconds
        if names and names[-1] == LAPS[leg.lap]:
            ends_s[-1] = at_s
        else:
            names.append(LAPS[leg.lap])
            ends_s.append(at_s)
    if ends_s and abs(ends_s[-1] - journey.ended_s) < 1e-9:
        ends_s[-1] = journey.ended_s  # rounding
    else:
        names.append("other")
        ends_s.append(journey.ended_s)
    stages: list[CommitStage] = []
    at_s = journey.transaction.started_s
    for name, end_s in zip(names, ends_s, strict=True):
        reason = reasons.of(node, journey.transaction, name, at_s, end_s)
        if name == "client" and not stages and journey.transaction.queued_s:
            reason = f"waited {duration(journey.transaction.queued_s)} for a free connection"
        reason = reason or causes.reason(name, at_s, end_s)
        reason = meanwhile(happened, node, at_s, end_s, reason)
        stages.append(CommitStage(name, at_s, end_s, reason))
        at_s = end_s
    return tuple(stages)


def _activities(
    story: Story,
    transaction: Transaction,
    reasons: Reasons,
    nodes: tuple[str, ...],
    began_s: float,
    until_s: float,
) -> tuple[Activity, ...]:
    places = {name: place for place, name in enumerate(nodes)}

    def activity(span: Span) -> Activity:
        return Activity(
            node=places[span.node],
            station=f"row {span.detail}" if span.detail else span.station or "server",
            what=span.what or reasons.of_span(span),
            of=_named(span.who),
            own=belongs(span.who, transaction),
            waits=not span.what,
            began_s=max(span.began_s, began_s),
            ended_s=min(span.ended_s, until_s),
        )

    shown = [activity(s) for s in story.spans if s.ended_s > began_s and s.began_s < until_s]
    return tuple(sorted(shown, key=lambda one: (one.began_s, one.ended_s, one.node, one.station)))


def _named(who: Any) -> str:
    return f"{who.kind} of client {who.client}" if isinstance(who, Transaction) else ""


def _messages(
    story: Story, messages: Messages, causes: Causes, began_s: float, until_s: float
) -> tuple[Transmission, ...]:
    def shown(sent: Sent) -> bool:
        return sent.sent_s < until_s and not sent.arrived_s <= began_s

    kept = [sent for sent in story.sent if shown(sent)]
    numbers = {sent.number: number for number, sent in enumerate(kept)}
    return tuple(
        Transmission(
            number=number,
            source=sent.source,
            target=sent.target,
            label=messages.text(sent).label,
            size_bytes=sent.size_bytes,
            sent_s=sent.sent_s,
            arrived_s=sent.arrived_s,
            handled_s=sent.handled_s,
            cause=_number(messages.cause(sent), numbers),
            own=sent in causes.own,
            critical=sent in causes.critical,
        )
        for number, sent in enumerate(kept)
    )


def _number(cause: Sent | None, numbers: Mapping[int, int]) -> int | None:
    return None if cause is None else numbers.get(cause.number)
