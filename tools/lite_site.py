# SPDX-License-Identifier: MIT
"""Build a JupyterLite site of the lessons: python -m tools.lite_site dist/wmma_emu-*.whl site.

It needs ``pip install jupyterlite-core jupyterlite-pyodide-kernel jupyter_server``. The site is one folder of files,
with the package's wheel in it; a browser that opens it fetches Python, NumPy and ml_dtypes from the address of Pyodide.
"""

import argparse
import ast
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

LESSONS = Path(__file__).parents[1] / "docs/lessons"


def notebook_for_a_browser(book: dict[str, Any]) -> dict[str, Any]:
    """Return a lesson whose first cell installs as a kernel in a browser can, which starts no other process."""
    (setup,) = (cell for cell in book["cells"] if cell["id"] == "setup")
    needed = [line for line in setup["source"] if line.startswith("NEEDED = ")]
    names = " ".join(name.replace("_", "-") for name in ast.literal_eval(needed[0].partition("=")[2].strip()))
    install = {**setup, "metadata": {}, "source": [f"%pip install -q {names}"]}
    return {**book, "cells": [install if cell is setup else cell for cell in book["cells"]]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="the package's wheel")
    parser.add_argument("site", type=Path, help="the folder to be written")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        contents = Path(work, "contents")
        contents.mkdir()
        for path in sorted(LESSONS.glob("*.ipynb")):
            book = notebook_for_a_browser(json.loads(path.read_text(encoding="utf-8")))
            (contents / path.name).write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        build = [sys.executable, "-m", "jupyterlite_core", "build", "--lite-dir", work, "--contents", str(contents)]
        build += ["--piplite-wheels", str(options.wheel.resolve()), "--output-dir", str(options.site.resolve())]
        subprocess.run(build, check=True, cwd=work)


if __name__ == "__main__":
    main()
