# SPDX-License-Identifier: MIT
"""``wmma-emu doctor``: the installed versions, and the packages that each extra would add."""

import platform
import re
import sys
from argparse import Namespace
from importlib.metadata import PackageNotFoundError, distribution, version

from wmma_emu.cli.choices import TEXT
from wmma_emu.cli.output import writing
from wmma_emu.cli.tables import Column, table_lines
from wmma_emu.cli.terminal import Terminal
from wmma_emu.documentation import how_to_install
from wmma_emu.version import __version__

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"extra\s*==\s*[\"']([^\"']+)[\"']")
_OWN = re.compile(r"wmma[-_]emu\[([^\]]+)\]")
"""An extra that requires other extras of this package."""

_NEEDED = ("numpy", "ml_dtypes")


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Write the installed versions and the extras."""
    with writing(arguments, TEXT, "doctor.txt", terminal) as out:
        out.fields([
            ("wmma-emu", __version__),
            ("Python", f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"),
            ("system", f"{platform.system()} {platform.release()}, {platform.machine()}"),
            *((name, _version(name) or "missing: pip install " + name) for name in _NEEDED),
        ], indent=0)  # fmt: skip
        out.line()
        extras = _extras()
        if not extras:
            out.line("The package is imported from a folder, not installed; pyproject.toml lists its extras.")
            return
        columns = (Column("extra"), Column("installed"), Column("missing"))
        out.lines(table_lines(columns, extras, out.width))
        out.line()
        out.text(f"To add a missing package, {how_to_install('EXTRA')}; only features that name an extra need it.")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _extras() -> list[list[str]]:
    """List the extras of the package, each with its installed and its missing packages."""
    try:
        required = distribution("wmma-emu").requires or []
    except PackageNotFoundError:
        return []
    found: dict[str, dict[str, str | None]] = {}
    joined: dict[str, list[str]] = {}
    for text in required:
        extra, name = _EXTRA.search(text), _NAME.match(text)
        if extra and name and _is_for_this_machine(text, extra[1]):
            if own := _OWN.match(text):
                joined[extra[1]] = own[1].split(",")
            else:
                found.setdefault(extra[1], {})[name[0]] = _version(name[0])
    for extra_name, others in joined.items():
        for other in others:
            found.setdefault(extra_name, {}).update(found.get(other, {}))
    return [
        [extra, ", ".join(f"{x} {y}" for x, y in names.items() if y), ", ".join(x for x, y in names.items() if not y)]
        for extra, names in found.items()
    ]  # fmt: skip


def _is_for_this_machine(requirement: str, extra: str) -> bool:
    """Return whether a requirement's marker holds on this machine; True if `packaging` is not installed."""
    try:
        from packaging.requirements import Requirement
    except ImportError:
        return True
    marker = Requirement(requirement).marker
    return marker is None or marker.evaluate({"extra": extra})
