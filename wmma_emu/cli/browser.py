# SPDX-License-Identifier: MIT
"""Pages opened in the browser where one is available, or a message that explains how to open them."""

import os
import socket
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path

from wmma_emu.cli.terminal import Terminal


def reason_against(environment: Mapping[str, str], platform: str, is_terminal: bool) -> str | None:
    """Return why no browser is opened, or None if one is; output of programs and tests never opens a browser.

    ``environment`` and ``platform`` have the form of `os.environ` and `sys.platform`.

    Examples
    --------
    >>> reason_against({"DISPLAY": ":0"}, "linux", True) is None
    True
    >>> reason_against({}, "linux", True), reason_against({"CI": "true"}, "darwin", True)
    ('there is no display', 'CI is set')
    >>> reason_against({"SSH_CONNECTION": "192.0.2.1 50000 192.0.2.2 22"}, "linux", True)
    'ssh'
    """
    if not is_terminal:
        return "standard output is not a terminal"
    if environment.get("CI"):
        return "CI is set"
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        return "ssh"
    has_display = any(environment.get(x) for x in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"))
    return None if platform in ("darwin", "win32") or has_display else "there is no display"


def show_page(path: Path, wanted: bool, terminal: Terminal) -> str:
    """Open a page in the browser if requested and possible; return a message about the outcome."""
    against = reason_against(os.environ, sys.platform, terminal.width is not None) if wanted else "not requested"
    if against is None:
        try:
            if webbrowser.open(path.resolve().as_uri()):
                return "it opens in the browser"
        except webbrowser.Error:
            pass
        return "no browser was found: open it in one"
    if against == "ssh":
        return (
            "open it in a browser; over ssh no browser is opened: "
            f"scp {socket.gethostname()}:{path.resolve()} . copies it to your machine"
        )
    if against == "there is no display":
        return "this machine has no display: open it in a browser on another machine"
    return "open it in a browser"
