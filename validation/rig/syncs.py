"""Syncs of single servers that take longer, or do not return, where all share one disk.

A small library stands before the C library's ``fsync`` and ``fdatasync`` (``relay/slow_sync.c``),
and looks into a file of the host whenever one is called.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simrep.rig.relays import compiled
from simrep.scenario.faults import FaultTable

if TYPE_CHECKING:
    from simrep.rig.engine import RigHost

__all__ = ["DISK_FAULTS", "let_syncs_wait", "of_disk", "order_syncs", "syncs_at"]

DISK_FAULTS = frozenset({"slow", "disk-stall"})
_LIBRARY, _ORDERS = "slow_sync.so", "slow_sync"
_FORMAT = "<qq"


def of_disk(faults: Sequence[FaultTable]) -> bool:
    """Whether syncs are slowed or stopped."""
    return any(fault.what in DISK_FAULTS for fault in faults)


def let_syncs_wait(host: RigHost) -> None:
    """Servers that are started on the host from now on obey orders."""
    shutil.copy(compiled("slow_sync"), host.outside / _LIBRARY)
    order_syncs(host, 1.0, stalled=False)
    host.wrapper = (
        "env", f"LD_PRELOAD={host.inside}/{_LIBRARY}", f"SIMREP_SYNCS={host.inside}/{_ORDERS}",
    )  # fmt: skip


def order_syncs(host: RigHost, factor: float, *, stalled: bool) -> None:
    """From now on syncs take so many times as long, or none returns."""
    path: Path = host.outside / _ORDERS
    content = struct.pack(_FORMAT, round(1000 * (factor - 1.0)), int(stalled))
    if not path.exists():
        path.write_bytes(content)
        path.chmod(0o644)
        return
    with path.open("r+b") as file:  # servers have it in their memory: it stays the same file
        file.write(content)


def syncs_at(
    faults: Sequence[FaultTable], place: int, count: int, at_s: float
) -> tuple[float, bool]:
    """How many times as long syncs of a node take at a time, and whether none returns."""
    factor, stalled = 1.0, False
    names = [f"n{number}" for number in range(1, count + 1)]
    for fault in faults:
        if fault.what not in DISK_FAULTS or not fault.at_s <= at_s < fault.end_s:
            continue
        if place in fault.struck(names, names):
            factor *= fault.fsync_factor or 1.0
            stalled |= fault.what == "disk-stall"
    return factor, stalled
