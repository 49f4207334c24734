# SPDX-License-Identifier: MIT
"""Kernels of libraries for Hopper: the list, what building asks for, and the archive that comes back."""

import io
import tarfile
from pathlib import Path

import pytest

from tests.tools.test_launch_recorder import TEXT, write_raw
from tools.hopper_libraries import building
from tools.hopper_libraries.__main__ import main
from tools.hopper_libraries.libraries import LIBRARIES, PROGRAMS
from tools.hopper_programs import carried
from tools.hopper_programs.table import compared
from tools.hopper_programs.unpacking import unpack

SOURCES = Path(building.__file__).parent / "programs"


def test_each_program_has_its_own_name_a_source_and_a_library():
    assert len({x.name for x in PROGRAMS}) == len(PROGRAMS)
    for program in PROGRAMS:
        assert (SOURCES / f"{program.file}.cu").exists() and program.library in LIBRARIES


def test_attention_is_compiled_for_both_types_both_sizes_and_both_masks():
    chosen = {tuple(y for y in x.flags if y.startswith("-D")) for x in PROGRAMS if x.library == "flash-attention"}
    sizes, types, masks = (64, 128), ("half_t", "bfloat16_t"), ("true", "false")
    wanted = {(f"-DELEMENT={t}", f"-DHEAD_DIM={s}", f"-DCAUSAL={m}") for t in types for s in sizes for m in masks}
    assert chosen == wanted


def test_a_program_without_its_checkout_names_the_repository(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(carried, "_prepare", lambda *_: [(tmp_path / x).mkdir() for x in ("out", "work")])
    monkeypatch.setattr(carried, "toolkit", lambda _: tmp_path)
    given = ["build", str(tmp_path / "out"), "--work", str(tmp_path / "work"), "--only", "deep_gemm_bf16"]
    assert main([*given, "--checkout", f"cutlass={tmp_path}"]) == 1
    assert "needs --checkout deep-gemm=FOLDER, of deepseek-ai/DeepGEMM" in capsys.readouterr().out


def test_an_unknown_library_is_refused_with_those_that_exist(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["build", str(tmp_path), "--work", str(tmp_path), "--checkout", "cutlas=x"])
    assert "cutlas=x is not LIBRARY=FOLDER; the libraries are cutlass, flash-attention" in capsys.readouterr().err


def test_an_archive_becomes_bundles_that_equal_their_recordings(tmp_path):
    write_raw(tmp_path / "raw" / "scaled" / "0000")
    (tmp_path / "raw" / "scaled" / "log.txt").write_text("exit status 0\n")
    (tmp_path / "raw" / "machine.txt").write_text("NVIDIA H200, 580.1\n")
    (tmp_path / "scaled.ptx").write_text(TEXT)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        archive.add(tmp_path / "raw", ".")
    content = packed.getvalue()
    (tmp_path / "back").mkdir()
    for number, piece in enumerate((content[:100], content[100:])):
        (tmp_path / "back" / f"hopper.tar.xz.{number:02d}").write_bytes(piece)
    assert unpack(tmp_path / "back", tmp_path / "made", {"scaled": (tmp_path / "scaled.ptx", {})}) == 0
    bundle = tmp_path / "made" / "bundles" / "scaled" / "0000"
    assert compared(bundle, tmp_path / "made" / "recorded", {}).verdict == "equal"
    assert (tmp_path / "made" / "machine.log").read_text() == "NVIDIA H200, 580.1\n"
