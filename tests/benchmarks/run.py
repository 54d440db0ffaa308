"""How fast simrep is: ``make benchmark``, one table.

CPU per transaction of every product, by round trip and threads; by number of nodes; of Galera and
of its twin in plain SimPy (naive.py); of the simplest queue in both. Beside each the same in commit
5e11d09, which is taken from the history of the repository, and in what ``--beside`` names. CPU
seconds differ by a third from run to run on a machine with other work: versions run in turn, and
the ratio is the median of the ratios of these pairs. Events and calls are counted; they are exact.

    make benchmark PAIRS=20 WRITE=1

writes results.json, which the page on speed shows (docs/generate_speed.py). Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import Any

if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from tests.benchmarks.cases import GROUPS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RESULTS = HERE / "results.json"
BEFORE = "5e11d09"
THIS = "simrep"

Measured = dict[str, dict[str, float]]
"""By case, and then by what was measured."""


@dataclass(frozen=True, slots=True)
class Version:
    """A simrep to measure: an interpreter, and the folder where it finds the package.

    The package of an interpreter without a folder is the one that is installed for it.
    """

    name: str
    python: str = sys.executable
    folder: Path | None = None

    def has(self, group: str) -> bool:
        """Whether there is something to measure: the queue of 5e11d09 was another module."""
        return self.name != BEFORE or group != "queue"

    def run(self, group: str, *options: str) -> Measured:
        """Measure a group in a process of its own."""
        environment = {**os.environ, "PYTHONPATH": str(self.folder or "")}
        command = [self.python, str(HERE / "cases.py"), group, *options]
        done = subprocess.run(
            command, env=environment, cwd=HERE, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{self.name}, {group}:\n{done.stderr}")
        measured: Measured = json.loads(done.stdout.splitlines()[-1])
        return measured


def version_beside(text: str) -> Version:
    """``NAME=PYTHON`` or ``NAME=FOLDER``."""
    name, _, where = text.partition("=")
    place = Path(where).absolute()
    if not name or not place.exists():
        raise SystemExit(f"--beside {text}: NAME=PYTHON or NAME=FOLDER of what exists")
    return Version(name, folder=place) if place.is_dir() else Version(name, str(place))


def version_before() -> Version | None:
    """What the history of the repository holds, unpacked into build/; None without a history."""
    folder = ROOT / "build" / BEFORE
    if not folder.exists():
        packed = subprocess.run(
            ["git", "-C", ROOT, "archive", BEFORE], capture_output=True, check=False
        )
        if packed.returncode:
            print(f"nothing beside it: the history of this folder has no commit {BEFORE}")
            return None
        with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
            archive.extractall(folder, filter="tar")
    return Version(BEFORE, folder=folder)


def in_turn(
    versions: list[Version], groups: list[str], pairs: int
) -> Iterator[tuple[str, str, Measured]]:
    """Group, version and times; the order of the versions is turned round every other time."""
    for number in range(pairs):
        for group in groups:
            for version in versions[:: -1 if number % 2 else 1]:
                if not version.has(group):
                    continue
                print(f"\r{number + 1}/{pairs} {group:<20}{version.name:<12}", end="", flush=True)
                yield group, version.name, version.run(group)
    print("\r" + " " * 48, end="\r")


def measured(versions: list[Version], groups: list[str], pairs: int) -> list[dict[str, Any]]:
    """A row per case."""
    times: dict[tuple[str, str], dict[str, list[float]]] = {}
    committed: dict[tuple[str, str], float] = {}
    for group, name, found in in_turn(versions, groups, pairs):
        for case, one in found.items():
            times.setdefault((group, case), {}).setdefault(name, []).append(one["cpu_us"])
            committed[group, case] = one["committed"]
    work = {
        version.name: {
            group: version.run(group, "--count") for group in groups if version.has(group)
        }
        for version in versions
        if version.folder is not None  # in compiled ones no call is seen, and events are the same
    }
    rows = []
    for (group, case), by_version in times.items():
        row: dict[str, Any] = {"group": group, "case": case, "committed": committed[group, case]}
        for name, cpu_us in by_version.items():
            row[name] = {"cpu_us": round(median(cpu_us), 2)}
            if name in work:
                counts = work[name][group][case]
                row[name] |= {of: round(number, 2) for of, number in counts.items()}
            if BEFORE in by_version and name != BEFORE:
                ratios = [b / a for a, b in zip(cpu_us, by_version[BEFORE], strict=True)]
                row[name]["times_faster"] = round(median(ratios), 2)
        rows.append(row)
    return rows


def table(rows: list[dict[str, Any]], names: list[str]) -> str:
    """All of it: microseconds of CPU per transaction, events, calls, and the ratio."""
    head = f"{'':<30}" + "".join(f"{name:>10}{'events':>8}{'calls':>8}{'':>7}" for name in names)
    lines = [head.rstrip()]
    group = ""
    for row in rows:
        if row["group"] != group:
            group = row["group"]
            lines += ["", group]
        cells = ""
        for one in (row.get(name) for name in names):
            if one is None:
                cells += " " * 33
                continue
            counts = [f"{one[of]:.1f}" if one.get(of) else "" for of in ("events", "calls")]
            ratio = f"x {one['times_faster']:.2f}" if "times_faster" in one else ""
            cells += f"{one['cpu_us']:>7.1f} us{counts[0]:>8}{counts[1]:>8}{ratio:>7}"
        lines.append(f"  {row['case']:<28}{cells}".rstrip())
    return "\n".join(lines)


def processor() -> str:
    """What the kernel says of it."""
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text(encoding="utf-8").splitlines() if cpus.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} cores of {names[0]}" if names else platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", help=f"of {', '.join(GROUPS)}; default: all")
    parser.add_argument("--pairs", type=int, default=3, help="how often each runs; default: 3")
    parser.add_argument(
        "--beside",
        action="append",
        default=[],
        metavar="NAME=PLACE",
        help="another simrep: an interpreter that has it installed, or a folder with its source",
    )
    parser.add_argument("--write", action="store_true", help=f"keep them: {RESULTS.name}")
    given = parser.parse_args()
    groups = [group for group in GROUPS if not given.groups or group in given.groups]
    before = version_before()
    versions = [Version(THIS, folder=ROOT), *([before] if before else [])]
    versions += map(version_beside, given.beside)
    rows = measured(versions, groups, given.pairs)
    print(table(rows, [version.name for version in versions]))
    if given.write:
        about = {
            "python": platform.python_version(),
            "machine": processor(),
            "pairs": given.pairs,
            "versions": [version.name for version in versions],
        }
        RESULTS.write_text(json.dumps({"about": about, "cases": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
