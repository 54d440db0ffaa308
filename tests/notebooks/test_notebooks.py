"""Every notebook is executed; none fails, each shows a picture, and links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import jupytext
import nbformat
import pytest

from notebooks import execute as runner

ROOT = Path(__file__).parents[2]
LIMIT_S = 540

LINK = re.compile(r"\]\((?!https?://)([^)#\s]+)")

NAMES = [source.stem for source in runner.SOURCES]


@pytest.fixture(scope="module")
def executed(request):
    """What `make notebooks` does and says; how long each took is printed."""
    done = subprocess.run(
        [sys.executable, ROOT / "notebooks" / "execute.py"],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(f"\n{done.stdout}")
    return done


def outputs(name):
    notebook = nbformat.read(runner.BUILT / f"{name}.ipynb", as_version=4)
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def test_there_are_the_eleven_of_them():
    assert [name[:3] for name in NAMES] == [f"{number:02}-" for number in range(1, 12)]


@pytest.mark.slow
def test_they_all_run(executed):
    assert executed.returncode == 0, executed.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_and_shows_a_picture(name, executed):
    assert f"{name} failed" not in executed.stderr, executed.stderr
    found = outputs(name)
    assert [output for output in found if "image/png" in output.get("data", {})]
    printed = "".join(output.text for output in found if output.output_type == "stream")
    assert "\x1b[" not in printed
    assert "Traceback" not in printed
    assert not [output for output in found if output.get("name") == "stderr"], printed
    assert not [output for output in found if output.output_type == "display_data"]


@pytest.mark.slow
def test_a_film_and_sliders_leave_something_that_any_reader_of_notebooks_shows(executed):
    for name in ("03-concurrency-and-windows", "04-paxos-and-the-slowest-member"):
        texts = [output.get("data", {}).get("text/html", "") for output in outputs(name)]
        assert any("<img" in text or "<video" in text or "<script" in text for text in texts)
    kinds = [set(output.get("data", {})) for output in outputs("01-first-what-if")]
    assert not any("application/vnd.jupyter.widget-view+json" in kind for kind in kinds)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_short_asks_and_invites(name):
    notebook = jupytext.read(ROOT / "notebooks" / f"{name}.py")
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    assert len(notebook.cells) <= 22
    assert texts[0].startswith(f"# {int(name[:2])}. ")
    assert "?" in texts[0]
    assert "## What you have learned" in texts[-1]
    assert "**Try yourself.**" in texts[-1]
    assert "**Write down your guess" in texts[0]
    for plan in ("*For teachers.* 45 minutes: ", " 90 minutes: "):
        assert plan in " ".join(texts[0].split())
    assert notebook.cells[-1].metadata["jupyter"]["source_hidden"]
    assert "hide-cell" in notebook.cells[-1].metadata["tags"]
    for text in texts:
        for link in LINK.findall(text):
            assert (ROOT / "notebooks" / link).exists(), link


def test_sources_are_what_git_keeps():
    assert not [source for source in runner.SOURCES if '"outputs"' in source.read_text()]
    assert "/notebooks/*.ipynb" in (ROOT / ".gitignore").read_text().splitlines()
