# SPDX-License-Identifier: MIT
"""Values that do not fit, and the slots in which newer features take a value: options, textures, structs, arrays."""

import ctypes
import decimal
import fractions
import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

import wmma_emu as we

__all__ = ["SLOTS", "Slot", "values"]

_TEXT = """.version 8.6
.target sm_90
.address_size 64
.visible .entry pointer(.param .u64 x, .param .u64 y) {
    .reg .b64 %x; ld.param.u64 %x, [x]; st.global.u32 [%x], 7; ret; }
.visible .entry struct(.param .u64 x, .param .align 8 .b8 s[16]) {
    .reg .b64 %x; ld.param.u64 %x, [x]; st.global.u32 [%x], 7; ld.param.u64 %x, [s+8]; st.global.u32 [%x], 9; ret; }
.visible .entry grid(.param .u64 x) {
    .reg .b64 %x; .reg .b32 %r; ld.param.u64 %x, [x]; mov.u32 %r, %envreg1; st.global.u32 [%x], 7; ret; }
.visible .entry one(.param .u64 x) {
    .reg .b64 %x; ld.param.u64 %x, [x]; st.global.u32 [%x], 7; ret; }
"""


class _Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


class _Incomparable:
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no equality")


class _Undecided:
    def __bool__(self) -> bool:
        raise RuntimeError("neither true nor false")


class _Failing:
    def __array__(self, *args: Any, **keywords: Any) -> Any:
        raise RuntimeError("no array")


class _Line(ctypes.Structure):
    _fields_ = [("n", ctypes.c_int), ("p", ctypes.c_void_p)]


class _Swapped(ctypes.BigEndianStructure):
    _fields_ = [("n", ctypes.c_int), ("p", ctypes.c_uint64)]


class _Bits(ctypes.Structure):
    _fields_ = [("a", ctypes.c_uint64, 3), ("b", ctypes.c_uint64, 61), ("c", ctypes.c_uint64)]


class _Object(ctypes.Structure):
    _fields_ = [("o", ctypes.py_object), ("n", ctypes.c_uint64)]


class _Either(ctypes.Union):
    _fields_ = [("a", ctypes.c_uint64), ("p", ctypes.c_void_p), ("c", ctypes.c_uint64 * 2)]


def _arrays() -> Iterator[Any]:
    image = np.zeros((4, 4), np.float32)
    yield from (image, image.T, image[:, ::2], image[::-1], np.zeros(()), np.zeros(0), np.zeros((2, 2, 2, 2), np.uint8))
    dtypes = (
        "u4",
        ">u4",
        "?",
        "c16",
        "g",
        "O",
        "U1",
        "S3",
        "M8[s]",
        "m8[s]",
        "V16",
        ml_dtypes.bfloat16,
        ml_dtypes.int4,
    )
    yield from (np.zeros(4, x) for x in dtypes)
    yield from (np.ma.zeros(4), np.broadcast_to(np.zeros(1, np.float32), (4,)))
    yield np.frombuffer(bytes(64), np.uint8)[1:17].view(np.float32)
    yield np.rec.array([(1, 2)], dtype=[("a", "i4"), ("b", "f4")])
    for fields in ([("n", "u8"), ("p", "u8")], [("o", "O"), ("n", "u8")], [("n", ">u8"), ("p", "u8")]):
        yield np.zeros((), fields)[()]
    yield from (
        [image],
        [image, image],
        {"": image},
        {"\x1b": image},
        {"x": image},
        {0: image},
        {8: image},
        {"p": image},
    )


def _numbers() -> Iterator[Any]:
    yield from (False, True, 0, -1, 1, 2, 3, 5, 2**31, 2**63, 2**64, -(2**63) - 1, 10**400, -(10**400), 10**5000)
    yield from (1.5, -0.0, math.nan, math.inf, 1e308, 1j, fractions.Fraction(1, 3), decimal.Decimal("1.5"))
    yield from (
        np.int8(-1),
        np.uint64(2**64 - 1),
        np.float32(1.5),
        np.float16(np.nan),
        np.bool_(True),
        np.longdouble(1),
    )
    yield from (np.datetime64("2020"), np.timedelta64(1, "s"), ctypes.c_int(3), ctypes.c_void_p(16))


def _words() -> Iterator[Any]:
    yield from ("", "abc", "pointt", "Clamp", "hots", "a\0b", "\x1b[2J", "x" * 300, np.str_("linear"), b"", b"clamp")
    yield from (bytes(16), bytearray(16), bytes(3), ["clamp"] * 5, ("clamp", "wrap"), ("border", 3), ["warn:nothing"])


def _objects() -> Iterator[Any]:
    texture, surface = we.ptx.texture(np.zeros(4, np.float32)), we.ptx.surface(np.zeros((4, 4), np.uint8))
    yield from (
        None,
        (),
        [],
        {},
        set(),
        [1],
        (1, 2, 3),
        {1: 2},
        {"x": None},
        ...,
        NotImplemented,
        object(),
        int,
        range(3),
    )
    yield from (
        _Unprintable(),
        _Incomparable(),
        _Undecided(),
        _Failing(),
        iter([]),
        memoryview(bytes(16)),
        lambda *given: 0,
    )
    yield from (_Line(), _Line(1, 1234), _Swapped(), _Bits(), _Object(), _Either(), (ctypes.c_int * 4)())
    yield from (texture, surface, [texture, 1], {"p": texture}, we.ptx.raw(np.zeros(4)), we.ptx.Struct())
    yield from (we.ptx.Struct(np.int32(3)), we.ptx.Struct(np.zeros(4), np.uint64(1)), _module())


@cache
def values() -> tuple[Any, ...]:
    """Return the values: numbers, words, arrays, objects."""
    return (*_numbers(), *_words(), *_arrays(), *_objects())


class Slot(NamedTuple):
    """A slot for a value; ``use(value, x)`` passes it, and may launch a kernel that changes x.

    A message of a refusal contains one of the ``words``, or the value.
    """

    use: Callable[[Any, Any], object]
    words: tuple[str, ...]


@cache
def _module() -> we.ptx.Module:
    return we.ptx.Module(_TEXT, findings="report", max_steps=1000, max_seconds=20)


def _launch(kernel: str, *arguments: Any, grid: Any = 1, block: Any = 1, shared: Any = 0, **options: Any) -> object:
    return _module()[kernel][grid, block, shared](*arguments, **options)


def _struct(x: Any, *fields: Any, pointers: Any = None) -> object:
    return _launch("struct", x, we.ptx.Struct(*fields, pointers=pointers))


def _key(value: Any, x: Any) -> object:
    try:
        pointers = {value: np.zeros(4)}
    except (TypeError, RuntimeError):  # no key of a dict
        return None
    return _struct(x, _Line(), pointers=pointers)


def _option(name: str) -> Slot:
    words = (name, "is not a valid rule") if name == "findings" else (name,)
    return Slot(lambda value, x: _launch("one", x, **{name: value}), words)


def _texture(name: str, array: Any, **options: Any) -> Slot:
    return Slot(lambda value, x: we.ptx.texture(array, **{**options, name: value}), (name, "the last axis"))


_IMAGE, _PIXELS = np.zeros((4, 4), np.float32), np.zeros((4, 4, 4), np.uint8)
_OPTIONS = """findings schedule schedules max_steps max_seconds max_bytes checks silence stack_bytes heap_bytes fill
cooperative keep_bytes addresses reachable echo objects""".split()
_POINTER = ("pointer 8", "array in", "argument 1")
_ARGUMENT = ("argument 1", "a struct", "host", "struct")

SLOTS = {
    **{f"a launch with {name}": _option(name) for name in _OPTIONS},
    **{
        f"a texture of {what} with {name}": _texture(name, array, **more)
        for what, array, more in (("float32", _IMAGE, {}), ("uchar4", _PIXELS, {"channels": 4}))
        for name in ("channels", "layers", "filter", "address", "coordinates", "read", "linear")
    },
    "a texture": Slot(lambda value, x: we.ptx.texture(value), ("a texture",)),
    "a surface": Slot(lambda value, x: we.ptx.surface(value), ("a surface",)),
    "a surface with channels": Slot(lambda value, x: we.ptx.surface(_PIXELS, channels=value), ("channels",)),
    "reachable, at addresses of the host": Slot(
        lambda value, x: _launch("one", x, addresses="host", reachable=value), ("reachable",)
    ),
    "an array of reachable": Slot(
        lambda value, x: _launch("one", x, addresses="host", reachable=[value]), ("reachable[0]",)
    ),
    "a pointer": Slot(lambda value, x: _launch("pointer", x, value), _ARGUMENT),
    "a pointer of the host": Slot(lambda value, x: _launch("pointer", x, value, addresses="host"), _ARGUMENT),
    "a struct": Slot(lambda value, x: _launch("struct", x, value), _ARGUMENT),
    "a struct of the host": Slot(lambda value, x: _launch("struct", x, value, addresses="host"), _ARGUMENT),
    "a field": Slot(lambda value, x: _struct(x, np.uint64(1), value), _ARGUMENT),
    "a field after bytes": Slot(lambda value, x: _struct(x, b"12345678", value), _ARGUMENT),
    "pointers": Slot(lambda value, x: _struct(x, _Line(), pointers=value), ("pointer", "has no field")),
    "a pointer in a struct": Slot(lambda value, x: _struct(x, _Line(), pointers={8: value}), _POINTER),
    "a key of pointers": Slot(_key, ("pointer", "has no field")),
    "raw": Slot(lambda value, x: _launch("pointer", x, we.ptx.raw(value)), ("raw", "the array")),
    "a linked module": Slot(
        lambda value, x: _module().link(value), ("linked", "is defined in", "'.version'")
    ),
    "the grid of a cooperative launch": Slot(
        lambda value, x: _launch("grid", x, grid=value, cooperative=True), ("grid", "block")
    ),
    "the block of a cooperative launch": Slot(
        lambda value, x: _launch("grid", x, block=value, cooperative=True), ("block", "grid")
    ),
    "the shared memory of a cooperative launch": Slot(
        lambda value, x: _launch("grid", x, shared=value, cooperative=True), ("shared memory",)
    ),
    "the shape of an empty array": Slot(lambda value, x: we.ptx.empty(value, np.uint8), ("shape",)),
    "the dtype of an empty array": Slot(lambda value, x: we.ptx.empty(4, value), ("dtype", "plain bytes")),
    "a variable": Slot(lambda value, x: _module().variable(value), ("no variable",)),
    "a kernel's name": Slot(lambda value, x: _module()[value], ("no kernel",)),
    "contraction": Slot(lambda value, x: we.ptx.Module(_TEXT, contraction=value), ("contraction",)),
}  # fmt: skip
