# SPDX-License-Identifier: MIT
"""Addresses of the project, and how it is installed: the one place in which either is written."""

DOCUMENTATION = ""
"""Address at which the documentation is hosted, with a slash at its end; "" as long as it is not."""

REPOSITORY = ""
"""Address of the repository at its code host; "" until it has an address.

`[project.urls]` of pyproject.toml and CITATION.cff also have these two addresses, if they are not empty; a test
compares them.
"""


def how_to_install(extra: str) -> str:
    """Describe how to install an extra, as the end or the middle of a sentence.

    The package is on no index: this is what works.

    Examples
    --------
    >>> how_to_install("nvrtc")
    "from a clone of wmma_emu: pip install '.[nvrtc]'"
    """
    return f"from a clone of wmma_emu: pip install '.[{extra}]'"
