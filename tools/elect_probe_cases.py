# SPDX-License-Identifier: MIT
"""Which lane does `elect.sync` elect? Kernels of one warp per block; each block has its own membermask.

Every lane that executes the instruction records the elected lane, as the instruction returns it, and its predicate.
"""

import numpy as np
from numpy.typing import NDArray

_HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n"

_KERNEL = """.visible .entry {name}(.param .u64 masks, .param .u64 out)
{{
 .reg .b64 %in, %out, %v; .reg .b32 %lane, %block, %m, %other, %bit, %d, %x, %n; .reg .pred %in_mask, %p, %q;
 ld.param.u64 %in, [masks]; ld.param.u64 %out, [out]; cvta.to.global.u64 %in, %in; cvta.to.global.u64 %out, %out;
 mov.u32 %lane, %tid.x; mov.u32 %block, %ctaid.x; mad.wide.u32 %v, %block, 4, %in; ld.global.b32 %m, [%v];
 not.b32 %other, %m; shr.u32 %bit, %m, %lane; and.b32 %bit, %bit, 1; setp.ne.u32 %in_mask, %bit, 0;
 shl.b32 %x, %block, 5; add.u32 %x, %x, %lane; mad.wide.u32 %out, %x, 8, %out; mov.u32 %n, 0;
{body}
 ret;
}}
"""

_ELECT = " elect.sync %d|%p, {0}; selp.b32 %x, 1, 0, %p; st.global.v2.b32 [%out], {{%d, %x}};"

BODIES = {
    "members": "@!%in_mask bra END;\n" + _ELECT.format("%m") + "\nEND: bar.warp.sync 0xffffffff;",
    "both_sides": "@!%in_mask bra OTHER;\n" + _ELECT.format("%m") + " bra END;\nOTHER:" + _ELECT.format("%other")
    + "\nEND: bar.warp.sync 0xffffffff;",
    "others_exited": "@!%in_mask exit;\n" + _ELECT.format("%m"),
    "mask_names_exited_lanes": "@!%in_mask exit;\n" + _ELECT.format("0xffffffff"),
    "highest_lane_first": """ mov.u32 %n, 32;
LOOP: sub.u32 %n, %n, 1; setp.ne.u32 %q, %n, %lane; @%q bra NEXT; nanosleep.u32 100; @!%in_mask bra NEXT; bra ELECT;
NEXT: setp.eq.u32 %q, %n, 0; @!%q bra LOOP; bra END;
ELECT:""" + _ELECT.format("%m") + "\nEND: bar.warp.sync 0xffffffff;",
    "twice": "@!%in_mask bra END;\n elect.sync %d|%p, %m; @!%p bra REST; nanosleep.u32 2000; bra END;\n"
    "REST: activemask.b32 %bit;" + _ELECT.format("%bit") + "\nEND: bar.warp.sync 0xffffffff;",
    "whole_warp_with_part_of_it_in_the_mask": _ELECT.format("%m"),
    "members_execute_with_a_full_mask": "@!%in_mask bra END;\n" + _ELECT.format("0xffffffff")
    + "\nEND: bar.warp.sync 0xffffffff;",
}  # fmt: skip
"""The kernels' bodies by name. The last two break the manual's rules; they may hang."""


def masks() -> NDArray[np.uint32]:
    """Return membermasks: single lanes, all lanes from or up to one, pairs, halves, strides, and random ones."""
    single = [1 << i for i in range(32)]
    up_to = [(1 << i) - 1 for i in range(2, 33)]
    starting = [0xFFFFFFFF << i & 0xFFFFFFFF for i in range(1, 32)]
    pairs = [1 << i | 1 << (31 - i) for i in range(16)]
    regular = [0x55555555, 0xAAAAAAAA, 0x33333333, 0xCCCCCCCC, 0x0F0F0F0F, 0xF0F0F0F0, 0x00FF00FF, 0x7FFFFFFE]
    drawn = np.random.default_rng(20261128).integers(1, 1 << 32, 96, dtype=np.uint64)
    sparse = drawn & np.roll(drawn, 1) & np.roll(drawn, 2)
    all_masks = [*single, *up_to, *starting, *pairs, *regular, *drawn.tolist(), *sparse[sparse != 0].tolist()]
    return np.array(all_masks, np.uint64).astype(np.uint32)


def module_text(name: str) -> str:
    """Return the module of one kernel, whose name it has."""
    return _HEAD + _KERNEL.format(name=name, body=BODIES[name])
