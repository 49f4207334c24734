# SPDX-License-Identifier: MIT
"""The cases of `tools.output_bits`: for each key a function that computes the bits, on fixed inputs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import wmma_emu as we
from examples.ptx.cases import CASES, SLOW, Case
from examples.ptx.texts import compiled
from tools.approx_gpu import emulate as emulate_approx
from tools.record_approx import cases as approx_cases
from tools.record_conversions import cases as conversion_cases
from tools.record_ptx_kernels import bits
from tools.support_matrix import tensor_rows
from wmma_emu import scalar
from wmma_emu.applications.campaign.pairs import emulate_pairs
from wmma_emu.arithmetic import DotProduct
from wmma_emu.formats import FORMATS, ROUNDINGS
from wmma_emu.formats.dtypes import from_bits, to_bits
from wmma_emu.gemm import PRESETS, Preset
from wmma_emu.generators import Operands, Scales, draw, draw_scales, generators_of
from wmma_emu.generators.words import random_words
from wmma_emu.instructions import ARCHS, Instruction, instructions_of
from wmma_emu.layouts import metadata_map, scale_map
from wmma_emu.quantise import BLOCK_FORMATS, SCALE_RULES, quantise
from wmma_emu.tcgen05 import SHAPES, tcgen05_layout

DATA = Path(__file__).parents[1] / "tests/data"

Array = NDArray[Any]
Computed = Callable[[], Iterable[Array]]

_FAMILIES = (
    "raw", "one_large", "ties", "cancel_pairs", "subnormal_operands", "specials", "integer_raw", "integer_limits",
    "bit_raw", "scales_limits", "scales_special",
)  # fmt: skip
_COLUMNS = 8
_LARGEST = 1 << 21
_ROUNDED = {"add": 2, "mul": 2, "fma": 3, "div": 2, "sqrt": 1, "rcp": 1}
_ROUNDED_FORMATS = ("f16", "bf16", "f32", "f64")


def outputs() -> dict[str, Computed]:
    """Return the functions that compute the digested bits, by key."""
    found = dict(
        [
            *_grouped("", _products()), *_grouped("layout ", _layouts()), *_roundings(), *_functions(), *_quantisers(),
            *_presets(), *_kernels(), *_recordings(),
        ]
    )  # fmt: skip
    return dict(sorted(found.items()))


def _grouped(prefix: str, rows: Iterable[tuple[str, Computed]]) -> Iterator[tuple[str, Computed]]:
    groups: dict[str, list[Computed]] = {}
    for key, computed in rows:
        groups.setdefault(prefix + key, []).append(computed)
    for key, parts in groups.items():
        yield key, partial(_all, parts)


def _all(parts: Sequence[Computed]) -> Iterator[Array]:
    for part in parts:
        yield from part()


def _rows() -> Iterator[tuple[Instruction, str]]:
    for arch in ARCHS:
        yield from ((row, arch) for row in instructions_of(arch))
    for entry in tensor_rows():
        yield from ((entry, arch) for arch in entry.archs)


def _products() -> Iterator[tuple[str, Computed]]:
    for entry, arch in _rows():
        kind = f" kind::{entry.kind.removeprefix('kind::')}" if entry.kind else ""
        yield f"{entry.family}{kind} {entry.d}.{entry.a}.{entry.b}.{entry.c} {arch}", partial(_product, entry, arch)


def _product(entry: Instruction, arch: str) -> Sequence[Array]:
    return _multiplied(entry, we.instruction(entry.mnemonic, arch=arch).product)


@cache
def _multiplied(entry: Instruction, product: DotProduct) -> Sequence[Array]:
    """Return the first columns of one tile of each generator; chips of one model share it."""
    tiles = []
    for family in (x for x in _FAMILIES if x in generators_of(entry)):
        drawn = draw(entry, family, 0, entry.products, entry.products, entry.products)
        cut = Operands(drawn.a, drawn.b[..., :_COLUMNS], drawn.c[..., :_COLUMNS], drawn.indices)
        scales = draw_scales(entry, family, 0, 1, 1) if entry.is_block_scaled else None
        scales = None if scales is None else Scales(scales.a, scales.b[..., :_COLUMNS])
        tiles.append(emulate_pairs(entry, product, cut, scales))
    return tiles


def _layouts() -> Iterator[tuple[str, Computed]]:
    for entry, arch in _rows():
        if not entry.is_tensor:
            yield f"{entry.family} {arch}", partial(_layout, entry, arch)
    for shape, entry in SHAPES.items():
        for num in (1, 2, entry.most):
            yield "tcgen05.ld", partial(_map, tcgen05_layout(shape, num))


def _layout(entry: Instruction, arch: str) -> Iterator[Array]:
    ins = we.instruction(entry.mnemonic, arch=arch)
    for operand in (ins.d, ins.a, ins.c) if entry.is_warpgroup else (ins.d, ins.a, ins.b, ins.c):
        yield from _map(operand.layout)
    if entry.is_sparse:
        found = metadata_map(entry)
        yield from (found.lane, found.nibble)
    if entry.is_block_scaled:
        yield from (y for x in ("a", "b") for y in (scale_map(entry, x).lane, scale_map(entry, x).byte))


def _map(layout: Any) -> Sequence[Array]:
    places = [[layout.register_of(x), layout.bit_of(x)] for x in range(layout.num_elements)]
    return layout.coords, np.array(places, np.int64)


def _roundings() -> Iterator[tuple[str, Computed]]:
    for name, count in _ROUNDED.items():
        for fmt in _ROUNDED_FORMATS:
            yield f"scalar.{name} {fmt}", partial(_rounded, name, fmt, count)
    for source in FORMATS:
        yield f"scalar.convert from {source}", partial(_converted, source)


def _patterns(fmt: str, count: int, key: str) -> Array:
    words = random_words(f"output bits {fmt} {key}", count)
    found: Array = (words >> np.uint64(64 - FORMATS[fmt].bits)).astype(FORMATS[fmt].storage)
    return found


def _rounded(name: str, fmt: str, count: int) -> Iterator[Array]:
    operands = [_patterns(fmt, 512, f"{name} {i}") for i in range(count)]
    for rounding in ROUNDINGS:
        yield getattr(scalar, name)(*operands, fmt, rounding)


def _converted(source: str) -> Iterator[Array]:
    bits = _patterns(source, 512, "convert")
    for target in FORMATS:
        for rounding in ROUNDINGS:
            yield scalar.convert(bits, source, target, rounding, "saturate")


def _functions() -> Iterator[tuple[str, Computed]]:
    for name, inputs in approx_cases():
        yield f"scalar.approx {name}", partial(_of_one, emulate_approx, name, *inputs)
    moves = ((_short(name), partial(_of_one, emulate)) for name, emulate, *_ in conversion_cases("sm_90"))
    yield from _grouped("", moves)


def _of_one(function: Callable[..., Array], *arguments: Any) -> Sequence[Array]:
    return [function(*arguments)]


def _short(mnemonic: str) -> str:
    """Return the opcode and the result type of a conversion."""
    opcode, *parts = mnemonic.split(".")
    return f"{opcode} to {parts[-2]}" if opcode == "cvt" else opcode


def _quantisers() -> Iterator[tuple[str, Computed]]:
    for name, fmt in BLOCK_FORMATS.items():
        for rule in SCALE_RULES:
            if rule.scale == fmt.scale.name:
                yield f"quantise {name} {rule.name}", partial(_quantised, name, rule.name)


def _numbers(fmt: str, shape: tuple[int, ...], key: str) -> Array:
    """Return numbers of a format, between -1 and 1 if it has fractions."""
    count = int(np.prod(shape))
    if not FORMATS[fmt].is_float:
        return from_bits(_patterns(fmt, count, key), fmt).reshape(shape)
    words = random_words(f"output bits {key}", count)
    x = ((words >> np.uint64(40)).astype(np.float32) / np.float32(2**23) - 1).reshape(shape)
    return from_bits(scalar.convert(x.view(np.uint32), "f32", fmt), fmt)


def _quantised(name: str, rule: str) -> Sequence[Array]:
    exponents = random_words("output bits exponents", 64 * 64).reshape(64, 64) % np.uint64(24)
    x = np.ldexp(_numbers("f32", (64, 64), "quantise"), exponents.astype(np.int32) - 12)
    found = quantise(x, name, rule=rule)
    return found.element_bits, found.scale_bits


def _presets() -> Iterator[tuple[str, Computed]]:
    for preset in PRESETS:
        yield f"gemm like={preset.name}", partial(_like, preset)


def _like(preset: Preset) -> Iterator[Array]:
    for m, n, k in (shape for recorded in preset.recorded for shape in recorded.shapes):
        if m * n * k <= _LARGEST:
            a, b = _numbers(preset.a, (m, k), "a"), _numbers(preset.a, (k, n), "b")
            yield to_bits(we.gemm(a, b, like=preset.name), preset.outs[0], "D")


def _kernels() -> Iterator[tuple[str, Computed]]:
    for name, case in CASES.items():
        if name not in SLOW:
            yield f"ptx {name}", partial(_launched, case)


def _launched(case: Case) -> Sequence[Array]:
    arguments = case.draw(0)
    we.ptx.Module(compiled(case.text), arch="sm_90", findings="report")[case.kernel][
        case.grid, case.block, case.shared
    ](*arguments)
    return [bits(arguments[i]) for i in case.outputs]


def _recordings() -> Iterator[tuple[str, Computed]]:
    for path in sorted(DATA.glob("*.npz")):
        yield f"recording {path.name}", partial(_recorded, path)


def _recorded(path: Path) -> Iterator[Array]:
    with np.load(path) as arrays:
        yield from (arrays[name] for name in sorted(arrays.files) if name != "metadata")
