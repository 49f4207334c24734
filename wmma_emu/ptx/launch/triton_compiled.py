# SPDX-License-Identifier: MIT
"""What a launch has to know of a kernel that Triton compiled: its parameters, as its specialisation left them."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

Path = tuple[int, ...]
"""Where a value is: the parameter's number, and the places in tuples."""


class Scratch(NamedTuple):
    """Memory that a kernel needs beside its arguments: bytes for each block, and their alignment."""

    bytes: int
    align: int


class CompiledTriton(NamedTuple):
    """The PTX of a Triton kernel, and what a launch has to know.

    ``signature`` has Triton's type of each parameter of the function: ``*fp32``, ``i32``, ``constexpr`` for what is no
    parameter of the PTX (declared so, None, or the integer 1), of a tuple a tuple of types. ``constants`` has the value
    of each constexpr, and ``divisible`` what Triton took for a multiple of 16, by their paths. A launch gives the
    parameters ``given``, in order; global and profile ``scratch`` are the two behind all others.

    ptxas may fuse products and sums where ``fusion`` says so. With ``tensor_maps``, descriptors become tensor maps (of
    TMA) rather than pointers, shapes and strides. ``assumed`` was taken for granted because only types were given;
    ``unlike`` says of the arguments of a launch, by name, which of them Triton would specialise otherwise than those
    that the kernel was compiled for.
    """

    ptx: str
    name: str
    num_warps: int
    num_ctas: int
    shared_bytes: int
    signature: Mapping[str, Any]
    constants: Mapping[Path, Any]
    divisible: frozenset[Path]
    given: tuple[str, ...]
    fusion: bool
    tensor_maps: bool
    scratch: tuple[Scratch, Scratch]
    assumed: tuple[str, ...] = ()
    mismatches: Callable[[Mapping[str, Any]], tuple[str, ...]] | None = None

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        """Name and Triton's type of each parameter of the PTX, scratch aside."""
        leaves = (x for x in leaf_names(self.signature).values() if x[1] != "constexpr")
        return tuple(part for name, kind in leaves for part in self._parts(name, kind))

    def _parts(self, name: str, kind: str) -> Iterator[tuple[str, str]]:
        """A descriptor is several parameters (Triton's ``expand_signature``)."""
        found = re.match(r"tensordesc(?:_im2col)?<([^[>]*)\[([^\]]*)\]", kind)
        if not found:
            yield name, kind
            return
        own = re.search(r",input_rank=(\d+)", kind)
        rank = int(own[1]) if own else found[2].count(",") + 1
        if self.tensor_maps:
            yield name, "nvTmaDesc"
        else:
            yield f"{name}.base", f"*{found[1]}"
            yield from ((f"{name}.{x}[{i}]", "i64") for x in ("shape", "strides") for i in range(rank))
            yield from ((f"{name}.{x}", "i1") for x in ("padding", "round_f32_to_tf32"))
        yield from ((f"{name}.shape[{i}]", "i32") for i in range(rank))
        yield from ((f"{name}.strides[{i}]", "i64") for i in range(rank))


def leaf_names(types: Mapping[str, Any]) -> dict[Path, tuple[str, str]]:
    """Name and type of each value, tuples opened, by its path.

    Examples
    --------
    >>> leaf_names({"x": "*fp32", "sizes": ("i32", "constexpr")})
    {(0,): ('x', '*fp32'), (1, 0): ('sizes[0]', 'i32'), (1, 1): ('sizes[1]', 'constexpr')}
    """

    def walk(name: str, kind: Any, path: Path) -> Iterator[tuple[Path, tuple[str, str]]]:
        if isinstance(kind, tuple):
            for i, x in enumerate(kind):
                yield from walk(f"{name}[{i}]", x, (*path, i))
        else:
            yield path, (name, kind)

    return {path: leaf for i, (name, kind) in enumerate(types.items()) for path, leaf in walk(name, kind, (i,))}
