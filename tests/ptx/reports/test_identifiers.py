# SPDX-License-Identifier: MIT
"""An identifier does not change while the cause stays the same, whatever moves and whichever compiler is used."""

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.planted.table import PLANTED
from tests.ptx.reports.launches import launched, module_of
from wmma_emu.errors import BackendUnavailableError
from wmma_emu.ptx.reports.identifiers import owner_name

SOURCE = """
template <int N, class T> __device__ T turned(const T* tile) { return tile[N - 1 - threadIdx.x]; }

template <int N, class T> __global__ void reversed(const T* in, T* out)
{
    __shared__ T tile[N];
    tile[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = tile[N - 1 - threadIdx.x];
}

extern "C" __global__ void beyond(volatile int* x, volatile int* y, int n)
{
    x[threadIdx.x + n] = 1;
    y[threadIdx.x + n] = 1;
    x[threadIdx.x + n] = 1;
}
"""


def findings(source=SOURCE, kernel="reversed<64, int>", arch="sm_80", file="kernel.cu", **keywords):
    names = [kernel] if "<" in kernel else []
    try:
        module = we.ptx.Module.from_cuda(
            source, arch, instantiate=names, name=file, findings="report", options=keywords.pop("flags", ())
        )
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    number = np.dtype("f4" if "float" in kernel else "i4")
    if kernel == "beyond":
        report = module[kernel][1, keywords.get("block", 32)](np.zeros(32, number), np.zeros(32, number), 32)
    else:
        block = keywords.get("block", 64)
        grid = keywords.get("grid", 1)
        report = module[kernel][grid, block](np.arange(128, dtype=number), np.zeros(128, number))
    return report.findings


def ids(*args, **keywords):
    return sorted(x.id for x in findings(*args, **keywords) if not x.kind.startswith("race of"))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "change",
    [
        {"source": "// one\n" * 20 + SOURCE},
        {"source": SOURCE.replace("tile[N - 1 - threadIdx.x];\n}", "tile[N-1\\n  -threadIdx.x]; // why\n}"
                                  .replace("\\n", "\n"))},
        {"source": SOURCE.replace("    __shared__", "    int spare = 3; (void)spare;\n    __shared__")},
        {"file": "/home/me/old/kernel.cu"},
        {"arch": "sm_90"}, {"arch": "sm_100"},
        {"kernel": "reversed<128, int>", "block": 128}, {"kernel": "reversed<64, float>"},
        {"flags": ["-G"]}, {"flags": ["-DSPARE"]},
    ],
)  # fmt: skip
def test_an_identifier_does_not_depend_on_lines_spaces_folders_chips_templates_and_options(change):
    assert [x for x in ids(**change) if x in ids()] == ids() != []


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("old", "new"),
    [("int tile", "int tile"), ("tile[N - 1 - threadIdx.x];\n}", "tile[N - 2 - threadIdx.x & 63];\n}")],
)
def test_an_identifier_changes_with_the_code(old, new):
    assert (ids(source=SOURCE.replace(old, new)) != ids()) == (old in SOURCE)


@pytest.mark.thorough
def test_other_kernels_files_kinds_and_arrays_have_other_identifiers():
    one = set(ids())
    assert not one & set(ids(SOURCE.replace("reversed", "turned_round"), "turned_round<64, int>"))
    assert not one & set(ids(file="other.cu"))
    found = findings(kernel="beyond")
    assert len({x.id for x in found}) == len(found) == 3


@pytest.mark.thorough
def test_two_equal_lines_are_numbered_in_their_order():
    found = sorted((x for x in findings(kernel="beyond")), key=lambda x: x.sides[0].number)
    assert [x.sides[0].number for x in found] == [13, 14, 15]
    assert found[2].id == f"{found[0].id}-2" and not found[1].id.startswith(found[0].id)


@pytest.mark.parametrize("name", ["reversed", "write_past_the_end", "border", "vector_of_four", "last_column"])
@pytest.mark.parametrize("source", [True, False])
def test_schedules_and_grids_do_not_change_an_identifier(name, source):
    bug = PLANTED[name]
    expected = {x.id for x in launched(bug, source).findings}
    for seed in (1, 2):
        assert {x.id for x in launched(bug, source, schedule=seed).findings} == expected
    other = module_of(bug, source)[name][bug.grid + 1, bug.block, bug.shared](*bug.arguments())
    assert expected <= {x.id for x in other.findings}


@pytest.mark.parametrize("source", [True, False])
def test_an_identifier_is_the_same_for_ptx_of_another_chip(source):
    bug = PLANTED["reversed"]
    (finding,) = launched(bug, source).findings
    other = we.ptx.Module(bug.ptx(False).replace("%r", "%r1"), arch="sm_100", findings="report")
    other.sources = {"races.cu": bug.source} if source else None
    assert [x.id for x in other["reversed"][1, 64](*bug.arguments()).findings] == [finding.id]


def test_without_the_text_of_the_source_lines_above_the_kernel_do_not_count():
    bug = PLANTED["reversed"]
    (finding,) = launched(bug, source=False).findings
    text = bug.ptx(False)
    moved = "\n".join(_moved(x) for x in text.splitlines())
    assert moved != text
    (other,) = we.ptx.Module(moved, arch="sm_90", findings="report")["reversed"][1, 64](*bug.arguments()).findings
    assert other.id == finding.id and other.sides[0].number == finding.sides[0].number + 100


def _moved(line):
    words = line.split()
    return line.replace(f" {words[2]} ", f" {int(words[2]) + 100} ", 1) if words[:2] == [".loc", "1"] else line


def test_ptx_alone_has_instructions_without_the_numbers_of_registers():
    bug = PLANTED["reversed"]
    text = "\n".join(x for x in bug.ptx(False).splitlines() if not x.strip().startswith(".loc"))
    one = we.ptx.Module(text, arch="sm_90", findings="report")["reversed"][1, 64](*bug.arguments()).findings
    renumbered = text.replace("%r<", "%r1<").replace("%r1<11>", "%r1<99>").replace("%r", "%r1").replace("%r11<", "%r1<")
    other = we.ptx.Module("// more\n" + renumbered.replace("%r1d", "%rd"), arch="sm_90", findings="report")
    assert [x.id for x in one] == [x.id for x in other["reversed"][1, 64](*bug.arguments()).findings]


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        ("_ZZ8reversedE4tile", "tile"), ("_ZZ1kIfLi12EEvPT_E4tile", "tile"), ("_ZZ1kE3sum_0", "sum"),
        ("argument 0 of k", "argument 0"), ("argument 1 (int*) of histogram", "argument 1"), ("%f12", ""),
        ("_cudapy_smem_17", "_cudapy_smem"), ("global_smem", "global_smem"), ("", ""), ("_Z12", "_Z12"),
    ],
)  # fmt: skip
def test_the_name_of_memory_has_no_types_and_no_numbers(owner, name):
    assert owner_name(owner) == name
