# SPDX-License-Identifier: MIT
"""Uses of options, arrays and statements that once ended in errors of NumPy or of Python, or were accepted."""

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_kernels import HEADER, launch, numbers
from wmma_emu.errors import (
    ArgumentError,
    ArgumentValueError,
    LaunchConfigurationError,
    MemoryLimitError,
    OptionError,
    UnknownNameError,
    UnsupportedInstructionError,
)

HUGE = 10**5000
"""A number with more digits than Python converts to text."""


class Unprintable:
    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(("options", "why"), [
    ({"addresses": np.zeros(4)}, "addresses=array.* is not one of 'emulator' and 'host'"),
    ({"schedules": HUGE}, "schedules=<int> is more than 65536"),
    ({"max_seconds": np.timedelta64(1)}, "max_seconds=np.timedelta64.* is not a positive number"),
    ({"max_seconds": np.float32("nan")}, "is not a positive number"),
    ({"findings": {"race": np.zeros((9, 9))}}, r"^'race': array\(.*\.\.\. is not a valid rule"),
])  # fmt: skip
def test_a_wrong_option_is_refused(options, why):
    with pytest.raises(OptionError, match=why):
        launch("ret;", numbers(1), **options)


def test_numbers_of_numpy_and_large_numbers_are_limits():
    for limit in (np.float32(20), np.int64(20), HUGE):
        assert launch("ret;", numbers(1), max_seconds=limit, max_steps=HUGE, schedule=np.uint64(2**64 - 1)).completed


@pytest.mark.parametrize(("use", "error", "why"), [
    (lambda k: k[1, 1, HUGE](), LaunchConfigurationError, "k needs <int> bytes of shared memory"),
    (lambda k: k.module[Unprintable()], UnknownNameError, "has no kernel <Unprintable>"),
    (lambda k: k.module.variable(Unprintable()), UnknownNameError, "no variable <Unprintable>"),
    (lambda k: we.ptx.Module(k.module.text, contraction=np.zeros(2)), OptionError, "contraction=array.*'rules'"),
    (lambda k: we.ptx.empty(np.zeros(()), np.uint8), ArgumentValueError, "is not a shape"),
    (lambda k: we.ptx.empty(b"abc", np.uint8), ArgumentValueError, "is not a shape"),
    (lambda k: we.ptx.empty(HUGE, np.uint8), MemoryLimitError, "of shape <tuple> takes <int> GiB"),
    (lambda k: we.ptx.empty(4, np.dtype((np.uint8, 4))), ArgumentError, "are not plain bytes"),
])  # fmt: skip
def test_a_wrong_value_is_refused(use, error, why):
    with pytest.raises(error, match=why):
        use(we.ptx.Module(HEADER + ".visible .entry k() { ret; }")["k"])


@pytest.mark.parametrize(("line", "why"), [
    ("mov.global.b128 %q1, %q2;", "mov.global.b128"),
    ("mov.rz.b128 {%rd1, %rd2}, %q1;", "mov.rz.b128"),
    ("stackrestore.u64 v;", "expects a register, not the variable v"),
    ("cvt.rn.scaled::n2::ue8m0.bf16x2.e5m2x2 %r1, %h1, 127;", "expects the scales in a register"),
])  # fmt: skip
def test_a_statement_that_no_assembler_takes_is_refused(line, why):
    text = (
        ".version 9.2 .target sm_100a .address_size 64 .global .b64 v; .entry k() { .reg .b128 %q<3>; "
        ".reg .b64 %rd<3>;"
        f".reg .b32 %r<3>; .reg .b16 %h<3>; {line} ret; }}"
    )
    with pytest.raises(UnsupportedInstructionError, match=why):
        we.ptx.Module(text, arch="sm_100a")["k"][1, 1]()


@pytest.mark.parametrize("addresses", ["emulator", "host"])
def test_a_handle_and_a_function_are_not_addresses_of_memory(addresses):
    texture = we.ptx.texture(np.zeros(4, np.float32))
    report = launch("st.global.u32 [%rd2], 1;\nret;", numbers(1), texture, block=1, addresses=addresses)
    assert "the handle of texture(4 texels of 1 float32" in report.findings[0].message
    body, function = "mov.u64 %rd2, f;\nld.global.u32 %r2, [%rd2];\nret;", ".func f { ret; }"
    report = launch(body, numbers(1), block=1, before=function, addresses=addresses)
    assert "an address of code, which can be called, but neither read nor written" in report.findings[0].message


def test_an_array_without_elements_at_a_host_address_is_named():
    report = launch("st.global.u32 [%rd1], 1;\nret;", numbers(0), block=1, addresses="host")
    assert "just past the end of p1" in report.findings[0].message
