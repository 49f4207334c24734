# SPDX-License-Identifier: MIT
"""Kernels of one access each, and the addresses that their lanes access: every width, stride and set of lanes."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

INACTIVE = 0xFFFFFFFF
"""The offset of a lane that does not take part."""

SHARED_BYTES = 32 << 10
"""The bytes of the shared or global memory that patterns address."""

_HEAD = """// SPDX-License-Identifier: MIT
.version 8.0
.target sm_90
.address_size 64
"""

_KERNEL = """
.visible .entry {name}(.param .u64 offsets, .param .u64 memory, .param .u64 out)
{{
  .reg .pred %p; .reg .b16 %h<3>; .reg .b32 %r<20>; .reg .b64 %d<12>; .reg .f32 %f<3>; .reg .f64 %e<2>;
  .shared .align 128 .b8 s[{shared}];{local}
  mov.u32 %r0, %tid.x;
  ld.param.u64 %d0, [offsets];
  mul.wide.u32 %d1, %r0, 4;
  add.u64 %d0, %d0, %d1;
  ld.global.u32 %r1, [%d0];
  ld.param.u64 %d2, [memory];
  ld.param.u64 %d3, [out];
  mul.wide.u32 %d4, %r0, 16;
  add.u64 %d3, %d3, %d4;
  setp.ne.u32 %p, %r1, 0xFFFFFFFF;
  mov.u32 %r2, s;
  add.u32 %r2, %r2, %r1;
  cvt.u64.u32 %d5, %r1;
  add.u64 %d2, %d2, %d5;
  mov.b32 %r3, %r0; mov.b32 %r4, %r0; mov.b32 %r5, %r0; mov.b32 %r6, %r0;
  mov.b64 %d6, %d4; mov.b64 %d7, %d4; cvt.u16.u32 %h1, %r0; mov.b32 %f1, 0f3F800000;
  cvt.rn.f64.u32 %e1, %r0;
  {access}
  {result}
  ret;
}}
"""

_LOADED = {
    "b8": ("%h1", "st.global.u16 [%d3], %h1;"), "b16": ("%h1", "st.global.u16 [%d3], %h1;"),
    "b32": ("%r3", "st.global.u32 [%d3], %r3;"), "b64": ("%d6", "st.global.u64 [%d3], %d6;"),
    "v2.b32": ("{%r3, %r4}", "st.global.v2.u32 [%d3], {%r3, %r4};"),
    "v4.b32": ("{%r3, %r4, %r5, %r6}", "st.global.v4.u32 [%d3], {%r3, %r4, %r5, %r6};"),
    "v2.b64": ("{%d6, %d7}", "st.global.v2.u64 [%d3], {%d6, %d7};"),
}  # fmt: skip
"""The registers of each type, and the store that uses them."""

_BYTES = {"b8": 1, "b16": 2, "b32": 4, "b64": 8, "v2.b32": 8, "v4.b32": 16, "v2.b64": 16}


_READING = {
    "none": "and.b32 %r8, %r0, 0;", "half": "and.b32 %r8, %r0, 1;", "never": "shr.u32 %r8, %r0, 5;",
    "all": "shr.u32 %r8, %r0, 5; xor.b32 %r8, %r8, 1;",
}  # fmt: skip
"""Whether a lane's copy reads, or fills with zeros: 1 or 0 in %r8. ptxas does not know "never" and "all"."""


class Form(NamedTuple):
    """A kernel of one access: ``size`` are the bytes that each lane addresses, ``machine`` the machine instruction."""

    name: str
    ptx: str
    size: int
    machine: str


def _form(name: str, access: str, size: int, machine: str, result: str = "") -> Form:
    return Form(
        name,
        _KERNEL.format(
            name=name,
            access=access,
            result=result,
            shared=SHARED_BYTES,
            local="\n  .local .align 16 .b8 a[1024];" * name.startswith("local"),
        ),
        size,
        machine,
    )


def forms() -> list[Form]:
    """Return all kernels."""
    found: list[Form] = []
    for space, address, letters in (("shared", "%r2", "S"), ("global", "%d2", "G")):
        for kind, (registers, result) in _LOADED.items():
            name = f"{space}_{{}}_{kind.replace('.', '_')}"
            found.append(_form(name.format("ld"), f"@%p ld.{space}.{kind} {registers}, [{address}];", _BYTES[kind],
                               f"LD{letters}", result))  # fmt: skip
            found.append(_form(name.format("st"), f"@%p st.{space}.{kind} [{address}], {registers};", _BYTES[kind],
                               f"ST{letters}"))  # fmt: skip
        for kind, value in (("add.u32", "%r3"), ("add.f32", "%f1"), ("exch.b32", "%r3"), ("add.u64", "%d6")):
            size = 8 if kind.endswith("64") else 4
            target = {"%r3": "%r4", "%f1": "%f2", "%d6": "%d7"}[value]
            stored = {"%r4": "st.global.u32 [%d3], %r4;", "%f2": "st.global.f32 [%d3], %f2;",
                      "%d7": "st.global.u64 [%d3], %d7;"}[target]  # fmt: skip
            found.append(_form(f"{space}_atom_{kind.replace('.', '_')}",
                               f"@%p atom.{space}.{kind} {target}, [{address}], {value};", size, f"ATOM{letters}",
                               stored))  # fmt: skip
            if not kind.startswith("exch"):
                found.append(_form(f"{space}_red_{kind.replace('.', '_')}",
                                   f"@%p red.{space}.{kind} [{address}], {value};", size,
                                   "RED" if space == "global" else "ATOMS"))  # fmt: skip
    for count, registers in ((1, "{%r3}"), (2, "{%r3, %r4}"), (4, "{%r3, %r4, %r5, %r6}")):
        for trans in ("", ".trans"):
            suffix = f"x{count}{trans.replace('.', '_')}"
            found.append(_form(f"ldmatrix_{suffix}",
                               f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {registers}, [%r2];", 16, "LDSM",
                               "st.global.v4.u32 [%d3], {%r3, %r4, %r5, %r6};"))  # fmt: skip
            found.append(_form(f"stmatrix_{suffix}",
                               f"stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r2], {registers};", 16,
                               "STSM"))  # fmt: skip
    for kind, size in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)):
        copy = f"@%p cp.async.{kind}.shared.global [%r2], [%d8], {size};\n  cp.async.wait_all;"
        to = f"sub.u64 %d8, %d2, %d5; mul.wide.u32 %d9, %r0, {size}; add.u64 %d8, %d8, %d9;"
        of = f"mov.u32 %r7, s; mad.lo.u32 %r2, %r0, {size}, %r7; mov.u64 %d8, %d2;"
        for direction, before in (("to", to), ("from", of)):
            found.append(_form(f"copy_{direction}_{kind}_{size}", f"{before}\n  {copy}", size, "LDGSTS"))
            for name, taken in _READING.items():
                given = f"{taken} mul.lo.u32 %r8, %r8, {size};"
                filled = copy.replace(f", {size};", f", {size}, %r8;")
                found.append(
                    _form(f"copy_{name}_{direction}_{kind}_{size}", f"{before} {given}\n  {filled}", size, "LDGSTS")
                )
    for kind, value, size in (("add.f64", "%e1", 8), ("min.u64", "%d6", 8), ("add.noftz.f16x2", "%r3", 4),
                              ("add.noftz.f16", "%h1", 2)):  # fmt: skip
        name = f"shared_red_{kind.replace('.noftz', '').replace('.', '_')}"
        found.append(_form(name, f"@%p red.shared.{kind} [%r2], {value};", size, "ATOMS"))
    found.append(_form("shared_red_inc", "@%p red.shared.add.u32 [%r2], 1;", 4, "ATOMS"))
    for kind in ("b8", "b32", "b64", "v4.b32"):
        registers, result = _LOADED[kind]
        there = "mov.u64 %d10, a; and.b32 %r1, %r1, 1008; cvt.u64.u32 %d5, %r1; add.u64 %d10, %d10, %d5;"
        back = "and.b64 %d5, %d4, 1008; xor.b64 %d5, %d5, 1008; mov.u64 %d11, a; add.u64 %d11, %d11, %d5;"
        found.append(
            _form(f"local_st_{kind.replace('.', '_')}",
                  f"{there} {back}\n  @%p st.local.{kind} [%d10], {registers};\n  ld.local.u8 %h1, [%d11];",
                  _BYTES[kind], "STL", "st.global.u16 [%d3], %h1;")
        )  # fmt: skip
        found.append(
            _form(f"local_ld_{kind.replace('.', '_')}",
                  f"{there} {back}\n  st.local.u8 [%d11], %h1;\n  @%p ld.local.{kind} {registers}, [%d10];",
                  _BYTES[kind], "LDL", result)
        )  # fmt: skip
    return found


def source() -> str:
    """Return the PTX of all kernels."""
    return _HEAD + "".join(x.ptx for x in forms())


def patterns(form: Form) -> Iterator[tuple[str, NDArray[np.uint32]]]:
    """Yield the patterns of offsets of a form, each with its name."""
    size = form.size
    is_matrix = "matrix" in form.name
    is_atomic = "_atom_" in form.name or "_red_" in form.name
    is_copy = form.name.startswith(tuple(f"copy_{x}_" for x in _READING))
    is_filled = is_copy or form.name.startswith("local_")
    for name, lanes in (*_patterns(form.name, size), *(_rows_of_a_tile(size) if is_copy else ())):
        if is_matrix and (lanes < 0).any():
            continue
        if is_atomic and not name.startswith(_OF_ATOMICS):
            continue
        if (form.name.endswith(_LESSER) or is_filled) and name not in _OF_LESSER:
            continue
        yield name, np.where(lanes < 0, INACTIVE, lanes).astype(np.uint32)


_LESSER = ("_b8", "_b16", "v2_b32", "v2_b64", "_trans", "copy_to_ca_4", "copy_from_ca_4", "x2")
"""The ends of the names of forms with another twin, which are measured at a few patterns."""

_OF_LESSER = (
    "stride 0", "stride 1", "stride 2", "stride 33", "shared by 2", "repeated after 4", "pitch 144", "rows of 8",
    *(f"tile with rows of {x}" for x in (32, 64, 128, 256)), *(f"swizzled rows of {x}" for x in (32, 64, 128)),
    "even lanes, stride 1", "the middle, stride 8", "drawn some 0", "drawn any 0",
)  # fmt: skip

_OF_ATOMICS = (
    "stride 0",
    "stride 1",
    "stride 2",
    "stride 32",
    "shared by 4",
    "shared by 2",
    "one lane, stride 1",
    "even lanes, stride 1",
    "drawn few",
    "drawn any 0",
)


def _patterns(form: str, size: int) -> Iterator[tuple[str, NDArray[np.int64]]]:
    lane = np.arange(32, dtype=np.int64)
    for stride in (0, 1, 2, 3, 4, 5, 8, 16, 17, 32, 33):
        yield f"stride {stride}", lane * stride * size
    for bytes_ in (128, 132, 136, 144, 256, 272):
        if bytes_ % size == 0:
            yield f"pitch {bytes_}", lane * bytes_
    for share in (2, 4, 8, 16):
        yield f"shared by {share}", lane // share * size
        yield f"repeated after {share}", lane % share * size
        yield f"shared by {share} far", lane // share * size * 33
        yield f"rows of {share}", lane % share * size + lane // share * 128
        yield f"rows of {share} padded", lane % share * size + lane // share * (128 + 16)
    yield "reversed", (31 - lane) * size
    yield "halves exchanged", (lane ^ 16) * size
    yield "even then odd", (lane % 2 * 16 + lane // 2) * size
    yield "misplaced by one", (lane + 1) * size
    yield "across a line", (lane + 24) * size
    for name, chosen in (
        ("the first half", lane < 16), ("the second half", lane >= 16), ("even lanes", lane % 2 == 0),
        ("one lane", lane == 5), ("one of four", lane % 4 == 3), ("the middle", (lane > 5) & (lane < 23)),
        ("no lane", lane < 0),
    ):  # fmt: skip
        yield f"{name}, stride 1", np.where(chosen, lane * size, -1)
        yield f"{name}, stride 8", np.where(chosen, lane * size * 8, -1)
    yield "first of two pairs alike", lane // 2 * 2 % 16 * size + lane // 16 * 512
    yield "first of halves at one address", lane % 16 * 0 + lane // 16 * 1024
    rng = np.random.Generator(np.random.PCG64([29, *form.encode()]))
    for name, most in (("few", 8), ("some", 64), ("any", SHARED_BYTES // size)):
        for i in range(4):
            yield f"drawn {name} {i}", _drawn(rng, most) * size


def _rows_of_a_tile(size: int) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield rows of some bytes that are 512 bytes apart; and rows one after another, swizzled."""
    byte = np.arange(32, dtype=np.int64) * size
    for row_bytes in (32, 64, 128, 256):
        row, at = byte // row_bytes, byte % row_bytes
        yield f"tile with rows of {row_bytes}", row * 512 + at
        if row_bytes < 256:
            yield f"swizzled rows of {row_bytes}", byte ^ byte // 128 % (row_bytes // 16) * 16


def _drawn(rng: np.random.Generator, most: int) -> NDArray[Any]:
    return (rng.integers(0, 1 << 32, 32, np.uint64) % np.uint64(most)).astype(np.int64)
