"""What decides a figure of a run with faults: timers, processors, or chance.

These lists were settled before any experiment of the rig was measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from simrep.rig.cell import Cell
from simrep.rig.predictions import series_name

__all__ = ["by_chance", "failures_table"]

_FAILURES: Mapping[str, Any] = {
    # A run begins anywhere within a second, for which timers of servers are as they are.
    "phase_s": 1.0,
    "processors": [
        *("*/tput_*", "*/acked_n", "*/before_latency_median_ms", "*/rejoining_latency_median_ms"),
        *("*/rejoining_tps", "*/err_*_n", "*/reads_on_*_failed_n", "*/ist_writesets_n"),
        # How long a server takes to start, after which its joining begins.
        *("*/restart_total_s", "*/rejoin_*_s", "*/rejoining_seconds_s", "*/ist_begins_*"),
        *("*/link_open_after_back_s", "*/declared_online_after_back_s", "*/add_node_*"),
        *("*/joined_after_back_s", "*/victim_recovering_*", "*/stall_after_heal_begins_s"),
    ],
    # Multiples of timers: chance decides how many.
    "distributions": [
        *("*/stall_survivors_while_rejoining_s", "*/stall_survivors_after_heal_s"),
        *("*/rejoining_longest_gap_s", "*/rejoining_latency_max_ms"),
        "*/primary_view_after_connect_s",
    ],
}
_OF_PRODUCTS: Mapping[str, Mapping[str, Sequence[str]]] = {
    # As in the datasets group-replication-failures and semisync-failures, made by other scripts.
    "group_replication": {
        # Commits a second, and how long they take, while slots of a silent member are filled.
        "slow_phases": [
            *("degraded_tps", "degraded_latency_median_ms", "joining_tps"),
            *("joining_latency_median_ms", "slow_phase_*", "tput_while_stopped_tps"),
            *("tput_first_4s_of_silence_tps", "mean_latency_first_4s_ms"),
        ],
        "processors": [
            *("after_removal_tps", "after_removal_latency_median_ms", "err_*_1290_max_wait_s"),
            *("err_*_2003_connect_*_s", "err_*_2013_*_s", "err_*_1290_first_after_inject_s"),
            *("joining_seconds_s", "max_read_latency_new_primary_s"),
        ],
        "distributions": [
            *("joining_latency_max_ms", "joining_longest_gap_s", "victim_state_error_*"),
            *("victim_learns_it_was_expelled_*", "first_autorejoin_after_heal_s"),
        ],
    },
    "semisync": {
        "processors": [
            *("async_fallback_*", "waiting_on_again_after_restart_or_heal_s"),
            *("waiting_on_with_2_clients_after_restart_s", "old_source_restart_s"),
        ],
    },
}
_KILLED_MEMBER = ("after_removal_latency_max_ms", "after_removal_longest_gap_s")
"""Of a group: decided by processors, where no redial to a silent host holds everybody up."""


def failures_table(cells: Sequence[Cell]) -> dict[str, Any]:
    """The ``[failures]`` of a dataset, from the first cell of each system and load."""
    started = [
        f"{series_name(cell)} */first_declaring_stable_on_{cell.node_names[place]}_s"
        for cell in cells
        for fault in cell.load.fault
        if fault.what == "restart"
        for place in fault.struck(cell.node_names, cell.node_names)
    ]
    found = {**_FAILURES, "processors": [*_FAILURES["processors"], *started]}
    for cell in cells:
        own = {kind: [*names] for kind, names in _OF_PRODUCTS.get(cell.product, {}).items()}
        dies = any(fault.what == "kill" for fault in cell.load.fault)
        if cell.product == "group_replication" and dies:
            own["processors"] += _KILLED_MEMBER
        for kind, names in own.items():
            patterns = [f"{series_name(cell)} */{name}" for name in names]
            found[kind] = [*found.get(kind, ()), *patterns]
    return found


def by_chance(cell: Cell, metrics: Iterable[str]) -> set[str]:
    """Figures of which chance decides how many periods of a timer they last: they have modes."""
    patterns = failures_table([cell])["distributions"]
    series = series_name(cell)
    return {
        metric
        for metric in metrics
        if any(fnmatchcase(f"{series} /{metric}", pattern) for pattern in patterns)
    }
