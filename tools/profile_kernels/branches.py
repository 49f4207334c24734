# SPDX-License-Identifier: MIT
"""Kernels whose branches ptxas keeps, and the numbers that decide them in each lane."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

_HEAD = """// SPDX-License-Identifier: MIT
.version 8.0
.target sm_90
.address_size 64
"""

_BEGIN = """
.visible .entry {name}(.param .u64 counts, .param .u64 out)
{{
  .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %d<4>;
  .shared .align 128 .b8 s[4096];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d1, %r0, 4;
  ld.param.u64 %d0, [counts];
  add.u64 %d0, %d0, %d1;
  ld.global.u32 %r1, [%d0];
  ld.param.u64 %d2, [out];
  add.u64 %d2, %d2, %d1;
  mov.u32 %r2, s;
  shl.b32 %r3, %r0, 2;
  add.u32 %r2, %r2, %r3;
"""

_END = """
  st.global.u32 [%d2], %r1;
  ret;
}}
"""

_BODIES = {
    "loop": """
  setp.eq.u32 %p2, %r1, 0;
  @%p2 bra DONE;
BODY:
  .pragma "nounroll";
  st.volatile.shared.u32 [%r2], %r1;
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra BODY;
DONE:
""",
    "loop_at_least_once": """
BODY:
  .pragma "nounroll";
  st.volatile.shared.u32 [%r2], %r1;
  sub.s32 %r1, %r1, 1;
  setp.gt.s32 %p1, %r1, 0;
  @%p1 bra BODY;
""",
    "loop_in_loop": """
  mov.u32 %r4, 3;
OUTER:
  .pragma "nounroll";
  mov.u32 %r5, %r1;
INNER:
  .pragma "nounroll";
  st.volatile.shared.u32 [%r2], %r5;
  sub.s32 %r5, %r5, 1;
  setp.gt.s32 %p1, %r5, 0;
  @%p1 bra INNER;
  sub.u32 %r4, %r4, 1;
  setp.ne.u32 %p2, %r4, 0;
  @%p2 bra OUTER;
""",
}


def source() -> str:
    """Return the PTX of all kernels."""
    return _HEAD + "".join((_BEGIN + body + _END).format(name=name) for name, body in _BODIES.items())


def cases() -> Iterator[tuple[str, str, NDArray[np.uint32]]]:
    """Yield each kernel, the name of a pattern, and the numbers of its threads."""
    lane = np.arange(64)
    rng = np.random.Generator(np.random.PCG64([29]))
    patterns = {
        "alike": lane * 0 + 3, "odd lanes more": lane % 2 * 2 + 1, "as the lane": lane % 8 + 1,
        "one warp more": lane // 32 * 4 + 1, "drawn": rng.integers(1, 6, 64), "one lane more": 1 + 5 * (lane == 7),
        "some none": lane % 4,
    }  # fmt: skip
    for kernel in _BODIES:
        for name, counts in patterns.items():
            yield kernel, name, counts.astype(np.uint32)
