# SPDX-License-Identifier: MIT
"""The either of the documentation."""

DOCUMENTATION = ""
"""The address at which the documentation is hosted, with a trailing slash; "" while it is not hosted."""

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
