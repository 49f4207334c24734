# SPDX-License-Identifier: MIT
"""Profiles and coverage of kernels that share a name, the name of a source file, or line numbers."""

import copy
import pickle

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.profile.kernels import DIVERGING, HEAD, TRANSPOSED, profile_of, transposed

ONE, OTHER = ("x[threadIdx.x] = 1;", "x[0] = 1;")
"""The second lines of two sources."""


def module_of(line, kernel="k", pitch=4):
    """Return PTX that stores a word in each lane, as compiled from a source of two lines."""
    text = (
        HEAD
        + """
.file 1 "kernel.cu"
.visible .entry KERNEL(.param .u64 x)
{
  .reg .b32 %r; .reg .b64 %d<3>;
  ld.param.u64 %d1, [x];
  mov.u32 %r, %tid.x;
  mad.wide.u32 %d2, %r, PITCH, %d1;
  .loc 1 2 1
  st.global.u32 [%d2], %r;
  ret;
}
"""
    )
    module = we.ptx.Module(text.replace("KERNEL", kernel).replace("PITCH", str(pitch)), arch="sm_90", findings="report")
    module.sources = {"kernel.cu": f"__global__ void {kernel}(int* x) {{\n{line}"}
    return module


def launch(module):
    (kernel,) = module.program.kernels
    return module[kernel][1, 32](np.zeros(1024, np.uint32), profile=True).profile


def test_different_sources_of_one_name_have_different_lines():
    first, second = launch(module_of(ONE)), launch(module_of(OTHER, "j", 32))
    both = first + second
    assert (both["kernel.cu:2"].global_sectors, both["kernel.cu:2"].text) == (4, ONE)
    assert (both["kernel (2).cu:2"].global_sectors, both["kernel (2).cu:2"].text) == (32, OTHER)
    assert both + second + first == both + first + second
    assert both.to_html().count("<h2>kernel") == 2


def test_different_files_of_one_name_are_covered_apart():
    with we.ptx.covering() as covered:
        for line, kernel, path in ((ONE, "k", "a/kernel.cu"), (OTHER, "j", "b/kernel.cu"), (OTHER, "k", "")):
            module = module_of(line, kernel)
            module.paths = {"kernel.cu": path} if path else None
            launch(module)
            if not path:
                launch(module_of(ONE))
    assert covered.coverage.files == ("a/kernel.cu", "b/kernel.cu", "kernel (2).cu", "kernel.cu")
    assert [x.split()[0] for x in str(covered).splitlines()[1:3]] == ["a/kernel.cu", "b/kernel.cu"]


def test_kernels_of_one_name_are_compared_together_and_limited_apart():
    before = launch(module_of(ONE)) + launch(module_of(ONE, pitch=8))
    now = launch(module_of(ONE, pitch=128)) + launch(module_of(ONE, pitch=8))
    assert str(now.compare(before)).splitlines()[1] == "  k: global sectors 12 -> 40"
    with pytest.raises(we.errors.UnknownNameError, match="k is the name of 2 different kernels"):
        now["k"]
    with pytest.raises(we.errors.ProfileLimitError, match=r"k: global_sectors is 32; .*\n  kernel.cu:2: 32  x"):
        now.require("global_sectors <= 8")


def test_profiles_without_a_kernel_in_common_are_not_compared():
    with pytest.raises(we.errors.ArgumentValueError, match="no kernel in common: the kernels before are j, now k"):
        launch(module_of(ONE)).compare(launch(module_of(ONE, "j")))


def test_instances_of_a_template_have_their_full_names():
    names = "_Z1kILi1EEvPi", "_Z1kILi4EEvPi"
    module = we.ptx.Module(HEAD + "".join(f".visible .entry {x}() {{ ret; }}" for x in names), arch="sm_90")
    with we.ptx.profiling() as profile:
        for name in (*names, names[1]):
            module[name][1, 32]()
    assert [x.kernel for x in profile.kernels] == ["k<1>", "k<4>"] and profile["k<4>"].launches == 2


def test_an_edited_line_is_neither_worse_nor_better_unless_its_kernel_is():
    before = launch(module_of(ONE))
    assert str(launch(module_of(f"{ONE}  // all")).compare(before)) == "no counter changed"
    worse = launch(module_of(f"{ONE}  // all", pitch=128)).compare(before).worse
    assert [str(x) for x in worse] == [
        "k: global sectors 4 -> 32", "kernel.cu: x[threadIdx.x] = 1;  // all: global sectors 0 -> 32",
    ]  # fmt: skip


def test_a_line_of_the_ptx_of_several_modules_names_its_kernel():
    other = profile_of(DIVERGING, "diverging", 1, 32, np.zeros(32, np.uint32), 32)
    both = transposed(4) + other
    with pytest.raises(we.errors.UnknownNameError, match="line 14 is in the PTX of transposed and diverging"):
        both["line 14"]
    assert both["PTX of diverging:14"].branches == 1 and both["PTX of transposed:15"].branches == 0
    assert transposed(4)["line 15"].executions == 1


def test_a_profile_is_copied_and_sent_to_another_process():
    module = we.ptx.Module(TRANSPOSED.replace("PITCH", "4").replace("SHARED", "128"), arch="sm_90")
    with we.ptx.profiling() as found:
        module["transposed"][1, 32](np.zeros(32, np.uint32))
    for same in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert same.profile == found.profile and same.kernels[0].registers == found.kernels[0].registers
