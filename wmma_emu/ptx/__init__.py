# SPDX-License-Identifier: MIT
"""The PTX of a real kernel, run on NumPy arrays: no GPU, the bits of one, and checks that a GPU does not make.

>>> import numpy as np, wmma_emu as we
>>> text = '''
... .version 8.0
... .target sm_80
... .address_size 64
... .visible .entry double_it(.param .u64 x, .param .u32 n)
... {
...     .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %a<3>; .reg .f32 %f<2>;
...     ld.param.u64 %a0, [x];
...     ld.param.u32 %r0, [n];
...     mov.u32 %r1, %ctaid.x;
...     mov.u32 %r2, %ntid.x;
...     mov.u32 %r3, %tid.x;
...     mad.lo.s32 %r4, %r1, %r2, %r3;
...     setp.ge.s32 %p, %r4, %r0;
...     @%p bra $end;
...     mul.wide.s32 %a1, %r4, 4;
...     add.s64 %a2, %a0, %a1;
...     ld.global.f32 %f0, [%a2];
...     add.rn.f32 %f1, %f0, %f0;
...     st.global.f32 [%a2], %f1;
... $end:
...     ret;
... }'''
>>> x = np.arange(100, dtype=np.float32)
>>> report = we.ptx.Module(text, arch="sm_90")["double_it"][4, 32](x, 100)
>>> x[[0, 1, 99]], report.findings
(array([  0.,   2., 198.], dtype=float32), ())
"""

from wmma_emu.first_use import on_first_use

TYPE_CHECKING = False  # as typing has it
if TYPE_CHECKING:
    from wmma_emu.ptx.definedness.empty_arrays import EmptyArray, empty
    from wmma_emu.ptx.findings import CHECKS, KINDS, SEVERITIES, Kind
    from wmma_emu.ptx.history import Event, History
    from wmma_emu.ptx.launch.explain import Explanation, KernelExplanation
    from wmma_emu.ptx.launch.kernel import Kernel
    from wmma_emu.ptx.launch.launching import Launch
    from wmma_emu.ptx.launch.memory_of_arrays import Raw, raw
    from wmma_emu.ptx.launch.module import Module
    from wmma_emu.ptx.launch.options import LaunchOptions
    from wmma_emu.ptx.launch.report import Report
    from wmma_emu.ptx.launch.silences import Silence, Silenced, Silencing, silence
    from wmma_emu.ptx.launch.structs import Struct
    from wmma_emu.ptx.launch.triton_arguments import TritonTensor
    from wmma_emu.ptx.launch.triton_module import TritonModule
    from wmma_emu.ptx.program.program import Missing, NotBitExact
    from wmma_emu.ptx.reports.baseline import Baseline, KnownFinding
    from wmma_emu.ptx.reports.finding import Finding
    from wmma_emu.ptx.reports.frames import QuotedLine
    from wmma_emu.ptx.reports.plain import report_schema
    from wmma_emu.ptx.reports.sarif import sarif

__all__ = [
    "CHECKS",
    "KINDS",
    "SEVERITIES",
    "Baseline",
    "EmptyArray",
    "Event",
    "Explanation",
    "Finding",
    "History",
    "Kernel",
    "KernelExplanation",
    "Kind",
    "KnownFinding",
    "Launch",
    "LaunchOptions",
    "Missing",
    "Module",
    "NotBitExact",
    "QuotedLine",
    "Raw",
    "Report",
    "Silence",
    "Silenced",
    "Silencing",
    "Struct",
    "TritonModule",
    "TritonTensor",
    "empty",
    "raw",
    "report_schema",
    "sarif",
    "silence",
]

_HOMES = {
    "definedness.empty_arrays": ("EmptyArray", "empty"),
    "findings": ("CHECKS", "KINDS", "SEVERITIES", "Kind"),
    "history": ("Event", "History"),
    "launch.explain": ("Explanation", "KernelExplanation"),
    "launch.kernel": ("Kernel",),
    "launch.launching": ("Launch",),
    "launch.memory_of_arrays": ("Raw", "raw"),
    "launch.module": ("Module",),
    "launch.options": ("LaunchOptions",),
    "launch.report": ("Report",),
    "launch.silences": ("Silence", "Silenced", "Silencing", "silence"),
    "launch.structs": ("Struct",),
    "launch.triton_arguments": ("TritonTensor",),
    "launch.triton_module": ("TritonModule",),
    "program.program": ("Missing", "NotBitExact"),
    "reports.baseline": ("Baseline", "KnownFinding"),
    "reports.finding": ("Finding",),
    "reports.frames": ("QuotedLine",),
    "reports.plain": ("report_schema",),
    "reports.sarif": ("sarif",),
}
"""The module of every public name."""

if not TYPE_CHECKING:  # type checkers know the names, and would take any other for one too
    __getattr__, __dir__ = on_first_use(__name__, __all__, _HOMES)
