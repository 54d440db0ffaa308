"""Which timeouts of Galera's group communication are tried.

A short ``evs.suspect_timeout`` lets the writers stand still for less time when a node crashes, and
takes nodes for dead that were only cut off for a moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from simrep.modelling.questions import (
    Scenario,
    Timeouts,
    TimeoutSetting,
    TriedTimeout,
    duration,
    weighed_timeouts,
)

__all__ = ["suspect_timeouts"]

_OPTION = "evs.suspect_timeout"
_NOTES = (
    "Removed: the others went on without the node; when it is back, writers stand still again.",
    "Links are closed after gmcast.peer_timeout of silence (3 s) and found again up to 4 s later.",
)

# In seconds, legal ones (ranges of ``evs_proto.cpp``, domain of ``conf.hpp``): keepalive <= suspect
# / 3, check <= suspect / 2, keepalive <= install <= inactive. The defaults of the product; those
# that its maker names for a WAN (codership, kb/wan-replication: keepalive 3, suspect 30, inactive
# and install 60); and settings between and below them, which keep suspect < install.
_SETTINGS: tuple[tuple[str, Mapping[str, float]], ...] = (
    ("", {"suspect_timeout": 1.5, "keepalive_period": 0.5, "inactive_check_period": 0.2,
          "join_retrans_period": 0.5}),
    ("", {"suspect_timeout": 3.0}),
    ("defaults", {"suspect_timeout": 5.0}),
    ("", {"suspect_timeout": 7.0}),
    ("", {"suspect_timeout": 10.0, "inactive_timeout": 30.0, "install_timeout": 20.0}),
    ("", {"suspect_timeout": 15.0, "inactive_timeout": 45.0, "install_timeout": 30.0}),
    ("vendor's for a WAN", {"suspect_timeout": 30.0, "keepalive_period": 3.0,
                            "inactive_timeout": 60.0, "install_timeout": 60.0}),
)  # fmt: skip


def suspect_timeouts(scenario: Scenario, **options: Any) -> Timeouts:
    """Stalls after a crash and false suspicions, over settings of ``evs.*``.

    Parameters
    ----------
    scenario : Scenario
        See ``weighed_timeouts``.
    **options
        Of the question.
    """
    settings = [_setting(name, values) for name, values in _SETTINGS]
    return weighed_timeouts(scenario, settings, option=_OPTION, cost=_cost, notes=_NOTES, **options)


def _setting(name: str, values: Mapping[str, float]) -> TimeoutSetting:
    written = ";".join(f"evs.{key}=PT{value:g}S" for key, value in values.items())
    suspect_s = values["suspect_timeout"]
    beside = [f"{key} {value:g}" for key, value in values.items() if key != "suspect_timeout"]
    return TimeoutSetting(
        name=name,
        timeout_s=suspect_s,
        options={f"evs.{key}": value for key, value in values.items()},
        longest_s=suspect_s,
        brief=", ".join([f"{suspect_s:g}", *beside]),
        written=f"wsrep_provider_options = '{written}'",
    )


def _cost(tried: TriedTimeout) -> str:
    return f"a crash stops writers for {duration(median(tried.crash_s))}"
