"""The lessons in a real browser, opened from files: nothing is fetched, and the engine runs.

Skipped where there is no Chromium, Playwright or folder; ``make browser-test`` makes all three.
"""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.chromium import ARGUMENTS, CHROMIUM, RUN_MS, needed

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build" / "lessons"
PICTURES = ROOT / "build" / "browser"
START_MS = 300_000  # on a machine that does nothing else some seconds
SIZES = {"desktop": (1280, 800), "phone": (390, 844)}
FIRST = "performance.getEntriesByName('first picture')[0].startTime"
SIMULATED = "/^Simulated/.test(document.getElementById('engine').textContent)"

sys.path.insert(0, str(ROOT / "docs" / "lessons"))


@pytest.fixture(scope="module")
def browser():
    needed()
    if not (BUILT / "index.html").exists():
        if os.environ.get("SIMREP_BROWSER") == "needed":
            pytest.fail("build/lessons is missing: make lessons, which needs npm")
        pytest.skip("build/lessons is missing: make lessons")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        opened = tools.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=RUN_MS)
        yield opened
        opened.close()


@pytest.fixture(autouse=True)
def closed(browser):
    """A page that was late does not go on beside those that follow."""
    yield
    for context in browser.contexts:
        context.close()


def opened(browser, name, size="desktop"):
    """A lesson without a network; the errors in it, and what it asks for."""
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, offline=True)
    page = context.new_page()
    page.set_default_timeout(RUN_MS)
    wrong, asked = [], []
    page.on("pageerror", lambda one: wrong.append(str(one)))
    page.on("request", lambda one: asked.append(one.url))
    page.goto((BUILT / f"{name}.html").as_uri())
    return page, wrong, asked


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", [path.stem for path in sorted(BUILT.glob("[1-6]-*.html"))])
def test_each_lesson_shows_its_run_at_once(browser, name, size):
    page, wrong, asked = opened(browser, name, size)
    assert page.evaluate(FIRST) < 10_000
    page.click("text=To the end")
    assert page.locator(".figures dd").count() >= 4
    assert page.locator(".clusters svg").count() >= 2
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert all(one.startswith(("file:", "blob:", "data:")) for one in asked)
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"lesson-{name}-{size}.png", full_page=True)
    assert not wrong


def test_a_run_in_the_page_is_equal_to_one_on_the_desktop(browser):
    import labs

    page, wrong, _ = opened(browser, "4-dying")
    page.wait_for_selector("#lab[data-ready]", timeout=START_MS)
    page.click("text=No faults")
    page.wait_for_function(SIMULATED, timeout=START_MS)
    page.evaluate("pause(); move(5)")
    page.select_option("#node", "n3")
    page.click("button:text-is('Kill')")
    page.wait_for_function(
        "lesson.run.clusters.length === 3 && lesson.run.clusters[0].faults.length === 1",
        timeout=START_MS,
    )
    found = json.loads(page.evaluate("JSON.stringify(lesson.run)"))
    faults = [{"what": "kill", "node": "n3", "at_s": 5}]
    expected = labs.play("dying", found["settings"], faults)
    for ours, theirs in zip(expected["clusters"], found["clusters"], strict=True):
        assert theirs["title"] == ours["title"]
        assert theirs["ended"] == ours["ended"]
        assert theirs["lines"] == [list(one) for one in ours["lines"]]
    assert not wrong
