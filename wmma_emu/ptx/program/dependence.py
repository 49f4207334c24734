# SPDX-License-Identifier: MIT
"""The dependence of a store on a load through registers and branches."""

from collections.abc import Sequence

from wmma_emu.ptx.program.flow import NO_FALL_THROUGH, closure, definitions, reads, targets_of
from wmma_emu.ptx.program.program import PtxInstruction


def depends_on_load(code: Sequence[PtxInstruction], load: PtxInstruction, store: PtxInstruction) -> bool:
    """Return whether a store follows a load, and its value or its execution depends on the loaded value.

    Values are not followed through memory, and every path counts as taken.

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
    """Return the indices of the instructions that may be executed after an instruction.

    Examples
    --------
    >>> end = PtxInstruction("ret", "ret", (), (), None, 1, 1)
    >>> barrier = PtxInstruction("bar.sync", "bar", ("sync",), (), None, 1, 1)
    >>> reachable_from([end, end], 0), reachable_from([barrier, end], 0)
    (set(), {1})
    """

    def followers(pc: int) -> list[int]:
        instruction = code[pc]
        falls_through = instruction.mnemonic not in NO_FALL_THROUGH or instruction.guard is not None
        return [x for x in (*targets_of(instruction), *([pc + 1] if falls_through else ())) if x < len(code)]

    return closure(followers(begin), followers)


def _origins(code: Sequence[PtxInstruction], pcs: Sequence[int]) -> set[int]:
    """Return the instructions whose values are used, directly or indirectly, by the given ones."""
    writers = definitions(code)

    def makers(pc: int) -> list[int]:
        # A load reads the registers of its address, but its value comes from memory.
        used = reads(code[pc]) if code[pc].mnemonic != "ld" else ()
        return [x for register in used for x in writers.get(register, ())]

    return closure((x for pc in pcs for x in makers(pc)), makers)
