# SPDX-License-Identifier: MIT
"""The explanation of one element of D: inputs, the steps of every instruction, the result, and the evidence."""

from dataclasses import asdict, dataclass
from typing import Any

from wmma_emu.arithmetic.explanation.notation import paragraph, pattern, shown
from wmma_emu.arithmetic.explanation.steps import Execution, Step
from wmma_emu.arithmetic.explanation.text import step_lines
from wmma_emu.display import render
from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.formats import format_of
from wmma_emu.formats.reference import unpack


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Sourced):
    """The explanation of one element of D; ``str()`` returns it as text.

    Parameters
    ----------
    instruction : str
        The PTX mnemonic, or ``"fma.f32"``.
    arch, lowering : str
    model : str
        A sentence that describes the arithmetic of the model.
    evidence : Evidence
    note : str
        A note on the evidence.
    row, column : int
        The element of D.
    a_format, b_format, c_format, d_format : str
    k : int
        The number of columns of A and rows of B; A and B are padded with +0.
    a, b : tuple of int
        Patterns of the row of A and the column of B. If A is sparse, its packed elements, and the elements of B that
        they multiply.
    ks : tuple of int
        The k of each element.
    c : int
    executions : tuple of Execution
        The instructions over ascending k.
    result : int
        The pattern of the element of D.
    value : str
        Its value, in decimal.
    scale_format : str
        The format of the block scales; ``""`` without scales.
    scale_a, scale_b : tuple of int
        Patterns of the scales of the row and of the column, one for each ``scale_block`` products.
    scale_block : int
    model_name : str
        The name of an alternative model; ``""`` for the default.
    """

    instruction: str
    arch: str
    lowering: str
    model: str
    evidence: Evidence
    note: str
    row: int
    column: int
    a_format: str
    b_format: str
    c_format: str
    d_format: str
    k: int
    a: tuple[int, ...]
    b: tuple[int, ...]
    ks: tuple[int, ...]
    c: int
    executions: tuple[Execution, ...]
    result: int
    value: str
    scale_format: str = ""
    scale_a: tuple[int, ...] = ()
    scale_b: tuple[int, ...] = ()
    scale_block: int = 0
    model_name: str = ""

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of all instructions, in order."""
        return tuple(step for execution in self.executions for step in execution.steps)

    @property
    def headline(self) -> str:
        """The element of D, its bits and its value, in one line."""
        return f"D[{self.row}, {self.column}] = {self._result()}"

    def to_dict(self) -> dict[str, Any]:
        """Return nested dictionaries, tuples, integers and strings; a step's kind is its entry ``"step"``."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [self.headline]
        lines += [line for head, text in self.facts() for line in paragraph(f"  {head}", text, 15)]
        for execution in self.executions:
            lines += ["", self.opening(execution)]
            for step in execution.steps:
                lines += step_lines(step)
        if not self.executions:
            lines += ["", "no products: D is C"]
        return "\n".join(lines) + f"\n\n{self.headline}"

    def _repr_html_(self) -> str:
        return str(render("explanation.html", self))

    def _result(self) -> str:
        fmt = format_of(self.d_format)
        value = self.value
        if fmt.is_float and unpack(self.result, fmt).kind in ("zero", "finite"):
            value += f" = {shown(self.result, fmt)}"
        return f"{pattern(self.result, fmt)} ({fmt}) = {value}"

    def facts(self) -> list[tuple[str, str]]:
        """Return the instruction, its operands, the model and its evidence, each preceded by its name."""
        used = (
            f"row {self.row} of A ({self.a_format}), column {self.column} of B ({self.b_format}), c ({self.c_format})"
        )
        count, last = len(self.executions), self.executions[-1].last_k + 1 if self.executions else 0
        several = f"; {count} instructions" if count > 1 else ""
        filled = f", filled with +0 to {last}" if last > self.k else ""
        rows = [("instruction", f"{self.instruction} on {self.arch}")]
        if self.lowering != "native":
            rows.append(("lowering", self.lowering))
        sparse = f"; A is sparse: {len(self.a)} products" if len(self.a) < last else ""
        if sparse and "k %" in self.model:
            sparse += ", which the model's k counts"
        scales = f"; block scales ({self.scale_format}) of {self.scale_block} products" if self.scale_format else ""
        rows += [
            ("operands", f"{used}; K = {self.k}{filled}{several}{sparse}{scales}"),
            ("model", self.model),
            ("status", self.status + (f"; the alternative {self.model_name!r}" if self.model_name else "")),
            ("source", self.source),
        ]
        if self.note:
            rows.append(("note", self.note))
        return rows

    def opening(self, execution: Execution) -> str:
        """Return a line with the instruction, its k and its c."""
        which = f"instruction {execution.number} of {len(self.executions)}, " if len(self.executions) > 1 else ""
        c = f"{execution.c_name} = {pattern(execution.c, self.c_format)}"
        if execution.c_name != "c":
            c = f"c = {c}"
        if format_of(self.c_format).is_float:
            c += f" = {shown(execution.c, self.c_format)}"
        return f"{which}k = {execution.first_k} .. {execution.last_k}, {c}"
