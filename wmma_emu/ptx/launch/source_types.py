# SPDX-License-Identifier: MIT
"""Source types of a kernel's parameters: C++ and numba types from its mangled name, and Triton types."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import NamedTuple

from wmma_emu.ptx.cpp.demangle import demangle
from wmma_emu.ptx.cpp.tree import Node, shown, unqualified
from wmma_emu.ptx.launch.elements import OF_TRITON, Element, element_of_cpp
from wmma_emu.ptx.program.program import KernelProgram

_FAMILIAR = {
    "__half": "half", "__half2": "half2", "__nv_bfloat16": "nv_bfloat16", "__nv_bfloat162": "nv_bfloat162",
}  # fmt: skip
"""Names in CUDA's headers of types that have other names in mangled names."""


_BYTES = ("void", "char", "unsigned char", "std::byte")
"""Pointee types that do not determine the elements."""

NUMBA_ARRAY = "0, 0, x.size, x.itemsize, x, *x.shape, *x.strides"
"""The parameters of a numba kernel for an array x."""


class SourceType(NamedTuple):
    """The type of a parameter: its text, whether it is a pointer, and the element type (of the pointee), if known.

    ``with_name`` is the text with the name of the parameter, if known, or with its role in a numba array.
    ``is_of_class`` is True for pointers to anything but scalars, CUDA vectors and bytes: usually structures.
    """

    text: str
    is_pointer: bool
    element: Element | None
    with_name: str
    is_of_class: bool = False

    @property
    def pointee(self) -> str:
        """The kind of pointee: "class", "plain" for scalars and vectors, "" if unknown or if it is not a pointer."""
        return "class" if self.is_of_class else "plain" if self.is_pointer and self.element else ""


class SourceTypes(NamedTuple):
    """The types of a kernel's parameters; if they are unknown, no types and the reason."""

    types: tuple[SourceType, ...]
    unknown: str = ""


def types_of_name(program: KernelProgram) -> SourceTypes:
    """Read the types of a kernel's parameters from its mangled name.

    If this fails in any way, return no types and the reason.
    """
    found = demangle(program.name)
    if found is None:
        is_mangled = program.name.startswith("_Z")
        return SourceTypes((), "the mangled name is not understood" if is_mangled else _NOT_MANGLED)
    if found.parameters is None:
        return SourceTypes((), "the name contains no parameter types")
    if found.name.kind == "nested" and shown(found.name.parts[0]) == "cudapy":
        arguments = enumerate(found.parameters)
        types = tuple(x for i, node in arguments for x in _of_numba_argument(node, f"argument {i}"))
    else:
        types = tuple(map(_of_cpp, found.parameters, chain(names_in_text(program), repeat(""))))
    if len(types) != len(program.parameters):
        return SourceTypes((), f"the name has {len(types)} parameters, the kernel {len(program.parameters)}")
    for source, parameter in zip(types, program.parameters, strict=True):
        size = 64 if source.is_pointer else source.element.bits if source.element else parameter.bytes * 8
        if size != parameter.bytes * 8:
            return SourceTypes((), f"the name has {source.text} where the kernel has {parameter.bytes} bytes")
    return SourceTypes(types)


_NOT_MANGLED = 'the name is not mangled (extern "C"), so it has no types'


def types_of_triton(names: Sequence[str], signature: Mapping[str, str]) -> SourceTypes:
    """Return the types of parameters in Triton's signature; no types if a name is missing there."""
    if not set(names) <= set(signature):
        return SourceTypes((), "Triton's signature does not contain all of them")
    return SourceTypes(tuple(_of_triton(name, signature[name]) for name in names))


def _of_triton(name: str, text: str) -> SourceType:
    is_pointer = text.startswith("*")
    element = OF_TRITON.get(text.removeprefix("*").removeprefix("k"))
    return SourceType(text, is_pointer, element, f"{text} {name}")


def names_in_text(program: KernelProgram) -> tuple[str, ...]:
    """Return the names of parameters in the PTX; "" for names that the compiler generated from numbers."""
    return tuple("" if x.name == f"{program.name}_param_{i}" else x.name for i, x in enumerate(program.parameters))


def _of_cpp(node: Node, name: str) -> SourceType:
    text, with_name = shown(_familiar(node)), shown(_familiar(node), f" {name}" if name else "")
    plain = unqualified(node)
    if plain.kind != "pointer":
        return SourceType(text, False, element_of_cpp(shown(plain), pointed=False), with_name)
    pointed = unqualified(plain.parts[0])
    while pointed.kind == "array":
        pointed = unqualified(pointed.parts[0])
    element = element_of_cpp("unsigned long" if pointed.kind == "pointer" else _without_version(pointed))
    return SourceType(text, True, element, with_name, element is None and shown(pointed) not in _BYTES)


def familiar_name(name: str) -> str:
    """Return a type's usual name.

    Examples
    --------
    >>> familiar_name("__half"), familiar_name("float")
    ('half', 'float')
    """
    return _FAMILIAR.get(name, name)


def _familiar(node: Node) -> Node:
    if node.kind == "name":
        return Node("name", _FAMILIAR.get(node.text, node.text))
    return Node(node.kind, node.text, tuple(map(_familiar, node.parts)))


def _without_version(node: Node) -> str:
    """Return a type without the version namespaces of libraries: ``cuda::std::__4::complex<float>``."""
    if node.kind == "template":
        return f"{_without_version(node.parts[0])}<{', '.join(map(shown, node.parts[1:]))}>"
    if node.kind == "nested":
        first, *middle, last = map(shown, node.parts)
        return "::".join([first, *(x for x in middle if not x.startswith(("__", "THRUST_"))), last])
    return shown(node)


# numba


def _of_numba_argument(node: Node, place: str) -> Iterator[SourceType]:
    """Yield numba's parameters for an argument: seven or more for an array, the elements' parameters for a tuple."""
    name = shown(node.parts[0]) if node.kind == "template" else ""
    arguments = [shown(x) for x in node.parts[1:]]
    if name == "Array" and len(arguments) >= 3 and arguments[1].isdigit():
        yield from _of_numba_array(element_of_cpp(arguments[0]), arguments, place)
    elif name == "UniTuple" and len(arguments) == 2 and arguments[1].isdigit():
        for i in range(int(arguments[1])):
            yield from _of_numba_argument(node.parts[1], f"{place}[{i}]")
    elif name == "Tuple":
        for i, part in enumerate(node.parts[1:]):
            yield from _of_numba_argument(part, f"{place}[{i}]")
    else:
        text = shown(node)
        yield SourceType(text, False, element_of_cpp(text, pointed=False), f"{text}, {place}")


def _of_numba_array(element: Element | None, arguments: list[str], place: str) -> Iterator[SourceType]:
    kind, dimensions, order = arguments[0], int(arguments[1]), arguments[2]
    array = f"{place}, array({kind}, {dimensions}d, {order})"
    number = element_of_cpp("long")
    parts: list[tuple[str, bool, Element | None, str]] = [
        ("void*", True, None, "meminfo"), ("void*", True, None, "parent"), ("long", False, number, "nitems"),
        ("long", False, number, "itemsize"), (f"{kind}*", True, element, "data"),
        *(("long", False, number, f"shape[{i}]") for i in range(dimensions)),
        *(("long", False, number, f"strides[{i}]") for i in range(dimensions)),
    ]  # fmt: skip
    for text, is_pointer, what, part in parts:
        yield SourceType(text, is_pointer, what, f"{text} {part} of {array}")
