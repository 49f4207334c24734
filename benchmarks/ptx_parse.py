# SPDX-License-Identifier: MIT
"""How fast a PTX text becomes a program: parse and build, on one core."""

import statistics
import time

from wmma_emu.ptx.program.build import build
from wmma_emu.ptx.syntax.parser import parse

_HEAD = """.version 8.4
.target sm_80
.address_size 64
.visible .entry unrolled(.param .u64 .ptr .global .align 16 a, .param .u64 .ptr .global .align 16 c, .param .u32 n)
{
	.reg .pred %p<4>;
	.reg .b32 %r<40000>;
	.reg .f32 %f<40000>;
	.reg .b64 %rd<16>;
	.shared .align 16 .b8 tile[16384];
	ld.param.u64 %rd1, [a];
	ld.param.u64 %rd2, [c];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	cvta.to.global.u64 %rd3, %rd1;
	mov.u64 %rd4, tile;
$L__BB0_1:
"""

_STEP = """	.loc 1 {line} 9
	ld.global.v4.f32 {{%f{0}, %f{1}, %f{2}, %f{3}}}, [%rd3+{offset}];
	fma.rn.f32 %f{0}, %f{1}, %f{2}, %f{3};
	mul.f32 %f{1}, %f{0}, 0f3F800000;
	add.s32 %r{0}, %r2, {offset};
	mad.lo.s32 %r{1}, %r{0}, %r1, -7;
	setp.lt.s32 %p1, %r{1}, 0x7FFF;
	@%p1 st.shared.f32 [tile+{place}], %f{1};
	shl.b32 %r{2}, %r{1}, 2;
	mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
	{{%f{0}, %f{1}, %f{2}, %f{3}}}, {{%r{0}, %r{1}, %r{2}, %r{3}}}, {{%r{2}, %r{3}}}, {{%f{0}, %f{1}, %f{2}, %f{3}}};
	selp.b32 %r{3}, %r{1}, %r{2}, %p1;
"""

_TAIL = """	setp.ne.s32 %p2, %r1, 0;
	@%p2 bra $L__BB0_1;
	ret;
}
"""

STEPS = 1400


def kernel_text(steps: int = STEPS) -> str:
    """An unrolled kernel with ten instructions a step."""
    parts = [_HEAD]
    for i in range(steps):
        numbers = [3 + (4 * i + j) % 39000 for j in range(4)]
        parts.append(_STEP.format(*numbers, line=10 + i % 90, offset=16 * i, place=4 * i % 16384))
    return "".join([*parts, _TAIL])


def measure() -> dict[str, float]:
    """Instructions a second of one core's time: of parsing, of building, and of both, each the median of five."""
    text = kernel_text()
    tree = parse(text)
    count = len(build(tree).kernels["unrolled"].instructions)
    parsing, building = [], []
    for _ in range(5):
        start = time.process_time()
        parse(text)
        middle = time.process_time()
        build(tree)
        parsing.append(middle - start)
        building.append(time.process_time() - middle)
    both = [a + b for a, b in zip(parsing, building, strict=True)]
    return {
        "instructions": count,
        "parse, instructions/s": count / statistics.median(parsing),
        "build, instructions/s": count / statistics.median(building),
        "instructions/s": count / statistics.median(both),
    }


if __name__ == "__main__":
    for what, value in measure().items():
        print(f"{what}: {value:,.0f}")
