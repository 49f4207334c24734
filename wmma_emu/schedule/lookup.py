# SPDX-License-Identifier: MIT
"""Lookup and construction of the schedule of a matrix instruction on a chip."""

from dataclasses import replace
from functools import cache

from wmma_emu.arithmetic import DotProduct, dot_product_of
from wmma_emu.chip_sets import newest
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.evidence import Evidence
from wmma_emu.instructions import Arch, Instruction, MachineCode, arch_of, lookup, machine_instructions
from wmma_emu.renamed import renamed_keywords
from wmma_emu.schedule.divide import Layouts, opcodes_of, quad_steps, tiles, undivided_step
from wmma_emu.schedule.spec import Finish, MachineStep, Schedule
from wmma_emu.schedule.table import LIKE_TITAN_V, ORDERS, UNDIVIDED, VOLTA_SETS, WHOLE_SOURCE, Order, Undivided
from wmma_emu.schedule.text import numbers


def schedule_of(instruction: "str | Instruction", arch: "str | Arch", lowering: str | None = None) -> Schedule:
    """Return the machine instructions of a matrix instruction on a chip, with the elements that each accesses.

    Parameters
    ----------
    instruction : str or Instruction
    arch : str or Arch
    lowering : str, optional
        The compiler's sequence, if there are several. The newest by default.

    Returns
    -------
    Schedule

    Raises
    ------
    UnsupportedInstructionError
        If the chip does not support the instruction, no compiler lowers it in this way, or its machine code does not
        divide the product; the message names the machine code.

    Examples
    --------
    >>> schedule = schedule_of("wmma.mma.m16n16k16.f32.f32", "sm_75")
    >>> [(step.opcode, step.cols[0], step.ks[0]) for step in schedule.steps]
    [('HMMA.1688.F32', 0, 0), ('HMMA.1688.F32', 8, 0), ('HMMA.1688.F32', 0, 8), ('HMMA.1688.F32', 8, 8)]
    >>> schedule_of("m8n8k4.f32.f16.f16.f32", "a100")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnsupportedInstructionError: mma.sync...m8n8k4... has no schedule on sm_80: it is executed by ...
    """
    chip = arch_of(arch)
    entry = lookup(instruction, chip)
    code = machine_instructions(entry, chip, lowering)  # rejects a lowering that does not exist
    return scheduled(entry, chip, dot_product_of(entry, chip.name, code.lowering))


@renamed_keywords(row="instruction")
def undivided(instruction: Instruction, chip: "str | Arch") -> Undivided | None:
    """Return the reason why an instruction has no schedule on a chip, or None if it has one."""
    reasons = (x for x in UNDIVIDED if _is_of(instruction, x) and x.shape in ("", instruction.shape))
    return newest(reasons, arch_of(chip).name)


def _is_of(instruction: Instruction, entry: "Order | Undivided") -> bool:
    is_named = not {instruction.a, f"{instruction.a}:{instruction.bit_operation}"}.isdisjoint(entry.operands.split())
    return is_named and instruction.family in entry.families.split()


@renamed_keywords(row="instruction")
@cache
def scheduled(instruction: Instruction, chip: Arch, product: DotProduct) -> Schedule:
    """Build a schedule as in `schedule_of`; ``product`` has the arithmetic and the lowering."""
    lowering = product.model.lowering
    code = machine_instructions(instruction, chip, lowering)
    reason = undivided(instruction, chip)
    if reason is not None:
        others = ", ".join(other for other in instruction.archs if undivided(instruction, other) is None)
        raise UnsupportedInstructionError(
            f"{instruction.mnemonic} has no schedule on {chip}: {reason.reason.format(machine=code.text)}"
            + (f". Chips where it has one are {others}" if others else "")
        )
    sums = product.model.accumulator
    codes = opcodes_of(code.text)
    in_sets = ".STEP" in codes[0][1]
    layouts = Layouts.of(instruction, chip, sums, reads_c_as_it_is=in_sets)
    order = None
    if in_sets:
        steps = list(quad_steps(instruction, codes, layouts))
        evidence = VOLTA_SETS.get(chip.name, LIKE_TITAN_V).of(instruction.mnemonic)
    elif codes == [(1, codes[0][1])]:
        steps = list(undivided_step(instruction, codes[0][1], layouts))
        evidence = Evidence("inferred", f"{WHOLE_SOURCE}: {code.source}")
    else:
        order = _order(instruction, codes[0][1], code)
        steps = list(tiles(instruction, *codes[0][::-1], _as_lowered(order, product), layouts))
        evidence = order.evidence if lowering == "native" else Evidence("inferred", code.source)
    finish, after = _finish(instruction, order, product)
    converted = not layouts.c_is_read and steps[0].start == "c"
    before = [
        *([order.before] if order and order.before else []),
        *([f"C is converted to {sums}"] if converted else []),
    ]
    rounded = tuple(replace(step, rounded=_rounded(step, product)) for step in steps)
    return Schedule(
        instruction, chip, lowering, code.text, rounded, "; ".join(filter(None, before)), after, finish, sums,
        _inside(rounded, product), "" if order else code.note, evidence,
    )  # fmt: skip


def _order(instruction: Instruction, opcode: str, code: MachineCode) -> Order:
    for order in ORDERS:
        if opcode.startswith(order.opcode) and _is_of(instruction, order):
            return order
    raise UnsupportedInstructionError(f"the division of {instruction.mnemonic} into {code.text} is not known")


def _as_lowered(order: Order, product: DotProduct) -> Order:
    """Return the order of the lowering, which decides whether the second of two sums begins with the first."""
    return order._replace(start="zeros") if product.model.partial_sums == "added" else order


def _finish(instruction: Instruction, order: Order | None, product: DotProduct) -> tuple[Finish, str]:
    model = product.model
    if order is not None and order.start in ("zero", "zeros"):
        clamped = ", clamped to 32 bits" if product.satfinite else ""
        rounds = model.arithmetic == "aligned_sum"
        if _as_lowered(order, product).start == "zeros":
            return "add_sums_and_c", f"D = C + (first + second){', each addition rounded to nearest' * rounds}{clamped}"
        return "add_c", f"D = C + second{', rounded to nearest' * rounds}"
    if instruction.d != model.accumulator:
        return "convert", f"D is the {model.accumulator} sums, rounded to nearest {instruction.d}"
    return "none", ""


def _rounded(step: MachineStep, product: DotProduct) -> tuple[tuple[int, ...], ...]:
    """Return the k that are rounded together inside: the model's steps within this machine instruction."""
    if product.model.arithmetic in ("integer", "popcount"):
        return ()
    within = set(step.ks)
    return tuple(part for ks in product.steps if (part := tuple(k for k in ks if k in within)))


def _inside(steps: tuple[MachineStep, ...], product: DotProduct) -> str:
    model = product.model
    if model.arithmetic == "integer":
        return f"products and sums are exact ({model.status})"
    if model.arithmetic == "popcount":
        return f"ones are counted, which is exact ({model.status})"
    if model.arithmetic == "fma_chain":
        return f"fused multiply-adds, k ascending, each rounded ({model.status})"
    first = steps[0].rounded
    rounds = f"{model.rounding} to {model.output_format} ({model.status})"
    if len(first) == 1:
        scaled = {
            "": "",
            "exponents": " with their scales",
            "groups": f", as exact sums of {model.group_terms} with their scales,",
        }[model.scaling]
        return f"{len(first[0])} products{scaled} and the accumulator are summed and rounded once, {rounds}"
    together = ", then ".join(f"k {numbers(ks)}" for ks in first)
    return f"{together}, each summed with its accumulator and rounded {rounds}"
