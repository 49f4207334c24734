# SPDX-License-Identifier: MIT
"""Native functions by name: compiled once, kept on disk, and compiled again where the cache cannot be used."""

import ctypes
import os
import subprocess
import sys
import threading
import time
from functools import partial

import pytest

pytest.importorskip("llvmlite")

from llvmlite import ir

from wmma_emu.llvm import cache, compile, library

WORD = ir.IntType(32)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache."""
    monkeypatch.setenv("WMMA_EMU_CACHE", str(tmp_path))
    return tmp_path / "native"


@pytest.fixture
def sources(tmp_path):
    found = tmp_path / "sources"
    found.mkdir()
    (found / "one.py").write_text("1")
    return [found]


@pytest.fixture
def compiled(monkeypatch):
    """The names of the functions that are compiled in the test."""
    names = []

    def noting(self, text):
        names.extend(x.split('"')[1] for x in text.splitlines() if x.startswith("define"))
        submit(self, text)

    submit = compile.Compilers.submit
    monkeypatch.setattr(compile.Compilers, "submit", noting)
    return names


def define(module, name, value):
    function = ir.Function(module, ir.FunctionType(WORD, []), name)
    ir.IRBuilder(function.append_basic_block()).ret(WORD(value))
    return function


def wanted(count=3):
    return {f"f {i}": partial(define, name=f"f {i}", value=i) for i in range(count)}


def values(found):
    addresses = found.addresses(wanted())
    return [ctypes.CFUNCTYPE(ctypes.c_int32)(addresses[f"f {i}"])() for i in range(3)]


def test_functions_are_compiled_once(folder, sources, compiled):
    assert values(library.NativeLibrary(sources)) == [0, 1, 2]
    assert compiled == ["f 0", "f 1", "f 2"]
    assert values(library.NativeLibrary(sources)) == [0, 1, 2]  # as in a new process
    assert compiled == ["f 0", "f 1", "f 2"]
    assert not list(folder.rglob("*.part"))


def test_a_function_that_is_new_is_compiled_alone(folder, sources, compiled):
    first = library.NativeLibrary(sources)
    first.addresses(wanted(2))
    first.addresses(wanted(3))
    assert compiled == ["f 0", "f 1", "f 2"]


@pytest.mark.parametrize("change", ["source", "version", "processor"])
def test_a_change_of_what_functions_follow_from_compiles_them_again(change, folder, sources, compiled, monkeypatch):
    values(library.NativeLibrary(sources))
    if change == "source":
        (sources[0] / "one.py").write_text("2")
    elif change == "version":
        monkeypatch.setattr(cache, "__version__", "0")
    else:
        monkeypatch.setattr(cache, "processor", lambda: "another")
    assert values(library.NativeLibrary(sources)) == [0, 1, 2]
    assert len(compiled) == 6


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
        lambda data: b"another format\n" + data,
        lambda data: data[:50],
    ],
)
def test_a_damaged_batch_is_compiled_again(damage, folder, sources, compiled):
    values(library.NativeLibrary(sources))
    for path in folder.rglob("*.batch"):
        path.write_bytes(damage(path.read_bytes()))
    assert values(library.NativeLibrary(sources)) == [0, 1, 2]
    assert len(compiled) == 6
    assert values(library.NativeLibrary(sources)) == [0, 1, 2]
    assert len(compiled) == 6


def test_a_batch_without_object_code_is_compiled_again(folder, sources, compiled):
    cache.ObjectCache(sources).store(["f 0", "f 1", "f 2"], b"not object code")
    assert values(library.NativeLibrary(sources)) == [0, 1, 2]
    assert len(compiled) == 3


def test_a_batch_that_another_process_removes_is_compiled_again(folder, sources, compiled):
    values(library.NativeLibrary(sources))
    second = library.NativeLibrary(sources)
    second.addresses({})
    found = cache.ObjectCache(sources)
    assert list(found.find(["f 0"]))
    for path in folder.rglob("*.batch"):
        path.unlink()
    assert found.load(next(iter(found.find(["f 0"])))) is None
    assert values(second) == [0, 1, 2]


@pytest.mark.parametrize("reason", ["off", "a file", "full"])
def test_without_a_cache_functions_are_compiled_in_each_process(reason, folder, sources, monkeypatch, tmp_path):
    if reason == "off":
        monkeypatch.setenv("WMMA_EMU_CACHE", "off")
    elif reason == "a file":
        folder.write_text("")
    else:
        monkeypatch.setattr(cache.os, "replace", lambda *paths: (_ for _ in ()).throw(OSError(28, "No space left")))
    assert values(library.NativeLibrary(sources)) == [0, 1, 2]
    assert not list(tmp_path.rglob("*.batch")) and not list(tmp_path.rglob("*.part"))


def test_the_least_recently_used_batches_are_removed(folder, sources, monkeypatch):
    values(library.NativeLibrary(sources))
    old = [*folder.rglob("*.batch")]
    for path in old:
        os.utime(path, (0, 0))
    monkeypatch.setattr(cache, "_LARGEST", max(x.stat().st_size for x in old))
    library.NativeLibrary(sources).addresses({"g": partial(define, name="g", value=1)})
    assert len([*folder.rglob("*.batch")]) == 1


def test_threads_get_the_same_functions(folder, sources, compiled):
    shared, results = library.NativeLibrary(sources), []
    threads = [threading.Thread(target=lambda: results.append(values(shared))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[0, 1, 2]] * 4
    assert len(compiled) == 3


@pytest.mark.parametrize("count", [0, 1, 2])
def test_processes_compile_modules_in_any_order(count):
    with compile.Compilers(count) as compilers:
        for i in range(5):
            module = ir.Module()
            define(module, f"f{i}", i)
            compilers.submit(str(module))
        found = dict(compilers.results())
    assert sorted(found) == [*range(5)]
    for i, code in found.items():
        assert ctypes.CFUNCTYPE(ctypes.c_int32)(compile.load(code, [f"f{i}"])[f"f{i}"])() == i


def test_this_process_compiles_what_others_fail_to_compile(monkeypatch):
    started = []

    def ending():
        started.append(subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        started[-1].wait()
        return started[-1]

    monkeypatch.setattr(compile, "_start", ending)
    with compile.Compilers(1) as compilers:
        for i in range(4):
            module = ir.Module()
            define(module, f"f{i}", i)
            compilers.submit(str(module))
        assert sorted(number for number, _ in compilers.results()) == [0, 1, 2, 3]
    assert started


def test_a_module_that_is_not_well_formed_is_an_error():
    with pytest.raises(RuntimeError):
        compile.object_code("define i32 @f() { ret i64 1 }")


def test_a_check_ends_the_wait_for_a_process_that_compiles(folder, sources, monkeypatch):
    def late():
        if time.perf_counter() > end:
            raise TimeoutError

    def start():
        return subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(60)"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    monkeypatch.setattr(compile, "_start", start)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    found, begin = library.NativeLibrary(sources), time.perf_counter()
    end = begin + 1
    with pytest.raises(TimeoutError):
        found.addresses(wanted(16), late)
    assert time.perf_counter() - begin < 10
    assert len(found.addresses({})) == 8  # those that this process has compiled meanwhile
