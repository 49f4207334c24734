# SPDX-License-Identifier: MIT
"""Command lines of users who have not read the manual: they work, or the error names a command line that does."""

import re

import pytest

import wmma_emu
from wmma_emu.cli.command_table import COMMANDS
from wmma_emu.cli.spelling import COMMAND_WORDS
from wmma_emu.instructions import INSTRUCTIONS, arch_of

F16 = "m16n8k16.f32.f16.f16.f32"
FULL = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
FRAGMENT = "wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>"


def all_have(name, where=""):
    """A list of instructions whose names all contain this word, and a line that counts them."""
    return rf"(?m)^INSTRUCTION .*\n(?>\S*?{name}\S* .*\n)+\n?\d+ instructions{where}"


TRIED = [
    # help and versions
    ("", r"wmma-emu: NVIDIA's matrix instructions"),
    ("help", r"Commands: list, show, layout"),
    ("help layout", r"usage: wmma-emu layout"),
    ("layout help", r"usage: wmma-emu layout"),
    ("help ptx run", r"usage: wmma-emu ptx run"),
    ("--help layout", r"usage: wmma-emu layout"),
    ("ptx help", r"usage: wmma-emu ptx"),
    ("--help", r"usage: wmma-emu"),
    ("version", rf"wmma-emu {re.escape(wmma_emu.__version__)}\n"),
    ("-V", rf"wmma-emu {re.escape(wmma_emu.__version__)}\n"),
    ("-v", rf"wmma-emu {re.escape(wmma_emu.__version__)}\n"),
    # lists by words
    ("list wmma", all_have(r"wmma\.mma\.")),
    ("list wgmma fp8 h100", all_have(r"wgmma\.\S*e[45]m[32]", " on sm_90")),
    ("list wgmma fp8 dense", all_have(r"wgmma\.m\S*e[45]m[32]")),
    ("list --type fp8 --arch 4090", r"on sm_89 \(Ada Lovelace\)"),
    ("list --type fp16", r"m8n8k4\.f32\.f16\.f16\.f32"),
    ("list fp8 rtx 4090", r"on sm_89 \(Ada Lovelace\)"),
    ("list h100", r"on sm_90 \(Hopper\)"),
    ("list sm_90a bf16", r"on sm_90 \(Hopper\)"),
    ("list --family wmma", all_have(r"wmma\.mma\.")),
    ("list --family sparse", r"mma\.sp\."),
    ("list --shape 16x8x16", all_have("m16n8k16")),
    ("list m64nNk16", r"wgmma\.m64nNk16"),
    ("list all", all_have(r"m\d+n[\dN]+k\d+")),
    ("list bf16 --json", r'^\[\n\{"mnemonic"'),
    ("list bf16 --md", r"^\| instruction \|"),
    ("LIST wmma", all_have(r"wmma\.mma\.")),
    ("ls wmma", all_have(r"wmma\.mma\.")),
    ("-v list wmma", all_have(r"wmma\.mma\.")),
    # one instruction, or all instructions that a name covers
    ("show m16n8k16", all_have("m16n8k16")),
    ("show wgmma", all_have(r"wgmma\.")),
    ("show wmma", all_have(r"wmma\.mma\.")),
    ("show fp8", r"add a format, a shape or a chip"),
    ("show HMMA.16816.F32", rf"On sm_90 {F16} becomes HMMA\.16816\.F32"),
    ("show SM80_16x8x16_F32F16F16F32_TN", rf"^{FULL}\n"),
    ("show wmma::fragment", all_have(r"wmma\.mma\.")),
    ("show nvcuda::wmma::load_matrix_sync", all_have(r"wmma\.mma\.")),
    (f'show asm volatile("{FULL} {{%0, %1, %2, %3}}, ', rf"^{FULL}\n"),
    (f"show {FULL}", rf"^{FULL}\n"),
    (f"show {F16} h100", r"sm_90 \(Hopper\): measured"),
    ("show h100", r"^sm_90 \(Hopper\)\n"),
    ("describe h100", r"^sm_90 \(Hopper\)\n"),
    # places
    (f"layout {F16} A", r"^A of "),
    (f"layout {F16} b", r"^B of "),
    (f"layout {F16}", r"(?s)^A of .*\nB of .*\nC of .*\nD has the same layout as C\."),
    (f"layout {F16} all", r"(?s)^A of .*\nB of .*\nC of "),
    (f"layout {F16} A B", r"(?s)^A of .*\nB of "),
    (f"layout {F16} A --svg", r"^<svg"),
    (f"layout {F16} --html", r"^<!doctype html>"),
    (f"layout {F16} --json", r'^\[\n\{"operand": "A", "lane": 0'),
    ("layout dense m16n8k8 bf16 A", r"^A of mma\.sync\.aligned\.m16n8k8\.row\.col\.f32\.bf16\.bf16\.f32"),
    ("layout HMMA.16816.F32 A", rf"^A of {FULL}"),
    (f"what {F16} A --lane 5", r"^Lane 5 of A of "),
    (f"what {F16} --lane 5", r"(?s)^Lane 5 of A .*\nLane 5 of B .*\nLane 5 of C .*\nD has the same layout as C\."),
    (f"what {F16} A 5 1", r"^Register 1 of lane 5 of A of "),
    (f"what {F16} A lane 5", r"^Lane 5 of A of "),
    (f"what {F16} --lane 5 --register 3", r"(?s)^Register 3 of lane 5 of A .*\nRegister 3 of lane 5 of C "),
    (f"where {F16} A 3 5", r"^A\[3, 5\] of "),
    (f"where {F16} A[3,5]", r"^A\[3, 5\] of "),
    (f"where {F16} A[3][5]", r"^A\[3, 5\] of "),
    (f"where {F16} a(3, 5)", r"^A\[3, 5\] of "),
    (f"where {F16} A 3,5", r"^A\[3, 5\] of "),
    (f"where {F16} 9 3", r"(?s)^A\[9, 3\] .*\nB\[9, 3\] .*\nC\[9, 3\] "),
    (f"where {F16} 3 12", r"^A\[3, 12\] of "),
    (f"where --row 3 --col 5 {F16} A", r"^A\[3, 5\] of "),
    ("schedule SM80_16x8x16_F32F16F16F32_TN", r"1x HMMA\.16816\.F32"),
    # chips
    ("chips", r"sm_121"),
    ("archs", r"sm_121"),
    ("gpus", r"sm_121"),
    ("chips rtx 4090", r"^sm_89 \(Ada Lovelace\)"),
    ("chips b200", r"tcgen05\.mma"),
    ("chips h100,a100 --json", r'"chip": "sm_80"'),
    ("compare a100 h100", r"^sm_80 \(Ampere\) and sm_90 \(Hopper\)"),
    ("compare v100 t4", r"Layouts that differ: wmma\.mma m16n16k16 of f16"),
    ("diff a100 h100 --json", r'^\{"chips": \["sm_80", "sm_90"\]'),
    # products
    ("gemm a.npy b.npy", r"not written \(-o D\.npy writes it\)"),
    ("matmul a.npy b.npy --chip a100", r"on sm_80 \(Ampere\)"),
    ("gemm a.npy b.npy --instr HMMA.16816.F32", rf"computed by +{FULL}"),
    ("gemm a.npy b.npy --arch NVIDIA_H100_80GB_HBM3", r"on sm_90 \(Hopper\)"),
    ("explain a.npy b.npy 3 5", r"^D\[3, 5\] = "),
    ("explain a.npy b.npy D[3][5]", r"^D\[3, 5\] = "),
    ("explain a.npy b.npy 3,5", r"^D\[3, 5\] = "),
    ("compare a.npy b.npy a100 h100", r"compared with sm_80"),
    ("compare a.npy b.npy a100,h100", r"compared with sm_80"),
    ("quantize a.npy --pad", r"mxfp8_e4m3: 32 elements"),
    ("quantise a.npy nvfp4 --pad", r"nvfp4: 16 elements"),
    ("quantise --pad --to nvfp4 a.npy", r"nvfp4: 16 elements"),
    # findings, what is installed
    ("findings", r"out of bounds"),
    ("finding race", r"^race\n"),
    ("doctor", rf"^wmma-emu +{re.escape(wmma_emu.__version__)}"),
    # a name without a command
    ("m16n8k16", all_have("m16n8k16")),
    ("h100", r"^sm_90 \(Hopper\)\n"),
    ("rtx 4090", r"^sm_89 \(Ada Lovelace\)\n"),
    ("HMMA.16816.F32", r"becomes HMMA\.16816\.F32"),
    ("race", r"^race\n"),
    ("a.npy b.npy", r"computed by"),
]
REFUSED = [
    ("layout m16n8k16", rf"'m16n8k16' matches \d+ instructions; name one, .*\n    {F16}\n"),
    ("gemm a.npy b.npy --instr m16n8k16", r"'m16n8k16' matches \d+ instructions"),
    ("show nothing", r"'nothing' names no instruction, chip, format or shape"),
    ("shwo m16n8k16", r"'shwo' is not a command; did you mean show\?"),
    ("list h100 mi300", r"'mi300'"),
    ("list mi300x", r"'mi300x' is a chip that is not modelled: it is AMD's, and only NVIDIA's chips are modelled"),
    ("list fp16 pascal", r"it has no tensor cores; the first chip with tensor cores is sm_70"),
    ("quantise a.npy nvfp4 --to mxint8", r"nvfp4 and --to mxint8 name the format twice"),
    ("explain a.npy b.npy A[3][5]", r"'A\[3\]\[5\]' is not an element of D"),
    (
        f"layout {F16} A -o x.pdf",
        r"x\.pdf: \.pdf is not a supported output format; a browser can print an HTML page "
        r"as PDF",
    ),
    (
        f"handout {F16} -o x.pdf",
        r"x\.pdf: \.pdf is not a supported output format; a browser can print an HTML page "
        r"as PDF",
    ),
    (f"show {F16} -o x.docx", r"x\.docx: \.docx is not a supported output format; give the file another name"),
    ("list --arch mi300", r"there is no chip 'mi300'; it is AMD's, and only NVIDIA's chips are modelled"),
    ("gemm a.npy b.npy --arch gaudi3", r"it is Intel's, and only NVIDIA's"),
    ("gemm a.npy b.npy --arch m3max", r"it is Apple's, and only NVIDIA's"),
    ("chips ,", r"there is no chip ','"),
    ("chips v100 mi300", r"there is no chip 'mi300'"),
    ("chips gtx 1080", r"no chip 'gtx 1080'; it has no tensor cores; the first chip with .* is sm_70 \(Volta\)"),
    ("list wgmma a100", r"no instruction on sm_80 \(Ampere\) matches all words of 'wgmma a100'"),
    ("list fp8 v100", r"chips that support it are sm_89, sm_90"),
    ("lane 5", r"the instruction is missing; it comes first, as in wmma-emu what "),
    ("ptx", r"its actions are explain, run"),
    ("ptx kernel.cu", r"kernel\.cu: No such file or directory"),
    ("kernel.cu", r"kernel\.cu: No such file or directory"),
    ("run kernel.cu", r"kernel\.cu: No such file or directory"),
    ("run kernel.cu --blok 1", r"kernel\.cu: No such file or directory"),
    ("test", r"ptx run needs FILE"),
    ("completion powershell", r"SHELL 'powershell' is not one of bash, zsh, fish"),
    ("finding rac", r"'rac' is not a kind of finding; .* did you mean race\?"),
    ("show ldmatrix", r"it moves data: wmma_emu\.warp\.ldmatrix executes it"),
    ("crosscheck --state -", r"--state -: standard output cannot be read again later"),
    ("crosscheck --report -", r"--report -: the report is printed on standard output as text anyway"),
    (f"where {F16} 99 99", r"no operand has an element \[99, 99\]: A is 16 x 16, B is 16 x 8"),
]


@pytest.mark.parametrize(("line", "answer"), TRIED, ids=lambda x: x[:50])
def test_what_is_typed_works(run, here, line, answer):
    status, out, err = run(*line.replace("NVIDIA_H100_80GB_HBM3", "NVIDIA-H100-80GB-HBM3").split())
    assert (status, err) == (0, "") and re.search(answer, out)


@pytest.mark.parametrize(("line", "answer"), REFUSED, ids=lambda x: x[:50])
def test_what_cannot_work_says_what_would(run, here, line, answer):
    status, out, err = run(*line.split())
    assert (status, out) == (2, "") and re.search(f"^wmma-emu: error: .*{answer}", err)


@pytest.mark.parametrize("command", ["show", "layout"])
def test_a_fragment_of_mma_h_is_read_to_its_end(run, command):
    status, out, _ = run(command, FRAGMENT)
    assert status == 0
    assert out.startswith("A of wmma.mma" if command == "layout" else "INSTRUCTION")
    assert run(command, *FRAGMENT.split()).out == out  # also without quotes around spaces


def test_words_list_what_options_list(run):
    assert run("list", "wgmma", "--arch", "h100").out == run("list", "wgmma", "h100").out
    rows = [x for x in INSTRUCTIONS.values() if "e4m3" in (x.a, x.b) or "e5m2" in (x.a, x.b)]
    assert f"{len(rows)} instructions." in run("list", "--type", "fp8").out
    assert f"{len(rows)} instructions." in run("list", "fp8").out


def test_every_other_word_for_a_command_means_one_and_is_none_itself():
    assert not set(COMMAND_WORDS) & set(COMMANDS)
    assert {words[0] for words in COMMAND_WORDS.values()} <= set(COMMANDS)


def test_every_product_alone_names_a_chip(run):
    for name in ("a30", "l4", "h800", "b300", "titan rtx", "dgx spark", "rtx pro 6000", "jetson agx xavier"):
        assert run(*name.split()).out.startswith(arch_of(name).name)


def test_options_come_in_any_order_and_operands_may_follow_them(run):
    plain = run("layout", F16, "A", "--lane", "5")
    assert plain.status == 0 and run("layout", "--lane", "5", F16, "A") == plain
    assert run("layout", F16, "--lane", "5", "A") == plain and run("layout", F16, "--operand", "A", "--lane=5") == plain


def test_an_output_whose_name_says_a_format_needs_no_option(run, here):
    for name in ("x.svg", "x.html", "x.csv", "x.json", "x.md", "x.py", "x.c"):
        assert run("layout", F16, "A", "-o", name) == (0, "", "")
    assert (here / "x.svg").read_text(encoding="utf-8") == run("layout", F16, "A", "--format", "svg").out
    assert (here / "x.csv").read_text(encoding="utf-8") == run("layout", F16, "A", "--csv").out


def test_the_output_for_all_operands_is_the_output_for_each_operand(run):
    together = run("layout", F16).out
    for operand in "ABC":
        assert run("layout", F16, operand).out in together
    lists = run("layout", F16, "--csv").out.splitlines()
    assert lists[0].startswith("operand,lane,register")
    for operand in "ABCD":
        alone = run("layout", F16, operand, "--csv").out.splitlines()[1:]
        assert [x[2:] for x in lists if x.startswith(f"{operand},")] == alone
