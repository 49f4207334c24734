# SPDX-License-Identifier: MIT
"""What is known of one matrix unit's arithmetic, as one frozen row; and a row applied to one instruction."""

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
"""What the FP8 units of Ada and of Hopper's `wgmma` keep of a float32 result: 13 fraction bits, in its register."""


@drawn_by("models")
@dataclass(frozen=True, slots=True)
class DotModel(Sourced):
    """How one chip computes one kind of dot product: a row of the table of models.

    Parameters
    ----------
    arch : str
        The chip, ``"sm_90"``.
    families, shapes, inputs : tuple of str
        The instructions that the row serves: PTX families, shapes, formats of A. ``"k16"`` is every shape of that k.
    b_inputs : tuple of str
        Formats of B; empty where they are as many as the instructions have.
    accumulator : str
        Format of what one step hands to the next.
    lowering : str
        ``"native"``; or, where the compiler expands the instruction, which compiler's sequence this is.
    arithmetic : {"aligned_sum", "fma_chain", "integer", "popcount"}
        An aligned sum of exact products, rounded once a step; chains of fused multiply-adds over ascending k;
        an exact integer sum; a population count.
    terms_per_step : int
        Products that one rounding step, or one chain, takes.
    fraction_bits : int
        F: bits kept below the largest exponent when terms are aligned.
    min_exponent : int
        The alignment exponent never falls below it.
    output : str
        What each step rounds to: the accumulator's format, or ``"e8m13"``.
    rounding : {"RZ", "RNE"}
        Of each step.
    operand_format : str
        Format that A and B are converted to first (exactly), and in which chains compute; ``""`` if they are read
        as they are.
    k_order : {"ascending", "byte_pairs"}
        Products of one step: consecutive k; or, for FP8 run as f16, first the k with ``k % 4 < 2`` (bytes 0
        and 1 of each register), then the others. Of a sparse A, k counts packed elements.
    c_joins : {"first_step", "last_add", "each_add"}
        Whether c is a term of the first step; or is added, rounded to nearest, after all steps, which then
        start from +0; or each chain's sum, begun by a plain product, is added to it in turn.
    partial_sums : {"chained", "added"}
        Whether a step takes the result of the step before it as a term; or starts from +0, the results being
        added, rounded to nearest.
    scaling : {"", "exponents", "groups"}
        What block scales do: their exponents are added to those of the products; or the products of a group are
        summed exactly and multiplied by both scales, and such a term is aligned by the exponents of its scales alone.
    group_terms : int
        Products of a group.
    zero_groups : {"left_out", "aligned"}
        Whether a group whose products add up to zero counts where the exponent of the alignment is found.
    name : str
        Where sources disagree, what tells this row from the default, whose name is empty: ``"F=34"``.
    evidence : Evidence
        Status and source, and the instructions that they hold of; ``probed`` and ``altered`` are models that stand in
        no table.
    note : str
        What is not known.
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
        """What each step rounds to."""
        return E8M13 if self.output == "e8m13" else format_of(self.output or self.accumulator)

    @property
    def nan(self) -> Literal["canonical", "propagate"]:
        """What a fused multiply-add makes of NaN: f64 units keep sign and payload, the others do not."""
        return "propagate" if self.accumulator == "f64" else "canonical"

    @property
    def chain_format(self) -> Format:
        """Format in which chains of fused multiply-adds compute."""
        return format_of(self.operand_format or self.accumulator)

    @property
    def accumulator_format(self) -> Format:
        """Format of the register that holds a step's result."""
        return format_of(self.accumulator)

    @property
    def parameters(self) -> tuple[object, ...]:
        """Everything that decides bits, nothing of provenance: equal for rows that compute alike."""
        return (
            self.accumulator, self.arithmetic, self.terms_per_step, self.fraction_bits,
            self.min_exponent, self.output, self.rounding, self.operand_format, self.k_order, self.c_joins,
            self.partial_sums, self.scaling, self.group_terms, self.zero_groups,
        )  # fmt: skip

    def describe(self) -> str:
        """Say in one sentence what the row computes."""
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
        """Say what block scales do."""
        match self.scaling:
            case "exponents":
                return ", the exponents of their scales added to theirs,"
            case "groups":
                return f", in groups of {self.group_terms} that are summed exactly and multiplied by both scales,"
        return ""

    def _aligned_to(self) -> str:
        """Say which exponents count where terms are aligned."""
        if self.scaling != "groups":
            return "exponent"
        return "exponent of scales and c" + (", zero groups included" if self.zero_groups == "aligned" else "")


@dataclass(frozen=True, slots=True)
class DotProduct:
    """A `DotModel` applied to one instruction: everything that one element of D is computed from.

    Parameters
    ----------
    model : DotModel
    a, b, c, d : Format
    k : int
        Products of one instruction; where A is sparse, of its packed elements.
    satfinite : bool
        Clamp an integer total instead of wrapping it.
    bit_operation : {"", "xor", "and"}
    rounding : str
        Of a chain of fused multiply-adds.
    scale : Format, optional
        Of the block scales.
    scale_vec : int
        Scales of a row of A, and of a column of B, of one instruction; 0 without.
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
        """Formats in which A and B enter the unit."""
        if self.model.operand_format:
            return format_of(self.model.operand_format), format_of(self.model.operand_format)
        return self.a, self.b

    @property
    def steps(self) -> tuple[tuple[int, ...], ...]:
        """The k of each rounding step, in the order in which the unit takes them."""
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
        """Products that share a scale of A, and one of B; 0 without scales. Of a sparse A, packed elements."""
        return self.k // self.scale_vec if self.scale_vec else 0

    @property
    def chains(self) -> bool:
        """Whether D of one instruction can be C of the next."""
        return self.c.name == self.d.name
