# SPDX-License-Identifier: MIT
"""What the emulator is held against: a GPU, or the emulator itself with another model in it."""

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

    One that measures time may have an attribute ``kernel_seconds``, which grows.
    """

    def describe(self) -> dict[str, Any]:
        """Say what this is: at least ``name`` and ``arch``; what differs from run to run is left out.

        What is no hardware says ``emulated``.
        """

    def execute(self, ins: BoundInstruction, a: Any, b: Any, c: Any, **keywords: Any) -> NDArray[Any]:
        """Execute an instruction on registers, as `BoundInstruction.execute`."""


@dataclass(frozen=True)
class EmulatedBackend:
    """The emulator in the place of a GPU, if wanted with a model that is altered: to try a campaign out.

    Parameters
    ----------
    arch : str
    alter : dict
        Fields of `DotModel` and their new values.
    model : str
        Name of the model that is altered, where sources disagree; by default the instruction's own.

    Examples
    --------
    >>> EmulatedBackend(alter={"fraction_bits": 24}).describe()["name"]
    'emulator (fraction_bits=24)'
    """

    arch: str = "sm_90"
    alter: dict[str, Any] = field(default_factory=dict)
    model: str = field(default="", kw_only=True)

    def describe(self) -> dict[str, Any]:
        """Say what is altered."""
        told = {"model": self.model} if self.model else {}
        altered = ", ".join(f"{name}={value}" for name, value in (told | self.alter).items())
        name = f"emulator ({altered})" if altered else "emulator"
        return {"name": name, "arch": self.arch, "driver": "none", "toolkit": "none", "emulated": True}

    def product(self, ins: BoundInstruction) -> DotProduct:
        """What is computed instead of the instruction's own product.

        Raises
        ------
        UnsupportedInstructionError
            For another rounding: the emulator's fast engines have f32 sums truncated, f16 sums rounded to nearest.
        """
        if "rounding" in self.alter:
            raise OptionError("an emulated backend cannot alter the rounding of a model")
        row = ins.instruction
        model = model_for(row, self.arch, ins.model.lowering, self.model) if self.model else ins.model
        return replace(ins.product, model=replace(model, **self.alter))

    def execute(self, ins: BoundInstruction, a: Any, b: Any, c: Any, **keywords: Any) -> NDArray[Any]:
        """Execute with the altered model; all pairs of a pool as one product."""
        row, (operands, scales) = ins.instruction, unpacked(ins, a, b, c, keywords)
        given = () if scales is None else (scales,)
        inner = 2 if row.products == 1 else 3
        batch_a, batch_b = operands.a.shape[:-inner], operands.b.shape[:-inner]
        if len(batch_a) == len(batch_b) == 2 and batch_a[1] == batch_b[0] == 1:
            x, y, z = (tiles.reshape(-1, *tiles.shape[-2:]) for tiles in operands[:3])
            indices = None if operands.indices is None else operands.indices.reshape(x.shape)
            pools = () if scales is None else (Scales(*(tiles.reshape(-1, *tiles.shape[-2:]) for tiles in scales)),)
            return ins.d.pack_bits(self.pairs(row, self.product(ins), Operands(x, y, z, indices), *pools))
        return ins.d.pack_bits(self.tiles(self.product(ins), operands, *given))

    def pairs(self, row: Instruction, product: DotProduct, operands: Operands, scales: Scales | None = None) -> Bits:
        """All pairs of a pool: (p, q, m, n)."""
        return emulate_pairs(row, product, operands, scales)

    def tiles(self, product: DotProduct, operands: Operands, scales: Scales | None = None) -> Bits:
        """Tiles whose leading axes broadcast."""
        a, b, c, indices = operands
        return multiply(product, a, b, c, Extras(indices, *(scales or ())), threads=1)


def unpacked(ins: BoundInstruction, a: Any, b: Any, c: Any, keywords: dict[str, Any]) -> tuple[Operands, Scales | None]:
    """Take the arguments of ``execute`` apart into patterns, the rest of them carried out."""
    row, rest = ins.instruction, dict(keywords)
    scales = None
    if ins.scale_a is not None and ins.scale_b is not None:
        found = (
            bound.unpack_bits(rest.pop(bound.name), rest.pop(f"byte_id_{x}", 0), rest.pop(f"thread_id_{x}", 0))
            for x, bound in (("a", ins.scale_a), ("b", ins.scale_b))
        )
        scales = read_scales(row, Scales(*found))
    metadata, selector = rest.pop("metadata", None), rest.pop("selector", 0)
    if unknown := rest.keys() - {"scale_d", "negate_a", "negate_b"}:
        raise CallError(f"an emulated backend has no option {', '.join(sorted(unknown))}")
    in_shared_memory = row.is_warpgroup and a.shape[-2:] == row.matrix_shape("a")
    storage = ins.product.b.storage  # bool matrices of b1 become the patterns 0 and 1
    x: Bits = a.astype(ins.product.a.storage) if in_shared_memory else ins.a.unpack_bits(a)
    y: Bits = b.astype(storage) if row.is_warpgroup else ins.b.unpack_bits(b)
    indices = None if metadata is None else ins.indices(metadata, selector)
    patterns = Operands(x, y, ins.c.unpack_bits(c), indices)
    return apply_variant(row, patterns, Variant(**rest)), scales
