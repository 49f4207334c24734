# SPDX-License-Identifier: MIT
"""A headless Chromium for tests of pages and pictures; a message on its console fails the test that caused it."""

import os
import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


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
