# SPDX-License-Identifier: MIT
"""Check the built documentation: links and their text, anchors, pictures; links lead to every page.

No page may need the network.

    python -m tools.check_site build/html
    python -m tools.check_site build/html --browser         # and opens every page in Chromium; axe-core on each kind
    python -m tools.check_site build/html --browser --all   # axe-core on every page, about ten minutes
"""

import html
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from tools.site_in_browser import faults_in_browser
from wmma_emu.instructions import INSTRUCTIONS

_TAG = re.compile(r"<([a-zA-Z][\w-]*)((?:\s+[^\s=>/\"']+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>\"']+))?)*)\s*/?>")
_ATTRIBUTE = re.compile(r"([^\s=>/\"']+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+)))?")
_LINK = re.compile(r"<a(\s(?:\"[^\"]*\"|'[^']*'|[^>\"'])*)>(.*?)</a\s*>", re.DOTALL | re.IGNORECASE)
_NAMED = re.compile(r"\b(?:alt|aria-label|title)\s*=\s*[\"']?\s*[^\s\"'>]")
_RAW = re.compile(r"(<(script|style)\b[^>]*>).*?</\2>", re.DOTALL | re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CSS = re.compile(r"@import\s+[\"']([^\"']+)|url\(\s*[\"']?([^\"')]+)")
_LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "object": "data"}
_LINKED = {**_LOADED, "a": "href"}
EXPLORER = "explorer.html"


class Page(NamedTuple):
    """The contents of a page: its anchors, and (tag, target) of everything that it links to or loads."""

    anchors: list[str]
    targets: list[tuple[str, str]]
    faults: list[str]


def read(path: Path) -> Page:
    """Read a page of HTML."""
    text = _COMMENT.sub("", _RAW.sub(r"\1</\2>", path.read_text(encoding="utf-8")))
    anchors, targets, faults = [], [], []
    for tag, rest in _TAG.findall(text):
        tag = tag.lower()
        given = {name.lower(): html.unescape(a or b or c) for name, a, b, c in _ATTRIBUTE.findall(rest)}
        if "id" in given:
            anchors.append(given["id"])
        if tag == "a" and "name" in given:
            anchors.append(given["name"])
        if tag == "img" and not given.get("alt", "").strip():
            faults.append(f"a picture has no alt text: {given.get('src', '')[:80]}")
        if tag in _LINKED and given.get(_LINKED[tag]):
            loads = tag in _LOADED and not (tag == "link" and given.get("rel") not in ("stylesheet", "icon", "preload"))
            targets.append((tag if loads else "a", given[_LINKED[tag]]))
    faults += [f"a link has no text: {x}" for x in _links_without_text(text)]
    faults += [
        f"the anchor {x!r} is there more than once" for x in sorted({x for x in anchors if anchors.count(x) > 1})
    ]
    return Page(anchors, targets, faults)


def _links_without_text(text: str) -> Iterator[str]:
    """Return the targets of invisible links: without contents and without a label."""
    for rest, inner in _LINK.findall(text):
        given = {name.lower(): html.unescape(a or b or c) for name, a, b, c in _ATTRIBUTE.findall(rest)}
        says = given.get("aria-label", "").strip() or html.unescape(re.sub(r"<[^>]*>", "", inner)).strip()
        pictured = any(_NAMED.search(tag) for tag in re.findall(r"<[^>]*>", inner))
        if "href" in given and not says and not pictured:
            yield given["href"]


def faults_of_style(path: Path, root: Path) -> Iterator[str]:
    """Return the faults of a style sheet: loads from other hosts, and missing files."""
    for first, second in _CSS.findall(path.read_text(encoding="utf-8")):
        target = first or second
        if target.startswith(("data:", "#")):
            continue
        if "//" in target:
            yield f"{path.relative_to(root)}: loads {target}"
        elif not (path.parent / urlsplit(target).path).exists():
            yield f"{path.relative_to(root)}: there is no {target}"


def faults(root: Path) -> list[str]:
    """Return what is wrong with a site."""
    pages = {path: read(path) for path in sorted(root.rglob("*.html"))}
    anchors = {path: set(page.anchors) for path, page in pages.items()}
    found = [f"{path.relative_to(root)}: {x}" for path, page in pages.items() for x in page.faults]
    for path, page in pages.items():
        for tag, target in dict.fromkeys(page.targets):
            fault = _fault(path, tag, target, root, anchors)
            if fault:
                found.append(f"{path.relative_to(root)}: {fault}")
    found += [f"{path.relative_to(root)}: no link leads here" for path in sorted(_unreached(root, pages))]
    for path in sorted(root.rglob("*.css")):
        found += faults_of_style(path, root)
    if not pages:
        found.append(f"{root} has no pages")
    return found


def _unreached(root: Path, pages: dict[Path, Page]) -> set[Path]:
    """Return the pages that cannot be reached from the front page."""
    seen: set[Path] = set()
    waiting = [root / "index.html"]
    while waiting:
        path = waiting.pop()
        if path in seen or path not in pages:
            continue
        seen.add(path)
        waiting += [_place(path, target) for tag, target in pages[path].targets if tag == "a"]
    return set(pages) - seen


def _place(path: Path, target: str) -> Path:
    """Return the file that a link on a page names."""
    parts = urlsplit(target)
    where = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    return where / "index.html" if where.is_dir() else where


def _fault(path: Path, tag: str, target: str, root: Path, anchors: dict[Path, set[str]]) -> str:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        outside = parts.scheme not in ("data", "mailto") and tag != "a"
        return f"<{tag}> loads {target}" if outside else ""
    where = _place(path, target)
    if not where.is_relative_to(root) or not where.exists():
        return f"there is no {target}"
    if where == root / EXPLORER and "i=" in parts.fragment:
        return _fault_of_explorer_link(target, parts.fragment)
    if parts.fragment and where in anchors and unquote(parts.fragment) not in anchors[where]:
        return f"there is no anchor {target}"
    return ""


def _fault_of_explorer_link(target: str, fragment: str) -> str:
    asked = dict(parse_qsl(fragment))
    entry = INSTRUCTIONS.get(asked.get("i", ""))
    if entry is None or asked.get("chip") not in entry.archs:
        return f"the explorer has nothing to show for {target}"
    return ""


def main(arguments: list[str]) -> int:
    """Check the site in the folder that is named; 1 if anything is wrong."""
    options = {x for x in arguments if x.startswith("--")}
    if unknown := options - {"--browser", "--all"}:
        raise SystemExit(f"no option {' '.join(sorted(unknown))}: --browser, and --all with it")
    folders = [x for x in arguments if x not in options]
    root = Path(folders[0] if folders else "build/html").resolve()
    found = faults(root)
    if "--browser" in options:
        found += faults_in_browser(root, everything="--all" in options)
    for line in found:
        print(line)
    print(f"{len(list(root.rglob('*.html')))} pages of {root.name}: {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
