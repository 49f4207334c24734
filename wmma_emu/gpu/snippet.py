# SPDX-License-Identifier: MIT
"""A few lines of PTX for every element of arrays: comparisons of conversions and data movement with hardware."""

import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, ShapeError, shorten
from wmma_emu.gpu.device import open_gpu
from wmma_emu.layouts.spec import LANES

_LARGEST_IMAGE = 48 << 10


def run_snippet(
    lines: str | Sequence[str],
    inputs: Mapping[str, NDArray[Any]],
    outputs: Mapping[str, DTypeLike],
    *,
    shared: NDArray[np.uint8] | None = None,
    version: str = "8.0",
) -> dict[str, NDArray[Any]]:
    r"""Run lines of PTX on the GPU, one thread for every element of the inputs.

    Parameters
    ----------
    lines : str or sequence of str
        PTX statements. An input or output ``x`` is the register ``%x``; they declare their other registers (``.reg
        .pred %p;``). With ``shared``, ``%shared`` is the address of the warp's own image, in 32 bits.
    inputs : dict of arrays
        uint16, uint32 or uint64 arrays of one shape: bits, in registers .b16, .b32, .b64. Elements are assigned to
        threads in C order: if the last axis is 32 lanes, each entry before it is a warp, and lanes can exchange
        registers.
    outputs : dict of dtypes
        The registers that are stored at the end.
    shared : uint8 array, shape (*warps, bytes), optional
        An image of shared memory for each warp, at most 48 KiB; the inputs then have shape (*warps, 32).
    version : str
        The PTX version: the newest that the lines need.

    Returns
    -------
    dict of arrays
        The outputs, in the shape of the inputs; with ``shared`` also ``"shared"``, the images afterwards.

    Raises
    ------
    BackendUnavailableError
        If no GPU is available; if the lines cannot be assembled; if the GPU has too little memory, or fails while it
        runs.
    FragmentMismatchError
        If shapes or dtypes do not match.

    Notes
    -----
    The last warp is padded with copies of the last element, whose results are discarded.

    Examples
    --------
    Registers are bits, so floats must be passed as bits:

    >>> run_snippet("neg.f32 %y, %x;", {"x": np.ones(32, np.float32)}, {"y": np.uint32})
    Traceback (most recent call last):
        ...
    wmma_emu.errors.ArgumentError: x is float32; the registers of a snippet are bits: uint16, uint32 or
        uint64; reinterpret with .view
    >>> from wmma_emu.gpu import available
    >>> x = np.array([0x3F800000, 0xC0000000], np.uint32)                     # 1, -2
    >>> y = run_snippet("neg.f32 %y, %x;", {"x": x}, {"y": np.uint32})["y"] if available() else x ^ 0x80000000
    >>> [hex(bits) for bits in y]
    ['0xbf800000', '0x40000000']
    """
    arrays = {name: _checked(name, np.asarray(array)) for name, array in inputs.items()}
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) != 1:
        raise ShapeError(f"inputs must be at least one array, all of one shape; given: {_shown(arrays)}")
    shape = shapes.pop()
    results = {name: np.empty(shape, _checked(name, np.empty(0, dtype)).dtype) for name, dtype in outputs.items()}
    if shared is not None and (
        shared.dtype != np.uint8 or shape[-1:] != (LANES,) or shared.shape[:-1] != shape[:-1] or shared.shape[-1] % 4
        or shared.shape[-1] > _LARGEST_IMAGE
    ):  # fmt: skip
        raise ShapeError(
            f"shared is {shared.dtype} of shape {shared.shape}, the inputs have {shape}; shared memory is uint8 of "
            f"shape (*warps, bytes), whole words, at most {_LARGEST_IMAGE} bytes, where inputs are (*warps, {LANES})"
        )
    image_bytes = 0 if shared is None else shared.shape[-1]
    gpu = open_gpu()
    text = snippet_module(
        lines,
        {name: array.dtype for name, array in arrays.items()},
        {name: array.dtype for name, array in results.items()},
        gpu.target,
        image_bytes=image_bytes,
        version=version,
    )
    count = prod(shape)
    threads = LANES if shared is not None else 128
    with gpu.memory() as memory:  # the kernel must not be unloaded meanwhile
        kernel = gpu.kernel(text, "snippet")
        if count == 0:
            return results if shared is None else results | {"shared": shared.copy()}
        arguments = [memory.upload(array) for array in arrays.values()]
        written = [memory.allocate(array.nbytes) for array in results.values()]
        images = [] if shared is None else [memory.upload(shared)]
        gpu.launch(kernel, -(-count // threads), threads, 0, *arguments, *written, *images, np.uint32(count))
        for buffer, array in zip(written, results.values(), strict=True):
            memory.download(buffer, array)
        if shared is not None:
            results["shared"] = np.empty_like(shared, order="C")
            memory.download(images[0], results["shared"])
    return results


def snippet_module(
    lines: str | Sequence[str],
    inputs: Mapping[str, DTypeLike],
    outputs: Mapping[str, DTypeLike],
    target: str,
    *,
    image_bytes: int = 0,
    version: str = "8.0",
) -> str:
    r"""Write the PTX of `run_snippet`.

    Examples
    --------
    >>> text = snippet_module("cvt.rn.f16.f32 %y, %x;", {"x": np.uint32}, {"y": np.uint16}, "sm_90a")
    >>> print(*[line for line in text.splitlines() if "%y" in line], sep="\n")
      .reg .b16 %y;
      cvt.rn.f16.f32 %y, %x;
      st.global.b16 [%at], %y;
    """
    names = [*inputs, *outputs]
    for name in names:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in _TAKEN or names.count(name) > 1:
            raise ArgumentValueError(
                "a register of a snippet needs a unique name of lower-case letters, digits and underscores, "
                f"not {shorten(name)}"
            )
    bits = {name: 8 * np.dtype(dtype).itemsize for name, dtype in (*inputs.items(), *outputs.items())}
    declared = [f".reg .b{width} %{name};" for name, width in bits.items()]
    body = [*declared, *_HEAD]
    for name in inputs:
        body += [*_address(name, bits[name]), f"ld.global.b{bits[name]} %{name}, [%at];"]
    if image_bytes:
        body += [*_IMAGE, *_copy("ld.global.b32 %word, [%at];", "st.shared.b32 [%place], %word;", "in", image_bytes)]
    body += ["{", *([lines] if isinstance(lines, str) else lines), "}"]
    if image_bytes:
        body += _copy("ld.shared.b32 %word, [%place];", "st.global.b32 [%at], %word;", "out", image_bytes)
    body.append("@%beyond bra end;")
    for name in outputs:
        body += [*_address(name, bits[name]), f"st.global.b{bits[name]} [%at], %{name};"]
    body += ["end:", "ret;"]
    pointers = [*names, *(["images"] if image_bytes else [])]
    parameters = "".join(f"  .param .u64 {name},\n" for name in pointers)
    text = "\n".join(line if line.endswith(":") else f"  {line}" for line in body)
    space = f".shared .align 1024 .b8 image[{image_bytes}];\n" if image_bytes else ""
    return f"""// SPDX-License-Identifier: MIT
.version {version}
.target {target}
.address_size 64
{space}
.visible .entry snippet(
{parameters}  .param .u32 count
)
{{
{text}
}}
"""


_HEAD = [
    ".reg .pred %beyond, %done;",
    ".reg .b32 %thread, %own, %lane, %count, %size, %place, %word, %shared;",
    ".reg .b64 %at;",
    "mov.u32 %thread, %ctaid.x;",
    "mov.u32 %size, %ntid.x;",
    "mov.u32 %lane, %tid.x;",
    "mad.lo.u32 %own, %thread, %size, %lane;",
    "ld.param.u32 %count, [count];",
    "setp.ge.u32 %beyond, %own, %count;",
    "// threads of the last warp that have no element take the last one",
    "sub.u32 %count, %count, 1;",
    "min.u32 %own, %own, %count;",
]

_IMAGE = ["mov.u32 %shared, image;"]


def _address(name: str, bits: int) -> list[str]:
    return [f"ld.param.u64 %at, [{name}];", f"mad.wide.u32 %at, %own, {bits // 8}, %at;"]


def _copy(load: str, store: str, which: str, image_bytes: int) -> list[str]:
    """Copy the warp's image, one word per lane and step; one block is one warp."""
    return [
        "bar.warp.sync 0xffffffff;",
        "ld.param.u64 %at, [images];",
        f"mad.wide.u32 %at, %thread, {image_bytes}, %at;",
        "mad.wide.u32 %at, %lane, 4, %at;",
        "shl.b32 %size, %lane, 2;",
        f"copy_{which}:",
        f"setp.ge.u32 %done, %size, {image_bytes};",
        f"@%done bra copied_{which};",
        "add.u32 %place, %shared, %size;",
        load,
        store,
        "add.u32 %size, %size, 128;",
        "add.u64 %at, %at, 128;",
        f"bra copy_{which};",
        f"copied_{which}:",
        "bar.warp.sync 0xffffffff;",
    ]


_TAKEN = {"image", "images"}.union(
    *(re.findall(r"%(\w+)", line) for line in _HEAD if line.startswith(".reg")),
    *(re.findall(r"^(\w+):", line) for which in ("in", "out") for line in _copy("", "", which, 4)),
    ["end"],
)
"""The names in the kernel around the lines of a snippet: registers, labels, parameters, memory."""


def _checked(name: str, array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype not in (np.uint16, np.uint32, np.uint64):
        raise ArgumentError(
            f"{name} is {shorten(array.dtype, str)}; the registers of a snippet are bits: uint16, uint32 or uint64; "
            "reinterpret with .view"
        )
    return array


def _shown(arrays: Mapping[str, NDArray[Any]]) -> str:
    return ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "none"
