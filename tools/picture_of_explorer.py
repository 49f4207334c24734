# SPDX-License-Identifier: MIT
"""Take the picture of the explorer that the front page of the documentation shows.

    python -m tools.picture_of_explorer docs/_static/explorer.png

It opens the explorer in Chromium at an instruction, asks where an element is, and takes the upper part of the page.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tools.site_in_browser import BROWSERS, OPTIONS
from wmma_emu.viz import explorer_page

INSTRUCTION = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
QUESTION = "A[9][3]"
WIDTH, HEIGHT, SCALE = 1440, 810, 1


def main(arguments: list[str]) -> int:
    """Write the picture to the file that is named."""
    (target,) = arguments
    browser_path = next(filter(None, map(shutil.which, BROWSERS)), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "explorer.html"
        page_file.write_text(explorer_page(), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=browser_path, args=OPTIONS)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SCALE)
        page.goto(f"{page_file.as_uri()}#i={INSTRUCTION}&chip=sm_90")
        page.fill("#question", QUESTION)
        page.press("#question", "Enter")
        page.evaluate("document.activeElement.blur(), window.scrollTo(0, 0)")
        page.screenshot(path=target)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
