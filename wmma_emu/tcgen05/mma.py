# SPDX-License-Identifier: MIT
"""`tcgen05.mma` in the form of PTX: a mnemonic, operands, and an instruction descriptor."""

import re
from typing import Any

from wmma_emu.errors import CallError, UnsupportedInstructionError, shorten
from wmma_emu.instructions import Arch
from wmma_emu.tcgen05.bound import bound_tensor_instruction
from wmma_emu.tcgen05.instruction_descriptor import InstructionDescriptor


def mma(
    mnemonic: str,
    tmem: Any,
    d: int,
    a: Any,
    b: Any,
    descriptor: InstructionDescriptor | int,
    *,
    arch: str | Arch = "sm_100",
    lowering: str | None = None,
    model: str | None = None,
    **options: Any,
) -> None:
    """Execute `tcgen05.mma` in the form of PTX: a mnemonic, and an instruction descriptor with shape and types.

    Parameters
    ----------
    mnemonic : str
        The PTX mnemonic: ``"tcgen05.mma.cta_group::1.kind::f16"``.
    tmem, d, a, b
        As for `BoundTensorInstruction.execute`.
    descriptor : InstructionDescriptor or int
    arch, lowering, model : str, optional
        As for `bound_tensor_instruction`.
    **options
        The keywords of `BoundTensorInstruction.execute`.

    Raises
    ------
    UnsupportedInstructionError
        If mnemonic and descriptor contradict each other, and as for `BoundTensorInstruction.execute`.

    Examples
    --------
    >>> import numpy as np, warnings
    >>> from wmma_emu.tcgen05 import InstructionDescriptor, TensorMemory, image_of, mma
    >>> idesc = InstructionDescriptor("f16", 64, 8, "f32", "f16", "f16").encode()
    >>> tmem = TensorMemory()
    >>> d = tmem.alloc(32)
    >>> a = image_of(np.full((64, 16), 0x3C00, np.uint16), "f16")                    # 1.0
    >>> b = image_of(np.full((8, 16), 0x4000, np.uint16), "f16")                     # 2.0, columns of B first
    >>> with warnings.catch_warnings(action="ignore"):
    ...     mma("tcgen05.mma.cta_group::1.kind::f16", tmem, d, a, b, idesc, enable_input_d=False)
    >>> tmem.read([0, 15, 32], 0).view(np.float32)
    array([32., 32., 32.], dtype=float32)
    """
    kind = re.search(r"kind::(\w+)", mnemonic.lower()) if isinstance(mnemonic, str) else None
    if kind is None:
        raise CallError(
            f"the mnemonic must name a kind, as 'tcgen05.mma.cta_group::1.kind::f16' does, not {shorten(mnemonic)}"
        )
    decoded = (
        descriptor
        if isinstance(descriptor, InstructionDescriptor)
        else InstructionDescriptor.decode(descriptor, kind[1])
    )
    if decoded.sparse != (".sp." in f"{mnemonic.strip().rstrip(';').rstrip()}.".lower()):
        what, other = ("sparse", "dense") if decoded.sparse else ("dense", "sparse")
        raise UnsupportedInstructionError(
            f"the instruction descriptor declares A {what} (bit 2), and {shorten(mnemonic)} declares it {other}"
        )
    words = [
        mnemonic.strip().rstrip(";").rstrip(),
        f"m{decoded.m}n{decoded.n}{'k96' if decoded.k else ''}",
        decoded.d,
        decoded.a,
        decoded.b,
    ]
    words += [decoded.scale] if decoded.scale else []
    words += ["satfinite"] if decoded.saturate else []
    bound = bound_tensor_instruction(".".join(words), arch, lowering, model)
    bound.execute(tmem, d, a, b, descriptor=decoded, **options)
