# SPDX-License-Identifier: MIT
"""Launches of public Triton kernels as their own host code makes them: the PTX that Triton specialises, and arguments.

Host code is called with tensors of PyTorch for CPU. Its launches before the requested launch run on the
emulator, so that a kernel can read the results of earlier kernels.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from tools.launch_bundles import _argument as read
from tools.public_kernels.case import Array, DrawnLaunch, f32, f64, null, pointer
from tools.public_kernels.triton_device import CHIP, Compiled, as_on_a_gpu
from wmma_emu.ptx import Module

__all__ = ["Captured", "captured", "drawn"]

_BYTES = {"i1": 1, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8, "u64": 8}


class Captured(BaseException):
    """The requested launch; it ends the host code, even if the host code catches exceptions."""

    def __init__(self, kernel: Compiled, launch: DrawnLaunch) -> None:
        super().__init__(kernel.name)
        self.kernel, self.launch = kernel, launch


def captured(host: Callable[[], object], kernel: str) -> Captured:
    """Call host code until it launches ``kernel``.

    Raises
    ------
    RuntimeError
        If it never does.
    """
    seen: list[str] = []

    def launch(compiled: Compiled, grid: tuple[int, int, int], values: tuple[Any, ...]) -> None:
        seen.append(compiled.name)
        found = drawn(compiled, grid, values)
        if compiled.name == kernel:
            copies = {name: x.copy() for name, x in found.arrays.items()}
            raise Captured(compiled, found._replace(arrays=copies))
        _emulate(compiled, found)

    with as_on_a_gpu(launch):
        try:
            host()
        except Captured as found:
            return found
    raise RuntimeError(f"the host code launches {', '.join(seen) or 'nothing'}, and never {kernel}")


def drawn(kernel: Compiled, grid: tuple[int, int, int], values: tuple[Any, ...]) -> DrawnLaunch:
    """Return the launch as the driver receives it; the arrays are the memory of the tensors, not copies."""
    arguments: list[dict[str, Any]] = []
    arrays: dict[str, Array] = {}
    names: dict[int, str] = {}
    for name, kind, value in _flat(kernel.signature, values):
        arguments.append(_argument(name, kind, value, arrays, names))
    if kernel.scratch:
        arrays["scratch"] = np.zeros(kernel.scratch * int(np.prod(grid)), np.uint8)
        arguments.append(pointer("scratch"))
    head = kernel.text.split(f".entry {kernel.name}(", 1)[1]
    arguments += [null()] * (head.split(")", 1)[0].count(".param") - len(arguments))  # scratch that is not used
    threads = int(head.split(".reqntid", 1)[1].split()[0].rstrip(","))
    return DrawnLaunch(grid, (threads,), arguments, arrays, kernel.shared)


def _flat(signature: dict[str, Any], values: tuple[Any, ...]) -> list[tuple[str, str, Any]]:
    """Return the parameters of the PTX: no constants, and one parameter for each member of a tuple."""
    found: list[tuple[str, str, Any]] = []

    def walk(name: str, kind: Any, value: Any) -> None:
        if isinstance(kind, tuple):
            for i, (part, inner) in enumerate(zip(kind, value, strict=True)):
                walk(f"{name}_{i}", part, inner)
        elif kind != "constexpr":
            found.append((name, kind, value))

    for (name, kind), value in zip(signature.items(), values, strict=True):
        walk(name, kind, value)
    return found


def _argument(name: str, kind: str, value: Any, arrays: dict[str, Array], names: dict[int, str]) -> dict[str, Any]:
    if kind.startswith("*"):
        return null() if value is None else _memory(name, value, arrays, names)
    if kind in _BYTES:
        size = _BYTES[kind]
        return {"bytes": (int(value) % 2 ** (8 * size)).to_bytes(size, "little").hex(), "pointers": []}
    if kind in ("fp32", "fp64"):
        return f32(float(value)) if kind == "fp32" else f64(float(value))
    raise RuntimeError(f"{name} has the type {kind}; legal types are pointers, integers, fp32 and fp64")


def _memory(name: str, value: Any, arrays: dict[str, Array], names: dict[int, str]) -> dict[str, Any]:
    """Return the pointer argument of a tensor; tensors that share storage share an array."""
    value = getattr(value, "base", value)  # of a tensor that is read as another type
    storage = value.untyped_storage()
    if not storage.nbytes():
        return null()
    if storage.data_ptr() not in names:
        raw = (ctypes.c_uint8 * storage.nbytes()).from_address(storage.data_ptr())
        names[storage.data_ptr()] = name
        arrays[name] = np.frombuffer(raw, np.uint8).view(f"u{value.element_size()}")
    return pointer(names[storage.data_ptr()], value.data_ptr() - storage.data_ptr())


def _emulate(kernel: Compiled, launch: DrawnLaunch) -> None:
    module = Module(kernel.text, f"sm_{CHIP}", findings="report", max_seconds=None)
    arguments = [read(x, launch.arrays) for x in launch.arguments]
    module[kernel.name][launch.grid, launch.block, launch.shared](*arguments)
