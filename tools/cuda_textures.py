# SPDX-License-Identifier: MIT
"""Arrays, texture objects and surface objects of the CUDA driver, through ctypes."""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import POINTER, Structure, addressof, byref, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p, sizeof
from typing import Any, ClassVar

from numpy.typing import NDArray

from tools.cuda_driver import Device
from wmma_emu.ptx import Surface, Texture
from wmma_emu.ptx.textures.texels import Texels

_FORMATS = {
    "uint8": 0x01, "uint16": 0x02, "uint32": 0x03, "int8": 0x08, "int16": 0x09, "int32": 0x0A, "float16": 0x10,
    "float32": 0x20,
}  # fmt: skip
_ADDRESSES = {"wrap": 0, "clamp": 1, "mirror": 2, "border": 3}
_FILTERS = {"point": 0, "linear": 1}
_ARRAY, _LINEAR = 0, 2
_HOST, _IN_ARRAY = 1, 3
_LAYERED, _SURFACE, _GATHER = 1, 2, 8
_AS_INTEGER, _NORMALISED = 1, 2


class _ArrayDescriptor(Structure):
    _fields_: ClassVar = [
        ("width", c_size_t), ("height", c_size_t), ("depth", c_size_t), ("format", c_int), ("channels", c_uint),
        ("flags", c_uint),
    ]  # fmt: skip


def _side(name: str) -> list[tuple[str, Any]]:
    return [
        (f"{name}_x", c_size_t), (f"{name}_y", c_size_t), (f"{name}_z", c_size_t), (f"{name}_lod", c_size_t),
        (f"{name}_type", c_int), (f"{name}_host", c_void_p), (f"{name}_device", c_uint64), (f"{name}_array", c_void_p),
        (f"{name}_reserved", c_void_p), (f"{name}_pitch", c_size_t), (f"{name}_height", c_size_t),
    ]  # fmt: skip


class _Copy(Structure):
    _fields_: ClassVar = [
        *_side("source"), *_side("target"), ("width", c_size_t), ("height", c_size_t), ("depth", c_size_t),
    ]  # fmt: skip


class _ResourceDescriptor(Structure):
    """The union of resources has 128 bytes: an array, or linear memory with its format, channels and bytes."""

    _fields_: ClassVar = [
        ("type", c_int), ("pointer", c_uint64), ("format", c_int), ("channels", c_uint), ("bytes", c_size_t),
        ("rest", ctypes.c_byte * 104), ("flags", c_uint),
    ]  # fmt: skip


class _TextureDescriptor(Structure):
    _fields_: ClassVar = [
        ("address", c_int * 3), ("filter", c_int), ("flags", c_uint), ("anisotropy", c_uint), ("mipmap_filter", c_int),
        ("mipmap", c_float * 3), ("border", c_float * 4), ("reserved", c_int * 12),
    ]  # fmt: skip


SIZES = {_ArrayDescriptor: 40, _Copy: 200, _ResourceDescriptor: 144, _TextureDescriptor: 104}
"""The sizes of the structures in cuda.h of CUDA 13.0."""

_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuArray3DCreate_v2": (POINTER(c_void_p), POINTER(_ArrayDescriptor)),
    "cuArrayDestroy": (c_void_p,),
    "cuMemcpy3D_v2": (POINTER(_Copy),),
    "cuTexObjectCreate": (POINTER(c_uint64), POINTER(_ResourceDescriptor), POINTER(_TextureDescriptor), c_void_p),
    "cuTexObjectDestroy": (c_uint64,),
    "cuSurfObjectCreate": (POINTER(c_uint64), POINTER(_ResourceDescriptor)),
    "cuSurfObjectDestroy": (c_uint64,),
}


class TextureDevice(Device):
    """The first GPU, with textures and surfaces of the emulator's kind."""

    def __init__(self) -> None:
        super().__init__()
        for name, types in _SIGNATURES.items():
            function = getattr(self._cuda, name)
            function.argtypes, function.restype = types, c_int

    def launch(
        self, kernel: str, value: Texture | Surface, inputs: Sequence[NDArray[Any]], out: NDArray[Any], count: int
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Launch a kernel (object, inputs..., out, count); return the output and the object's array."""
        with self.object(value) as (handle, array):
            buffers = [self._upload(x) for x in (*inputs, out)]
            try:
                values = [c_uint64(handle), *(c_uint64(x) for x in buffers), c_int(count)]
                arguments = (c_void_p * len(values))(*(addressof(x) for x in values))
                threads = 1 if isinstance(value, Surface) and kernel in SINGLE else count
                size = -(-threads // 128), 1, 1, min(threads, 128), 1, 1
                self._call("cuLaunchKernel", self._function(kernel), *size, 0, None, arguments, None)
                self._call("cuCtxSynchronize")
                found = out.copy()
                self._call("cuMemcpyDtoH_v2", found.ctypes.data, buffers[-1], found.nbytes)
                return found, self.texels(value, array)
            finally:
                for buffer in buffers:
                    self._call("cuMemFree_v2", buffer)

    def texels(self, value: Texture | Surface, array: c_void_p | None) -> NDArray[Any]:
        """Return the texels of an object as kernels left them."""
        found = value.array.copy()
        if array is not None:
            self._copy(array, found, value.texels, back=True)
        return found

    @contextmanager
    def object(self, value: Texture | Surface) -> Iterator[tuple[int, c_void_p | None]]:
        """Make an object, and its array unless it is on linear memory, for the duration of a ``with`` statement."""
        texels, resource = value.texels, _ResourceDescriptor()
        array, buffer = None, 0
        if isinstance(value, Texture) and value.linear:
            buffer = self._upload(value.array)
            resource.type, resource.pointer, resource.bytes = _LINEAR, buffer, value.array.nbytes
            resource.format, resource.channels = _FORMATS[str(value.array.dtype)], texels.channels
        else:
            array = self._array(value)
            resource.type, resource.pointer = _ARRAY, array.value or 0
        handle = c_uint64()
        try:
            if isinstance(value, Texture):
                self._call("cuTexObjectCreate", byref(handle), byref(resource), byref(_described(value)), None)
            else:
                self._call("cuSurfObjectCreate", byref(handle), byref(resource))
            try:
                yield handle.value, array
            finally:
                name = "cuTexObjectDestroy" if isinstance(value, Texture) else "cuSurfObjectDestroy"
                self._call(name, handle.value)
        finally:
            if array is not None:
                self._call("cuArrayDestroy", array)
            if buffer:
                self._call("cuMemFree_v2", buffer)

    def _array(self, value: Texture | Surface) -> c_void_p:
        """Make a CUDA array with the texels of an object."""
        texels = value.texels
        width, height, depth = (*texels.extents, 0, 0)[:3]
        flags = _SURFACE if isinstance(value, Surface) else 0
        if texels.layers is not None:
            depth, flags = texels.layers, flags | _LAYERED
        elif len(texels.extents) == 2 and isinstance(value, Texture):
            flags |= _GATHER
        format_ = _FORMATS[str(value.array.dtype)]
        described = _ArrayDescriptor(width, height, depth, format_, texels.channels, flags)
        array = c_void_p()
        self._call("cuArray3DCreate_v2", byref(array), byref(described))
        self._copy(array, value.array, texels, back=False)
        return array

    def _copy(self, array: c_void_p, host: NDArray[Any], texels: Texels, *, back: bool) -> None:
        """Copy texels from the host to an array, or back."""
        rows = texels.extents[1] if len(texels.extents) > 1 else 1
        depth = texels.layers or (texels.extents[2] if len(texels.extents) > 2 else 1)
        side, other = ("target", "source") if back else ("source", "target")
        copy = _Copy(width=texels.row_bytes, height=rows, depth=depth)
        on_host = {"type": _HOST, "host": host.ctypes.data, "pitch": texels.row_bytes, "height": rows}
        for field, given in on_host.items():
            setattr(copy, f"{side}_{field}", given)
        setattr(copy, f"{other}_type", _IN_ARRAY)
        setattr(copy, f"{other}_array", array)
        self._call("cuMemcpy3D_v2", byref(copy))


SINGLE = frozenset(("write2d_clamp", "write2d_zero", "formatted", "add2d"))
"""The kernels whose first thread does all of the work."""


def _described(texture: Texture) -> _TextureDescriptor:
    found = _TextureDescriptor()
    for i, mode in enumerate(texture.address):
        found.address[i] = _ADDRESSES[mode]
    found.filter = _FILTERS[texture.filter]
    is_integer = texture.texels.kind in "ui" and texture.read == "element"
    found.flags = (_AS_INTEGER if is_integer else 0) | (_NORMALISED if texture.coordinates == "normalised" else 0)
    return found


if any(sizeof(kind) != size for kind, size in SIZES.items()):
    raise ImportError(f"structures have other sizes than in cuda.h: {[(x.__name__, sizeof(x)) for x in SIZES]}")
