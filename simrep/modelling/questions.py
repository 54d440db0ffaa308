"""What a question of a model's own simulates with, and what its answer is made of.

``Question`` and its ``Option``s, in ``simrep.modelling``, say how it is asked; the function that
answers takes a ``Scenario`` and returns an ``Answer``, or any other ``Report``. ``simulate`` runs
one replication, ``simulate_groups`` many ``Task``s, in processes where there are any;
``short_setup`` makes a run as short as its figures allow; ``weighed_timeouts`` is the answer to
"timeouts" but for the settings, ``planned_return`` that to "rejoin" but for the rules of a product.
Functions that are registered with ``tables`` and ``plot`` show the answer: the former with
``answer_tables``, ``table``, ``title`` and ``closing``, the latter with what
``simrep.modelling.figure`` names.
"""

from simrep.contract.setup import setup_of
from simrep.measure.confidence import mean_interval
from simrep.measure.units import duration, number, plain, size
from simrep.runs.batch import Task, simulate_groups
from simrep.runs.executor import collected, in_groups
from simrep.runs.pilot import short_setup
from simrep.runs.replication import simulate
from simrep.runs.report import Report
from simrep.runs.result import Result
from simrep.scenario import Scenario, load, with_value, with_values
from simrep.scenario.classes import ScheduledTable
from simrep.show.text.layout import closing, table, title
from simrep.show.text.plan import answer_tables
from simrep.show.views import plot, tables
from simrep.whatif.plan.answer import Answer
from simrep.whatif.plan.rejoin import (
    Kept,
    Rejoin,
    ReturnRules,
    planned_return,
    returning_node,
)
from simrep.whatif.plan.returns import ReturnWay
from simrep.whatif.plan.timeouts import Timeouts, TimeoutSetting, TriedTimeout, weighed_timeouts
from simrep.whatif.plan.transaction import scheduled_position, until_it_has_ended

__all__ = [
    "Answer",
    "Kept",
    "Rejoin",
    "Report",
    "Result",
    "ReturnRules",
    "ReturnWay",
    "Scenario",
    "ScheduledTable",
    "Task",
    "TimeoutSetting",
    "Timeouts",
    "TriedTimeout",
    "answer_tables",
    "closing",
    "collected",
    "duration",
    "in_groups",
    "load",
    "mean_interval",
    "number",
    "plain",
    "planned_return",
    "plot",
    "returning_node",
    "scheduled_position",
    "setup_of",
    "short_setup",
    "simulate",
    "simulate_groups",
    "size",
    "table",
    "tables",
    "title",
    "until_it_has_ended",
    "weighed_timeouts",
    "with_value",
    "with_values",
]
