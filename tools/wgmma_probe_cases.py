# SPDX-License-Identifier: MIT
"""Where does `wgmma` read its operands in shared memory? Cases whose D is the operand itself, element by element.

    python -m tools.wgmma_probe_cases [--gpu] [--all-n]

Without ``--gpu`` the emulator answers its own cases. With it the GPU does: the command prints every case whose D is
different, and where the GPU read instead; and what it does with descriptors that the emulator refuses, if `execute`
lets them pass.

B is probed with rows of A that have a single 1, in column k: so row k of D is row k of B. A is probed with columns of
B that have a single 1. Memory is random, and an element is found again by its values in several such memories.
"""

import argparse
import itertools
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import wmma_emu.gpu
from tools.recording_inputs import random_words
from wmma_emu.errors import WmmaEmuError
from wmma_emu.formats import Format
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import from_bits
from wmma_emu.instructions import arch_of, lookup
from wmma_emu.layouts import pack_metadata
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.layouts.shared_memory import addresses
from wmma_emu.layouts.shared_memory_table import SWIZZLES, Major
from wmma_emu.warp.warpgroup import BoundWarpgroupInstruction, SharedOperand

SHAPES = {
    "f16": "k16.f32.f16.f16", "bf16": "k16.f32.bf16.bf16", "tf32": "k8.f32.tf32.tf32", "e4m3": "k32.f32.e4m3.e4m3",
    "e5m2": "k32.f32.e5m2.e5m2", "s8": "k32.s32.s8.s8", "u8": "k32.s32.u8.u8", "b1": "k256.s32.b1.b1.and.popc",
}  # fmt: skip
SPARSE_SHAPES = {
    "f16": "k32.f32.f16.f16", "bf16": "k32.f32.bf16.bf16", "tf32": "k16.f32.tf32.tf32", "e4m3": "k64.f32.e4m3.e4m3",
    "s8": "k64.s32.s8.s8",
}  # fmt: skip
COLUMNS = (8, 16, 24, 32, 64, 80, 144, 256)
"""n: less than an atom, whole atoms, and one more than whole ones, for every swizzle; all exist for integers too."""

MEMORIES = {1: 40, 8: 5, 16: 3, 32: 3}
"""The number of random memories that distinguish all addresses, by bits of an element."""

Execute = Callable[..., NDArray[Any]]


@dataclass
class DescriptorProbe:
    """One descriptor. ``where`` is (rows, k) addresses, rows of A or columns of B; None where the emulator refuses."""

    name: str
    ins: BoundWarpgroupInstruction
    operand: str
    shared: SharedOperand
    where: NDArray[np.int64] | None
    question: str = ""
    launches: list[dict[str, Any]] = field(default_factory=list)
    """Arguments of `execute`, each with ``probed``: which k its D shows, along rows (B) or columns (A)."""

    def observe(self, execute: Execute) -> Bits:
        """Return the operand as the hardware reads it: (memories, rows, k), as patterns of D."""
        entry = self.ins.instruction
        rows, k = (entry.m, entry.terms) if self.operand == "a" else (entry.n, entry.k)
        seen: Any = None
        for launch in self.launches:
            given = {name: value for name, value in launch.items() if name != "probed"}
            d = self.ins.d.unpack_bits(execute(self.ins, **given))
            probed, shown = launch["probed"], d if self.operand == "a" else d.swapaxes(-1, -2)
            if seen is None:
                seen = np.zeros((*d.shape[:-2], rows, k), d.dtype)
            seen[..., probed] = shown[..., : len(probed)]
        return np.asarray(seen)

    def expected(self) -> Bits | None:
        """Return the elements that the emulator reads, None if it rejects the descriptor."""
        if self.where is None:
            return None
        return self.observe(lambda ins, **given: ins.execute(**given))

    def locate(self, seen: Bits) -> NDArray[np.int64]:
        """Return the address of each element: (rows, k), in bits for b1; -1 if it is not in the memory."""
        fmt = (self.ins.a if self.operand == "a" else self.ins.b).format
        elements = _elements(self.shared.memory, fmt)
        shown = _as_d(elements, fmt)
        step = max(fmt.bits // 8, 1)
        by_value = {tuple(values): step * at for at, values in enumerate(shown.T.tolist())}
        columns = seen.reshape(len(seen), -1).T.tolist()
        return np.array([by_value.get(tuple(x), -1) for x in columns]).reshape(seen.shape[1:])


def cases(columns: Sequence[int] = COLUMNS) -> Iterator[DescriptorProbe]:
    """Return all cases: B of every given n, A, sparse ones, shifted starts, and illegal descriptors."""
    for kind, shapes in (("wgmma", SHAPES), ("wgmma.sp", SPARSE_SHAPES)):
        for (name, shape), swizzle in itertools.product(shapes.items(), SWIZZLES):
            integers = name in ("s8", "u8", "b1")
            for n in columns:
                if not integers or n in (8, 24) or n % 16 == 0:
                    yield from _of_operand(f"{kind}.m64n{n}{shape}", "b", swizzle)
            widest = {"b1": 256}.get(name, int(shape[1:].split(".")[0]))
            yield from _of_operand(f"{kind}.m64n{widest}{shape}", "a", swizzle)


def _of_operand(mnemonic: str, operand: str, swizzle: int) -> Iterator[DescriptorProbe]:
    ins = BoundWarpgroupInstruction(lookup(mnemonic, "sm_90"), arch_of("sm_90"))
    fmt = (ins.a if operand == "a" else ins.b).format
    majors: tuple[Major, ...] = ("k", "mn") if fmt.bits == 16 else ("k",)
    for major in majors:
        for name, fields, question in _descriptors(ins, operand, fmt, swizzle, major):
            yield _case(f"{mnemonic} {operand} {major} {swizzle} {name}", ins, operand, fields, major, question)


def _descriptors(
    ins: BoundWarpgroupInstruction, operand: str, fmt: Format, swizzle: int, major: Major
) -> Iterator[tuple[str, MatrixDescriptor, str]]:
    """Return Descriptors of one operand: atoms along lines first, across lines first, and shifted ones."""
    entry, mode = ins.instruction, SWIZZLES[swizzle]
    rows, k = (entry.m, entry.terms) if operand == "a" else (entry.n, entry.k)
    lines, along = (rows, k) if major == "k" else (k, rows)
    atoms = -(-along * fmt.bits // 8 // mode.line_bytes)
    atom = mode.atom_bytes
    if major == "k" and swizzle:
        if atoms > 1:
            offsets = {"leading": lines * mode.line_bytes, "stride": atom}
            yield "beyond the lines", MatrixDescriptor(0, **offsets, swizzle=swizzle), ""
            return
        pairs = ((16, atom), (4096 + 16, 2 * atom))
    elif (major == "mn") == bool(swizzle):
        pairs = ((atom * (lines // 8), atom), (atom, atom * (atoms + 1)))
    else:
        pairs = ((atom, atom * atoms), (atom * (lines // 8 + 1), atom))
    if major == "mn" and not swizzle:
        pairs = tuple((stride, leading) for leading, stride in pairs)
    for name, (leading, stride) in zip(("compact", "other"), pairs, strict=True):
        yield name, MatrixDescriptor(0, leading, stride, swizzle), ""
    leading, stride = pairs[0]
    if entry.n not in (24, entry.k, entry.terms):
        return
    yield "shifted by a pattern", MatrixDescriptor(2048, leading, stride, swizzle), ""
    if not swizzle:
        yield "shifted by 16", MatrixDescriptor(16, leading, stride, swizzle), ""
        return
    inside = mode.line_bytes - along * fmt.bits // 8
    if inside > 0:
        yield "late in the line", MatrixDescriptor(inside, leading, stride, swizzle), ""
    for base in range(1, 8):
        yield f"base offset {base}", MatrixDescriptor(128 * base, leading, stride, swizzle, base), ""
        if base & mode.mask:
            yield f"start at {128 * base}", MatrixDescriptor(128 * base, leading, stride, swizzle), ""
            yield f"only base offset {base}", MatrixDescriptor(0, leading, stride, swizzle, base), ""
    if lines > 8:
        yield "stride", MatrixDescriptor(0, leading, stride + 128, swizzle), ""


def _case(
    name: str, ins: BoundWarpgroupInstruction, operand: str, fields: MatrixDescriptor, major: Major, question: str
) -> DescriptorProbe:
    entry = ins.instruction
    fmt = (ins.a if operand == "a" else ins.b).format
    rows, k = (entry.m, entry.terms) if operand == "a" else (entry.n, entry.k)
    try:
        where = addresses(fields, rows, k, fmt, major)
    except WmmaEmuError:
        where = None
    if where is None and not question:
        raise ValueError(f"{name}: the emulator refuses {fields}")
    size = 65536 if where is None else int(where.max()) // (8 if fmt.bits < 8 else 1) + 16
    memory = _memory(name, fmt, -(-size // 16) * 16)
    case = DescriptorProbe(name, ins, operand, SharedOperand(memory, fields.encode(), major == "mn"), where, question)
    case.launches = list(_probe_a(ins, case.shared) if operand == "a" else _probe_b(ins, case.shared))
    return case


def _memory(name: str, fmt: Format, size: int) -> NDArray[np.uint8]:
    """Return random normal numbers, no two places alike in all memories together, as good as surely."""
    count = MEMORIES[fmt.bits]
    raw = random_words(f"wgmma probe|{name}", count * size // 8).view(np.uint8).reshape(count, size).copy()
    if not fmt.is_float:
        return raw
    words = raw.view(f"<u{fmt.bits // 8}")
    field_bits = (1 << fmt.exponent_bits) - 1
    shift = fmt.fraction_bits + fmt.ignored_low_bits
    exponents = words >> shift & field_bits
    middle = exponents % (field_bits - 2) + 1  # neither subnormal, nor infinite, nor NaN
    mask = words.dtype.type(field_bits << shift)
    words[...] = (words & ~mask) | (middle << words.dtype.type(shift)).astype(words.dtype)
    return raw


def _elements(memory: NDArray[np.uint8], fmt: Format) -> Bits:
    """Return all elements that could be read: (memories, places)."""
    if fmt.bits < 8:
        return np.unpackbits(memory, axis=-1, bitorder="little")
    return memory.view(f"<u{fmt.bits // 8}")


def _as_d(elements: Bits, fmt: Format) -> Bits:
    """Return patterns of D that an element times 1 plus 0 gives: its value in f32 or s32."""
    if fmt.name == "tf32":
        return elements & np.uint32(0xFFFFE000)
    if fmt.is_float:
        return from_bits(elements.astype(fmt.storage), fmt).astype(np.float32).view(np.uint32)
    return elements.astype(np.uint32) if not fmt.signed else elements.view(np.int8).astype(np.int32).view(np.uint32)


def _one(fmt: Format) -> int:
    return fmt.bias << (fmt.fraction_bits + fmt.ignored_low_bits) if fmt.is_float else 1


def _probe_b(ins: BoundWarpgroupInstruction, shared: SharedOperand) -> Iterator[dict[str, Any]]:
    entry, fmt = ins.instruction, ins.a.format
    for first in range(0, entry.k, 64):
        probed = np.arange(first, min(first + 64, entry.k))
        A = np.zeros((64, entry.k), fmt.storage)
        A[np.arange(len(probed)), probed] = _one(fmt)
        options = {}
        if entry.is_sparse:
            packed, options["metadata"] = ins.compress(from_bits(A, fmt))
            a = ins.a.pack(packed)
        else:
            a = ins.a.pack_bits(A)
        yield {"a": a, "b": shared, "c": _zeros(ins), **options, "probed": probed}


def _probe_a(ins: BoundWarpgroupInstruction, shared: SharedOperand) -> Iterator[dict[str, Any]]:
    entry, fmt = ins.instruction, ins.b.format
    k = np.arange(entry.terms)
    options = {}
    if entry.is_sparse:
        k = 2 * k if entry.a == "tf32" else 4 * (k // 2) + k % 2
        options["metadata"] = pack_metadata(entry, np.broadcast_to(k, (64, entry.terms)))
    B = np.zeros((entry.k, entry.n), fmt.storage)
    B[k, np.arange(entry.terms)] = _one(fmt)
    yield {"a": shared, "b": from_bits(B, fmt), "c": _zeros(ins), **options, "probed": np.arange(entry.terms)}


def _zeros(ins: BoundWarpgroupInstruction) -> NDArray[Any]:
    return np.zeros((ins.c.num_registers, 4, 32), np.uint32)


def check(case: DescriptorProbe, execute: Execute) -> str:
    """Return one line: equal, or where the difference is; where the emulator refuses, what was found."""
    try:
        seen = case.observe(execute)
    except WmmaEmuError as error:  # before the GPU sees the descriptor
        return f"refused: {error}"
    expected = case.expected()
    if expected is not None and np.array_equal(seen, expected):
        return "equal"
    found = case.locate(seen)
    shown = found[[0, 1, -1]][:, [0, 1, found.shape[1] // 2, -1]].tolist()
    if expected is None or case.where is None:
        return f"open ({case.question}): rows 0, 1, last; k 0, 1, half, last: {shown}"
    at = np.argwhere(found != case.where)
    first = tuple(at[0].tolist()) if len(at) else None
    return f"DIFFERENT in {len(at)} of {found.size}, first {first}: read {shown}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--gpu", action="store_true", help="execute on the GPU")
    parser.add_argument("--all-n", action="store_true", help="B of every n")
    parser.add_argument("--only", default="", help="regular expression that the names of cases must contain")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    on_gpu = partial(wmma_emu.gpu.execute, checked=False)
    execute: Execute = on_gpu if options.gpu else (lambda ins, **given: ins.execute(**given))
    counts: dict[str, int] = {}
    columns = range(8, 257, 8) if options.all_n else COLUMNS
    every = [case for case in cases(columns) if re.search(options.only, case.name)]
    # What the emulator refuses comes last: should the GPU refuse it too, the rest has been seen.
    for case in sorted(every, key=lambda case: case.where is None):
        if case.where is None and not options.gpu:
            continue
        answer = check(case, execute)
        kind = answer.split()[0]
        counts[kind] = counts.get(kind, 0) + 1
        if kind != "equal":
            print(f"{case.name}: {answer}")
    print(counts)


if __name__ == "__main__":
    main()
