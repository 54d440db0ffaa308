"""A notebook in a real browser: JupyterLab runs it, a slider is moved, and the picture changes.

Skipped where there is no Chromium or no Playwright; ``make browser-test`` installs both.
"""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import jupytext
import pytest

from tests.chromium import ARGUMENTS, CHROMIUM, RUN_MS, needed

ROOT = Path(__file__).parents[2]
NOTEBOOK = "01-first-what-if"
PICTURES = ROOT / "build" / "browser"

START_S = 60
# Cells outside of the window are drawn as well, and nothing is fetched from elsewhere.
SETTINGS = {
    "notebook-extension/tracker": '{"windowingMode": "none"}',
    "apputils-extension/notification": '{"fetchNews": "false", "checkForUpdates": false}',
}
READ_PICTURE = """async image => {
    const bytes = new Uint8Array(await (await fetch(image.src)).arrayBuffer());
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    return [bytes.length, Array.from(digest).join(" ")];
}"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextmanager
def lab(folder):
    """The address of a JupyterLab that serves a folder; it leaves nothing behind elsewhere."""
    port, token = free_port(), secrets.token_hex(16)
    own = folder / "jupyter"
    for name, text in SETTINGS.items():
        package, _, plugin = name.partition("/")
        file = own / "settings" / "@jupyterlab" / package / f"{plugin}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    places = {
        "JUPYTER_CONFIG_DIR": own / "config",
        "JUPYTER_DATA_DIR": own / "data",
        "JUPYTER_RUNTIME_DIR": own / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": own / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": own / "workspaces",
        "IPYTHONDIR": own / "ipython",
        "PYTHONPATH": ROOT,
    }
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        *(f"--ServerApp.port={port}", "--ServerApp.port_retries=0", "--ServerApp.ip=127.0.0.1"),
        *(f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}"),
    ]
    with (folder / "lab.log").open("w", encoding="utf-8") as log:
        server = subprocess.Popen(
            command,
            env=os.environ | {name: str(place) for name, place in places.items()},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            wait_for(f"http://127.0.0.1:{port}/api/status?token={token}", server, folder)
            yield f"http://127.0.0.1:{port}/lab/tree/{NOTEBOOK}.ipynb?reset&token={token}"
        finally:
            server.terminate()
            try:
                server.wait(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait(timeout=20)


def wait_for(address, server, folder):
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail("JupyterLab did not start:\n" + (folder / "lab.log").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_a_slider_that_is_moved_changes_the_picture(tmp_path):
    needed("jupyterlab")
    from playwright.sync_api import expect, sync_playwright

    source = jupytext.read(ROOT / "notebooks" / f"{NOTEBOOK}.py")
    jupytext.write(source, tmp_path / f"{NOTEBOOK}.ipynb")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with lab(tmp_path) as address, sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=RUN_MS)
        try:
            page = browser.new_page(viewport={"width": 1300, "height": 1500})
            page.set_default_timeout(RUN_MS)
            page.goto(address)
            page.wait_for_selector(".jp-Notebook .jp-CodeCell")
            expect(page.locator("#jp-main-statusbar")).to_contain_text("| Idle", timeout=RUN_MS)
            page.get_by_role("menuitem", name="Run", exact=True).click()
            page.get_by_role("menuitem", name="Run All Cells", exact=True).click()

            picture = page.locator(".jp-OutputArea img.widget-image")
            words = page.locator(".jp-OutputArea .widget-html").last
            expect(picture).to_be_visible(timeout=RUN_MS)
            expect(words).to_contain_text("That is the first setting.", timeout=RUN_MS)
            size, before = picture.evaluate(READ_PICTURE)
            assert size > 10_000

            slider = page.locator(".jp-OutputArea .widget-slider [role=slider]").first
            slider.scroll_into_view_if_needed()
            slider.focus()
            for _ in range(4):
                page.keyboard.press("ArrowRight")
            began = time.monotonic()
            while (after := picture.evaluate(READ_PICTURE))[1] == before:
                assert time.monotonic() < began + RUN_MS / 1e3, "the picture stays as it was"
                page.wait_for_timeout(50)
            print(f"the picture follows the slider after {time.monotonic() - began:.2f} s")
            expect(words).to_contain_text("; the first setting: p95", timeout=RUN_MS)
            assert after[0] > 10_000
            picture.scroll_into_view_if_needed()
            page.screenshot(path=PICTURES / f"{NOTEBOOK}.png")
        finally:
            browser.close()
