# SPDX-License-Identifier: MIT
"""Make a picture of a terminal: python -m tools.terminal_picture examples/first_hour docs/_static/caught-race.svg.

The commands are read from ``session.sh`` in the folder, one on a line. They run one after another in a copy of the
folder, each in a pseudo-terminal of 100 columns, and the picture shows their output. It needs no font of
the network.
"""

import argparse
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from fcntl import ioctl
from html import escape
from pathlib import Path
from termios import TIOCSWINSZ

COLUMNS = 100
MOST_LINES = 45
_FONT = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace'
_NAMES = "terminal"
_BACKGROUND, _FOREGROUND = (13, 17, 23), (230, 237, 243)
_COLOURS = [
    (72, 79, 88), (255, 123, 114), (126, 231, 135), (242, 204, 96),
    (121, 192, 255), (210, 168, 255), (118, 227, 234), (230, 237, 243),
]  # fmt: skip
"""Black to white as ANSI numbers them: each but the first stands out from the background by more than 7 to 1."""


def commands_of(folder: Path) -> list[str]:
    """Return the commands of a session; empty lines and comments are skipped."""
    lines = (folder / "session.sh").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def said_by(command: str, folder: Path, columns: int = COLUMNS) -> str:
    """Run a command in a pseudo-terminal, and return its output."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", MOST_LINES, columns, 0, 0))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    own = {"PATH": path, "TERM": "xterm-256color", "COLORTERM": "truecolor", "COLUMNS": str(columns)}
    running = subprocess.Popen(
        ["bash", "-c", command], cwd=folder, env={**os.environ, **own}, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    said = b"".join(_read(ours))
    os.close(ours)
    running.wait()
    return said.decode("utf-8", errors="replace").replace("\r\n", "\n")


def _read(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:  # the other side is closed
            return
        if not part:
            return
        yield part


def session(folder: Path, columns: int = COLUMNS) -> str:
    """Run the commands of a folder in a copy of it; return what a terminal would show, with its colours."""
    shown = []
    with tempfile.TemporaryDirectory() as work:
        copy = Path(work, folder.resolve().name)
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache", "session.sh"))
        for command in commands_of(folder):
            shown.append(f"\x1b[1;32m$\x1b[0m \x1b[1m{command}\x1b[0m\n" + said_by(command, copy, columns))
    return "\n".join(shown)


def picture(text: str, title: str, columns: int = COLUMNS) -> str:
    """Draw what a terminal shows as SVG, for readers of pictures and of text."""
    from rich.console import Console
    from rich.terminal_theme import TerminalTheme
    from rich.text import Text

    plain = Text.from_ansi(text)
    theme = TerminalTheme(_BACKGROUND, _FOREGROUND, _COLOURS, _COLOURS)
    console = Console(width=columns, record=True, file=open(os.devnull, "w", encoding="utf-8"), force_terminal=True)
    with console.file:
        console.print(plain, soft_wrap=True, end="")
        svg = console.export_svg(title=title, theme=theme, unique_id=_NAMES)
    svg = re.sub(r"@font-face \{.*?\}\n", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: (Fira Code, )?[^;]*;", f"font-family: {_FONT};", svg)
    named = f'role="img" aria-labelledby="{_NAMES}-title {_NAMES}-text" '
    said = f'<title id="{_NAMES}-title">{escape(title)}</title><desc id="{_NAMES}-text">{escape(plain.plain)}</desc>'
    svg = re.sub(r"<!-- Generated.*?-->\n", "", svg)
    return re.sub(r"<svg ([^>]*)>", lambda found: f"<svg {named}{found[1]}>{said}", svg, count=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--title", default="pytest names the race in gemm.cu, and passes when it is fixed")
    options = parser.parse_args()
    text = session(options.folder)
    lines = text.count("\n")
    if lines > MOST_LINES:
        raise SystemExit(f"{lines} lines are more than {MOST_LINES}:\n{text}")
    options.output.write_text(picture(text, options.title), encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
