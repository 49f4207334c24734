# SPDX-License-Identifier: MIT
"""The samples' launches: sizes and arguments, and the report of a right result, a wrong one, or a race."""

import re
from pathlib import Path

import numpy as np
import pytest

from tools import run_nvidia_samples
from tools.nvidia_samples import BF16, F16, F64, TF32, U8
from tools.run_nvidia_samples import LAUNCHES, SOURCES, compiled, find_kernel, main, with_tiles
from wmma_emu.errors import CompilationError
from wmma_emu.ptx import Module, Struct
from wmma_emu.ptx.program.program import Parameter

PAGE = (Path(__file__).parents[2] / "docs/how-to/run-nvidia-samples.md").read_text(encoding="utf-8")

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"

# Own code under the tutorial's name: each thread of 2 x 8 blocks of 256 copies 32 numbers of 256 x 512.
COPY = """.visible .entry _Z22copy_kernel_vectorizedv(
    .param .align 8 .b8 source[24], .param .align 8 .b8 target[24], .param .align 1 .b8 layout[1])
{
    .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<2>;
    ld.param.u64 %d1, [source+16]; ld.param.u64 %d2, [target+16];
    mov.u32 %r1, %ctaid.y; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r1, %r1, 2, %r2;
    mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r1, 256, %r2;
    mul.wide.u32 %d3, %r1, 4; add.s64 %d1, %d1, %d3; add.s64 %d2, %d2, %d3; mov.u32 %r3, 0;
again:
    ld.global.u32 %r4, [%d1]; WRONG st.global.u32 [%d2], %r4;
    add.s64 %d1, %d1, 16384; add.s64 %d2, %d2, 16384; add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, 32; @%p1 bra again;
    ret;
}
"""


def parameters(*sizes):
    return tuple(Parameter(f"p{i}", "b8", size, 1, 0) for i, size in enumerate(sizes))


def test_shared_memory_holds_a_and_b_or_a_tile_of_c():
    assert [x.shared for x in (F16, U8, BF16, TF32, F64)] == [65536, 65536, 73728, 73728, 69632]


def test_every_launch_has_a_source_and_every_source_a_launch():
    assert {x.source for x in LAUNCHES} == set(SOURCES)


def test_the_page_has_a_row_for_every_launch_and_nothing_unknown_was_found():
    rows = [[x.strip() for x in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| ")][1:]
    orders = {"": "", "ILi1EEEiEEE": ", NT", "IJiNS": ", TN"}
    assert [(x[0], x[1]) for x in rows] == [(x.source, x.kernel + orders[x.mangled]) for x in LAUNCHES]
    for row, launch in zip(rows, LAUNCHES, strict=True):
        assert not row[4].startswith("wrong")
        assert re.fullmatch(rf"(\d+), \1 known: {launch.known}" if launch.known else "0", row[5])
        assert row[6:] == ["0", "equal"]


@pytest.mark.parametrize("launch", [x for x in LAUNCHES if "TensorCore" in x.source], ids=lambda x: x.kernel)
def test_expected_products_are_within_the_bound_of_a_product_in_the_result_type(launch):
    drawn = launch.draw(np.random.Generator(np.random.PCG64(1)), ())
    A, B, C, D = drawn.arguments[:4]
    alpha, beta = drawn.arguments[-2:]
    assert D is drawn.output and not D.any()
    if launch.kernel == "simple_wmma_bf16gemm":  # takes tile (j, i) of B for (i, j)
        B = np.block([[B[16 * j : 16 * j + 16, 16 * i : 16 * i + 16] for j in range(16)] for i in range(16)])
    product = alpha * (A.astype(D.dtype) @ B.T.astype(D.dtype)) + beta * C
    assert (np.abs(product - drawn.expected) <= drawn.bound).all()


def test_empty_classes_are_bytes_and_a_tensor_is_a_struct_with_its_pointer_last():
    (launch,) = (x for x in LAUNCHES if x.source == "tiled_copy")
    drawn = launch.draw(np.random.Generator(np.random.PCG64(1)), parameters(24, 24, 1))
    source, target, layout = drawn.arguments
    assert layout == b"\0"
    assert isinstance(source, Struct) and source.fields[:4] == (2, 8, 256, 16384)
    assert target.fields[4] is drawn.output


def test_numbers_of_tiles_are_replaced_once():
    text = "#define M 16\n#define M_TILES 256\n#define M_GLOBAL (M * M_TILES)\n"
    assert with_tiles(text, {"M_TILES": 8}) == text.replace("256", "8")
    with pytest.raises(CompilationError, match="defines N_TILES 0 times"):
        with_tiles(text, {"N_TILES": 8})


def test_instances_of_a_template_are_distinguished_by_the_strides_of_a():
    names = [
        f"_Z11gemm_deviceIN4cute5tupleIJPiNS0_1CILi8EEEEEEfNS1_IJ{strides}EEEEvv"
        for strides in ("NS3_ILi1EEEi", "iNS3_ILi1EEE")
    ]
    module = Module(HEAD + "\n".join(f".entry {x}() {{ ret; }}" for x in names))
    nt, tn = (x for x in LAUNCHES if x.source == "sgemm_1")
    assert [find_kernel(module, x).name for x in (nt, tn)] == list(names)
    with pytest.raises(CompilationError, match=r"has 0 kernels copy_kernel"):
        find_kernel(module, next(x for x in LAUNCHES if x.source == "tiled_copy"))


def test_text_that_was_kept_is_not_compiled_again(tmp_path):
    (tmp_path / "tiled_copy.ptx").write_text(COPY)
    assert compiled("tiled_copy", SOURCES["tiled_copy"], tmp_path / "nowhere", tmp_path) == COPY


def test_a_kernel_with_the_right_result_passes(tmp_path, capsys):
    (tmp_path / "tiled_copy.ptx").write_text(HEAD + COPY.replace("WRONG", ""))
    assert main(["--cutlass", "nowhere", "--only", "tiled_copy ", "--keep", str(tmp_path)]) == 0
    row = capsys.readouterr().out.splitlines()[-1]
    assert re.fullmatch(r"\| tiled_copy \| copy_kernel_vectorized \| [\d,]+ \| [\d.]+ \| equal \| 0 \| 0 \|", row)


def test_a_kernel_with_a_wrong_element_fails(tmp_path, capsys):
    first = "setp.eq.u32 %p1, %r3, 0; @%p1 add.u32 %r4, %r4, 1;"
    (tmp_path / "tiled_copy.ptx").write_text(HEAD + COPY.replace("WRONG", first))
    assert main(["--cutlass", "nowhere", "--only", "tiled_copy ", "--keep", str(tmp_path)]) == 1
    assert "| wrong in 4096 elements |" in capsys.readouterr().out


def test_a_finding_that_is_not_known_of_the_source_fails(tmp_path, capsys):
    outside = "@!%p1 ld.global.u32 %r5, [%d1+-65536];"
    (tmp_path / "tiled_copy.ptx").write_text(HEAD + COPY.replace("WRONG", outside))
    assert main(["--cutlass", "nowhere", "--only", "tiled_copy ", "--keep", str(tmp_path), "--verbose"]) == 1
    out = capsys.readouterr().out
    assert "| equal | 2 |" in out
    assert "error: out of bounds of " in out


def test_a_missing_or_unsupported_source_is_a_row_of_the_table(tmp_path, capsys):
    (tmp_path / "tiled_copy.ptx").write_text(HEAD + COPY.replace("WRONG", "add.f128 %r1, %r1, %r1;"))
    assert main(["--cutlass", "nowhere", "--only", "tiled_copy ", "--keep", str(tmp_path)]) == 1
    assert "cannot run, line" in capsys.readouterr().out


def test_findings_are_counted_by_whether_they_are_known():
    class Found:
        def __init__(self, kind):
            self.kind = kind

    assert run_nvidia_samples.counted([Found("race"), Found("trap")], "race") == ("2, 1 known: race", 1)
    assert run_nvidia_samples.counted([Found("trap")], "") == ("1", 1)
    assert run_nvidia_samples.counted([], "race") == ("0", 0)


def test_nothing_to_run_is_said(capsys):
    with pytest.raises(SystemExit):
        main(["--only", "sgemm"])
    assert "--cuda-samples or --cutlass" in capsys.readouterr().err


def test_a_missing_or_wrong_folder_is_reported(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--cutlass", str(tmp_path / "none"), "--only", "tiled_copy "])
    assert "none: there is no such folder" in capsys.readouterr().err
    assert main(["--cutlass", str(tmp_path), "--only", "tiled_copy "]) == 1
    assert re.search(r"\| \S+ has no examples/\S+tiled_copy\.cu: another folder", capsys.readouterr().out)
