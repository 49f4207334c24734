# SPDX-License-Identifier: MIT
"""The backends compared with the emulator: a GPU, or the emulator itself with an altered model."""

from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from numpy.typing import NDArray

from wmma_emu.applications.campaign.pairs import emulate_pairs
from wmma_emu.applications.campaign.registers import Variant, apply_variant, read_scales
from wmma_emu.arithmetic import DotProduct, model_for
from wmma_emu.errors import CallError, OptionError
from wmma_emu.formats.codec import Bits
from wmma_emu.generators import Operands, Scales
from wmma_emu.instructions import Instruction
from wmma_emu.warp import BoundInstruction
from wmma_emu.warp.sparse import Extras, multiply


class Backend(Protocol):
    """The other side of a campaign. It is pickled into every worker process, and opened there.

    A backend that measures time may have an attribute ``kernel_seconds``, which increases.
    """

    def describe(self) -> dict[str, Any]:
        """Return a description: at least ``name`` and ``arch``, and nothing that differs from run to run.

        A backend that is not hardware sets ``emulated``.
        """

    def execute(self, ins: BoundInstruction, a: Any, b: Any, c: Any, **keywords: Any) -> NDArray[Any]:
        """Execute an instruction on registers, as `BoundInstruction.execute` does."""


@dataclass(frozen=True)
class EmulatedBackend:
    """The emulator instead of a GPU, with an altered model if requested, to try out a campaign.

    Parameters
    ----------
    arch : str
    alter : dict
        Fields of `DotModel`, with their new values.
    model : str
        The name of the model to alter, if sources disagree; by default the instruction's own.

    Examples
    --------
    >>> EmulatedBackend(alter={"fraction_bits": 24}).describe()["name"]
    'emulator (fraction_bits=24)'
    """

    arch: str = "sm_90"
    alter: dict[str, Any] = field(default_factory=dict)
    model: str = field(default="", kw_only=True)

    def describe(self) -> dict[str, Any]:
        """Return a description with the alterations."""
        told = {"model": self.model} if self.model else {}
        altered = ", ".join(f"{name}={value}" for name, value in (told | self.alter).items())
        name = f"emulator ({altered})" if altered else "emulator"
        return {"name": name, "arch": self.arch, "driver": "none", "toolkit": "none", "emulated": True}

    def product(self, ins: BoundInstruction) -> DotProduct:
        """Return the altered dot product of an instruction.

        Raises
        ------
        UnsupportedInstructionError
            If the rounding is altered: the emulator's fast engines support only truncated f32 sums and f16 sums rounded
            to nearest.
        """
        if "rounding" in self.alter:
            raise OptionError("an emulated backend cannot alter the rounding of a model")
        entry = ins.instruction
        model = model_for(entry, self.arch, ins.model.lowering, self.model) if self.model else ins.model
        return replace(ins.product, model=replace(model, **self.alter))

    def execute(self, ins: BoundInstruction, a: Any, b: Any, c: Any, **keywords: Any) -> NDArray[Any]:
        """Execute with the altered model, computing all pairs of a pool as one product."""
        entry, (operands, scales) = ins.instruction, unpacked(ins, a, b, c, keywords)
        given = () if scales is None else (scales,)
        inner = 2 if entry.products == 1 else 3
        batch_a, batch_b = operands.a.shape[:-inner], operands.b.shape[:-inner]
        if len(batch_a) == len(batch_b) == 2 and batch_a[1] == batch_b[0] == 1:
            x, y, z = (tiles.reshape(-1, *tiles.shape[-2:]) for tiles in operands[:3])
            indices = None if operands.indices is None else operands.indices.reshape(x.shape)
            pools = () if scales is None else (Scales(*(tiles.reshape(-1, *tiles.shape[-2:]) for tiles in scales)),)
            return ins.d.pack_bits(self.pairs(entry, self.product(ins), Operands(x, y, z, indices), *pools))
        return ins.d.pack_bits(self.tiles(self.product(ins), operands, *given))

    def pairs(self, entry: Instruction, product: DotProduct, operands: Operands, scales: Scales | None = None) -> Bits:
        """Compute all pairs of a pool: (p, q, m, n)."""
        return emulate_pairs(entry, product, operands, scales)

    def tiles(self, product: DotProduct, operands: Operands, scales: Scales | None = None) -> Bits:
        """Compute tiles whose leading axes broadcast."""
        a, b, c, indices = operands
        return multiply(product, a, b, c, Extras(indices, *(scales or ())), threads=1)


def unpacked(ins: BoundInstruction, a: Any, b: Any, c: Any, keywords: dict[str, Any]) -> tuple[Operands, Scales | None]:
    """Unpack the arguments of ``execute`` into patterns, and apply its options."""
    entry, rest = ins.instruction, dict(keywords)
    scales = None
    if ins.scale_a is not None and ins.scale_b is not None:
        found = (
            bound.unpack_bits(rest.pop(bound.name), rest.pop(f"byte_id_{x}", 0), rest.pop(f"thread_id_{x}", 0))
            for x, bound in (("a", ins.scale_a), ("b", ins.scale_b))
        )
        scales = read_scales(entry, Scales(*found))
    metadata, selector = rest.pop("metadata", None), rest.pop("selector", 0)
    if unknown := rest.keys() - {"scale_d", "negate_a", "negate_b"}:
        raise CallError(f"an emulated backend does not have the option {', '.join(sorted(unknown))}")
    in_shared_memory = entry.is_warpgroup and a.shape[-2:] == entry.matrix_shape("a")
    storage = ins.product.b.storage  # bool matrices of b1 become the patterns 0 and 1
    x: Bits = a.astype(ins.product.a.storage) if in_shared_memory else ins.a.unpack_bits(a)
    y: Bits = b.astype(storage) if entry.is_warpgroup else ins.b.unpack_bits(b)
    indices = None if metadata is None else ins.indices(metadata, selector)
    patterns = Operands(x, y, ins.c.unpack_bits(c), indices)
    return apply_variant(entry, patterns, Variant(**rest)), scales
