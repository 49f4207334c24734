# SPDX-License-Identifier: MIT
"""The kernel templates that host code launches, by the names in its launches."""

import pytest

from wmma_emu.ptx.cuda.host_code import device_code_of

TEMPLATE = "namespace a { namespace b { template <class T> __global__ void k(T* p) { p[0] = 1; } } }\n"


@pytest.mark.parametrize("name", ["::a::b::k<int>", "a::b::k<int>", "b::k<int>", "k<int>"])
def test_the_namespaces_in_a_launch_are_part_of_the_kernels_name(name):
    found = device_code_of({"k.cu": TEMPLATE + f"int main() {{ {name}<<<1, 32>>>(nullptr); }}\n"})
    assert found.launches == (name,)
