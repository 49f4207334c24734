# SPDX-License-Identifier: MIT
"""Calls of compiled kernels: virtual functions, tables of functions, recursion, the stack, the device heap, linking."""

import re
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import ArgumentError, ArgumentValueError, BackendUnavailableError, UnsupportedInstructionError
from wmma_emu.ptx.cuda.nvcc import find_nvcc

_TEXTS = Path(__file__).parents[1] / "texts" / "calls"


@pytest.fixture(params=["stored", pytest.param("compiled", marks=pytest.mark.thorough)])
def load(request):
    """Load a module: from the PTX that nvcc 13.0 wrote, or as the installed nvcc compiles it now."""

    def loaded(name, **options):
        if request.param == "stored":
            return we.ptx.Module.from_file(_TEXTS / f"{name}.ptx", **options)
        try:
            find_nvcc()
        except BackendUnavailableError as error:
            pytest.skip(str(error))
        flags = ("-rdc=true",) if name.startswith("linked") else ()
        source = (_TEXTS / f"{name}.cu").read_text()
        return we.ptx.Module.from_cuda(source, name=f"{name}.cu", options=flags, compiler="nvcc", **options)

    return loaded


def results(kernel, *arguments, count=32, block=32, **options):
    """The words that a kernel without findings writes."""
    out = np.zeros(count, np.int32)
    report = kernel[1, block](out, *arguments, **options)
    assert report.findings == ()
    return out.tolist()


def test_each_thread_calls_the_virtual_function_of_its_object(load):
    module = load("virtual_functions")
    module["make"][1, 64]()
    assert {x.bytes for x in module.device_heap} == {16} and len(module.device_heap) == 64
    assert results(module["areas"], 5, count=64, block=64) == [i * i * 5 if i % 2 else 3 * i + 5 for i in range(64)]
    assert module.device_heap == ()  # delete called the destructor that frees the object


def test_threads_call_the_functions_of_tables(load):
    table = [int.__add__, int.__sub__, int.__mul__]
    fixed = [int.__mul__, int.__add__, int.__sub__]
    expected = [table[i % 3](i, 7) + fixed[(i + 1) % 3](i, 5) for i in range(32)]
    assert results(load("function_pointers")["tables"], 7) == expected


def test_the_host_passes_the_address_of_a_function(load):
    module = load("function_pointers")
    add, sub, mul = module.variable("table", np.uint64).tolist()
    for address, operation in ((add, int.__add__), (sub, int.__sub__), (mul, int.__mul__)):
        assert results(module["given"], address) == [operation(i, 4) for i in range(32)]


@pytest.mark.parametrize("address", [0, 0x7F00_0000_0000, 8])
def test_a_call_to_another_address_is_a_finding_and_ends_the_launch(load, address):
    out = np.zeros(32, np.int32)
    report = load("function_pointers")["given"][1, 32](out, address, findings="report")
    (found,) = report.findings
    assert (found.kind, report.completed, out.any()) == ("illegal operand", False, False)
    assert f"the call goes to the address {address:#x}, which is not the address of a function" in found.message


def fibonacci(n, values, at):
    own = [n + k for k in range(4)]
    values[at] += own[n & 3]
    if n < 2:
        return n
    return fibonacci(n - 1, values, at) + fibonacci(n - 2, own, 1) + own[1]


def test_each_call_of_a_recursive_function_has_its_own_array(load):
    expected = []
    for i in range(32):
        values = [0]
        n = fibonacci(i % 7, values, 0)
        expected.append(1000 * n + values[0])
    assert results(load("recursion")["sums"]) == expected


def test_functions_call_each_other(load):
    assert results(load("recursion")["parities"], stack_bytes=4096) == [1, 0] * 16


@pytest.mark.parametrize("schedule", [None, 3])
def test_a_recursive_sort_sorts(load, schedule):
    a = np.random.default_rng(1).integers(0, 50, (32, 12), np.int32)
    expected = np.sort(a, axis=1)
    report = load("recursion")["sorts"][1, 32](a, 12, schedule=schedule)
    assert report.findings == () and np.array_equal(a, expected)


def test_a_stack_overflow_names_the_function_and_the_depth_and_changes_no_array(load):
    out = np.full(32, 7, np.int32)
    report = load("recursion")["sums"][1, 32](out, stack_bytes=150, findings="report")
    (found,) = report.findings
    assert (found.kind, report.completed) == ("out of bounds", False)
    assert "the stack overflows: the call of fibonacci at depth 4 needs" in found.message
    assert "the limit is 150 bytes (cudaLimitStackSize), which stack_bytes of the launch sets" in found.message
    assert (out == 7).all()


def test_malloc_returns_0_when_the_heap_is_exhausted(load):
    module = load("device_heap")
    expected = [[45 * i, 10] for i in range(32)]
    assert np.reshape(results(module["list"], 10, count=64), (32, 2)).tolist() == expected
    assert module.device_heap == ()
    made = np.reshape(results(module["list"], 10, count=64, heap_bytes=16 * 40), (32, 2))[:, 1]
    assert made.sum() == 40


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("freed_twice", "illegal operand", r"free of the 8 bytes that malloc returned at .*, and that were freed at "),
        ("used_after", "out of bounds", r"byte 0 of the 8 bytes that malloc returned at .*, and that were freed at "),
        ("past_the_end", "out of bounds", r"just past the end of the 8 bytes that malloc returned at "),
        ("never_written", "uninitialised", r"depends on 4 bytes at .*, which was never written"),
        ("inside", "illegal operand", r"free of byte 4 of the 8 bytes that malloc returned .*; expected the address"),
        ("foreign", "illegal operand", r"free of 0x17f\w+, which malloc has not returned"),
    ],
)
def test_misuse_of_the_device_heap_is_a_finding(load, name, kind, message):
    report = load("device_heap")[name][1, 32](np.zeros(32, np.int32), findings="report")
    (found,) = report.findings
    assert found.kind == kind
    assert re.search(message, found.message)


def test_a_findings_error_leaves_the_device_heap_unchanged(load):
    module = load("device_heap")
    with pytest.raises(we.errors.KernelFindingsError):
        module["inside"][1, 32](np.zeros(32, np.int32), findings="raise")
    assert module.device_heap == ()


def test_alloca_takes_memory_from_the_stack(load):
    kernel = load("stack")["squares"]
    assert results(kernel, 10) == [sum(k * k for k in range(10 + i % 3)) for i in range(32)]
    report = kernel[1, 32](np.zeros(32, np.int32), 300, findings="report")
    assert "the stack overflows: alloca of 1200 bytes" in report.findings[0].message
    assert results(kernel, 300, stack_bytes=2048)[0] == sum(k * k for k in range(300))


def test_a_function_reads_its_variable_arguments(load):
    assert results(load("stack")["totals"]) == [i + 2 * i + 7 + 2 + i for i in range(32)]


def test_linked_modules_find_each_others_functions_and_variables(load):
    caller, callee = load("linked_caller"), load("linked_callee")
    expected = [3 * (i + 1) + 10 * (i % 4 + 1) + 100 * (i % 2 + 1) + i * i for i in range(32)]
    assert results(caller.link(callee)["k"]) == expected
    assert results(callee.link(caller.text)["k"]) == expected
    with pytest.raises(UnsupportedInstructionError, match=r"scale \(_Z5scalei\) is not defined in this PTX source"):
        caller["k"][1, 32](np.zeros(32, np.int32))
    with pytest.raises(ArgumentValueError, match=r"is defined in .* and in .*, line"):
        caller.link(callee, callee)
    with pytest.raises(ArgumentError, match=r"ptxas.* reads the machine code of one source"):
        load("linked_caller", contraction="ptxas").link(callee)
    with pytest.raises(ArgumentError, match="7 cannot be linked"):
        caller.link(7)
