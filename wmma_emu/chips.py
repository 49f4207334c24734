# SPDX-License-Identifier: MIT
"""The table of chips: one entry per chip, which inherits facts that it does not state."""

from dataclasses import dataclass, field
from typing import Generic, Literal, NamedTuple, TypeVar

from wmma_emu.drawn_types import drawn_by
from wmma_emu.evidence import Evidence, Run, Sourced
from wmma_emu.renamed import renamed_names

T = TypeVar("T")

WmmaGeneration = Literal["volta", "turing", "ampere"]


class ChipFact(NamedTuple, Generic[T]):
    """A value with its evidence."""

    value: T
    evidence: Evidence


@drawn_by("archs")
@dataclass(frozen=True, slots=True)
class Arch(Sourced):
    """One chip architecture: its PTX target, the generation's name, products, and other names.

    The entry means the chip with its architecture-specific features: ``sm_90`` is ``sm_90a`` too.

    Parameters
    ----------
    name : str
        The PTX target.
    number : int
    generation : str
    products, aliases : tuple of str
    evidence : Evidence
        The evidence for the names.
    suffixes : str
        Letters that may follow the number of its target: ``"a"`` architecture-specific, ``"f"`` family-specific.
    inherits : str
        The chip whose facts it inherits unless stated otherwise; empty if there is none.
    ptx : ChipFact of (int, int)
        A version of PTX that supports it.
    shared_kib : ChipFact of int
        The maximum shared memory of a block in KiB.
    wmma : ChipFact of str
        The generation of its WMMA fragments.
    tensor_memory : bool
        Whether it has tensor memory, and `tcgen05`.
    """

    name: str
    number: int
    generation: str
    products: tuple[str, ...]
    aliases: tuple[str, ...]
    evidence: Evidence
    suffixes: str = field(repr=False)
    inherits: str = field(repr=False)
    ptx: ChipFact[tuple[int, int]] = field(repr=False)
    shared_kib: ChipFact[int] = field(repr=False)
    wmma: ChipFact[WmmaGeneration] = field(repr=False)
    tensor_memory: bool = field(repr=False)

    def __str__(self) -> str:
        return self.name


ARCHS: dict[str, Arch] = {}
"""Every architecture by its PTX target, in the order of compute capability. An entry means the chip with its
architecture-specific features: ``sm_90`` is ``sm_90a`` too."""

_NAMED = Evidence(
    "documented", "CUDA C++ Programming Guide 13.0, compute capabilities; PTX ISA 9.0, .target; NVIDIA, CUDA GPUs"
)

_UNNAMED = Evidence("inferred", "the row of the chip names no source")

_MANUAL = Evidence("documented", "PTX ISA 9.1, release notes")
_ASSEMBLED = Evidence(
    "documented", "ptxas 13.0, an empty kernel under every version, 2026-11-21: the oldest that it takes"
)

_GUIDE = "CUDA C++ Programming Guide {}, compute capabilities: technical specifications (shared memory: opt-in)"
_GUIDE_12 = Evidence("documented", _GUIDE.format(12) + "; 13 no longer lists the chip")
_GUIDE_13 = Evidence("documented", _GUIDE.format("13.0"))

_READ = "read off the SASS of wmma.load and wmma.mma, ptxas 12.4"
_PAPERS = "; m16n16k16 as in Raihan et al., arXiv:1811.08309, tables II and III, and in wmma_extension"
_PROBED = "; measured on an NVIDIA H200, one element at a time, driver 580.159.04, CUDA 13.0, 2026-11-21"
_SASS = Evidence("inferred", _READ)
_SASS_AND_PAPERS = Evidence("inferred", _READ + _PAPERS)
_FRAGMENTS_RUN = Evidence("measured", _READ + _PROBED, Run("wmma fragments", "sm_90"))
_COUNTED = Evidence("inferred", "as on sm_80: ptxas 12.8 lowers wmma.mma to as many HMMA and IMMA as there")


def _chip(
    number: int,
    generation: str,
    aliases: str,
    products: str,
    *,
    ptx: ChipFact[tuple[int, int]],
    suffixes: str = "",
    shared_kib: ChipFact[int] | None = None,
    wmma: ChipFact[WmmaGeneration] | None = None,
    tensor_memory: bool | None = None,
    inherits: str = "",
    named: Evidence = _UNNAMED,
) -> None:
    """Add an entry; spellings of the target are aliases too, and omitted facts are inherited."""
    name = f"sm_{number}"
    if ARCHS and number <= max(x.number for x in ARCHS.values()):
        raise ValueError(f"{name} follows a later chip; entries are in the order of compute capability")
    if inherits and inherits not in ARCHS:
        raise ValueError(
            f"{name} inherits from {inherits}, which has no entry before it; entries are {', '.join(ARCHS)}"
        )
    for other in ARCHS.values():
        if taken := {*products.split(", "), *aliases.split(", ")}.intersection(other.products, other.aliases):
            raise ValueError(f"{name} has names that {other} already has: {', '.join(sorted(taken))}")
    names = (*(f"{name}{x}" for x in suffixes), *(f"compute_{number}{x}" for x in ("", *suffixes)),
             f"{number // 10}.{number % 10}", *aliases.split(", "))  # fmt: skip
    if inherits:
        like = ARCHS[inherits]
        of_family = number // 10 == like.number // 10
        relation = "of whose family of targets it is" if of_family else "from which it inherits"
        known = Evidence("inferred", f"as on {like}, {relation}")
        shared_kib = shared_kib or ChipFact(like.shared_kib.value, known)
        wmma = wmma or ChipFact(like.wmma.value, known)
        tensor_memory = like.tensor_memory if tensor_memory is None else tensor_memory
    if shared_kib is None or wmma is None:
        raise ValueError(f"{name} inherits from no chip, so its entry must state shared_kib and wmma")
    ARCHS[name] = Arch(
        name, number, generation, tuple(products.split(", ")), names, named, suffixes, inherits, ptx,
        shared_kib, wmma, bool(tensor_memory),
    )  # fmt: skip


_chip(
    70,
    "Volta",
    "volta, gv100",
    "v100, titan v, quadro gv100",
    named=_NAMED,
    ptx=ChipFact((6, 0), _MANUAL),
    shared_kib=ChipFact(96, _GUIDE_12),
    wmma=ChipFact("volta", _SASS_AND_PAPERS),
)
# Integer WMMA began on sm_72; its f16 fragments differ from those of sm_75. ptxas emits the machine code of sm_70 for
# its f16 products, so their arithmetic is inferred.
_chip(
    72,
    "Volta, Xavier",
    "xavier",
    "jetson agx xavier, jetson xavier nx",
    named=_NAMED,
    ptx=ChipFact((6, 1), _MANUAL),
    shared_kib=ChipFact(96, Evidence("inferred", "as sm_70")),
    wmma=ChipFact("volta", _SASS_AND_PAPERS),
)
_chip(
    75,
    "Turing",
    "turing, tu10x",
    "t4, titan rtx, rtx 20xx, quadro rtx 4000, quadro rtx 5000, quadro rtx 6000, quadro rtx 8000",
    named=_NAMED,
    ptx=ChipFact((6, 3), _ASSEMBLED),
    shared_kib=ChipFact(64, _GUIDE_13),
    wmma=ChipFact("turing", _SASS),
)
_chip(
    80,
    "Ampere",
    "ampere, ga100",
    "a100, a30, a800",
    named=_NAMED,
    ptx=ChipFact((7, 0), _ASSEMBLED),
    shared_kib=ChipFact(163, _GUIDE_13),
    wmma=ChipFact("ampere", _SASS),
)
_chip(
    86,
    "Ampere, GA10x",
    "ga10x, ampere ga10x",
    "a2, a10, a10g, a16, a40, rtx 30xx, rtx a2000, rtx a4000, rtx a5000, rtx a6000",
    named=_NAMED,
    ptx=ChipFact((7, 1), _ASSEMBLED),
    shared_kib=ChipFact(99, _GUIDE_13),
    wmma=ChipFact("ampere", _SASS),
)
_chip(
    89,
    "Ada Lovelace",
    "ada, lovelace, ada lovelace, ad10x",
    "l4, l40, l40s, rtx 40xx, rtx 1000 ada, rtx 2000 ada, rtx 4000 ada, rtx 5000 ada, rtx 6000 ada",
    named=_NAMED,
    ptx=ChipFact((7, 8), _ASSEMBLED),
    shared_kib=ChipFact(99, _GUIDE_13),
    wmma=ChipFact("ampere", _SASS),
)
_chip(
    90,
    "Hopper",
    "hopper",
    "h100, h200, gh200, h800, h20",
    suffixes="a",
    named=_NAMED,
    ptx=ChipFact((8, 0), _ASSEMBLED),
    shared_kib=ChipFact(227, _GUIDE_13),
    wmma=ChipFact("ampere", _FRAGMENTS_RUN),
)
_chip(
    100,
    "Blackwell",
    "blackwell, gb100",
    "b200, gb200",
    suffixes="af",
    tensor_memory=True,
    named=_NAMED,
    ptx=ChipFact((8, 6), _ASSEMBLED),
    shared_kib=ChipFact(227, _GUIDE_13),
    wmma=ChipFact("ampere", _COUNTED),
)
_chip(
    103,
    "Blackwell Ultra",
    "blackwell ultra, gb110",
    "b300, gb300",
    suffixes="af",
    inherits="sm_100",
    named=_NAMED,
    ptx=ChipFact((8, 8), _ASSEMBLED),
    shared_kib=ChipFact(227, _GUIDE_13),
)
_chip(
    120,
    "Blackwell, GB20x",
    "gb20x, blackwell gb20x",
    "rtx 50xx, rtx pro 2000, rtx pro 4000, rtx pro 4500, rtx pro 5000, rtx pro 6000",
    suffixes="af",
    named=_NAMED,
    ptx=ChipFact((8, 7), _ASSEMBLED),
    shared_kib=ChipFact(99, _GUIDE_13),
    wmma=ChipFact("ampere", _COUNTED),
)
_chip(
    121,
    "Blackwell, GB10",
    "gb10, blackwell gb10",
    "dgx spark",
    suffixes="af",
    inherits="sm_120",
    named=_NAMED,
    ptx=ChipFact((8, 8), _ASSEMBLED),
    shared_kib=ChipFact(99, _GUIDE_13),
)


TENSOR_MEMORY = tuple(name for name, chip in ARCHS.items() if chip.tensor_memory)
"""The chips with tensor memory, and `tcgen05`."""


class Target(NamedTuple):
    """A chip that PTX source may target: the suffix of its target, and a version of PTX that supports it."""

    number: int
    suffix: str
    ptx: ChipFact[tuple[int, int]]


TARGETS = tuple(sorted((
    *(Target(x.number, x.suffixes[:1], x.ptx) for x in ARCHS.values()),
    *(Target(number, suffix, ChipFact(version, _ASSEMBLED)) for number, suffix, version in (
        (87, "", (7, 4)), (88, "", (7, 3)), (110, "a", (9, 0))
    ) if f"sm_{number}" not in ARCHS),
)))  # fmt: skip
"""Every chip by its number, including those of which no other facts are known."""


__getattr__ = renamed_names(__name__, {"Fact": "ChipFact"})
