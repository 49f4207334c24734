# SPDX-License-Identifier: MIT
"""References to more information about a kind of finding: its page, and the command that prints it."""

from wmma_emu.documentation import DOCUMENTATION
from wmma_emu.ptx.findings.kinds import KINDS
from wmma_emu.spellings import as_spelled


def slug_of(kind: str) -> str:
    """Return a kind's name as it is written in file names and addresses.

    Examples
    --------
    >>> slug_of("race within a warp")
    'race-within-a-warp'
    """
    return kind.replace(" ", "-")


def kind_of_slug(slug: str) -> str | None:
    """Return the kind of a slug, or None if no kind has this slug.

    Examples
    --------
    >>> kind_of_slug("read-only"), kind_of_slug("uninitialized"), kind_of_slug("rice")
    ('read-only', 'uninitialised', None)
    """
    kinds = {slug_of(kind): kind for kind in KINDS}
    return kinds.get(as_spelled(slug, kinds))


def path_of(kind: str) -> str:
    """Return the path of a kind's page within the documentation, without a file extension.

    Examples
    --------
    >>> path_of("race")
    'reference/findings/race'
    """
    return f"reference/findings/{slug_of(kind)}"


def address_of(kind: str) -> str:
    """Return the address of a kind's page, or "" while the documentation is not published."""
    return f"{DOCUMENTATION}{path_of(kind)}.html" if DOCUMENTATION else ""


def page_of(kind: str) -> str:
    """Return the address of a kind's page, or the command that prints it.

    Examples
    --------
    >>> page_of("race within a warp")
    'wmma-emu finding race-within-a-warp'
    """
    return address_of(kind) or f"wmma-emu finding {slug_of(kind)}"
