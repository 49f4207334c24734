# SPDX-License-Identifier: MIT
"""What a user gives of a Triton kernel: types, arguments, or neither, and which compilation that asks for."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wmma_emu.errors import ArgumentError
from wmma_emu.instructions import Arch
from wmma_emu.ptx.launch.triton_compiled import CompiledTriton
from wmma_emu.ptx.launch.triton_module import specialise
from wmma_emu.ptx.launch.triton_source import compile_signature, jit_function


def compile_request(
    function: Any, arch: Arch, constexprs: Mapping[str, Any], options: Mapping[str, Any],
    signature: Mapping[str, Any] | None, arguments: Sequence[Any] | None, divisible_by_16: Iterable[str] | None,
) -> CompiledTriton | None:  # fmt: skip
    """Compile for types or for arguments; None where there are neither, and each launch asks for its own."""
    if signature is not None and arguments is not None:
        raise ArgumentError("from_triton takes a signature or arguments; the types are those of arguments")
    if signature is not None:
        return compile_signature(
            function, signature, constexprs, arch, divisible_by_16=divisible_by_16, options=options
        )
    if divisible_by_16 is not None:
        raise ArgumentError("divisible_by_16 goes with a signature; Triton finds it out from the arguments of a launch")
    return None if arguments is None else _for_arguments(function, arch, constexprs, options, arguments)


def _for_arguments(
    function: Any, arch: Arch, constexprs: Mapping[str, Any], options: Mapping[str, Any], arguments: Sequence[Any]
) -> CompiledTriton:
    jit = jit_function(function)
    computed = _from_heuristics(function)
    runtime = [x.name for x in jit.params if not x.is_constexpr]
    if wrong := [x for x in runtime if x in computed]:
        raise ArgumentError(
            f"triton.heuristics compute {wrong[0]} of {jit.fn.__name__}, no tl.constexpr, anew in each launch: "
            "leave arguments out, and each launch is compiled for its own"
        )
    if wrong := [x for x in constexprs if x in runtime]:
        raise ArgumentError(f"{wrong[0]} of {jit.fn.__name__} is no tl.constexpr; give it among the arguments")
    if len(arguments) != len(runtime):
        raise ArgumentError(
            f"{jit.fn.__name__} takes {len(runtime)} arguments that are no constexpr, {', '.join(runtime)}; "
            f"{len(arguments)} were given"
        )
    named = {**dict(zip(runtime, arguments, strict=True)), **constexprs, **options}
    made = specialise(function, arch, (), named)
    return made.compiled._replace(given=tuple(runtime), unlike=made.unlike)


def _from_heuristics(function: Any) -> set[str]:
    """Parameters that `triton.heuristics` compute."""
    found: set[str] = set()
    while hasattr(function, "fn"):
        found.update(getattr(function, "values", None) or ())
        function = function.fn
    return found
