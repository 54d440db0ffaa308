"""One function for all inverse questions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simrep.contract.model import Model
from simrep.contract.question import Question
from simrep.contract.registry import find_model, usable_models
from simrep.errors import ScenarioError, nearest
from simrep.runs.executor import workers
from simrep.runs.progress import told
from simrep.runs.sampler import at_least, seed_of
from simrep.scenario import Scenario, load
from simrep.whatif.plan.answer import Answer
from simrep.whatif.plan.catalogue import QUESTIONS

__all__ = ["plan"]


@told
def plan(
    scenario: str | Path | Mapping[str, Any] | Scenario, question: str, **options: Any
) -> Answer:
    """Answer an inverse question: which value of a scenario meets an objective.

    Parameters
    ----------
    scenario : str, Path, mapping or Scenario
        What :func:`simrep.run` takes.
    question : str
        One of ``rtt``, ``clients``, ``capacity``, ``appliers``, ``transaction``, ``rate``,
        ``headroom``, ``traffic``, ``product``, ``rolling-restart``, ``reads``, or one that
        the model of the scenario answers (``Model.questions``).
    **options
        Those of the question:

        - ``rtt``: ``objective``, ``within`` (milliseconds), ``path``;
        - ``clients``: ``objective``, ``within``;
        - ``capacity``: ``objective``, ``by`` (``rate`` or ``clients``), ``over`` (as :func:`sweep`
          takes it), ``beside`` (other scenarios), ``within``;
        - ``appliers``: ``tps``, ``within``;
        - ``transaction``: ``transaction``, ``longest_stall_s``, ``within`` (rows);
        - ``rate``: none of its own;
        - ``headroom``: ``by`` (``rate`` or ``clients``), ``objective``, ``steps``;
        - ``traffic``: ``prices`` (a CSV file);
        - ``product``: ``regions``, ``writes``, ``objective``, ``durability``, ``rto_s``, ``rpo``,
          ``rtts``, ``zone_rtt_ms``;
        - ``rolling-restart``: ``down_s``, ``pause_s``, ``nodes``;
        - ``reads``: ``rtts`` (milliseconds), ``loads`` (multiples of the writers), ``readers``.

        Of all: ``seed``, ``replications`` (of searches: the most at one value), ``confidence``,
        ``jobs``, ``executor``, ``progress``; of searches and ``rate``: ``precision``, the ratio of
        neighbouring values, minus one. With ``quick`` the answer is a first look, wider and from
        fewer runs, unless precision and replications are given.

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
    loaded = load(scenario)
    seed_of(options.get("seed"), loaded.run.seed)
    if (replications := options.get("replications")) is not None:
        at_least("replications", replications, 1)
    options["executor"] = workers(options.pop("jobs", None), options.get("executor"))
    asked = _question(question, find_model(loaded.cluster.model))
    if options.pop("quick", False):
        for option in asked.options:
            if option.quick is not None:
                options.setdefault(option.name, option.quick)
    answer: Answer = asked.ask(loaded, **options)
    return answer


def _question(name: str, model: type[Model]) -> Question:
    """What is asked of a model."""
    answered = {one.name: one for one in (*QUESTIONS, *model.questions())}
    if name in answered:
        return answered[name]
    others: dict[str, list[str]] = {}
    for other in usable_models():
        for one in other.questions():
            others.setdefault(one.name, []).append(repr(other.name))
    if name in others:
        subject, verb = ("model", "has") if len(others[name]) == 1 else ("models", "have")
        raise ScenarioError(
            "question",
            f"model {model.name!r} has no answer to {name!r}",
            f"{subject} {' and '.join(others[name])} {verb}",
        )
    raise ScenarioError("question", f"no question {name!r}", nearest(name, [*answered, *others]))
