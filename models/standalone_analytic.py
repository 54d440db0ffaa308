"""Servers without replication in closed form."""

from __future__ import annotations

from simrep.experiment.plan import Plan

from .mysql_analytic import ServerForm

__all__ = ["standalone_form"]


def standalone_form(planned: Plan) -> ServerForm:
    """The closed form of servers that know nothing of each other."""
    return ServerForm(planned, log_bin=planned.options.log_bin)  # type: ignore[attr-defined]
