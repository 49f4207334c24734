# SPDX-License-Identifier: MIT
"""Resolution of ``like=``: the kernels of libraries, and the products for which recordings prove the bits."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from wmma_emu.display import warn_caller
from wmma_emu.errors import OptionError, UnknownNameError, UnverifiedModelWarning, shorten
from wmma_emu.formats import encode, format_of
from wmma_emu.formats.arrays import as_numpy
from wmma_emu.formats.dtypes import dtype_of, format_meant, format_of_dtype, formats_near
from wmma_emu.gemm.k_order import KOrder
from wmma_emu.gemm.options import Factors, Form, ProductOptions
from wmma_emu.gemm.preset_table import PRESETS, Preset, Recorded
from wmma_emu.instructions import DEFAULT_ARCH, arch_of, lookup
from wmma_emu.suggestions import did_you_mean
from wmma_emu.warp import BoundMatrixInstruction

_F32 = format_of("f32")
_ONE = 0x3F80_0000


@dataclass(frozen=True, slots=True)
class Product:
    """The facts that select a library's kernel, as far as a preset models them: shape, format of D, epilogue."""

    shape: tuple[int, int, int]
    out: str
    epilogue: str
    matrices: int = 1

    def __str__(self) -> str:
        batch = f"{self.matrices} products of " if self.matrices != 1 else ""
        return f"{batch}{'x'.join(map(str, self.shape))} (MxNxK) to {self.out}" + (
            f" with {self.epilogue}" if self.epilogue else ""
        )


def preset_of(name: object) -> Preset:
    """Return the preset of a name."""
    found = next((entry for entry in PRESETS if isinstance(name, str) and entry.name == name), None)
    if found is None:
        names = [entry.name for entry in PRESETS]
        hint = did_you_mean(name, names, f"the presets are {', '.join(map(repr, names))}")
        raise UnknownNameError(f"like={shorten(name)} is not a preset{hint}")
    return found


def with_preset(factors: Factors, C: ArrayLike | None, options: ProductOptions) -> ProductOptions:
    """Complete the options of `gemm` with those of a preset, rejecting contradictions.

    Warn if no recording proves them.
    """
    preset = preset_of(options.like)
    _refuse_contradictions(preset, factors, C, options)
    out = preset.outs[0] if options.out_dtype is None else _out_format(preset, options.out_dtype)
    product = _product(factors, C, options, out)
    entry = None if product is None else _entry(preset, product)
    if product is not None:
        _warn_unless_recorded(preset, product, entry)
        _warn_of_lost_bits(preset, factors)
    order = entry.order if entry is not None else preset.order
    return replace(
        options,
        instr=(entry.instr if entry is not None else "") or preset.instr,
        arch=preset.arch,
        out_dtype=dtype_of(out),
        k_order=order,
        form=form_of(preset, order, options.beta),
    )


def recording_of(name: str, factors: Factors, C: ArrayLike | None, options: ProductOptions) -> Recorded | None:
    """Return the entry of a preset that proves the bits of one product; None if no recording does.

    Examples
    --------
    >>> A, B = np.ones((64, 4096), np.float16), np.ones((4096, 64), np.float16)
    >>> recording_of("cublas-sm90-f16", Factors(A, B), None, ProductOptions()).order.splits
    3
    """
    preset = preset_of(name)
    out = preset.outs[0] if options.out_dtype is None else _out_format(preset, options.out_dtype)
    product = _product(factors, C, options, out)
    entry = None if product is None else _entry(preset, product)
    return entry if product is not None and _proves(entry, product) else None


def _entry(preset: Preset, product: Product) -> Recorded | None:
    return preset.recorded_as(product.shape, product.out, product.epilogue, product.matrices)


def _proves(entry: Recorded | None, product: Product) -> bool:
    return entry is not None and product.matrices in entry.batches and product.epilogue in entry.epilogues


def form_of(preset: Preset, order: KOrder, beta: object) -> Form:
    """Return the form of the epilogue of a preset's kernel."""
    if order.splits > 1:
        return preset.form_of_splits
    return preset.form_of_beta_1 if _is_one(beta) else "fma_accumulator"


def _refuse_contradictions(preset: Preset, factors: Factors, C: ArrayLike | None, options: ProductOptions) -> None:
    def refuse(what: str, given: object, is_: str) -> None:
        raise OptionError(f"{what}={shorten(given)} contradicts like={preset.name!r}, {is_}; leave {what} out, or like")

    if arch_of(options.arch).name not in (preset.arch, arch_of(DEFAULT_ARCH).name):
        refuse("arch", options.arch, f"a kernel of {preset.arch}")
    given = options.instr
    is_other = isinstance(given, BoundMatrixInstruction) or given == "fma.f32"
    if given is not None and (is_other or lookup(given) != lookup(preset.instr)):  # type: ignore[arg-type]
        refuse("instr", given, f"which runs {preset.instr}")
    if options.k_order is not None:
        refuse("k_order", options.k_order, "which has its own for each shape")
    if options.lowering not in (None, "native"):
        refuse("lowering", options.lowering, "whose instruction is native")
    if options.model is not None:
        refuse("model", options.model, "whose arithmetic is measured")
    for name, fmt in (("a_format", factors.a_format), ("b_format", factors.b_format)):
        if fmt not in (None, preset.a):
            refuse(name, fmt, f"whose operands are {preset.a}")
    if C is not None and options.beta is None:
        raise OptionError(
            f"C was given without beta, and the kernels of like={preset.name!r} add C in the epilogue; "
            "pass beta=1, which adds it in the epilogue"
        )


def _out_format(preset: Preset, out_dtype: object) -> str:
    fmt = format_meant(out_dtype)
    if fmt is None or fmt.name not in preset.outs:
        raise OptionError(
            f"out_dtype={shorten(out_dtype)} contradicts like={preset.name!r}, whose D is {' or '.join(preset.outs)}; "
            f"leave out_dtype out, or like{formats_near(out_dtype)}"
        )
    return fmt.name


def _product(factors: Factors, C: ArrayLike | None, options: ProductOptions, out: str) -> Product | None:
    """Describe the product; None if the shapes do not match, which `gemm` reports."""
    a, b = (_shape(x, name) for x, name in ((factors.a, "A"), (factors.b, "B")))
    if len(a) < 2 or len(b) < 2:
        return None
    alpha, beta, bias = options.alpha, options.beta, options.bias
    parts = []
    if alpha is not None and not _is_one(alpha):
        parts.append("alpha")
    if C is not None:
        parts.append(("beta of 1" if _is_one(beta) else "beta") + _in_another_format(C, out))
    if bias is not None:
        parts.append("bias" + _in_another_format(bias, out))
    batch = () if C is None or not beta else _shape(C, "C")[:-2]
    try:
        matrices = math.prod(np.broadcast_shapes(a[:-2], b[:-2], batch))
    except ValueError:
        return None
    return Product((a[-2], b[-1], a[-1]), out, " and ".join(parts), matrices)


def _shape(array: Any, name: str) -> tuple[int, ...]:
    shape = getattr(array, "shape", None)
    return tuple(shape) if isinstance(shape, tuple) else as_numpy(array, name).shape


def _in_another_format(array: Any, out: str) -> str:
    """Return a remark if C or a bias is not in D's format, as every recorded one is."""
    dtype = getattr(array, "dtype", None)
    fmt = format_of_dtype(dtype) if isinstance(dtype, np.dtype) else None
    return "" if fmt is None or fmt.name == out else f" in {fmt}"


def _is_one(value: Any) -> bool:
    """Return whether a number is 1 after rounding to float32, as in the epilogue."""
    try:
        return int(encode(np.array(float(value)), _F32)) == _ONE
    except (TypeError, ValueError, OverflowError):
        return False


def _warn_unless_recorded(preset: Preset, product: Product, entry: Recorded | None) -> None:
    if _proves(entry, product):
        return
    entries = (x for x in preset.recorded if x.serves(product.out))
    proven = [
        Product(shape, product.out, epilogue, matrices)
        for x in entries
        for shape in x.shapes
        for epilogue in x.epilogues
        for matrices in x.batches
    ]

    def distance(one: Product) -> tuple[bool, float]:
        sizes = ((*x.shape, x.matrices) for x in (one, product))
        return one.epilogue != product.epilogue, _distance(*sizes)

    nearest = min(proven, key=distance)
    warn_caller(
        f"like={preset.name!r} is not recorded for {product}, for which the library may run another "
        f"kernel; the nearest recorded product is {nearest}",
        UnverifiedModelWarning,
    )


def _warn_of_lost_bits(preset: Preset, factors: Factors) -> None:
    """Warn if operands have bits that the recorded operands lacked: the library's treatment of them is unknown."""
    low = format_of(preset.a).ignored_low_bits
    if not low:
        return
    for name, array in (("A", factors.a), ("B", factors.b)):
        if (
            isinstance(array, np.ndarray)
            and array.dtype == np.float32
            and (array.view(np.uint32) & ((1 << low) - 1)).any()
        ):
            warn_caller(
                f"{name} has bits that {preset.a} does not have; like={preset.name!r} is recorded for operands that "
                "are "
                f"{preset.a} numbers, and these are truncated to it",
                UnverifiedModelWarning,
            )
            return


def _distance(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    return sum(abs(math.log2(max(x, 0.5) / max(y, 0.5))) for x, y in zip(one, other, strict=True))
