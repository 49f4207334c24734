# SPDX-License-Identifier: MIT
"""Compilations are cached: by all their sources and options, atomically, within a limit."""

import json
import os
import threading

import pytest

from wmma_emu.ptx.cuda import cache
from wmma_emu.ptx.cuda import compile as cuda_compile
from wmma_emu.ptx.cuda.request import CompiledSource, Request

SOURCE = '#include "n.h"\n__global__ void k(int* x) { *x = N; }\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WMMA_EMU_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept" / "cuda"


@pytest.fixture
def compiled(monkeypatch):
    """The sources that were compiled, without the need for a compiler."""
    found = []

    def compile_(request):
        found.append(request)
        return CompiledSource("ptx", {"k<int>": "_Z1k"}, "a compiler", ("a note",), "a warning", 7.0)

    monkeypatch.setitem(cuda_compile._COMPILE, "auto", compile_)
    return found


def test_a_cached_compilation_is_read_with_its_notes_and_warnings(folder, compiled, tmp_path):
    (tmp_path / "n.h").write_text("#define N 1\n")
    first = cuda_compile.compile_cuda(SOURCE, "sm_90", include=[tmp_path])
    again = cuda_compile.compile_cuda(SOURCE, "sm_90", include=[tmp_path])
    assert again == first and len(compiled) == 1
    (path,) = folder.iterdir()
    assert json.loads(path.read_text())["compiler"] == "a compiler" and path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("change", ["header", "nested header", "source", "options", "name", "arch", "instantiate"])
def test_a_change_of_any_input_causes_a_new_compilation(folder, compiled, tmp_path, change):
    (tmp_path / "n.h").write_text('#if 0\n#else\n#include "deep/m.h"\n#endif\n')
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "m.h").write_text("#define N 1\n")
    given = {"name": "k.cu", "options": ["-DA"], "include": [tmp_path], "instantiate": []}
    cuda_compile.compile_cuda(SOURCE, "sm_90", **given)
    source, arch = SOURCE, "sm_90"
    if change == "header":
        (tmp_path / "n.h").write_text("#define N 2\n")
    elif change == "nested header":
        (tmp_path / "deep" / "m.h").write_text("#define N 2\n")
    elif change == "source":
        source += " "
    elif change == "arch":
        arch = "sm_80"
    else:
        given[change] = {"name": "q.cu", "options": ["-DB"], "instantiate": ["k<int>"]}[change]
    cuda_compile.compile_cuda(source, arch, **given)
    assert len(compiled) == 2


def test_words_do_not_run_into_each_other(folder):
    one = Request("", "compute_90", "k.cu", ("-DA", "-DB"), (), ())
    assert len({cache.key_of(x, "auto") for x in (
        one, one._replace(options=("-DA-DB",)), one._replace(options=("-DA",), include=("-DB",)),
        one._replace(options=(), include=("-DA", "-DB")),
    )}) == 4  # fmt: skip


def test_a_header_whose_name_a_macro_makes_is_not_known_and_nothing_is_kept(folder, compiled):
    source = '#define WHERE "n.h"\n#include WHERE\n'
    cuda_compile.compile_cuda(source, "sm_90")
    cuda_compile.compile_cuda(source, "sm_90")
    assert len(compiled) == 2 and not folder.exists()


def test_off_keeps_nothing(monkeypatch, compiled, tmp_path):
    monkeypatch.setenv("WMMA_EMU_CACHE", "off")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cuda_compile.compile_cuda("", "sm_90")
    cuda_compile.compile_cuda("", "sm_90")
    assert len(compiled) == 2 and not list(tmp_path.iterdir())


@pytest.mark.parametrize("broken", ["", "{", "[]", '{"ptx": "x"}', '{"ptx": 1, "strange": 2}'])
def test_a_broken_entry_is_compiled_again(folder, compiled, broken):
    cuda_compile.compile_cuda("", "sm_90")
    (path,) = folder.iterdir()
    path.write_text(broken)
    assert cuda_compile.compile_cuda("", "sm_90").ptx == "ptx" and len(compiled) == 2


def test_a_folder_that_cannot_be_made_does_not_matter(monkeypatch, compiled, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WMMA_EMU_CACHE", str(tmp_path / "file"))
    assert cuda_compile.compile_cuda("", "sm_90").ptx == "ptx"


def test_the_entries_that_were_not_used_for_longest_go_first(folder, monkeypatch):
    monkeypatch.setattr(cache, "_LARGEST", 3000)
    for i, key in enumerate("abcd"):
        cache.store(key, CompiledSource("x" * 1000, {}, "c"))
        os.utime(folder / f"{key}.json", (i, i))
        if key == "b":
            assert cache.load("a") is not None  # used, so it is younger than b now
    assert cache.load("b") is None and cache.load("a") is not None and cache.load("d") is not None


def test_many_threads_may_store_the_same_entry_at_once(folder):
    entry = CompiledSource("x" * 100_000, {}, "c")
    seen = []

    def work():
        for _ in range(10):
            cache.store("key", entry)
            seen.append(cache.load("key"))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for x in threads:
        x.start()
    for x in threads:
        x.join()
    assert seen == [entry] * 40 and [x.name for x in folder.iterdir()] == ["key.json"]


@pytest.mark.parametrize("options", [["-I{}"], ["-I", "{}"], ["--include-path={}"], ["--pre-include={}/n.h"], "CPATH"])
def test_a_header_that_an_option_or_the_environment_names_is_read_again(
    folder, compiled, tmp_path, monkeypatch, options
):
    if options == "CPATH":
        monkeypatch.setenv("CPATH", str(tmp_path))
        options = []
    given = [x.format(tmp_path) for x in options]
    for number in (1, 2):
        (tmp_path / "n.h").write_text(f"#define N {number}\n")
        cuda_compile.compile_cuda(SOURCE, "sm_90", options=given)
    assert len(compiled) == 2


@pytest.mark.parametrize("line", ['%:include "n.h"', '#inc\\\nlude "n.h"', '#if __has_include("n.h")\n#endif'])
def test_headers_are_seen_however_they_are_included(folder, compiled, tmp_path, line):
    for _ in range(2):
        cuda_compile.compile_cuda(f"{line}\n", "sm_90", include=[tmp_path])
        (tmp_path / "n.h").write_text("#define N 1\n")
    assert len(compiled) == 2
