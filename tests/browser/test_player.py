"""The player in a real browser: it plays, zooms, filters, tells reasons, and runs nothing else.

Skipped where there is no Chromium or no Playwright; ``make browser-test`` installs both.
"""

import os
import re
from pathlib import Path

import pytest

from simrep.why.recording import record
from tests.chromium import ARGUMENTS, CHROMIUM, RUN_MS, needed
from tests.hostile_names import HOSTILE

PICTURES = Path(__file__).parents[2] / "build" / "browser"
TITLE, LINK, SCRIPT, *_ = HOSTILE
SHOWN = "performance.getEntriesByName('shown').length > 0"
MEASURED = """async (span) => {
    player.lookAt(0.2 * player.run.length, span);
    player.goTo(player.from + 0.3 * player.span);
    const inView = player.run.messages.spells.count(player.from, player.to);
    player.play();
    const times = [], end = performance.now() + 3000;
    await new Promise((done) => {
        const tick = (now) => {
            times.push(now);
            if (now < end) requestAnimationFrame(tick);
            else done();
        };
        requestAnimationFrame(tick);
    });
    player.pause();
    return [inView, (times.length - 1) / (times[times.length - 1] - times[0]) * 1000];
}"""

SPOT = """() => {
    const { run, picture, chosen } = player, origin = run.transactions.node[chosen];
    const group = player.groupsOf(chosen).find((one) => one.node === origin);
    const lasts = (part) => part.ended - part.began;
    const part = run.partsOf(group).reduce((a, b) => (lasts(b) > lasts(a) ? b : a));
    const box = picture.canvas.getBoundingClientRect(), [y, height] = picture.laneBox(group);
    const x = box.left + picture.x(part.began + 0.43 * lasts(part));
    return [x, box.top + y + height / 2, part.reason];
}"""
FAILURE_SPOT = """() => {
    const { run, picture } = player;
    const group = run.groups.all.find((one) => one.refusal && one.ended > one.began);
    player.show(group.began, group.ended);
    player.draw();
    picture.canvas.scrollIntoView();
    const box = picture.canvas.getBoundingClientRect(), [y, height] = picture.laneBox(group);
    return [box.left + picture.x((group.began + group.ended) / 2), box.top + y + height / 2];
}"""
PINCH = """([x, y]) => {
    const canvas = player.parts.picture;
    canvas.setPointerCapture = () => {};
    const at = (type, pointerId, clientX) =>
        canvas.dispatchEvent(new PointerEvent(type, { pointerId, clientX, clientY: y }));
    at("pointerdown", 1, x - 40);
    at("pointerdown", 2, x + 40);
    at("pointermove", 2, x + 120);
    at("pointerup", 1, x - 40);
    at("pointerup", 2, x + 120);
}"""


@pytest.fixture(scope="module")
def browser():
    needed()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        opened = tools.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=RUN_MS)
        yield opened
        opened.close()


def until(page, expression):
    """Wait until it is true; Playwright's own wait would evaluate text, which the page forbids."""
    for _ in range(400):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never: {expression}")


def shown(browser, file, **how):
    """A page that has been loaded; what it asks the network for, and the errors in it."""
    page = browser.new_context(**{"viewport": {"width": 1280, "height": 800}} | how).new_page()
    page.set_default_timeout(RUN_MS)
    asked, wrong = [], []
    page.on("request", lambda one: asked.append(one.url))
    page.on("pageerror", lambda one: wrong.append(str(one)))
    page.on("console", lambda one: wrong.append(one.text) if one.type == "error" else None)
    page.goto(file.as_uri())
    until(page, SHOWN)
    return page, asked, wrong


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A run with hostile names in which a node is killed, and its page."""
    file = tmp_path_factory.mktemp("player") / "run.html"
    scenario = {
        "name": SCRIPT,
        "cluster": {"model": "galera"},
        "node": [{"name": TITLE}, {"name": LINK}, {"name": SCRIPT}],
        "network": {"rtt_ms": 4},
        "workload": {"rate_tps": 100, "connections": 20, "class": [{"name": "a&b;<'\""}]},
        "fault": [{"what": "kill", "node": SCRIPT, "at_s": 1}],
        "run": {"duration_s": 9},
    }
    record(scenario).player(file)
    return file


@pytest.mark.slow
def test_a_run_is_played_and_explained(browser, broken):
    page, asked, wrong = shown(browser, broken)
    began = page.evaluate("player.at")
    page.keyboard.press(" ")
    until(page, f"player.at > {began}")
    page.keyboard.press(" ")
    assert not page.evaluate("player.playing")

    page.keyboard.press("ArrowRight")
    assert page.locator(".said").inner_text().startswith(("Leaves: ", "Arrives: "))
    page.keyboard.press("n")
    assert page.locator(".transaction h3").inner_text().startswith("transaction ")
    assert page.locator(".stages li").count() >= 3
    assert "on its way" in page.locator(".stages").inner_text()

    # A bar tells why: the pointer goes to the middle of the stage that took longest.
    spot = page.evaluate(SPOT)
    page.mouse.move(spot[0], spot[1])
    tip = page.locator(".tip").inner_text()
    assert spot[2][1:] in tip
    assert "a&b;<'\"" in tip

    # From seconds to microseconds, and back.
    for _ in range(40):
        page.keyboard.press("+")
    assert page.evaluate("player.span") < 1e-5
    page.keyboard.press("0")
    assert page.evaluate("player.span") >= 9.0
    page.keyboard.press("f")
    assert page.evaluate("player.at") == pytest.approx(1.0, abs=1e-6)
    assert "no commit for" in page.locator(".happened").inner_text()

    before = page.evaluate("player.kindShown.filter(Boolean).length")
    page.locator(".chip:not(.more)").nth(4).click()
    assert page.evaluate("player.kindShown.filter(Boolean).length") == before - 1
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / "player.png")

    # Names are text everywhere, and nothing was loaded.
    assert page.locator("h2").inner_text() == SCRIPT
    assert page.locator("a, iframe, img").count() == 0
    assert page.locator("script").count() == 2
    assert asked == [broken.as_uri()]
    assert not wrong


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """A source with a hostile name dies, another is promoted, and it comes back."""
    file = tmp_path_factory.mktemp("player") / "failing.html"
    scenario = {
        "cluster": {"model": "semisync", "options": {"failover_manager": "orchestrator"}},
        "node": [{"name": TITLE}, {"name": LINK}, {"name": SCRIPT}],
        "network": {"rtt_ms": 4},
        "workload": {"rate_tps": 100, "connections": 10},
        "fault": [
            {"what": "kill", "node": TITLE, "at_s": 1},
            {"what": "restart", "node": TITLE, "at_s": 8},
        ],
        "run": {"duration_s": 12},
    }
    record(scenario).player(file)
    return file


@pytest.mark.slow
def test_failed_attempts_and_who_takes_writes_are_seen(browser, failing):
    page, asked, wrong = shown(browser, failing)
    page.keyboard.press("0")
    page.evaluate("player.goTo(0.5)")
    writers = page.locator(".writers")
    assert writers.inner_text() == f"Takes writes as source: {TITLE}"
    page.evaluate("player.goTo(2)")
    until(page, "document.querySelector('.writers').textContent === 'No node takes writes'")
    page.evaluate("player.goTo(player.run.length - 0.01)")
    until(page, "document.querySelector('.writers').textContent.includes('alone')")
    assert writers.inner_text().endswith(f"; alone, outside of the service: {TITLE}")
    assert page.locator(".legend").inner_text().count("takes writes") == 2

    # From failure to failure by keyboard; each is told with its error, and leads to its stages.
    page.keyboard.press("0")
    page.evaluate("player.goTo(0)")
    ends = []
    for _ in range(12):
        page.keyboard.press("e")
        ends.append(page.evaluate("player.failure.ended"))
    assert ends == sorted(ends)
    assert ends[0] > 1.0
    assert "2003 connection refused" in page.locator(".said").inner_text()
    page.evaluate("player.showFailure(player.run.groups.all.find((one) => one.error && one.told))")
    assert "2013 lost connection to the server" in page.locator(".error").inner_text()
    assert "does not know" in page.locator(".error").inner_text()
    assert page.locator(".stages li").count() >= 1

    # The list of what is in view, and of it only those that failed.
    page.keyboard.press("0")
    until(page, "document.querySelectorAll('.list li').length > 100")
    heading = page.locator(".in-view h3").inner_text()
    assert {"2003", "2013"} <= set(re.findall(r"\d{4}", heading))
    page.get_by_role("button", name="failed only").click()
    marks = page.locator(".list .mark").all_inner_texts()
    assert set(marks) == {"⊗"}
    row = page.locator(".list button").first
    row.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("player.failure !== null")

    # A mark in the picture tells the error: the pointer goes to the end of an attempt.
    spot = page.evaluate(FAILURE_SPOT)
    page.mouse.move(*spot)
    assert "2003 connection refused" in page.locator(".tip").inner_text()
    page.screenshot(path=PICTURES / "player-failures.png")
    assert page.locator("a, iframe, img").count() == 0
    assert asked == [failing.as_uri()]
    assert not wrong


@pytest.mark.slow
def test_it_fits_a_phone_prints_and_is_dark(browser, broken):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "color_scheme": "dark"}
    page, _, wrong = shown(browser, broken, **phone)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box = page.locator(".picture").bounding_box()
    span = page.evaluate("player.span")
    page.evaluate(PINCH, [box["x"] + box["width"] / 2, box["y"] + 60])
    assert page.evaluate("player.span") == pytest.approx(span / 2, rel=0.01)
    paper = "getComputedStyle(document.querySelector('.simrep-player')).backgroundColor"
    assert page.evaluate(paper) == "rgb(17, 24, 39)"
    page.screenshot(path=PICTURES / "player-phone.png", full_page=True)
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    assert not page.locator(".controls button").first.is_visible()
    assert not wrong


@pytest.mark.slow
def test_a_minute_of_a_hundred_commits_a_second_is_small_and_fluent(browser, tmp_path):
    """Prints the figures: they are those of this machine, with what else it does."""
    scenario = {
        "cluster": {"model": "galera"},
        "network": {"rtt_ms": 10},
        "workload": {"rate_tps": 100, "connections": 20},
        "run": {"duration_s": 60},
    }
    recording = record(scenario)
    assert recording.until_s == recording.length_s
    file = tmp_path / "minute.html"
    recording.player(file)
    assert file.stat().st_size < 3e6
    page, _, wrong = shown(browser, file)
    opened_ms = page.evaluate("performance.getEntriesByName('shown')[0].startTime")
    print(f"{file.stat().st_size / 1e6:.2f} MB, opened in {opened_ms / 1e3:.2f} s", end="")
    print(f", {os.getloadavg()[0]:.1f} processes at work on {os.cpu_count()} cores")
    for span in (0.02, 1.0, 9.0, 60.0):
        in_view, frames = page.evaluate(MEASURED, span)
        print(f"{in_view:6,} messages in view: {frames:.0f} frames a second")
        assert frames > 1.0
    assert not wrong
