# SPDX-License-Identifier: MIT
"""From a Triton kernel to PTX: Triton's own compiler, which needs neither a GPU nor a driver for it."""

import difflib
import inspect
import warnings
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from wmma_emu.errors import BackendUnavailableError, CompilationError, FragmentMismatchError, shorten
from wmma_emu.instructions import Arch

__all__ = ["CompiledTriton", "compile_triton"]

_INSTALL = "pip install 'wmma-emu[triton]' (from a clone: pip install '.[triton]')"

_TYPES = (
    "i1", "i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64", "fp16", "bf16", "fp32", "fp64", "fp8e4nv",
    "fp8e4b8", "fp8e4b15", "fp8e5", "fp8e5b16",
)  # fmt: skip
"""Types of parameters (triton.language.dtype 3.9)."""

_FAMILIAR = {
    "int": "i32", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "long": "i64", "bool": "i1",
    "float": "fp32", "float16": "fp16", "half": "fp16", "f16": "fp16", "bfloat16": "bf16", "float32": "fp32",
    "f32": "fp32", "float64": "fp64", "double": "fp64", "f64": "fp64", "uint8": "u8", "uint32": "u32", "uint64": "u64",
    "fp8": "fp8e4nv", "e4m3": "fp8e4nv", "e5m2": "fp8e5",
}  # fmt: skip
"""What other places call them."""


class CompiledTriton(NamedTuple):
    """The PTX of a Triton kernel, and what a launch has to know; ``signature`` has the type of each parameter."""

    ptx: str
    name: str
    num_warps: int
    shared_bytes: int
    parameters: tuple[str, ...]
    divisible_by_16: frozenset[str]
    signature: Mapping[str, str] = MappingProxyType({})


def compile_triton(
    function: Any,
    signature: Mapping[str, str],
    constexprs: Mapping[str, Any],
    arch: Arch,
    *,
    num_warps: int = 4,
    num_stages: int = 3,
    divisible_by_16: Iterable[str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> CompiledTriton:
    """Compile a Triton kernel to PTX.

    Parameters
    ----------
    function : triton.JITFunction
    signature : mapping
        Type of each parameter that is no constexpr, as Triton spells them: ``{"a_ptr": "*fp16", "M": "i32"}``.
    constexprs : mapping
        Values of the others.
    arch : Arch
    num_warps, num_stages : int
        As in a launch of Triton.
    divisible_by_16 : iterable of str, optional
        Pointers whose address, and integers whose value, is a multiple of 16 in every launch: Triton makes other code
        of them, and finds out by itself in a launch of its own. All pointers and nothing else by default.
    options : mapping, optional
        Further options of Triton's compiler.

    Raises
    ------
    CompilationError
        With the compiler's message.
    FragmentMismatchError
        For parameters that the kernel does not have, or that are left out.
    BackendUnavailableError
        If Triton is not installed.
    """
    jit = _jit_function(function)
    names = list(jit.arg_names)
    types = _types(jit.fn.__name__, names, signature, constexprs)
    runtime = tuple(name for name in names if types[name] != "constexpr")
    pointers = [name for name in runtime if types[name].startswith("*")]
    divisible = frozenset(pointers if divisible_by_16 is None else divisible_by_16)
    if unknown := sorted(divisible.difference(runtime)):
        raise FragmentMismatchError(
            f"divisible_by_16 names {', '.join(unknown)}; the parameters of a launch are {', '.join(runtime)}"
        )
    chosen = {"num_warps": num_warps, "num_stages": num_stages, "enable_fp_fusion": True, **(options or {})}
    compiled = _compile(
        jit, types, {x: constexprs[x] for x in names if types[x] == "constexpr"},
        {(names.index(x),): [["tt.divisibility", 16]] for x in names if x in divisible}, arch, chosen,
    )  # fmt: skip
    metadata = compiled.metadata
    if metadata.num_ctas != 1:
        raise CompilationError(
            f"{metadata.name} runs in clusters of {metadata.num_ctas} blocks, which are not modelled"
        )
    scratch = getattr(metadata, "global_scratch_size", 0) + getattr(metadata, "profile_scratch_size", 0)
    if scratch:
        raise CompilationError(f"{metadata.name} needs {scratch} bytes of scratch memory, which is not modelled")
    return CompiledTriton(
        compiled.asm["ptx"], metadata.name, metadata.num_warps, metadata.shared, runtime, divisible,
        {x: types[x] for x in runtime},
    )  # fmt: skip


def _jit_function(function: Any) -> Any:
    """Check that a function is one of Triton's."""
    try:
        from triton.runtime.jit import JITFunction
    except ImportError as error:
        raise BackendUnavailableError(
            f"Triton kernels are compiled by Triton, which is not installed; {_INSTALL}"
        ) from (error)
    if isinstance(function, JITFunction):
        return function
    fix = "decorate it with triton.jit"
    if isinstance(getattr(function, "fn", None), JITFunction) or hasattr(function, "configs"):
        fix = "of an autotuned kernel pass its function, kernel.fn, with the constexprs of one configuration"
    raise FragmentMismatchError(f"{shorten(function)} is no kernel of Triton; {fix}")


def _types(name: str, names: list[str], signature: Mapping[str, str], constexprs: Mapping[str, Any]) -> dict[str, str]:
    """Type of each parameter, in the kernel's order; ``constexpr`` where a value is given."""
    for given, what in ((signature, "signature"), (constexprs, "constexprs")):
        if unknown := [x for x in given if x not in names]:
            raise FragmentMismatchError(
                f"the {what} names {', '.join(map(str, unknown))}, no parameter of {name}({', '.join(names)})"
            )
    types = {x: "constexpr" if x in constexprs else signature.get(x) for x in names}
    if missing := [x for x in names if types[x] is None or (types[x] == "constexpr" and x not in constexprs)]:
        raise FragmentMismatchError(
            f"{name} needs a type or a value of {', '.join(missing)}: signature={{'{missing[0]}': 'i32'}} (a pointer: "
            f"'*fp16'), or constexprs={{'{missing[0]}': ...}}"
        )
    return {x: str(types[x]) for x in names}


def _compile(jit: Any, types: Any, constexprs: Any, attributes: Any, arch: Arch, options: Any) -> Any:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    source = ASTSource(fn=jit, signature=types, constexprs=constexprs, attrs=attributes)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of defaults that a later version of Triton changes
            return triton.compile(source, target=GPUTarget("cuda", arch.number, 32), options=dict(options))
    except Exception as error:  # of many kinds
        _require_types(jit.fn.__name__, types)
        where = inspect.getsourcefile(jit.fn) or "?"
        raise CompilationError(f"{jit.fn.__name__} ({where}) does not compile: {error}") from error


def _require_types(name: str, types: Mapping[str, str]) -> None:
    """Refuse types that Triton does not have; asked once it has refused a kernel, since a later one may have more.

    Raises
    ------
    FragmentMismatchError
    """
    for parameter, given in types.items():
        pointed = given.lstrip("*").removeprefix("k") if given.startswith("*") else given
        if pointed in ("constexpr", *_TYPES) or given.startswith(("tensordesc", "nvTmaDesc")):
            continue
        near = _FAMILIAR.get(pointed) or next(iter(difflib.get_close_matches(pointed[:40], _TYPES, 1)), "")
        hint = f"; did you mean {given[: len(given) - len(given.lstrip('*'))]}{near}?" if near else ""
        raise FragmentMismatchError(
            f"the type of {parameter} of {name} is {shorten(given)}; Triton has {', '.join(_TYPES)}, and pointers to "
            f"them, such as *fp32{hint}"
        )
