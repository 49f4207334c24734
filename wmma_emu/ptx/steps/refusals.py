# SPDX-License-Identifier: MIT
"""All reasons for which instructions of the manual are refused."""

from functools import cache

from wmma_emu.ptx.program.module_symbols import OF_A_KERNEL
from wmma_emu.ptx.program.resolve import PARTS_OF_REGISTERS
from wmma_emu.ptx.steps.memory_steps import SOME_ELEMENTS
from wmma_emu.ptx.steps.not_modelled import NOT_MODELLED
from wmma_emu.ptx.steps.object_operands import SAMPLERS
from wmma_emu.ptx.steps.tensor_map_steps import NARROW
from wmma_emu.ptx.steps.values import REFUSED
from wmma_emu.ptx.steps.video import REFUSED_OF_VIDEO
from wmma_emu.scalar.cvt import STOCHASTIC


@cache
def reasons() -> tuple[str, ...]:
    """Return every reason, as it is quoted in the message of a refusal.

    Examples
    --------
    >>> any("tensor memory" in x for x in reasons())
    True
    """
    texts = STOCHASTIC, PARTS_OF_REGISTERS, SOME_ELEMENTS, SAMPLERS, OF_A_KERNEL, NARROW
    return (*(x.why for x in NOT_MODELLED), *REFUSED.values(), *REFUSED_OF_VIDEO.values(), *texts)
