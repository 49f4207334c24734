# SPDX-License-Identifier: MIT
"""The instructions of the PTX manual that are not modelled, with the reason and, if there is one, an alternative."""

import re
from dataclasses import dataclass
from functools import lru_cache

from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.program import PtxInstruction


@dataclass(frozen=True, slots=True)
class NotModelledEntry(Sourced):
    """Instructions that the manual has and the emulator refuses.

    ``pattern`` is a regular expression for the beginning of the opcode, ``why`` completes the sentence "OPCODE ...".
    """

    pattern: str
    why: str
    evidence: Evidence


def _entry(pattern: str, section: str, why: str) -> NotModelledEntry:
    return NotModelledEntry(pattern, why, Evidence("documented", f"PTX ISA {section}"))


_OTHER_TMA = "is a copy of a tensor that only chips after sm_90 have, and is not modelled; compile for sm_90a"
_WITHOUT_MBARRIER = "completes at no mbarrier, as only chips after sm_90 allow, and is not modelled; compile for sm_90a"
_SEVERAL = "addresses the memory of several GPUs at once, which is not modelled: the emulator has one GPU"

NOT_MODELLED = (
    _entry(
        r"tcgen05\.", "9.1, tcgen05",
        "uses tensor memory, whose instructions have no recordings and are not modelled in kernels; "
        "wmma_emu.tcgen05 executes single instructions",
    ),
    _entry(
        r"cp\.(reduce\.)?async\.bulk\.(prefetch\.)?tensor\..*(gather4|scatter4|im2col::w|cta_group)",
        "9.1, cp.async.bulk.tensor", _OTHER_TMA,
    ),
    _entry(
        r"tensormap\.replace\..*swizzle_atomicity", "9.1, tensormap.replace",
        "changes a field of tensor maps that only chips after sm_90 have; it is not modelled",
    ),
    _entry(r"multimem\.", "9.3, multimem", _SEVERAL),
    _entry(r"fabric\.", "9.4, fabric", _SEVERAL),
    _entry(
        r"cp\.async\.bulk\..*(multicast::cluster::(16b|32b)|ignore_oob)", "9.4, cp.async.bulk",
        "has a mask of blocks or of bytes that PTX ISA 9.4 adds, which is not modelled; leave the modifier out",
    ),
    _entry(
        r"cp\.async\.bulk\..*cp_mask", "9.1, cp.async.bulk",
        "copies the bytes of a mask, which only chips after sm_90 do; it is not modelled",
    ),
    _entry(r"(st|red)\.async\.(?!.*mbarrier::complete_tx::bytes)", "9.1, st.async, red.async", _WITHOUT_MBARRIER),
    _entry(
        r"clusterlaunchcontrol\.", "9.1, clusterlaunchcontrol",
        "takes the work of a block that has not started, which is not modelled: every block of a grid runs; "
        "launch the kernel without cluster launch control",
    ),
    _entry(
        r"(add|sub|mul|fma)\..*\be[45]m[32]x4\b", "9.4, arithmetic of FP8",
        "is arithmetic of sm_100a and sm_103a whose rounding has no recordings, and is not modelled; convert to "
        "f16x2 and compute there",
    ),
    _entry(
        r"cvt\..*\bs2f6x2\b", "9.1, cvt",
        "converts the fixed-point format s2f6, whose limits the manual leaves open; it is not modelled",
    ),
    _entry(
        r"clmad\.", "9.3, clmad",
        "is not modelled: ptxas 13.4 accepts it and makes no machine instruction of it",
    ),
    _entry(
        r"(tex|tld4|txq|suld|sust|sured)\..*\ba?cube\b", "9.1, tex",
        "reads a cube map, which is not modelled: how a GPU chooses the face, and the texels at its edges, is not "
        "documented",
    ),
    _entry(r"tex\..*\ba?2dms\b", "9.1, tex", "reads a multi-sample texture, which CUDA does not make"),
    _entry(
        r"(tex|tld4)\..*\bf16x2\b", "9.1, tex",
        "returns numbers of f16x2, whose rounding is not documented, and is not modelled; use .f32",
    ),
    _entry(
        r"(txq|suq)\.(?!(width|height|depth|array_size)\b)", "9.1, txq and suq",
        "asks for a number that no document of CUDA defines, and is not modelled; .width, .height, .depth and "
        ".array_size are",
    ),
    _entry(
        r"ld\..*\bproxy::readonly\b", "9.4, ld",
        "reads through the read-only proxy, which is not modelled; ld.global.nc is",
    ),
    _entry(
        r"ldmatrix\..*\bs8\.s4\b", "9.4, ldmatrix",
        "extends the sign of 4-bit integers as it loads them; its layout has no recording, and is not modelled",
    ),
    _entry(
        r"atom\.(.*\.)?(exch|cas)\.(.*\.)?b128\b", "9.1, atom",
        "exchanges 16 bytes, which is not modelled; atom has .b64",
    ),
    _entry(
        r"st\.bulk\b", "9.1, st.bulk",
        "initialises shared memory in bulk, which is not modelled; store zeros with st",
    ),
    _entry(
        r"mbarrier\.(.*\.)?(layout::|phase_type::|check_layout)", "9.3, mbarrier",
        "names the layout of an mbarrier, which is not modelled; leave the modifier out for the default layout",
    ),
    _entry(r"(st|ld|createpolicy|fence)\..*\bfabric\b", "9.4", _SEVERAL),
)  # fmt: skip
"""The entries; the first that matches an opcode gives the reason."""


@lru_cache(4096)
def reason_not_modelled(opcode: str) -> str | None:
    """Return why an instruction is not modelled, as the end of a sentence; None if no entry matches.

    Examples
    --------
    >>> reason_not_modelled("red.async.relaxed.cluster.global.add.u32").split(",")[0]
    'completes at no mbarrier'
    >>> reason_not_modelled("add.f32") is None
    True
    """
    return next((x.why for x in NOT_MODELLED if re.match(x.pattern, opcode)), None)


def require_modelled(instruction: PtxInstruction) -> None:
    """Raise an error about an instruction of the manual that is not modelled."""
    why = reason_not_modelled(instruction.opcode)
    if why is not None:
        raise refusal(instruction, why)
