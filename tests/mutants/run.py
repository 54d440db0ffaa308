"""Runs the mutants: which deliberate faults in the source do the tests notice?

``python tests/mutants/run.py [--jobs 2] [--only NUMBER ...]``, or ``make mutants``. The checkout is
not touched: every job works in a copy of it. Tests run in the same interpreter's environment.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = Path(__file__).with_name("mutants.toml")
SURVIVORS = Path(__file__).with_name("survivors.md")
COPIED = ("simrep", "models", "validation", "tests", "pyproject.toml")
LONGEST_S = 600.0  # tests that take longer with a mutant have noticed it: something hangs

SURVIVED, KILLED = 0, 1  # exit codes of pytest


@dataclass(frozen=True)
class Mutant:
    """One replacement of a text that occurs once in one file, and the tests to be asked."""

    number: int
    path: str
    breaks: str
    old: str
    new: str
    tests: tuple[str, ...]

    def mutated(self, root: Path) -> str:
        """The text of the file with the fault in it."""
        text = (root / self.path).read_text(encoding="utf-8")
        found = text.count(self.old)
        if found != 1:
            raise ValueError(
                f"mutant {self.number} ({self.breaks}): {self.path} has its text {found} times, "
                "and must have it once"
            )
        return text.replace(self.old, self.new)


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant; ``by`` is the test that has noticed it."""

    mutant: Mutant
    killed: bool
    by: str
    seconds: float


def read() -> tuple[list[Mutant], int]:
    """All mutants, and how many of them must be killed."""
    content = tomllib.loads(MUTANTS.read_text(encoding="utf-8"))
    mutants = [
        Mutant(
            number,
            content["files"][entry["file"]],
            entry["breaks"],
            entry["old"],
            entry["new"],
            tuple(content["tests"][entry["tests"]]),
        )
        for number, entry in enumerate(content["mutant"], start=1)
    ]
    return mutants, content["at_least_killed"]


def copy_of(root: Path, into: Path) -> Path:
    """A copy of what the tests need, without compiled files."""
    into.mkdir()
    for name in COPIED:
        if (root / name).is_dir():
            unwanted = shutil.ignore_patterns("__pycache__")
            shutil.copytree(root / name, into / name, symlinks=True, ignore=unwanted)
        else:
            shutil.copy(root / name, into)
    return into


@contextmanager
def applied(mutant: Mutant, tree: Path) -> Iterator[None]:
    """The copy has the fault for a while."""
    path = tree / mutant.path
    compiled = Path(cache_from_source(str(path)))
    sound, mutated = path.read_text(encoding="utf-8"), mutant.mutated(tree)
    try:
        # A file that was compiled in the same second is taken to be up to date.
        compiled.unlink(missing_ok=True)
        path.write_text(mutated, encoding="utf-8")
        yield
    finally:
        compiled.unlink(missing_ok=True)
        path.write_text(sound, encoding="utf-8")


def run_tests(tree: Path, tests: Sequence[str]) -> tuple[int, str]:
    """The exit code of pytest in a copy, and the test that failed."""
    options = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=mutants"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    environment = os.environ | {"PYTHONPATH": str(tree)}
    with subprocess.Popen(
        command,
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return KILLED, f"did not end within {LONGEST_S:.0f} s"
    failed = [line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if process.returncode not in {SURVIVED, KILLED}:
        raise SystemExit(f"the tests could not be run: {' '.join(tests)}\n{output}")
    return process.returncode, failed[0].split(" - ")[0].split(" ", 1)[1] if failed else ""


def judge(mutant: Mutant, tree: Path) -> Verdict:
    """Ask the tests about one mutant."""
    begin = time.monotonic()
    with applied(mutant, tree):
        code, by = run_tests(tree, mutant.tests)
    return Verdict(mutant, code != SURVIVED, by, time.monotonic() - begin)


def check_sound(tree: Path, mutants: Sequence[Mutant]) -> None:
    """Without any mutant the tests pass, else they prove nothing."""
    for tests in dict.fromkeys(mutant.tests for mutant in mutants):
        code, by = run_tests(tree, tests)
        if code != SURVIVED:
            raise SystemExit(f"{by} fails without any mutant")


def survivors(verdicts: Sequence[Verdict]) -> str:
    """The page that lists them."""
    alive = [verdict.mutant for verdict in verdicts if not verdict.killed]
    lines = [
        "# Mutants that no test notices",
        "",
        "Written by `make mutants`; the mutants are in `mutants.toml`.",
        f"Of {len(verdicts)} mutants {len(verdicts) - len(alive)} are killed.",
        "",
        *(f"- {mutant.number}, `{mutant.path}`: {mutant.breaks}" for mutant in alive),
        *(["None survives."] if not alive else []),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run mutants, and print what became of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="how many run at the same time")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of mutants, from 1")
    arguments = parser.parse_args()
    mutants, at_least = read()
    chosen = [one for one in mutants if not arguments.only or one.number in arguments.only]
    for mutant in chosen:
        mutant.mutated(ROOT)

    with tempfile.TemporaryDirectory(prefix="simrep-mutants-") as folder:
        trees: SimpleQueue[Path] = SimpleQueue()
        for job in range(arguments.jobs):
            trees.put(copy_of(ROOT, Path(folder) / f"{job}"))
        check_sound(Path(folder) / "0", chosen)

        def verdict_of(mutant: Mutant) -> Verdict:
            tree = trees.get()
            try:
                return judge(mutant, tree)
            finally:
                trees.put(tree)

        verdicts = []
        with ThreadPoolExecutor(arguments.jobs) as pool:
            for verdict in pool.map(verdict_of, chosen):
                fate = f"killed by {verdict.by}" if verdict.killed else "SURVIVES"
                mutant = verdict.mutant
                print(
                    f"{mutant.number:2d} {verdict.seconds:5.0f} s  {mutant.breaks}: {fate}",
                    flush=True,
                )
                verdicts.append(verdict)

    killed = sum(verdict.killed for verdict in verdicts)
    print(f"{killed} of {len(verdicts)} killed")
    if arguments.only:
        return 0
    SURVIVORS.write_text(survivors(verdicts), encoding="utf-8")
    return 0 if killed >= at_least else 1


if __name__ == "__main__":
    sys.exit(main())
