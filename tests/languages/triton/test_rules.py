# SPDX-License-Identifier: MIT
"""Triton's driver without Triton: the launcher, the arguments and the hook for the stages, with stand-ins."""

from types import SimpleNamespace

import numpy as np
import pytest

from wmma_emu.errors import ArgumentError, KernelFindingsError, OptionError, UnsupportedInstructionError
from wmma_emu.instructions import arch_of
from wmma_emu.languages import Session
from wmma_emu.languages.device_properties import properties_of
from wmma_emu.languages.triton.device import Device, LoadedKernel, Utils, answers_of
from wmma_emu.languages.triton.installing import never_unloaded
from wmma_emu.languages.triton.launcher import Launcher
from wmma_emu.languages.triton.stages import stop_at_ptx
from wmma_emu.ptx import TritonTensor

TEXT = """.version 8.0 .target sm_80 .address_size 64
.visible .entry double(.param .u64 .ptr .global x, .param .u32 n, .param .u64 s, .param .u64 t) .reqntid 32 {
.reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f<2>;
ld.param.u64 %rd1, [x]; ld.param.u32 %r2, [n]; mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, %r2; @%p1 bra END;
mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
ld.global.f32 %f1, [%rd3]; add.rn.f32 %f1, %f1, %f1; st.global.f32 [%rd3], %f1; END: ret; }
"""


def source():
    """Return the source that Triton's compiler makes of a function ``double(x, n, BLOCK)``."""
    parameters = [SimpleNamespace(name=x, is_constexpr=x == "BLOCK") for x in ("x", "n", "BLOCK")]
    return SimpleNamespace(
        fn=SimpleNamespace(fn=lambda x, n, BLOCK: None, params=parameters),
        signature={"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, constants={(2,): 32}, attrs={},
    )  # fmt: skip


def metadata(**changes):
    facts = {
        "name": "double", "num_warps": 1, "num_ctas": 1, "shared": 0, "enable_fp_fusion": True, "ptx_options": None,
        "global_scratch_size": 0, "global_scratch_align": 1, "profile_scratch_size": 0, "profile_scratch_align": 1,
    }  # fmt: skip
    return SimpleNamespace(**{**facts, **changes})


def launch(session, *arguments, grid=(1, 1, 1), hooks=(None, None), launcher=None):
    launcher = launcher or Launcher(session, source(), metadata())
    launcher(*grid, 0, LoadedKernel("double", TEXT), None, "metadata", *hooks, *arguments)


def test_a_launch_updates_the_array_and_is_noted():
    session, x = Session("a100"), np.float32([1, 2, 3])
    launch(session, TritonTensor(x), 3, 32)
    assert x.tolist() == [2, 4, 6]
    assert [(y.language, y.kernel) for y in session.launches] == [("Triton", "double")]


def test_a_launch_without_the_constexprs_is_refused():
    session = Session("a100")
    with pytest.raises(ArgumentError, match="launched with 2 arguments, and has 3 with its constexprs: x, n, BLOCK"):
        launch(session, TritonTensor(np.zeros(3, np.float32)), 3)
    assert session.report.has_findings


def test_hooks_are_called_before_and_after_also_for_a_grid_without_blocks():
    said, session = [], Session("a100")
    launch(session, TritonTensor(np.zeros(1)), 3, 32, grid=(0, 1, 1), hooks=(said.append, said.append))
    assert (said, session.launches) == (["metadata"] * 2, [])


def test_a_launch_whose_findings_raise_is_noted_with_its_report():
    session, x = Session("a100", options={"findings": "raise"}), np.float32([1, 2, 3])
    with pytest.raises(KernelFindingsError, match="out of bounds"):
        launch(session, TritonTensor(x), 4, 32)
    assert x.tolist() == [1, 2, 3]
    assert [y.report.errors[0].kind for y in session.launches] == ["out of bounds"]


def test_the_program_still_watches_its_launches():
    seen = []
    launch(Session("a100", options={"watch": seen.append}), TritonTensor(np.float32([1])), 1, 32)
    assert len(seen) == 1


def test_a_refused_launch_is_noted_and_its_error_passes():
    session = Session("a100")
    clusters = Launcher(session, source(), metadata(num_ctas=2))
    with pytest.raises(UnsupportedInstructionError, match="clusters of 2 blocks"):
        launch(session, TritonTensor(np.float32([1])), 1, 32, launcher=clusters)
    assert "clusters of 2 blocks" in session.launches[0].refusal


def test_an_address_without_memory_is_refused():
    with pytest.raises(ArgumentError, match=r"x of double is .*of whose memory only the address is known"):
        launch(Session("a100"), SimpleNamespace(data_ptr=lambda: 16), 1, 32)


def test_a_kernel_from_a_file_of_ir_is_refused():
    session = Session("a100")
    with pytest.raises(ArgumentError, match="compiled from a file of Triton's IR"):
        launch(session, 1, launcher=Launcher(session, SimpleNamespace(signature={0: "*fp32"}), metadata()))


def test_a_strided_array_is_passed_as_its_bytes():
    x = np.arange(8, dtype=np.float32)
    launch(Session("a100"), TritonTensor(x[::2]), 2, 32)
    assert x.tolist() == [0, 2, 2, 3, 4, 5, 6, 7]


def test_arrays_that_overlap_share_their_bytes():
    x = np.arange(4, dtype=np.float32)
    launch(Session("a100"), TritonTensor(x[1:]), 3, 32)
    assert x.tolist() == [0, 2, 4, 6]


def test_the_device_equals_no_other_so_that_no_kernel_of_a_gpu_is_taken_for_one_of_the_emulator():
    one, other = Device(), Device()
    assert len({one: "a", other: "b", 0: "c"}) == 3
    assert [10, 20][one] == 10


def test_the_chip_answers_from_the_tables_and_refuses_what_only_a_gpu_has():
    assert answers_of(properties_of(arch_of("a100")))["multiprocessor_count"] == 108
    assert Utils(arch_of("a100")).get_device_capability(0) == (8, 0)
    with pytest.raises(OptionError, match="no property sm_clock_rate"):
        answers_of(properties_of(arch_of("a100")))["sm_clock_rate"]
    with pytest.raises(UnsupportedInstructionError, match="tensor maps"):
        Utils(arch_of("h100")).fill_tma_descriptor_tiled()


def test_the_machine_code_is_the_ptx_and_hooks_that_were_there_stay():
    called = []

    def before(*given):
        called.append(len(given))
        return "key", "hash"

    hook, stages = stop_at_ptx(before), {"ptx": None, "cubin": None}
    key, hashed = hook()
    hook("backend", stages, "options", "language", 90)
    assert (key.endswith("key"), hashed.endswith("hash"), called) == (True, True, [0, 5])
    assert stages["cubin"]("text", {}) == b"text"
    assert all(x for x in stop_at_ptx(None)())


def test_a_kernel_is_loaded_as_by_another_process_so_that_nothing_unloads_it():
    kernel = SimpleNamespace(module=None, _module_pid=None)

    def load(self):
        self.module, self._module_pid = "module", 123

    never_unloaded(load)(kernel)
    assert (kernel.module, kernel._module_pid) == ("module", None)
