# SPDX-License-Identifier: MIT
"""The CUDA program of a `DotProduct`: the constants of its model, followed by functions that all models share.

The functions are in the folder ``cuda``, with the names of `wmma_emu.arithmetic.reference`. They use integers, and
operations on floats that are exact or defined by IEEE 754, so that the results do not depend on the GPU. A block
computes a tile of D, and each of its threads a few rows and columns of the tile. The kernel consists of phases, each a
function of the thread's number, which a test runs without a GPU.
"""

from functools import cache
from importlib.resources import files
from typing import NamedTuple

from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.formats import Format, format_of

_ROWS, _COLUMNS = 4, 4
"""The rows and columns of one thread, multiples of four."""

_FLOAT = format_of("f32")
_STORED = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long"}
_THREADS_A_SIDE = 16
_DEPTH = 16
"""The positions of k in shared memory at once, unless a step has more."""


class KernelShape(NamedTuple):
    """The division of a kernel's work, which does not affect the results.

    A block computes a tile of D. One instruction has ``positions`` of k, including the padding of a short step;
    ``depth`` of them, in whole steps, are in shared memory at once.
    """

    tile_rows: int
    tile_columns: int
    threads: int
    positions: int
    depth: int
    shared_bytes: int


@cache
def shape_of(product: DotProduct) -> KernelShape:
    """Choose tile and depth for a product."""
    terms = _terms(product)
    depth = terms * max(_DEPTH // terms, 1)
    rows, columns = _THREADS_A_SIDE * _ROWS, _THREADS_A_SIDE * _COLUMNS
    shared_bytes = 4 * _words(product) * depth * (rows + columns + 8)
    return KernelShape(rows, columns, _THREADS_A_SIDE**2, len(_order(product)), depth, shared_bytes)


def kernel_source(product: DotProduct) -> str:
    """Write the whole program of a product: one kernel, ``matmul``.

    Models whose integers would not fit, chains in a format that GPUs lack, and block scales are rejected.

    Examples
    --------
    >>> from wmma_emu.arithmetic import dot_product_of
    >>> from wmma_emu.instructions import lookup
    >>> text = kernel_source(dot_product_of(lookup("m16n8k16.f32.f16.f16.f32"), "sm_80"))
    >>> [line for line in text.splitlines() if "int TERMS =" in line or "int FRACTION_BITS =" in line]
    ['constexpr int TERMS = 8;', 'constexpr int FRACTION_BITS = 24;']
    """
    if product.scale is not None:
        raise UnsupportedInstructionError("engine='cupy' does not support block scales; use engine='native' or 'numpy'")
    arithmetic = product.model.arithmetic
    constants = {
        "aligned_sum": _aligned_sum,
        "fma_chain": _fma_chain,
        "integer": _integer,
        "popcount": _popcount,
    }[arithmetic](product)
    parts = [
        _text("numbers"),
        _common(product),
        constants,
        _text("tiles"),
        _text(arithmetic),
        _text("kernel"),
    ]
    return "\n".join(parts)


def conversion_source(source: Format, target: Format) -> str:
    """Write a kernel, ``convert_all``, that rounds patterns of at most 32 bits to another format, to nearest even."""
    return "\n".join([
        _text("numbers"), _format("Source", source, 0), _format("Target", target, int(source != target)),
        f"typedef {_STORED[source.storage.itemsize]} Given;",
        f"typedef {_STORED[target.storage.itemsize]} Result;",
        _text("conversion"),
    ])  # fmt: skip


class EpilogueForm(NamedTuple):
    """The epilogue of a product in float32, from the format of its sums to that of D, as in `wmma_emu.gemm`.

    ``c`` and ``bias`` are the formats of the addends, if any; ``form`` is a `wmma_emu.gemm.options.Form`.
    """

    source: Format
    result: Format
    c: Format | None = None
    bias: Format | None = None
    has_alpha: bool = False
    has_beta: bool = False
    form: str = "fma_accumulator"


def epilogue_source(epilogue: EpilogueForm) -> str:
    """Write a kernel, ``finish_all``, that applies an epilogue to every sum of a product."""
    formats = {
        "Single": _FLOAT, "Source": epilogue.source, "Result": epilogue.result, "Addend": epilogue.c or _FLOAT,
        "Bias": epilogue.bias or _FLOAT,
    }  # fmt: skip
    distinct = list(dict.fromkeys(formats.values()))
    return "\n".join([
        _text("numbers"),
        *(_format(name, fmt, distinct.index(fmt)) for name, fmt in formats.items()),
        *(f"typedef {_STORED[fmt.storage.itemsize]} StoredOf{name};" for name, fmt in formats.items()),
        _constants(
            HAS_C=epilogue.c is not None, HAS_BIAS=epilogue.bias is not None, HAS_ALPHA=epilogue.has_alpha,
            HAS_BETA=epilogue.has_beta, IS_FMA_OF_ACCUMULATOR=epilogue.form == "fma_accumulator",
            IS_FMA_OF_SOURCE=epilogue.form == "fma_source", IS_AFTER_ROUNDING=epilogue.form == "after_rounding",
        ),
        _text("epilogue"),
    ])  # fmt: skip


@cache
def _text(name: str) -> str:
    return (files("wmma_emu.arithmetic") / "cuda" / f"{name}.cuh").read_text("utf-8")


def _terms(product: DotProduct) -> int:
    """Return the positions of k that are processed together: a step, if steps matter."""
    model = product.model
    if model.arithmetic == "aligned_sum" or (model.arithmetic == "fma_chain" and model.c_joins == "each_add"):
        return max(len(step) for step in product.steps)
    return 1


def _order(product: DotProduct) -> list[int]:
    """Return the k of each position of one instruction; -1 if a product of +0 pads a short step."""
    terms = _terms(product)
    if terms == 1:
        return list(range(product.k))
    return [k for step in product.steps for k in (*step, *[-1] * (terms - len(step)))]


def _words(product: DotProduct) -> int:
    """Return the words of shared memory for one decoded operand."""
    match product.model.arithmetic:
        case "aligned_sum":
            return 2
        case "fma_chain":
            return product.model.chain_format.bits // 32
    return 1


def _common(product: DotProduct) -> str:
    """Return the declarations of every arithmetic: tiles, the order of k, the types of the matrices."""
    shape, order = shape_of(product), _order(product)
    formats = zip("ABCD", (product.a, product.b, product.c, product.d), strict=True)
    rounded_between = (
        product.chains and product.model.arithmetic == "fma_chain" and product.model.chain_format != product.d
    )
    return "\n".join([
        _constants(
            ROWS=_ROWS, COLUMNS=_COLUMNS, TILE_ROWS=shape.tile_rows, TILE_COLUMNS=shape.tile_columns,
            THREADS=shape.threads, DEPTH=shape.depth, WORDS=_words(product), TERMS=_terms(product), K=product.k,
            POSITIONS=shape.positions, IN_ORDER=order == list(range(product.k)), LEAVES_AND_ENTERS=rounded_between,
        ),
        f"__device__ const short ORDER[] = {{{', '.join(map(str, order))}}};",
        *(f"typedef {_STORED[fmt.storage.itemsize]} StoredOf{name};" for name, fmt in formats),
    ])  # fmt: skip


def _aligned_sum(product: DotProduct) -> str:
    """Return the constants of an aligned sum, and integer types wide enough for the largest values."""
    model = product.model
    (left, right), accumulator, output = product.operand_formats, model.accumulator_format, model.output_format
    kept = model.fraction_bits
    shift = kept - left.fraction_bits - right.fraction_bits
    addend_shift = kept - accumulator.fraction_bits
    term = _largest(left) * _largest(right) << max(shift, 0)
    addend = _largest(accumulator) << max(addend_shift, 0)
    if max(term, addend) >= 1 << 31:
        raise UnsupportedInstructionError(f"engine='cupy' does not support {kept} fraction bits of {left} products")
    products = _terms(product) * term
    deepest_shift = output.emin - output.fraction_bits - model.min_exponent + kept
    narrow = products + addend < 1 << 32 and deepest_shift < 32
    # In this range of alignment exponents, a unit and the whole sum are normal numbers of float32.
    lowest = max(model.min_exponent, kept + _FLOAT.emin + 1)
    highest = _FLOAT.emax - (products + addend).bit_length() + kept
    return "\n".join([
        _formats(product, Left=left, Right=right, Accumulator=accumulator, Output=output),
        "typedef word Bits;",
        f"typedef {_signed_type(products)} Sum;  // of the products of a step",
        f"typedef {_signed_type(products + addend)} Total;  // and of c",
        f"typedef {'word' if narrow else 'long_word'} Magnitude;",
        _constants(
            BLOCKS=4 if products < 1 << 31 else 2,  # sums of 64 bits need more registers
            FRACTION_BITS=kept, MIN_EXPONENT=model.min_exponent, NEAREST=model.rounding == "RNE",
            PRODUCT_LEFT=max(shift, 0), PRODUCT_RIGHT=max(-shift, 0), ADDEND_LEFT=max(addend_shift, 0),
            ADDEND_RIGHT=max(-addend_shift, 0), C_IN_FIRST_STEP=model.c_joins == "first_step",
            PARTIAL_SUMS_ADDED=model.partial_sums == "added",
            LOWEST_ALIGNED=lowest + _FLOAT.bias, HIGHEST_ALIGNED=highest + _FLOAT.bias,
            HAS_TINY_PRODUCTS=left.emin + right.emin < lowest, TERMS_OF_WORD=_terms_of_word(_terms(product), term),
        ),
    ])  # fmt: skip


def _terms_of_word(terms: int, largest: int) -> int:
    """Return how many products of a step, a divisor of ``terms``, have a sum that fits a word."""
    return next(n for n in range(terms, 0, -1) if terms % n == 0 and n * largest < 1 << 31)


def _largest(fmt: Format) -> int:
    """Return the largest significand, including the leading one."""
    return (2 << fmt.fraction_bits) - 1


def _signed_type(largest: int) -> str:
    return "int" if largest < 1 << 31 else "long long"


def _fma_chain(product: DotProduct) -> str:
    model, fmt = product.model, product.model.chain_format
    suffix = {"RNE": "rn", "RZ": "rz", "RD": "rd", "RU": "ru"}[product.rounding]
    match fmt.name:
        case "f32":
            types = ["#define CONVERTS", _formats(product, Chain=fmt), "typedef word Bits;"]
            names = ("__uint_as_float", "__float_as_uint", f"__fmaf_ieee_{suffix}", "__fmaf_ieee_rn")
        case "f64":
            types = ["typedef long_word Bits;"]
            names = ("__longlong_as_double", "__double_as_longlong", f"__fma_{suffix}", "__fma_rn")
        case _:
            raise UnsupportedInstructionError(f"engine='cupy' supports chains of f32 and f64, not of {fmt}")
    macros = zip(("VALUE", "PATTERN", "FUSED_MULTIPLY_ADD", "NEAREST_MULTIPLY_ADD"), names, strict=True)
    return "\n".join([
        *types,
        *(f"#define {macro} {name}" for macro, name in macros),
        f"constexpr Bits CANONICAL_NAN = {fmt.canonical_nan:#x}, QUIET_BIT = {1 << fmt.fraction_bits - 1:#x};",
        f"constexpr Bits SIGN_MASK = {fmt.sign_mask:#x}, INFINITY_BITS = {fmt.infinity:#x};",
        _constants(
            BLOCKS=2,
            C_IN_FIRST_STEP=model.c_joins == "first_step", C_AFTER_EACH_STEP=model.c_joins == "each_add",
            NAN_PROPAGATES=model.nan == "propagate",
        ),
    ])  # fmt: skip


def _integer(product: DotProduct) -> str:
    return "\n".join([
        "typedef word Bits;",
        _constants(
            BLOCKS=2,
            A_BITS=product.a.bits, A_IS_SIGNED=product.a.signed, B_BITS=product.b.bits, B_IS_SIGNED=product.b.signed,
            CLAMPED=product.satfinite,
        ),
        f"constexpr long long SMALLEST = {product.d.min_integer}ll, LARGEST = {product.d.max_integer}ll;",
    ])  # fmt: skip


def _popcount(product: DotProduct) -> str:
    return "\n".join(["typedef word Bits;", _constants(BLOCKS=2, EXCLUSIVE=product.bit_operation == "xor")])


def _constants(**values: int | bool) -> str:
    def line(name: str, value: int | bool) -> str:
        is_flag = isinstance(value, bool)
        return f"constexpr {'bool' if is_flag else 'int'} {name} = {str(value).lower()};"

    return "\n".join(line(name, value) for name, value in values.items())


def _formats(product: DotProduct, **others: Format) -> str:
    """Return formats as structs; equal formats have the same number."""
    rows = {"FormatOfA": product.a, "FormatOfB": product.b, "FormatOfC": product.c, "FormatOfD": product.d, **others}
    distinct = list(dict.fromkeys(rows.values()))
    return "\n".join(_format(name, fmt, distinct.index(fmt)) for name, fmt in rows.items())


def _format(name: str, fmt: Format, number: int) -> str:
    numbers = {
        "number": number, "bits": fmt.bits, "exponent_bits": fmt.exponent_bits, "fraction_bits": fmt.fraction_bits,
        "bias": fmt.bias, "emin": fmt.emin, "emax": fmt.emax, "ignored_low_bits": fmt.ignored_low_bits,
    }  # fmt: skip
    infinity = fmt.infinity if fmt.has_infinity else fmt.canonical_nan
    words = {
        "sign_mask": fmt.sign_mask, "max_finite": fmt.max_finite, "canonical_nan": fmt.canonical_nan,
        "infinity": infinity,
    }  # fmt: skip
    flags = {"has_nan": fmt.nan != "none", "all_ones_nan": fmt.nan == "all_ones"}
    lines = [f"    static constexpr int {key} = {value};" for key, value in numbers.items()]
    lines += [f"    static constexpr word {key} = {value & 0xFFFFFFFF:#x}u;" for key, value in words.items()]
    lines += [f"    static constexpr bool {key} = {str(value).lower()};" for key, value in flags.items()]
    return "\n".join([f"struct {name} {{  // {fmt}", *lines, "};"])
