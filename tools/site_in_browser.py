# SPDX-License-Identifier: MIT
"""Open the pages of the built documentation in Chromium, as a phone and as a desktop do, and say what is wrong.

A page must not be higher than `HIGHEST` on a phone, break a rule of axe-core in either theme, write to the console, or
request files outside the site. A server of this process publishes the site below a path, like
`https://host/project/`; some pages are read from their files too. Words that readers type into the search have to find
the page that is meant.

Needs the group `browser` of pyproject.toml and a Chromium: ``pip install --group browser``.
"""

import contextlib
import functools
import http.server
import json
import multiprocessing
import shutil
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["FOUND", "HIGHEST", "Looked", "faults_in_browser", "faults_of", "look_at", "one_of_each_kind", "pages_of"]

HIGHEST = 8000
"""Pixels that a page may be high on a phone."""

PHONE, DESKTOP = (390, 844), (1440, 900)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
SITE = "project"
"""The path of the site on its server."""

KINDS = ("files/", "reference/instructions/", "reference/findings/")
"""Folders whose pages are all made in the same way."""

FOUND = {
    "quantize": "how-to/quantise-to-block-scaled-formats", "quantise": "how-to/quantise-to-block-scaled-formats",
    "quantization": "how-to/quantise-to-block-scaled-formats",
    "torch": "how-to/use-with-pytorch", "pytorch": "how-to/use-with-pytorch", "jax": "how-to/use-with-jax",
    "debug": "how-to/debug-a-kernel", "profiler": "how-to/debug-a-kernel", "breakpoint": "how-to/debug-a-kernel",
    "CI": "how-to/run-in-ci-without-a-gpu", "github actions": "how-to/run-in-ci-without-a-gpu",
    "latex": "how-to/find-what-a-lane-holds", "determinism": "explanation/why-results-differ",
    "fp8 training": "explanation/fp8-on-hopper", "numba": "start/models",
    "colab": "how-to/teach-with-notebooks", "gemm": "reference/api/top",
}  # fmt: skip
"""Searches of readers, and the page that must be among the first `FIRST` results."""

FIRST = 10
_MOST_SECONDS = 20
FROM_FILES = ("index.html", "explorer.html", "lessons/1-fragments.html?highlight=fragment", "search.html?q=torch")
"""Pages that are read from their files as well, and what follows their names there."""

_RESULTS = """() => [...document.querySelectorAll("#search-results ul.search a")].map((x) => x.getAttribute("href"))"""
_SIZE = "() => [document.documentElement, document.body].map((x) => [x.scrollHeight, x.scrollWidth])"
_AXE = """(rules) => axe.run(document, {resultTypes: ["violations"], ...(rules.length ? {runOnly: rules} : {})}).then(
    (found) => JSON.stringify(found.violations.map((x) => [x.id, x.nodes.map((node) => node.target.join(" "))])))"""


class Looked(NamedTuple):
    """The observations on a page.

    Parameters
    ----------
    page : str
        Its path within the site.
    height, width : int
        On a phone; a page that is wider than the phone scrolls sideways.
    said : tuple of str
        Messages on the console, and failed loads.
    elsewhere : tuple of str
        Requests to other hosts.
    violations : tuple of (rule, where)
        The rules of axe-core that are broken, in either theme, at either width.
    """

    page: str
    height: int
    width: int
    said: tuple[str, ...]
    elsewhere: tuple[str, ...]
    violations: tuple[tuple[str, str], ...]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves the site below `SITE`, and writes no line for each request."""

    def translate_path(self, path: str) -> str:
        start = f"/{SITE}/"
        return super().translate_path(path.removeprefix(start[:-1]) if path.startswith(start) else "/nothing-here")

    def log_message(self, format: str, *arguments: Any) -> None:
        """Ignore the server's log."""


def served(root: Path) -> http.server.ThreadingHTTPServer:
    """Publish a folder below `SITE` on a free port of this machine; ``shutdown()`` ends it."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(root)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def address_of(server: http.server.ThreadingHTTPServer) -> str:
    """Return the address of a server's site."""
    return f"http://127.0.0.1:{server.server_port}/{SITE}/"


def look_at(root: Path, pages: Iterable[str], checked: Iterable[str], processes: int = 2) -> list[Looked]:
    """Open pages, each in a window of a phone, and run axe-core on those that are to be checked.

    Parameters
    ----------
    root : Path
        The built site.
    pages : iterable of str
        The pages to open, as paths within it.
    checked : iterable of str
        Those of them that axe-core checks as well, in both themes and widths.
    processes : int
        How many browsers share the work.
    """
    server = served(root)
    try:
        asked = [(page, page in set(checked)) for page in pages]
        parts = [(address_of(server), asked[i::processes]) for i in range(processes)]
        with multiprocessing.get_context("spawn").Pool(processes) as pool:
            found = [x for some in pool.map(_look_at_part, parts) for x in some]
    finally:
        server.shutdown()
    return sorted(found)


def _look_at_part(part: tuple[str, list[tuple[str, bool]]]) -> list[Looked]:
    """Open a part of the pages in a separate browser."""
    from playwright.sync_api import sync_playwright

    address, pages = part
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_browser_path(), args=OPTIONS)
        page, noticed = _watched_page(browser)
        seen = [_look(page, noticed, address, name, check) for name, check in pages]
        browser.close()
    return seen


def _browser_path() -> str | None:
    """Find a browser of the system; without one Playwright takes its own."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def _watched_page(browser: Any) -> tuple[Any, list[tuple[str, str]]]:
    """Make a page, and a list to which what it says and asks for is added."""
    noticed: list[tuple[str, str]] = []
    page = browser.new_page()
    page.on("console", lambda x: noticed.append(("said", x.text)))
    page.on("pageerror", lambda x: noticed.append(("said", str(x))))
    page.on("response", lambda x: noticed.append(("said", f"{x.status} {x.url}")) if x.status >= 400 else None)
    page.on("request", lambda x: noticed.append(("asked", x.url)))
    return page, noticed


def _said(noticed: list[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(text for kind, text in noticed if kind == "said")


def _look(page: Any, noticed: list[tuple[str, str]], address: str, name: str, check: bool) -> Looked:
    """Open a page; what its browser notices meanwhile is added to a list that is emptied here."""
    noticed.clear()
    _show(page, "light", PHONE)
    page.goto(address + name, wait_until="load")
    height, width = (max(x) for x in zip(*page.evaluate(_SIZE), strict=True))
    violations = sorted(set(_violations(page))) if check else []
    here = (address, "data:", "blob:")
    elsewhere = tuple(text for kind, text in noticed if kind == "asked" and not text.startswith(here))
    return Looked(name, height, width, _said(noticed), elsewhere, tuple(violations))


def _show(page: Any, scheme: str, size: tuple[int, int]) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))


def _violations(page: Any) -> Iterator[tuple[str, str]]:
    """Run axe-core on a phone by day, and what depends on colours by night; on a desktop what depends on widths."""
    page.evaluate(_axe())
    for scheme, size, rules in (
        ("light", PHONE, []), ("dark", PHONE, ["color-contrast"]), ("light", DESKTOP, ["scrollable-region-focusable"]),
    ):  # fmt: skip
        _show(page, scheme, size)
        for rule, places in json.loads(page.evaluate(_AXE, rules)):
            yield from ((rule, place) for place in places)


@functools.cache
def _axe() -> str:
    """Return the text of axe-core, which the package for Playwright brings along."""
    import axe_playwright_python

    return (Path(axe_playwright_python.__path__[0]) / "axe.min.js").read_text(encoding="utf-8")


def pages_of(root: Path) -> list[str]:
    """Return the pages of a site, except those that it offers as separate files."""
    found = (str(path.relative_to(root)) for path in root.rglob("*.html"))
    return sorted(x for x in found if not x.startswith("_downloads/"))


def one_of_each_kind(root: Path) -> list[str]:
    """Return the pages that are written one by one, and of those that are made alike the index and the largest."""
    pages = pages_of(root)
    alone = [x for x in pages if not x.startswith(KINDS)]
    for kind in KINDS:
        alike = [x for x in pages if x.startswith(kind)]
        alone += {max(alike, key=lambda x: (root / x).stat().st_size), *(x for x in alike if x == f"{kind}index.html")}
    return sorted(alone)


def faults_in_browser(root: Path, everything: bool = False) -> list[str]:
    """Return what a browser finds wrong with a site; axe-core looks at one page of each kind, or at all."""
    found = _faults_of_search(root)
    pages = pages_of(root)
    checked = pages if everything else one_of_each_kind(root)
    seen = look_at(root, pages, checked)
    highest = max(seen, key=lambda x: x.height)
    print(f"in a browser: {len(seen)} pages, the highest {highest.page} with {highest.height:,} px")
    print(f"axe-core looked at {len(checked)} of them")
    return found + [fault for one in seen for fault in faults_of(one)]


def _faults_of_search(root: Path) -> list[str]:
    """Return the searches that do not find their page, and the messages of pages opened from files."""
    from playwright.sync_api import TimeoutError, sync_playwright

    server = served(root)
    faults = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_browser_path(), args=OPTIONS)
        page, noticed = _watched_page(browser)
        for words, wanted in FOUND.items():
            page.goto(f"{address_of(server)}search.html?q={words.replace(' ', '+')}")
            with contextlib.suppress(TimeoutError):
                page.wait_for_selector("#search-results p.search-summary:not(:empty)", timeout=_MOST_SECONDS * 1000)
            found = [x.partition("#")[0].removesuffix(".html") for x in page.evaluate(_RESULTS)]
            if not any(x.endswith(wanted) for x in list(dict.fromkeys(found))[:FIRST]):
                faults.append(f"search for {words!r}: {wanted} is not among the first {FIRST}, but {found[:3]}")
        faults += [f"search: the console says: {x}" for x in dict.fromkeys(_said(noticed))]
        noticed.clear()
        for name in FROM_FILES:
            page.goto(f"{root.as_uri()}/{name}")
            page.wait_for_timeout(500)
        faults += [f"from files: {x}" for x in _said(noticed)]
        browser.close()
    server.shutdown()
    return faults


def faults_of(seen: Looked) -> Iterator[str]:
    """Return the faults of a page."""
    if seen.height > HIGHEST:
        yield f"{seen.page}: {seen.height:,} pixels high on a phone, more than {HIGHEST:,}"
    if seen.width > PHONE[0]:
        yield f"{seen.page}: {seen.width} pixels wide on a phone of {PHONE[0]}"
    yield from (f"{seen.page}: the console says: {x}" for x in seen.said)
    yield from (f"{seen.page}: asks {x}" for x in seen.elsewhere)
    yield from (f"{seen.page}: axe {rule}: {where}" for rule, where in seen.violations)
