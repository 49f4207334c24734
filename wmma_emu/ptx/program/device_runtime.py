# SPDX-License-Identifier: MIT
"""The functions of the device runtime (cudadevrt) that synchronise a grid, in PTX of this project."""

import re

FUNCTIONS = ("cudaCGGetIntrinsicHandle", "cudaCGSynchronize")

_PTX = """.version {version}
.target {target}
.address_size 64

.visible .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)
{{
    .reg .pred %none;
    .reg .b32 %low, %high, %scope;
    .reg .b64 %workspace;
    ld.param.b32 %scope, [scope];
    setp.ne.u32 %none, %scope, 1;
    mov.u32 %high, %envreg1;
    mov.u32 %low, %envreg2;
    mov.b64 %workspace, {{%low, %high}};
    selp.b64 %workspace, 0, %workspace, %none;
    st.param.b64 [handle], %workspace;
    ret;
}}

.visible .func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)
{{
    .reg .pred %other, %waits;
    .reg .b32 %a, %b, %blocks, %count, %old, %now;
    .reg .b64 %word;
    ld.param.b64 %word, [handle];
    barrier.sync 0;
    mov.u32 %a, %tid.x;
    mov.u32 %b, %tid.y;
    or.b32 %a, %a, %b;
    mov.u32 %b, %tid.z;
    or.b32 %a, %a, %b;
    setp.ne.u32 %other, %a, 0;
    @%other bra ALL;
    mov.u32 %blocks, %nctaid.x;
    mov.u32 %b, %nctaid.y;
    mul.lo.u32 %blocks, %blocks, %b;
    mov.u32 %b, %nctaid.z;
    mul.lo.u32 %blocks, %blocks, %b;
    sub.u32 %blocks, 0x80000001, %blocks;
    mov.u32 %a, %ctaid.x;
    mov.u32 %b, %ctaid.y;
    or.b32 %a, %a, %b;
    mov.u32 %b, %ctaid.z;
    or.b32 %a, %a, %b;
    setp.ne.u32 %other, %a, 0;
    selp.b32 %count, 1, %blocks, %other;
    fence.acq_rel.gpu;
    atom.global.gpu.add.u32 %old, [%word+4], %count;
WAIT:
    ld.acquire.gpu.global.u32 %now, [%word+4];
    xor.b32 %now, %now, %old;
    setp.ge.s32 %waits, %now, 0;
    @%waits bra WAIT;
    fence.acq_rel.gpu;
ALL:
    barrier.sync 0;
    st.param.b32 [error], 0;
    ret;
}}
"""
"""A group of a grid has the scope 1; the others, such as groups of several GPUs, have no handle. The blocks count in
the low bits of a word; the first adds what makes the highest bit change with the last."""

_DECLARED = re.compile(rf"\.extern\s+\.func\s[^;{{]*\b(?:{'|'.join(FUNCTIONS)})\b")
_DEFINED = re.compile(rf"\.visible\s+\.func\s[^;{{]*\b(?:{'|'.join(FUNCTIONS)})\b[^;]*{{")


def device_runtime_for(text: str, version: str, target: str) -> tuple[str, ...]:
    """Return PTX to be linked with PTX that declares these functions, for the same target; nothing for other PTX.

    Examples
    --------
    >>> device_runtime_for(".entry k() { ret; }", "8.0", "sm_80")
    ()
    >>> (text,) = device_runtime_for(".extern .func (.param .b32 r) cudaCGSynchronize(...);", "8.0", "sm_80")
    >>> text.splitlines()[:2]
    ['.version 8.0', '.target sm_80']
    """
    if not _DECLARED.search(text) or _DEFINED.search(text):
        return ()
    return (_PTX.format(version=version, target=target),)
