# SPDX-License-Identifier: MIT
"""Execution of PTX kernels on NumPy arrays: the bits of a GPU without a GPU, and checks that a GPU does not make."""

from wmma_emu.first_use import on_first_use
from wmma_emu.renamed import renamed_names

TYPE_CHECKING = False  # type checkers take this name for typing.TYPE_CHECKING
if TYPE_CHECKING:
    from wmma_emu.ptx.definedness.empty_arrays import EmptyArray, empty
    from wmma_emu.ptx.findings import CHECKS, KINDS, SEVERITIES, Kind
    from wmma_emu.ptx.history import Event, History
    from wmma_emu.ptx.launch.explain import KernelExplanation, ModuleExplanation
    from wmma_emu.ptx.launch.kernel import Kernel
    from wmma_emu.ptx.launch.launching import Launch
    from wmma_emu.ptx.launch.memory_of_arrays import Raw, raw
    from wmma_emu.ptx.launch.module import Module
    from wmma_emu.ptx.launch.options import LaunchOptions
    from wmma_emu.ptx.launch.report import Report
    from wmma_emu.ptx.launch.silences import Silence, Silenced, Silencing, silence
    from wmma_emu.ptx.launch.structs import Struct
    from wmma_emu.ptx.launch.tensor_map import Im2col, TensorMap, tensor_map
    from wmma_emu.ptx.launch.triton_arguments import TritonTensor
    from wmma_emu.ptx.launch.triton_module import TritonModule
    from wmma_emu.ptx.memory.device_heap import HeapBlock
    from wmma_emu.ptx.profile import (
        CountedLaunches,
        KernelCoverage,
        KernelProfile,
        Profile,
        ProfiledLine,
        covering,
        profiling,
    )
    from wmma_emu.ptx.program.program import Missing, NotBitExact
    from wmma_emu.ptx.reports.baseline import Baseline, KnownFinding
    from wmma_emu.ptx.reports.finding import Finding
    from wmma_emu.ptx.reports.frames import QuotedLine
    from wmma_emu.ptx.reports.plain import report_schema
    from wmma_emu.ptx.reports.sarif import sarif
    from wmma_emu.ptx.textures.objects import Surface, Texture, surface, texture
    from wmma_emu.ptx.variants import FirstDifference, InvarianceChange, InvarianceReport, Variant
    from wmma_emu.ptx.variants.invariance import invariance

__all__ = [
    "CHECKS",
    "KINDS",
    "SEVERITIES",
    "Baseline",
    "CountedLaunches",
    "EmptyArray",
    "Event",
    "Finding",
    "FirstDifference",
    "HeapBlock",
    "History",
    "Im2col",
    "InvarianceChange",
    "InvarianceReport",
    "Kernel",
    "KernelCoverage",
    "KernelExplanation",
    "KernelProfile",
    "Kind",
    "KnownFinding",
    "Launch",
    "LaunchOptions",
    "Missing",
    "Module",
    "ModuleExplanation",
    "NotBitExact",
    "Profile",
    "ProfiledLine",
    "QuotedLine",
    "Raw",
    "Report",
    "Silence",
    "Silenced",
    "Silencing",
    "Struct",
    "Surface",
    "TensorMap",
    "Texture",
    "TritonModule",
    "TritonTensor",
    "Variant",
    "covering",
    "empty",
    "invariance",
    "profiling",
    "raw",
    "report_schema",
    "sarif",
    "silence",
    "surface",
    "tensor_map",
    "texture",
]

_HOMES = {
    "definedness.empty_arrays": ("EmptyArray", "empty"),
    "findings": ("CHECKS", "KINDS", "SEVERITIES", "Kind"),
    "history": ("Event", "History"),
    "launch.explain": ("KernelExplanation", "ModuleExplanation"),
    "launch.kernel": ("Kernel",),
    "launch.launching": ("Launch",),
    "launch.memory_of_arrays": ("Raw", "raw"),
    "launch.module": ("Module",),
    "launch.options": ("LaunchOptions",),
    "launch.report": ("Report",),
    "launch.silences": ("Silence", "Silenced", "Silencing", "silence"),
    "launch.structs": ("Struct",),
    "launch.tensor_map": ("Im2col", "TensorMap", "tensor_map"),
    "launch.triton_arguments": ("TritonTensor",),
    "launch.triton_module": ("TritonModule",),
    "memory.device_heap": ("HeapBlock",),
    "profile": (
        "CountedLaunches",
        "KernelCoverage",
        "KernelProfile",
        "Profile",
        "ProfiledLine",
        "covering",
        "profiling",
    ),
    "program.program": ("Missing", "NotBitExact"),
    "reports.baseline": ("Baseline", "KnownFinding"),
    "reports.finding": ("Finding",),
    "reports.frames": ("QuotedLine",),
    "reports.plain": ("report_schema",),
    "reports.sarif": ("sarif",),
    "textures.objects": ("Surface", "Texture", "surface", "texture"),
    "variants": ("FirstDifference", "InvarianceChange", "InvarianceReport", "Variant"),
    "variants.invariance": ("invariance",),
}
"""The module that defines each public name."""

if not TYPE_CHECKING:  # for a type checker, a module with __getattr__ would have every name
    __getattr__, __dir__ = on_first_use(
        __name__, __all__, _HOMES, renamed_names(__name__, {"Explanation": "ModuleExplanation"}, frames=1)
    )
