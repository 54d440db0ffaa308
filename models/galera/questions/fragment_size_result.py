"""What fragment sizes of streaming replication do to a large transaction and to everybody else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, cast

from simrep.modelling.questions import Report, plain, plot, tables

__all__ = ["Criteria", "Criterion", "FragmentSize", "FragmentSizes", "size_text"]

Criterion = Literal["error", "stall", "slowdown", "payload"]

_ROUNDING = 1e-9  # a stall of five intervals of 0.2 s is not longer than 1 s
_SUFFIXES = (
    *((10**9, "G"), (10**6, "M"), (10**3, "K")),
    *((1024**3, "Gi"), (1024**2, "Mi"), (1024, "Ki")),
)


@dataclass(frozen=True, slots=True)
class Criteria:
    """What a fragment size has to meet."""

    longest_stall_s: float = 1.0  # seconds for which the payload may stand still
    # Time of the large transaction, relative to the one without streaming.
    largest_slowdown: float = 1.5
    # Throughput of the payload while it runs, relative to the one before.
    least_payload: float = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentSize:
    """One size: means over the replications; the stall is the longest of all of them."""

    size: int  # in the unit of the result; 0 is without streaming replication
    fragments: float  # fragments before the commit
    # From the begin of the large transaction until its client is told that it is committed.
    duration_s: float
    slowdown: float  # that, relative to the same without streaming
    # Commits of all others per second, from its begin until the last node has committed it.
    payload_tps: float
    payload_share: float  # that, relative to the rate before its begin
    # Longest time in which others committed at less than a tenth of the rate before, in whole
    # intervals.
    stall_s: float
    lock_hold_s: float  # longest time for which a node kept a row of it locked
    # The same of the other nodes: from its first fragment (or writeset) being sent.
    remote_lock_hold_s: float
    # Seconds of the run in which flow control stopped the node that was stopped most.
    paused_s: float
    wsrep_flow_control_paused: float  # the same as a share of the run, as the product counts it
    error: str  # why it failed in some replication; empty if it did not
    # What it does not meet: ``error``, ``stall``, ``slowdown``, ``payload``.
    failing: tuple[Criterion, ...]
    # 95 % confidence intervals of the means by name of the figure; empty for one replication.
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
    """What each fragment size does, and which are recommended."""

    width = 120

    title: str  # name of the scenario
    transaction: str  # the large transaction
    unit: str  # what sizes count
    whole: int  # all of the transaction in that unit
    criteria: Criteria
    # Commits of all others per second before the large transaction, without streaming.
    before_tps: float
    without: FragmentSize  # without streaming replication
    sizes: tuple[FragmentSize, ...]  # what was simulated, from the smallest on
    # Sizes of the grid that were not simulated, as larger ones are far too slow already, and became
    # slower the smaller they were.
    skipped: tuple[int, ...]
    interval_s: float  # resolution of the stalls, in seconds
    seed: int
    replications: int
    complete: bool  # False if it was interrupted
    scenario: Mapping[str, Any]  # what was simulated, but for the fragments
    versions: Mapping[str, str]  # what computed it

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


tables.register_module(FragmentSizes, "simrep.models.galera.questions.fragment_size_table")
plot.register_module(FragmentSizes, "simrep.models.galera.questions.fragment_size_plot")
