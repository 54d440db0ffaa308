"""How large the fragments of a large transaction may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simrep.modelling.questions import Answer, Scenario, plot, tables
from simrep.models.galera.questions.fragment_size_result import FragmentSizes, size_text
from simrep.models.galera.questions.fragment_sizes import fragment_sizes

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Group

__all__ = ["LargestFragment", "largest_fragment"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LargestFragment(Answer):
    """The largest fragment size that meets all criteria; ``high`` is the next that does not."""

    sizes: FragmentSizes  # all that was simulated

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


@tables.register(LargestFragment)
def largest_fragment_tables(answer: LargestFragment) -> Group:
    """All that was simulated."""
    from simrep.modelling.questions import answer_tables

    return answer_tables(answer, answer.sizes.tables())


@plot.register(LargestFragment)
def plot_largest_fragment(answer: LargestFragment) -> Figure:
    """Time, payload and stall over the size."""
    return answer.sizes.plot()


def largest_fragment(scenario: Scenario, **options: Any) -> LargestFragment:
    """The largest fragment of streaming replication that is safe.

    Parameters
    ----------
    scenario : Scenario
        With a ``[[workload.scheduled]]`` transaction.
    **options
        Those of :func:`simrep.fragment_sizes`.
    """
    found = fragment_sizes(scenario, **options)
    chosen = found.recommended
    largest = chosen[-1].size if chosen else None
    above = [one.size for one in found.sizes if largest is not None and one.size > largest]
    beyond = min(above, default=None)
    return LargestFragment(
        question=f"The largest fragment of {found.transaction!r} that is safe",
        sentence=_sentence(found, largest, beyond),
        value=largest,
        low=largest,
        high=beyond,
        unit=found.unit,
        confidence=None,
        notes=(_basis(found.replications),),
        seed=found.seed,
        complete=found.complete,
        scenario=found.scenario,
        versions=found.versions,
        sizes=found,
    )


def _sentence(found: FragmentSizes, largest: int | None, beyond: int | None) -> str:
    if largest is None:
        return "No size meets everything."
    text = f"Fragments of up to {size_text(largest)} {found.unit} meet everything"
    if beyond is None:
        return f"{text}; larger ones were not simulated."
    return f"{text}, {size_text(beyond)} do not."


def _basis(replications: int) -> str:
    runs = "1 replication" if replications == 1 else f"the means of {replications} replications"
    return f"Sizes are judged by {runs}, without a margin for chance."
