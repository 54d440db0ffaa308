"""All that happened in one run: what every other view of a run shows a part of, ready to be played.

It is simulated once, and once more if there was too much of it to keep: then a part of it is kept
in full, and of the rest how much happened when.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from math import inf, isnan
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from simrep.contract.setup import Setup
from simrep.errors import ScenarioError
from simrep.kernel.trace import Sent
from simrep.measure.attempts import WAITING
from simrep.measure.series import Stall
from simrep.runs.degradation import warn_degraded
from simrep.runs.failures import Failure
from simrep.runs.progress import told, work_expected
from simrep.runs.replication import Replication, simulate
from simrep.runs.report import Report
from simrep.runs.story import Follow, Journey, Story
from simrep.runs.timeline import Line, TimelineReport
from simrep.scenario.events import Event, events, within
from simrep.scenario.schema import Scenario
from simrep.why.commit import CommitStage, Transmission, silence_s, stages_of
from simrep.why.reasons import Causes, Messages, Reasons
from simrep.why.replay import Replay
from simrep.workload.transaction import Transaction

__all__ = [
    "MOST",
    "Message",
    "Quiet",
    "Recording",
    "Refusal",
    "Step",
    "Told",
    "Writing",
    "message_rows",
    "record",
    "recorded",
]

MOST = 250_000
"""Messages and steps: a page with them has about a megabyte."""
QUIET_S = 0.1
"""A shorter time without a commit is not marked: that of ``simrep explain --stall``."""
_BEFORE = 0.2
"""Of the time that is kept in full: so much lies before what is looked at."""


class Message(NamedTuple):
    """A message between two nodes."""

    source: int
    target: int
    label: str  # what it is: ``writeset 17``, ``gap``, ``accept``, ``reply``
    size_bytes: int
    # In simulated seconds; NaN for what has not happened in the run or is not known.
    sent_s: float
    arrived_s: float
    handled_s: float
    cause: int | None  # the position of the message which its sender had just handled
    about: tuple[int, ...]  # positions of the transactions that it carries, or answers
    membership: bool  # whether servers agree by it on who is there


def message_rows(
    messages: Sequence[Message | Transmission], nodes: Sequence[str]
) -> list[dict[str, Any]]:
    """A row per message, with names of nodes; None for what has not arrived."""
    return [
        {
            "sent_s": one.sent_s,
            "arrived_s": None if isnan(one.arrived_s) else one.arrived_s,
            "source": nodes[one.source],
            "target": nodes[one.target],
            "label": one.label,
            "size_bytes": one.size_bytes,
        }
        for one in messages
    ]


class Told(NamedTuple):
    """An attempt at a transaction that has committed or failed, with all its stages.

    One that commits begins with the first attempt at it.
    """

    number: int  # from 1, in the order in which those of the measured time committed; else 0
    kind: str
    client: int
    node: int
    rows: int
    size_bytes: int
    started_s: float
    ended_s: float
    stages: tuple[CommitStage, ...]
    critical: tuple[int, ...]  # positions of the messages that its commit waited for
    error: str = ""  # what its client was told; empty if it has committed
    unknown: bool = False  # it has failed, and may be committed all the same


class Refusal(NamedTuple):
    """An attempt to connect that has failed."""

    node: int
    group: str  # of clients; empty if they have no groups
    error: str
    began_s: float
    ended_s: float


class Writing(NamedTuple):
    """A time in which a node takes writes."""

    node: int
    from_s: float
    until_s: float
    outside: bool  # the others have gone on without it: it takes them for itself


class Step(NamedTuple):
    """What a node did, or where somebody waited there."""

    node: int
    station: str
    what: str  # in words, the reason of a wait among them
    waits: bool
    of: int | None  # the position of the transaction; None if it has no end, or is none
    whose: str  # the transaction in words if it has no position
    began_s: float
    ended_s: float


class Quiet(NamedTuple):
    """A time without a commit although work was in flight."""

    began_s: float
    ended_s: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Recording(Report):
    """One run, message by message.

    ``player()`` is a page that plays it.

    Attributes
    ----------
    nodes : tuple of str
        Names by position.
    length_s : float
        When the run ended, in simulated seconds.
    measured_from_s : float
        When its warm-up was over.
    from_s, until_s : float
        The part of it that is kept in full: messages, transactions and steps.
    look_s : (float, float) or None
        What was asked for: where one looks first.
    messages : tuple of Message
        In the order of sending.
    transactions : tuple of Told
        Those that have committed, and every attempt that has failed, in the order of their ends.
    refusals : tuple of Refusal
        Attempts to connect that failed, in the order of their ends.
    writers : tuple of Writing
        Which nodes take writes, of the whole run.
    leader : str
        What the model calls the node that alone takes writes; empty if all do.
    steps : tuple of Step
        Of all that happened on nodes; those of a transaction on its own node are its stages. In
        the order of their begin.
    lines : tuple of Line
        What happened to servers, and what they noted, in the whole run.
    events : tuple of Event
        What the scenario lets happen.
    faults : mapping of str to str
        By path of an event that is a fault: its word, as ``kill``.
    quiet : tuple of Quiet
        Times without a commit, of the whole run.
    commits_s : tuple of float
        When transactions committed, in the whole run.
    aborts_s : tuple of float
        When attempts at transactions failed, in the whole run.
    others : mapping of int to int
        How many messages were sent that are not kept, by tenths of a second.
    chosen : int or None
        The position of the transaction that was asked for.
    model : str
    seed, replication : int
    scenario : mapping
        The scenario that was run, with its defaults filled in.
    versions : mapping of str to str
        What computed it.
    """

    width: ClassVar[int] = 100

    nodes: tuple[str, ...]
    length_s: float
    measured_from_s: float
    from_s: float
    until_s: float
    look_s: tuple[float, float] | None
    messages: tuple[Message, ...]
    transactions: tuple[Told, ...]
    refusals: tuple[Refusal, ...]
    writers: tuple[Writing, ...]
    leader: str
    steps: tuple[Step, ...]
    lines: tuple[Line, ...]
    events: tuple[Event, ...]
    faults: Mapping[str, str]
    quiet: tuple[Quiet, ...]
    commits_s: tuple[float, ...]
    aborts_s: tuple[float, ...]
    others: Mapping[int, int]
    chosen: int | None
    model: str
    seed: int
    replication: int
    scenario: Mapping[str, Any]
    versions: Mapping[str, str]

    def _rows(self) -> list[dict[str, Any]]:
        """A row per message."""
        return message_rows(self.messages, self.nodes)

    @property
    def committed(self) -> int:
        """Transactions that have committed, of those that are kept."""
        return sum(not one.error for one in self.transactions)

    def __repr__(self) -> str:
        return (
            f"<Recording of {self.length_s:g} s, {len(self.messages)} messages, "
            f"{self.committed} commits>"
        )


@told
def record(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    look_s: tuple[float, float] | None = None,
    txn: int | None = None,
    seed: int | None = None,
    replication: int = 0,
    most: int = MOST,
) -> Recording:
    """Simulate one replication and keep all that happened in it.

    Parameters
    ----------
    scenario : str, Path, mapping or Scenario
        What :func:`simrep.run` takes.
    look_s : (float, float), optional
        Where one looks first, in simulated seconds.
    txn : int, optional
        The number of a transaction, from 1, in the order in which those of the measured time
        committed: one looks at it first.
    seed, replication : int
        Together they choose the random numbers; default: ``run.seed`` of the scenario and its
        first replication. The run is that of :func:`simrep.run`, bit for bit.
    most : int
        So many messages and steps are kept at most. Of a run that has more, a part is kept: around
        the time or the transaction that was asked for, else around its first fault, or its longest
        stall.

    Raises
    ------
    ScenarioError
        If the scenario or an argument is not valid.
    """
    replay = Replay.of(scenario, seed, replication)
    if look_s is not None and not 0.0 <= look_s[0] < look_s[1]:
        raise ScenarioError(
            "look_s", f"must end after its begin of {look_s[0]:g}, given {look_s[1]:g}"
        )
    if most < 1:
        raise ScenarioError("most", f"must be at least 1, given {most}")
    work_expected(1)
    return recorded(
        lambda follow: simulate(replay.setup, replay.seed, replication, follow=follow),
        replay.setup, look_s=look_s, txn=txn, most=most,
    )  # fmt: skip


def recorded(
    play: Callable[[Follow], Replication],
    setup: Setup,
    *,
    look_s: tuple[float, float] | None = None,
    txn: int | None = None,
    most: int = MOST,
) -> Recording:
    """Record what is played; ``play`` simulates the same each time, and keeps what it is told to.

    See :func:`record`.
    """
    run = play(Follow(most=most, clients=True))
    warn_degraded(run.degradation)
    story = run.story
    assert story is not None
    if txn is not None:
        if not 1 <= txn <= len(story.journeys):
            raise ScenarioError(
                "txn", f"there is no transaction {txn}", f"{len(story.journeys):,} committed"
            )
        asked = story.journeys[txn - 1]
        look_s = asked.transaction.started_s, asked.ended_s
    if story.kept_until_s < story.ended_s:
        begin_s, end_s = look_s or _focus(setup, run)
        # As long as what could be kept from the begin on, and most of it after what is looked at.
        room_s = max(0.0, story.kept_until_s - (end_s - begin_s))
        from_s = max(0.0, begin_s - _BEFORE * room_s)
        if from_s > 0.0 and end_s > story.kept_until_s:
            run = play(Follow(from_s, most=most, clients=True))
            assert run.story is not None
            return _recording_of(setup, run, from_s, look_s, txn)
    return _recording_of(setup, run, 0.0, look_s, txn)


def _focus(setup: Setup, run: Replication) -> tuple[float, float]:
    """What of a run is worth to be looked at, in simulated seconds."""
    stall, faults = run.measurement.stall, [one.at_s for one in setup.scenario.faults]
    if faults:
        return min(faults), min(faults)
    if stall.seconds >= QUIET_S:
        return stall.began_s, stall.began_s + stall.seconds
    return run.measurement.began_s, run.measurement.began_s


def _recording_of(
    setup: Setup,
    run: Replication,
    from_s: float,
    look_s: tuple[float, float] | None,
    txn: int | None,
) -> Recording:
    """What was kept of a run that was followed from a time on."""
    story = run.story
    assert story is not None
    nodes = tuple(setup.scenario.node_names)
    until_s = story.kept_until_s
    happened = events(setup.scenario)
    kept = _Kept(setup, story, nodes, from_s, until_s, happened)
    said, leader = setup.model.said, setup.model.writers(setup.options)
    told = kept.transactions()
    numbers = [one.number for one in told]
    return Recording(
        nodes=nodes,
        length_s=story.ended_s,
        measured_from_s=run.measurement.began_s,
        from_s=from_s,
        until_s=until_s,
        look_s=look_s,
        messages=kept.messages(),
        transactions=told,
        refusals=tuple(_refusals(run, from_s, until_s)),
        writers=() if story.writers is None else tuple(
            Writing(one.node, one.from_s, min(one.until_s, story.ended_s), one.outside)
            for one in story.writers.spells()
        ),
        leader="" if leader is None else leader.title,
        steps=kept.steps(),
        lines=TimelineReport.of(run.noted, happened, nodes, run.replication, said).lines,
        events=happened,
        faults={fault.path: fault.what for fault in setup.scenario.faults},
        quiet=tuple(_quiet(story.all_journeys, run.measurement.stall)),
        commits_s=tuple(one.ended_s for one in story.all_journeys),
        aborts_s=() if story.log is None else tuple(story.log.failed_s),
        others=dict(story.counted),
        chosen=numbers.index(txn) if txn in numbers else None,
        model=setup.model.name,
        seed=run.seed,
        replication=run.replication,
        scenario=setup.scenario.to_dict(),
        versions=setup.versions,
    )  # fmt: skip


def _refusals(run: Replication, from_s: float, until_s: float) -> Iterator[Refusal]:
    """Attempts to connect that failed; of a run in which nothing happens there are none."""
    log = run.attempts
    if log is None:
        return
    columns = (log.connecting, log.error, log.node, log.group, log.began_s, log.ended_s)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for connecting, error, node, group, began_s, ended_s in rows:
        if connecting and error and ended_s > from_s and began_s < until_s:
            name = log.groups[group] if len(log.groups) > 1 else ""
            yield Refusal(node, name, _error(log.texts[error]), began_s, ended_s)


class _Kept:
    """Puts what was kept of a run into words, each thing once."""

    def __init__(
        self,
        setup: Setup,
        story: Story,
        nodes: tuple[str, ...],
        from_s: float,
        until_s: float,
        happened: Sequence[Event],
    ) -> None:
        self._story, self._nodes, self._happened = story, nodes, happened
        self._from_s, self._until_s = from_s, until_s
        self._messages = Messages(story)
        self._reasons = Reasons(story, nodes, silence_s(setup))
        first = len(story.all_journeys) - len(story.journeys)
        ended: list[tuple[int, Journey, Failure | None]] = [
            (max(0, place - first + 1), one, None)
            for place, one in enumerate(story.all_journeys)
            if one.ended_s > from_s and one.transaction.started_s < until_s
        ]
        failures = [] if story.log is None else story.log.failures
        ended += [
            (0, Journey(one.transaction, one.ended_s, one.legs), one)
            for one in failures
            if one.ended_s > from_s and one.began_s < until_s
        ]
        self._ended = sorted(ended, key=lambda one: one[1].ended_s)
        self._places: dict[int, int] = {}
        for place, (_, journey, failure) in enumerate(self._ended):
            if failure is None or id(journey.transaction) not in self._places:
                self._places[id(journey.transaction)] = place
        self._sent = [
            sent for sent in story.sent if sent.sent_s < until_s and not sent.arrived_s <= from_s
        ]
        self._numbers = {sent.number: number for number, sent in enumerate(self._sent)}

    def messages(self) -> tuple[Message, ...]:
        """In the order of sending."""
        about: dict[int, list[int]] = defaultdict(list)
        for place, (_, journey, failure) in enumerate(self._ended):
            for sent in self._messages.of(journey.transaction):
                if failure is None or failure.began_s <= sent.sent_s <= failure.ended_s:
                    about[sent.number].append(place)
        return tuple(self._message(sent, tuple(about.get(sent.number, ()))) for sent in self._sent)

    def _message(self, sent: Sent, about: tuple[int, ...]) -> Message:
        text, cause = self._messages.text(sent), self._messages.cause(sent)
        return Message(
            source=sent.source,
            target=sent.target,
            label=text.label,
            size_bytes=sent.size_bytes,
            sent_s=sent.sent_s,
            arrived_s=sent.arrived_s,
            handled_s=sent.handled_s,
            cause=None if cause is None else self._numbers.get(cause.number),
            about=about,
            membership=text.membership,
        )

    def transactions(self) -> tuple[Told, ...]:
        """In the order of their ends."""
        return tuple(starmap(self._told, self._ended))

    def _told(self, number: int, journey: Journey, failure: Failure | None) -> Told:
        one, node = journey.transaction, journey.transaction.node
        began_s = one.started_s
        if failure is not None:
            began_s, node = failure.began_s, failure.node
        causes = Causes(self._story, self._messages, journey)
        near = within(self._happened, began_s, journey.ended_s)
        stages = stages_of(journey, causes, self._reasons, self._nodes[node], near)
        if failure is not None:
            stages = self._stages_of_failure(failure, stages)
        critical = (self._numbers.get(sent.number) for sent in causes.critical)
        return Told(
            number=number,
            kind=one.kind,
            client=one.client,
            node=node,
            rows=one.rows,
            size_bytes=one.size_bytes,
            started_s=began_s,
            ended_s=journey.ended_s,
            stages=stages,
            critical=tuple(sorted(one for one in critical if one is not None)),
            error="" if failure is None else _error(failure.error),
            unknown=failure is not None and failure.unknown,
        )

    def _stages_of_failure(
        self, failure: Failure, stages: tuple[CommitStage, ...]
    ) -> tuple[CommitStage, ...]:
        """Stages of the attempt; the last one has not ended, and is called by what it waited for.

        Earlier attempts at the same transaction have stages of their own.
        """
        own = [
            replace(stage, began_s=max(stage.began_s, failure.began_s))
            for stage in stages
            if stage.ended_s > failure.began_s
        ]
        if own and own[-1].name == "other":
            last, node = own[-1], self._nodes[failure.node]
            if not failure.legs:
                own[-1] = replace(last, reason=last.reason or "its server has not begun with it")
            name = self._reasons.longest(node, failure.transaction, last.began_s, last.ended_s)
            if name:
                held = (failure.transaction, name, last.began_s, last.ended_s)
                own[-1] = replace(last, name=name, reason=self._reasons.of(node, *held))
        return tuple(own)

    def steps(self) -> tuple[Step, ...]:
        """In the order of their begin."""
        places = {name: place for place, name in enumerate(self._nodes)}
        found = []
        for span in self._story.spans:
            if span.ended_s <= self._from_s or span.began_s >= self._until_s:
                continue
            who, node = getattr(span.who, "whole", None) or span.who, places[span.node]
            of = self._places.get(id(who))
            if of is not None and self._ended[of][1].transaction.node == node:
                continue  # the stages of the transaction tell the same
            found.append(
                Step(
                    node=node,
                    station=f"row {span.detail}" if span.detail else span.station or "server",
                    what=span.what or self._reasons.of_span(span),
                    waits=not span.what,
                    of=of,
                    whose=_named(who) if of is None else "",
                    began_s=span.began_s,
                    ended_s=span.ended_s,
                )
            )
        return tuple(sorted(found, key=lambda one: (one.began_s, one.ended_s, one.node)))


def _error(text: str) -> str:
    """An error as its client met it."""
    return "no answer until the end of the run" if text == WAITING else text


def _named(who: Any) -> str:
    return f"{who.kind} of client {who.client}" if isinstance(who, Transaction) else ""


def _quiet(journeys: Sequence[Journey], longest: Stall) -> list[Quiet]:
    """Times between commits, less what lies before the begin of all that was in flight then.

    After the last commit, only the longest stall of the run tells whether anything was in flight.
    """
    found: list[Quiet] = []
    began_s = inf  # of what commits from here on
    for earlier, later in zip(journeys[-2::-1], journeys[:0:-1], strict=True):
        began_s = min(began_s, later.transaction.started_s)
        since_s = max(earlier.ended_s, began_s)
        if later.ended_s - since_s >= QUIET_S:
            found.append(Quiet(since_s, later.ended_s))
    if journeys:
        began_s = min(one.transaction.started_s for one in journeys)
        if journeys[0].ended_s - began_s >= QUIET_S:
            found.append(Quiet(began_s, journeys[0].ended_s))
    found.reverse()
    last_s = journeys[-1].ended_s if journeys else -inf
    if longest.seconds >= QUIET_S and longest.began_s + longest.seconds > last_s:
        found.append(Quiet(longest.began_s, longest.began_s + longest.seconds))
    return found
