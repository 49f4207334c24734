# SPDX-License-Identifier: MIT
"""What a launch has to say: what was wrong, which bits are not proved, what it took."""

from collections.abc import Sequence
from dataclasses import dataclass

from wmma_emu.ptx.findings import Finding
from wmma_emu.ptx.machine.compile import Missing, NotBitExact

__all__ = ["Report", "contracted_text", "folded_text", "grouped", "lines_text", "summary_of"]

_SHOWN = 3
_LINES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Report:
    """What a launch has to say.

    Attributes
    ----------
    kernel, arch : str
    instructions : int
        Executed, counted for each thread.
    steps : int
        Instructions stepped, each for many threads at once: what ``max_steps`` limits.
    seconds : float
    findings : tuple of Finding
        What is wrong with the kernel, in the order in which it was met: one for each kind and line of PTX.
    not_bit_exact : tuple of NotBitExact
        Instructions of the kernel whose bits are not proved; where it is empty, the bits are the chip's.
    contracted : tuple of int
        Lines of the multiplications that were fused with the addition that follows, as ptxas does.
    contraction : str
        Who decided which are: the rules, or a ptxas.
    output : str
        What the kernel printed.
    completed : bool
        False where a deadlock or a trap ended it.
    assumed : tuple of str
        What the kernel's compiler took for granted that a launch of its own would have read off the arguments.
    folded : tuple of int
        Lines of the functions and quotients of constants that were evaluated as ptxas does, or became products.
    """

    kernel: str
    arch: str
    instructions: int
    steps: int
    seconds: float
    findings: tuple[Finding, ...] = ()
    not_bit_exact: tuple[NotBitExact, ...] = ()
    contracted: tuple[int, ...] = ()
    output: str = ""
    completed: bool = True
    contraction: str = ""
    assumed: tuple[str, ...] = ()
    folded: tuple[int, ...] = ()

    def __str__(self) -> str:
        rate = f", {self.instructions / self.seconds / 1e6:.3g} million a second" if self.seconds > 0 else ""
        lines = [
            f"{self.kernel} on {self.arch}: {self.instructions} thread-instructions in {self.seconds:.3g} s{rate}"
            + ("" if self.completed else "; it did not come to its end")
        ]
        for heading, entries in (
            ("findings", self.findings),
            ("not bit-exact", grouped(self.not_bit_exact)),
            ("contracted", [contracted_text(self.contracted, self.contraction)] if self.contracted else ()),
            ("folded", [folded_text(self.folded)] if self.folded else ()),
        ):
            lines.append(f"{heading}: {'none' if not entries else ''}".rstrip())
            lines += [f"  {line}" for entry in entries for line in str(entry).splitlines()]
        if self.assumed:
            lines += ["assumed:", *(f"  {x}" for x in self.assumed)]
        if self.output:
            lines += ["printed:", *(f"  {line}" for line in self.output.splitlines())]
        return "\n".join(lines)


def contracted_text(lines: Sequence[int], contraction: str) -> str:
    """Say which products were fused, and who decided it."""
    return f"{len(lines)} product{'s' * (len(lines) != 1)}, {lines_text(lines)}; {contraction}"


def folded_text(lines: Sequence[int]) -> str:
    """Say which functions and quotients of constants were evaluated."""
    return f"{len(lines)} of constants, {lines_text(lines)}"


def grouped(entries: "Sequence[Missing | NotBitExact]") -> tuple[str, ...]:
    """Say what is missing, or not bit-exact: once for each opcode and reason, with its lines.

    Examples
    --------
    >>> grouped([NotBitExact("ex2.approx.f32", line, "on sm_80 it was not proved") for line in (7, 9)])
    ('lines 7, 9: ex2.approx.f32: on sm_80 it was not proved',)
    """
    lines: dict[tuple[str, str], list[int]] = {}
    for opcode, line, reason in entries:
        text = reason.splitlines()[0].removeprefix(f"line {line}: ") if reason else ""
        lines.setdefault((opcode, text), []).append(line)
    return tuple(
        f"{lines_text(numbers)}: {text if opcode in text else f'{opcode}: {text}'}"
        for (opcode, text), numbers in lines.items()
    )


def lines_text(numbers: Sequence[int]) -> str:
    """Name some lines of the text, the first of them if there are many."""
    more = f" and {len(numbers) - _LINES_SHOWN} more" if len(numbers) > _LINES_SHOWN else ""
    return f"line{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers[:_LINES_SHOWN]))}{more}"


def summary_of(report: Report) -> str:
    """Say the first findings of a launch, as a warning or an error says them."""
    findings = report.findings
    heads = "\n".join(str(x) for x in findings[:_SHOWN])
    more = f"\nand {len(findings) - _SHOWN} more" if len(findings) > _SHOWN else ""
    return f"{report.kernel}: {len(findings)} finding{'s' * (len(findings) != 1)}\n{heads}{more}"
