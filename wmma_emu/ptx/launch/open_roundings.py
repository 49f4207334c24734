# SPDX-License-Identifier: MIT
"""Fusion of products and sums without an explicit rounding: by rules, by the installed ptxas, or never."""

from functools import cached_property

from wmma_emu.errors import OptionError, shorten
from wmma_emu.instructions import Arch
from wmma_emu.ptx.launch.line_lists import lines_text
from wmma_emu.ptx.launch.machine_code import Disassembly, assembled
from wmma_emu.ptx.program.contraction import Contracted, contract
from wmma_emu.ptx.program.program import KernelProgram, PtxInstruction
from wmma_emu.ptx.program.scaled_products import scale_products

CONTRACTIONS = ("rules", "ptxas", "never")

_RULES = "by the rules of ptxas 12.9 to 13.5"


class OpenRoundings:
    """The decisions about open roundings in the kernels of one PTX source."""

    def __init__(self, text: str, arch: Arch, policy: str) -> None:
        if not isinstance(policy, str) or policy not in CONTRACTIONS:
            raise OptionError(
                f"contraction={shorten(policy)} is not one of {', '.join(map(repr, CONTRACTIONS))}: 'rules' fuses what "
                "ptxas was observed to fuse, 'ptxas' uses the installed ptxas, 'never' rounds every instruction"
            )
        self.policy = policy
        self._text, self._arch = text, arch

    def decide(self, program: KernelProgram) -> tuple[Contracted, str]:
        """Fuse the instructions of a kernel, and return the method as text."""
        if self.policy == "never":
            return Contracted(program), "never"
        if self.policy == "rules":
            return _scaled(contract(program)), _RULES
        machine_code = self._machine_code

        def kinds(instruction: PtxInstruction) -> frozenset[str]:
            place = instruction.line, instruction.column
            functions = (program.name, *(name for name, _, _ in program.functions))
            type_name = instruction.modifiers[-1]
            return frozenset(x for name in functions for x in machine_code.kinds_of(name, place, type_name))

        contracted = contract(program, kinds)
        open_sums = contracted.undecided
        rest = f"; the sums of {lines_text(open_sums)} {_RULES}" if open_sums else ""
        return _scaled(contracted), f"as ptxas {machine_code.version} does for {machine_code.target}{rest}"

    @cached_property
    def _machine_code(self) -> Disassembly:
        return assembled(self._text, self._arch)


def _scaled(contracted: Contracted) -> Contracted:
    return contracted._replace(program=scale_products(contracted.program))
