# SPDX-License-Identifier: MIT
"""A compiled Triton kernel, as a launch uses it: its PTX, its parameters and its specialisation."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

Path = tuple[int, ...]
"""The position of a value: the index of the parameter, and the indices in nested tuples."""


class Scratch(NamedTuple):
    """Additional memory that a kernel needs: bytes per block, and their alignment."""

    bytes: int
    align: int


class CompiledTriton(NamedTuple):
    """The PTX of a Triton kernel, and the facts that a launch needs.

    ``signature`` maps each parameter of the function to its Triton type: ``*fp32``, ``i32``, ``constexpr`` for values
    that are not parameters of the PTX (declared so, None, or the integer 1), and tuples of types for tuples.
    ``constants`` are the values of constexprs, and ``divisible`` the parameters that Triton assumed to be multiples of
    16, both by path. A launch passes the parameters ``given``, in order; global and profile ``scratch`` are the last
    two parameters.

    ``fusion`` is whether ptxas may fuse products and sums. ``tensor_maps`` has Triton's facts about the tensor map of
    each descriptor, in order; without them, descriptors become pointers, shapes and strides. ``assumed`` are
    assumptions because only types were given; ``mismatches`` names the arguments of a launch that Triton would
    specialise differently. ``cooperative`` is whether Triton launches all blocks at the same time.
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
    tensor_maps: tuple[Mapping[str, Any], ...]
    scratch: tuple[Scratch, Scratch]
    cooperative: bool = False
    assumed: tuple[str, ...] = ()
    mismatches: Callable[[Mapping[str, Any]], tuple[str, ...]] | None = None

    @property
    def parameters(self) -> tuple[tuple[str, str], ...]:
        """The name and the Triton type of each parameter of the PTX, except scratch memory."""
        leaves = (x for x in leaf_names(self.signature).values() if x[1] != "constexpr")
        return tuple(part for name, kind in leaves for part in self._parts(name, kind))

    def _parts(self, name: str, kind: str) -> Iterator[tuple[str, str]]:
        """Yield the parameters of a value; a descriptor is several (Triton's ``expand_signature``)."""
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
    """Return the name and type of each value by its path, with tuples expanded.

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
