# SPDX-License-Identifier: MIT
"""Comments silence a statement, at its first line, its last, or above it: macros, lambdas, templates, Python."""

import sys
from importlib.util import module_from_spec, spec_from_file_location

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.planted.table import PLANTED
from wmma_emu.errors import BackendUnavailableError, OptionError
from wmma_emu.ptx.launch.silencing_comments import silences_in
from wmma_emu.ptx.reports.statements import outline_of

SOURCE = """
#define STORE(place, value) do { (place) = (value); } while (0)
template <class F> __device__ void each(F f) { f(threadIdx.x); }
template <int N> __device__ int turned(const int* tile) {
    return tile[N - 1
                - threadIdx.x];%5
}
extern "C" __global__ void k(const int* in, int* out)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    %1
    out[threadIdx.x] =%2
        tile[63
             - threadIdx.x]
        + 2;%3
    __syncthreads();
    tile[threadIdx.x] = 1;
    STORE(out[threadIdx.x],%4
          tile[62 - threadIdx.x & 63]);
    __syncthreads();
    tile[threadIdx.x] = 2;
    each([&](int i) {
        out[i] += tile[61 -
            i & 63];%6
    });
    __syncthreads();
    tile[threadIdx.x] = 3;
    out[threadIdx.x] += turned<64>(tile);
}
"""
COMMENT = "  // wmma-emu: ignore[race] the halves are equal"
ABOUT = {1: "statement", 2: "statement", 3: "statement", 4: "macro", 5: "function", 6: "lambda"}


def compiled(*places, comment=COMMENT):
    source = SOURCE
    for place in ABOUT:
        source = source.replace(f"%{place}", comment if place in places else "")
    try:
        module = we.ptx.Module.from_cuda(source, "sm_80", findings="report")
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    report = module["k"][1, 64](np.arange(64, dtype=np.int32), np.zeros(64, np.int32))
    return report


def lines(findings):
    return {side.number for x in findings for side in x.sides} | {
        frame.source.line for x in findings for frame in x.sightings if frame.source
    }


@pytest.mark.thorough
@pytest.mark.parametrize("place", ABOUT)
def test_a_comment_silences_the_whole_statement_and_nothing_else(place):
    without, report = compiled(), compiled(place)
    assert not without.silenced and not report.unused_silences
    assert report.silenced and all(x.silence.reason == "the halves are equal" for x in report.silenced)
    assert len(lines(report.findings)) < len(lines(without.findings))
    assert report.errors  # those of the other statements


@pytest.mark.thorough
def test_all_of_them_silence_all():
    report = compiled(3, 4, 5, 6)
    assert not report.errors and not report.unused_silences and len(report.silenced) == 4


@pytest.mark.thorough
@pytest.mark.parametrize(
    "comment",
    [
        "  // wmma-emu: ignore[race] why", "  /* wmma-emu: ignore[race] why */", "  // wmma_emu: ignore[race]: why",
        "  // NOLINT // wmma-emu: ignore[ race ] why", "  // wmma-emu ignore[Race] why",
        "  /* wmma-emu: ignore[race]\n  why */", "  // wmma_emu: allow race: why",
    ],
)  # fmt: skip
def test_a_comment_may_be_written_in_several_ways(comment):
    (silenced,) = compiled(3, comment=comment).silenced
    assert silenced.silence.kind == "race" and silenced.silence.reason == "why"


def test_a_comment_names_several_kinds_by_their_names_or_as_in_addresses():
    found = silences_in("x;  // wmma-emu: ignore[race, race-within-a-warp,out of bounds, read-only] why\n", "k.cu")
    assert [x.kind for x in found] == ["race", "race within a warp", "out of bounds", "read-only"]
    assert {x.comment for x in found} == {"k.cu:1"} and {x.line for x in found} == {"k.cu:1"}


@pytest.mark.parametrize("text", [
    'const char* s = "// wmma-emu: ignore[race] why";', "int wmma_emu = 1;  // that of wmma_emu",
    "// see wmma-emu's page",
])  # fmt: skip
def test_other_comments_are_ignored(text):
    assert silences_in(text, "k.cu") == ()


def test_digit_separators_do_not_start_a_literal():
    (silence,) = silences_in("x = 1'024;  // wmma-emu: ignore[race] don't care\n", "k.cu")
    assert silence.reason == "don't care"
    found = outline_of("x = 0x1'000; f(1);\ny = u8'{'; z = 2'0;\n")
    assert len(found.statements) == 4 and found.code_of([1]) == "x=0x1'000;f(1);"


def test_a_python_string_is_not_a_comment():
    assert silences_in('x = "# wmma-emu: ignore[race] why"\n', "k.py") == ()
    assert silences_in("x = 1  # noqa  # wmma-emu: ignore[race] why\n", "k.py")[0].line == "k.py:1"


@pytest.mark.parametrize("where", ["first", "last", "above"])
def test_a_python_comment_silences_a_statement_of_several_lines(where):
    mark = "# wmma-emu: ignore[race] why"
    text = "y = 1\n{above}x = f(a,{first}\n      b)  {last}\nz = 2\n"
    parts = {"above": "", "first": "", "last": ""}
    parts[where] = f"{mark}\n" if where == "above" else f"  {mark}"
    (found,) = silences_in(text.format(**parts), "k.py")
    first = 3 if where == "above" else 2
    assert (found.line, found.last) == (f"k.py:{first}", first + 1)


def test_numbas_python_file_is_read(tmp_path, monkeypatch):
    cuda = pytest.importorskip("numba.cuda")
    path = tmp_path / "kernels_of_numba.py"
    path.write_text(
        "from numba import cuda, int32\n"
        "def k(x, out):\n"
        "    tile = cuda.shared.array(64, int32)\n"
        "    i = cuda.threadIdx.x\n"
        "    tile[i] = x[i]\n"
        "    out[i] = (tile[63 - i]\n"
        "              + 1)  # wmma-emu: ignore[race] the halves are equal\n",
        encoding="utf-8",
    )
    spec = spec_from_file_location("kernels_of_numba", path)
    kernels = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "kernels_of_numba", kernels)
    spec.loader.exec_module(kernels)
    try:
        text, _ = cuda.compile_ptx(kernels.k, (kernels.int32[::1],) * 2, cc=(8, 0), lineinfo=True)
    except Exception as error:  # if any part of the toolkit is missing
        pytest.skip(f"numba does not compile here: {error}")
    module = we.ptx.Module(text, "sm_80", findings="report")
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    report = module.kernel[1, 64](0, 0, 64, 4, x, 64, 4, 0, 0, 64, 4, y, 64, 4)
    assert [x.silence.reason for x in report.silenced] == ["the halves are equal"] and not report.findings


BUG = PLANTED["reversed"]


@pytest.mark.parametrize(
    ("file", "text", "is_read"),
    [
        ('"{path}"', BUG.source, True),
        ('"{path}", 1700000000, {size}', BUG.source, True),
        ('"{path}", 1700000000, 12', BUG.source, False),
        ('"{path}"', "\n".join(BUG.source.splitlines()[:20]), False),
    ],
    ids=["no size", "its size", "another size", "too few lines"],
)
def test_a_file_that_the_ptx_names_is_read_if_it_is_the_one_that_was_compiled(tmp_path, file, text, is_read):
    path = tmp_path / "races.cu"
    marked = text.replace("// <- race\n", "// wmma-emu: ignore[race] why\n", 1)
    assert marked != text
    path.write_text(marked, encoding="utf-8")
    entry = file.format(path=path, size=len(marked))
    module = we.ptx.Module(BUG.ptx(False).replace('"races.cu"', entry, 1), arch="sm_90", findings="report")
    report = module["reversed"][1, 64](*BUG.arguments())
    assert bool(report.silenced) == is_read != bool(report.findings)


def test_a_comment_that_is_wrong_names_its_line():
    with pytest.raises(OptionError, match=r"k\.cu:2: kind='rice' is not a kind of finding"):
        silences_in("int x;\nint y;  // wmma-emu: ignore[rice] why\n", "k.cu")


@pytest.mark.parametrize(
    ("text", "line", "around"),
    [
        ("f(1,\n  2);\ng();", 1, [1, 2]), ("if (x)\n  y = 1;", 2, [2]), ("if (x)\n  y = 1;", 1, [1]),
        ("for (int i = 0; i < n; i++) {\n  a(\n  b);\n}", 3, [2, 3]), ("int v[] = {1,\n 2};\nint w;", 2, [1, 2]),
        ('f("a;b",\n  R"(;{)");', 2, [1, 2]), ("f(';',\n  2);", 1, [1, 2]), ("#define X \\\n f(1);\ng();", 3, [3]),
        ("else if (a &&\n b) {\n c();", 1, [1, 2]), ("}\n", 1, [1]), ("x = {{1},\n {2}};", 2, [1, 2]),
        ("f([&] {\n g(\n1);\n});", 2, [2, 3]), ("a;\n/* b;\n */ c(\n d);", 4, [3, 4]),
        ("while (a\n  && b) c();", 2, [1, 2]),
    ],
)  # fmt: skip
def test_statements_end_where_they_do(text, line, around):
    assert list(outline_of(text).around(line)) == around
