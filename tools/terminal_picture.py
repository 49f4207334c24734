# SPDX-License-Identifier: MIT
"""Record commands in a terminal and write what they print as an SVG picture.

    python -m tools.terminal_picture examples/first_hour -o docs/_static/caught-race.svg

The folder's ``session.sh`` has one command a line. They run in a copy of the folder, one after the other, on a
pseudo-terminal of a given width, so that programs print what they print to a person, colours included. The picture shows
each command behind a ``$`` and its output below it. It needs no network: text is set in the reader's monospaced font.
"""

import argparse
import fcntl
import io
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from html import escape
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

WIDTH = 92
LIMIT = 600
"""Seconds that one command may take."""

_FONTS = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"
_SECONDS = re.compile(r"\bin \d+\.\d+ ?s\b")


def run_in_terminal(command: str, folder: Path, width: int = WIDTH) -> str:
    """Run a command with bash on a pseudo-terminal and return what it printed, escape sequences included."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "TERM": "xterm-256color", "PYTHONDONTWRITEBYTECODE": "1"}
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "CI", "PYTEST_ADDOPTS"):
        environment.pop(name, None)
    with subprocess.Popen(
        ["bash", "-c", command], cwd=folder, env=environment, stdin=slave, stdout=slave, stderr=slave, close_fds=True
    ) as process:
        os.close(slave)
        output = _read_all(master)
        process.wait(LIMIT)
    return output.replace("\r\n", "\n")


def _read_all(terminal: int) -> str:
    """Read until the last program has closed its end, which Linux reports as an input/output error."""
    pieces = []
    try:
        while piece := os.read(terminal, 65536):
            pieces.append(piece)
    except OSError:
        pass
    finally:
        os.close(terminal)
    return b"".join(pieces).decode("utf-8")


def session(folder: Path, width: int = WIDTH) -> list[tuple[str, str]]:
    """Run the commands of a folder's ``session.sh`` in a copy of it; return each with its output."""
    commands = [
        line for line in (folder / "session.sh").read_text(encoding="utf-8").splitlines()
        if line.strip() and not line.startswith("#")
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(shutil.copytree(folder, Path(scratch) / folder.name))
        return [(command, run_in_terminal(command, copy, width)) for command in commands]


def plain(text: str) -> str:
    """Take escape sequences and measured seconds out of an output, which leaves what is the same in every run."""
    return _SECONDS.sub("in ... s", Text.from_ansi(text).plain)


def picture(steps: list[tuple[str, str]], title: str, description: str, width: int = WIDTH) -> str:
    """Draw commands and their outputs as an SVG picture of a terminal."""
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for number, (command, output) in enumerate(steps):
        if number:
            console.print()
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
        if output.strip():
            console.print(Text.from_ansi(output.strip("\n")))
    svg = console.export_svg(title=title, theme=MONOKAI, unique_id="terminal")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: [^;]+;", f"font-family: {_FONTS};", svg)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    named = f'<svg role="img" aria-label="{escape(description)}" '
    svg = "\n".join(line.rstrip() for line in svg.replace("<svg ", named, 1).splitlines() if line.strip())
    return svg + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--title", default="")
    parser.add_argument("--description", default="A terminal: commands and what they print")
    parser.add_argument("--width", type=int, default=WIDTH, help="columns of the terminal")
    options = parser.parse_args()
    steps = session(options.folder, options.width)
    options.output.write_text(
        picture(steps, options.title, options.description, options.width), encoding="utf-8"
    )
    for command, output in steps:
        print(f"$ {command}\n{plain(output)}")


if __name__ == "__main__":
    main()
