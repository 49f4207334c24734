# SPDX-License-Identifier: MIT
"""The table of kernels that are refused: outcomes, reasons and counts."""

from tools.refused_kernels import load, page

HEAD = ".version 9.0\n.target {}\n.address_size 64\n"
KERNEL = ".visible .entry {}() {{ .reg .b32 %r<9>; .reg .b64 %rd<9>; {} ret; }}\n"


def written(folder, target, *kernels):
    path = folder / "owner+name" / f"src__a.cu.{target}.ptx"
    path.parent.mkdir(exist_ok=True)
    path.write_text(HEAD.format(target) + "".join(KERNEL.format(name, body) for name, body in kernels))
    return path


def test_a_kernel_is_complete_refused_or_counted_apart(tmp_path):
    path = written(
        tmp_path, "sm_90a", ("good", "add.s32 %r1, %r2, %r3;"), ("bad", "multimem.st.global.b32 [%rd1], %r1;"),
        ("apart", "cp.async.bulk.tensor.2d.tile::gather4.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1, "
                  "{%r2, %r3, %r4, %r5, %r6}], [%r7];"),
    )  # fmt: skip
    found = {x.name: x for x in load(path)}
    assert {x: y.outcome for x, y in found.items()} == {"good": "complete", "bad": "refused", "apart": "apart"}
    assert found["bad"].refusals[0][0] == "multimem.st.global.b32"
    assert (found["good"].repository, found["good"].file) == ("owner/name", "src/a.cu")


def test_a_file_that_is_not_parsed_refuses_its_kernels(tmp_path):
    path = written(tmp_path, "sm_80", ("first", ""), ("second", "add.s32 %r1 %r2;"))
    assert [(x.name, x.is_parsed, x.outcome) for x in load(path)] == [
        ("first", False, "refused"), ("second", False, "refused"),
    ]  # fmt: skip


def test_the_page_has_a_line_for_each_repository_and_each_reason(tmp_path):
    path = written(tmp_path, "sm_80", ("good", ""), ("bad", "multimem.st.global.b32 [%rd1], %r1;"))
    lines = page(load(path), {"owner/name": "0123456789abcdef"}).splitlines()
    assert "| owner/name | `0123456789` | 2 | 1 of 2 |  |  |  |" in lines
    assert lines[-1].startswith("| 1 | owner/name | sm_80 | `multimem.st.global.b32` | addresses the memory of several")
