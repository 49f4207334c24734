# SPDX-License-Identifier: MIT
"""Add the contents of PTX files to docs/reference/ptx-opcodes.csv: opcodes, and the kinds of their operands.

    python -m tools.collect_ptx_opcodes --writer "nvcc 13.0" FILE.ptx ...

An instruction is stored without names: ``%b32`` is a register of that type, ``[%b64+16]`` an address, ``{4 %f32}`` a
vector, ``@shared`` a variable of that space, ``@label`` a label; numbers stay. What is in the table already keeps its
operands.
"""

import argparse
import csv
import itertools
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from wmma_emu.ptx.program.build import program_of
from wmma_emu.ptx.program.program import (
    AddressOperand,
    Immediate,
    LabelTarget,
    Operand,
    PairOperand,
    Predicate,
    PtxInstruction,
    Register,
    SpecialRegister,
    Symbol,
    VectorOperand,
)

__all__ = ["TABLE", "TypedOpcode", "forms_of", "listed_with", "read_table", "write_table"]

TABLE = Path(__file__).parents[1] / "docs/reference/ptx-opcodes.csv"


class TypedOpcode(NamedTuple):
    """One typed opcode.

    Parameters
    ----------
    opcode : str
    files : int
        Of the survey's files, those in which it occurs.
    chips : str
        What those that contain it were compiled for.
    writers : str
        Compilers whose PTX, collected since the survey, contains it.
    operands : str
        Of one instruction, names left out.
    """

    opcode: str
    files: int
    chips: str
    writers: str
    operands: str


def read_table(path: Path = TABLE) -> dict[str, TypedOpcode]:
    """Read the table, in its order."""
    with path.open(encoding="utf-8", newline="") as file:
        entries = [
            TypedOpcode(x["opcode"], int(x["files"]), x["chips"], x["writers"], x["operands"])
            for x in csv.DictReader(file)
        ]
    return {entry.opcode: entry for entry in entries}


def write_table(rows: Iterable[TypedOpcode], path: Path = TABLE) -> None:
    """Write the table, the mnemonics in order."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(TypedOpcode._fields)
        writer.writerows(sorted(rows))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--writer", required=True, help='the compiler: "nvcc 13.0"')
    parser.add_argument("files", type=Path, nargs="+")
    given = parser.parse_args(argv)
    rows = read_table()
    before = len(rows)
    for path in given.files:
        text = path.read_text(encoding="utf-8")
        for opcode, operands in forms_of(text).items():
            old = rows.get(opcode, TypedOpcode(opcode, 0, "", "", operands))
            rows[opcode] = old._replace(
                chips=listed_with(old.chips, _target(text)), writers=listed_with(old.writers, given.writer, "; "),
                operands=old.operands or operands,
            )  # fmt: skip
    write_table(rows.values())
    print(f"{len(rows) - before} opcodes are new, {len(rows)} in total")
    return 0


def listed_with(listed: str, word: str, separator: str = " ") -> str:
    words = {*listed.split(separator), word} - {""}
    return separator.join(sorted(words, key=lambda x: (len(x) if separator == " " else 0, x.casefold())))


def _target(text: str) -> str:
    found = re.search(r"^\.target\s+(sm_\d+)", text, re.MULTILINE)
    return found[1] if found else "?"


def forms_of(text: str) -> dict[str, str]:
    """Find every opcode of PTX source, with the operands of the first instruction that uses it."""
    found: dict[str, str] = {}
    for kernel in program_of(text).kernels.values():
        for instruction in kernel.instructions:
            if instruction.opcode not in found:
                found[instruction.opcode] = _form(instruction)
    return found


def _form(instruction: PtxInstruction) -> str:
    if instruction.mnemonic == "call":
        return "@call"
    if instruction.mnemonic == "brx":
        return f"{_operand(instruction.operands[0])}, @branchtargets"
    form = ", ".join(_operand(x) for x in instruction.operands)
    # Parameters of calls are where local memory is; read in a callee, stored into by its caller.
    own = "@param" if instruction.mnemonic == "ld" else "@argument"
    return form.replace("@local", own) if "param" in instruction.modifiers else form


def _operand(operand: Operand | None) -> str:
    match operand:
        case None:
            return "_"
        case Register(type=kind):
            return f"%{kind}"
        case Immediate(kind="int", value=value):
            return str(value)
        case Immediate(kind=kind, value=value):
            return f"0f{value:08X}" if kind == "f32" else f"0d{value:016X}"
        case SpecialRegister(name=name):
            return f"%{name}"
        case Symbol(space=space):
            return f"@{space}"
        case LabelTarget():
            return "@label"
        case Predicate(register=register, negated=negated):
            return f"{'!' if negated else ''}%{register.type}"
        case PairOperand(first=first, second=second):
            return f"{_operand(first)}|{_operand(second)}"
        case VectorOperand(elements=elements):
            return "{" + ", ".join(_shortened([_operand(x) for x in elements])) + "}"
        case AddressOperand(base=base, offset=offset, coordinates=coordinates):
            sum_ = f"{_operand(base)}{f'{offset:+d}' if offset else ''}"
            inside = "{" + ", ".join(_operand(x) for x in coordinates) + "}" if coordinates else ""
            return f"[{sum_}{', ' + inside if inside else ''}]"
    raise TypeError(f"{operand} is not an operand")


def _shortened(words: list[str]) -> list[str]:
    groups = [(word, len(list(same))) for word, same in itertools.groupby(words)]
    return [word if count == 1 else f"{count} {word}" for word, count in groups]


if __name__ == "__main__":
    sys.exit(main())
