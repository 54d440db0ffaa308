"""The words of closed forms, which second opinions are computed from.

A ``ClosedForm`` is what ``Model.analytic`` returns. It tells the ``Journey`` of a transaction as
steps: ``Work`` of a core, a ``Delay``, ``Turns`` of a station, ``Groups`` of a group commit
(``GroupStage``), the ``Release`` of an answer; ``Pace`` says how often things happen. ``execution``
gives the steps before a commit, and the functions of orders how long a group needs to agree.
"""

from simrep.contract.closed_form.group_commit import GroupStage
from simrep.contract.closed_form.journey import (
    ClosedForm,
    Delay,
    Groups,
    Journey,
    Pace,
    Release,
    Step,
    Turns,
    Work,
    cost_s,
)
from simrep.contract.closed_form.order import (
    Delays,
    consensus_s,
    kth_fastest,
    safe_order_s,
    shortest_s,
    slot_order_s,
)
from simrep.contract.closed_form.transaction import execution, row_count

__all__ = [
    "ClosedForm",
    "Delay",
    "Delays",
    "GroupStage",
    "Groups",
    "Journey",
    "Pace",
    "Release",
    "Step",
    "Turns",
    "Work",
    "consensus_s",
    "cost_s",
    "execution",
    "kth_fastest",
    "row_count",
    "safe_order_s",
    "shortest_s",
    "slot_order_s",
]
