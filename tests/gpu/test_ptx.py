# SPDX-License-Identifier: MIT
"""The kernels that execute one instruction each: NVIDIA's assembler takes all of them, as they are."""

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.chips import TARGETS
from wmma_emu.gpu.kernel_body import Immediates, register_type
from wmma_emu.gpu.ptx import kernel_name, module, target_of
from wmma_emu.gpu.snippet import snippet_module
from wmma_emu.instructions import ARCHS, INSTRUCTIONS, lookup
from wmma_emu.instructions.table import GROUPS
from wmma_emu.layouts import scale_selectors_of
from wmma_emu.warp.block_scales import Selectors

FAMILIES = list(dict.fromkeys((row.family, row.a) for row in INSTRUCTIONS.values()))


@pytest.fixture(scope="module")
def ptxas():
    """The assembler, 13.0 or later: older ones lack chips or instructions."""
    path = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    if not Path(path).exists():
        pytest.skip("no ptxas on PATH or in /usr/local/cuda/bin")
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    release = tuple(int(x) for x in re.search(r"release (\d+)\.(\d+)", version).groups())
    if release < (13, 0):
        pytest.skip(f"ptxas {release[0]}.{release[1]} is older than 13.0, the first that supports every row")
    return path


def assemble(ptxas, folder, texts):
    """Assemble PTX, given with its targets; return the assembler's errors."""

    def one(number):
        text, target = texts[number]
        path = folder / f"{number}.ptx"
        path.write_text(text)
        command = [ptxas, f"-arch={target}", "-O0", "-o", str(path.with_suffix(".cubin")), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return f"{text.splitlines()[1]}: {done.stderr}" if done.returncode else ""

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [x for x in pool.map(one, range(len(texts))) if x]


def is_newer(row):
    """Whether ptxas 13.0, which ends with PTX 9.0, does not know a row yet."""
    return (row.scale, row.scale_vec) == ("ue8m0", 4)


def options_of(row):
    """Every choice that the text of an instruction leaves."""
    yield Immediates()
    if row.is_sparse:
        yield Immediates(selector=1 if row.a in ("f16", "bf16", "tf32") else 0)
    if row.is_block_scaled:
        byte_ids, thread_ids = zip(*(scale_selectors_of(row, x) for x in "ab"), strict=True)
        yield Immediates(scales=Selectors(byte_ids[0][-1], thread_ids[0][-1], byte_ids[1][-1], thread_ids[1][-1]))
    if row.is_warpgroup:
        is_float, is_short = row.format("a").is_float, row.format("a").bits == 16
        yield Immediates(a_shared=True)
        yield Immediates(0, is_float, is_float, is_short, is_short, a_shared=True)
        yield Immediates(negate_a=is_float, transpose_b=is_short)


@pytest.mark.sweep(keep=1 / 18)
@pytest.mark.parametrize("family, a", FAMILIES, ids=["|".join(x) for x in FAMILIES])
def test_the_assembler_takes_every_row_for_its_newest_chip(family, a, ptxas, tmp_path):
    rows = [row for row in INSTRUCTIONS.values() if (row.family, row.a) == (family, a) and not is_newer(row)]
    if rows[0].is_warpgroup:  # the slow test below has every n
        rows = [row for row in rows if row.n in (8, 256)]
    texts = []
    for row in rows:
        target = target_of(ARCHS[row.archs[-1]].number)
        texts += [(module(row, target, x), target) for x in options_of(row) if row.n < 256 or x == Immediates()]
    assert assemble(ptxas, tmp_path, texts) == []


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHS)
def test_the_assembler_takes_every_row_of_a_chip(arch, ptxas, tmp_path):
    target = target_of(ARCHS[arch].number)
    if ARCHS[arch].number < 75:
        pytest.skip("ptxas 13.0 has no Volta")
    rows = [row for row in INSTRUCTIONS.values() if arch in row.archs and not is_newer(row)]
    assert assemble(ptxas, tmp_path, [(module(x, target), target) for x in rows]) == []


def test_every_kernel_has_the_instruction_once_with_its_registers():
    for row in INSTRUCTIONS.values():
        text = module(row, target_of(ARCHS[row.archs[-1]].number))
        (line,) = re.findall(rf"^  ({re.escape(row.mnemonic)} .*);$", text, re.MULTILINE)
        groups = [x.split(", ") for x in re.findall(r"\{(.*?)\}", line)]
        expected = "dabc" if not row.is_warpgroup else "da"
        of_scales = [1, 2, 1, 2] if row.is_block_scaled else []
        assert [len(x) for x in groups] == [*(row.registers(x) for x in expected), *of_scales]
        assert f".visible .entry {kernel_name(row)}(" in text


def test_a_sparse_instruction_names_its_metadata_and_the_selector():
    row = INSTRUCTIONS["mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]
    text = module(row, "sm_80", Immediates(selector=3))
    assert re.search(r"mma\.sp\.sync.*\{%c0, .*\}, %metadata0, 0x3;", text)


def test_a_block_scaled_instruction_names_its_scales_and_their_selectors():
    row = lookup("m16n8k32.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0")
    text = module(row, "sm_120a", Immediates(scales=Selectors(3, 1, 2, 0)))
    assert re.search(r"mma\.sync.*\{%c0, .*\}, \{%scale_a0\}, \{3, 1\}, \{%scale_b0\}, \{2, 0\};", text)


@pytest.mark.parametrize(
    "mnemonic, options, ending",
    [
        ("m64n8k16.f32.f16.f16", Immediates(), "%b_descriptor, %scale_d, 1, 1, 0;"),
        ("m64n8k16.f32.f16.f16", Immediates(a_shared=True), "%a_descriptor, %b_descriptor, %scale_d, 1, 1, 0, 0;"),
        ("m64n8k16.f32.f16.f16", Immediates(negate_b=True, transpose_b=True), "%b_descriptor, %scale_d, 1, -1, 1;"),
        ("m64n8k8.f32.tf32.tf32", Immediates(negate_a=True), "%b_descriptor, %scale_d, -1, 1;"),
        ("m64n8k32.s32.s8.s8", Immediates(), "%b_descriptor, %scale_d;"),
    ],
    ids=["registers", "shared", "negated and transposed", "tf32", "integers"],
)
def test_immediates_of_wgmma_are_those_that_its_format_has(mnemonic, options, ending):
    row = INSTRUCTIONS[f"wgmma.mma_async.sync.aligned.{mnemonic}"]
    assert f"{ending}\n" in module(row, "sm_90a", options)


def test_accumulators_have_typed_registers_and_other_operands_are_bits():
    for row in INSTRUCTIONS.values():
        for operand in "ab":
            assert register_type(row.format(operand).name) == ("f64" if row.a == "f64" else "b32")
        assert register_type(row.d) == {"f32": "f32", "f64": "f64"}.get(row.d, "b32")


def test_the_version_of_ptx_is_the_newest_of_what_chip_and_instruction_need():
    def version(name, arch):
        row = lookup(name, arch)
        return re.search(r"^\.version (.*)$", module(row, target_of(ARCHS[arch].number)), re.MULTILINE)[1]

    assert version("m16n8k16.f32.f16.f16.f32", "sm_80") == "7.8"
    assert version("m16n8k16.f32.f16.f16.f32", "sm_120") == "8.7"
    assert version("m16n8k32.f32.e4m3.e4m3.f32", "sm_90") == "8.4"
    assert version("m16n8k32.f16.e4m3.e4m3.f16", "sm_90") == "8.7"
    assert version("m16n8k32.kind::f8f6f4.f32.e4m3.e2m1.f32", "sm_121") == "8.8"
    assert version("m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", "sm_120") == "8.7"
    newest = "m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0"
    assert version(newest, "sm_120") == "9.1"


SNIPPETS = {
    "cvt": ("cvt.rn.f16.f32 %y, %x;", {"x": np.uint32}, {"y": np.uint16}, 0),
    "two inputs": ("prmt.b32 %y, %x, %z, 0x5410;", {"x": np.uint32, "z": np.uint32}, {"y": np.uint32}, 0),
    "64 bits": ("cvt.f64.f32 %y, %x;", {"x": np.uint32}, {"y": np.uint64}, 0),
    "own registers": (
        [".reg .pred %p;", "setp.gt.u32 %p, %x, 7;", "selp.b32 %y, 1, 0, %p;"],
        {"x": np.uint32},
        {"y": np.uint32},
        0,
    ),
    "ldmatrix": (
        ["add.u32 %x, %x, %shared;", "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%y, %z}, [%x];"],
        {"x": np.uint32},
        {"y": np.uint32, "z": np.uint32},
        512,
    ),
}


@pytest.mark.parametrize("snippet", SNIPPETS.values(), ids=SNIPPETS)
def test_the_assembler_takes_snippets(snippet, ptxas, tmp_path):
    lines, inputs, outputs, image_bytes = snippet
    text = snippet_module(lines, inputs, outputs, "sm_90a", image_bytes=image_bytes)
    assert assemble(ptxas, tmp_path, [(text, "sm_90a")]) == []


def test_every_chip_and_every_row_finds_a_version_of_ptx_with_a_source():
    assert all(x.ptx.evidence.source for x in TARGETS)
    assert [x.number for x in TARGETS] == sorted({x.number for x in TARGETS})
    assert {x.number for x in ARCHS.values()} <= {x.number for x in TARGETS}
    assert all(x.source.startswith("ptxas") for group in GROUPS.values() for x in group.ptx)
    versions = {GROUPS[name].ptx_version(row) for name, row in INSTRUCTIONS.items()}
    assert versions == {(7, 1), (7, 8), (8, 0), (8, 2), (8, 4), (8, 5), (8, 7), (9, 1)}


@pytest.mark.parametrize("name", ["shared", "X", "1x", "", "a b", "at", "end", "copy_in", "images"])
def test_names_that_a_snippet_cannot_have_are_refused(name):
    with pytest.raises(we.FragmentMismatchError, match="a register of a snippet needs a unique name"):
        snippet_module("", {name: np.uint32}, {}, "sm_90a")
