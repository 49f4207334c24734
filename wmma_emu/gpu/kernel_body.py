# SPDX-License-Identifier: MIT
"""The body of a kernel: loads of an instruction's operands, the instruction, and stores of D."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from wmma_emu.instructions import OPERANDS, Instruction, Operand
from wmma_emu.layouts.block_scales import SCALED
from wmma_emu.layouts.spec import LANES
from wmma_emu.warp.block_scales import Selectors

IMAGE_ALIGNMENT = 1024
"""The alignment of an operand in shared memory, in bytes: the repeat of the widest swizzle."""


@dataclass(frozen=True, slots=True)
class Immediates:
    """The parts of an instruction's text in addition to its mnemonic: immediates, and the location of A.

    The selector is for sparse metadata; ``scales`` select the bytes and lanes of the block scales; the others are for
    `wgmma`: imm-scale-a and -b, imm-trans-a and -b for 16-bit formats, and whether A is in shared memory too.
    """

    selector: int = 0
    negate_a: bool = False
    negate_b: bool = False
    transpose_a: bool = False
    transpose_b: bool = False
    a_shared: bool = False
    scales: Selectors = field(default_factory=Selectors)


def body_of(entry: Instruction, options: Immediates) -> Iterator[str]:
    """Return the lines of an instruction's kernel, whose parameters `wmma_emu.gpu.ptx.module` documents."""
    return (_warpgroup if entry.is_warpgroup else _warp)(entry, options)


def inputs_of(entry: Instruction) -> tuple[str, ...]:
    """Return the operands that a kernel loads, in the order of its parameters."""
    return ("a", "b", "c", *_in_one_register(entry))


def _in_one_register(entry: Instruction) -> tuple[str, ...]:
    """Return the operands of one register per lane, whatever the shape: metadata, block scales."""
    return ("metadata",) * entry.is_sparse + ("scale_a", "scale_b") * entry.is_block_scaled


def is_shared(entry: Instruction, options: Immediates, operand: str) -> bool:
    """Return whether an operand is copied into shared memory."""
    return entry.is_warpgroup and (operand == "b" or (operand == "a" and options.a_shared))


def lanes_of(entry: Instruction) -> int:
    """Return the number of threads that execute it together: 32, or 128 for four warps."""
    return LANES * entry.warps


def register_type(format_name: str) -> str:
    """Return the type of the PTX registers for elements of a format.

    Accumulators in f32 and f64 have f32 and f64 registers; everything else is packed, as bits.

    Examples
    --------
    >>> register_type("f32"), register_type("f64"), register_type("f16"), register_type("tf32"), register_type("s32")
    ('f32', 'f64', 'b32', 'b32', 'b32')
    """
    return {"f32": "f32", "f64": "f64"}.get(format_name, "b32")


_DECLARED = """.reg .pred %done;
.reg .b32 %thread, %lane, %result, %results, %together, %tile, %tiles, %index;
.reg .b64 %at, %step;"""


def _head(entry: Instruction) -> list[str]:
    """Number the threads that execute together, and exit when no result is left."""
    lanes = lanes_of(entry)
    return [
        "// the lane, and the result that it begins with",
        "mov.u32 %index, %ctaid.x;",
        "mov.u32 %together, %ntid.x;",
        "mov.u32 %lane, %tid.x;",
        "mad.lo.u32 %thread, %index, %together, %lane;",
        f"and.b32 %lane, %thread, {lanes - 1};",
        f"shr.u32 %result, %thread, {lanes.bit_length() - 1};",
        "mov.u32 %index, %nctaid.x;",
        "mul.lo.u32 %together, %together, %index;",
        f"shr.u32 %together, %together, {lanes.bit_length() - 1};",
        "ld.param.u32 %results, [results];",
        "next:",
        "setp.ge.u32 %done, %result, %results;",
        "@%done bra end;",
    ]


_TAIL = ["add.u32 %result, %result, %together;", "bra.uni next;", "end:", "ret;"]


def _tile_of(operand: str) -> list[str]:
    """Read the number of this result's tile of an operand."""
    return [
        f"ld.param.u64 %at, [{operand}_of];",
        "mad.wide.u32 %at, %result, 4, %at;",
        "ld.global.u32 %tile, [%at];",
    ]


def _registers(operand: str, register: str, count: int, bits: int, lanes: int) -> Iterator[str]:
    """Load the registers of an operand, or store the registers of D: [register][tile][lane]."""
    size = bits // 8
    is_d = operand == "d"
    tile, tiles = ("%result", "%results") if is_d else ("%tile", "%tiles")
    yield f"// {operand}: {count} registers of tile {tile}"
    if not is_d:
        yield from _tile_of(operand)
        yield f"ld.param.u32 %tiles, [{operand}_tiles];"
    yield f"ld.param.u64 %at, [{operand}];"
    yield f"mad.lo.u32 %index, {tile}, {lanes}, %lane;"
    yield f"mad.wide.u32 %at, %index, {size}, %at;"
    yield f"mul.wide.u32 %step, {tiles}, {lanes * size};"
    for i in range(count):
        yield f"st.global.b{bits} [%at], %{register}{i};" if is_d else f"ld.global.b{bits} %{register}{i}, [%at];"
        if i + 1 < count:
            yield "add.u64 %at, %at, %step;"


def _bits(entry: Instruction, operand: Operand) -> int:
    return max(32, entry.format(operand).bits)


def _list(register: str, count: int) -> str:
    return "{" + ", ".join(f"%{register}{i}" for i in range(count)) + "}"


def _warp(entry: Instruction, options: Immediates) -> Iterator[str]:
    """Return the body of the kernel for an instruction that one warp executes on its registers."""
    for operand in OPERANDS:
        count = entry.registers(operand)
        yield f".reg .{register_type(entry.format(operand).name)} %{operand}<{count}>;"
    for name in _in_one_register(entry):
        yield f".reg .b32 %{name}<1>;"
    yield from _DECLARED.splitlines()
    yield from _head(entry)
    for operand in OPERANDS[:3]:
        yield from _registers(operand, operand, entry.registers(operand), _bits(entry, operand), LANES)
    for name in _in_one_register(entry):
        yield from _registers(name, name, 1, 32, LANES)
    written = [_list(x, entry.registers(x)) for x in ("d", "a", "b", "c")]
    if entry.is_sparse:
        written += ["%metadata0", hex(options.selector)]
    for operand in SCALED if entry.is_block_scaled else ():
        byte_id, thread_id = options.scales.of(operand)
        written += [f"{{%scale_{operand}0}}", f"{{{byte_id}, {thread_id}}}"]
    yield f"{entry.mnemonic} {', '.join(written)};"
    yield from _registers("d", "d", entry.registers("d"), _bits(entry, "d"), LANES)
    yield from _TAIL


def _warpgroup(entry: Instruction, options: Immediates) -> Iterator[str]:
    """Return the body of the kernel for `wgmma`: B, and A if requested, are copied into shared memory first."""
    lanes = lanes_of(entry)
    count = entry.registers("d")
    yield f".reg .{register_type(entry.d)} %d<{count}>;"
    if not options.a_shared:
        yield f".reg .b32 %a<{entry.registers('a')}>;"
    if entry.is_sparse:
        yield ".reg .b32 %metadata<1>;"
    yield from _DECLARED.splitlines()
    yield ".reg .pred %copied, %scale_d;"
    yield ".reg .b32 %image, %bytes, %offset, %w0, %w1, %w2, %w3;"
    yield ".reg .b64 %a_descriptor, %b_descriptor, %start;"
    yield from _head(entry)
    yield f"// images begin at multiples of {IMAGE_ALIGNMENT} bytes"
    yield "mov.u32 %image, images;"
    yield f"add.u32 %image, %image, {IMAGE_ALIGNMENT - 1};"
    yield f"and.b32 %image, %image, {-IMAGE_ALIGNMENT & 0xFFFFFFFF:#x};"
    for operand in ("a", "b"):
        if is_shared(entry, options, operand):
            yield from _image(operand, lanes)
    yield "fence.proxy.async.shared::cta;"
    yield "bar.sync 0;"
    if not options.a_shared:
        yield from _registers("a", "a", entry.registers("a"), 32, lanes)
    yield from _registers("c", "d", count, 32, lanes)
    if entry.is_sparse:
        yield from _registers("metadata", "metadata", 1, 32, lanes)
    yield "ld.param.u32 %index, [scale_d];"
    yield "setp.ne.u32 %scale_d, %index, 0;"
    yield "wgmma.fence.sync.aligned;"
    written = [_list("d", count), "%a_descriptor" if options.a_shared else _list("a", entry.registers("a"))]
    written.append("%b_descriptor")
    if entry.is_sparse:
        written += ["%metadata0", hex(options.selector)]
    written += ["%scale_d", *_immediates(entry, options)]
    yield f"{entry.mnemonic} {', '.join(written)};"
    yield "wgmma.commit_group.sync.aligned;"
    yield "wgmma.wait_group.sync.aligned 0;"
    yield from _registers("d", "d", count, 32, lanes)
    yield "bar.sync 0;"
    yield from _TAIL


def _immediates(entry: Instruction, options: Immediates) -> Iterator[str]:
    """Return the signs of A and B, for floating point, and transposition, for 16-bit formats in shared memory."""
    if not entry.format("a").is_float:
        return
    yield "-1" if options.negate_a else "1"
    yield "-1" if options.negate_b else "1"
    if entry.format("a").bits == 16:
        if options.a_shared:
            yield str(int(options.transpose_a))
        yield str(int(options.transpose_b))


def _image(operand: str, lanes: int) -> Iterator[str]:
    """Copy the image of a tile into shared memory, 16 bytes per thread, and set its start in the descriptor."""
    yield f"// {operand}: the image of its tile; 16 bytes a thread"
    yield from _tile_of(operand)
    yield f"ld.param.u32 %bytes, [{operand}_bytes];"
    yield "mul.wide.u32 %step, %tile, %bytes;"
    yield f"ld.param.u64 %at, [{operand}];"
    yield "add.u64 %at, %at, %step;"
    yield "shl.b32 %offset, %lane, 4;"
    yield "cvt.u64.u32 %step, %offset;"
    yield "add.u64 %at, %at, %step;"
    yield f"{operand}_copy:"
    yield "setp.ge.u32 %copied, %offset, %bytes;"
    yield f"@%copied bra {operand}_copied;"
    yield "ld.global.v4.b32 {%w0, %w1, %w2, %w3}, [%at];"
    yield "add.u32 %index, %image, %offset;"
    yield "st.shared.v4.b32 [%index], {%w0, %w1, %w2, %w3};"
    yield f"add.u32 %offset, %offset, {16 * lanes};"
    yield f"add.u64 %at, %at, {16 * lanes};"
    yield f"bra {operand}_copy;"
    yield f"{operand}_copied:"
    yield "// a descriptor counts in units of 16 bytes, of the address's low 18 bits"
    yield "and.b32 %index, %image, 0x3ffff;"
    yield "shr.u32 %index, %index, 4;"
    yield "cvt.u64.u32 %start, %index;"
    yield f"ld.param.u64 %{operand}_descriptor, [{operand}_descriptor];"
    yield f"add.u64 %{operand}_descriptor, %{operand}_descriptor, %start;"
    yield "add.u32 %image, %image, %bytes;"
    yield f"add.u32 %image, %image, {IMAGE_ALIGNMENT - 1};"
    yield f"and.b32 %image, %image, {-IMAGE_ALIGNMENT & 0xFFFFFFFF:#x};"
