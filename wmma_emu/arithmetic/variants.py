# SPDX-License-Identifier: MIT
"""Models of an instruction that are not in the table: found by experiment, or altered by hand."""

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
    """Check that a model is valid for an instruction, and apply it.

    Parameters
    ----------
    model : DotModel
        A model that is neither in the table nor found by `probe` gets the status ``"altered"``.
    instruction : Instruction

    Raises
    ------
    UnsupportedInstructionError
        If the model contradicts itself or the instruction; the message names the parameter and its legal values.

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
            f"expected a DotModel, not {shorten(model)}; dataclasses.replace(ins.model, fraction_bits=24) makes one"
        )
    model = _with_integers(model)
    problem = next(_problems(model, instruction), None)
    if problem is not None:
        raise OptionError(f"the model is not valid for {instruction.mnemonic}: {problem}")
    if _is_entry(model):
        model = replace(model, evidence=model.evidence.of(instruction.mnemonic))
    elif model.status != "probed":
        evidence = Evidence("altered", "no chip is known to compute so")
        model = replace(model, evidence=evidence, note="", name="")
    return DotProduct.of(model, instruction)


def _is_entry(model: DotModel) -> bool:
    """Return whether a model is in the table, for any instruction."""
    kind = (model.arch, model.families, model.inputs)
    alike = (entry for entry in MODELS if (entry.arch, entry.families, entry.inputs) == kind)
    return any(replace(entry, evidence=model.evidence, note=model.note) == model for entry in alike)


_COUNTS = {
    "terms_per_step": range(1, 1 << 16),
    "fraction_bits": range(_MOST_FRACTION_BITS + 1),
    "min_exponent": _EXPONENTS,
}
"""The parameters that are integers."""


def _with_integers(model: DotModel) -> DotModel:
    """Convert NumPy integers to Python integers; `_problems` reports values that are not integers."""
    given = {name: integer_of(getattr(model, name)) for name in (*_COUNTS, "group_terms")}
    return replace(model, **{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]


def _is_integer(value: object, legal: Container[int]) -> bool:
    """Return whether a value is one of these integers, and not just equal to one, such as 16.0 or True."""
    return type(value) is int and value in legal


_CHAINS_HAVE_NONE = {"rounding": "RNE", "output": "", "k_order": "ascending", "partial_sums": "chained",
                     "fraction_bits": 0, "min_exponent": 0, "scaling": "", "group_terms": 0,
                     "zero_groups": "left_out"}  # fmt: skip
"""The parameters of aligned sums only, with their values for a chain, whose rounding is the instruction's modifier."""


def _problems(model: DotModel, instruction: Instruction) -> Iterator[str]:
    """Yield all errors of a model, beginning with those on which other checks depend."""
    a, b, c, d = (instruction.format(x) for x in ("a", "b", "c", "d"))
    kind = _KINDS.get(model.arithmetic)
    if kind != a.kind:
        legal = [name for name, of in _KINDS.items() if of == a.kind]
        yield f"arithmetic={model.arithmetic!r} does not multiply {a}; legal: {', '.join(map(repr, legal))}"
    if kind != "float":
        return
    yield from _of_formats(model, (a, b), (c, d))
    yield from _of_scales(model, instruction)
    if model.arithmetic == "fma_chain":
        for name, none in _CHAINS_HAVE_NONE.items():
            if getattr(model, name) != none:
                yield f"{name}={getattr(model, name)!r} has no effect on a chain of multiply-adds; legal: {none!r}"
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
    """Yield errors of block scales and groups of products."""
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
        yield f"group_terms={model.group_terms!r}; legal: the divisors of {block} products, which share scales"
    elif _is_integer(model.terms_per_step, _COUNTS["terms_per_step"]) and model.terms_per_step % model.group_terms:
        yield f"terms_per_step={model.terms_per_step!r} with groups; legal: multiples of {model.group_terms}"


def _of_formats(model: DotModel, operands: tuple[Format, Format], sums: tuple[Format, Format]) -> Iterator[str]:
    for name, value in (("accumulator", model.accumulator), ("operand_format", model.operand_format or "f16")):
        if not isinstance(value, str) or value not in FORMATS or not FORMATS[value].is_float:
            yield f"{name}={value!r} is not a floating-point format"
    if model.output not in ("", "e8m13", model.accumulator) or (model.output == "e8m13" and model.accumulator != "f32"):
        wider = " or 'e8m13'" if model.accumulator == "f32" else ""
        yield f"output={model.output!r} with accumulator={model.accumulator!r}; legal: ''{wider}"
    if model.operand_format:
        for operand in operands:
            if not _holds(model.operand_format, operand):
                yield f"operand_format={model.operand_format!r} does not represent every {operand}"
    inside = model.accumulator_format if model.arithmetic == "aligned_sum" else model.chain_format
    if not _holds(inside.name, sums[0]):
        yield f"sums in {inside} do not represent every c, which is {sums[0]}"


def _holds(outer: str, inner: Format) -> bool:
    """Return whether a format represents every number of another format."""
    fmt = FORMATS[outer]
    return fmt.emin - fmt.fraction_bits <= inner.emin - inner.fraction_bits and (
        fmt.emax >= inner.emax and fmt.fraction_bits >= inner.fraction_bits
    )
