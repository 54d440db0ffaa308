"""Files that are written: whole or not at all, and a clear error where they cannot be."""

from __future__ import annotations

import ast
import errno
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.models import OptionInfo
from typer.testing import CliRunner

import simrep
from simrep import files
from simrep.cli import app
from simrep.cli.arguments import path_in
from simrep.errors import CacheWarning, ScenarioError, SimrepError, WriteError
from simrep.files import check_writable, whole_file, whole_text, write_text
from simrep.show.plot.why import film
from tests.unit.test_cli import DATASET, SCENARIO
from tests.unit.test_sweep_cli import OVER

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")

FILE = "mycnf.txt"
LASTING = """
[cluster]
model = "standalone"
nodes = 1
[workload]
threads = 2
think_time_ms = 100
[run]
duration_s = 5
"""
WRITERS = {
    ("run", "--plot"): ("cluster.toml",),
    ("run", "--plot-nodes"): ("cluster.toml",),
    ("run", "--plot-stale"): ("cluster.toml", "--set", "workload.class.0.reads=1"),
    ("run", "--log"): ("cluster.toml",),
    ("drill", "--plot"): ("drill.toml", "--fault", "slow disk writer", "--replications", "1"),
    ("drill", "--out"): ("drill.toml", "--fault", "slow disk writer", "--replications", "1"),
    ("drill", "--html"): ("drill.toml", "--fault", "slow disk writer", "--replications", "1"),
    ("sweep", "--plot"): ("cluster.toml", "--over", "network.rtt_ms=1,2", "--jobs", "1"),
    ("sweep", "--out"): ("cluster.toml", "--over", "network.rtt_ms=1,2", "--jobs", "1"),
    ("compare", "--plot"): ("cluster.toml", "--set-b", "network.rtt_ms=2", "--of", "makespan_s"),
    ("explain", "--plot"): ("cluster.toml",),
    ("explain", "--trace"): ("cluster.toml",),
    ("explain", "--film"): ("cluster.toml",),
    ("explain", "--html"): ("cluster.toml",),
    ("sensitivity", "--plot"): (
        *("cluster.toml", "--over", "network.rtt_ms=1..2", "--of", "makespan_s"),
        *("--points", "2", "--repeats", "3"),
    ),
    ("plan", "--plot"): ("cluster.toml", "rtt", "--objective", "mean<=9ms", "--within", "1..9"),
    ("plan", "--out"): ("cluster.toml", "rtt", "--objective", "mean<=9ms", "--within", "1..9"),
    ("reproduce", "--plot"): (".",),
    ("validate", "--plot"): (".",),
    ("calibrate", "--out"): (".",),
    ("from-server", "--out"): ("--mycnf", FILE),
    ("rig predict", "--out"): ("galera-crash",),
}
"""Options that write a file, with the rest of a command line that does."""

ENDINGS = {"--plot": ".svg", "--plot-nodes": ".svg", "--plot-stale": ".svg", "--log": ".csv",
           "--trace": ".json", "--film": ".html", "--html": ".html"}  # fmt: skip
READ = {"--mycnf", "--status", "--variables", "--sysbench", "--beside", "--rtts", "--prices",
        "--predicted"}  # fmt: skip
NOT_FILES = {("sweep", "--cache"), ("drill", "--cache"), ("rig measure", "--out")}
"""Folders. A cache that cannot be written costs a warning."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cluster.toml").write_text(SCENARIO)
    (tmp_path / "drill.toml").write_text(LASTING)
    (tmp_path / "dataset.toml").write_text(DATASET)
    (tmp_path / "data.csv").write_text("threads,rtt_ms,seconds\n1,1,0.1\n2,1,0.05\n")
    (tmp_path / FILE).write_text("[mysqld]\nserver_id = 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIMREP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "300")
    return tmp_path


def ending(command: str, option: str) -> str:
    of_out = {"calibrate": ".toml", "sweep": ".csv", "plan": ".csv", "drill": ".csv"}
    return of_out.get(command, "") if option == "--out" else ENDINGS[option]


def called(command: str, option: str, path: str) -> Any:
    return CliRunner().invoke(app, [*command.split(), *WRITERS[command, option], option, path])


def content_of(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if "cache" not in path.parts
    }


def commands(group: typer.Typer, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for command in group.registered_commands:
        name = command.name or command.callback.__name__.replace("_", "-")
        yield f"{prefix}{name}", command.callback
    for inner in group.registered_groups:
        assert inner.typer_instance is not None
        yield from commands(inner.typer_instance, f"{inner.typer_instance.info.name} ")


def refuse(error: int) -> Any:
    def refused(*_: Any, **__: Any) -> Any:
        raise OSError(error, os.strerror(error))

    return refused


# ----------------------------------------------------------- every command --


def test_every_option_that_writes_is_tried_here() -> None:
    """A path that is read is of another type: it may be what a shell makes of nothing."""
    writing = set()
    for name, command in commands(app):
        for parameter in inspect.signature(command, eval_str=True).parameters.values():
            [declared] = getattr(parameter.annotation, "__metadata__", [None])
            if not isinstance(declared, OptionInfo):
                continue
            option = (declared.param_decls or [f"--{parameter.name.replace('_', '-')}"])[0]
            if declared.parser is path_in:
                writing.add((name, option))
            elif "Path" in str(parameter.annotation.__origin__):
                assert option in READ, f"{name} {option} names what it writes with path_in"
    writing = {
        (name.partition(" ")[0] if "plan " in name else name, word) for name, word in writing
    }
    assert writing == set(WRITERS) | NOT_FILES  # questions of plan share theirs


@pytest.mark.parametrize(("command", "option"), WRITERS)
def test_a_place_that_cannot_be_written_is_told_before_the_work(
    command: str, option: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end, before = ending(command, option), content_of(folder)
    places = {
        "/proc/new": None,
        "read only": ("tempfile.mkstemp", errno.EROFS),
        "no space": ("os.write", errno.ENOSPC),
    }
    for place, broken in places.items():
        with monkeypatch.context() as patch:
            if broken is not None:
                patch.setattr(f"simrep.files.{broken[0]}", refuse(broken[1]))
            done = called(command, option, place + end)
        assert done.exit_code == 1, (place, done.output)
        assert done.stdout == ""
        assert f"Error: cannot write '{place}" in done.stderr
        assert content_of(folder) == before


@pytest.mark.parametrize(("command", "option"), WRITERS)
def test_a_folder_a_name_in_no_folder_and_no_name_are_wrong_usage(
    command: str, option: str, folder: Path
) -> None:
    end, before = ending(command, option), content_of(folder)
    for path in ("/", "", f"nowhere/new{end}"):
        done = called(command, option, path)
        assert done.exit_code == 2, (path, done.output)
        assert option in done.stderr
        assert content_of(folder) == before


@needs_full
@pytest.mark.parametrize(
    ("command", "option"),
    [pair for pair in WRITERS if pair[0] not in {"from-server", "rig predict"}],
)
def test_a_disk_that_is_full_at_the_end_of_the_work_is_told(
    command: str, option: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(film, "_MOST", 2)  # pictures
    link = folder / f"full{ending(command, option)}"
    link.symlink_to(FULL)
    done = called(command, option, link.name)
    assert done.exit_code == 1, done.output
    assert f"Error: cannot write '{link.name}': No space left on device" in done.stderr
    assert link.is_symlink()
    assert FULL.is_char_device()


def test_of_two_files_neither_is_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = content_of(folder)
    monkeypatch.setattr("simrep.cli.from_server.write_text", refuse(errno.ENOSPC))
    done = called("from-server", "--out", "mine")
    assert done.exit_code == 1
    assert "cannot write" in done.stderr
    assert content_of(folder) == before


@needs_full
@pytest.mark.parametrize("words", [("run", "cluster.toml"), ("--help",)])
def test_what_is_printed_must_be_written_too(words: tuple[str, ...], folder: Path) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "simrep", *words],
            cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "ignored" not in done.stderr


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="no such device")
def test_a_device_is_written_to_and_stays(folder: Path) -> None:
    def run(**how: Any) -> subprocess.CompletedProcess[str]:
        words = ["run", "cluster.toml", "--json", "--log", "/dev/stdout"]
        return subprocess.run(
            [sys.executable, "-m", "simrep", *words], cwd=folder, text=True, check=True, **how
        )

    piped = run(stdout=subprocess.PIPE).stdout
    with (folder / "both.txt").open("w") as file:
        run(stdout=file)
    for text in (piped, (folder / "both.txt").read_text()):
        rows, _, result = text.partition("{")
        assert rows.startswith("replication,started_s")
        assert json.loads("{" + result)["replications"] == 1
    assert Path("/dev/stdout").is_symlink()


# --------------------------------------------------------------- the cache --


@pytest.mark.filterwarnings("always::simrep.errors.CacheWarning")
@pytest.mark.parametrize("cache", ["cluster.toml", "/proc/cache"])
def test_a_cache_that_cannot_be_written_costs_a_warning(cache: str, folder: Path) -> None:
    done = CliRunner().invoke(
        app, ["sweep", *WRITERS["sweep", "--out"], "--cache", cache, "--out", "points.csv"]
    )
    assert done.exit_code == 0, done.output
    assert done.stderr.count("Warning: cannot write") == 1
    assert "finished points are not kept" in done.stderr
    assert "2 points simulated, 0 known already" in done.stderr
    assert len((folder / "points.csv").read_text().splitlines()) == 3
    assert (folder / "cluster.toml").read_text() == SCENARIO


def test_a_disk_that_fills_up_during_a_sweep_costs_a_warning(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, calls = files.write_text, []

    def once(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) > 1:
            raise WriteError("cannot write 'there': No space left on device")
        write(*arguments)

    over = {"network.rtt_ms": [1, 2, 4]}
    monkeypatch.setattr("simrep.whatif.cache.write_text", once)
    with pytest.warns(CacheWarning, match="No space") as told:
        found = simrep.sweep("cluster.toml", over, cache=folder / "own")
    monkeypatch.setattr("simrep.whatif.cache.write_text", write)
    assert (len(found.points), len(told), len(calls)) == (3, 1, 2)
    assert simrep.sweep("cluster.toml", over, cache=folder / "own").computed == 2


def test_a_cache_without_a_name_is_refused(folder: Path) -> None:
    with pytest.raises(ScenarioError, match="cache: is empty"):
        simrep.sweep("cluster.toml", {"network.rtt_ms": [1]}, cache="")
    done = CliRunner().invoke(app, ["sweep", "cluster.toml", *OVER, "--cache", ""])
    assert (done.exit_code, "--cache" in done.stderr) == (2, True)


def test_a_user_without_a_home_gets_a_warning(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", home)
    for name in ("SIMREP_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.warns(CacheWarning, match="there is no home folder"):
        assert simrep.sweep("cluster.toml", {"network.rtt_ms": [1]}, cache=True).computed == 1


# --------------------------------------------------------------- one writer --


def test_nothing_else_opens_files_to_write() -> None:
    """The rig apart, which writes for its servers in folders of its own; and answers by pipes."""
    root = Path(simrep.__file__).parent
    paths = {path for part in (root, root / "models") for path in part.rglob("*.py")}
    others = [
        f"{path.relative_to(root)}:{node.lineno}"
        for path in sorted(paths)
        if path.relative_to(root).parts[0] not in {"files.py", "rig", "datasets"}
        and path.name != "worker.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and writes(node)
    ]
    assert not others


def writes(call: ast.Call) -> bool:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name in {"open", "fdopen"}:
        words = [*call.args, *(keyword.value for keyword in call.keywords)]
        modes = [word.value for word in words if isinstance(word, ast.Constant)]
        return any(set(mode) & set("wax") for mode in modes if isinstance(mode, str))
    return isinstance(call.func, ast.Attribute) and name in {"write_text", "write_bytes"}


def test_a_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "rows.csv"
    target.write_text("old")

    def leave_in_the_middle() -> None:
        with whole_text(target) as file:
            file.write("half")
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        leave_in_the_middle()
    assert content_of(tmp_path) == {"rows.csv": b"old"}
    elsewhere = tmp_path / "open elsewhere"
    elsewhere.hardlink_to(target)
    target.chmod(0o640)
    write_text(target, "new")
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640
    assert elsewhere.read_text() == "old"  # replaced, and not written over


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    link = tmp_path / "link"
    link.symlink_to("inner/file")
    for text in ("first", "second"):
        write_text(link, text)
        assert link.is_symlink()
        assert (tmp_path / "inner" / "file").read_text() == text


def test_names_may_be_as_long_as_the_system_takes(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 251 + ".csv")
    check_writable(path)
    write_text(path, "x")
    assert path.read_text() == "x"
    with pytest.raises(WriteError, match="File name too long"):
        write_text(tmp_path / ("n" * 300), "x")


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    check_writable(f"/dev/fd/{writing}")
    with whole_file(f"/dev/fd/{writing}") as file:
        file.write(b"through")
    os.close(writing)
    assert os.read(reading, 99) == b"through"
    os.close(reading)


def test_an_error_is_of_both_families(tmp_path: Path) -> None:
    for family in (SimrepError, OSError):
        with pytest.raises(family, match=r"cannot write '.*none/x': No such file"):
            write_text(tmp_path / "none" / "x", "")


@pytest.mark.parametrize("name", ["figure.svg", "figure.pdf", "figure.png", "figure"])
def test_figures_of_python_are_whole_too(name: str, folder: Path) -> None:
    result = simrep.run("cluster.toml")
    before = set(folder.iterdir())
    result.plot(folder / name)
    [made] = set(folder.iterdir()) - before
    assert made.name == (name if "." in name else f"{name}.png")
    with pytest.raises(WriteError):
        result.plot("/proc/figure.png")
    with pytest.raises(ValueError, match="not supported"):
        result.plot(folder / "figure.doc")
    assert set(folder.iterdir()) - before == {made}
