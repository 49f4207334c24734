# SPDX-License-Identifier: MIT
"""A bit-exact functional emulator of NVIDIA's matrix instructions, in Python on NumPy.

>>> import numpy as np, wmma_emu as we
>>> A, B = np.eye(16, dtype=np.float16), np.eye(16, 8, dtype=np.float16)
>>> we.mma(A, B, arch="sm_90").view(np.uint32)[0, 0] == 0x3F800000
np.True_
"""

from importlib import import_module
from typing import Any

from wmma_emu import wmma
from wmma_emu.api import compare_archs, explain, instruction, mma
from wmma_emu.arithmetic import DotModel
from wmma_emu.arithmetic.explanation import Explanation
from wmma_emu.errors import (
    AlignmentError,
    ArgumentError,
    ArgumentValueError,
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
    PtxSyntaxError,
    ScheduleDependenceError,
    ShapeError,
    UnknownNameError,
    UnmodelledArithmeticError,
    UnspecifiedBehaviourWarning,
    UnsupportedInstructionError,
    UnverifiedModelWarning,
    WmmaEmuError,
)
from wmma_emu.formats import Format, format_of
from wmma_emu.gemm import Comparison, KOrder, gemm
from wmma_emu.instructions import ARCHS, INSTRUCTIONS, Instruction
from wmma_emu.kernels import kernel
from wmma_emu.layouts import LaneMap
from wmma_emu.memory import Pointer
from wmma_emu.version import __version__
from wmma_emu.warp import BoundInstruction

__all__ = [
    "ARCHS",
    "INSTRUCTIONS",
    "AlignmentError",
    "ArgumentError",
    "ArgumentValueError",
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
    "PtxSyntaxError",
    "ScheduleDependenceError",
    "ShapeError",
    "UnknownNameError",
    "UnmodelledArithmeticError",
    "UnspecifiedBehaviourWarning",
    "UnsupportedInstructionError",
    "UnverifiedModelWarning",
    "WmmaEmuError",
    "__version__",
    "compare_archs",
    "explain",
    "format_of",
    "gemm",
    "gpu",
    "instruction",
    "kernel",
    "mma",
    "ptx",
    "quantise",
    "tcgen05",
    "testing",
    "viz",
    "wmma",
]

_ON_FIRST_USE = ("gpu", "ptx", "quantise", "tcgen05", "testing", "viz")
"""Modules that `import wmma_emu` leaves alone: what they need may not be installed, or they take their time."""


def __getattr__(name: str) -> Any:
    if name in _ON_FIRST_USE:
        return import_module(f"wmma_emu.{name}")
    raise AttributeError(f"module 'wmma_emu' has no attribute {name!r}")
