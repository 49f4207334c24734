# SPDX-License-Identifier: MIT
"""One product on several chips: results side by side, and how far apart they are."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic import DotModel
from wmma_emu.display import render
from wmma_emu.errors import UnknownNameError
from wmma_emu.formats import format_of
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import from_bits, to_bits
from wmma_emu.formats.libraries import Carrier, Library, in_library, library_of
from wmma_emu.gemm.comparison_statistics import DistanceStatistics, ElementDifference, statistics_of, worst_of
from wmma_emu.gemm.k_order import KOrder
from wmma_emu.instructions import ARCHS, arch_of


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(Carrier):
    r"""One product on several chips. ``str()`` of it is a table; a notebook shows its picture.

    Parameters
    ----------
    results : dict
        From each chip's name, ``"sm_80"``, to D, in the order of the comparison. All else are NumPy arrays.
    instructions : dict
        The mnemonics; ``"fma.f32"`` for the CUDA cores' multiply-adds.
    models : dict
        The rows of the table of models.
    format : str
        Of the elements of D.
    reference : str
        The chip against which the others are held.
    ulps : dict
        Distances of each chip's elements from the reference's, uint64: steps between representable numbers, -0 and
        +0 being one number. `NOT_COMPARABLE`, the largest uint64, where one of them is NaN and the bits differ.
    differing : dict
        How many elements have other bits than the reference's.
    k_order : KOrder, optional
        In which order all of them add over k; None is a plain loop.

    Examples
    --------
    >>> import numpy as np, wmma_emu as we
    >>> A, B = np.full((1, 16), 1.75 * 2**-12, np.float16), np.full((16, 1), 2**-12, np.float16)
    >>> A[0, 0] = B[0, 0] = 1
    >>> found = we.compare_archs(A, B, archs=["a100", "h100"])
    >>> print(*found.worst("h100"), found.statistics("h100"), sep="\n")
    D[0, 0]: sm_80 0x3f800007 (1.0000008), sm_90 0x3f80000b (1.0000013): 4 ulps
    1 of 1 elements differ; median 4, mean 4, at most 4 ulps
    """

    results: Mapping[str, NDArray[Any]]
    instructions: Mapping[str, str]
    models: Mapping[str, DotModel]
    format: str
    reference: str
    ulps: Mapping[str, NDArray[np.uint64]]
    differing: Mapping[str, int]
    k_order: KOrder | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Of D."""
        return tuple(self.results[self.reference].shape)

    @property
    def library(self) -> Library | None:
        """Whose arrays the results are; None for NumPy's."""
        return library_of(self.results[self.reference])

    def in_library(self, library: Library | None) -> Self:
        """Return the same with results of torch or JAX, or of NumPy."""
        results = {arch: from_bits(self.bits(arch), self.format) for arch in self.results}
        return replace(self, results={arch: in_library(x, library) for arch, x in results.items()})

    def largest(self, arch: str) -> tuple[int, tuple[int, ...]] | None:
        """The largest distance of a chip's elements from the reference's, and where; None if all bits are equal.

        Raises
        ------
        UnsupportedInstructionError
            For a chip that is not in the comparison.
        """
        found = self.worst(arch, 1)
        return (found[0].ulps, found[0].index) if found else None

    def worst(self, arch: str, count: int = 5) -> tuple[ElementDifference, ...]:
        """The elements of a chip that are furthest from the reference's, the furthest first.

        NaN where the reference is none comes before every number, and a zero of the other sign after them. Elements
        of one distance come in the order of their indices. Elements with equal bits are never among them.

        Raises
        ------
        UnsupportedInstructionError
            For a chip that is not in the comparison, and a count that is no integer from 0 upwards.
        """
        name = self._name(arch)
        bits, reference_bits = self.bits(name), self.bits(self.reference)
        return tuple(
            ElementDifference(
                arch=name, reference=self.reference, index=where, ulps=int(self.ulps[name][where]),
                bits=int(bits[where]), reference_bits=int(reference_bits[where]),
                value=from_bits(bits[where], self.format)[()],
                reference_value=from_bits(reference_bits[where], self.format)[()], format=self.format,
            )
            for where in worst_of(self.ulps[name], bits != reference_bits, count)
        )  # fmt: skip

    def statistics(self, arch: str) -> DistanceStatistics:
        """How many of a chip's elements differ from the reference's, and how far: median, mean, a histogram.

        Raises
        ------
        UnsupportedInstructionError
            For a chip that is not in the comparison.
        """
        name = self._name(arch)
        return statistics_of(self.ulps[name], self.bits(name) != self.bits(self.reference))

    def bits(self, arch: str) -> Bits:
        """The patterns of a chip's result."""
        return to_bits(self.results[self._name(arch)], self.format, "D")

    def hex_bits(self, arch: str, where: tuple[int, ...]) -> str:
        """The pattern of one element, in hexadecimal digits."""
        return f"0x{int(self.bits(arch)[where]):0{format_of(self.format).bits // 4}x}"

    def to_dict(self, worst: int = 5) -> dict[str, Any]:
        """Return dictionaries, lists, numbers and strings, as `json` takes them: everything but the matrices.

        ``worst`` is how many of the elements that are furthest apart are named for each chip.
        """
        chips = []
        for arch, model in self.models.items():
            chips.append({
                "arch": arch, "generation": ARCHS[arch].generation, "instruction": self.instructions[arch],
                "lowering": model.lowering, "status": model.status, "source": model.source,
                "model": model.describe(), "model_name": model.name, **self.statistics(arch).to_dict(),
                "worst": [x.to_dict() for x in self.worst(arch, worst)],
            })  # fmt: skip
        return {
            "shape": list(self.shape), "format": self.format, "reference": self.reference,
            "k_order": None if self.k_order is None else asdict(self.k_order), "chips": chips,
        }  # fmt: skip

    def to_markdown(self) -> str:
        """The table as Markdown, with the median and the mean of the distances."""
        return str(render("comparison.md", self))

    def svg(self) -> str:
        """Draw the comparison: for each chip a panel, in which every element of D is a cell, coloured by its distance.

        Colours go by powers of two, and tell apart for people with colour-blindness; elements with the reference's bits
        have none. NaN and signs of zero have marks of their own. A pointer that rests on a cell is told index, bits and
        distance. Large matrices and batches are reduced: a cell is then the worst of a block, and the picture says so.
        """
        return str(render("comparison.svg", self))

    def save_svg(self, path: str | Path) -> None:
        """Write the picture that `svg` draws into a file, in UTF-8."""
        Path(path).write_text(self.svg(), encoding="utf-8")

    def _repr_html_(self) -> str:
        """The picture in a notebook. As HTML, where a pointer can rest on a cell; an image would not say anything."""
        named = 'tabindex="0" role="group" aria-label="Distances between the results"'
        return f'<div {named} style="overflow-x:auto">{self.svg()}</div>'

    def __str__(self) -> str:
        return str(render("comparison.txt", self))

    def _name(self, arch: str) -> str:
        name = arch_of(arch).name
        if name not in self.results:
            raise UnknownNameError(f"{name} is not compared here; there is {', '.join(self.results)}")
        return name
