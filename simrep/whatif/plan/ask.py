"""One function for all inverse questions."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from simrep.errors import ScenarioError, nearest
from simrep.scenario import Scenario, load
from simrep.whatif.plan.answer import Answer

__all__ = ["QUESTIONS", "plan"]

QUESTIONS: Mapping[str, str] = {
    "rtt": "questions.largest_rtt",
    "clients": "questions.fewest_clients",
    "appliers": "questions.fewest_appliers",
    "transaction": "transaction.largest_transaction",
    "fragment": "fragment.largest_fragment",
    "gcache": "gcache.gcache_size",
    "rate": "rate.highest_rate",
    "product": "product.rank_products",
}
"""Where the answer to each question comes from, below this package."""


def plan(
    scenario: str | Path | Mapping[str, Any] | Scenario, question: str, **options: Any
) -> Answer:
    """Answer an inverse question: which value of a scenario meets an objective.

    Parameters
    ----------
    scenario : str, Path, mapping or Scenario
        What :func:`simrep.run` takes.
    question : str
        One of ``rtt``, ``clients``, ``appliers``, ``transaction``, ``fragment``, ``gcache``,
        ``rate``, ``product``.
    **options
        Those of the question:

        - ``rtt``: ``objective``, ``within`` (milliseconds), ``path``;
        - ``clients``: ``objective``, ``within``;
        - ``appliers``: ``tps``, ``within``;
        - ``transaction``: ``transaction``, ``longest_stall_s``, ``within`` (rows);
        - ``fragment``: those of :func:`simrep.fragment_sizes`;
        - ``gcache``: ``outage_s``;
        - ``rate``: none of its own;
        - ``product``: ``regions``, ``writes``, ``objective``, ``rtts``, ``zone_rtt_ms``.

        Of all: ``seed``, ``replications`` (of searches: the most at one value), ``executor``,
        ``progress``; of all but ``fragment``: ``confidence``; of searches and ``rate``:
        ``precision``, the ratio of neighbouring values, minus one.

    Returns
    -------
    Answer
        ``value``, ``low``, ``high``, ``sentence``, ``notes``.

    Raises
    ------
    ScenarioError
        If the question, the scenario or an option is not valid.

    Examples
    --------
    >>> cluster = {"cluster": {"model": "galera"}, "workload": {"queries": 20}}
    >>> answer = plan(cluster, "rtt", objective="mean<=50ms", precision=0.5, replications=4)
    >>> 10 < answer.value < 50
    True
    """
    if question not in QUESTIONS:
        raise ScenarioError("question", f"no question {question!r}", nearest(question, QUESTIONS))
    file, _, function = QUESTIONS[question].partition(".")
    home = import_module(f"simrep.whatif.plan.{file}")
    answer: Answer = getattr(home, function)(load(scenario), **options)
    return answer
