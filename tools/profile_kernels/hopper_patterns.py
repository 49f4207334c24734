# SPDX-License-Identifier: MIT
"""Kernels of one ``wgmma``, of one bulk copy, and of mbarrier operations."""

from collections.abc import Iterator

_HEAD = """// SPDX-License-Identifier: MIT
.version 8.2
.target sm_90a
.address_size 64
"""

_PRODUCT = """
.visible .entry {name}(.param .u64 out)
{{
  .reg .pred %p; .reg .b32 %r<12>; .reg .b64 %d<8>; .reg .{accumulator} %f<{registers}>;
  .shared .align 1024 .b8 s[49152];
  ld.param.u64 %d0, [out];
  mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1;
  mov.u32 %r1, s; bfe.u32 %r2, %r1, 4, 14; cvt.u64.u32 %d2, %r2;
  or.b64 %d3, %d2, {descriptor}; add.u64 %d4, %d3, 1024;
  setp.ne.u32 %p, %r0, 9999;
  {zeros}
  mov.b32 %r4, 0; mov.b32 %r5, 0; mov.b32 %r6, 0; mov.b32 %r7, 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n{n}k{k}.{types} {{{results}}}, {a}, %d4, %p{modifiers};
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  st.global.b32 [%d0], %f0;
  ret;
}}
"""

_KINDS = {
    "f16": ("f32", "f32.f16.f16", 16, ", 1, 1{a}, 0"), "tf32": ("f32", "f32.tf32.tf32", 8, ", 1, 1"),
    "e4m3": ("f32", "f32.e4m3.e4m3", 32, ", 1, 1"), "s8": ("s32", "s32.s8.s8", 32, ""),
}  # fmt: skip
"""The type of D, the types, k, and the modifiers of each kind of product."""

_SWIZZLES = {"none": (0, 128, 256), "32": (3, 16, 256), "64": (2, 16, 512), "128": (1, 16, 1024)}
"""The layout type, and the leading and the stride byte offset, of each swizzle."""

_COPY = """
.visible .entry {name}(.param .u64 memory)
{{
  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<4>;
  .shared .align 128 .b8 s[16384]; .shared .align 8 .b64 barrier;
  ld.param.u64 %d0, [memory];
  mov.u32 %r0, %tid.x; mov.u32 %r1, s; mov.u32 %r2, barrier;
  setp.ne.u32 %p, %r0, 0;
  @%p bra WAIT;
  mbarrier.init.shared.b64 [%r2], 1;
  fence.proxy.async;
  {copy}
WAIT:
  bar.sync 0;
  {wait}
  ret;
}}
"""

_IN = """mbarrier.arrive.expect_tx.shared.b64 %d1, [%r2], {size};
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d0], {size}, [%r2];"""
_OUT = """cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r1], {size};
  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"""
_ADD = _OUT.replace("cp.async.bulk.global", "cp.reduce.async.bulk.global").replace(
    "bulk_group [", "bulk_group.add.u32 [", 1
)


_SIZES = 16, 32, 64, 128, 256, 1024, 4096, 16384


def _products() -> Iterator[tuple[str, str]]:
    for kind, (accumulator, types, k, modifiers) in _KINDS.items():
        for n in (8, 16, 32, 64, 128, 256) if kind == "f16" else (8, 64, 256):
            for swizzle, (layout, leading, stride) in _SWIZZLES.items():
                for source in ("shared", "registers"):
                    if swizzle != "128" and (n not in (8, 64) or kind != "f16"):
                        continue
                    count = n // 2
                    descriptor = layout << 62 | (stride >> 4) << 32 | (leading >> 4) << 16
                    name = f"wgmma_{kind}_n{n}_{swizzle}_{source}"
                    yield name, _PRODUCT.format(
                        name=name, accumulator=accumulator, registers=count, n=n, k=k, types=types,
                        descriptor=f"0x{descriptor:x}", results=", ".join(f"%f{i}" for i in range(count)),
                        zeros=" ".join(f"mov.b32 %f{i}, 0;" for i in range(count)),
                        a="%d3" if source == "shared" else "{%r4, %r5, %r6, %r7}",
                        modifiers=modifiers.format(a=", 0" if source == "shared" else ""),
                    )  # fmt: skip


def _more_products() -> Iterator[tuple[str, str]]:
    """Yield products with matrices that are not K-major, and with a sparse A."""
    layout, leading, stride = _SWIZZLES["128"]
    descriptor = f"0x{layout << 62 | (stride >> 4) << 32 | (leading >> 4) << 16:x}"
    for n in (8, 64, 256):
        results = ", ".join(f"%f{i}" for i in range(n // 2))
        zeros = " ".join(f"mov.b32 %f{i}, 0;" for i in range(n // 2))
        for name, k, types, a, modifiers in (
            ("across", 16, "f32.f16.f16", "%d3", ", 1, 1, 1, 1"), ("sparse", 32, "f32.f16.f16", "%d3", ", 1, 1, 0, 0"),
            ("sparse_registers", 32, "f32.f16.f16", "{%r4, %r5, %r6, %r7}", ", 1, 1, 0"),
        ):  # fmt: skip
            text = _PRODUCT.format(
                name=f"wgmma_{name}_n{n}", accumulator="f32", registers=n // 2, n=n, k=k, types=types,
                descriptor=descriptor, results=results, zeros=zeros, a=a, modifiers=modifiers,
            )  # fmt: skip
            if name != "across":
                text = text.replace("mma_async.sync", "mma_async.sp.sync").replace("%d4, %p,", "%d4, %r4, 0, %p,")
            yield f"wgmma_{name}_n{n}", text


def _copies() -> Iterator[tuple[str, str]]:
    for direction, copy in (("in", _IN), ("out", _OUT), ("add", _ADD)):
        for size in _SIZES:
            name = f"bulk_{direction}_{size}"
            wait = "SPIN: mbarrier.try_wait.shared.b64 %p, [%r2], 0; @!%p bra SPIN;" if direction == "in" else ""
            yield name, _COPY.format(name=name, copy=copy.format(size=size), wait=wait)
    yield "mbarrier_arrive", _COPY.format(
        name="mbarrier_arrive", copy="mbarrier.arrive.shared.b64 %d1, [%r2];",
        wait="mbarrier.test_wait.shared.b64 %p, [%r2], 0; @%p st.global.u32 [%d0], %r0;",
    )  # fmt: skip


def kernels() -> dict[str, tuple[str, int]]:
    """Return the PTX and the threads of each kernel."""
    found = {name: (text, 128) for name, text in (*_products(), *_more_products())}
    return found | {name: (text, 64) for name, text in _copies()}


def source() -> str:
    """Return the PTX of all kernels."""
    return _HEAD + "".join(text for text, _ in kernels().values())
