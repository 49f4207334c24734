# SPDX-License-Identifier: MIT
"""An interpreter of jaxprs that replaces products, also in the functions that control flow calls."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
from jax.extend import core

from wmma_emu.jax.products import emulated_dot
from wmma_emu.models import ModelMultiplier

_INLINED = frozenset(
    {"jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"}
)
"""Primitives that call a function, whose operations are executed in its place."""

_UNTOUCHED = {
    "conv_general_dilated": "convolutions are computed by XLA",
    "ragged_dot": "products of ragged groups are computed by XLA",
    "ragged_dot_general": "products of ragged groups are computed by XLA",
    "scaled_dot": "products with block scales are computed by XLA",
    "shard_map": "XLA computes the products in it; emulate the function that it maps",
}
"""Primitives with products that are not emulated."""


def evaluated(closed: Any, arguments: Sequence[Any], multiply: ModelMultiplier) -> list[Any]:
    """Execute a closed jaxpr with emulated products."""
    return _executed(closed.jaxpr, closed.consts, arguments, multiply)


def _executed(jaxpr: Any, consts: Sequence[Any], arguments: Sequence[Any], multiply: ModelMultiplier) -> list[Any]:
    values: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *arguments], strict=True))

    def read(x: Any) -> Any:
        return x.val if isinstance(x, core.Literal) else values[x]

    for equation in jaxpr.eqns:
        found = _result(equation, [read(x) for x in equation.invars], multiply)
        results = found if equation.primitive.multiple_results else [found]
        values.update(zip(equation.outvars, results, strict=True))
    return [read(x) for x in jaxpr.outvars]


def _result(equation: Any, operands: list[Any], multiply: ModelMultiplier) -> Any:
    """Execute one equation."""
    name, params = equation.primitive.name, equation.params
    if name == "dot_general":
        found = emulated_dot(multiply, operands[0], operands[1], _place(equation), **params)
        if found is not None:
            return found
    elif name in _UNTOUCHED:
        multiply.log.untouched[f"{name}, {_UNTOUCHED[name]}"] += 1
    if _has_products(equation) and name not in _UNTOUCHED:
        if name in _INLINED:
            inner = params.get("jaxpr", params.get("call_jaxpr", params.get("fun_jaxpr")))
            return evaluated(inner, operands, multiply)
        params = {key: _replaced(value, multiply) for key, value in params.items()}
    given = equation.primitive.get_bind_params(params)
    functions, params = given if isinstance(given, tuple) else ((), given)  # older versions of JAX return both
    return equation.primitive.bind(*functions, *operands, **params)


def _place(equation: Any) -> str:
    return str(equation.source_info.name_stack)


def _has_products(equation: Any) -> bool:
    """Return whether a function that an equation calls has products."""
    return any(
        x.primitive.name in ("dot_general", *_UNTOUCHED) or _has_products(x)
        for value in equation.params.values() for jaxpr in _jaxprs(value) for x in jaxpr.eqns
    )  # fmt: skip


def _jaxprs(value: Any) -> list[Any]:
    if isinstance(value, core.ClosedJaxpr):
        return [value.jaxpr]
    if isinstance(value, core.Jaxpr):
        return [value]
    return [y for x in value for y in _jaxprs(x)] if isinstance(value, tuple | list) else []


def _replaced(value: Any, multiply: ModelMultiplier) -> Any:
    """Return a function of an equation with emulated products; other parameters are returned as they are."""
    if isinstance(value, tuple | list) and _jaxprs(value):
        return type(value)(_replaced(x, multiply) for x in value)
    if isinstance(value, core.ClosedJaxpr):
        return _traced(value.jaxpr, value.consts, multiply)
    if isinstance(value, core.Jaxpr):
        return _traced(value, (), multiply).jaxpr
    return value


def _traced(jaxpr: Any, consts: Sequence[Any], multiply: ModelMultiplier) -> Any:
    shapes = [jax.ShapeDtypeStruct(x.aval.shape, x.aval.dtype, weak_type=x.aval.weak_type) for x in jaxpr.invars]
    return jax.make_jaxpr(partial(_of_arguments, jaxpr, consts, multiply))(*shapes)


def _of_arguments(jaxpr: Any, consts: Sequence[Any], multiply: ModelMultiplier, *arguments: Any) -> list[Any]:
    return _executed(jaxpr, consts, arguments, multiply)
