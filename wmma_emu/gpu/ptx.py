# SPDX-License-Identifier: MIT
"""What does a GPU run: the PTX of a kernel that executes one row of the instruction table, tile after tile.

Registers lie in memory as the emulator has them: [register][tile][lane]. Each warp (or four of them together) takes
every so many results; for each it reads which tile of A, B, C and the metadata belong to it, so that a tile is stored
once however often it is used. Nothing here needs a GPU.
"""

import re
from collections.abc import Iterator

from wmma_emu.chips import TARGETS, Target
from wmma_emu.gpu.kernel_body import IMAGE_ALIGNMENT, Immediates, body_of, inputs_of, is_shared, lanes_of
from wmma_emu.instructions import Instruction
from wmma_emu.instructions.table import GROUPS


def module(row: Instruction, target: str, options: Immediates | None = None) -> str:
    r"""Write the PTX of a kernel that executes an instruction on many tiles, for a target that `target_of` names.

    The module has the one kernel `kernel_name`. Its parameters, in order: for each operand the address of its tiles,
    that of a tile number a result, and how many tiles there are (for one in shared memory: bytes of a tile's image, and
    the descriptor); then the address of D, the number of results, and scale-d for `wgmma`.

    Examples
    --------
    >>> from wmma_emu.instructions import INSTRUCTIONS
    >>> row = INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]
    >>> print(*[x for x in module(row, "sm_90a").splitlines() if x.startswith((".target", "  mma"))], sep="\n")
    .target sm_90a
      mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, {%b0, %b1},
    {%c0, %c1, %c2, %c3};
    """
    chosen = options or Immediates()
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


def _chip(number: int) -> Target:
    """Row of a chip; of one without a row of its own, the last before it."""
    return [x for x in TARGETS if x.number <= max(number, TARGETS[0].number)][-1]


def _version(row: Instruction, target: str) -> str:
    """Name a version of PTX that suffices for the instruction and the chip; an older one may suffice too."""
    needed = GROUPS[row.mnemonic].ptx_version(row)
    return "{}.{}".format(*max(needed, _chip(int(re.sub(r"\D", "", target))).ptx.value))


def _parameters(row: Instruction, options: Immediates) -> Iterator[tuple[str, str]]:
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
