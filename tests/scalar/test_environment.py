# SPDX-License-Identifier: MIT
"""A thread that flushes subnormals: noticed where it matters, and harmless everywhere else."""

import contextlib
import ctypes
import mmap
import platform
import timeit

import numpy as np
import pytest

from tests.formats.second_path import ROWS
from wmma_emu.errors import BackendUnavailableError
from wmma_emu.formats import decode, encode, format_of
from wmma_emu.scalar import add, convert, double, fma, mul, require_ieee_subnormals

FLUSH_TO_ZERO, DENORMALS_ARE_ZERO = 0x8000, 0x0040
LOAD, STORE = b"\x0f\xae\x17\xc3", b"\x0f\xae\x1f\xc3"  # ldmxcsr [rdi]; ret and stmxcsr [rdi]; ret


@pytest.fixture(scope="module")
def control():
    """Two functions of a pointer that load and store the thread's floating-point control word."""
    if platform.machine() not in ("x86_64", "AMD64") or platform.system() == "Windows":
        pytest.skip("the control word is set with x86-64 code of the System V calling convention")
    try:
        memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError as error:
        pytest.skip(f"no memory that may be written and executed: {error}")
    memory.write(LOAD + STORE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    function = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_uint32))
    return memory, function(start), function(start + len(LOAD))


@contextlib.contextmanager
def flags(control, bits):
    _, load, store = control
    before = ctypes.c_uint32()
    store(ctypes.byref(before))
    load(ctypes.byref(ctypes.c_uint32(before.value | bits)))
    try:
        yield
    finally:
        load(ctypes.byref(before))


@pytest.mark.parametrize("bits", [FLUSH_TO_ZERO, DENORMALS_ARE_ZERO, FLUSH_TO_ZERO | DENORMALS_ARE_ZERO], ids=hex)
def test_a_thread_that_flushes_is_refused(control, bits):
    require_ieee_subnormals()
    with flags(control, bits):
        with pytest.raises(BackendUnavailableError, match="flushes subnormal numbers to zero"):
            require_ieee_subnormals()
        flushed = np.array([2.0**-1022]) * 0.5, np.array([2.0**-1074]) * 2.0**52
        assert 0 in [v[0].view(np.uint64) for v in flushed]  # the switch is really on
    require_ieee_subnormals()


def test_the_check_is_cheap():
    assert min(timeit.repeat(require_ieee_subnormals, number=1000, repeat=5)) < 5e-6 * 1000


def everything():
    rng = np.random.default_rng(21)
    results = []
    for name in ROWS:
        fmt = format_of(name)
        a, b, c = rng.integers(0, fmt.mask, (3, 4000), np.uint64, endpoint=True).astype(fmt.storage)
        if name in ("f32", "f64", "tf32", "bf16"):  # many subnormals
            a[::2] &= fmt.storage.type(fmt.mask >> fmt.exponent_bits | fmt.sign_mask)
            c[::3] &= fmt.storage.type(fmt.mask >> fmt.exponent_bits | fmt.sign_mask)
        results += [fma(a, b, c, fmt), fma(a, b, c, fmt, "RD"), add(a, c, fmt), mul(a, b, fmt)]
        results += [convert(a, fmt, target) for target in ROWS]
        results += [decode(a, fmt).view(np.uint64), encode(decode(a, fmt), format_of("f32"))]
        if name == "f32":
            results.append(encode(a.view(np.float32), format_of("f64")))
    return results


@pytest.mark.parametrize("edge", [-1, 1])
def test_the_range_of_the_float_path_keeps_clear_of_what_is_flushed(control, edge):
    rng = np.random.default_rng(22)
    size = 40_000
    factors = rng.integers(440, 460, (2, size)) * edge
    addend = rng.integers(880, 1022, size) * edge
    exponent = np.stack([*factors, addend]) + 1023
    bits = rng.integers(0, 1 << 52, (3, size), np.uint64) | exponent.astype(np.uint64) << np.uint64(52)
    a, b, c = bits | rng.integers(0, 2, (3, size), np.uint64) << np.uint64(63)
    want = double._exact(format_of("f64"), "RNE", "canonical", "ieee", a, b, c)
    assert np.array_equal(fma(a, b, c, "f64"), want)
    with flags(control, FLUSH_TO_ZERO | DENORMALS_ARE_ZERO):
        assert np.array_equal(fma(a, b, c, "f64"), want)


def test_results_are_the_same_in_a_thread_that_flushes(control):
    want = everything()
    with flags(control, FLUSH_TO_ZERO | DENORMALS_ARE_ZERO):
        got = everything()
    assert all(np.array_equal(x, y) for x, y in zip(got, want, strict=True))
