# SPDX-License-Identifier: MIT
"""Launches of Triton kernels of public repositories: what a launch gives, and what is imported of a checkout."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tools.public_kernels.triton_cases import Repository
from tools.public_kernels.triton_launches import drawn

TEXT = """.visible .entry scaled(
    .param .u64 .ptr .global .align 1 scaled_param_0, .param .u64 .ptr .global .align 1 scaled_param_1,
    .param .u32 scaled_param_2, .param .u64 .ptr .global .align 1 scaled_param_3, .param .u64 scaled_param_4
)
.reqntid 64, 1, 1
{ ret; }
"""


def kernel(signature, text=TEXT, scratch=0):
    return SimpleNamespace(name="scaled", signature=signature, text=text, shared=48, scratch=scratch)


def tensor(storage, first=0):
    """A tensor of PyTorch, as far as a launch asks for it: from an element of an array on."""
    place = storage.ctypes.data
    memory = SimpleNamespace(nbytes=lambda: storage.nbytes, data_ptr=lambda: place)
    return SimpleNamespace(
        untyped_storage=lambda: memory, element_size=lambda: storage.itemsize,
        data_ptr=lambda: place + first * storage.itemsize,
    )  # fmt: skip


SIGNATURE = {"x": "*fp16", "y": "*fp16", "n": "i32", "BLOCK": "constexpr"}


def test_arguments_match_the_parameters_without_constants():
    x, y = np.arange(6, dtype=np.uint16), np.zeros(6, np.uint16)
    launch = drawn(kernel(SIGNATURE), (3, 2, 1), (tensor(x), tensor(y), -2, 128))
    assert [a["bytes"] for a in launch.arguments] == ["00" * 8, "00" * 8, "feffffff", "00" * 8, "00" * 8]
    assert [a["pointers"] for a in launch.arguments] == [[[0, "x", 0]], [[0, "y", 0]], [], [], []]
    assert (launch.grid, launch.block, launch.shared) == ((3, 2, 1), (64,), 48)
    np.testing.assert_array_equal(launch.arrays["x"], x)


def test_tensors_of_one_storage_are_one_array_and_offsets_in_it():
    memory = np.arange(10, dtype=np.uint16)
    launch = drawn(kernel(SIGNATURE), (1, 1, 1), (tensor(memory), tensor(memory, 4), 6, 128))
    assert list(launch.arrays) == ["x"]
    assert launch.arguments[1]["pointers"] == [[0, "x", 8]]


def test_the_arrays_are_the_memory_of_the_tensors():
    memory = np.zeros(4, np.uint16)
    launch = drawn(kernel(SIGNATURE), (1, 1, 1), (tensor(memory), None, 4, 128))
    launch.arrays["x"][2] = 7
    assert memory[2] == 7
    assert launch.arguments[1] == {"bytes": "00" * 8, "pointers": []}


def test_a_tuple_is_an_argument_for_each_of_its_members():
    signature = {"both": ("*fp16", "i64", "constexpr"), "scale": "fp32"}
    launch = drawn(kernel(signature), (1, 1, 1), ((tensor(np.zeros(2, np.uint16)), 5, 1), 0.5))
    assert [a["bytes"] for a in launch.arguments[:3]] == ["00" * 8, "0500000000000000", "0000003f"]
    assert launch.arguments[0]["pointers"] == [[0, "both_0", 0]]


def test_scratch_is_an_array_for_all_blocks():
    launch = drawn(kernel(SIGNATURE, scratch=128), (3, 2, 1), (None, None, 1, 128))
    assert launch.arrays["scratch"].nbytes == 6 * 128
    assert launch.arguments[3]["pointers"] == [[0, "scratch", 0]]


def test_a_type_that_no_launch_can_have_is_refused():
    with pytest.raises(
        RuntimeError, match=r"x has the type tensordesc<fp16>; legal types are pointers, integers, fp32 and fp64"
    ):
        drawn(kernel({"x": "tensordesc<fp16>"}), (1, 1, 1), (None,))


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository whose packages import everything when they are imported."""
    package = tmp_path / "things" / "src" / "public_things" / "ops"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("raise ImportError('everything')")
    (package / "scale.py").write_text(
        "from nowhere_to_be_found.deep import anything\nfrom ..helpers import two\nVALUE = two() + len([anything])\n"
    )
    (tmp_path / "things" / "src" / "script.py").write_text("VALUE = 5\nprint('before')\n\nlaunch_much()\n")
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("public_things", "nowhere_to_be_found"):
            del sys.modules[name]


def test_a_module_is_imported_without_what_its_packages_import(checkout):
    given = {"public_things.helpers": {"two": lambda: 2}}
    repository = Repository("owner/things", "0" * 40, "MIT", "src", ("nowhere_to_be_found",), given)
    assert repository.module(checkout, "public_things.ops.scale").VALUE == 3


def test_a_script_is_read_up_to_its_launches(checkout):
    repository = Repository("owner/things", "0" * 40, "MIT", "src", until="\n\nlaunch_much(")
    assert repository.module(checkout, "script").VALUE == 5


def test_a_missing_checkout_is_named_with_its_revision(tmp_path):
    with pytest.raises(OSError, match=r"check out https://github.com/owner/things at 0{40}"):
        Repository("owner/things", "0" * 40, "MIT").module(tmp_path, "anything")


def test_a_launch_of_host_code_is_captured_as_triton_specialises_it():
    torch, triton = pytest.importorskip("torch"), pytest.importorskip("triton")
    from examples.ptx.triton_norms import rms_norm
    from tools.public_kernels.triton_launches import captured

    def host():
        x, gain, out, scale = torch.ones(3, 48), torch.ones(48), torch.empty(3, 48, device="cuda"), torch.empty(3)
        rms_norm[(3,)](x, gain, out, scale, 48, 1e-6, False, triton.next_power_of_2(48), num_warps=2)

    found = captured(host, "rms_norm")
    assert (found.launch.grid, found.launch.block) == ((3, 1, 1), (64,))
    assert found.kernel.signature["columns"] == "i32"
    assert sorted(found.launch.arrays) == ["gain_ptr", "out_ptr", "scale_ptr", "x_ptr"]
    assert not found.launch.arrays["out_ptr"].any()
    with pytest.raises(RuntimeError, match="launches rms_norm, and never layer_norm"):
        captured(host, "layer_norm")
