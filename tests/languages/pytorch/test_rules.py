# SPDX-License-Identifier: MIT
"""Tensors as bytes of their storages, with a stand-in for PyTorch's tensors."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from wmma_emu.errors import ArgumentError
from wmma_emu.languages.pytorch.devices import on_the_host
from wmma_emu.languages.pytorch.storages import StorageBytes, is_tensor
from wmma_emu.ptx import Module

ADD_BEFORE = """.version 8.0 .target sm_80 .address_size 64
.visible .entry add(.param .u64 a, .param .u64 b) {
.reg .b32 %r<4>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
ld.global.u32 %r1, [%rd1+-4]; add.u32 %r1, %r1, 1; st.global.u32 [%rd2], %r1; ret; }
"""


class Tensor:
    """A view of an array, as a tensor is one of a storage."""

    def __init__(self, storage, first=0, device="cpu"):
        self.storage, self.first, self.device = storage, first, SimpleNamespace(type=device)

    def untyped_storage(self):
        return SimpleNamespace(data_ptr=lambda: self.storage.ctypes.data, nbytes=lambda: self.storage.nbytes)

    def data_ptr(self):
        return self.storage.ctypes.data + self.first


def test_a_view_reaches_its_whole_storage_and_nothing_else():
    x = np.arange(8, dtype=np.uint32)
    kernel = Module(ADD_BEFORE)["add"][1, 1]
    kernel(StorageBytes(Tensor(x, 16)), StorageBytes(Tensor(x, 28)), findings="raise")
    assert x.tolist() == [0, 1, 2, 3, 4, 5, 6, 4]
    report = kernel(StorageBytes(Tensor(x)), StorageBytes(Tensor(x)), findings="report")
    assert [y.kind for y in report.errors] == ["out of bounds"]


def test_a_storage_keeps_its_offset_from_a_multiple_of_16_bytes():
    x = np.zeros(64, np.uint8)
    start = -x.ctypes.data % 16 + 5
    bytes_of = StorageBytes(Tensor(x[start:], 3))
    assert (bytes_of.memory.ctypes.data % 16, bytes_of.offset, bytes_of.memory.size) == (5, 3, 64 - start)


def test_a_tensor_without_bytes_has_no_memory():
    assert StorageBytes(Tensor(np.zeros(0, np.uint8))).memory.size == 0


def test_a_tensor_that_is_not_on_the_host_is_refused():
    with pytest.raises(ArgumentError, match="uses the memory of the host"):
        StorageBytes(Tensor(np.zeros(1), device="meta"))


def test_nothing_is_a_tensor_while_pytorch_is_not_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert not is_tensor(Tensor(np.zeros(1)))


def test_devices_in_any_spelling_become_the_host():
    device = SimpleNamespace(type="cuda", index=0)
    assert [on_the_host(x) for x in ("cuda", "cuda:0", device, "cpu", None)] == ["cpu", "cpu", "cpu", "cpu", None]


@pytest.mark.parametrize("device", ["cuda:1", SimpleNamespace(type="cuda", index=2)])
def test_another_device_than_the_first_is_an_invalid_ordinal(device):
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        on_the_host(device)


@pytest.mark.parametrize("device", ["cuda", "cuda:0", SimpleNamespace(type="cuda", index=None)])
def test_the_first_device_is_the_host(device):
    assert on_the_host(device) == "cpu"
