# SPDX-License-Identifier: MIT
"""The names of a kernel's variables and parameters, from its PTX, its source and its mangled name.

Findings of a launch use them for memory: variables of the kernel, and arrays by the parameters that take them.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.findings import MemoryLocation
from wmma_emu.ptx.launch.prepared_kernel import PreparedKernel
from wmma_emu.ptx.launch.ptx_text import PtxText
from wmma_emu.ptx.launch.source_types import SourceType, names_in_text
from wmma_emu.ptx.names import Member, Type, Variable, VariableNames

_VECTOR = re.compile(r"(?:u?(?:char|short|int|long|longlong)|float|double|half|nv_bfloat16)([1-4])(?:_\d+a)?")

_COMPLEX = re.compile(r"(?:\w+::)*complex<(?:float|double)>")

_NUMBA_ARRAY = re.compile(r"[^ ]+ ([^ ]+) of (argument .+), array\([^,]+, (\d+)d, \w+\)")

_NUMBA_NUMBER = re.compile(r".+, (argument \d[^ ]*)")

_SPACES = {"": ("global", "const"), "global": ("global", "const")}
"""The state spaces in which a variable may be declared, other than the space of the access."""


def names_of(module: PtxText, kernel: PreparedKernel) -> VariableNames:
    """Return the names of a kernel's variables, which are looked up when they are used.

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
    """Yield the facts about the parameters that are known without debug information."""
    names = kernel.labels or names_in_text(kernel.program)
    for i, (_, source) in enumerate(zip_longest(kernel.parameters, kernel.types.types)):
        yield _parameter(names[i] if i < len(names) else "", source)


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
    """Return the type of a parameter or its pointee; None if elements have no such type, as for pointers to arrays."""
    if source.element is None or "(" in source.text:
        return None
    name = source.text.removeprefix("*") if source.text.startswith("*") else _pointee(source.text)
    element = Type(source.element.dtypes[0], source.element.bits // 8)
    plain = name.removeprefix("const ").removeprefix("volatile ").strip()
    if plain.endswith("*"):
        return Type(name, 8)
    vector, is_complex = _VECTOR.fullmatch(plain), _COMPLEX.fullmatch(plain)
    if vector is None and not is_complex:
        # The names of packed types contain their number of elements: __nv_fp8x4_e4m3.
        return None if re.search(r"x[24]_", plain) else Type(name, element.bytes)
    count = int(vector[1]) if vector else 2
    members = () if vector is None else tuple(Member("xyzw"[i], i * element.bytes, element) for i in range(count))
    return Type(name, count * element.bytes, members=members)


def _pointee(text: str) -> str:
    """Remove the last asterisk of a type: ``const float* __restrict__``."""
    before, star, _ = text.rpartition("*")
    return before.strip() if star else text


class LaunchNames:
    """The names of a kernel's variables, and of the arrays of one launch.

    ``arrays`` maps the names that the launch uses for arrays to the indices of their parameters; ``others`` are arrays
    to which fields of structs and data point, by name.
    """

    def __init__(
        self, names: VariableNames, arrays: Mapping[str, int], others: Mapping[str, Variable] | None = None
    ) -> None:  # fmt: skip
        self._names, self._arrays, self._others = names, arrays, others or {}

    def variable(self, space: str, owner: str) -> str:
        """Return the name of a variable, or of the parameter that takes an array; "" if it is unknown."""
        found = self._found(space, owner)
        return "" if found is None else found.name

    def element(self, location: MemoryLocation) -> str:
        """Return the name of the element, or the member, at some bytes."""
        found = self._found(location.space, location.owner)
        return "" if found is None else found.element(location.offset, location.size)

    def elements(self, space: str, owner: str, size: int) -> int:
        """Return the number of elements in some bytes of a variable; 0 if their type is unknown."""
        found = self._found(space, owner)
        each = 0 if found is None else found.element_bytes
        return size // each if each and size % each == 0 else 0

    def described(self, space: str, owner: str) -> str:
        """Return the name of an array with its parameter: "A (argument 0, const half*)"."""
        if owner in self._others:
            return owner
        name = self.variable(space, owner)
        if owner not in self._arrays:
            return name
        number, _, kind = owner.partition(" (")
        kind = kind.partition(")")[0] if kind else ""
        said = ", ".join(x for x in (number.partition(" of ")[0], kind) if x and x != name)
        return f"{name} ({said})" if said else name

    def _found(self, space: str, owner: str) -> Variable | None:
        if not owner:
            return None
        if owner in self._others:
            return self._others[owner]
        if owner in self._arrays:
            return self._names.parameter(self._arrays[owner])
        found = (self._names.variable(x, owner) for x in _SPACES.get(space, (space,)))
        return next((x for x in found if x is not None), None)


def variable_of(name: str, array: NDArray[Any]) -> Variable:
    """Return the variable for an array of some dtype, with one index, as for the pointers of parameters.

    Examples
    --------
    >>> nodes = np.zeros((2, 3), [("value", "i4"), ("next", "u8")])
    >>> variable_of("nodes", nodes).element(4 * 12 + 4, 8)
    'nodes[4].next'
    """
    return Variable(name, _of_dtype(array.dtype).array(0), is_pointer=True)


def _of_dtype(kind: "np.dtype[Any]") -> Type:
    if kind.subdtype is not None:
        return _of_dtype(kind.subdtype[0]).array(*kind.subdtype[1])
    fields = () if kind.fields is None else kind.fields.items()
    members = tuple(Member(own, place, _of_dtype(inner)) for own, (inner, place, *_) in fields)
    return Type(kind.name, kind.itemsize, members=members)
