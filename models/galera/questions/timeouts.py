"""Which timeouts of Galera's group communication suit a network.

A short ``evs.suspect_timeout`` lets the writers stand still for less time when a node crashes, and
takes nodes for dead that were only cut off for a moment. Both are simulated for several settings:
a node of the scenario is killed, and, in runs of their own, cut off from all others for a while.
Loss and jitter, if any are given, are there from the beginning to the end of each run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from simrep.modelling import ScenarioError
from simrep.modelling.questions import (
    Answer,
    Scenario,
    collected,
    duration,
    in_groups,
    plot,
    setup_of,
    simulate,
    tables,
    with_values,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Group

__all__ = ["Timeouts", "Tried", "suspect_timeouts"]

_SETTLED_S = 2.0  # of load before anything happens
_AFTER_S = 4.0  # of the run, after the last timer has run out
_MOST_S = 3600.0
_VENDOR = 30.0
_NOTES = (
    "Removed: the others went on without the node; when it is back, writers stand still again.",
    "Links are closed after gmcast.peer_timeout of silence (3 s) and found again up to 4 s later.",
)
_BESIDE = 'cluster.options."{}"'

# In seconds, legal ones (ranges of ``evs_proto.cpp``, domain of ``conf.hpp``): keepalive <= suspect
# / 3, check <= suspect / 2, keepalive <= install <= inactive. The defaults of the product; those
# that its maker names for a WAN (codership, kb/wan-replication: keepalive 3, suspect 30, inactive
# and install 60); and settings between and below them, which keep suspect < install.
_SETTINGS: tuple[tuple[str, Mapping[str, float]], ...] = (
    ("", {"suspect_timeout": 1.5, "keepalive_period": 0.5, "inactive_check_period": 0.2,
          "join_retrans_period": 0.5}),
    ("", {"suspect_timeout": 3.0}),
    ("defaults", {"suspect_timeout": 5.0}),
    ("", {"suspect_timeout": 7.0}),
    ("", {"suspect_timeout": 10.0, "inactive_timeout": 30.0, "install_timeout": 20.0}),
    ("", {"suspect_timeout": 15.0, "inactive_timeout": 45.0, "install_timeout": 30.0}),
    ("vendor's for a WAN", {"suspect_timeout": _VENDOR, "keepalive_period": 3.0,
                            "inactive_timeout": 60.0, "install_timeout": 60.0}),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One setting.

    Attributes
    ----------
    name : str
        What it is known as; empty for most.
    settings : mapping of str to float
        Of ``evs.*``, in seconds; all others are as in the scenario.
    crash_s : tuple of float
        How long writers stand still when a node is killed, of each replication.
    outage_s : tuple of float
        The same when it is cut off for a while.
    removed : int
        In how many of those the others removed it.
    """

    name: str
    settings: Mapping[str, float]
    crash_s: tuple[float, ...]
    outage_s: tuple[float, ...]
    removed: int

    @property
    def suspect_s(self) -> float:
        """``evs.suspect_timeout``."""
        return self.settings["suspect_timeout"]

    @property
    def options(self) -> str:
        """As the provider takes them."""
        return ";".join(f"evs.{name}=PT{value:g}S" for name, value in self.settings.items())


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Timeouts(Answer):
    """The shortest ``evs.suspect_timeout`` that removes nobody, in seconds.

    Attributes
    ----------
    length_s : float
        How long a node is cut off.
    tried : tuple of Tried
    """

    length_s: float
    tried: tuple[Tried, ...]

    def _rows(self) -> list[dict[str, Any]]:
        """A row per setting."""
        return [
            {
                "settings": one.options,
                "known_as": one.name,
                "crash_s": median(one.crash_s),
                "crash_max_s": max(one.crash_s),
                "outage_s": median(one.outage_s),
                "removed": one.removed,
                "replications": len(one.outage_s),
            }
            for one in self.tried
        ]


def suspect_timeouts(
    scenario: Scenario,
    *,
    outage_s: float = 4.0,
    loss: float = 0.0,
    jitter_s: float = 0.0,
    replications: int = 6,
    seed: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> Timeouts:
    """Stalls after a crash and false suspicions, over settings of ``evs.*``.

    Parameters
    ----------
    scenario : Scenario
        Without faults of its own. Its last node is the one that is killed or cut off.
    outage_s : float
        How long it is cut off, in seconds.
    loss : float
        Share of the segments that the network loses.
    jitter_s : float
        Mean of what the network adds to every delay in seconds, drawn from an exponential
        distribution.
    replications, seed, executor, progress
        Those of :func:`simrep.plan`.
    """
    if not 0.0 < outage_s <= _MOST_S:
        most = f"must be above 0 and at most {_MOST_S:g}, given {outage_s:g}"
        raise ScenarioError("outage_s", most)
    if scenario.faults:
        raise ScenarioError(
            "fault", "the question lets a node crash itself", "ask with a scenario without faults"
        )
    if scenario.workload.fixed:
        raise ScenarioError("workload", "its transactions would end", "set run.duration_s instead")
    if len(scenario.node_names) < 3:
        raise ScenarioError("cluster.nodes", "nobody survives a crash of one of two nodes", "set 3")
    seed = scenario.run.seed if seed is None else seed
    network = _background(scenario, loss, jitter_s)
    tasks = [
        [(scenario, network, settings, kind, outage_s, seed, number)
         for kind in ("kill", "cut") for number in range(replications)]
        for _, settings in _SETTINGS
    ]  # fmt: skip

    def finished() -> Iterator[Tried]:
        groups = in_groups(_one_run, tasks, executor)
        for (name, settings), runs in zip(_SETTINGS, groups, strict=True):
            crashes, outages = runs[:replications], runs[replications:]
            yield Tried(
                name=name,
                settings=settings,
                crash_s=tuple(stall_s for stall_s, _ in crashes),
                outage_s=tuple(stall_s for stall_s, _ in outages),
                removed=sum(removed for _, removed in outages),
            )

    tried, complete = collected(finished(), least=1, progress=progress, total=len(tasks))
    safe = [one for one in tried if not one.removed]
    best = min(safe, key=lambda one: one.suspect_s, default=None)
    below = [one.suspect_s for one in tried if one.removed]
    setup = setup_of(scenario)
    return Timeouts(
        question=f"Timeouts for a network whose nodes are cut off for {duration(outage_s)}",
        sentence=_sentence(best, tried, outage_s),
        value=None if best is None else best.suspect_s,
        low=max((s for s in below if best is None or s < best.suspect_s), default=None),
        high=None if best is None else best.suspect_s,
        unit="s",
        confidence=None,
        notes=_NOTES,
        seed=seed,
        complete=complete,
        scenario=scenario.to_dict(),
        versions=setup.versions,
        length_s=outage_s,
        tried=tuple(tried),
    )


def _sentence(best: Tried | None, tried: Sequence[Tried], outage_s: float) -> str:
    usual = next((one for one in tried if one.name == "defaults"), None)
    beside = ""
    if usual is not None and usual is not best:
        beside = (
            f" With the defaults it is {duration(median(usual.crash_s))}, and the node is removed "
            f"in {usual.removed} of {len(usual.outage_s)} outages."
        )
    if best is None:
        return f"Every setting removes a node that is cut off for {duration(outage_s)}.{beside}"
    return (
        f"wsrep_provider_options = '{best.options}' removes nobody that is cut off for "
        f"{duration(outage_s)}; a crash stops writers for {duration(median(best.crash_s))}.{beside}"
    )


def _background(scenario: Scenario, loss: float, jitter_s: float) -> list[dict[str, Any]]:
    """Faults of all links, from the beginning to the end."""
    names = list(scenario.node_names)
    faults = []
    for place, name in enumerate(names[:-1]):
        links = {"nodes": [name], "others": names[place + 1 :], "at_s": 0.0}
        if loss:
            faults.append({**links, "what": "loss", "loss": loss})
        if jitter_s:
            table = {"kind": "exponential", "mean_ms": 1e3 * jitter_s}
            faults.append({**links, "what": "jitter", "jitter": table})
    return faults


def _one_run(
    scenario: Scenario,
    background: Sequence[Mapping[str, Any]],
    settings: Mapping[str, float],
    kind: str,
    outage_s: float,
    seed: int,
    replication: int,
) -> tuple[float, bool]:
    """The longest stall of a run, and whether the node was removed.

    When it happens differs from run to run, as timers of servers know nothing of it.
    """
    victim = scenario.node_names[-1]
    at_s = _SETTLED_S + (replication * 0.618034) % 1.0
    fault: dict[str, Any] = {"what": kind, "node": victim, "at_s": at_s}
    longest = settings["suspect_timeout"]
    if kind == "cut":
        fault["until_s"] = at_s + outage_s
        longest = max(longest, outage_s) + _AFTER_S
    changed = with_values(
        scenario,
        {
            **{_BESIDE.format(f"evs.{name}"): value for name, value in settings.items()},
            "fault": [*background, fault],
            "run.warmup_s": 0.0,
            "run.duration_s": at_s + longest + _AFTER_S,
        },
    )
    run = simulate(changed, seed, replication)
    last = len(scenario.node_names) - 1
    removed = any(
        one.what == "primary" and one.node != last and last not in one.of and one.at_s >= at_s
        for one in run.noted
    )
    return run.measurement.stall.seconds, removed


@tables.register(Timeouts)
def timeouts_tables(answer: Timeouts) -> Group:
    """A row per setting."""
    from simrep.modelling.questions import answer_tables, table

    heads = ("evs.*", "", "stall after a crash", "at most", "stall of an outage", "removed")
    rows = [
        (
            ", ".join(f"{name} {value:g}" for name, value in one.settings.items()),
            one.name,
            duration(median(one.crash_s)),
            duration(max(one.crash_s)),
            duration(median(one.outage_s)),
            f"{one.removed} of {len(one.outage_s)}",
        )
        for one in answer.tried
    ]
    return answer_tables(answer, table(heads, "llrrrr", rows))


@plot.register(Timeouts)
def plot_timeouts(answer: Timeouts) -> Figure:
    """Stalls over the timeout; settings that remove the node are hollow."""
    from simrep.modelling.figure import PALETTE, Sheet

    figure = Sheet(8.0, 4.6)
    axes = figure.subplots()
    for shade, name, label in ((0, "crash_s", "after a crash"), (1, "outage_s", "of an outage")):
        times = [one.suspect_s for one in answer.tried]
        stalls = [median(getattr(one, name)) for one in answer.tried]
        axes.plot(times, stalls, color=PALETTE[shade], label=label, zorder=2)
        for one, stall in zip(answer.tried, stalls, strict=True):
            face = "none" if one.removed and name == "outage_s" else PALETTE[shade]
            axes.plot([one.suspect_s], [stall], "o", color=PALETTE[shade], markerfacecolor=face,
                      zorder=3)  # fmt: skip
    axes.plot([], [], "o", color=PALETTE[1], markerfacecolor="none", label="the node is removed")
    axes.set_xlim(0)
    axes.set_ylim(0)
    axes.set_xlabel("evs.suspect_timeout (s)")
    axes.set_ylabel("writers stand still (s)")
    axes.set_title(answer.question)
    axes.legend()
    return figure
