# SPDX-License-Identifier: MIT
"""The mechanisms by which two chips can differ, each a set of fields and options that are switched together."""

from dataclasses import dataclass
from typing import Any

from wmma_emu.models import EmulationOptions, ModelMultiplier


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A mechanism: fields of the model of a matrix instruction, and options of the emulation."""

    name: str
    meaning: str
    fields: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def differs(self, one: EmulationOptions, other: EmulationOptions, kinds: Any) -> bool:
        """Return whether two emulations differ in this mechanism, for products of some kinds."""
        if any(getattr(one, name) != getattr(other, name) for name in self.options):
            return True
        return any(_field_differs(one, other, kind, name) for kind in kinds for name in self.fields)

    def switched(self, options: EmulationOptions, source: EmulationOptions) -> EmulationOptions:
        """Return options with this mechanism of another emulation."""
        chip = source.arch.name if source.arch is not None else ""
        changes = {name: value for name, value in options.changes.items() if name not in self.fields}
        return options.but({
            **{name: getattr(source, name) for name in self.options},
            "model_of": {**options.model_of, **{name: source.model_of.get(name, chip) for name in self.fields}},
            "changes": changes | {name: value for name, value in source.changes.items() if name in self.fields},
        })  # fmt: skip


MECHANISMS: tuple[Mechanism, ...] = (
    Mechanism("bits cut", "the bits below the largest exponent that products keep", ("fraction_bits", "min_exponent")),
    Mechanism("products per step", "how many products are added before a rounding", (
        "terms_per_step", "k_order", "c_joins", "partial_sums",
    )),
    Mechanism("rounding of a step", "how, and to which format, a step rounds", ("rounding", "output")),
    Mechanism("instruction", "matrix instructions, or multiply-adds of the CUDA cores", ("instruction",)),
    Mechanism("order of k", "the order in which kernels add over k", (), (
        "k_order", "like", "like_chip", "convolution_order", "attention_tile",
    )),
    Mechanism("tf32 conversion", "how float32 operands become TF32", (), ("tf32_conversion",)),
)  # fmt: skip
"""All mechanisms. The rounding of results to their dtype is the same on every chip; `ProductDifference` says what it
hides."""


def _field_differs(one: EmulationOptions, other: EmulationOptions, what: Any, name: str) -> bool:
    """Return whether a field differs for one kind of product; fields of models only exist for aligned sums."""
    kinds = [ModelMultiplier(options).kind(*what) for options in (one, other)]
    if any(kind is None for kind in kinds):
        return False
    aligned = [kind is not None and kind.is_aligned_sum for kind in kinds]
    if name == "instruction" or not all(aligned):
        return name == "instruction" and aligned[0] != aligned[1]
    values = {getattr(kind.instruction.model, name) for kind in kinds if kind and kind.instruction}
    return len(values) > 1
