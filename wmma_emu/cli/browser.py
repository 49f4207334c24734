# SPDX-License-Identifier: MIT
"""Opening a page in the browser, where there is one and somebody who looks; or saying how to open it."""

import os
import socket
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path

from wmma_emu.cli.terminal import Terminal


def reason_against(environment: Mapping[str, str], platform: str, is_terminal: bool) -> str | None:
    """Say why no browser is opened; None where one is: of the output of a program or a test, nobody looks at a browser.

    ``environment`` and ``platform`` are as of `os.environ` and `sys.platform`.

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
        return "standard output is no terminal"
    if environment.get("CI"):
        return "CI is set"
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        return "ssh"
    has_display = any(environment.get(x) for x in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"))
    return None if platform in ("darwin", "win32") or has_display else "there is no display"


def show_page(path: Path, wanted: bool, terminal: Terminal) -> str:
    """Open a page in the browser if that is wanted and possible; return what to say of it."""
    against = reason_against(os.environ, sys.platform, terminal.width is not None) if wanted else "it is not wanted"
    if against is None:
        try:
            if webbrowser.open(path.resolve().as_uri()):
                return "it opens in the browser"
        except webbrowser.Error:
            pass
        return "no browser was found: open it in one"
    if against == "ssh":
        return (
            "open it in a browser; over ssh none is opened here: "
            f"scp {socket.gethostname()}:{path.resolve()} . brings it to your machine"
        )
    if against == "there is no display":
        return "there is no display here: open it in a browser on a machine that has one"
    return "open it in a browser"
