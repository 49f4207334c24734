# SPDX-License-Identifier: MIT
"""The revision of the package: its checkout's, or the one that it was installed from."""

import json
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

_DIGITS = 12


@cache
def revision() -> str:
    """Return the revision, with ``-dirty`` if files of the checkout are changed; empty if it is unknown."""
    checkout = Path(__file__).parents[3]
    return _of_checkout(checkout) if (checkout / ".git").exists() else _of_installation()


def _of_checkout(folder: Path) -> str:
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", f"--abbrev={_DIGITS}", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):  # git is not installed
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _of_installation() -> str:
    """Return the commit that pip recorded for an installation from a repository."""
    try:
        text = distribution("wmma-emu").read_text("direct_url.json")
        return str(json.loads(text or "{}").get("vcs_info", {}).get("commit_id", ""))[:_DIGITS]
    except (PackageNotFoundError, ValueError):
        return ""
