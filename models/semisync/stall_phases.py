"""What a stall of a source consists of, from what it and its replicas noted."""

from __future__ import annotations

from collections.abc import Sequence

from simrep.modelling import Noted, StallPhase

from .options import SemisyncOptions

__all__ = ["stall_phases"]

_MS = 1e-3
_ROUNDING_S = 1e-9


def stall_phases(
    noted: Sequence[Noted],
    names: Sequence[str],
    options: SemisyncOptions,
    from_s: float,
    until_s: float,
) -> list[StallPhase]:
    """The phases of a stall that a timeout ended; see ``Model.stall_phases``.

    The oldest commit that waits decides: the stall before it is that until the next commit.

    References
    ----------
    plugin/semisync/semisync_source.cc of MySQL 9, commitTrx.
    """
    off = next(
        (line for line in noted if line.what == "async" and from_s < line.at_s <= until_s), None
    )
    if off is None:
        return []
    name = names[off.node]
    timeout_s = options.timeout * _MS
    began_s = max(from_s, off.at_s - timeout_s)
    phases = []
    if began_s > from_s + _ROUNDING_S:
        why = f"{name} has nothing to wait for"
        phases.append(StallPhase("before the next commit", began_s - from_s, why))
    if off.at_s > began_s + _ROUNDING_S and off.at_s - began_s >= timeout_s - _ROUNDING_S:
        why = f"{name} hears no acknowledgement; then it waits for none any more"
        phases.append(StallPhase("rpl_semi_sync_source_timeout", timeout_s, why))
    elif off.at_s > began_s + _ROUNDING_S:
        why = f"too few replicas are connected to {name} (rpl_semi_sync_source_wait_no_replica)"
        phases.append(StallPhase("dump threads end", off.at_s - began_s, why))
    return phases
