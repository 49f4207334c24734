# SPDX-License-Identifier: MIT
"""Arrays that are larger than the memory, such as results of `numpy.broadcast_to`, are rejected with a clear error."""

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import FragmentMismatchError, MemoryLimitError
from wmma_emu.formats import decode, encode, format_of
from wmma_emu.formats import memory_limit as module
from wmma_emu.formats.memory_limit import require_memory
from wmma_emu.testing import bits, exact_matmul

F16 = "m16n8k16.f32.f16.f16.f32"
ROWS = 1 << 50
ONES = np.ones((16, 16), np.float16)


def _rows(dtype=np.float16, columns=16):
    return np.broadcast_to(np.ones((), dtype), (ROWS, columns))


@pytest.mark.parametrize("call", [
    lambda: we.gemm(_rows(), ONES),
    lambda: we.gemm(_rows(">f2"), ONES),
    lambda: we.gemm(ONES, _rows().T),
    lambda: we.gemm(_rows(np.int8), ONES.astype(np.int8)),
    lambda: we.gemm(ONES, _rows().T, bias=np.broadcast_to(np.ones((), np.float32), (ROWS,))),
    lambda: we.compare_archs(_rows(), ONES),
    lambda: we.mma(np.broadcast_to(np.ones((), np.float16), (1 << 42, 16, 16)), ONES[:, :8]),
    lambda: we.instruction(F16).a.pack(np.broadcast_to(np.ones((), np.float16), (1 << 42, 16, 16))),
    lambda: we.instruction(F16).a.unpack(np.broadcast_to(np.ones((), np.uint32), (4, 1 << 42, 32))),
    lambda: exact_matmul(_rows(), ONES),
    lambda: bits(_rows()),
    lambda: encode(_rows(np.float64), format_of("f16")),
    lambda: decode(_rows(np.uint16), format_of("f16")),
])  # fmt: skip
def test_arrays_larger_than_the_memory_are_rejected_with_the_limit(call):
    with pytest.raises(
        MemoryLimitError, match=r"takes \d+ GiB, and this machine has [\d.]+ GiB of memory: process it in parts"
    ):
        call()


def test_arrays_that_fit_in_the_memory_are_accepted(monkeypatch):
    monkeypatch.setattr(module, "memory_of_machine", lambda: 1 << 30)
    require_memory((1 << 28, 2), 2, "A")
    with pytest.raises(MemoryLimitError) as raised:
        require_memory((1 << 28, 2, 1), 3, "A")
    assert str(raised.value) == (
        "A of shape (268435456, 2, 1) takes 2 GiB, and this machine has 1 GiB of memory: process it in parts"
    )
    assert isinstance(raised.value, MemoryError)


def test_one_element_of_a_product_is_explained_however_many_there_are():
    wide = np.broadcast_to(np.ones((), np.float16), (16, ROWS))
    assert we.explain(F16, wide.T, wide, row=ROWS - 1, col=7).result == we.explain(F16, ONES, ONES, row=0, col=0).result


def test_a_sum_of_too_many_products_to_explain_is_rejected_immediately():
    long = np.broadcast_to(np.ones((), np.float16), (16, 1 << 31))
    with pytest.raises(FragmentMismatchError, match=r"A has 2147483648 columns.* at most 1048576 k; explain a part"):
        we.explain(F16, long, long.T, row=0, col=0)
