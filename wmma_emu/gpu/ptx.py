# SPDX-License-Identifier: MIT
"""What does a GPU run: the PTX of a kernel that executes one row of the instruction table, tile after tile.

Registers lie in memory as the emulator has them: [register][tile][lane]. Each warp (or four of them together) takes
every so many results; for each it reads which tile of A, B, C and the metadata belong to it, so that a tile is stored
once however often it is used. Nothing here needs a GPU.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from wmma_emu.chips import TARGETS, Target
from wmma_emu.formats.table import FP4, FP6, FP8
from wmma_emu.gpu.kernel_body import IMAGE_ALIGNMENT, Options, body_of, inputs_of, is_shared, lanes_of
from wmma_emu.instructions import Instruction


def module(row: Instruction, target: str, options: Options | None = None) -> str:
    r"""Write the PTX of a kernel that executes an instruction on many tiles.

    Parameters
    ----------
    row : Instruction
    target : str
        ``"sm_80"``, ``"sm_90a"``: see `target_of`.
    options : Options, optional

    Returns
    -------
    str
        A module with the one kernel `kernel_name`. Its parameters, in order: for each operand the address of its
        tiles, that of a tile number a result, and how many tiles there are (for one in shared memory: bytes of a
        tile's image, and the descriptor); then the address of D, the number of results, and scale-d for `wgmma`.

    Examples
    --------
    >>> from wmma_emu.instructions import INSTRUCTIONS
    >>> row = INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]
    >>> print(*[x for x in module(row, "sm_90a").splitlines() if x.startswith((".target", "  mma"))], sep="\n")
    .target sm_90a
      mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%b0, %b1},
    {%c0, %c1, %c2, %c3};
    """
    chosen = options or Options()
    body = body_of(row, chosen)
    parameters = ",\n".join(f"  .param .{kind} {name}" for kind, name in _parameters(row, chosen))
    lines = "\n".join(f"  {line}" if line and not line.endswith(":") else line for line in body)
    return f"""// SPDX-License-Identifier: MIT
// {row.mnemonic}
.version {_version(row, target)}
.target {target}
.address_size 64
{_IMAGES if row.is_warpgroup else ""}
.visible .entry {kernel_name(row)}(
{parameters}
) .maxntid {lanes_of(row) if row.is_warpgroup else 256}, 1, 1
{{
{lines}
}}
"""


_IMAGES = f".extern .shared .align {IMAGE_ALIGNMENT} .b8 images[];\n"


def kernel_name(row: Instruction) -> str:
    """Name of an instruction's kernel: its mnemonic in letters, digits and underscores."""
    return re.sub(r"\W+", "_", row.mnemonic)


def target_of(number: int) -> str:
    """Name the PTX target of a chip, with the features that only it has where there are such.

    Examples
    --------
    >>> target_of(89), target_of(90)
    ('sm_89', 'sm_90a')
    """
    return f"sm_{number}{_chip(number).suffix}"


@dataclass(frozen=True, slots=True)
class _Needs:
    """Rows of the instruction table whose fields have one of the values named, and a version that knows them."""

    version: tuple[int, int]
    fields: dict[str, tuple[Any, ...]]
    source: str

    def of(self, row: Instruction) -> bool:
        """Whether it speaks of a row."""
        return all(getattr(row, name) in values for name, values in self.fields.items())


_EXACT = "ptxas 13.0, every kind of row under every version, 2026-11-21: the oldest that it takes"
_SUFFICES = "ptxas 13.0, every kind of row under every version, 2026-11-21: it takes all, and of most older ones too: "
_EXACT_NARROW = "ptxas 13.0, every row under every version, 2026-11-20: the oldest that it takes"
_MMA = ("mma.sync", "mma.sp", "mma.sp::ordered_metadata")
_WGMMA = ("wgmma", "wgmma.sp")

_NEEDS = (
    _Needs((7, 1), {"family": ("wmma.mma",)}, _SUFFICES + "only and.popc needs it"),
    _Needs((7, 8), {"family": ("mma.sync", "mma.sp")}, _SUFFICES + "6.4 to 7.1 but for e4m3, e5m2 and larger f64"),
    _Needs((8, 5), {"family": ("mma.sp::ordered_metadata",)}, _EXACT),
    _Needs((8, 0), {"family": ("wgmma",)}, _EXACT),
    _Needs((8, 2), {"family": ("wgmma.sp",)}, _EXACT),
    _Needs((8, 4), {"family": _MMA, "a": FP8}, _EXACT),
    _Needs((8, 7), {"family": _MMA, "a": FP8, "d": ("f16",)}, _EXACT),
    _Needs((8, 7), {"family": _MMA, "a": FP8, "shape": ("m16n8k16",)}, _EXACT),
    _Needs((8, 7), {"family": _MMA, "a": FP8, "modifiers": (("kind::f8f6f4",),)}, _SUFFICES + "8.6 of FP8 for f32"),
    _Needs((8, 7), {"family": _MMA, "a": FP6 + FP4}, _EXACT_NARROW),
    _Needs((8, 7), {"family": _MMA, "scale": ("ue8m0", "ue4m3")}, _EXACT_NARROW),
    _Needs(
        (9, 1),
        {"family": _MMA, "scale": ("ue8m0",), "scale_vec": (4,)},
        "ptxas 13.1, 2026-11-22: the oldest that it takes; 13.0, which ends with PTX 9.0, refuses it",
    ),
    _Needs((8, 4), {"family": _WGMMA, "a": ("s8",), "b": ("u8",)}, _EXACT),
    _Needs((8, 4), {"family": _WGMMA, "a": ("u8",), "b": ("s8",)}, _EXACT),
)


def _chip(number: int) -> Target:
    """Row of a chip; of one without a row of its own, the last before it."""
    return [x for x in TARGETS if x.number <= max(number, TARGETS[0].number)][-1]


def _version(row: Instruction, target: str) -> str:
    """Name a version of PTX that suffices for the instruction and the chip; an older one may suffice too."""
    needed = [x.version for x in _NEEDS if x.of(row)]
    return "{}.{}".format(*max(*needed, _chip(int(re.sub(r"\D", "", target))).ptx.value))


def _parameters(row: Instruction, options: Options) -> Iterator[tuple[str, str]]:
    """Type and name of every parameter of the kernel, in order."""
    for operand in inputs_of(row):
        yield from (("u64", operand), ("u64", f"{operand}_of"))
        if is_shared(row, options, operand):
            yield from (("u32", f"{operand}_bytes"), ("u64", f"{operand}_descriptor"))
        else:
            yield "u32", f"{operand}_tiles"
    yield from (("u64", "d"), ("u32", "results"))
    if row.is_warpgroup:
        yield "u32", "scale_d"
