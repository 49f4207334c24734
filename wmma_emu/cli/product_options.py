# SPDX-License-Identifier: MIT
"""Options of the commands about matrices in files: `gemm`, `explain`, `compare`, `quantise`; and of `crosscheck`."""

import argparse

from wmma_emu.cli.choices import CHIP, EXPLAIN_FORMATS, REPORT_FORMATS, add_engine, add_format, add_output, option


def add_gemm(parser: argparse.ArgumentParser) -> None:
    """`gemm`."""
    _add_files(parser, "..., ")
    option(parser, "-o", "--output", completes="file", metavar="D.npy", help="where D is written, (..., M, N); - is "
        "standard output, of a pipe alone; a summary and no file if left out")  # fmt: skip
    _add_matrices(parser, "..., ")
    option(parser, "--out-format", completes="type", metavar="F",
        help="round D once more, to nearest even, as in f16, bf16")  # fmt: skip
    add_engine(parser)
    option(parser, "--threads", metavar="N", help="the most threads that are used; as many as gain if left out")


def add_explain(parser: argparse.ArgumentParser) -> None:
    """`explain`."""
    _add_files(parser, "")
    option(parser, "numbers", metavar="R C", nargs="*", help="row and column, as --row and --col name them")
    option(parser, "--row", metavar="R", help="row of the element of D, from 0")
    option(parser, "--col", metavar="C", help="column of the element of D, from 0")
    _add_matrices(parser, "")
    add_format(parser, EXPLAIN_FORMATS, "text (default), json, html (a page) or svg (a picture)")
    option(parser, "--step", metavar="N",
        help="of html and svg: one step alone, from 1; all if left out, of very many some")  # fmt: skip
    add_output(parser)


def add_compare(parser: argparse.ArgumentParser) -> None:
    """`compare`."""
    option(parser, "words", metavar="A.npy B.npy", nargs="+", completes="matrix or chip",
        help="files of A, (..., M, K), and of B, (..., K, N), and chips behind them, as --archs names them; or two "
        "chips alone, of which it is told in what they differ")  # fmt: skip
    _add_matrices(parser, "..., ", several=True)
    option(parser, "--worst", metavar="N", default="5",
        help="elements to show of each chip, the furthest apart; 5 if left out")  # fmt: skip
    option(parser, "--svg", completes=".svg", metavar="FILE.svg",
        help="where a picture is written, a cell for each element of D; - is standard output, and nothing else on it"
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
            help="chips, as in v100,a100,h100; all that have the instruction if left out")  # fmt: skip
        option(parser, "--reference", completes="chip", metavar="CHIP",
            help="the chip that the others are held against; the first if left out")  # fmt: skip
    else:
        option(parser, "--arch", completes="chip", metavar="CHIP", help=f"{CHIP}; sm_90 if left out")
    option(parser, "--a-format", completes="type", metavar="F",
        help="format of A where the file does not say it, as in bf16, e4m3; "
        "of uint8 files with s4, u4, e2m1 or b1 the bytes are packed along k, the lowest k in the lowest bits"
    )  # fmt: skip
    option(parser, "--b-format", completes="type", metavar="F", help="format of B, likewise")
    for_each = ", for all chips, or X=L,Y=L for each" if several else ""
    option(parser, "--lowering", metavar="L",
        help=f"whose machine code, where compilers differ, as in ptxas-12.4{for_each}; wmma-emu show lists them"
    )  # fmt: skip
    option(parser, "--model", metavar="M", help="name of another model of the arithmetic, where sources disagree, as "
        "in F=34; wmma-emu show lists them")  # fmt: skip
    option(parser, "--scale-a", completes=".npy", metavar="S.npy", help=f"file of the block scales of A, ({batch}M, "
        "K / block), as bytes or float8_e8m0fnu; of instructions with .block_scale")  # fmt: skip
    option(parser, "--scale-b", completes=".npy", metavar="S.npy",
        help=f"file of the block scales of B, ({batch}K / block, N), likewise")  # fmt: skip


def add_quantise(parser: argparse.ArgumentParser) -> None:
    """`quantise`."""
    option(parser, "x", metavar="X.npy", completes=".npy", help="file of an array of floats")
    option(parser, "format", metavar="F", nargs="?", completes="block format", help="the format, as --to names it")
    option(parser, "--to", completes="block format", metavar="F",
        help="mxfp8_e4m3 (default), mxfp8_e5m2, mxfp6_e3m2, mxfp6_e2m3, mxfp4_e2m1, mxint8 or nvfp4")  # fmt: skip
    option(parser, "--axis", metavar="N", default="-1",
        help="the axis that blocks lie along, that of k: -1 (default) of A, -2 of B")  # fmt: skip
    option(parser, "--rule", completes="scale rule", metavar="R",
        help="how scales are made: floor (default), ceil, rceil, even, rne; of nvfp4 rne (default), torchao, ..."
    )  # fmt: skip
    option(parser, "--pad", action="store_true", help="fill a short last block with zeros")
    option(parser, "-o", "--output", completes="file", metavar="Q.npy", help="where the elements are written, a byte "
        "each; - is standard output, of a pipe alone; a summary and no file if left out")  # fmt: skip
    option(parser, "--scales", completes="file", metavar="S.npy", help="where the block scales are written, as bytes")


def add_crosscheck(parser: argparse.ArgumentParser) -> None:
    """`crosscheck`."""
    option(parser, "--instr", completes="instruction", metavar="REGEX",
        help="a mnemonic, or a regular expression searched for in them; all if left out")  # fmt: skip
    option(parser, "--count", metavar="N", help="dot products of each instruction, as in 1e8; 1e6 if left out")
    option(parser, "--per-group", metavar="N", help="instead: dot products of each kind (f16, bf16, tf32, FP8, ...)")
    option(parser, "--generators", "--families", metavar="F,G",
        help="input generators, as in normal,specials; all if left out")  # fmt: skip
    option(parser, "--seed", metavar="S", help="of the inputs; 0 if left out")
    option(parser, "--state", completes="file", metavar="FILE",
        help="where counts survive an interrupt: the same command goes on from there")  # fmt: skip
    option(parser, "--report", completes="file", metavar="FILE", action="append",
        help="file of the report, .txt, .json or .html; may be repeated")  # fmt: skip
    option(parser, "--rows", completes="file", metavar="FILE.json",
        help="where mismatches are added as rows of a test")  # fmt: skip
    option(parser, "--workers", metavar="N", help="processes; one a core if left out")
    option(parser, "--arch", completes="chip", metavar="CHIP", help=f"{CHIP}; the GPU must be that chip")
    option(parser, "--dry-run", action="store_true",
        help="no GPU: the emulator against itself, to see what a campaign costs")  # fmt: skip
