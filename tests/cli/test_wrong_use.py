# SPDX-License-Identifier: MIT
"""Every wrong use is one line on standard error, exit status 2, and no file."""

import errno
import os
import pickle
import re

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.arithmetic import check_engine
from wmma_emu.errors import WmmaEmuError
from wmma_emu.formats.dtypes import to_bits
from wmma_emu.instructions import arch_of, lookup

HEADER = b"\x93NUMPY\x01\x00v\x00"
SHAPES = (
    "m8n8k4, m16n8k8, m16n8k16, m16n8k4, m16n8k32, m16n8k64, m8n8k16, m8n8k32, m8n8k128, m16n8k128, m16n8k256, "
    "m16n16k16, m32n8k16, m8n32k16, m16n16k8, m64nNk16, m64nNk8, m64nNk32, m64nNk256, m64nNk64"
)
COMMANDS = (
    "list, show, layout, where, what, schedule, chips, explore, handout, gemm, explain, compare, quantise, ptx, "
    "run, finding, crosscheck, doctor, completion, help, version"
)
INSTR = "INSTR: PTX mnemonic, as in m16n8k16.f32.f16.f16.f32, wmma.mma.m16n16k16.f32.f32 or wgmma.m64n64k16.f32.f16.f16"
OPERANDS = "f32, f16, bf16, tf32, e4m3, e5m2, e3m2, e2m3, e2m1, f64, s8, u8, s4, u4, b1"


def npy(fields: str, data: bytes = b"") -> bytes:
    return HEADER + fields.encode().ljust(117) + b"\n" + data


@pytest.fixture
def files(here):
    """Fill the directory with files that are not matrices, of every kind."""
    f16 = (here / "a.npy").read_bytes()
    np.save("objects.npy", np.array([[1, None]], object), allow_pickle=True)
    np.savez("archive.npz", a=np.ones((2, 2)))
    np.save("records.npy", np.zeros((2, 2), [("x", "f4")]))
    np.save("vector.npy", np.ones(5, np.float16))
    np.save("text.npy", np.full((6, 5), "x"))
    np.save("double.npy", np.ones((5, 7)))
    np.save("float.npy", np.ones((5, 7), np.float32))
    np.save("int64.npy", np.ones((6, 5), np.int64))
    np.save("bytes.npy", np.ones((6, 5), np.uint16))
    np.save("bfloat.npy", np.ones((6, 5), ml_dtypes.bfloat16))
    np.save("fp8.npy", np.ones((6, 5), ml_dtypes.float8_e4m3fn))
    np.save("tall.npy", np.ones((1 << 20, 1), np.float16))
    np.save("wide.npy", np.ones((1, 1 << 23), np.float16))
    contents = {
        "empty.npy": b"",
        "kernel.ptx": b".version 8.0 .target sm_80 .address_size 64 .visible .entry f(.param .u64 p) { ret; }",
        "words.npy": b"hello, world",
        "pickle.npy": pickle.dumps([1]),
        "cut.npy": f16[:-5],
        "header.npy": f16[:40],
        "magic.npy": f16[:7],
        "version.npy": f16[:6] + b"\x09" + f16[7:],
        "long.npy": b"\x93NUMPY\x02\x00\xff\xff\xff\xff",
        "negative.npy": npy("{'descr': '<f2', 'fortran_order': False, 'shape': (-6, 5), }"),
        "dtype.npy": npy("{'descr': '<q9', 'fortran_order': False, 'shape': (6, 5), }"),
        "huge.npy": npy("{'descr': '<f2', 'fortran_order': False, 'shape': (1000000, 1000000), }"),
        "c.npy": f16,
        "fields.npy": npy("{'descr': '<f2'}"),
        "order.npy": npy("{'descr': '<f2', 'fortran_order': 'False', 'shape': (6, 5), }", bytes(60)),
        "number.npy": npy("{'descr': '<f2', 'fortran_order': 0, 'shape': (6, 5), }", bytes(60)),
        "typeless.npy": npy("{'descr': None, 'fortran_order': False, 'shape': (6, 5), }", bytes(240)),
        "newline.npy": npy(r"{'descr': '\n', 'fortran_order': False, 'shape': (6, 5), }", bytes(240)),
        "raw.npy": npy("{'descr': b'<f2', 'fortran_order': False, 'shape': (6, 5), }", bytes(60)),
        "axes.npy": npy(f"{{'descr':'<f2','fortran_order':False,'shape':({'1,' * 33})}}", bytes(2)),
        "void.npy": npy(f"{{'descr': '<f2', 'fortran_order': False, 'shape': ({2**62}, 0), }}"),
    }
    for name, content in contents.items():
        (here / name).write_bytes(content)
    (here / "folder").mkdir()
    os.mkfifo("pipe.npy")
    os.symlink("a.npy", "link.npy")
    return here


ARRAYS = (
    "name the file of each array that the kernel writes in its argument: --arg y.npy=zeros:f32:1024 for a new one, "
    "--arg y.npy=x.npy "
    "for one initialised from x.npy; --arg -=x.npy writes to standard output"
)
TENSOR_NAMES = (
    "are not in the list: name one in full, by kind, sizes and formats, as in "
    "tcgen05.mma.cta_group::1.kind::f16.m128n256k16.f32.f16.f16, which show, handout and the explorer accept; "
    "wmma_emu.tcgen05 executes them"
)


def gemm(text: str) -> list[str]:
    return ["gemm", *text.split(), "-o", "d.npy"]


RUN = ["ptx", "run", "kernel.ptx", "--grid", "1", "--block", "32"]
NO_INSTRUCTION = "names no instruction, chip, format or shape"
WORDS = (
    "name an instruction, as in m16n8k16.f32.f16.f16.f32 or HMMA.16816.F32; or words that instructions match, as in "
    "bf16 m16n8k16 h100"
)
F16, VOLTA = "m16n8k16.f32.f16.f16.f32", "m8n8k4.f32.f16.f16.f32"


def where(text: str, instruction: str = F16) -> list[str]:
    return ["where", instruction, "--operand", "A", *text.split()]


def what(text: str) -> list[str]:
    return ["what", F16, "--operand", "A", *text.split()]


WRONG = [
    # the command line
    (["shwo"], "'shwo' is not a command; did you mean show? (wmma-emu help lists all commands)"),
    (["matmull"], "'matmull' is not a command; did you mean gemm? (wmma-emu help lists all commands)"),
    (["nope"], f"'nope' is not a command; the commands are {COMMANDS}"),
    (["nonsense"], f"'nonsense' is not a command; the commands are {COMMANDS}"),
    (["help", "nonsense"], f"'nonsense' is not a command; the commands are {COMMANDS}"),
    (["ptx", "run", "k.ptx", "--grid", "1", "--block", "1", "-o", "y.npy"], f"ptx run has no option '-o'; {ARRAYS}"),
    (["handout", F16, "-o", "sheets/"], "sheets/: the directory does not exist; name a file, such as handout.html, "
                                        "or create the "
     "directory first"),
    (["handout", F16, "-o", "folder/"], "folder/: a directory; name a file in it, such as folder/handout.html"),
    (["list", "tcgen05"], f"'tcgen05' names many instructions, which {TENSOR_NAMES}"),
    (["show", "UMMA"], f"'UMMA' names many instructions, which {TENSOR_NAMES}"),
    (gemm("a.npy b.npy --out-format float"), "--out-format 'float' is f32 in C++ and f64 in Python and NumPy; write "
     "the format itself"),
    (["--arch", "h100"], f"a command comes first, before '--arch'; the commands are {COMMANDS} (wmma-emu --help "
                         f"describes "
     "them)"),
    (["list", "bf16", "nothing"], f"'nothing' {NO_INSTRUCTION}; {WORDS}"),
    (["show", "foo"], f"'foo' {NO_INSTRUCTION}; {WORDS}"),
    (["list", "hoper"], f"'hoper' {NO_INSTRUCTION}; did you mean hopper? N{WORDS[1:]}"),
    (["show", "wgma"], f"'wgma' {NO_INSTRUCTION}; did you mean wgmma? N{WORDS[1:]}"),
    (["compare", "a100", "x100"], lambda: arch_of("x100")),
    (["crosscheck", "--familes", "normal"], "crosscheck has no option '--familes'; it has --help, --instr, --count, "
     "--per-group, --generators, --seed, --state, --report, --rows, --workers, --arch, --dry-run, --verbose; did you "
     "mean --generators?"),
    (gemm("a.npy b.npy --k-order 3"), "gemm has no option '--k-order'; in Python, the keyword k_order= of "
     "wmma_emu.gemm takes the order of k, a wmma_emu.KOrder"),
    (["compare", "a.npy", "b.npy", "--k-order", "3"], "compare has no option '--k-order'; in Python, the keyword "
     "k_order= of wmma_emu.compare_archs takes the order of k, a wmma_emu.KOrder"),
    (gemm("a.npy b.npy --qrst 3"), "gemm has no option '--qrst'; it has --help, --output, --c, --instr, --arch, "
     "--a-format, --b-format, --lowering, --model, --scale-a, --scale-b, --out-format, --engine, --threads, "
     "--verbose"),
    (gemm("a.npy b.npy --out-dtype fp8"), "--out-dtype 'fp8' is not one of f64, f32, bf16, f16, e4m3, e5m2, e3m2, "
     "e2m3, e2m1; did you mean e4m3 or e5m2?"),
    (["gemm", "a.npy", "b.npy", "--out-dtype"], "gemm: a value is missing after --out-dtype: round D again, to "
     "nearest even, as in f16, bf16"),
    (["ptx", "run", "none.cu"], "none.cu: No such file or directory"),
    (["ptx", "run", "kernel.ptx"], "ptx run needs --grid: blocks of the grid; --block: threads of a block"),
    (["ptx", "kernel.pxt"], "ptx has no action 'kernel.pxt'; its actions are explain, run, profile, tensor-map, and "
     "the name of a file ends in .ptx or .cu"),
    ([*RUN, "--arg", "none.npy"], "--arg 'none.npy': there is no such file; --arg none.npy=zeros:f32:1024 passes "
     "1024 zeros, and writes them to the file after the launch"),
    ([*RUN, "--checks", "race"], "--checks 'race' is not a check; did you mean 'races'? The checks are memory, "
     "undefined, races, synchronisation"),
    ([*RUN, "--silence", "rase at 3: x"], "--silence 'rase at 3: x': 'rase' is not a kind of finding; did you mean "
     "'race'? Kinds are out of bounds, misaligned, uninitialised, partly uninitialised, read-only, race, race of an "
     "unused value, race within a warp, lanes store to one place, race of equal bytes, missing wait, mbarrier "
     "not initialised, over-arrival, transaction bytes, wrong parity, missing proxy fence, omitted proxy fence, stale "
     "tensor map, copy by several lanes, copy in flight at the end, load in flight at the end, barrier "
     "divergence, barriers at several instructions, partial warp, illegal metadata, illegal operand"),
    (["gemm", "a.npy", "b.npy", "h100"], "gemm takes no further argument 'h100'; did you mean --arch h100?"),
    (["gemm", "a.npy", "b.npy", "c.npy"], "gemm takes no further argument 'c.npy'; did you mean --c c.npy?"),
    (["list", "--typ", "f16"], "list has no option '--typ'; it has --help, --type, --shape, --arch, --family, "
     "--format, --output, --verbose; did you mean --type?"),
    (["list", "--type"], "list: a value is missing after --type: format of A or B (f32 and s32: of C or D), "
     "as in bf16 or fp8"),
    (["show"], f"show needs {INSTR}"),
    (["gemm", "a.npy", "-o", "d.npy"], "gemm needs B.npy: file of B, (..., K, N)"),
    (["gemm", "a.npy", "b.npy", "-o", "d.npy", "--outformat=f16"], "gemm has no option '--outformat'; it has "
     "--help, --output, --c, --instr, --arch, --a-format, --b-format, --lowering, --model, --scale-a, --scale-b, "
     "--out-format, --engine, --threads, --verbose; did you mean --out-format?"),
    # filters and names
    (["list", "--type", "f17"], "--type 'f17' is not one of f16, bf16, tf32, e4m3, e5m2, e3m2, e2m3, e2m1, "
     "f64, s8, u8, s4, u4, b1, f32, s32; did you mean f16?"),
    (["list", "--shape", "m16n8k15"], f"--shape 'm16n8k15' is not one of {SHAPES}; did you mean m16n8k16?"),
    (["list", "--shape", "?"], f"--shape '?' is not one of {SHAPES}"),
    (["list", "--family", "wmmma"], "--family 'wmmma' is not one of mma.sync, wmma.mma, mma.sp, "
     "mma.sp::ordered_metadata, wgmma, wgmma.sp; did you mean wmma?"),
    (["list", "--format", "xml"], "--format 'xml' is not one of table, csv, json, markdown"),
    (["list", "--arch", "hoper"], lambda: arch_of("hoper")),
    (["show", "m16n8k16.f32.f16.f16.f32", "--arch", "sm_61"], lambda: arch_of("sm_61")),
    (["show", "m16n8k16.f16.bf16.bf16.f16"], lambda: lookup("m16n8k16.f16.bf16.bf16.f16")),
    (["show", "m16n8k16.f32.bf16.bf16.f32", "--arch", "t4"], lambda: lookup("m16n8k16.f32.bf16.bf16.f32", "t4")),
    (["show", ""], lambda: lookup("")),
    # positions of elements
    (["layout"], f"layout needs {INSTR}"),
    (["layout", F16, "A", "--operand", "B"], "A and --operand B name two operands; name only one"),
    (["layout", F16, "--svg"], "a picture shows one operand; name it after the instruction, as in A, or add "
     "--format html"),
    (["layout", F16, "--register", "1"], "--register requires one operand; name it after the instruction, as in A"),
    (["layout", F16, "E"], "'E' is not an operand; the operands are A, B, C, D, and with block scales scale_a and "
                           "scale_b"),
    (["lane", "5"], "the instruction is missing; it comes first, as in wmma-emu what m16n8k16.f32.f16.f16.f32 A 5"),
    (["list", "nvfp4", "b200"], "sm_100 has nothing that 'nvfp4' means; chips that support it are sm_120, sm_121; "
                                "sm_100 "
     "also supports tcgen05.mma, whose operands are in tensor memory (wmma_emu.tcgen05)"),
    (["where", F16, "Q", "1", "2"], "'Q' is not an operand; the operands are A, B, C, D, and with block scales "
     "scale_a and scale_b"),
    (where("1 2 --row 3"), "2 numbers are given in addition to --row and --col; give each only once"),
    (["layout", F16, "--operand"], "layout: a value is missing after --operand: A, B, C or D"),
    (["layout", F16, "--operand", "E"], "--operand 'E' is not one of A, B, C, D"),
    (["layout", F16, "--operand", ""], "--operand '' is not one of A, B, C, D"),
    (["layout", F16, "--operand", "A", "--format", "picture"],
     "--format 'picture' is not one of grid, svg, html, png, tex, tikz, table, csv, json, markdown, cute, c, python"),
    (["layout", F16, "--operand", "A", "--lane", "32"], "--lane 32: a warp has 32 lanes; legal values are 0 to 31"),
    (["layout", F16, "--operand", "A", "--lane=-1"], "--lane -1: a warp has 32 lanes; legal values are 0 to 31"),
    (["layout", F16, "--operand", "A", "--row", "1"], "--row 1 is only half of an element's position; add --col"),
    (["layout", F16, "--operand", "A", "--rows", "1"], "layout has no option '--rows'; it has --help, --operand, "
     "--byte-id, --thread-id, --arch, --lane, --register, --row, --col, --view, --format, --output, --verbose; did "
     "you mean --row?"),
    (["layout", "m16n8k16.f16.bf16.bf16.f16", "--operand", "A"], lambda: lookup("m16n8k16.f16.bf16.bf16.f16")),
    (["layout", F16, "--operand", "A", "--arch", "t4"], lambda: lookup(F16, "t4")),
    (["layout", F16, "--operand", "A", "--arch", "sm_61"], lambda: arch_of("sm_61")),
    (where("--row 1"), "where needs --col: the position of an element of the operand's matrix, counted from 0"),
    (where("--row 16 --col 3"), "--row 16: A has 16 rows; legal values are 0 to 15"),
    (where("--row 9 --col 16"), "--col 16: A has 16 columns; legal values are 0 to 15"),
    (where("--row -1 --col 0"), "--row -1: A has 16 rows; legal values are 0 to 15"),
    (where("--row x --col 0"), "--row 'x': A has 16 rows; legal values are 0 to 15"),
    (where("--row 1.0 --col 0"), "--row '1.0': A has 16 rows; legal values are 0 to 15"),
    (where(f"--row {'9' * 5000} --col 0"), f"--row {'9' * 80}...: A has 16 rows; legal values are 0 to 15"),
    (where("--row \u0663 --col 0"), "--row '\u0663': A has 16 rows; legal values are 0 to 15"),
    (where("--row 0 --col 0 --matrix 1"), f"--matrix 1: {F16} computes a single product; the only legal value is 0"),
    (where("--row 0 --col 0 --matrix 4", VOLTA), f"--matrix 4: {VOLTA} computes 4 independent products; legal values "
                                                 f"are "
     "0 to 3"),
    (where("--row 0 --col 0 --format grid"), "--format 'grid' is not one of table, csv, json, markdown"),
    (what(""), "what needs --lane: 0 to 31, or 0 to 127 for wgmma"),
    (what("--lane 99 --register 0"), "--lane 99: a warp has 32 lanes; legal values are 0 to 31"),
    (what("--lane 5 --register 4"), "--register 4: a lane holds A in 4 registers; legal values are 0 to 3"),
    (["what", "m16n8k4.f32.tf32.tf32.f32", "--operand", "b", "--lane", "5", "--register", "1"],
     "--register 1: a lane holds B in 1 register; the only legal value is 0"),
    # files
    (gemm("none.npy b.npy"), "none.npy: No such file or directory"),
    (gemm("a.npy none/b.npy"), "none/b.npy: No such file or directory"),
    (gemm("a.npy b.npy --c none.npy"), "none.npy: No such file or directory"),
    (["gemm", "a\0.npy", "b.npy", "-o", "d.npy"], "'a\\x00.npy' is not a file name; name one to read, such as A.npy"),
    (gemm("folder b.npy"), "folder: Is a directory"),
    (gemm("pipe.npy b.npy"), "pipe.npy: not a regular file; save the matrix with numpy.save"),
    (gemm("empty.npy b.npy"), "empty.npy: the file is empty; save the matrix with numpy.save"),
    (gemm("words.npy b.npy"), "words.npy: not a .npy file, and nothing else is read; save the matrix with numpy.save"),
    (gemm("pickle.npy b.npy"), "pickle.npy: not a .npy file, and nothing else is read; save the matrix with "
     "numpy.save"),
    (gemm("archive.npz b.npy"), "archive.npz: an archive (.npz) holds many arrays; save one matrix with numpy.save"),
    (gemm("objects.npy b.npy"), "objects.npy: it holds pickled objects, which are never read; save a matrix of "
     "numbers"),
    (gemm("records.npy b.npy"), "records.npy: its elements are records ([('x', '<f4')]); save one field alone"),
    (gemm("cut.npy b.npy"), "cut.npy: not a whole .npy file: shape (6, 5) of float16 takes 60 bytes, but the file "
                            "has 55"),
    (gemm("huge.npy b.npy"), "huge.npy: not a whole .npy file: shape (1000000, 1000000) of float16 takes "
     "2000000000000 bytes, but the file has 0"),
    (gemm("header.npy b.npy"), "header.npy: not a whole .npy file: its header cannot be read"),
    (gemm("fields.npy b.npy"), "fields.npy: not a whole .npy file: its header cannot be read"),
    (gemm("magic.npy b.npy"), "magic.npy: not a whole .npy file: unknown version"),
    (gemm("version.npy b.npy"), "version.npy: not a whole .npy file: unknown version"),
    (gemm("long.npy b.npy"), "long.npy: not a whole .npy file: its header has 4294967295 bytes"),
    (gemm("negative.npy b.npy"), "negative.npy: not a whole .npy file: its shape is (-6, 5)"),
    (gemm("dtype.npy b.npy"), "dtype.npy: NumPy has no dtype '<q9'"),
    (gemm("order.npy b.npy"), "order.npy: not a whole .npy file: its fortran_order is 'False', not True or "
     "False"),
    (gemm("number.npy b.npy"), "number.npy: not a whole .npy file: its fortran_order is 0, not True or False"),
    (gemm("typeless.npy b.npy"), "typeless.npy: NumPy has no dtype None"),
    (gemm("newline.npy b.npy"), "newline.npy: NumPy has no dtype '\\n'"),
    (gemm("raw.npy b.npy"), "raw.npy: NumPy has no dtype b'<f2'"),
    (gemm("axes.npy b.npy"), "axes.npy: it has 33 axes; save a matrix of at most 32"),
    (gemm("void.npy b.npy"), "void.npy: shape (4611686018427387904, 0) is empty, with axes too long for any array"),
    (["gemm", "", "b.npy", "-o", "d.npy"], "'' is not a file name; name one to read, such as A.npy"),
    (["gemm", "a.npy", "", "-o", "c.npy"], "'' is not a file name; name one to read, such as A.npy"),
    (["gemm", "a.npy", "b.npy", "-o", "c.npy", "--c", ""], "'' is not a file name; name one to read, such as A.npy"),
    (["gemm", "a\0.npy", "b.npy", "-o", "c.npy"], "'a\\x00.npy' is not a file name; name one to read, such as A.npy"),
    # what the files hold
    (gemm("a.npy a.npy"), "A has shape (6, 5) and B (6, 5): K is 5 in A and 6 in B; B.T would fit"),
    (gemm("vector.npy b.npy"), lambda: we.gemm(np.ones(5, np.float16), np.ones((5, 7), np.float16))),
    (gemm("a.npy b.npy --c b.npy"), lambda: to_bits(np.ones(1, np.float16), "f32", "C")),
    (gemm("a.npy b.npy --c float.npy"), "C has shape (5, 7); A B has shape (6, 7)"),
    (gemm("a.npy b.npy --c bfloat.npy"), "bfloat.npy: the file does not say the format of its 2-byte elements; "
     "save it with a NumPy dtype"),
    (gemm("bfloat.npy b.npy"), "bfloat.npy: the file does not say the format of its 2-byte elements; name it: "
     "--a-format bf16"),
    (gemm("bfloat.npy b.npy --instr m16n8k16.f32.f16.f16.f32"), "bfloat.npy: the file does not say the format of "
     "its 2-byte elements; name it: --a-format bf16"),
    (gemm("a.npy fp8.npy"), "fp8.npy: the file does not say the format of its 1-byte elements; name it: "
     "--b-format e4m3, s4 or u4"),
    (gemm("fp8.npy b.npy --a-format bf16"), "fp8.npy: |V1 does not hold bf16, whose dtype bfloat16 takes 2 bytes"),
    (gemm("bytes.npy b.npy"), "bytes.npy: uint16 elements are the raw bits of a format; name it: --a-format bf16 or "
                              "f16"),
    (gemm("a.npy double.npy"), "no mma.sync multiplies f16 times f64; f16 multiplies f16"),
    # the requested computation
    (gemm("a.npy b.npy --a-format fp8"), f"--a-format 'fp8' is not one of {OPERANDS}; did you mean e4m3 or e5m2?"),
    (gemm("a.npy b.npy --b-format bf61"), f"--b-format 'bf61' is not one of {OPERANDS}; did you mean bf16?"),
    (gemm("a.npy b.npy --out-format tf32"), "--out-format 'tf32' is not one of f64, f32, bf16, f16, e4m3, e5m2, "
     "e3m2, e2m3, e2m1; did you mean f32?"),
    (gemm("a.npy b.npy --arch pascal"), lambda: arch_of("pascal")),
    (["gemm", "a.npy", "b.npy", "-o", "d.npy", "--arch", ""], lambda: arch_of("")),
    (gemm("a.npy b.npy --engine cuda"), lambda: check_engine("cuda")),
    (gemm("a.npy b.npy --lowering x"), "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 on sm_90 has no lowering "
     "'x'; it has 'native'"),
    (gemm("tall.npy wide.npy"), lambda: we.gemm(np.ones((1 << 20, 1), np.float16), np.ones((1, 1 << 23), np.float16))),
    # where the result goes
    (["gemm", "a.npy", "b.npy", "-o", "a.npy"], "a.npy is also an input; name another file to write"),
    (["gemm", "a.npy", "b.npy", "-o", "link.npy"], "link.npy is also an input; name another file to write"),
    (["gemm", "a.npy", "b.npy", "--c", "c.npy", "-o", "./b.npy"],
     "./b.npy is also an input; name another file to write"),
    (["gemm", "a.npy", "b.npy", "-o", "folder"], "folder: a directory; name a file in it, such as folder/D.npy"),
    (["gemm", "a.npy", "b.npy", "-o", ""], "'' is not a file name; name one to write, such as D.npy"),
    (["gemm", "a.npy", "b.npy", "-o", "pipe.npy"], "pipe.npy: not a regular file; name one to write, such as D.npy"),
    (["gemm", "a.npy", "b.npy", "-o", "/dev/null"], "/dev/null: not a regular file; name one to write, such as "
     "D.npy"),
    (["gemm", "a.npy", "b.npy", "-o", "d\0.npy"], "'d\\x00.npy' is not a file name; name one to write, such as D.npy"),
]  # fmt: skip


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize(("argv", "line"), WRONG, ids=lambda x: " ".join(x)[:60] if isinstance(x, list) else "")
def test_wrong_use_is_one_line_and_status_two(run, files, argv, line):
    if callable(line):  # what the library says, word for word
        with pytest.raises(WmmaEmuError) as error:
            line()
        line = str(error.value)
    before = sorted(os.listdir())
    assert run(*argv) == (2, "", f"wmma-emu: error: {line}\n")
    assert sorted(os.listdir()) == before


def test_a_missing_directory_is_named_in_full(run, here):
    status, _, err = run("gemm", "a.npy", "b.npy", "-o", "none/d.npy")
    assert (status, err) == (
        2,
        f"wmma-emu: error: none/d.npy: the directory {here.resolve()}/none does not exist; create it first\n",
    )


def test_float32_has_to_name_its_instruction(run, files):
    _, out, err = run("gemm", "float.npy", "float.npy", "-o", "d.npy")
    assert out == "" and err.count("\n") == 1
    assert "--instr 'm16n8k8.f32.tf32.tf32.f32'" in err.replace('"', "'") and "instr=" not in err


def test_a_file_that_cannot_be_read_is_an_error(run, here, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("wmma_emu.cli.matrices.os.open", refuse)
    assert run("gemm", "a.npy", "b.npy", "-o", "d.npy") == (2, "", "wmma-emu: error: a.npy: Permission denied\n")


def test_a_directory_that_cannot_be_written_to_is_an_error(run, here, monkeypatch):
    monkeypatch.setattr("wmma_emu.cli.matrices.os.access", lambda *_: False)
    assert run("gemm", "a.npy", "b.npy", "-o", "d.npy") == (
        2, "", f"wmma-emu: error: d.npy: no permission to write in {here.resolve()}\n",
    )  # fmt: skip


@pytest.mark.parametrize(("error", "status", "line"), [
    (OSError(28, "No space left on device"), 2, "wmma-emu: error: d.npy: No space left on device\n"),
    (KeyboardInterrupt(), 130, ""),
    (MemoryError(), 2, "wmma-emu: error: not enough memory\n"),
])  # fmt: skip
@pytest.mark.parametrize("where", ["numpy.save", "os.replace"])
def test_no_file_is_left_when_writing_fails(run, here, monkeypatch, where, error, status, line):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(where, fail)
    assert run("gemm", "a.npy", "b.npy", "-o", "d.npy") == (status, "", line)
    assert sorted(os.listdir()) == ["a.npy", "b.npy"]


def test_an_older_result_survives_a_failure(run, here, monkeypatch):
    (here / "d.npy").write_bytes(b"old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError(5, "Input/output error")))
    assert run("gemm", "a.npy", "b.npy", "-o", "d.npy").status == 2
    assert (here / "d.npy").read_bytes() == b"old" and len(os.listdir()) == 3


@pytest.mark.parametrize("when", ["wmma_emu.cli.product.gemm", "wmma_emu.cli.inputs.read_matrix"])
def test_an_interrupt_is_quiet_and_leaves_nothing(run, here, monkeypatch, when):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(when, interrupt)
    assert run("gemm", "a.npy", "b.npy", "-o", "d.npy") == (130, "", "")
    assert sorted(os.listdir()) == ["a.npy", "b.npy"]


@pytest.mark.parametrize("text", ["", "Unable to allocate 1 TiB", "two\nlines\x1b"])
def test_memory_that_the_library_lacks_is_one_line_and_status_two(run, here, monkeypatch, text):
    def fail(*_, **__):
        raise MemoryError(text)

    monkeypatch.setattr("wmma_emu.cli.product.gemm", fail)
    status, out, err = run("gemm", "a.npy", "b.npy", "-o", "d.npy")
    assert (status, out) == (2, "") and err.count("\n") == 1
    assert err.startswith("wmma-emu: error: not enough memory") and err.rstrip("\n").isprintable()
    assert sorted(os.listdir()) == ["a.npy", "b.npy"]


@pytest.mark.parametrize("limit", [64, 4096])
def test_a_full_disk_is_reported_in_the_systems_words_and_leaves_no_part_of_a_file(run, here, limit):
    resource = pytest.importorskip("resource")
    np.save("a.npy", np.ones((64, 64), np.float16))
    before, limits = sorted(os.listdir()), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limits[1]))  # what can be made to fail as a full disk does
    try:
        found = run("gemm", "a.npy", "a.npy", "-o", "d.npy")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert found == (2, "", f"wmma-emu: error: d.npy: {os.strerror(errno.EFBIG)}\n")
    assert sorted(os.listdir()) == before


def test_memory_that_no_machine_has_is_one_line_with_the_limit(run, here, monkeypatch):
    monkeypatch.setattr("wmma_emu.formats.memory_limit.memory_of_machine", lambda: 16)
    status, out, err = run("gemm", "a.npy", "b.npy", "-o", "d.npy")
    assert (status, out) == (2, "") and "not enough memory" not in err
    assert re.fullmatch(
        r"wmma-emu: error: D of shape \(.*\) takes 1 GiB, and this machine has .* process it in parts\n", err
    )
