# SPDX-License-Identifier: MIT
"""A private copy of the arithmetic in which one rule at a time can be altered.

Unaltered it gives the bits of `wmma_emu.arithmetic.matmul` (the tests compare them). The package itself has no such
switches: what a chip does is a row of its table.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np

from wmma_emu.arithmetic import DotProduct
from wmma_emu.formats import Format, decode, format_of, round_pack, unpack
from wmma_emu.scalar import convert
from wmma_emu.scalar.fused import add, fma, mul

Bits = np.ndarray[Any, Any]
Steps = tuple[tuple[int, ...], ...]

_NO_EXPONENT = -(1 << 14)


@dataclass(frozen=True)
class Alteration:
    """One thing that is different.

    Parameters
    ----------
    name : str
    model : callable
        Fields of the model that change, or nothing where the alteration has no meaning for it.
    rule : str
        Name of a rule that the copy of the arithmetic breaks.
    steps : callable, optional
        Makes other steps of k of those of the model.
    applies : callable
        Whether the alteration has a meaning for a dot product.
    """

    name: str
    model: Callable[[DotProduct], dict[str, Any]] = field(default=lambda p: {})
    rule: str = ""
    steps: Callable[[Steps], Steps] | None = None
    applies: Callable[[DotProduct], bool] = field(default=lambda p: True)

    def product(self, product: DotProduct) -> DotProduct:
        """Return the dot product with the altered model."""
        return replace(product, model=replace(product.model, **self.model(product)))


UNALTERED = Alteration("nothing")


def _aligned(p: DotProduct) -> bool:
    return p.model.arithmetic == "aligned_sum"


def _chain(p: DotProduct) -> bool:
    return p.model.arithmetic == "fma_chain"


def _several(p: DotProduct) -> bool:
    return _aligned(p) and len(p.steps) > 1


def _change(name: str, value: Callable[[Any], Any], parameter: str, applies: Callable[[DotProduct], bool] = _aligned):
    return Alteration(name, lambda p: {parameter: value(getattr(p.model, parameter))}, applies=applies)


def _to_f16(p: DotProduct) -> bool:
    return _aligned(p) and p.model.accumulator == "f16"


def _to_f32(p: DotProduct) -> bool:
    return _aligned(p) and p.model.accumulator == "f32"


def _halved(p: DotProduct) -> dict[str, Any]:
    return {"terms_per_step": p.model.terms_per_step // 2}


ALTERATIONS = (
    _change("F - 1", lambda f: f - 1, "fraction_bits"),
    _change("F + 1", lambda f: f + 1, "fraction_bits"),
    _change("exponent floor - 1", lambda e: e - 1, "min_exponent"),
    _change("exponent floor + 1", lambda e: e + 1, "min_exponent"),
    _change("no exponent floor", lambda e: -1000, "min_exponent"),
    Alteration("steps halved", _halved, applies=_aligned),
    Alteration("steps joined", lambda p: {"terms_per_step": 2 * p.model.terms_per_step},
               applies=lambda p: _several(p) and not p.model.operand_format),
    Alteration("steps reversed", steps=lambda steps: steps[::-1], applies=_several),
    Alteration("k reversed in a step", steps=lambda steps: tuple(s[::-1] for s in steps), applies=_aligned),
    _change("rounding RZ, RNE", lambda r: "RNE" if r == "RZ" else "RZ", "rounding"),
    Alteration("rounded twice", rule="rounded_twice", applies=_to_f16),
    Alteration("e8m13 or f32", lambda p: {"output": "f32" if p.model.output == "e8m13" else "e8m13"}, applies=_to_f32),
    _change("c last, c first", lambda c: "last_add" if c == "first_step" else "first_step", "c_joins",
            lambda p: p.model.c_joins != "each_add"),
    Alteration("c cut to 10 bits", rule="c_cut", applies=_to_f32),
    _change("results added", lambda x: "added", "partial_sums",
            lambda p: _several(p) and p.model.partial_sums == "chained"),
    _change("k ascending", lambda x: "ascending", "k_order", lambda p: p.model.k_order != "ascending"),
    _change("operands not converted", lambda x: "", "operand_format",
            lambda p: _aligned(p) and bool(p.model.operand_format)),
    Alteration("zero products align", rule="zero_products", applies=_aligned),
    Alteration("zero c aligns", rule="zero_c", applies=_aligned),
    Alteration("normalised products", rule="normalised", applies=_aligned),
    Alteration("cut by floor", rule="floor", applies=_aligned),
    Alteration("cut by RNE", rule="rint", applies=_aligned),
    Alteration("a carry bit lost", rule="carry", applies=_aligned),
    Alteration("operands flushed", rule="flush_operands"),
    Alteration("c flushed", rule="flush_c"),
    Alteration("results flushed", rule="flush_results"),
    Alteration("low bits read", rule="low_bits", applies=lambda p: p.a.ignored_low_bits > 0),
    Alteration("products overflow", rule="product_overflow", applies=_aligned),
    Alteration("overflow to largest", rule="saturate"),
    Alteration("zero keeps its sign", rule="sign_of_zero", applies=_aligned),
    Alteration("another NaN", rule="nan"),
    Alteration("not fused", rule="not_fused", applies=_chain),
    Alteration("chain reversed", steps=lambda steps: tuple(s[::-1] for s in steps[::-1]), applies=_chain),
    Alteration("NaN of a before b", rule="nan_order", applies=lambda p: _chain(p) and p.model.nan == "propagate"),
    Alteration("chain RZ", rule="chain_rz", applies=_chain),
)  # fmt: skip
"""Everything that is altered, one at a time."""


def compute(product: DotProduct, a: Bits, b: Bits, c: Bits, alteration: Alteration = UNALTERED) -> Bits:
    """Return D of pools: a (x, 1, m, k), b (y, k, n), c (y, m, n) give (x, y, m, n)."""
    p = alteration.product(product)
    x = np.moveaxis(a, -1, 0)[..., None]
    y = np.moveaxis(b, -2, 0)[:, None, :, None, :]
    z = c[None]
    if alteration.rule == "low_bits":
        x, y = (convert(v, "f32", "tf32") for v in (x, y))
    if alteration.rule == "flush_operands":
        x, y = _flushed(x, p.a), _flushed(y, p.b)
    if alteration.rule == "flush_c":
        z = _flushed(z, p.c)
    steps = p.steps if alteration.steps is None else alteration.steps(p.steps)
    run = _aligned_sum if p.model.arithmetic == "aligned_sum" else _fma_chain
    d = run(p, x, y, z, steps, alteration.rule)
    return _finished(d, p.d, alteration.rule)


def _finished(d: Bits, fmt: Format, rule: str) -> Bits:
    """Return alterations of results as a whole."""
    if rule == "flush_results":
        return _flushed(d, fmt)
    u = unpack(d, fmt)
    if rule == "nan":
        quiet = fmt.infinity | 1 << (fmt.fraction_bits - 1)
        return np.where(u.is_nan, quiet, d).astype(fmt.storage)
    return d


def _flushed(bits: Bits, fmt: Format) -> Bits:
    u = unpack(bits, fmt)
    subnormal = (u.significand != 0) & (u.significand < 1 << fmt.fraction_bits)
    return np.where(subnormal, bits & fmt.storage.type(fmt.sign_mask), bits)


def _kept_finite(d: Bits, operands: tuple[Bits, ...], fmt: Format, rule: str, source: Format | None = None) -> Bits:
    """Take the largest number for an overflow of finite operands, if that is the rule."""
    if rule != "saturate":
        return d
    special = [unpack(x, source or fmt) for x in operands]
    overflow = unpack(d, fmt).is_infinity & ~np.any([u.is_infinity | u.is_nan for u in special], axis=0)
    return np.where(overflow, d & fmt.storage.type(fmt.sign_mask) | fmt.storage.type(fmt.max_finite), d)


def _aligned_sum(p: DotProduct, x: Bits, y: Bits, z: Bits, steps: Steps, rule: str) -> Bits:
    accumulator = p.model.accumulator_format
    a_format, b_format = p.operand_formats
    x = x if a_format == p.a else convert(x, p.a, a_format)
    y = y if b_format == p.b else convert(y, p.b, b_format)
    c = z if p.c == accumulator else convert(z, p.c, accumulator)
    first = p.model.c_joins == "first_step"
    running, sums = (c if first else np.zeros_like(c)), []
    for step in steps:
        running = _step(p, x[list(step)], a_format, y[list(step)], b_format, running, rule)
        if p.model.partial_sums == "added":
            sums.append(running)
            running = np.zeros_like(running)
    if sums:
        running = reduce(lambda u, v: add(u, v, accumulator), sums)
    if not first:
        c = np.broadcast_to(c, running.shape)
        running = _kept_finite(add(c, running, accumulator), (c, running), accumulator, rule)
    return running if p.d == accumulator else convert(running, accumulator, p.d)


def _step(p: DotProduct, a: Bits, a_format: Format, b: Bits, b_format: Format, c: Bits, rule: str) -> Bits:
    """Return a copy of one rounding step, with places to break each rule."""
    model, out = p.model, p.model.output_format
    (x, x_exponent), (y, y_exponent) = _decoded(a, a_format), _decoded(b, b_format)
    z, z_exponent = _decoded(c, model.accumulator_format)
    with np.errstate(all="ignore"):
        terms, exponents = x * y, x_exponent + y_exponent
        if rule == "normalised":
            exponents = np.where((terms != 0) & np.isfinite(terms), np.frexp(terms)[1] - 1, exponents)
        if rule == "product_overflow":
            limit = np.ldexp(1.0, model.accumulator_format.emax + 1)
            terms = np.where(np.abs(terms) >= limit, np.copysign(np.inf, terms), terms)
        if rule == "c_cut":
            z = np.ldexp(np.trunc(np.ldexp(z, 10 - z_exponent)), z_exponent - 10)
        ignored = terms == 0
        if rule == "zero_products":
            ignored = np.zeros_like(ignored)
        exponents = np.where(ignored, _NO_EXPONENT, exponents)
        z_exponent = np.where((z == 0) & (rule != "zero_c"), _NO_EXPONENT, z_exponent)
        exponent = np.maximum(np.maximum(exponents.max(0), z_exponent), model.min_exponent)
        shift = (model.fraction_bits - exponent).astype(np.int32)
        cut = {"floor": np.floor, "rint": np.rint}.get(rule, np.trunc)
        total = cut(np.ldexp(terms, shift)).sum(0) + cut(np.ldexp(z, shift))
        if rule == "carry":
            # One bit less than the largest sum needs: the products are below 4, and c, if included, below 2.
            largest = len(a) * (2 - 2.0**-a_format.fraction_bits) * (2 - 2.0**-b_format.fraction_bits)
            largest += 2 - 2.0**-20 if model.c_joins == "first_step" else 0
            width = float(1 << model.fraction_bits + int(largest).bit_length() - 1)
            total = np.where(np.isfinite(total), np.fmod(total, width), total)
        finite = np.isfinite(total)
        whole = np.where(finite, total, 0).astype(np.int64)
    last = exponent.astype(np.int64) - model.fraction_bits
    overflow = "saturate" if rule == "saturate" else "infinity"
    sign = whole < 0
    if rule == "rounded_twice":
        bits = round_pack(sign, np.abs(whole), last, format_of("f32"), "RZ", "infinity")
        bits = convert(bits, "f32", out)
    else:
        bits = round_pack(sign, np.abs(whole), last, out, model.rounding, overflow)
    if rule == "sign_of_zero":
        all_minus = (np.signbit(terms) & (terms == 0)).all(0) & np.signbit(z) & (z == 0)
        bits = np.where(all_minus & (whole == 0), out.sign_mask, bits)
    else:
        bits = np.where(bits == out.sign_mask, 0, bits)
    infinity = np.where(total < 0, out.infinity | out.sign_mask, out.infinity)
    special = np.where(np.isnan(total), out.canonical_nan, infinity)
    return np.where(finite, bits, special).astype(out.storage)


def _decoded(bits: Bits, fmt: Format) -> tuple[Bits, Bits]:
    u = unpack(bits, fmt)
    return decode(bits, fmt), u.exponent.astype(np.int32)


def _fma_chain(p: DotProduct, x: Bits, y: Bits, z: Bits, steps: Steps, rule: str) -> Bits:
    model, fmt = p.model, p.model.chain_format
    x, y, c = (v if v_format == fmt else convert(v, v_format, fmt) for v, v_format in ((x, p.a), (y, p.b), (z, p.c)))
    rounding = "RZ" if rule == "chain_rz" else p.rounding
    nan = model.nan if fmt == p.d else "canonical"

    def step(k: int, running: Bits) -> Bits:
        u, v, w = np.broadcast_arrays(x[k], y[k], running)
        if rule == "not_fused":
            return add(mul(u, v, fmt, rounding), w, fmt, rounding)
        first, second = (v, u) if rule == "nan_order" else (u, v)
        return _kept_finite(fma(first, second, w, fmt, rounding, nan), (u, v, w), fmt, rule)

    def plus(u: Bits, v: Bits) -> Bits:
        u, v = np.broadcast_arrays(u, v)
        return _kept_finite(add(u, v, fmt, rounding), (u, v), fmt, rule)

    if model.c_joins == "each_add":
        running = c
        for group in steps:
            u, v = np.broadcast_arrays(x[group[0]], y[group[0]])
            chain = mul(u, v, fmt, rounding)
            running = plus(running, reduce(lambda r, k: step(k, r), group[1:], chain))
    else:
        first = model.c_joins == "first_step"
        running = reduce(
            lambda r, k: step(k, r), [k for group in steps for k in group], c if first else np.zeros_like(c)
        )
        running = running if first else plus(c, running)
    return running if p.d == fmt else _kept_finite(convert(running, fmt, p.d, rounding), (running,), p.d, rule, fmt)
