# SPDX-License-Identifier: MIT
"""Compilation of Triton kernels to PTX by Triton's own compiler, which needs neither a GPU nor a driver."""

import inspect
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

from wmma_emu.documentation import how_to_install
from wmma_emu.errors import (
    ArgumentError,
    ArgumentValueError,
    BackendUnavailableError,
    CompilationError,
    FragmentMismatchError,
    shorten,
)
from wmma_emu.instructions import Arch
from wmma_emu.ptx.launch.elements import OF_TRITON
from wmma_emu.ptx.launch.triton_compiled import CompiledTriton, Path, Scratch, leaf_names
from wmma_emu.ptx.launch.triton_driver import emulated_target
from wmma_emu.suggestions import nearest, question

_INSTALL = how_to_install("triton")

_FILE = re.compile(r'\.file\s+\d+\s+"([^"]+)"')
"""The file names in PTX."""

_FAMILIAR = {
    "int": "i32", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "long": "i64", "bool": "i1",
    "float": "fp32", "float16": "fp16", "half": "fp16", "f16": "fp16", "bfloat16": "bf16", "float32": "fp32",
    "f32": "fp32", "float64": "fp64", "double": "fp64", "f64": "fp64", "uint8": "u8", "uint32": "u32", "uint64": "u64",
    "fp8": "fp8e4nv", "e4m3": "fp8e4nv", "e5m2": "fp8e5",
}  # fmt: skip
"""Triton's names of types with other common names."""


def compile_signature(
    function: Any,
    signature: Mapping[str, Any],
    constexprs: Mapping[str, Any],
    arch: Arch,
    *,
    divisible_by_16: Iterable[str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> CompiledTriton:
    """Compile a Triton kernel for types only, with assumptions about the values: see `Module.from_triton`.

    The type of a tuple is a tuple of types. Triton generates different code for pointers and integers that are
    multiples of 16 in every launch: by default this is assumed for all pointers, and for nothing else.
    """
    jit = jit_function(function)
    names = list(jit.arg_names)
    types = _types(jit.fn.__name__, names, signature, constexprs)
    leaves = leaf_names(types)
    runtime = {name: path for path, (name, kind) in leaves.items() if kind != "constexpr"}
    pointers = [name for name, path in runtime.items() if leaves[path][1].startswith("*")]
    divisible = set(pointers if divisible_by_16 is None else divisible_by_16)
    if unknown := sorted(divisible.difference(runtime)):
        raise ArgumentError(
            f"divisible_by_16 names {', '.join(unknown)}; the parameters of a launch are {', '.join(runtime)}"
        )
    constants = {(names.index(x),): constexprs[x] for x in names if types[x] == "constexpr"}
    kernel = _compile(jit, types, constants, {runtime[x]: [["tt.divisibility", 16]] for x in divisible}, arch, options)
    compiled = compiled_triton(kernel, [x for x in names if types[x] != "constexpr"])
    return compiled._replace(assumed=_assumed(leaves, divisible))


def jit_function(function: Any) -> Any:
    """Return Triton's function within its decorators."""
    try:
        from triton.runtime.jit import JITFunction
    except ImportError as error:
        raise BackendUnavailableError(
            f"Triton kernels are compiled by Triton, which is not installed; {_INSTALL}"
        ) from (error)
    inner, fix = function, "decorate it with triton.jit"
    while not isinstance(inner, JITFunction):
        if hasattr(inner, "configs"):
            fix = "autotuning chooses a configuration by its time: pass the function itself, kernel.fn, and of the " + (
                "configuration to test config.all_kwargs(), as constexprs and Triton options, or as launch keywords"
            )
        if hasattr(inner, "configs") or not hasattr(inner, "fn"):
            raise ArgumentError(f"{shorten(function)} is not a Triton kernel; {fix}")
        inner = inner.fn
    return inner


def compiled_triton(kernel: Any, given: Iterable[str]) -> CompiledTriton:
    """Collect the facts that a launch needs of a compiled Triton kernel; ``given`` are the parameters it passes."""
    metadata, source = kernel.metadata, kernel.src
    return CompiledTriton(
        ptx=_with_own_file(kernel.asm["ptx"], source.fn.fn.__code__.co_filename),
        name=metadata.name,
        num_warps=metadata.num_warps,
        num_ctas=metadata.num_ctas,
        shared_bytes=metadata.shared,
        signature=dict(source.signature),
        constants=dict(source.constants),
        divisible=frozenset(
            path for path, found in source.attrs.items() if ["tt.divisibility", 16] in map(list, found)
        ),
        given=tuple(given),
        fusion=bool(metadata.enable_fp_fusion) and "fmad=false" not in (metadata.ptx_options or ""),
        tensor_maps=tuple(x or {} for x in getattr(metadata, "tensordesc_meta", None) or ()),
        cooperative=bool(getattr(metadata, "launch_cooperative_grid", False)),
        scratch=(
            Scratch(metadata.global_scratch_size, metadata.global_scratch_align),
            Scratch(metadata.profile_scratch_size, metadata.profile_scratch_align),
        ),
    )


def _with_own_file(ptx: str, own: str) -> str:
    """Insert a kernel's current file name: Triton's cache finds functions by their text, in whatever file it was.

    Examples
    --------
    >>> _with_own_file('.file 1 "/old/k.py"', "/new/k.py"), _with_own_file('.file 1 "/a.py" .file 2 "/b.py"', "/k.py")
    ('.file 1 "/new/k.py"', '.file 1 "/a.py" .file 2 "/b.py"')
    """
    files = set(_FILE.findall(ptx))
    alike = [x for x in files if PurePath(x).name == PurePath(own).name] or list(files)
    return ptx if own in files or len(alike) != 1 else ptx.replace(f'"{alike[0]}"', f'"{own}"')


@contextmanager
def compilation_errors(jit: Any) -> Iterator[None]:
    """Convert the various errors of Triton's compiler to CompilationError with the kernel's name and file.

    Use it only within `emulated_target`, whose lock it needs, because warning filters are global.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about defaults that a later version of Triton changes
            yield
    except FragmentMismatchError:
        raise
    except Exception as error:
        where = inspect.getsourcefile(jit.fn) or "?"
        said = _messages(error)
        # Triton's own errors quote the kernel's line, and are shown in full; other errors are faults in its passes.
        cause = None if said else error
        raise CompilationError(f"{jit.fn.__name__} ({where}) does not compile: {said or error}") from cause


def _messages(error: BaseException | None) -> str:
    """Return Triton's messages, one for each call if functions call one another; the last contains the reason."""
    from triton.errors import TritonError

    texts: list[str] = []
    while isinstance(error, TritonError):
        texts.append(str(error))
        error = error.__cause__
    if texts and error is not None and str(error) not in texts[-1]:
        texts.append(f"{type(error).__name__}: {error}")
    return "\n".join(texts)


def _compile(
    jit: Any, types: Mapping[str, Any], constants: Any, attributes: Any, arch: Arch, options: Mapping[str, Any] | None
) -> Any:
    import triton
    from triton.compiler import ASTSource
    from triton.experimental.gluon._runtime import GluonASTSource

    source = (GluonASTSource if jit.is_gluon() else ASTSource)(jit, dict(types), constants, attributes)
    try:
        with emulated_target(arch) as target, compilation_errors(jit):
            return triton.compile(source, target=target, options=dict(options or {}))
    except CompilationError as error:
        refusal = error
    _require_types(jit.fn.__name__, types)  # Triton reports an unknown type only as a failed assertion
    raise refusal


def _types(name: str, names: list[str], signature: Mapping[str, Any], constexprs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the type of each parameter, in the kernel's order; ``constexpr`` if a value is given."""
    for given, what in ((signature, "signature"), (constexprs, "constexprs")):
        if unknown := [x for x in given if x not in names]:
            raise ArgumentError(
                f"the {what} names {', '.join(map(str, unknown))}, not a parameter of {name}({', '.join(names)})"
            )
    types = {x: "constexpr" if x in constexprs else signature.get(x) for x in names}
    if missing := [x for x in names if types[x] is None or (types[x] == "constexpr" and x not in constexprs)]:
        raise ArgumentError(
            f"{name} needs a type or a value for {', '.join(missing)}: signature={{'{missing[0]}': 'i32'}} (a pointer: "
            f"'*fp16'), or constexprs={{'{missing[0]}': ...}}"
        )
    return {x: _type(types[x]) for x in names}


def _type(given: Any) -> Any:
    return tuple(map(_type, given)) if isinstance(given, tuple | list) else str(given)


def _assumed(leaves: Mapping[Path, tuple[str, str]], divisible: Iterable[str]) -> tuple[str, ...]:
    """Describe the assumptions that types alone require, and that Triton's own launch would derive from arguments."""
    runtime = {name: kind for name, kind in leaves.values() if kind != "constexpr"}
    pointers = [x for x, kind in runtime.items() if kind.startswith("*")]
    integers = [x for x, kind in runtime.items() if kind[0] in "iu" and kind not in ("i1", "u1")]
    return tuple(
        f"{', '.join(found)}: {text}"
        for found, text in (
            ([x for x in pointers if x in divisible], "an address that is a multiple of 16"),
            ([x for x in pointers if x not in divisible], "any address"),
            ([x for x in integers if x in divisible], "a multiple of 16"),
            (
                [x for x in integers if x not in divisible],
                "any integer, whereas Triton's own launch specialises for 1 and multiples of 16",
            ),
        )
        if found
    )


def _require_types(name: str, types: Mapping[str, Any]) -> None:
    """Reject types that Triton does not have; only called after a failure, since later versions may have more."""
    for parameter, given in leaf_names(types).values():
        pointed = given.lstrip("*").removeprefix("k") if given.startswith("*") else given
        if pointed in ("constexpr", *OF_TRITON) or given.startswith(("tensordesc", "nvTmaDesc")):
            continue
        near = [_FAMILIAR[pointed]] if pointed in _FAMILIAR else nearest(pointed, OF_TRITON)
        stars = given[: len(given) - len(given.lstrip("*"))]
        raise ArgumentValueError(
            f"the type of {parameter} of {name} is {shorten(given)}; Triton has {', '.join(OF_TRITON)}, and pointers "
            f"to them, such as *fp32{question([stars + x for x in near])}"
        )
