"""What the documentation says is run, checked against the schemas, or looked up."""

import contextlib
import doctest
import importlib
import importlib.util
import io
import re
import shlex
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import typer
from pydantic import BaseModel
from typer.testing import CliRunner

import simrep
from simrep.cli import app
from simrep.data.definition import Definition
from simrep.rig.experiment import Experiment
from simrep.scenario.pack import Pack

ROOT = Path(__file__).parents[2]
FILES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
FILES += sorted((ROOT / "docs").rglob("*.md"))
FILES += sorted((ROOT / "models" / "packs").glob("*.md"))
FILES += sorted((ROOT / "validation").rglob("README.md"))
PAGES = {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in FILES}

LONG = {  # they simulate for more than some four seconds of CPU
    f"docs/howto/{name}.md"
    for name in (
        "bring-a-node-back",
        "change-a-table",
        "find-what-gives-out-first",
        "restart-node-by-node",
    )
}

WITH_EXAMPLES = [
    ".".join(file.relative_to(ROOT).with_suffix("").parts)
    for file in sorted((ROOT / "simrep").rglob("*.py"))
    if ">>>" in file.read_text(encoding="utf-8")
]

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A Python block; the block of text right behind it, if there is one, shows what it prints.
PYTHON = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# (\S+\.(?:toml|py))\n")
TABLE = re.compile(r"`(\w+\.csv)`:\n\n```csv\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHORTER = re.compile(r"^<!-- shorter in tests\n(.*?)^-->$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
ADDRESS = re.compile(r"\w+://[^\s)>`;]+")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
ANCHOR = re.compile(r'<a id="([^"]+)">')
WORD = re.compile(r"[A-Za-z_][A-Za-z_/]+")

# What a fragment of a scenario lacks.
BASE = {
    "cluster": {"model": "galera"},
    "workload": {"preset": "mysqlslap-insert", "queries": 64},
}


def blocks(page: str, language: str) -> list[str]:
    return blocks_of(PAGES[page], language)


def blocks_of(text: str, language: str) -> list[str]:
    return [block for name, block in BLOCK.findall(text) if name == language]


def pages_with(language: str) -> list[str]:
    return [page for page in PAGES if blocks(page, language)]


def shorter(text: str) -> str:
    """A page whose runs take less time: its last lines say what stands for what, "long -> short".

    As it stands, it is run by ``make pages``.
    """
    for changes in SHORTER.findall(text):
        text = SHORTER.sub("", text)
        for change in changes.splitlines():
            long, arrow, short = change.partition(" -> ")
            assert arrow, change
            assert long in text, f"nothing to shorten: {change}"
            text = text.replace(long, short)
    return text


def save_named_blocks(page: str, folder: Path) -> None:
    """Blocks whose first line is a comment with a file name become that file; tables, too."""
    for name, text in TABLE.findall(page):
        (folder / name).write_text(text, encoding="utf-8")
    for _, text in BLOCK.findall(page):
        if named := NAMED.match(text):
            file = folder / named[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")


def install(folder: Path) -> None:
    """Make the entry points of a ``pyproject.toml`` known, as an installation does."""
    for file in folder.glob("*/pyproject.toml"):
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        groups = [
            "\n".join([f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())])
            for group, entries in project["entry-points"].items()
        ]
        info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        info.mkdir()
        (info / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n",
            encoding="utf-8",
        )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::simrep.errors.ExtrapolationWarning")  # pages say so
@pytest.mark.filterwarnings("ignore::simrep.errors.DegradedWarning")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.long if page in LONG else ())
        for page in pages_with("python")
    ],
)
def test_python_blocks_run_one_after_the_other(page, tmp_path, monkeypatch):
    text = shorter(PAGES[page])
    save_named_blocks(text, tmp_path)
    install(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    names = {"__name__": "documentation"}
    before = set(sys.modules)
    try:
        for number, (code, shown) in enumerate(PYTHON.findall(text), start=1):
            if NAMED.match(code):
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, f"{page}, block {number}", "exec"), names)
            missing = set(WORD.findall(shown)) - set(WORD.findall(printed.getvalue()))
            assert not missing, f"block {number} no longer prints {sorted(missing)}"
    finally:
        for name in set(sys.modules) - before:
            if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]


def table_for(content: dict) -> type[BaseModel] | None:
    """What a TOML block is, by its top-level keys; None is a scenario or a part of one."""
    if "pack" in content:
        return Pack
    if "grid" in content:
        return Experiment
    return Definition if "metric" in content else None


@pytest.mark.parametrize("page", pages_with("toml"))
def test_toml_blocks_are_valid(page, tmp_path, monkeypatch):
    save_named_blocks(PAGES[page], tmp_path)
    monkeypatch.chdir(tmp_path)
    for text in blocks(page, "toml"):
        content = tomllib.loads(text)
        if "project" in content:
            continue
        if table := table_for(content):
            table.model_validate(content)
            continue
        cluster = BASE["cluster"] | content.get("cluster", {})
        workload = content.get("workload", {})
        timed = "duration_s" in content.get("run", {}) or "group" in workload
        if timed and "run" not in content:
            content["run"] = {"duration_s": 1}
        if not timed:
            workload = BASE["workload"] | workload
        simrep.load({**content, "cluster": cluster, "workload": workload})


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_in_docstrings_print_what_they_show(module):
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted
    assert not result.failed


def command_lines(page: str) -> list[str]:
    """Every ``simrep ...`` that a page tells to type, up to a pipe."""
    found = []
    for language in ("console", "text"):
        for text in blocks(page, language):
            for line in text.replace("\\\n", " ").splitlines():
                words = line.removeprefix("$ ").removeprefix("sudo ")
                if words.startswith("simrep ") and (language == "text" or line.startswith("$ ")):
                    found.append(words.partition(" | ")[0])
    return found


@pytest.mark.parametrize("page", [page for page in PAGES if command_lines(page)])
def test_commands_of_pages_are_understood(page):
    """Names, options and the number of arguments; nothing is run."""
    for line in command_lines(page):
        command = typer.main.get_command(app)
        context = command.make_context("simrep", shlex.split(line, comments=True)[1:])
        while hasattr(command, "resolve_command"):
            name, command, rest = command.resolve_command(
                context, [*context._protected_args, *context.args]
            )
            context = command.make_context(name, rest, parent=context)


def commands(text: str) -> list[tuple[str, str]]:
    """Every ``$ simrep ...`` of a page with what the page shows of its output."""
    found = []
    for block in blocks_of(text, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            if command.startswith("simrep "):
                found.append((command, output))
    return found


@pytest.mark.slow
def test_the_commands_of_the_tutorial_print_what_it_shows(tmp_path, monkeypatch):
    """Figures may differ a little from machine to machine; all words must be there.

    A dataset is predicted once instead of five times: what it says of itself is the same.
    """
    text = shorter(PAGES["docs/tutorials/first-run.md"])
    save_named_blocks(text, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    shown = commands(text)
    assert len(shown) >= 5
    for command, output in shown:
        quicker = ["--replications", "1"] if command.startswith("simrep reproduce") else []
        result = CliRunner().invoke(app, [*shlex.split(command)[1:], *quicker])
        assert result.exit_code in {0, 2}, command
        assert (result.exit_code == 2) == output.startswith("Error"), command
        words = set(WORD.findall(result.output))
        missing = set(WORD.findall(output)) - words
        assert not missing, f"{command} no longer prints {sorted(missing)}"


def prose(text: str) -> str:
    """A page without its blocks."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """Anchors of a page, as GitHub makes them from headings, and explicit ones."""
    titles = [re.sub(r"[^\w\- ]", "", title.lower()) for title in HEADING.findall(prose(text))]
    return {title.strip().replace(" ", "-") for title in titles} | set(ANCHOR.findall(text))


def leads_somewhere(page: str, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (ROOT / page).parent / path if path else ROOT / page
    return target.exists() and (not anchor or anchor in anchors(target.read_text(encoding="utf-8")))


def test_long_pages_are_pages():
    assert set(pages_with("python")) >= LONG


def test_links_lead_somewhere():
    broken = [
        f"{page}: {link}"
        for page, text in PAGES.items()
        for link in LINK.findall(prose(text))
        if not link.startswith(("https://", "http://", "mailto:"))
        and not leads_somewhere(page, link)
    ]
    assert not broken, "\n".join(broken)


def is_address(text: str) -> bool:
    parts = urlsplit(text)
    named = re.fullmatch(r"(?:[a-z0-9-]+\.)+[a-z]{2,}", parts.netloc)
    return parts.scheme == "https" and named is not None


def test_addresses_have_the_form_of_one():
    """Nobody is asked whether they answer: tests need no network."""
    wrong = [
        f"{page}: {address}"
        for page, text in PAGES.items()
        for address in ADDRESS.findall(re.sub(r"`[^`]*`", "", prose(text)))
        if not is_address(address)
    ]
    assert not wrong, "\n".join(wrong)


PROTOCOLS = {
    "galera": ("galera", "streaming-replication", "large-transactions"),
    "group_replication": ("group-replication",),
    "semisync": ("semi-synchronous",),
    "asynchronous": ("asynchronous",),
    "standalone": (),
}


@pytest.mark.parametrize("model", PROTOCOLS)
def test_models_and_their_pages_say_what_is_assumed_and_what_was_validated(model):
    stated = PAGES["docs/reference/models.md"].partition(f"### Assumptions of {model}\n")[2]
    stated = stated.partition("\n### ")[0]
    for kind in ("Conservative", "Optimistic", "Left out", "Validated"):
        assert f"- **{kind}**:" in stated, f"the docstring of {model} says nothing: {kind}"
    for name in PROTOCOLS[model]:
        page = PAGES[f"docs/explanation/{name}.md"].partition("## Assumptions\n")[2]
        for kind in ("optimistic", "left out", "**Validated range.**"):
            assert kind in page, f"docs/explanation/{name}.md says nothing: {kind}"


def test_every_page_is_in_the_index():
    """Or in one that the index leads to: a topic, the reference, the scoreboard."""
    linked = {
        ((ROOT / page).parent / link.partition("#")[0]).resolve()
        for page in PAGES
        if page.endswith("/index.md") or page.startswith("docs/topics/")
        for link in LINK.findall(PAGES[page])
    }
    missing = set((ROOT / "docs").rglob("*.md")) - linked
    assert missing == {ROOT / "docs" / "index.md"}


def test_files_of_the_repository_that_pages_name_exist():
    named = re.compile(r"`((?:simrep|models|tests|docs|validation)/[\w./-]+\.\w+)`")
    for page, text in PAGES.items():
        for path in named.findall(text):
            assert (ROOT / path).exists(), f"{page} names {path}"


@pytest.mark.parametrize(
    "script",
    [
        "generate_reference",
        "generate_commands",
        "generate_measurements",
        "generate_speed",
        "refresh_packs",
    ],
)
def test_what_scripts_write_is_current(script):
    spec = importlib.util.spec_from_file_location(script, ROOT / "docs" / f"{script}.py")
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    for file, content in generator.pages().items():
        assert file.read_text(encoding="utf-8") == content, (
            f"{file.name} is out of date: run python docs/{script}.py"
        )


def test_the_python_reference_describes_every_public_name_and_no_other():
    described = re.findall(r"^### `(\w+)", PAGES["docs/reference/python.md"], re.MULTILINE)
    assert sorted(described) == sorted(simrep.__all__)


def test_public_names_exist_are_few_and_in_order():
    assert all(getattr(simrep, name) is not None for name in simrep.__all__)
    assert len(simrep.__all__) <= 40
    assert dir(simrep) == sorted(simrep.__all__)
    with pytest.raises(AttributeError, match="no attribute 'plott'"):
        _ = simrep.plott


def test_type_checkers_see_the_public_names_and_no_others():
    stub = (ROOT / "simrep" / "__init__.pyi").read_text(encoding="utf-8")
    assert sorted([*re.findall(r"(\w+) as \1\b", stub), "__version__"]) == sorted(simrep.__all__)


@pytest.mark.parametrize("name", ["Model", "Cluster", "Transaction", "find_model", "model_card"])
def test_names_that_moved_work_for_one_more_release(name):
    with pytest.warns(DeprecationWarning, match=f"simrep.{name} has moved: "):
        assert getattr(simrep, name) is not None


_RIG = (
    "measure",
    "predict",
    "blind",
    "status",
    "write",
    "verify",
    "list",
    "check",
    "relay",
    "base",
)


def test_the_page_of_options_names_every_command_and_option():
    text = PAGES["docs/reference/options.md"]
    commands = ["run", "sweep", "compare", "sensitivity", "explain", "reproduce", "validate"]
    commands += ["models", "from-server", "calibrate", "schema"]
    commands += [f"rig {name}" for name in _RIG]
    for command in commands:
        result = CliRunner().invoke(app, [*command.split(), "--help"], env={"COLUMNS": "200"})
        section = text.partition(f"## simrep {command}")[2].partition("\n## ")[0]
        for option in set(re.findall(r"--[a-z]+(?:-[a-z]+)*", result.output)) - {"--help"}:
            assert option in section, f"simrep {command} {option}"
