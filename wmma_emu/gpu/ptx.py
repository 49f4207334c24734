# SPDX-License-Identifier: MIT
"""The PTX of a kernel that executes one entry of the instruction table, tile after tile.

Registers are stored in memory as in the emulator: [register][tile][lane]. Each warp (or four of them together) takes
results at a fixed stride; for each it reads the numbers of its tiles of A, B, C and metadata, so that a tile is stored
once however often it is used. This module does not need a GPU.
"""

import re
from collections.abc import Iterator

from wmma_emu.chips import TARGETS, Target
from wmma_emu.gpu.kernel_body import IMAGE_ALIGNMENT, Immediates, body_of, inputs_of, is_shared, lanes_of
from wmma_emu.instructions import Instruction
from wmma_emu.instructions.table import GROUPS


def module(entry: Instruction, target: str, options: Immediates | None = None) -> str:
    r"""Write the PTX of a kernel that executes an instruction on many tiles, for a target from `target_of`.

    The module has one kernel, `kernel_name`. Its parameters, in order: for each operand the address of its tiles, the
    address of one tile number per result, and the number of tiles (for an operand in shared memory: the bytes of a
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
    chosen = options or Immediates()
    body = body_of(entry, chosen)
    parameters = ",\n".join(f"  .param .{kind} {name}" for kind, name in _parameters(entry, chosen))
    lines = "\n".join(f"  {line}" if line and not line.endswith(":") else line for line in body)
    return f"""// SPDX-License-Identifier: MIT
// {entry.mnemonic}
.version {_version(entry, target)}
.target {target}
.address_size 64
{_IMAGES if entry.is_warpgroup else ""}
.visible .entry {kernel_name(entry)}(
{parameters}
) .maxntid {lanes_of(entry) if entry.is_warpgroup else 256}, 1, 1
{{
{lines}
}}
"""


_IMAGES = f".extern .shared .align {IMAGE_ALIGNMENT} .b8 images[];\n"


def kernel_name(entry: Instruction) -> str:
    """Return the name of an instruction's kernel: its mnemonic with underscores for other characters."""
    return re.sub(r"\W+", "_", entry.mnemonic)


def target_of(number: int) -> str:
    """Return the PTX target of a chip, with its chip-specific features if it has any.

    Examples
    --------
    >>> target_of(89), target_of(90)
    ('sm_89', 'sm_90a')
    """
    return f"sm_{number}{_chip(number).suffix}"


def _chip(number: int) -> Target:
    """Return the entry of a chip; if it has no entry, the last one before it."""
    return [x for x in TARGETS if x.number <= max(number, TARGETS[0].number)][-1]


def _version(entry: Instruction, target: str) -> str:
    """Return a version of PTX that is sufficient for the instruction and the chip, not always the oldest one."""
    needed = GROUPS[entry.mnemonic].ptx_version(entry)
    return "{}.{}".format(*max(needed, _chip(int(re.sub(r"\D", "", target))).ptx.value))


def _parameters(entry: Instruction, options: Immediates) -> Iterator[tuple[str, str]]:
    """Yield type and name of every parameter of the kernel, in order."""
    for operand in inputs_of(entry):
        yield from (("u64", operand), ("u64", f"{operand}_of"))
        if is_shared(entry, options, operand):
            yield from (("u32", f"{operand}_bytes"), ("u64", f"{operand}_descriptor"))
        else:
            yield "u32", f"{operand}_tiles"
    yield from (("u64", "d"), ("u32", "results"))
    if entry.is_warpgroup:
        yield "u32", "scale_d"
