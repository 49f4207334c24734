# SPDX-License-Identifier: MIT
"""The kernels of tools/wmma_products.py in Python: the same loads, the same product, the same store."""

import numpy as np

import wmma_emu as we
from tools import wmma_probes
from tools.cuda_driver import FILLS
from tools.record_registers import kernel_name
from tools.wmma_probes import Edit
from tools.wmma_products import GAP, Matrix, WmmaOverload
from wmma_emu import wmma
from wmma_emu.formats.dtypes import dtype_of

TYPES = {
    "f16": wmma.half, "bf16": wmma.bfloat16, "f32": wmma.float32, "tf32": wmma.precision.tf32, "f64": wmma.double,
    "s8": wmma.int8, "u8": wmma.uint8, "s32": wmma.int32, "s4": wmma.experimental.precision.s4,
    "u4": wmma.experimental.precision.u4, "b1": wmma.experimental.precision.b1,
}  # fmt: skip

OPERATIONS = {"XOR": wmma.experimental.bmmaBitOpXOR, "AND": wmma.experimental.bmmaBitOpAND}


def fragment_of(matrix: Matrix, arch: str = "sm_90") -> wmma.Fragment:
    """A fragment for a matrix, of the type that the CUDA C++ kernel declares."""
    f = matrix.fragment
    layout = () if f.use == "accumulator" else (getattr(wmma, f.memory_layout),)
    return wmma.fragment(getattr(wmma, f.use), f.m, f.n, f.k, TYPES[matrix.format.name], *layout, arch=arch)


def memory_of(matrix: Matrix, image: np.ndarray) -> np.ndarray:
    """A matrix's bytes (tiles, nbytes) as one array of its elements; smaller ones than bytes stay packed."""
    return image.reshape(-1).view(np.uint8 if matrix.format.bits < 8 else dtype_of(matrix.format))


def order_of(matrix: Matrix) -> tuple:
    """Return the arguments of a load or store in addition to ldm: the order, for an accumulator."""
    use_order = matrix.fragment.use == "accumulator"
    return (getattr(wmma, f"mem_{matrix.stored}_major"),) if use_order else ()


def pointer(matrix: Matrix, memory: np.ndarray, tiles: int) -> we.Pointer:
    """The addresses of all tiles: one warp each."""
    return we.Pointer(memory, np.arange(tiles) * (len(memory) // tiles))


def load(matrix: Matrix, image: np.ndarray, arch: str = "sm_90") -> wmma.Fragment:
    """Load all tiles, as a batch of warps."""
    frag = fragment_of(matrix, arch)
    wmma.load_matrix_sync(frag, pointer(matrix, memory_of(matrix, image), len(image)), matrix.ldm, *order_of(matrix))
    return frag


def store(matrix: Matrix, frag: wmma.Fragment, tiles: int, fill: int) -> np.ndarray:
    """Store all tiles into memory that holds ``fill``: bytes (tiles, nbytes)."""
    image = np.full((tiles, matrix.nbytes), fill, np.uint8)
    memory = memory_of(matrix, image)
    wmma.store_matrix_sync(pointer(matrix, memory, tiles), frag, matrix.ldm, *order_of(matrix))
    return image


def product_of(product: WmmaOverload, a, b, c, **how) -> wmma.Fragment:
    d = fragment_of(product.d)
    if product.bit_operation:
        wmma.bmma_sync(d, a, b, c, OPERATIONS[product.bit_operation], **how)
    else:
        wmma.mma_sync(d, a, b, c, satf=product.is_saturating, **how)
    return d


def multiply(product: WmmaOverload, matrices, fill: int = GAP) -> np.ndarray:
    """Do what the product's kernel does: patterns of A, B and C in, the memory of D (tiles, nbytes) out."""
    a, b, c = (load(x, x.image(y)) for x, y in zip(product.matrices, matrices, strict=False))
    return store(product.d, product_of(product, a, b, c), len(matrices[0]), fill)


def apply(product: WmmaOverload, fragments, edit: Edit, tile: int) -> None:
    """Edit one element of one lane of one tile's fragments."""
    if edit.operand < 3:
        matrix, x = product.matrices[edit.operand], fragments[edit.operand].x
        value = np.array([edit.pattern], matrix.format.storage).view(x.dtype)[0]
        at = edit.element, tile, edit.lane
        with np.errstate(over="ignore"):  # 8-bit integers wrap
            x[at] = x[at] + value if edit.adds else value


def multiply_edited(product: WmmaOverload, matrices, edits, fill: int = GAP) -> np.ndarray:
    """Do what the kernel with edits does: the first tile over and over, each with its edit."""
    count = len(edits)
    images = [x.image(y[:1]).repeat(count, 0) for x, y in zip(product.matrices, matrices, strict=False)]
    fragments = [load(x, image) for x, image in zip(product.matrices, images, strict=False)]
    for tile, edit in enumerate(edits):
        apply(product, fragments, edit, tile)
    return store(product.d, product_of(product, *fragments), count, fill)


class EmulatedGpu:
    """A stand-in for `tools.cuda_driver.Device` that runs the kernels of `tools.record_wmma_products` here."""

    def __init__(self, asked: list[WmmaOverload]) -> None:
        self.products = {x.kernel: x for x in asked}

    def run(self, kernel, inputs, shape, dtype, *scalars, blocks, threads=32):
        if kernel == "float_to_tf32":
            assert blocks * threads == inputs[0].size
            return wmma.float_to_tf32(inputs[0].view(np.float32)).view(np.uint32)
        mnemonic = next(x for x in wmma_probes.SATURATED if kernel_name(wmma_probes.saturated_row(x)) == kernel)
        assert scalars == (blocks,)
        return we.instruction(mnemonic).execute(*inputs)

    def run_twice(self, kernel, inputs, shape, dtype, *scalars, blocks, threads=32):
        product = self.products[kernel.removeprefix("edited_")]
        assert scalars == product.scalars and shape == (blocks, product.d.nbytes)
        edits = None
        if kernel.startswith("edited_"):
            words, *inputs = inputs
            edits = [Edit(*x[:3].tolist(), bool(x[3]), int(x[4]) | int(x[5]) << 32) for x in words]
        fragments = [load(x, y) for x, y in zip(product.matrices, inputs, strict=False)]
        for tile, edit in enumerate(edits or ()):
            apply(product, fragments, edit, tile)
        d = product_of(product, *fragments)
        return tuple(store(product.d, d, blocks, fill) for fill in FILLS)
