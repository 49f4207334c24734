# SPDX-License-Identifier: MIT
"""A bit-exact functional emulator of NVIDIA's matrix instructions, in Python on NumPy.

>>> import numpy as np, wmma_emu as we
>>> A, B = np.eye(16, dtype=np.float16), np.eye(16, 8, dtype=np.float16)
>>> we.mma(A, B, arch="sm_90").view(np.uint32)[0, 0] == 0x3F800000
np.True_
"""

from wmma_emu.first_use import on_first_use
from wmma_emu.version import __version__

TYPE_CHECKING = False  # as in typing, whose import would take longer than everything else here
if TYPE_CHECKING:
    from wmma_emu import (
        arithmetic,
        errors,
        evidence,
        formats,
        gpu,
        instructions,
        jax,
        kernels,
        languages,
        layouts,
        models,
        ptx,
        quantise,
        scalar,
        tcgen05,
        testing,
        torch,
        viz,
        warp,
        wmma,
    )
    from wmma_emu.api import instruction, mma
    from wmma_emu.arithmetic import DotModel
    from wmma_emu.arithmetic.explanation import Explanation
    from wmma_emu.errors import (
        AlignmentError,
        ArgumentError,
        ArgumentValueError,
        AsynchronyDependenceError,
        BackendUnavailableError,
        CallError,
        CompilationError,
        DivergenceError,
        FragmentMismatchError,
        KernelFindingsError,
        KernelFindingsWarning,
        LaunchConfigurationError,
        LaunchLimitError,
        MemoryLimitError,
        OptionError,
        OutOfBoundsError,
        ProfileLimitError,
        PtxSyntaxError,
        ScheduleDependenceError,
        ShapeError,
        UnknownNameError,
        UnmodeledArithmeticError,
        UnmodelledArithmeticError,
        UnspecifiedBehaviorWarning,
        UnspecifiedBehaviourWarning,
        UnsupportedInstructionError,
        UnverifiedModelWarning,
        WmmaEmuError,
    )
    from wmma_emu.formats import Format, format_of
    from wmma_emu.gemm import Comparison, KOrder, compare_archs, explain, gemm
    from wmma_emu.instructions import ARCHS, INSTRUCTIONS, Instruction
    from wmma_emu.kernels import kernel
    from wmma_emu.languages import emulate
    from wmma_emu.layouts import LaneMap
    from wmma_emu.memory import Pointer
    from wmma_emu.warp import BoundInstruction

__all__ = [
    "ARCHS",
    "INSTRUCTIONS",
    "AlignmentError",
    "ArgumentError",
    "ArgumentValueError",
    "AsynchronyDependenceError",
    "BackendUnavailableError",
    "BoundInstruction",
    "CallError",
    "Comparison",
    "CompilationError",
    "DivergenceError",
    "DotModel",
    "Explanation",
    "Format",
    "FragmentMismatchError",
    "Instruction",
    "KOrder",
    "KernelFindingsError",
    "KernelFindingsWarning",
    "LaneMap",
    "LaunchConfigurationError",
    "LaunchLimitError",
    "MemoryLimitError",
    "OptionError",
    "OutOfBoundsError",
    "Pointer",
    "ProfileLimitError",
    "PtxSyntaxError",
    "ScheduleDependenceError",
    "ShapeError",
    "UnknownNameError",
    "UnmodeledArithmeticError",
    "UnmodelledArithmeticError",
    "UnspecifiedBehaviorWarning",
    "UnspecifiedBehaviourWarning",
    "UnsupportedInstructionError",
    "UnverifiedModelWarning",
    "WmmaEmuError",
    "__version__",
    "arithmetic",
    "compare_archs",
    "emulate",
    "errors",
    "evidence",
    "explain",
    "format_of",
    "formats",
    "gemm",
    "gpu",
    "instruction",
    "instructions",
    "jax",
    "kernel",
    "kernels",
    "languages",
    "layouts",
    "mma",
    "models",
    "ptx",
    "quantise",
    "scalar",
    "tcgen05",
    "testing",
    "torch",
    "viz",
    "warp",
    "wmma",
]

_HOMES = {
    "api": ("instruction", "mma"),
    "arithmetic": ("DotModel",),
    "arithmetic.explanation": ("Explanation",),
    "errors": tuple(name for name in __all__ if name.endswith(("Error", "Warning"))),
    "formats": ("Format", "format_of"),
    "gemm": ("Comparison", "KOrder", "compare_archs", "explain", "gemm"),
    "instructions": ("ARCHS", "INSTRUCTIONS", "Instruction"),
    "kernels": ("kernel",),
    "languages": ("emulate",),
    "layouts": ("LaneMap",),
    "memory": ("Pointer",),
    "warp": ("BoundInstruction",),
}
"""The modules of the public names that are not modules."""

if not TYPE_CHECKING:  # type checkers know the names, and would take any other for one too
    __getattr__, __dir__ = on_first_use(__name__, __all__, _HOMES)
