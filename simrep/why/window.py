"""What passed between the nodes in a time of a run: messages by which they agree who is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, isfinite, isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from simrep.errors import ScenarioError, nearest
from simrep.runs.degradation import warn_degraded
from simrep.runs.incidents import Incident, faults_of
from simrep.runs.progress import told, work_expected
from simrep.runs.replication import simulate
from simrep.runs.report import Report
from simrep.runs.story import Follow
from simrep.runs.timeline import Line, TimelineReport
from simrep.scenario.schema import Scenario
from simrep.why.commit import Transmission
from simrep.why.recording import message_rows
from simrep.why.replay import Replay

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from rich.console import Group

__all__ = ["WindowExplanation", "explain_window"]

_MARGIN = 0.06  # of the time that is shown, before and after what a fault leads to
_LEAST_S = 0.02  # seconds on either side
_UNNOTICED_S = 1.0  # what is shown of a fault of which nobody noted anything


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class WindowExplanation(Report):
    """The time line of a part of a run, and the messages between its nodes meanwhile.

    ``plot()`` draws them as a space-time diagram, ``animate()`` as a film.

    Attributes
    ----------
    nodes : tuple of str
        Names by position.
    from_s, until_s : float
        In simulated seconds.
    lines : tuple of Line
        What happened to servers, and what they noted.
    earlier : tuple of Line
        The same before that time.
    messages : tuple of Transmission
        By which servers agree who is there, in the order of sending.
    others : int
        Other messages meanwhile: of transactions, and what is sent regularly.
    model : str
    terms : mapping of str to str
        How it calls what servers note: ``Model.terms``.
    seed, replication : int
    scenario : mapping
        The scenario that was run, with its defaults filled in.
    versions : mapping of str to str
        What computed it.
    """

    width: ClassVar[int] = 120

    nodes: tuple[str, ...]
    from_s: float
    until_s: float
    lines: tuple[Line, ...]
    earlier: tuple[Line, ...]
    messages: tuple[Transmission, ...]
    others: int
    model: str
    terms: Mapping[str, str]
    seed: int
    replication: int
    scenario: Mapping[str, Any]
    versions: Mapping[str, str]

    @property
    def title(self) -> str:
        """The time in words."""
        return f"from {self.from_s:.3f} to {self.until_s:.3f} s"

    def animate(self, path: str | Path | None = None, *, seconds: float = 20.0) -> FuncAnimation:
        """Messages travelling between the nodes, slowed down to so many seconds.

        Saved when a path is given (``.html``, ``.gif`` or ``.mp4``); in a notebook it shows itself.
        """
        film: FuncAnimation = self._view("animate", path, seconds=seconds)
        return film

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON can hold it."""
        lines = TimelineReport(self.lines, self.replication).to_dict()["lines"]
        return {
            "from_s": self.from_s,
            "until_s": self.until_s,
            "lines": lines,
            "messages": list(self._rows()),
            "other_messages": self.others,
            "model": self.model,
            "seed": self.seed,
            "replication": self.replication,
            "scenario": dict(self.scenario),
            "versions": dict(self.versions),
        }

    def summary(self) -> Group:
        """The same as :meth:`tables`."""
        return self.tables()

    def _rows(self) -> list[dict[str, Any]]:
        """A row per message."""
        return message_rows(self.messages, self.nodes)

    def __repr__(self) -> str:
        return f"<WindowExplanation {self.title}, {len(self.messages)} messages>"


@told
def explain_window(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    fault: str | None = None,
    from_s: float | None = None,
    until_s: float | None = None,
    seed: int | None = None,
    replication: int = 0,
) -> WindowExplanation:
    """Simulate one replication and tell what servers said to each other for a while.

    Parameters
    ----------
    scenario : str, Path, mapping or Scenario
        What :func:`simrep.run` takes.
    fault : str, optional
        The name of a fault, or its position: the time from the first suspicion because of it (or
        its begin) to the next primary component.
    from_s, until_s : float, optional
        The time itself, in simulated seconds; instead of a fault, or instead of a bound of its.
    seed, replication : int
        Together they choose the random numbers; default: ``run.seed`` of the scenario and its
        first replication. The run is that of :func:`simrep.run`, bit for bit.

    Raises
    ------
    ScenarioError
        If the scenario or an argument is not valid.
    """
    replay = Replay.of(scenario, seed, replication)
    setup = replay.setup
    low_s, high_s = nan, nan
    work_expected(1, pieces=2 if fault is not None else 1)
    if fault is not None:
        found = simulate(setup, replay.seed, replication).faults
        low_s, high_s = _around(_found(found, fault))
    low_s = low_s if from_s is None else from_s
    high_s = high_s if until_s is None else until_s
    if isnan(low_s) or isnan(high_s):
        raise ScenarioError("from_s", "needs both ends of a time, or a fault")
    if not 0.0 <= low_s < high_s < inf:
        raise ScenarioError("until_s", f"must be after from_s = {low_s:g}, given {high_s:g}")
    record = simulate(setup, replay.seed, replication, follow=Follow(low_s, high_s))
    warn_degraded(record.degradation)
    story = record.story
    assert story is not None
    nodes = tuple(setup.scenario.node_names)
    happened = faults_of(setup.scenario)
    said = setup.model.said
    timeline = TimelineReport.of(record.noted, happened, nodes, replication, said)
    texts = [story.describe(sent.message) for sent in story.sent]
    messages = [
        Transmission(
            number=number,
            source=sent.source,
            target=sent.target,
            label=text.label,
            size_bytes=sent.size_bytes,
            sent_s=sent.sent_s,
            arrived_s=sent.arrived_s,
            handled_s=sent.handled_s,
            cause=None if sent.cause is None else sent.cause.number,
            own=True,
            critical=False,
        )
        for number, (sent, text) in enumerate(zip(story.sent, texts, strict=True))
        if text.membership and low_s <= sent.sent_s <= high_s
    ]
    return WindowExplanation(
        nodes=nodes,
        from_s=low_s,
        until_s=high_s,
        lines=tuple(line for line in timeline.lines if low_s <= line.at_s <= high_s),
        earlier=tuple(line for line in timeline.lines if line.at_s < low_s),
        messages=tuple(replace(one, number=place) for place, one in enumerate(messages)),
        others=sum(not text.membership for text in texts),
        model=setup.model.name,
        terms=setup.model.terms,
        seed=replay.seed,
        replication=replication,
        scenario=setup.scenario.to_dict(),
        versions=setup.versions,
    )


def _found(faults: Mapping[str, Incident], name: str) -> Incident:
    listed = list(faults.values())
    if name.isdecimal() and int(name) < len(listed):
        return listed[int(name)]
    for incident in listed:
        if name in {incident.name, incident.path}:
            return incident
    raise ScenarioError("fault", f"no fault {name!r}", nearest(name, list(faults)))


def _around(incident: Incident) -> tuple[float, float]:
    """The time in which servers react to a fault, in simulated seconds."""
    began_s = incident.suspected_s.median
    if isnan(began_s):
        began_s = incident.evicted_s.median
    ended_s = incident.primary_s.median
    if isnan(ended_s):
        outs = [one.non_primary_s.median for one in incident.absences.values()]
        ended_s = max((one for one in (*outs, incident.view_s.median) if isfinite(one)),
                      default=nan)  # fmt: skip
    if isnan(began_s):
        began_s = 0.0
    if isnan(ended_s):
        ended_s = began_s + _UNNOTICED_S
    margin_s = max(_LEAST_S, _MARGIN * (ended_s - began_s))
    return max(0.0, incident.at_s + began_s - margin_s), incident.at_s + ended_s + margin_s
