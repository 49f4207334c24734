# SPDX-License-Identifier: MIT
"""The names of a kernel's variables and parameters: what its text, its source and its mangled name say together."""

import re
from collections.abc import Iterator
from itertools import zip_longest

from wmma_emu.ptx.launch.prepared_kernel import PreparedKernel
from wmma_emu.ptx.launch.ptx_text import PtxText
from wmma_emu.ptx.launch.source_types import SourceType
from wmma_emu.ptx.names import Member, Type, Variable, VariableNames
from wmma_emu.ptx.program.program import KernelProgram

_VECTOR = re.compile(r"(?:u?(?:char|short|int|long|longlong)|float|double|half|nv_bfloat16)([1-4])(?:_\d+a)?")

_COMPLEX = re.compile(r"(?:\w+::)*complex<(?:float|double)>")

_NUMBA_ARRAY = re.compile(r"[^ ]+ ([^ ]+) of (argument .+), array\([^,]+, (\d+)d, \w+\)")

_NUMBA_NUMBER = re.compile(r".+, (argument \d[^ ]*)")


def names_of(module: PtxText, kernel: PreparedKernel) -> VariableNames:
    """Return the names of a kernel's variables, which are looked up when they are asked for.

    Examples
    --------
    >>> from wmma_emu.ptx import Module
    >>> module = Module('''.version 8.0 .target sm_80 .address_size 64
    ... .visible .entry _Z1kPfS_(.param .u64 _Z1kPfS__param_0, .param .u64 _Z1kPfS__param_1) { ret; }''')
    >>> names = names_of(module, module.kernel)
    >>> names.parameter_names, names.parameter(1).element(60, 4)
    (('', ''), 'argument 1[15]')
    """
    known = module.names.kernels
    if kernel.name not in known:
        functions = [name for name, _, _ in kernel.program.functions]
        found = VariableNames(module.names, kernel.name, functions, tuple(_parameters(kernel)))
        known.setdefault(kernel.name, found)
    return known[kernel.name]


def _parameters(kernel: PreparedKernel) -> Iterator[Variable]:
    """Yield what is known of the parameters without debug information."""
    names = kernel.labels or _names_of_text(kernel.program)
    for i, (_, source) in enumerate(zip_longest(kernel.parameters, kernel.types.types)):
        yield _parameter(names[i] if i < len(names) else "", source)


def _names_of_text(program: KernelProgram) -> tuple[str, ...]:
    """Names that the text has for parameters; none where a compiler has numbered them."""
    return tuple(
        "" if x.name == f"{program.name}_param_{i}" else x.name for i, x in enumerate(program.parameters)
    )  # fmt: skip


def _parameter(name: str, source: SourceType | None) -> Variable:
    if source is None:
        return Variable(name)
    kind = _type(source)
    if array := _NUMBA_ARRAY.fullmatch(source.with_name):
        is_data, is_flat = array[1] == "data", array[3] == "1"
        name = array[2] if is_data else f"{array[1]} of {array[2]}"
        kind = kind if not is_data or is_flat else None
    elif number := _NUMBA_NUMBER.fullmatch(source.with_name):
        name = number[1]
    if not source.is_pointer:
        return Variable(name, kind)
    return Variable(name, None if kind is None else kind.array(0), is_pointer=True)


def _type(source: SourceType) -> Type | None:
    """What a parameter is, or points to; None where an element is no such thing, as of pointers to arrays."""
    if source.element is None or "(" in source.text:
        return None
    name = source.text.removeprefix("*") if source.text.startswith("*") else _pointee(source.text)
    element = Type(source.element.dtypes[0], source.element.bits // 8)
    plain = name.removeprefix("const ").removeprefix("volatile ").strip()
    if plain.endswith("*"):
        return Type(name, 8)
    vector, is_complex = _VECTOR.fullmatch(plain), _COMPLEX.fullmatch(plain)
    if vector is None and not is_complex:
        # Packed types of several elements say so: __nv_fp8x4_e4m3.
        return None if re.search(r"x[24]_", plain) else Type(name, element.bytes)
    count = int(vector[1]) if vector else 2
    members = () if vector is None else tuple(Member("xyzw"[i], i * element.bytes, element) for i in range(count))
    return Type(name, count * element.bytes, members=members)


def _pointee(text: str) -> str:
    """Leave out the last star of a type: ``const float* __restrict__``."""
    before, star, _ = text.rpartition("*")
    return before.strip() if star else text
