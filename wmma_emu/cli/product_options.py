# SPDX-License-Identifier: MIT
"""Options of the commands about matrices in files: `gemm`, `explain`, `compare`, `quantise`; and of `crosscheck`."""

import argparse

from wmma_emu.cli.choices import CHIP, EXPLAIN_FORMATS, REPORT_FORMATS, add_engine, add_format, add_output, option


def add_gemm(parser: argparse.ArgumentParser) -> None:
    """`gemm`."""
    _add_files(parser, "..., ")
    option(parser, "-o", "--output", completes="file", metavar="D.npy", help="where D is written, (..., M, N); - is "
        "standard output, only to a pipe; only a summary if left out")  # fmt: skip
    _add_matrices(parser, "..., ")
    option(parser, "--out-format", completes="type", metavar="F",
        help="round D again, to nearest even, as in f16, bf16")  # fmt: skip
    add_engine(parser)
    option(parser, "--threads", metavar="N", help="the most threads to use; chosen automatically if left out")


def add_explain(parser: argparse.ArgumentParser) -> None:
    """`explain`."""
    _add_files(parser, "")
    option(parser, "numbers", metavar="R C", nargs="*", help="row and column, the same as --row and --col")
    option(parser, "--row", metavar="R", help="row of the element of D, from 0")
    option(parser, "--col", metavar="C", help="column of the element of D, from 0")
    _add_matrices(parser, "")
    add_format(parser, EXPLAIN_FORMATS, "text (default), json, html (a page) or svg (a picture)")
    option(parser, "--step", metavar="N",
        help="for html and svg, one step alone, from 1; all if left out, or a selection of many")  # fmt: skip
    add_output(parser)


def add_compare(parser: argparse.ArgumentParser) -> None:
    """`compare`."""
    option(parser, "words", metavar="A.npy B.npy", nargs="+", completes="matrix or chip",
        help="files of A, (..., M, K), and of B, (..., K, N), then chips, the same as --archs; or two chips "
        "alone, whose differences are listed")  # fmt: skip
    _add_matrices(parser, "..., ", several=True)
    option(parser, "--worst", metavar="N", default="5",
        help="the number of most different elements to show of each chip; 5 if left out")  # fmt: skip
    option(parser, "--svg", completes=".svg", metavar="FILE.svg",
        help="file of a picture with a cell for each element of D; - is standard output, which then has nothing else"
    )  # fmt: skip
    add_format(parser, REPORT_FORMATS, "text (default), json or markdown")
    add_output(parser)
    add_engine(parser)


def _add_files(parser: argparse.ArgumentParser, batch: str) -> None:
    option(parser, "a", metavar="A.npy", completes=".npy", help=f"file of A, ({batch}M, K); - is standard input")
    option(parser, "b", metavar="B.npy", completes=".npy", help=f"file of B, ({batch}K, N)")


def _add_matrices(parser: argparse.ArgumentParser, batch: str, several: bool = False) -> None:
    """Add what `gemm`, `explain` and `compare` (of several chips) share; ``batch`` are axes before a matrix's."""
    option(parser, "--c", completes=".npy", metavar="C.npy", help=f"file of C, ({batch}M, N); +0 if left out")
    option(parser, "--instr", completes="instruction", metavar="INSTR",
        help="PTX mnemonic of the instruction to repeat, or fma.f32 (CUDA cores); the chip's widest if left out"
    )  # fmt: skip
    if several:
        option(parser, "--archs", completes="chip", metavar="X,Y",
            help="chips, as in v100,a100,h100; every chip that supports the instruction if left out")  # fmt: skip
        option(parser, "--reference", completes="chip", metavar="CHIP",
            help="the chip with which the others are compared; the first if left out")  # fmt: skip
    else:
        option(parser, "--arch", completes="chip", metavar="CHIP", help=f"{CHIP}; sm_90 if left out")
    option(parser, "--a-format", completes="type", metavar="F",
        help="format of A if the file does not name it, as in bf16, e4m3; in "
        "uint8 files of s4, u4, e2m1 or b1, elements are packed along k, the lowest k in the lowest bits"
    )  # fmt: skip
    option(parser, "--b-format", completes="type", metavar="F", help="format of B, in the same way")
    for_each = ", for all chips, or X=L,Y=L for each" if several else ""
    option(parser, "--lowering", metavar="L",
        help=f"the compiler's lowering, where compilers differ, as in ptxas-12.4{for_each}; wmma-emu show lists them"
    )  # fmt: skip
    option(parser, "--model", metavar="M", help="name of an alternative model of the arithmetic, where sources "
                                                "disagree, as "
        "in F=34; wmma-emu show lists them")  # fmt: skip
    option(parser, "--scale-a", completes=".npy", metavar="S.npy", help=f"file of the block scales of A, ({batch}M, "
        "K / block), as bytes or float8_e8m0fnu; for instructions with .block_scale")  # fmt: skip
    option(parser, "--scale-b", completes=".npy", metavar="S.npy",
        help=f"file of the block scales of B, ({batch}K / block, N), in the same way")  # fmt: skip


def add_quantise(parser: argparse.ArgumentParser) -> None:
    """`quantise`."""
    option(parser, "x", metavar="X.npy", completes=".npy", help="file of an array of floats")
    option(parser, "format", metavar="F", nargs="?", completes="block format", help="the format, the same as --to")
    option(parser, "--to", completes="block format", metavar="F",
        help="mxfp8_e4m3 (default), mxfp8_e5m2, mxfp6_e3m2, mxfp6_e2m3, mxfp4_e2m1, mxint8 or nvfp4")  # fmt: skip
    option(parser, "--axis", metavar="N", default="-1",
        help="the axis of k, along which blocks lie: -1 (default) for A, -2 for B")  # fmt: skip
    option(parser, "--rule", completes="scale rule", metavar="R",
        help="the rule for scales: floor (default), ceil, rceil, even, rne; for nvfp4 rne (default), torchao, ..."
    )  # fmt: skip
    option(parser, "--pad", action="store_true", help="fill a short last block with zeros")
    option(parser, "-o", "--output", completes="file", metavar="Q.npy", help="file of the elements, one byte "
        "each; - is standard output, only to a pipe; only a summary if left out")  # fmt: skip
    option(parser, "--scales", completes="file", metavar="S.npy", help="file of the block scales, as bytes")


def add_crosscheck(parser: argparse.ArgumentParser) -> None:
    """`crosscheck`."""
    option(parser, "--instr", completes="instruction", metavar="REGEX",
        help="a mnemonic, or a regular expression searched for in them; all if left out")  # fmt: skip
    option(
        parser,
        "--count",
        metavar="N",
        help="the number of dot products of each instruction, as in 1e8; 1e6 if left out",
    )
    option(
        parser,
        "--per-group",
        metavar="N",
        help="instead of --count: the number of dot products of each kind (f16, bf16, tf32, FP8, ...)",
    )
    option(parser, "--generators", "--families", metavar="F,G",
        help="input generators, as in normal,specials; all if left out")  # fmt: skip
    option(parser, "--seed", metavar="S", help="seed of the inputs; 0 if left out")
    option(parser, "--state", completes="file", metavar="FILE",
        help="file that keeps the counts after an interrupt: the same command continues from there")  # fmt: skip
    option(parser, "--report", completes="file", metavar="FILE", action="append",
        help="file of the report, .txt, .json or .html; may be repeated")  # fmt: skip
    option(parser, "--rows", completes="file", metavar="FILE.json",
        help="file to which mismatches are added as test cases")  # fmt: skip
    option(parser, "--workers", metavar="N", help="the number of processes; one per core if left out")
    option(parser, "--arch", completes="chip", metavar="CHIP", help=f"{CHIP}; the GPU must be that chip")
    option(parser, "--dry-run", action="store_true",
        help="without a GPU: compare the emulator with itself, to measure the cost of a campaign")  # fmt: skip
