"""Show that ``group-replication-overview`` has the values that it had as a dataset of curves.

``git show 5e11d09:docs/validation/group-replication-overview.json >old.json`` and then
``python docs/compare_overview.py old.json`` compare the results in the format before derived
metrics with those of today, number by number. Names of keys are all that may differ.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["differences"]

TODAY = Path(__file__).parent / "validation" / "group-replication-overview.json"
SAME = ("dataset", "title", "source", "seed", "replications", "complete", "versions")

Content = Mapping[str, Any]


def differences(old: Content, new: Content) -> Iterator[str]:
    """What is not the same in the results of curves and in those of derived metrics."""
    axis = old["axis"]
    points = [
        {
            "factors": {**point["factors"], axis: point["x"]},
            "throughput_tps": point["throughput_tps"],
            "latency_s": point["latency_s"],
        }
        for point in old["points"]
    ]
    pairs = {
        **{name: (old[name], new[name]) for name in SAME},
        "rows": (old["rows"], new["derived"]),
        "summary": (old["summary"], new["derived_summary"]),
        "points": (points, _without_series(new["simulated"])),
        "sustained": (old["sustained"], _without_series(new["sustained"])),
    }
    for name, (before, after) in pairs.items():
        if before != after:
            yield f"{name}: {before} is now {after}"


def _without_series(entries: list[Content]) -> list[Content]:
    return [{name: entry[name] for name in entry if name != "series"} for entry in entries]


def main() -> None:
    """Compare a file with what is stored; end with 1 if they differ."""
    old = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    new = json.loads(TODAY.read_text(encoding="utf-8"))
    found = list(differences(old, new))
    counts = f"{len(old['rows'])} rows, {len(old['points'])} points, {len(old['sustained'])} rates"
    text = "\n".join(found) or f"The same values: {counts}, and the summary."
    sys.stdout.write(f"{text}\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
