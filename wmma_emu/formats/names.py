# SPDX-License-Identifier: MIT
"""The names of each format in addition to its PTX name: in CUDA C++, CuTe and Python, and colloquial names."""

from functools import cache

from wmma_emu.formats.other_names import OTHER_NAMES
from wmma_emu.formats.table import FORMATS

FORMAT_NAMES: dict[str, tuple[str, ...]] = {name: (name, *OTHER_NAMES.get(name, "").split()) for name in FORMATS}
"""All names of each format, PTX name first; a space is written ``_``. Some names stand for several formats: `fp8`."""


@cache
def _by_name() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, words in FORMAT_NAMES.items():
        for word in words:
            found[word] = (*found.get(word, ()), name)
    return found


def formats_called(name: str) -> tuple[str, ...]:
    """Return the PTX names of the formats that a name stands for; an empty tuple if it is unknown.

    Namespaces such as ``wmma::``, ``cutlass::`` and ``experimental::`` are ignored, and so is case.

    Examples
    --------
    >>> formats_called("half"), formats_called("FP8"), formats_called("nvcuda::wmma::precision::tf32")
    (('f16',), ('e4m3', 'e5m2'), ('tf32',))
    >>> formats_called("unsigned char"), formats_called("quad")
    (('u8',), ())
    """
    plain = "_".join(name.lower().split())
    for prefix in ("::", "nvcuda::", "wmma::", "cutlass::", "cute::", "detail::", "torch.", "jax.", "jnp.", "numpy.",
                   "np.", "ml_dtypes.", "experimental::"):  # fmt: skip
        plain = plain.removeprefix(prefix)
    return _by_name().get(plain, ())
