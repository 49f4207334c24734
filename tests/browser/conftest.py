# SPDX-License-Identifier: MIT
"""A headless Chromium for tests of pages and pictures; a message on its console fails the test that caused it."""

import os
import shutil
from pathlib import Path

import pytest

from tests.browser.explorer_page import LOOK, turn_to
from wmma_emu.applications.explorer import explorer_page

FOLDER = Path(__file__).parent
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items):
    """Mark what is in this folder as thorough: all of it needs a browser."""
    for item in items:
        if item.path.parent == FOLDER:
            item.add_marker(pytest.mark.thorough)


def missing(what):
    """Skip, unless the environment says that a browser has to be there."""
    if os.environ.get("WMMA_EMU_BROWSER") == "required":
        pytest.fail(f"WMMA_EMU_BROWSER=required, but {what}", pytrace=False)
    pytest.skip(what)


@pytest.fixture(scope="session")
def browser():
    """Chromium, one for each process of tests."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        missing(f"there is no browser: none of {', '.join(NAMES)}")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=OPTIONS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser):
    """A function that opens a page: ``open_page(url, width=1440, height=900, **options of a context)``."""
    contexts, said = [], []

    def opened(url, width=1440, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert said == []


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("explorer") / "explorer.html"
    path.write_text(explorer_page(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def explorer(browser, address):
    """Open one page for most tests; record its console messages and its network requests."""
    context = browser.new_context(
        viewport={"width": 1440, "height": 900},
        permissions=["clipboard-read", "clipboard-write"],
        accept_downloads=True,
    )
    page = context.new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    yield page, said, asked
    context.close()


@pytest.fixture
def explore(explorer, address):
    """Show the explorer at a state, ``explore(chip=..., i=..., op=...)``."""
    page, said, _ = explorer

    def shown(width=1440, height=900, scheme="light", **state):
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme, media="screen")
        fragment = "".join(f"&{name}={value}" for name, value in state.items())
        page.evaluate(
            """fragment => {
                document.activeElement.blur();
                history.pushState(null, "", "#" + fragment);
                dispatchEvent(new PopStateEvent("popstate"));
              }""",
            fragment[1:],
        )
        page.mouse.move(1, 1)
        return page

    yield shown
    assert said == []


@pytest.fixture(scope="module")
def shared_page(browser, address):
    context = browser.new_context(viewport={"width": 640, "height": 120})  # what is not in view is not painted
    page = context.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(address)
    yield page, said
    context.close()


@pytest.fixture
def turned(shared_page):
    page, said = shared_page

    def shown(**state):
        turn_to(page, **state)
        return page

    yield shown
    assert said == []


@pytest.fixture(scope="module")
def looks(shared_page):
    """What the two pictures of an operand show; each is drawn once."""
    page, seen = shared_page[0], {}

    def look(name, chip, letter):
        if (name, chip, letter) not in seen:
            turn_to(page, chip=chip, i=name, op=letter)
            seen[name, chip, letter] = [page.evaluate(LOOK, figure) for figure in ("matrix", "registers")]
        return seen[name, chip, letter]

    return look
