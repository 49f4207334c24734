# SPDX-License-Identifier: MIT
"""Apply a model to an instruction that no row of the table gives it: found by experiment, or altered by hand."""

from collections.abc import Container, Iterator
from dataclasses import replace

from wmma_emu.arithmetic.model import DotModel, DotProduct
from wmma_emu.arithmetic.table import MODELS
from wmma_emu.errors import CallError, OptionError, shorten
from wmma_emu.evidence import Evidence
from wmma_emu.formats import FORMATS, Format
from wmma_emu.formats.arrays import integer_of
from wmma_emu.instructions import Instruction

_KINDS = {"aligned_sum": "float", "fma_chain": "float", "integer": "integer", "popcount": "bit"}
_C_JOINS = {"aligned_sum": ("first_step", "last_add"), "fma_chain": ("first_step", "last_add", "each_add")}
_MOST_FRACTION_BITS = 1 << 10
_EXPONENTS = range(-(1 << 14), 1 << 10)


def applied(model: DotModel, instruction: Instruction) -> DotProduct:
    """Apply any model to an instruction, having checked that it means something.

    Parameters
    ----------
    model : DotModel
        One that is neither a row of the table nor found by `probe` gets the status ``"altered"``.
    instruction : Instruction

    Raises
    ------
    UnsupportedInstructionError
        For a model that contradicts itself or the instruction; the message names the parameter and what is legal.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from wmma_emu.instructions import lookup
    >>> from wmma_emu.arithmetic import applied, model_for
    >>> ins = lookup("m16n8k16.f32.f16.f16.f32")
    >>> applied(replace(model_for(ins, "sm_90"), terms_per_step=4), ins).steps[:2]
    ((0, 1, 2, 3), (4, 5, 6, 7))
    """
    if not isinstance(model, DotModel):
        raise CallError(
            f"a DotModel is wanted, not {shorten(model)}; dataclasses.replace(ins.model, fraction_bits=24) makes one"
        )
    model = _with_integers(model)
    problem = next(_problems(model, instruction), None)
    if problem is not None:
        raise OptionError(f"no such model for {instruction.mnemonic}: {problem}")
    if _is_row(model):
        model = replace(model, evidence=model.evidence.of(instruction.mnemonic))
    elif model.status != "probed":
        evidence = Evidence("altered", "no chip is known to compute so")
        model = replace(model, evidence=evidence, note="", name="")
    return DotProduct.of(model, instruction)


def _is_row(model: DotModel) -> bool:
    """Whether a model stands in the table, as known of whatever instruction."""
    rows = (row for row in MODELS if (row.arch, row.families, row.inputs) == (model.arch, model.families, model.inputs))
    return any(replace(row, evidence=model.evidence, note=model.note) == model for row in rows)


_COUNTS = {
    "terms_per_step": range(1, 1 << 16),
    "fraction_bits": range(_MOST_FRACTION_BITS + 1),
    "min_exponent": _EXPONENTS,
}
"""What is an integer of these."""


def _with_integers(model: DotModel) -> DotModel:
    """Integers of NumPy become Python's; what is none stays, and `_problems` names it."""
    given = {name: integer_of(getattr(model, name)) for name in (*_COUNTS, "group_terms")}
    return replace(model, **{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]


def _is_integer(value: object, legal: Container[int]) -> bool:
    """Whether a value is one of these integers, and no number that is merely equal to one: 16.0, True."""
    return type(value) is int and value in legal


_CHAINS_HAVE_NONE = {"rounding": "RNE", "output": "", "k_order": "ascending", "partial_sums": "chained",
                     "fraction_bits": 0, "min_exponent": 0, "scaling": "", "group_terms": 0,
                     "zero_groups": "left_out"}  # fmt: skip
"""What aligned sums alone have, and what stands there of a chain. It rounds as the instruction's modifiers say."""


def _problems(model: DotModel, instruction: Instruction) -> Iterator[str]:
    """Everything that is wrong with a model, beginning with what other checks rest on."""
    a, b, c, d = (instruction.format(x) for x in ("a", "b", "c", "d"))
    kind = _KINDS.get(model.arithmetic)
    if kind != a.kind:
        legal = [name for name, of in _KINDS.items() if of == a.kind]
        yield f"arithmetic={model.arithmetic!r} multiplies no {a}; legal: {', '.join(map(repr, legal))}"
    if kind != "float":
        return
    yield from _of_formats(model, (a, b), (c, d))
    yield from _of_scales(model, instruction)
    if model.arithmetic == "fma_chain":
        for name, none in _CHAINS_HAVE_NONE.items():
            if getattr(model, name) != none:
                yield f"{name}={getattr(model, name)!r} means nothing for a chain of multiply-adds; legal: {none!r}"
    for name, words in (
        ("rounding", ("RZ", "RNE")),
        ("c_joins", _C_JOINS[model.arithmetic]),
        ("partial_sums", ("chained", "added")),
        ("k_order", ("ascending", "byte_pairs")),
        ("zero_groups", ("left_out", "aligned")),
    ):
        if getattr(model, name) not in words:
            yield f"{name}={getattr(model, name)!r}; legal: {', '.join(map(repr, words))}"
    for name, numbers in _COUNTS.items():
        if not _is_integer(getattr(model, name), numbers):
            yield f"{name}={getattr(model, name)!r}; legal: {numbers.start} to {numbers.stop - 1}"


def _of_scales(model: DotModel, instruction: Instruction) -> Iterator[str]:
    """What block scales and groups of products ask of the model and the instruction."""
    if not instruction.scale:
        if model.scaling:
            yield f"scaling={model.scaling!r}, but the instruction has no block scales; legal: ''"
    elif model.scaling not in ("exponents", "groups"):
        yield f"scaling={model.scaling!r}, but the instruction has block scales; legal: 'exponents', 'groups'"
    elif model.operand_format:
        yield f"operand_format={model.operand_format!r} with block scales; legal: ''"
    elif model.scaling == "exponents" and FORMATS[instruction.scale].fraction_bits:
        yield f"scaling='exponents', but {instruction.scale} has significands; legal: 'groups'"
    if model.scaling != "groups":
        if model.group_terms:
            yield f"group_terms={model.group_terms!r} without groups; legal: 0"
        if model.zero_groups == "aligned":
            yield "zero_groups='aligned' without groups; legal: 'left_out'"
        return
    for operand in (instruction.format("a"), instruction.format("b")):
        if operand.has_infinity or operand.nan != "none":
            yield f"scaling='groups' sums exactly, and {operand} has infinities or NaN; legal: 'exponents'"
    if model.k_order != "ascending":
        yield f"k_order={model.k_order!r} with groups; legal: 'ascending'"
    block = instruction.terms // instruction.scale_vec
    sizes = [size for size in range(1, block + 1) if block % size == 0]
    if not _is_integer(model.group_terms, sizes):
        yield f"group_terms={model.group_terms!r}; legal are the divisors of {block}, which share scales"
    elif _is_integer(model.terms_per_step, _COUNTS["terms_per_step"]) and model.terms_per_step % model.group_terms:
        yield f"terms_per_step={model.terms_per_step!r} are no whole groups; legal: multiples of {model.group_terms}"


def _of_formats(model: DotModel, operands: tuple[Format, Format], sums: tuple[Format, Format]) -> Iterator[str]:
    for name, value in (("accumulator", model.accumulator), ("operand_format", model.operand_format or "f16")):
        if not isinstance(value, str) or value not in FORMATS or not FORMATS[value].is_float:
            yield f"{name}={value!r} is no floating-point format"
    if model.output not in ("", "e8m13", model.accumulator) or (model.output == "e8m13" and model.accumulator != "f32"):
        wider = " or 'e8m13'" if model.accumulator == "f32" else ""
        yield f"output={model.output!r} with accumulator={model.accumulator!r}; legal: ''{wider}"
    if model.operand_format:
        for operand in operands:
            if not _holds(model.operand_format, operand):
                yield f"operand_format={model.operand_format!r} does not hold every {operand}"
    inside = model.accumulator_format if model.arithmetic == "aligned_sum" else model.chain_format
    if not _holds(inside.name, sums[0]):
        yield f"sums in {inside} do not hold every c, which is {sums[0]}"


def _holds(outer: str, inner: Format) -> bool:
    """Whether a format has every number of another one."""
    fmt = FORMATS[outer]
    return fmt.emin - fmt.fraction_bits <= inner.emin - inner.fraction_bits and (
        fmt.emax >= inner.emax and fmt.fraction_bits >= inner.fraction_bits
    )
