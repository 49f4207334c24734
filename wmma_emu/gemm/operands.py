# SPDX-License-Identifier: MIT
"""Functions that resolve a user's matrices to the instruction that multiplies them and to the shape of the result."""

from typing import TYPE_CHECKING, Union

import numpy as np

from wmma_emu.arithmetic import FMA_F32, DotProduct
from wmma_emu.errors import ArgumentValueError, OptionError, ShapeError, shorten
from wmma_emu.first_use import named_later
from wmma_emu.gemm.choice import chosen_instruction, requirements_of
from wmma_emu.gemm.options import Factors, ProductOptions
from wmma_emu.instructions import DEFAULT_ARCH, Arch, Instruction, arch_of, lookup
from wmma_emu.warp import BoundInstruction, BoundMatrixInstruction, bound_instruction

if TYPE_CHECKING:
    from wmma_emu.tcgen05 import BoundTensorInstruction

if TYPE_CHECKING:
    AnyBoundInstruction = Union[BoundInstruction, BoundTensorInstruction]  # noqa: UP007
else:  # `typing.get_type_hints` imports the class, which most programs never need
    AnyBoundInstruction = Union[BoundInstruction, named_later("wmma_emu.tcgen05", "BoundTensorInstruction")]  # noqa: UP007
"""An instruction bound to a chip, with operands in registers, shared memory or tensor memory."""


def bind(factors: Factors, options: ProductOptions) -> AnyBoundInstruction:
    """Bind the named instruction, or the default one for the matrices' formats and block scales."""
    if isinstance(options.instr, BoundMatrixInstruction):
        return _already_bound(options.instr, options)
    chip = arch_of(options.arch)
    if options.instr is None:
        entry = chosen_instruction(requirements_of(factors), chip)
    else:
        entry = lookup(options.instr, chip.name)
    return bound_to(entry, chip, options.lowering, options.model)


def _already_bound(given: BoundMatrixInstruction, options: ProductOptions) -> AnyBoundInstruction:
    """Return a bound instruction, whose chip, lowering and model no option may contradict."""
    chip, default = arch_of(options.arch).name, arch_of(DEFAULT_ARCH).name
    for name, option, own in (
        ("arch", None if chip == default else chip, given.arch.name),
        ("lowering", options.lowering, given.model.lowering),
        ("model", options.model, given.model.name),
    ):
        if option not in (None, own):
            raise OptionError(
                f"{name}={shorten(option)} was given, but instr={shorten(given)} is already bound to {own!r}; "
                f"pass the mnemonic with {name}=, or leave {name} out"
            )
    return given  # type: ignore[return-value]


def bound_to(
    entry: Instruction, chip: Arch, lowering: str | None = None, model: str | None = None
) -> AnyBoundInstruction:
    """Bind a table entry to a chip: an instruction of a warp, of a warpgroup, or of tensor memory."""
    if not entry.is_tensor:
        return bound_instruction(entry, chip, lowering, model)
    from wmma_emu.tcgen05 import bound_tensor_instruction  # imported late, because few programs need it

    return bound_tensor_instruction(entry, chip, lowering, model)


def product_for(factors: Factors, options: ProductOptions) -> tuple[DotProduct, Instruction | None]:
    """Return the dot product and its instruction; None for the CUDA cores' multiply-adds."""
    if not isinstance(options.instr, str) or options.instr != "fma.f32":
        bound = bind(factors, options)
        return bound.product, bound.instruction
    arch_of(options.arch)
    for name, given in (("lowering", options.lowering), ("model", options.model)):
        if given is not None:
            raise OptionError(f"fma.f32 has no {name}; leave out {name}={shorten(given)}")
    return FMA_F32, None


def step_of_k(product: DotProduct, instruction: Instruction | None) -> int:
    """Return the k of one instruction: with a sparse A, twice the number of its products."""
    return instruction.k if instruction is not None else product.k


def result_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of A B from the shapes of A and B in elements."""
    for name, shape, axes in (("A", a, "(..., M, K)"), ("B", b, "(..., K, N)")):
        if len(shape) < 2:
            raise ShapeError(f"{name} has shape {shape}; expected {axes}: add an axis of length 1")
    if a[-1] != b[-2]:
        fix = "; B.T would fit" if a[-1] == b[-1] else ""
        raise ShapeError(f"A has shape {a} and B {b}: K is {a[-1]} in A and {b[-2]} in B{fix}")
    try:
        batch = np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        raise ShapeError(f"the leading axes of A {a} and B {b} do not broadcast") from None
    return (*batch, a[-2], b[-1])


def check_c(c: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of A B + C from the shapes of C and A B."""
    if len(c) < 2 or c[-2:] != shape[-2:]:
        raise ShapeError(f"C has shape {c}; A B has shape {shape}")
    try:
        return (*np.broadcast_shapes(c[:-2], shape[:-2]), *shape[-2:])
    except ValueError:
        raise ShapeError(f"the leading axes of C {c} do not broadcast to those of A B {shape}") from None


def missing_k(k: int, product: DotProduct, step: int) -> int:
    """Return how many k of +0 pad the last instruction; raise an error if instructions cannot follow one another."""
    missing = -k % step
    if not k and not product.chains:
        raise ArgumentValueError(
            f"A B has no products (K = 0), and C is {product.c}, D {product.d}, so that C cannot be D; "
            f"use the instruction whose C and D are both {product.d}"
        )
    if k + missing > step and not product.chains:
        raise ArgumentValueError(
            f"C is {product.c} and D is {product.d}, so D of one instruction cannot be C of the next, and K = {k} "
            f"takes more than one (k = {step}); use the instruction whose C and D are both {product.d}"
        )
    return missing
