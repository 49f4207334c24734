# SPDX-License-Identifier: MIT
"""The model of a matrix unit's arithmetic, and a model applied to one instruction."""

from dataclasses import dataclass, field
from typing import Literal

from wmma_emu.drawn_types import drawn_by
from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.formats import Format, Rounding, format_of
from wmma_emu.instructions import Instruction

BitOperation = Literal["", "xor", "and"]

E8M13 = Format(
    "e8m13", "float", 32, True, exponent_bits=8, fraction_bits=13, bias=127, has_infinity=True, nan="ieee",
    ignored_low_bits=10, canonical_nan=0x7FFF_FFFF,
    source="recorded on Ada GPUs (FP8 mma.sync), H100 and H200 (FP8 wgmma)", status="recorded",
)  # fmt: skip
"""The float32 results of the FP8 units of Ada and of Hopper's `wgmma`: 13 fraction bits in a float32 register."""


@drawn_by("models")
@dataclass(frozen=True, slots=True)
class DotModel(Sourced):
    """The arithmetic of one kind of dot product on one chip: an entry of the table of models.

    Parameters
    ----------
    arch : str
        The chip, ``"sm_90"``.
    families, shapes, inputs : tuple of str
        The instructions that the model covers: PTX families, shapes, formats of A. ``"k16"`` stands for every shape
        with that k.
    b_inputs : tuple of str
        The formats of B; empty for all formats of the instructions.
    accumulator : str
        The format of the sum that one step passes to the next.
    lowering : str
        ``"native"``; or the compiler of the sequence, if the compiler expands the instruction.
    arithmetic : {"aligned_sum", "fma_chain", "integer", "popcount"}
        An aligned sum of exact products, rounded once per step; chains of fused multiply-adds over ascending k; an
        exact integer sum; or a population count.
    terms_per_step : int
        The number of products of one rounding step, or of one chain.
    fraction_bits : int
        F: the bits that are kept below the largest exponent when terms are aligned.
    min_exponent : int
        The lower limit of the alignment exponent.
    output : str
        The format to which each step rounds: the accumulator's format, or ``"e8m13"``.
    rounding : {"RZ", "RNE"}
        The rounding of each step.
    operand_format : str
        The format to which A and B are first converted (exactly), and in which chains compute; ``""`` for no
        conversion.
    k_order : {"ascending", "byte_pairs"}
        The products of one step: consecutive k; or, for FP8 executed as f16, first the k with ``k % 4 < 2`` (bytes 0
        and 1 of each register), then the others. If A is sparse, k counts packed elements.
    c_joins : {"first_step", "last_add", "each_add"}
        Whether c is a term of the first step; or is added, rounded to nearest, after all steps, which then start from
        +0; or the sum of each chain, which begins with a plain product, is added to it in turn.
    partial_sums : {"chained", "added"}
        Whether a step uses the result of the previous step as a term; or starts from +0, and the results are added,
        rounded to nearest.
    scaling : {"", "exponents", "groups"}
        The effect of block scales: their exponents are added to the exponents of the products; or the products of a
        group are summed exactly and multiplied by both scales, and such a term is aligned by its scales' exponents.
    group_terms : int
        The number of products of a group.
    zero_groups : {"left_out", "aligned"}
        Whether a group whose products add up to zero is ignored or counts when the alignment exponent is determined.
    name : str
        If sources disagree, the difference from the default, whose name is empty: ``"F=34"``.
    evidence : Evidence
        Status and source, and the instructions to which they apply; models with the status ``probed`` or ``altered``
        are not in the table.
    note : str
        The uncertainties.
    """

    arch: str
    families: tuple[str, ...]
    shapes: tuple[str, ...]
    inputs: tuple[str, ...]
    accumulator: str
    arithmetic: Literal["aligned_sum", "fma_chain", "integer", "popcount"]
    evidence: Evidence = field(hash=False)
    terms_per_step: int = 1
    fraction_bits: int = 0
    min_exponent: int = 0
    output: str = ""
    rounding: Literal["RZ", "RNE"] = "RNE"
    operand_format: str = ""
    k_order: Literal["ascending", "byte_pairs"] = "ascending"
    c_joins: Literal["first_step", "last_add", "each_add"] = "first_step"
    partial_sums: Literal["chained", "added"] = "chained"
    lowering: str = "native"
    note: str = ""
    scaling: Literal["", "exponents", "groups"] = ""
    group_terms: int = 0
    zero_groups: Literal["left_out", "aligned"] = "left_out"
    name: str = ""
    b_inputs: tuple[str, ...] = ()

    @property
    def output_format(self) -> Format:
        """The format to which each step rounds."""
        return E8M13 if self.output == "e8m13" else format_of(self.output or self.accumulator)

    @property
    def nan(self) -> Literal["canonical", "propagate"]:
        """The NaN of a fused multiply-add: f64 units keep sign and payload, other units do not."""
        return "propagate" if self.accumulator == "f64" else "canonical"

    @property
    def chain_format(self) -> Format:
        """The format in which chains of fused multiply-adds compute."""
        return format_of(self.operand_format or self.accumulator)

    @property
    def accumulator_format(self) -> Format:
        """The format of the register with a step's result."""
        return format_of(self.accumulator)

    @property
    def parameters(self) -> tuple[object, ...]:
        """All parameters that affect bits, without provenance: equal for models that compute the same results."""
        return (
            self.accumulator, self.arithmetic, self.terms_per_step, self.fraction_bits,
            self.min_exponent, self.output, self.rounding, self.operand_format, self.k_order, self.c_joins,
            self.partial_sums, self.scaling, self.group_terms, self.zero_groups,
        )  # fmt: skip

    def describe(self) -> str:
        """Describe the arithmetic in one sentence."""
        match self.arithmetic:
            case "integer":
                return "exact integer sum of the products and c, wrapped or (.satfinite) clamped once to 32 bits"
            case "popcount":
                return "population count of the bitwise operation, added to c, wrapped to 32 bits"
            case "fma_chain":
                join = {
                    "first_step": "from c",
                    "last_add": "from +0, then c added (RNE)",
                    "each_add": f"{self.terms_per_step} products a chain, each chain's sum added to c in turn (RNE)",
                }[self.c_joins]
                last = (
                    f", rounded RNE to {self.accumulator}" if self.operand_format not in ("", self.accumulator) else ""
                )
                return f"{self.chain_format} fused multiply-adds, k ascending, {join}{last}"
        text = f"steps of {self.terms_per_step} exact products"
        if self.operand_format:
            text += f" of operands converted to {self.operand_format}"
        text += self._scaled()
        if self.c_joins == "first_step":
            text += " and c"
        text += (
            f", aligned to the largest {self._aligned_to()} (at least {self.min_exponent}), cut toward zero to "
            f"{self.fraction_bits} fraction bits, summed exactly, rounded {self.rounding} to {self.output_format}"
        )
        if self.k_order == "byte_pairs":
            text += "; k % 4 < 2 first, then the others"
        if self.partial_sums == "added":
            text += "; the steps' results added (RNE)"
        if self.c_joins == "last_add":
            text += "; c added last (RNE)"
        return text

    def _scaled(self) -> str:
        """Describe the effect of block scales."""
        match self.scaling:
            case "exponents":
                return ", the exponents of their scales added to theirs,"
            case "groups":
                return f", in groups of {self.group_terms} that are summed exactly and multiplied by both scales,"
        return ""

    def _aligned_to(self) -> str:
        """Describe the exponents that count when terms are aligned."""
        if self.scaling != "groups":
            return "exponent"
        return "exponent of scales and c" + (", zero groups included" if self.zero_groups == "aligned" else "")


@dataclass(frozen=True, slots=True)
class DotProduct:
    """A `DotModel` applied to one instruction: the complete definition of an element of D.

    Parameters
    ----------
    model : DotModel
    a, b, c, d : Format
    k : int
        The number of products of one instruction; if A is sparse, of packed elements.
    satfinite : bool
        Whether an integer total is clamped instead of wrapped.
    bit_operation : {"", "xor", "and"}
    rounding : str
        The rounding of a chain of fused multiply-adds.
    scale : Format, optional
        The format of the block scales.
    scale_vec : int
        The number of scales of a row of A, and of a column of B, in one instruction; 0 without scales.
    """

    model: DotModel
    a: Format
    b: Format
    c: Format
    d: Format
    k: int
    satfinite: bool = False
    bit_operation: BitOperation = ""
    rounding: Rounding = "RNE"
    scale: Format | None = None
    scale_vec: int = 0

    @classmethod
    def of(cls, model: DotModel, instruction: Instruction) -> "DotProduct":
        """Apply a model to an instruction."""
        modifiers = instruction.modifiers
        rounding: dict[str, Rounding] = {"rn": "RNE", "rz": "RZ", "rm": "RD", "rp": "RU"}
        return cls(
            model,
            instruction.format("a"),
            instruction.format("b"),
            instruction.format("c"),
            instruction.format("d"),
            instruction.terms,
            satfinite="satfinite" in modifiers,
            bit_operation=instruction.bit_operation,
            rounding=next((rounding[x] for x in modifiers if x in rounding), "RNE"),
            scale=format_of(instruction.scale) if instruction.scale else None,
            scale_vec=instruction.scale_vec,
        )

    @property
    def operand_formats(self) -> tuple[Format, Format]:
        """The formats in which A and B enter the unit."""
        if self.model.operand_format:
            return format_of(self.model.operand_format), format_of(self.model.operand_format)
        return self.a, self.b

    @property
    def steps(self) -> tuple[tuple[int, ...], ...]:
        """The k of each rounding step, in the order of the unit."""
        order = list(range(self.k))
        if self.model.k_order == "byte_pairs":
            order.sort(key=lambda k: k % 4 >= 2)
            halves = [order[: self.k // 2], order[self.k // 2 :]]
        else:
            halves = [order]
        n = self.model.terms_per_step
        return tuple(tuple(half[i : i + n]) for half in halves for i in range(0, len(half), n))

    @property
    def scale_block(self) -> int:
        """The number of products (packed elements of a sparse A) that share scales of A and B; 0 without scales."""
        return self.k // self.scale_vec if self.scale_vec else 0

    @property
    def chains(self) -> bool:
        """Whether D of one instruction can be C of the next."""
        return self.c.name == self.d.name
