"""What fragment sizes of streaming replication do to a large transaction and to everybody else.

Sizes that were compared, the answer that follows from them, and both as tables and in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, cast

from rich.console import Group
from rich.table import Table

from simrep.modelling.questions import (
    Answer,
    Report,
    answer_tables,
    closing,
    duration,
    number,
    plain,
    plot,
    table,
    tables,
    title,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Criteria", "Criterion", "FragmentSize", "FragmentSizes", "LargestFragment", "size_text"]

Criterion = Literal["error", "stall", "slowdown", "payload"]

_ROUNDING = 1e-9  # a stall of five intervals of 0.2 s is not longer than 1 s
_SUFFIXES = (
    *((10**9, "G"), (10**6, "M"), (10**3, "K")),
    *((1024**3, "Gi"), (1024**2, "Mi"), (1024, "Ki")),
)


@dataclass(frozen=True, slots=True)
class Criteria:
    """What a fragment size has to meet.

    Attributes
    ----------
    longest_stall_s : float
        Seconds for which the payload may stand still.
    largest_slowdown : float
        Time of the large transaction, relative to the one without streaming.
    least_payload : float
        Throughput of the payload while it runs, relative to the one before.
    """

    longest_stall_s: float = 1.0
    largest_slowdown: float = 1.5
    least_payload: float = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentSize:
    """One size: means over the replications; the stall is the longest of all of them.

    Attributes
    ----------
    size : int
        In the unit of the result; 0 is without streaming replication.
    fragments : float
        Fragments before the commit.
    duration_s : float
        From the begin of the large transaction until its client is told that it is committed.
    slowdown : float
        That, relative to the same without streaming.
    payload_tps : float
        Commits of all others per second, from its begin until the last node has committed it.
    payload_share : float
        That, relative to the rate before its begin.
    stall_s : float
        Longest time in which others committed at less than a tenth of the rate before, in whole
        intervals.
    lock_hold_s : float
        Longest time for which a node kept a row of it locked.
    remote_lock_hold_s : float
        The same of the other nodes: from its first fragment (or writeset) being sent.
    paused_s : float
        Seconds of the run in which flow control stopped the node that was stopped most.
    wsrep_flow_control_paused : float
        The same as a share of the run, as the product counts it.
    error : str
        Why it failed in some replication; empty if it did not.
    failing : tuple of str
        What it does not meet: ``error``, ``stall``, ``slowdown``, ``payload``.
    intervals : mapping of str to (float, float)
        95 % confidence intervals of the means by name of the figure; empty for one replication.
    """

    size: int
    fragments: float
    duration_s: float
    slowdown: float
    payload_tps: float
    payload_share: float
    stall_s: float
    lock_hold_s: float
    remote_lock_hold_s: float
    paused_s: float
    wsrep_flow_control_paused: float
    error: str
    failing: tuple[Criterion, ...]
    intervals: Mapping[str, tuple[float, float]]

    @property
    def recommended(self) -> bool:
        """Whether it meets everything."""
        return not self.failing

    @staticmethod
    def judged(
        figures: Mapping[str, float], error: str, criteria: Criteria
    ) -> tuple[Criterion, ...]:
        """What figures do not meet; one that is not known is not met."""
        met: dict[Criterion, bool] = {
            "error": not error,
            "stall": figures["stall_s"] <= criteria.longest_stall_s + _ROUNDING,
            "slowdown": figures["slowdown"] <= criteria.largest_slowdown,
            "payload": figures["payload_share"] >= criteria.least_payload,
        }
        return tuple(name for name, good in met.items() if not good)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FragmentSizes(Report):
    """What each fragment size does, and which are recommended.

    Attributes
    ----------
    title : str
        Name of the scenario.
    transaction : str
        The large transaction.
    unit : {"bytes", "rows", "statements"}
        What sizes count.
    whole : int
        All of the transaction in that unit.
    criteria : Criteria
    before_tps : float
        Commits of all others per second before the large transaction, without streaming.
    without : FragmentSize
        Without streaming replication.
    sizes : tuple of FragmentSize
        What was simulated, from the smallest on.
    skipped : tuple of int
        Sizes of the grid that were not simulated, as larger ones are far too slow already, and
        became slower the smaller they were.
    interval_s : float
        Resolution of the stalls, in seconds.
    seed, replications : int
    complete : bool
        False if it was interrupted.
    scenario : mapping
        What was simulated, but for the fragments.
    versions : mapping of str to str
        What computed it.
    """

    width = 120

    title: str
    transaction: str
    unit: str
    whole: int
    criteria: Criteria
    before_tps: float
    without: FragmentSize
    sizes: tuple[FragmentSize, ...]
    skipped: tuple[int, ...]
    interval_s: float
    seed: int
    replications: int
    complete: bool
    scenario: Mapping[str, Any]
    versions: Mapping[str, str]

    @property
    def recommended(self) -> tuple[FragmentSize, ...]:
        """The longest row of neighbouring sizes that meet everything, from the smallest on."""
        longest: tuple[FragmentSize, ...] = ()
        run: tuple[FragmentSize, ...] = ()
        for one in self.sizes:
            run = (*run, one) if one.recommended else ()
            if len(run) > len(longest):
                longest = run
        return longest

    @property
    def compromise(self) -> FragmentSize | None:
        """Where no size meets everything: the smallest stall among those within the slowdown.

        Of equal stalls, that with the most payload. None if there is a recommended one, or if
        all are too slow.
        """
        if self.recommended:
            return None
        fast = [one for one in self.sizes if not {"error", "slowdown"} & set(one.failing)]
        return min(fast, key=lambda one: (one.stall_s, -one.payload_share), default=None)

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; what is not a number becomes None."""
        content: dict[str, Any] = {}
        for one in fields(self):
            content[one.name] = getattr(self, one.name)
            if one.name == "skipped":
                best = self.compromise
                content["recommended"] = [size.size for size in self.recommended]
                content["compromise"] = None if best is None else best.size
        return cast(dict[str, Any], plain(content))

    def _rows(self) -> list[dict[str, Any]]:
        """A row per size, the one without streaming first."""
        return [asdict(one) for one in (self.without, *self.sizes)]

    def __repr__(self) -> str:
        recommended = ", ".join(size_text(one.size) for one in self.recommended) or "none"
        return (
            f"<FragmentSizes of {self.transaction!r}: {len(self.sizes)} sizes in {self.unit}, "
            f"recommended {recommended}>"
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LargestFragment(Answer):
    """The largest fragment size that meets all criteria; ``high`` is the next that does not.

    Attributes
    ----------
    sizes : FragmentSizes
        All that was simulated.
    """

    sizes: FragmentSizes

    @property
    def drawable(self) -> bool:
        """Whether a size was simulated before it was interrupted."""
        return bool(self.sizes.sizes)

    def to_dict(self) -> dict[str, Any]:
        """The answer, and all that was simulated."""
        return {**self.sizes.to_dict(), **super(LargestFragment, self).to_dict()}

    def _rows(self) -> list[dict[str, Any]]:
        """A row per size."""
        return self.sizes._rows()


def size_text(size: int) -> str:
    """A size as people write it, exactly: in thousands or in units of 1024.

    >>> size_text(100), size_text(10_000), size_text(3_200_000), size_text(102_400)
    ('100', '10 K', '3.2 M', '100 Ki')
    """
    texts = []
    for factor, suffix in _SUFFIXES:
        text = f"{size / factor:.4g}"
        if size >= factor and float(text) * factor == size:
            texts.append(f"{text} {suffix}")
    return min([*texts, f"{size:,}"], key=len)


plot.register_module(FragmentSizes, "simrep.models.galera.questions.fragment_plot")


@tables.register(LargestFragment)
def largest_fragment_tables(answer: LargestFragment) -> Group:
    """All that was simulated."""
    return answer_tables(answer, answer.sizes.tables())


@plot.register(LargestFragment)
def plot_largest_fragment(answer: LargestFragment) -> Figure:
    """Time, payload and stall over the size."""
    return answer.sizes.plot()


@tables.register(FragmentSizes)
def fragment_size_tables(found: FragmentSizes) -> Group:
    """A row per size, the one without streaming first, and the verdict."""
    name = f"{found.title}: " if found.title else ""
    heading = (
        f"{name}transaction {found.transaction!r}, {size_text(found.whole)} {found.unit}, beside "
        f"{number(found.before_tps)} transactions/s"
    )
    missing = "" if found.complete else "sizes are missing"
    notes = closing([*_verdict(found), "", *_notes(found)], missing=missing)
    return Group(title(heading), _sizes(found), notes)


def _sizes(found: FragmentSizes) -> Table:
    heads = (
        *(found.unit, "fragments", "time", "slowdown", "payload", "stall"),
        *("locked", "elsewhere", "paused", ""),
    )
    sizes = table(heads, "r" * (len(heads) - 1) + "L")
    chosen = found.recommended
    for one in (found.without, *found.sizes):
        style = "green" if one in chosen else None
        sizes.add_row(*_cells(one), _mark(one, chosen), style=style)
    return sizes


def _cells(one: FragmentSize) -> Iterator[str]:
    yield size_text(one.size) if one.size else "none"
    yield number(one.fragments)
    yield duration(one.duration_s)
    yield number(one.slowdown) + _half(one, "slowdown")
    yield _percent(one.payload_share) + _half(one, "payload_share", 100.0)
    yield duration(one.stall_s)
    yield duration(one.lock_hold_s)
    yield duration(one.remote_lock_hold_s)
    yield duration(one.paused_s)


def _mark(one: FragmentSize, chosen: tuple[FragmentSize, ...]) -> str:
    if one.error:
        return one.error
    if one in chosen:
        return "recommended"
    return "no: " + ", ".join(one.failing) if one.failing else "good"


def _verdict(found: FragmentSizes) -> list[str]:
    """What to do, in sentences."""
    lines = []
    if found.without.recommended:
        lines.append("Without streaming replication nothing is exceeded: it is not needed.")
    elif found.without.error:
        lines.append(f"Without streaming replication it fails: {found.without.error}.")
    chosen = found.recommended
    if chosen:
        ends = list(dict.fromkeys(size_text(one.size) for one in (chosen[0], chosen[-1])))
        middle = " From the middle:" if len(chosen) > 1 else ""
        lines.append(f"Recommended: {' to '.join(ends)} {found.unit}.{middle}")
        lines.append(_setting(found, chosen[(len(chosen) - 1) // 2]))
    elif found.sizes:
        lines += _why_none(found)
    if found.skipped:
        lines.append(
            f"Not simulated: {', '.join(map(size_text, found.skipped))}; the slowdown was rising."
        )
    return lines


def _why_none(found: FragmentSizes) -> Iterator[str]:
    yield "No size meets everything."
    ends = {"smallest": found.sizes[0], "largest": found.sizes[-1]}
    if len(found.sizes) == 1:
        del ends["smallest"]
    for name, one in ends.items():
        label = f"The {name}, {size_text(one.size)}" if len(ends) > 1 else size_text(one.size)
        yield f"{label}: {'; '.join(_reasons(one, found))}."
    best = found.compromise
    if best is None:
        yield "All are too slow or fail, so there is no compromise within the slowdown either."
        return
    yield (
        f"Best compromise, the smallest stall within the slowdown: {size_text(best.size)} "
        f"{found.unit} ({'; '.join(_reasons(best, found))})."
    )
    yield _setting(found, best)


def _reasons(one: FragmentSize, found: FragmentSizes) -> Iterator[str]:
    criteria = found.criteria
    for name in one.failing or ("none",):
        if name == "error":
            yield f"fails ({one.error})"
        elif name == "stall":
            yield f"stall {duration(one.stall_s)}, at most {duration(criteria.longest_stall_s)}"
        elif name == "slowdown":
            yield f"slowdown {number(one.slowdown)}, at most {number(criteria.largest_slowdown)}"
        elif name == "payload":
            yield (
                f"payload {_percent(one.payload_share)} of before, at least "
                f"{_percent(criteria.least_payload)}"
            )
        else:
            yield "meets everything"


def _setting(found: FragmentSizes, one: FragmentSize) -> str:
    return (
        f"  SET SESSION wsrep_trx_fragment_unit = '{found.unit}', "
        f"wsrep_trx_fragment_size = {one.size};"
    )


def _notes(found: FragmentSizes) -> Iterator[str]:
    runs = "1 replication" if found.replications == 1 else f"{found.replications} replications"
    yield f"Stalls in whole intervals of {duration(found.interval_s)}. {runs}, seed {found.seed}."
    if found.replications > 1:
        yield "± is half of a 95 % interval of the mean; stalls are the longest of all."


def _percent(share: float) -> str:
    return f"{number(100.0 * share)} %"


def _half(one: FragmentSize, name: str, scale: float = 1.0) -> str:
    low, high = one.intervals.get(name, (0.0, 0.0))
    return f" ± {number(scale * (high - low) / 2.0, 2)}" if high > low else ""
