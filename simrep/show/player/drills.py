"""A page that plays the faults of a drill: of each, the replication with the median RTO."""

from __future__ import annotations

from pathlib import Path

from simrep.errors import SimrepError
from simrep.runs.progress import told, work_expected
from simrep.show.player.document import document
from simrep.show.player.page import Player
from simrep.show.views import player
from simrep.whatif.drill.cell import rehearsal
from simrep.whatif.drill.result import Drill, DrillCell
from simrep.why.recording import MOST, recorded

__all__ = ["drill_player"]

_ALL, _LEAST = 2 * MOST, 12_000
"""Messages and steps of all runs of a page together, and of each at least."""


@player.register(Drill)
def drill_player(found: Drill, path: str | Path | None = None) -> Player:
    """A page with a run for each fault in each setting that was played.

    Raises
    ------
    SimrepError
        If none was.
    """
    cells = [cell for cell in found.cells if cell.outcomes and cell.case is not None]
    if not cells:
        raise SimrepError("no fault of the drill was played: there is nothing to watch")
    names = [_name(cell) for cell in cells]
    made = Player(_documents(found, cells, names), names)
    if path is not None:
        made.save(path)
    return made


@told
def _documents(found: Drill, cells: list[DrillCell], names: list[str]) -> list[dict[str, object]]:
    work_expected(len(cells))
    most = max(_LEAST, _ALL // len(cells))
    documents = []
    for cell, name in zip(cells, names, strict=True):
        assert cell.case is not None
        setup, play = rehearsal(cell.case, found.seed, cell.typical)
        content = document(recorded(play, setup, most=most))
        documents.append(content | {"title": f"{found.name}: {name}" if found.name else name})
    return documents


def _name(cell: DrillCell) -> str:
    labels = ", ".join(map(str, cell.labels.values()))
    return f"{cell.fault.name} ({labels})" if labels else cell.fault.name
