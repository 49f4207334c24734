# SPDX-License-Identifier: MIT
"""Whether what one instruction stores depends on what another one loads: through registers, and through branches."""

from collections.abc import Sequence

from wmma_emu.ptx.program.flow import NO_FALL_THROUGH, closure, definitions, reads, targets_of
from wmma_emu.ptx.program.program import PtxInstruction


def depends_on_load(code: Sequence[PtxInstruction], load: PtxInstruction, store: PtxInstruction) -> bool:
    """Whether a store stands behind a load, and what it stores, or whether it does, depends on what that gives.

    Memory in between is not followed, nor is it asked whether a path is taken.

    Examples
    --------
    >>> from wmma_emu.ptx.program.program import AddressOperand, Register
    >>> r, a = Register(0, "%r1", "b32"), AddressOperand(Register(1, "%rd1", "b64"))
    >>> load = PtxInstruction("ld.shared.u32", "ld", ("shared", "u32"), (r, a), None, 1, 1)
    >>> store = PtxInstruction("st.shared.u32", "st", ("shared", "u32"), (a, r), None, 2, 1)
    >>> depends_on_load([load, store], load, store), depends_on_load([store, load], load, store)
    (True, False)
    """
    pcs = {id(x): i for i, x in enumerate(code)}
    begin, end = pcs.get(id(load)), pcs.get(id(store))
    if begin is None or end is None or end not in (later := reachable_from(code, begin)):
        return False
    branches = [i for i in later if code[i].mnemonic in ("bra", "brx") and end in reachable_from(code, i)]
    return begin in _origins(code, [end, *branches])


def reachable_from(code: Sequence[PtxInstruction], begin: int) -> set[int]:
    """List what may be executed after an instruction, by its number.

    Examples
    --------
    >>> end = PtxInstruction("ret", "ret", (), (), None, 1, 1)
    >>> reachable_from([end, end], 0), reachable_from([PtxInstruction("bar.sync", "bar", ("sync",), (), None, 1, 1), end], 0)
    (set(), {1})
    """

    def followers(pc: int) -> list[int]:
        instruction = code[pc]
        falls_through = instruction.mnemonic not in NO_FALL_THROUGH or instruction.guard is not None
        return [x for x in (*targets_of(instruction), *([pc + 1] if falls_through else ())) if x < len(code)]

    return closure(followers(begin), followers)


def _origins(code: Sequence[PtxInstruction], pcs: Sequence[int]) -> set[int]:
    """List the instructions whose values some others use, by whatever way."""
    writers = definitions(code)

    def makers(pc: int) -> list[int]:
        # Registers of an address are read by a load; what stands there is not theirs.
        used = reads(code[pc]) if code[pc].mnemonic != "ld" else ()
        return [x for register in used for x in writers.get(register, ())]

    return closure((x for pc in pcs for x in makers(pc)), makers)
