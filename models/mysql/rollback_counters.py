"""Counters of what was rolled back, which all models have."""

from __future__ import annotations

from typing import Any

from simrep.workload.session import Sessions

__all__ = ["rollback_counters"]


def rollback_counters(sessions: Sessions[Any], *errors: str) -> dict[str, float]:
    """What was written for nothing, and how often by the number of the error.

    Parameters
    ----------
    sessions : Sessions
    *errors : str
        Numbers of the errors that a server of this model may answer.

    Returns
    -------
    dict
        ``rolled_back_rows``; ``rolled_back_s``, from the begin of each such attempt to the end of
        its rollback in seconds; ``errors.1205`` and so on. None of them is a status variable.
    """
    counters: dict[str, float] = {
        "rolled_back_rows": sessions.wasted_rows,
        "rolled_back_s": sessions.wasted_s,
        **{f"errors.{error}": 0 for error in errors},
    }
    for said, times in sessions.errors.items():
        name = f"errors.{said.split(maxsplit=1)[0]}"
        counters[name] = counters.get(name, 0) + times
    return counters
