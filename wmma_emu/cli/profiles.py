# SPDX-License-Identifier: MIT
"""The output of ``wmma-emu ptx profile``: a table, JSON, CSV or a page."""

from collections.abc import Callable

from wmma_emu.cli.terminal import Terminal
from wmma_emu.ptx import Profile

_WRITERS: dict[str, Callable[[Profile, str], str]] = {
    "json": lambda profile, by: profile.to_json(),
    "csv": lambda profile, by: profile.to_csv(by),
    "html": lambda profile, by: profile.to_html(),
}


def show_profile(profile: Profile, written: str, by: str, out: Terminal) -> None:
    """Write a profile in a format; ``by`` is whether a table has lines of the source ("line") or of the PTX ("ptx")."""
    if written in _WRITERS:
        out.raw(_WRITERS[written](profile, by))
        return
    out.written(profile.to_text(out.columns, by=by, color=out.has_colours))
