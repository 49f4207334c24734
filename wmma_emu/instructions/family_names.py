# SPDX-License-Identifier: MIT
"""Other names of instruction families and of products with block scales, and their lookup."""

from wmma_emu.formats import format_of

_OTHER_NAMES = {
    "wmma.mma": "wmma dense mma_sync fragment load_matrix_sync store_matrix_sync nvcuda experimental mma.h matrix_a "
    "matrix_b accumulator",
    "mma.sync": "mma dense",
    "mma.sp": "mma sp sparse",
    "mma.sp::ordered_metadata": "mma sp sparse ordered",
    "wgmma": "warpgroup gmma mma_async dense",
    "wgmma.sp": "wgmma warpgroup gmma mma_async sp sparse",
    "tcgen05.mma": "tcgen05 tensor memory tmem umma dense",
    "tcgen05.mma.sp": "tcgen05 tensor memory tmem umma sparse",
    "tcgen05.mma.ws": "tcgen05 tensor memory tmem umma dense",
    "tcgen05.mma.ws.sp": "tcgen05 tensor memory tmem umma sparse",
}

FAMILY_NAMES: dict[str, tuple[str, ...]] = {name: (name, *words.split()) for name, words in _OTHER_NAMES.items()}
"""Every name of every family, its PTX name first. A name can mean several families, such as ``sparse``."""


def families_called(name: str) -> tuple[str, ...]:
    """Return the PTX names of the families that a name means, ignoring case; an empty tuple if there are none.

    Examples
    --------
    >>> families_called("WGMMA"), families_called("quad")
    (('wgmma', 'wgmma.sp'), ())
    """
    word = name.strip().casefold()
    return tuple(family for family, words in FAMILY_NAMES.items() if word in words)


def names_of_scaled(scale: str, a: str) -> tuple[str, ...]:
    """Return the names of products with block scales, given the formats of the scales and of A.

    Examples
    --------
    >>> names_of_scaled("ue4m3", "e2m1"), names_of_scaled("ue8m0", "e3m2")
    (('block', 'scaled', 'scales', 'nvfp4'), ('block', 'scaled', 'scales', 'microscaling', 'mx', 'mxfp6'))
    """
    kind = ("nvfp4",) if scale == "ue4m3" else ("microscaling", "mx", f"mxfp{format_of(a).bits}")
    return ("block", "scaled", "scales", *kind)
