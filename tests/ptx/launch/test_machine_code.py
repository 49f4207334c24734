# SPDX-License-Identifier: MIT
"""The products and sums in the machine code of PTX, and their effect on a kernel."""

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import BackendUnavailableError, CompilationError
from wmma_emu.ptx.launch import assembler, machine_code
from wmma_emu.ptx.launch.assembler import Assembler, find_assemblers
from wmma_emu.ptx.launch.machine_code import Disassembly, assembled_by, numbered

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
TEXT = f"""{HEAD}.visible .entry k(.param .u64 p) {{
    .reg .b64 %x; .reg .b32 %a, %b, %u, %v; .reg .pred %p;
    ld.param.u64 %x, [p]; ld.global.f32 %a, [%x]; ld.global.f32 %b, [%x+4];
    mul.f32 %u, %a, %b; add.f32 %v, %u, %b;
    st.global.f32 [%x+8], %v;
    ret;
}}
"""
LISTING = """
	.section	.text.k,"ax",@progbits
k:
.text.k:
	//## File "numbered.ptx", line 1
        /*0000*/                   LDC R1, c[0x0][0x28] ;
	//## File "numbered.ptx", line 4
        /*0010*/                   FMUL.FTZ R4, R0, R5 ;
	//## File "numbered.ptx", line 5
        /*0020*/                   {product} ;
	//## File "numbered.ptx", line 6
        /*0030*/                   STG.E desc[UR4][R2.64+0x8], R5 ;
"""
INPUT = np.array([-1 + 2**-24, 1 + 2**-23, 0], np.float32)
"""The product of the first two is -1 - 2**-24 + 2**-47, which rounds to -1."""
FUSED, ROUNDED = "0x33800001", "0x34000000"
"""The sum of that product, or of the rounded one, and the second number."""


def listed(text, listing):
    """Read a handwritten listing."""

    class Canned(Assembler):
        def listing(self, text, target):
            return listing

    return assembled_by(Canned(None, None, "1.2.3"), text, "sm_90")


def places(text, *starts):
    """Return the line and column of each instruction."""
    lines = text.splitlines(keepends=True)
    found = ((i, line.find(start)) for start in starts for i, line in enumerate(lines, 1))
    return [(i, column + 1) for i, column in found if column >= 0]


@pytest.mark.parametrize(("instruction", "kinds"), [
    ("FFMA R5, R0, R5, R5", {"fma"}),
    ("@!P0 FADD R5, R0, R5", {"add"}),
    ("@UP1 FADD.FTZ R5, R0, R5", {"add"}),
    ("FFMA R5, R0, 1, R5", {"add"}),
    ("FFMA R5, -RZ, RZ, R5", set()),
    ("FADD2 R4, R6.F32x2.HI_LO, R8.F32x2.HI_LO", {"add"}),
    ("DADD R4, R6, R8", set()),
    ("HFMA2 R5, R0, R5, R5", set()),
    ("FSETP.GT.AND P0, PT, R0, R5, PT", set()),
    ("IMAD R5, R0, R5, R5", set()),
])  # fmt: skip
def test_a_listing_says_what_a_sum_became(instruction, kinds):
    code = listed(TEXT, LISTING.format(product=instruction))
    ((total,), (product,)) = places(TEXT, "add.f32"), places(TEXT, "mul.f32")
    assert code[:2] == ("1.2.3", "sm_90")
    assert code.kinds_of("k", product, "f32") == {"mul"}
    assert code.kinds_of("k", total, "f32") == kinds
    assert code.kinds_of("other", total, "f32") == frozenset()


def test_letters_tell_the_types_of_machine_instructions_apart():
    code = Disassembly("1.2.3", "sm_90", {"k": {(1, 1): frozenset({("F", "fma"), ("D", "add"), ("H", "mul")})}})
    found = {x: set(code.kinds_of("k", (1, 1), x)) for x in ("f32", "f64", "f16", "bf16x2")}
    assert found == {"f32": {"fma"}, "f64": {"add"}, "f16": {"mul"}, "bf16x2": {"mul"}}


def test_every_instruction_has_a_number_and_a_guard_stays_with_its_instruction():
    text = (
        HEAD
        + """.entry k() {
    .reg .b32 %r; .reg .pred %p;
    mov.b32 %r, 1; mov.b32 %r, 2;
    @%p mov.b32 %r, 3; @!%p mov.b32 %r, 4;
    @%p
        mov.b32 %r, 5;
    { .reg .b32 %s; mov.b32 %s, 6; } L: mov.b32 %r, 7; ret; }
"""
    )
    marked, found = numbered(text)
    starts = ("mov.b32 %r, 1", "mov.b32 %r, 2", "@%p mov", "@!%p", "@%p\n", "mov.b32 %s, 6", "mov.b32 %r, 7", "ret")
    assert found == sorted(places(text, *starts))
    behind = [x.strip() for x in marked.split("\n.loc ")[1:]]
    assert [" ".join(x.split("\n", 1)[1].split()) for x in behind] == [
        "mov.b32 %r, 1;", "mov.b32 %r, 2;", "@%p mov.b32 %r, 3;", "@!%p mov.b32 %r, 4;", "@%p mov.b32 %r, 5; { .reg "
        ".b32 %s;", "mov.b32 %s, 6; } L:", "mov.b32 %r, 7;", 'ret; } .file 1 "numbered.ptx"',
    ]  # fmt: skip
    assert [x.split()[1] for x in behind] == [str(i) for i in range(1, 9)]


def test_debug_information_of_the_text_itself_is_left_out():
    text = f"""{HEAD.replace("sm_80", "sm_80, debug")}.file 1 "mine.cu"
.entry k() {{
    .reg .b32 %r;
    .loc 1 7 3
    mov.b32 %r, 1;
    .loc 1 8 0, function_name $name, inlined_at 1 7 3
    ret; }}
.section .debug_str {{
$name: .b8 109
}}
"""
    marked, found = numbered(text)
    assert found == places(text, "mov.b32", "ret;")
    assert "mine.cu" not in marked and "debug" not in marked and "inlined_at" not in marked
    assert [x for x in marked.split("\n") if ".loc" in x] == [".loc 1 1 0", ".loc 1 2 0"]
    we.ptx.Module(marked)


def test_the_machine_code_decides_and_the_report_names_it(monkeypatch):
    def fused(text, arch):
        return listed(text, LISTING.replace("FMUL.FTZ", "MOV").format(product=instruction))

    monkeypatch.setattr("wmma_emu.ptx.launch.open_roundings.assembled", fused)
    given = {}
    for instruction in ("FFMA R5, R0, R5, R5", "FADD R5, R0, R5", "NOP"):
        x = INPUT.copy()
        report = we.ptx.Module(TEXT, contraction="ptxas")["k"][1, 1](x)
        given[instruction[:4]] = hex(x.view(np.uint32)[2]), report.contracted, report.contraction
    assert given == {
        "FFMA": (FUSED, (7,), "as ptxas 1.2.3 does for sm_90"),
        "FADD": (ROUNDED, (), "as ptxas 1.2.3 does for sm_90"),
        "NOP": (FUSED, (7,), "as ptxas 1.2.3 does for sm_90; the sums of line 7 by the rules of ptxas 12.9 to 13.5"),
    }


def assemblers_at_hand():
    try:
        return find_assemblers()
    except BackendUnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.thorough
def test_the_installed_ptxas_decides_as_the_rules_do():
    newest = assemblers_at_hand()[0]
    found = {}
    for way in ("rules", "ptxas", "never"):
        x = INPUT.copy()
        report = we.ptx.Module(TEXT, contraction=way)["k"][1, 1](x)
        found[way] = hex(x.view(np.uint32)[2]), report.contracted
        if way == "ptxas":
            assert report.contraction == f"as ptxas {newest.version} does for sm_90"
            assert f"as ptxas {newest.version} does for sm_90" in str(report)
    assert found == {"rules": (FUSED, (7,)), "ptxas": (FUSED, (7,)), "never": (ROUNDED, ())}


@pytest.mark.thorough
def test_ptx_that_no_ptxas_accepts_is_rejected_with_its_line_and_a_remedy():
    assemblers_at_hand()
    text = TEXT.replace("st.global.f32 [%x+8], %v;", "st.global.f32 [%x+8], %v;\n    foo.bar %v, %v;")
    with pytest.raises(CompilationError, match=r"no installed one does: ptxas \d.* line 9;") as error:
        machine_code.assembled(text, we.ptx.Module(TEXT).arch)
    assert "/" not in str(error.value)


def test_ptx_of_a_later_release_is_rejected_when_the_kernel_is_looked_up(monkeypatch):
    class Old(Assembler):
        def listing(self, text, target):
            raise CompilationError(f"ptxas {self.version} refuses the text: line 1; fatal   : Unsupported .version 8.0")

    old = (Old(None, None, "1.2.3"), Old(None, None, "1.1.0"))
    monkeypatch.setattr(machine_code, "find_assemblers", lambda: old)
    module = we.ptx.Module(TEXT, contraction="ptxas")
    with pytest.raises(CompilationError, match=r"no installed one does: ptxas 1\.2\.3 .*; ptxas 1\.1\.0 .*pip install"):
        _ = module["k"]


@pytest.mark.parametrize(("missing", "said"), [
    (("ptxas", "nvdisasm"), "ptxas and nvdisasm cannot be found; pip install nvidia-cuda-nvcc"),
    (("nvdisasm",), "^nvdisasm cannot be found; pip install nvidia-cuda-nvcc"),
])  # fmt: skip
def test_where_there_is_no_assembler_the_error_says_what_to_install(monkeypatch, tmp_path, missing, said):
    there = {"ptxas", "nvdisasm"} - set(missing)
    monkeypatch.setattr(assembler, "_programs", lambda name: iter([tmp_path / name] if name in there else []))
    monkeypatch.setattr(assembler, "_version", lambda program: (13, 0, 88))
    find_assemblers.cache_clear()
    try:
        with pytest.raises(BackendUnavailableError, match=said):
            we.ptx.Module(TEXT, contraction="ptxas")["k"]
    finally:
        find_assemblers.cache_clear()


def test_assemblers_are_found_on_path_and_the_newest_release_comes_first(monkeypatch, tmp_path):
    for folder, release in (("a", "12.9.86"), ("b", "13.0.88"), ("c", "13.0.88")):
        (tmp_path / folder).mkdir()
        for name in ("ptxas", "nvdisasm"):
            program = tmp_path / folder / name
            program.write_text(f"#!/bin/sh\necho Cuda compilation tools, release x, V{release}\n")
            program.chmod(0o755)
    monkeypatch.setattr(assembler, "_WHEELS", {})
    monkeypatch.setenv("PATH", ":".join(str(tmp_path / x) for x in "abc") + ":/bin:/usr/bin")
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    find_assemblers.cache_clear()
    try:
        found = [x for x in find_assemblers() if tmp_path in x.ptxas.parents]
    finally:
        find_assemblers.cache_clear()
    assert [(x.version, x.ptxas.parent.name) for x in found] == [("13.0.88", "b"), ("12.9.86", "a")]
