# SPDX-License-Identifier: MIT
"""Addresses of the project, and how it is installed: the one place in which either is written."""

DOCUMENTATION = ""
"""Address at which the documentation is hosted, with a slash at its end; "" as long as it is not."""

REPOSITORY = ""
"""Address of the repository at its code host; "" as long as it has none.

`[project.urls]` of pyproject.toml and CITATION.cff have these two as well, once they are there; a test compares them.
"""


def how_to_install(extra: str) -> str:
    """Say how an extra is installed, behind which the sentence may go on.

    The package is on no index: this is what works.

    Examples
    --------
    >>> how_to_install("nvrtc")
    "from a clone of wmma_emu: pip install '.[nvrtc]'"
    """
    return f"from a clone of wmma_emu: pip install '.[{extra}]'"
