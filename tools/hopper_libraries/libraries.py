# SPDX-License-Identifier: MIT
"""The list of kernels: the library of each, the host program that launches it, and how that is compiled."""

from itertools import product
from typing import NamedTuple

__all__ = ["LIBRARIES", "PROGRAMS", "Library", "LibraryProgram"]


class Library(NamedTuple):
    """A library: its name on the command line, its repository on GitHub, and where its headers are in a checkout."""

    name: str
    repository: str
    included: tuple[str, ...]


LIBRARIES = {
    x.name: x
    for x in (
        Library("cutlass", "NVIDIA/cutlass", ("include", "tools/util/include")),
        Library("flash-attention", "Dao-AILab/flash-attention", ("hopper",)),
        Library("deep-gemm", "deepseek-ai/DeepGEMM", ("deep_gemm/include",)),
        Library("thunder-kittens", "HazyResearch/ThunderKittens", ("include", "prototype", "kernels/gemm/bf16_h100")),
        Library("tile-lang", "tile-ai/tilelang", ("src", "3rdparty/cutlass/include")),
    )
}
"""A checkout of TileLang is the folder of its installed package, which has generated the kernel, too."""


class LibraryProgram(NamedTuple):
    """A host program.

    Parameters
    ----------
    name : str
        Of the binary, the recordings and the row of the table.
    file : str
        In the folder ``programs`` of this package, without its ending.
    library : str
        Whose kernel it launches.
    flags : tuple of str
        Of nvcc, as in the library's own build.
    with_cutlass : bool
        Whether the library needs CUTLASS, which a checkout of it does not hold.
    only : str
        A regular expression of the names of kernels that are recorded.
    """

    name: str
    file: str
    library: str
    flags: tuple[str, ...]
    with_cutlass: bool = False
    only: str = "."

    @property
    def ptx_name(self) -> str:
        """The name of its PTX."""
        return self.file

    @property
    def row(self) -> str:
        """The line that tells the script how to run it."""
        return f"{self.name}\t{self.only}\t1\t"


_ELEMENTS = {"f16": "half_t", "bf16": "bfloat16_t"}


def _attention(element: str, size: int, causal: bool) -> LibraryProgram:
    chosen = (f"-DELEMENT={_ELEMENTS[element]}", f"-DHEAD_DIM={size}", f"-DCAUSAL={str(causal).lower()}")
    name = f"flash_attention_3_{element}_{size}{'_causal' if causal else ''}"
    flags = ("-std=c++17", "-O3", "--use_fast_math", *chosen)
    return LibraryProgram(name, "flash_attention_3", "flash-attention", flags, with_cutlass=True)


PROGRAMS = (
    LibraryProgram("deep_gemm_bf16", "deep_gemm_bf16", "deep-gemm", ("-std=c++20", "-O3"), with_cutlass=True),
    LibraryProgram("deep_gemm_fp8", "deep_gemm_fp8", "deep-gemm", ("-std=c++20", "-O3"), with_cutlass=True),
    LibraryProgram(
        "thunder_kittens_bf16", "thunder_kittens", "thunder-kittens",
        ("-std=c++20", "-O3", "--use_fast_math", "-DKITTENS_HOPPER"), only="lcf",
    ),
    LibraryProgram("tile_lang_f16", "tile_lang", "tile-lang", ("-std=c++17", "-O3")),
    *(_attention(*x) for x in product(_ELEMENTS, (64, 128), (False, True))),
)  # fmt: skip
"""In the order in which they are built; what takes longest comes last."""
