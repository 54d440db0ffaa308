"""Cases of bad input, always the same ones: number 17 of scenario never changes its beginning.

A case ends ``ok``, ``refused`` (an error that says so), ``stopped`` (by the guard), or with the
traceback of a fault. What people may give is a scenario, a pack, a dataset, the files of a server,
or the words of a command.
"""

from __future__ import annotations

import json
import os
import tomllib
import traceback
import warnings
from collections.abc import Callable, Mapping
from contextlib import chdir
from functools import cache
from importlib.resources import files
from io import StringIO
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import tomlkit
from rich.console import Console
from typer.testing import CliRunner

import simrep
from simrep.cli import app
from simrep.data.dataset import load_dataset
from simrep.errors import SimrepError
from tests import server_files
from tests.fuzz.guard import OutOfBudgetError, guarded
from tests.fuzz.mutations import changed_tables, changed_text, changed_words
from tests.fuzz.scenarios import MODELS, drawn
from tests.small_dataset import write_dataset
from tests.small_derived import write_derived

__all__ = ["KINDS", "outcome"]

EVENTS = 8_000
CLOCKS = 40
EXIT_CODES = {0, 1, 2, 130}
SCENARIO = """
name = "small"

[cluster]
model = "galera"
nodes = 3

[network]
rtt_ms = 1.0

[workload]
threads = 2

[run]
duration_s = 0.02
"""
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("run", "small.toml"),
    ("run", "small.toml", "--set", "network.rtt_ms=5", "--seed", "3", "--replications", "2"),
    ("run", "small.toml", "--precision", "5%", "--of", "latency_s.p95", "--most", "3"),
    ("run", "small.toml", "--json", "--set", "workload.class=[{rows=3}]"),
    ("run", "small.toml", "--plot", "x.svg"),
    ("sweep", "small.toml", "--over", "workload.threads=1,2", "--jobs", "1", "--no-cache"),
    ("sweep", "small.toml", "--over", "network.rtt_ms=1..9", "--samples", "2", "--jobs", "1"),
    ("compare", "small.toml", "other.toml", "--replications", "2"),
    ("compare", "small.toml", "--set-b", "network.rtt_ms=9", "--replications", "2"),
    ("explain", "small.toml", "--txn", "slowest"),
    ("explain", "small.toml", "--stall"),
    ("explain", "small.toml", "--txn", "p99", "--json"),
    ("explain", "small.toml", "--tail", "5%"),
    ("plan", "small.toml", "rtt", "--within", "1..9", "--objective", "p95<=20ms"),
    ("plan", "small.toml", "clients", "--within", "1..3", "--objective", "tps>=50"),
    ("plan", "small.toml", "appliers", "--tps", "100"),
    ("plan", "small.toml", "gcache", "--outage", "4h", "--replications", "2"),
    ("plan", "small.toml", "transaction", "--longest-stall", "1s"),
    ("plan", "small.toml", "rate", "--replications", "2"),
    ("sensitivity", "small.toml", "--of", "latency_s.p95", "--points", "2", "--repeats", "3"),
    ("reproduce", "data", "--json"),
    ("validate", "data"),
    ("models", "galera"),
    ("models", "--json"),
    ("calibrate", "data", "--series", "galera", "--out", "mine.toml"),
    ("from-server", "--mycnf", "my.cnf", "--status", "a.txt", "--status", "b.txt", "--out", "x"),
    ("from-server", "--mycnf", "my.cnf", "--fsync-us", "2ms", "--rtt-ms", "3", "--out", "x"),
    ("schema",),
)


@cache
def _packs() -> tuple[str, ...]:
    folder = files("simrep.models") / "packs"
    return tuple(
        one.read_text(encoding="utf-8")
        for one in sorted(folder.iterdir(), key=lambda one: one.name)
        if one.name.endswith(".toml")
    )


def _show(result: simrep.Result) -> None:
    """Everything that can be said of a result."""
    json.dumps(result.to_dict(), allow_nan=False)
    Console(file=StringIO(), width=80).print(result.tables())
    result._repr_html_()


def _written(content: Any) -> str:
    """As TOML, as far as TOML can hold it."""
    return tomlkit.dumps(content)


def _changes(random: Random) -> int:
    return random.choice((1, 1, 1, 1, 2, 4))


def _scenario(random: Random, number: int, folder: Path) -> None:
    content = drawn(MODELS[number % len(MODELS)], number)
    other = drawn(MODELS[random.randrange(len(MODELS))], number + 1)
    if random.random() < 0.2:
        try:
            text = _written(content)
        except (TypeError, ValueError):
            text = SCENARIO
        text = changed_text(random, text, changes=_changes(random))
        (folder / "fuzzed.toml").write_text(text, encoding="utf-8", errors="replace")
        _show(simrep.run(folder / "fuzzed.toml"))
        return
    _show(simrep.run(changed_tables(random, content, other, changes=_changes(random))))


def _pack(random: Random, number: int, folder: Path) -> None:
    text = random.choice(_packs())
    if random.random() < 0.7:
        content = tomllib.loads(text)
        model = content["pack"]["model"]
        other = tomllib.loads(random.choice(_packs()))
        changed_tables(random, content, other, changes=_changes(random))
        try:
            text = _written(content)
        except Exception:  # noqa: BLE001 - what TOML cannot hold is nothing that a file gives
            raise SimrepError("no TOML") from None
    else:
        model = tomllib.loads(text)["pack"]["model"]
        text = changed_text(random, text, changes=_changes(random))
    (folder / "fuzzed.toml").write_text(text, encoding="utf-8", errors="replace")
    scenario = drawn(random.choice((model, *MODELS)) if number % 3 else model, number)
    scenario["cluster"]["pack"] = str(folder / "fuzzed.toml")
    _show(simrep.run(scenario))


def _dataset(random: Random, number: int, folder: Path) -> None:
    place = folder / "data"
    if number % 3:
        write_dataset(place)
    else:
        write_derived(place)
    for file in random.sample(sorted(place.iterdir()), random.choice((1, 1, 2))):
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".toml" and random.random() < 0.7:
            content = tomllib.loads(text)
            other = tomllib.loads(random.choice((SCENARIO, text)))
            changed_tables(random, content, other, changes=_changes(random))
            try:
                text = _written(content)
            except Exception:  # noqa: BLE001 - what TOML cannot hold is nothing that a file gives
                raise SimrepError("no TOML") from None
        else:
            text = changed_text(random, text, changes=_changes(random))
        file.write_text(text, encoding="utf-8", errors="replace")
    dataset = load_dataset(str(place))
    found = simrep.reproduce(dataset)
    json.dumps(found.to_dict(), allow_nan=False)
    Console(file=StringIO(), width=80).print(found.tables())


def _server_texts() -> dict[str, str]:
    tables: Mapping[str, Mapping[str, str]] = {
        "a.txt": server_files.GALERA_BEFORE,
        "b.txt": server_files.GALERA_AFTER,
    }
    return {
        "my.cnf": server_files.GALERA_CNF,
        "sysbench.txt": server_files.SYSBENCH,
        **{name: server_files.as_box(values) for name, values in tables.items()},
    }


def _server(random: Random, number: int, folder: Path) -> None:
    texts = _server_texts()
    if number % 2:
        known = (server_files.SEMISYNC_BEFORE, server_files.SEMISYNC_AFTER)
        form = random.choice((server_files.as_box, server_files.as_batch, server_files.as_vertical))
        texts |= dict(zip(("a.txt", "b.txt"), map(form, known), strict=True))
    for name in random.sample(sorted(texts), random.choice((1, 1, 2))):
        texts[name] = changed_text(random, texts[name], changes=_changes(random))
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", errors="replace")
    words = ["from-server", "--mycnf", "my.cnf", "--status", "a.txt", "--status", "b.txt"]
    if random.random() < 0.1:
        words += ["--sysbench", "sysbench.txt"]
    with chdir(folder):
        done = _command([*words, "--out", "mine"])
        if not done:
            written = tomllib.loads((folder / "mine.toml").read_text(encoding="utf-8"))
            written.setdefault("run", {})["duration_s"] = 0.01
            scenario = simrep.load(folder / "mine.toml")
            _show(simrep.run(scenario.replace({"run.duration_s": 0.01, "run.warmup_s": 0.0})))
    if done:
        raise SimrepError(f"exit code {done}")


def _words(random: Random, number: int, folder: Path) -> None:
    write_dataset(folder / "data")
    for name, text in _server_texts().items():
        (folder / name).write_text(text, encoding="utf-8")
    small = SCENARIO
    if random.random() < 0.5:
        small = _written(drawn(random.choice(MODELS), number))
    (folder / "small.toml").write_text(small, encoding="utf-8")
    (folder / "other.toml").write_text(SCENARIO.replace("1.0", "3.0"), encoding="utf-8")
    words = COMMANDS[number % len(COMMANDS)]
    given = changed_words(random, words, changes=random.choice((0, 1, 1, 2, 3)))
    with chdir(folder):
        done = _command(given)
    if done:
        raise SimrepError(f"exit code {done}")


def _command(words: list[str]) -> int:
    """What a command exits with; whatever else it ends with is raised."""
    shown = CliRunner().invoke(app, words)
    if shown.exception is not None and not isinstance(shown.exception, SystemExit):
        raise shown.exception
    if shown.exit_code not in EXIT_CODES or "Traceback" in shown.output:
        raise AssertionError(f"{words} ends with {shown.exit_code}:\n{shown.output[-2000:]}")
    if shown.exit_code and not shown.output.strip():
        raise AssertionError(f"{words} ends with {shown.exit_code} and no word")
    return shown.exit_code


KINDS: Mapping[str, Callable[[Random, int, Path], None]] = {
    "scenario": _scenario,
    "pack": _pack,
    "dataset": _dataset,
    "server": _server,
    "words": _words,
}


def outcome(kind: str, number: int) -> str:
    """How a case ends: ``ok``, ``refused``, ``stopped``, or the traceback of a fault."""
    random = Random(f"{kind}/{number}")
    with TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(place) / "inner"
        folder.mkdir()
        home = patch.dict(os.environ, {"HOME": place, "XDG_CACHE_HOME": place})
        try:
            with home, guarded(events=EVENTS, clocks=CLOCKS):
                KINDS[kind](random, number, folder)
        except SimrepError:
            return "refused"
        except OutOfBudgetError:
            return "stopped"
        except Exception:  # noqa: BLE001 - whatever it is, it is a fault
            return traceback.format_exc()
    return "ok"
