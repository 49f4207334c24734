# SPDX-License-Identifier: MIT
"""``wmma-emu gemm``: multiply two files, write a file or none, and print a summary of the product."""

from argparse import Namespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.arithmetic import FMA_F32, DotProduct, check_engine, thread_count
from wmma_emu.cli.corner import corner_lines, digest_of, sizes_of, storable
from wmma_emu.cli.files import check_output
from wmma_emu.cli.inputs import BASELINE, read_inputs
from wmma_emu.cli.matrices import write_matrix
from wmma_emu.cli.output import STANDARD_OUTPUT, check_pipe
from wmma_emu.cli.terminal import Styled, Terminal
from wmma_emu.cli.usage import check_choice, check_number
from wmma_emu.formats import FORMATS, Format
from wmma_emu.formats.dtypes import dtype_of, format_of_dtype, from_bits, to_bits
from wmma_emu.gemm import Factors, ProductOptions, bind, gemm
from wmma_emu.instructions import DEFAULT_ARCH, arch_of

_LARGEST_COMPARISON = 256**3
"""The most multiply-adds for which the result is compared with NumPy's."""


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Multiply two files."""
    chip = arch_of(DEFAULT_ARCH if arguments.arch is None else arguments.arch)
    check_engine(arguments.engine)
    threads = None if arguments.threads is None else check_number("--threads", arguments.threads, first=1)
    thread_count(threads)
    read = arguments.a, arguments.b, arguments.c, arguments.scale_a, arguments.scale_b
    if arguments.output == STANDARD_OUTPUT:
        check_pipe("a .npy file", "D.npy")
    elif arguments.output is not None:
        check_output(arguments.output, [x for x in read if x is not None])
    a, b, c, a_format, b_format, scale_a, scale_b = read_inputs(arguments, chip)
    product, name = FMA_F32, BASELINE
    if arguments.instr != BASELINE:
        factors = Factors(a, b, scale_a, scale_b, a_format, b_format)
        bound = bind(factors, ProductOptions(arguments.instr, chip, arguments.lowering, arguments.model))
        product, name = bound.product, bound.mnemonic
    out = _out_format(arguments.out_format, product)
    d = gemm(
        a, b, c, instr=name, arch=chip, out_dtype=dtype_of(out), engine=arguments.engine, threads=threads,
        lowering=arguments.lowering, model=arguments.model, a_format=a_format, b_format=b_format, scale_a=scale_a,
        scale_b=scale_b,
    )  # fmt: skip
    stored = storable(d)
    if arguments.output is not None:
        write_matrix(arguments.output, stored)
    if arguments.output == STANDARD_OUTPUT:
        return
    raw = "" if stored is d else f", the raw bits of {out} (NumPy has no such dtype)"
    terminal.fields([
        ("A", f"{arguments.a}: {_operand_shape(a, -1, product.a, a_format)}"),
        ("B", f"{arguments.b}: {_operand_shape(b, -2, product.b, b_format)}"),
        *([] if c is None else [("C", f"{arguments.c}: {sizes_of(c)} {product.c}")]),
        *_scales(arguments, scale_a, scale_b, product),
        ("D", f"{arguments.output or 'not written (-o D.npy writes it)'}: {sizes_of(d)} {stored.dtype}{raw}"),
        ("computed by", f"{name} on {chip} ({chip.generation})"),
        ("known from", Styled(f"{product.model.source} ({product.model.status})", product.model.status)),
        *(_comparison(a, b, c, d, product) if out == product.d.name and product.scale is None else []),
        ("sha256", digest_of(stored)),
    ], indent=0)  # fmt: skip
    if arguments.output is None and d.size:
        terminal.line()
        terminal.lines(corner_lines("D", d, out, terminal.width))


def _out_format(given: str | None, product: DotProduct) -> str:
    """Check --out-format: a floating-point format that has its own dtype, or the instruction's format."""
    floats = [name for name, fmt in FORMATS.items() if fmt.is_float and fmt.signed]
    legal = [name for name in floats if format_of_dtype(dtype_of(name)) == FORMATS[name]]
    return check_choice("--out-format", given, (*legal, product.d.name)) or product.d.name


def _operand_shape(matrix: NDArray[Any], k_axis: int, fmt: Format, named: str | None) -> str:
    """Return shape and format in elements; bytes of a named 4-bit or 1-bit format are packed along k."""
    if named is None or fmt.bits not in (1, 4) or matrix.dtype != np.uint8:
        return f"{sizes_of(matrix)} {fmt}"
    sizes, packed = list(matrix.shape), 8 // fmt.bits
    sizes[k_axis] *= packed
    return f"{' x '.join(map(str, sizes))} {fmt} (packed, {packed} per byte along k)"


def _scales(
    arguments: Namespace, scale_a: NDArray[Any] | None, scale_b: NDArray[Any] | None, product: DotProduct
) -> list[tuple[str, str]]:
    given = (("scales of A", arguments.scale_a, scale_a), ("scales of B", arguments.scale_b, scale_b))
    return [(name, f"{path}: {sizes_of(x)} {product.scale}") for name, path, x in given if x is not None]


def _comparison(
    a: NDArray[Any], b: NDArray[Any], c: NDArray[Any] | None, d: NDArray[Any], product: DotProduct
) -> list[tuple[str, str]]:
    """Compare D with NumPy's product in float64, rounded once to D's type, if D is floating point and small.

    NumPy's product in float32 would depend on the machine: its BLAS adds in different orders on different processors.
    """
    if product.d.name not in ("f32", "f64") or not 0 < d.size * a.shape[-1] <= _LARGEST_COMPARISON:
        return []

    def values(matrix: NDArray[Any], fmt: Format) -> NDArray[Any]:
        return from_bits(to_bits(matrix, fmt), fmt).astype(np.float64)

    with np.errstate(all="ignore"):
        other = np.matmul(values(a, product.a), values(b, product.b))
        other = (other if c is None else other + values(c, product.c)).astype(d.dtype)
    bits, others = d.view(f"u{d.itemsize}"), np.broadcast_to(other, d.shape).view(f"u{d.itemsize}")
    differing = np.argwhere(bits != others)
    label = "A @ B" if c is None else "A @ B + C"
    if not len(differing):
        return [(label, f"in float64: the same bits in all {d.size} elements")]
    where = tuple(differing[0].tolist())
    digits = 2 + 2 * d.itemsize
    ours, theirs = (f"{int(x[where]):#0{digits}x}" for x in (bits, others))
    count = f"{len(differing)} of {d.size} elements differ"
    return [(label, f"in float64: {count}; D{list(where)} is {ours}, not {theirs}")]
