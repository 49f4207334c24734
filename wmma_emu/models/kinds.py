# SPDX-License-Identifier: MIT
"""The instruction that multiplies arrays of a dtype on a chip, under a library's settings: a table."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from wmma_emu.errors import OptionError, UnsupportedInstructionError
from wmma_emu.gemm import KOrder
from wmma_emu.instructions import Arch, lookup
from wmma_emu.warp import BoundMatrixInstruction, bound_instruction

FMA = "fma.f32"


class KindRule(NamedTuple):
    """An instruction for operands of a dtype.

    ``setting`` is a setting of the library that must be on, ``""`` for none. ``{a}`` and ``{b}`` in ``instr`` stand for
    the formats. A chip that lacks the instruction takes the next rule.
    """

    dtype: str
    setting: str
    instr: str
    k_order: KOrder | None = None


_PROMOTED = KOrder(tile=128, promote_every=4)
"""FP8 without fast accumulation: every 128 k the sums of four `wgmma` are added to sums in float32."""

_FP8 = (
    ("precise", "wgmma.m64n8k32.f32.{a}.{b}", _PROMOTED),
    ("", "wgmma.m64n8k32.f32.{a}.{b}", None),
    ("", "m16n8k32.f32.{a}.{b}.f32", None),
)

RULES: tuple[KindRule, ...] = (
    KindRule("float32", "tf32", "m16n8k8.f32.tf32.tf32.f32"),
    KindRule("float32", "", FMA),
    KindRule("float16", "f16 sums", "wmma.mma.m16n16k16.f16.f16"),
    KindRule("float16", "", "m16n8k16.f32.f16.f16.f32"),
    KindRule("float16", "", "wmma.mma.m16n16k16.f32.f32"),
    KindRule("bfloat16", "", "m16n8k16.f32.bf16.bf16.f32"),
    KindRule("bfloat16", "", FMA),
    KindRule("float64", "", "m8n8k4.f64.f64.f64.f64"),
    KindRule("int8", "", "m16n8k32.s32.s8.s8.s32"),
    KindRule("int8", "", "m8n8k16.s32.s8.s8.s32"),
    *(KindRule(dtype, *rule) for dtype in ("float8_e4m3fn", "float8_e5m2") for rule in _FP8),
)
"""The first rule that applies. Volta and Turing have no bf16: products there are float32 multiply-adds of the operands,
which are float32 numbers too."""

FORMATS: Mapping[str, str] = {
    "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float64": "f64", "int8": "s8", "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
}  # fmt: skip
"""The format of each dtype with rules, by its name in NumPy, ml_dtypes, torch and JAX."""


@dataclass(frozen=True, slots=True)
class ProductKind:
    """The products of one kind of operands: the instruction, and the order of k that the kind implies.

    ``instruction`` is None for float32 multiply-adds; ``a`` and ``b`` are the formats of the operands.
    """

    instruction: BoundMatrixInstruction | None
    a: str
    b: str
    k_order: KOrder | None = None

    @property
    def instr(self) -> BoundMatrixInstruction | str:
        """The instruction as an argument of `wmma_emu.gemm`."""
        return FMA if self.instruction is None else self.instruction

    @property
    def mnemonic(self) -> str:
        """The mnemonic; ``"fma.f32"`` for multiply-adds."""
        return FMA if self.instruction is None else self.instruction.mnemonic

    @property
    def operand_format(self) -> str:
        """The format that the instruction reads."""
        return "f32" if self.instruction is None else self.instruction.product.a.name

    @property
    def widens(self) -> bool:
        """Whether operands are converted to float32 first."""
        return self.instruction is None and self.a != "f32"

    @property
    def status(self) -> str:
        """The evidence for the arithmetic; multiply-adds of float32 are documented."""
        return "documented" if self.instruction is None else str(self.instruction.model.status)

    @property
    def is_aligned_sum(self) -> bool:
        """Whether the instruction adds aligned products, whose model has the fields that chips differ in."""
        return self.instruction is not None and self.instruction.model.arithmetic == "aligned_sum"

    def with_field(self, name: str, other: "ProductKind") -> "ProductKind":
        """Return the same kind with a field of another kind; ``"instruction"`` takes the other kind of arithmetic."""
        if self.is_aligned_sum != other.is_aligned_sum:
            return other if name == "instruction" else self
        if other.instruction is None or name == "instruction":
            return self
        return self.changed({name: getattr(other.instruction.model, name)})

    def changed(self, fields: Mapping[str, Any]) -> "ProductKind":
        """Return the same kind with fields of the model replaced, for aligned sums."""
        if self.instruction is None or not self.is_aligned_sum or not fields:
            return self
        if all(getattr(self.instruction.model, name) == value for name, value in fields.items()):
            return self
        model = replace(self.instruction.model, **fields)
        return replace(self, instruction=self.instruction.with_model(model))


@lru_cache(maxsize=256)
def kind_of(a: str, b: str, arch: Arch, settings: frozenset[str], instr: str = "") -> ProductKind | None:
    """Return the kind of a product of two dtypes, by their names; None if the chip does not multiply them so.

    ``instr`` is the instruction of a kernel that does not follow the table, as `KindRule` writes it.

    Raises
    ------
    OptionError
        For FP8 on a chip without it: a library raises an error there, too.

    Examples
    --------
    >>> from wmma_emu.instructions import arch_of
    >>> kind_of("float32", "float32", arch_of("a100"), frozenset({"tf32"})).mnemonic
    'mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32'
    >>> kind_of("float32", "float32", arch_of("v100"), frozenset({"tf32"})).mnemonic
    'fma.f32'
    >>> kind_of("int64", "int64", arch_of("a100"), frozenset()) is None
    True
    """
    if a not in FORMATS or b not in FORMATS:
        return None
    formats = {"a": FORMATS[a], "b": FORMATS[b]}
    for rule in (KindRule(a, "", instr),) if instr else RULES:
        if rule.dtype != a or (rule.setting and rule.setting not in settings):
            continue
        if rule.instr == FMA:
            return ProductKind(None, **formats, k_order=rule.k_order)
        found = _bound(rule.instr.format(**formats), arch)
        if found is not None:
            return ProductKind(found, **formats, k_order=rule.k_order)
    if a.startswith("float8"):
        raise OptionError(
            f"{arch.name} ({arch.generation}) has no instruction that multiplies {FORMATS[a]} by {FORMATS[b]}; FP8 "
            "begins with sm_89: emulate 'l40s' or 'h100'"
        )
    return None


def _bound(mnemonic: str, arch: Arch) -> BoundMatrixInstruction | None:
    try:
        return bound_instruction(lookup(mnemonic, arch.name), arch, warns=False)
    except UnsupportedInstructionError:
        return None
