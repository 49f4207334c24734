# SPDX-License-Identifier: MIT
import hashlib
import os
import stat
import warnings

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we

E4M3, E5M2, BF16 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.bfloat16


def field(out: str, label: str) -> str:
    """Return the text of a label in the summary, unwrapped."""
    texts, inside = [], False
    for line in out.splitlines():
        if not line.startswith(" "):
            inside = line.startswith(label + "  ")
            line = line.removeprefix(label)
        if inside:
            texts.append(line.strip())
    return " ".join(texts)


def save(name: str, matrix: np.ndarray) -> np.ndarray:
    np.save(name, matrix)
    return matrix


def random(shape: tuple[int, int], dtype: object, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32).astype(dtype)


def test_d_equals_the_result_of_the_library(run, here):
    status, out, err = run("gemm", "a.npy", "b.npy", "-o", "d.npy")
    assert (status, err) == (0, "")
    d = np.load("d.npy", allow_pickle=False)
    assert d.dtype == np.float32 and d.tobytes() == we.gemm(np.load("a.npy"), np.load("b.npy")).tobytes()
    assert field(out, "A") == "a.npy: 6 x 5 f16"
    assert field(out, "B") == "b.npy: 5 x 7 f16"
    assert field(out, "D") == "d.npy: 6 x 7 float32"
    assert field(out, "computed by") == "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 on sm_90 (Hopper)"
    assert field(out, "known from").endswith("(measured)")
    assert field(out, "sha256") == hashlib.sha256(d.tobytes()).hexdigest()


def test_the_summary_counts_elements_that_numpy_computes_otherwise(run, here):
    a, b = np.zeros((1, 17), np.float16), np.zeros((17, 1), np.float16)
    a[0, 0] = b[0, 0] = 1
    a[0, 1:] = b[1:, 0] = 2.0**-13
    np.save("a.npy", a), np.save("b.npy", b)
    out = run("gemm", "a.npy", "b.npy", "-o", "d.npy", "--arch", "h200").out
    assert field(out, "A @ B") == "in float64: 1 of 1 elements differ; D[0, 0] is 0x3f800000, not 0x3f800002"


def test_the_summary_says_when_all_bits_are_numpys(run, here):
    np.save("a.npy", np.ones((2, 3), np.float16)), np.save("b.npy", np.ones((3, 2), np.float16))
    np.save("c.npy", np.ones((2, 2), np.float32))
    out = run("gemm", "a.npy", "b.npy", "--c", "c.npy", "-o", "d.npy").out
    assert field(out, "A @ B + C") == "in float64: the same bits in all 4 elements"
    assert field(out, "C") == "c.npy: 2 x 2 f32"
    assert np.load("d.npy").tolist() == [[4, 4], [4, 4]]


def test_large_products_and_integers_are_not_compared(run, here):
    np.save("a.npy", np.ones((256, 257), np.float16)), np.save("b.npy", np.ones((257, 256), np.float16))
    assert "A @ B" not in run("gemm", "a.npy", "b.npy", "-o", "d.npy").out
    np.save("a.npy", np.ones((2, 2), np.int8)), np.save("b.npy", np.ones((2, 2), np.int8))
    assert "A @ B" not in run("gemm", "a.npy", "b.npy", "-o", "d.npy").out
    assert np.load("d.npy").tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize(("dtype", "options"), [
    (BF16, ["--a-format", "bf16", "--b-format", "BF16"]),
    (BF16, ["--instr", "m16n8k8.f32.bf16.bf16.f32"]),
    (E4M3, ["--a-format", "e4m3", "--b-format", "e4m3"]),
    (E4M3, ["--instr", "m16n8k32.f32.e4m3.e4m3.f32"]),
    (E5M2, []),
    (E5M2, ["--a-format", "e5m2", "--instr", "m16n8k32.f32.e5m2.e5m2.f32"]),
])  # fmt: skip
def test_formats_that_npy_files_lose_are_named_or_implied(run, here, dtype, options):
    a, b = save("a.npy", random((4, 33), dtype)), save("b.npy", random((33, 3), dtype, 1))
    status, _, err = run("gemm", "a.npy", "b.npy", "-o", "d.npy", *options)
    assert (status, err) == (0, "")
    instr = options[options.index("--instr") + 1] if "--instr" in options else None
    assert np.load("d.npy").tobytes() == we.gemm(a, b, instr=instr).tobytes()


@pytest.mark.parametrize(("dtype", "name"), [(BF16, "bf16"), (np.float16, "f16"), (E4M3, "e4m3"), (E5M2, "e5m2")])
def test_raw_bits_give_the_same_as_values(run, here, dtype, name):
    a, b = random((4, 20), dtype), random((20, 3), dtype, 1)
    np.save("a.npy", a.view(f"u{a.itemsize}")), np.save("b.npy", b.view(f"u{b.itemsize}"))
    assert run("gemm", "a.npy", "b.npy", "-o", "d.npy", "--a-format", name, "--b-format", name).status == 0
    assert np.load("d.npy").tobytes() == we.gemm(a, b).tobytes()


def test_mixed_fp8_and_int4_files_work(run, here):
    a, b = save("a.npy", random((4, 32), E5M2)), save("b.npy", random((32, 3), E4M3, 1))
    assert run("gemm", "a.npy", "b.npy", "-o", "d.npy", "--b-format", "e4m3").status == 0
    assert np.load("d.npy").tobytes() == we.gemm(a, b).tobytes()
    ints = save("a.npy", np.arange(-8, 8).reshape(4, 4).astype(ml_dtypes.int4))
    assert run("gemm", "a.npy", "a.npy", "-o", "d.npy", "--a-format", "s4", "--b-format", "s4").status == 0
    values = ints.astype(np.int32)
    assert np.load("d.npy").tolist() == (values @ values).tolist()


def test_packed_four_bit_matrices_are_unpacked_along_k(run, here):
    np.save("a.npy", np.full((2, 3), 0x21, np.uint8)), np.save("b.npy", np.full((3, 2), 0xF1, np.uint8))
    assert run("gemm", "a.npy", "b.npy", "-o", "d.npy", "--a-format", "s4", "--b-format", "s4").status == 0
    assert np.load("d.npy").tolist() == [[-3, -3], [-3, -3]]


@pytest.mark.parametrize(("name", "stored", "dtype"), [
    ("bf16", np.uint16, BF16), ("e4m3", np.uint8, E4M3), ("e5m2", np.uint8, E5M2),
    ("f16", np.float16, np.float16), ("f64", np.float64, np.float64),
])  # fmt: skip
def test_d_is_stored_in_a_dtype_that_numpy_can_read(run, here, name, stored, dtype):
    out = run("gemm", "a.npy", "b.npy", "-o", "d.npy", "--out-format", name).out
    d = np.load("d.npy", allow_pickle=False)
    expected = we.gemm(np.load("a.npy"), np.load("b.npy"), out_dtype=dtype)
    assert d.dtype == stored and d.tobytes() == expected.tobytes()
    raw = f", the raw bits of {name} (NumPy has no such dtype)" if stored is not dtype else ""
    assert field(out, "D") == f"d.npy: 6 x 7 {d.dtype}{raw}"


def test_a_narrow_result_can_be_the_next_commands_input(run, here):
    run("gemm", "a.npy", "b.npy", "-o", "d.npy", "--out-format", "bf16")
    np.save("e.npy", random((7, 2), BF16))
    assert run("gemm", "d.npy", "e.npy", "-o", "f.npy", "--a-format", "bf16", "--b-format", "bf16").status == 0
    assert np.load("f.npy").shape == (6, 2)


def test_instruction_chip_lowering_and_engine_reach_the_library(run, here):
    a, b = save("a.npy", random((16, 64), E5M2)), save("b.npy", random((64, 8), E5M2, 1))
    instr = "m16n8k32.f32.e5m2.e5m2.f32"
    seen = set()
    for options in ({"arch": "l40s"}, {"arch": "h100"}, {"arch": "h100", "lowering": "ptxas-12.4"}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", we.UnverifiedModelWarning)
            expected = we.gemm(a, b, instr=instr, **options).tobytes()
        flags = [x for key, value in options.items() for x in (f"--{key}", value)]
        for engine in ("auto", "numpy", "reference"):
            command = ("gemm", "a.npy", "b.npy", "-o", "d.npy", "--instr", instr, "--engine", engine, *flags)
            assert run(*command).status == 0
            assert np.load("d.npy").tobytes() == expected
        seen.add(expected)
    assert len(seen) >= 2


def test_the_cuda_core_baseline_has_a_name(run, here):
    a, b = save("a.npy", random((3, 4), np.float32)), save("b.npy", random((4, 2), np.float32, 1))
    status, out, err = run("gemm", "a.npy", "b.npy", "-o", "d.npy", "--instr", "fma.f32", "--arch", "t4")
    assert (status, err) == (0, "")
    assert field(out, "computed by") == "fma.f32 on sm_75 (Turing)"
    assert np.load("d.npy").tobytes() == we.gemm(a, b, instr="fma.f32").tobytes()


def test_batches_byte_orders_and_fortran_order_are_read(run, here):
    a, b = random((6, 5), np.float16), random((5, 7), np.float16, 1)
    expected = we.gemm(a, b)
    np.save("a.npy", np.asfortranarray(a)), np.save("b.npy", b.astype(">f2"))
    assert run("gemm", "a.npy", "b.npy", "-o", "d.npy").status == 0
    assert np.load("d.npy").tobytes() == expected.tobytes()
    np.save("a.npy", np.stack([a, -a]))
    assert field(run("gemm", "a.npy", "b.npy", "-o", "d.npy").out, "D") == "d.npy: 2 x 6 x 7 float32"
    assert np.load("d.npy")[0].tobytes() == expected.tobytes()


def test_an_unverified_model_is_one_line_on_standard_error(run, here):
    status, out, err = run("gemm", "a.npy", "b.npy", "-o", "d.npy", "--arch", "t4")
    assert status == 0 and err.count("\n") == 1
    assert err.startswith("warning: mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 on sm_75: ")
    assert field(out, "known from").endswith("(literature)")


def test_d_replaces_an_older_file_and_keeps_its_symbolic_link(run, here):
    (here / "old.npy").write_bytes(b"old")
    os.symlink("old.npy", "link.npy")
    assert run("gemm", "a.npy", "b.npy", "-o", "link.npy").status == 0
    assert os.path.islink("link.npy") and np.load("old.npy").shape == (6, 7)
    assert sorted(os.listdir()) == ["a.npy", "b.npy", "link.npy", "old.npy"]


def test_d_has_the_permissions_of_any_new_file(run, here):
    run("gemm", "a.npy", "b.npy", "-o", "d.npy")
    (here / "other").touch()
    assert stat.S_IMODE(os.stat("d.npy").st_mode) == stat.S_IMODE(os.stat("other").st_mode)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
@pytest.mark.parametrize("name", ["d.npy", "link.npy"])
def test_d_keeps_the_permissions_of_the_file_that_it_replaces(run, here, mode, name):
    (here / "d.npy").write_bytes(b"old")
    (here / "d.npy").chmod(mode)
    os.symlink("d.npy", "link.npy")
    assert run("gemm", "a.npy", "b.npy", "-o", name).status == 0
    assert np.load("d.npy").shape == (6, 7) and stat.S_IMODE(os.stat("d.npy").st_mode) == mode


def test_inputs_are_never_changed(run, here):
    before = {x: (here / x).read_bytes() for x in ("a.npy", "b.npy")}
    run("gemm", "a.npy", "b.npy", "-o", "d.npy")
    assert before == {x: (here / x).read_bytes() for x in before}


def test_a_file_name_that_cannot_be_printed_is_escaped(run, here):
    name = b"n\xff\x1b\n.npy".decode("utf-8", "surrogateescape")
    try:
        (here / "a.npy").rename(name)
    except OSError:
        pytest.skip("this file system refuses such names")
    status, out, _ = run("gemm", name, "b.npy", "-o", "d.npy")
    assert status == 0 and "\x1b" not in out
    assert run("gemm", "no" + name, "b.npy", "-o", "d.npy").err == (
        "wmma-emu: error: non\\udcff\\x1b .npy: No such file or directory\n"
    )


def test_packed_files_are_shown_with_the_elements_that_they_hold(run, here):
    save("packed_a.npy", np.full((4, 32), 0xFF, np.uint8))
    save("packed_b.npy", np.full((32, 4), 0xFF, np.uint8))
    words = "gemm packed_a.npy packed_b.npy -o d.npy --a-format s4 --b-format s4 --arch a100"
    status, out, _ = run(*words.split())
    assert status == 0
    assert field(out, "A") == "packed_a.npy: 4 x 64 s4 (packed, 2 per byte along k)"
    assert field(out, "B") == "packed_b.npy: 64 x 4 s4 (packed, 2 per byte along k)"
    assert (np.load("d.npy") == 64).all()
