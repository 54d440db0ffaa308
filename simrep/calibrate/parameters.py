"""Which costs a fit may change: those a dataset names, or names alone with the usual ranges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log

from pydantic.fields import FieldInfo

from simrep.contract.model import Model
from simrep.data.definition import Fit, Parameter
from simrep.errors import ScenarioError, nearest
from simrep.scenario.cluster import MachineTable
from simrep.scenario.prior import Prior, prior_of

__all__ = ["bounds", "chosen_parameters"]

_MACHINE = "machine."
_REACH = 4.0
"""Bounds lie this many sigmas of the prior away where none are given."""


def chosen_parameters(
    names: Sequence[str], spec: Fit | None, model: type[Model]
) -> tuple[Parameter, ...]:
    """What is fitted.

    Parameters
    ----------
    names : sequence of str
        Costs of the model, and ``machine.TRAIT``; if there are none, those of ``spec``.
    spec : Fit or None
        What the dataset says; its priors go before the usual ones.
    model : type of Model

    Raises
    ------
    ScenarioError
        If a name is no cost with a known range, or there is nothing to fit.
    """
    known = _with_priors(model)
    given = {} if spec is None else {parameter.name: parameter for parameter in spec.parameter}
    if not names:
        if not given:
            raise ScenarioError(
                "--fit", "names no costs, and neither does the dataset", nearest("", known)
            )
        return tuple(given.values())
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise ScenarioError("--fit", f"{twice[0]!r} is there twice")
    found = []
    for name in names:
        if name not in given and name not in known:
            raise ScenarioError("--fit", f"no cost {name!r} of {model.name}", nearest(name, known))
        found.append(given.get(name) or _usual(name, known[name]))
    return tuple(found)


def _usual(name: str, prior: Prior) -> Parameter:
    return Parameter(name=name, prior=prior.median, sigma=prior.sigma, low=prior.least)


def _with_priors(model: type[Model]) -> dict[str, Prior]:
    """All costs and traits with a known range, by their names in a fit."""

    def known(fields: Mapping[str, FieldInfo], prefix: str) -> dict[str, Prior]:
        priors = {f"{prefix}{name}": prior_of(field) for name, field in fields.items()}
        return {name: prior for name, prior in priors.items() if prior is not None}

    return known(model.Costs.model_fields, "") | known(MachineTable.model_fields, _MACHINE)


def bounds(parameter: Parameter) -> tuple[float, float]:
    """The logarithms between which a fit looks for a cost.

    Raises
    ------
    ScenarioError
        If there is nothing between them.
    """
    reach = exp(_REACH * parameter.sigma)
    low = parameter.prior / reach if parameter.low is None else parameter.low
    high = parameter.prior * reach if parameter.high is None else parameter.high
    if not low < high:
        raise ScenarioError(f"fit.parameter.{parameter.name}", f"bounds {low} .. {high} are empty")
    return log(low), log(high)
