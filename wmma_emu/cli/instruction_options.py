# SPDX-License-Identifier: MIT
"""Options of the commands about instructions and chips, from `list` to `handout`."""

import argparse

from wmma_emu.cli.choices import (
    CHIP,
    LAYOUT_FORMATS,
    POSITION_FORMATS,
    SCHEDULE_FORMATS,
    TABLE_FORMATS,
    add_format,
    add_output,
    option,
)

_INSTRUCTION = (
    "PTX mnemonic, as in m16n8k16.f32.f16.f16.f32, wmma.mma.m16n16k16.f32.f32 or wgmma.m64n64k16.f32.f16.f16; "
    "mma.sync.aligned and row.col may be left out; or words that match only one instruction; wmma-emu list shows all "
    "instructions"
)
_FORMATS = "table (default), csv, json or markdown"


def add_list(parser: argparse.ArgumentParser) -> None:
    """`list`."""
    option(parser, "words", metavar="WORD", nargs="*", completes="word",
        help="words that an instruction must match, as in wgmma, m16n8k16, fp8, sparse, h100"
    )  # fmt: skip
    option(parser, "--type", completes="type", metavar="T",
        help="format of A or B (f32 and s32: of C or D), as in bf16 or fp8")  # fmt: skip
    option(parser, "--shape", completes="shape", metavar="S",
        help="m, n and k, as in m16n8k16 or 16x8x16; for wgmma, m64nNk16 means every n")  # fmt: skip
    option(parser, "--arch", completes="chip", metavar="CHIP", help=f"{CHIP}; adds how well its arithmetic is known")
    option(parser, "--family", completes="family", metavar="F",
        help="mma.sync, wmma.mma, mma.sp, mma.sp::ordered_metadata, wgmma or wgmma.sp; or as in wmma, sparse"
    )  # fmt: skip
    add_format(parser, TABLE_FORMATS, _FORMATS)
    add_output(parser)


def add_show(parser: argparse.ArgumentParser) -> None:
    """`show`."""
    option(parser, "words", metavar="INSTR", nargs="+", completes="instruction", help=f"{_INSTRUCTION}; a chip; "
        "or words that match several, which are then listed, as in m16n8k16, wgmma fp8, HMMA.16816.F32")  # fmt: skip
    option(parser, "--arch", completes="chip", metavar="CHIP", help=f"{CHIP}; all its chips if left out")
    add_output(parser)


def _add_operand(parser: argparse.ArgumentParser, numbers: str) -> None:
    option(parser, "instruction", metavar="INSTR", completes="instruction", help=_INSTRUCTION)
    option(parser, "words", metavar="OPERAND", nargs="*", completes="operand",
        help=f"A, B, C or D, as --operand names it; all if left out{numbers}")  # fmt: skip
    option(parser, "--operand", completes="operand", metavar="X", help="A, B, C or D; scale_a or scale_b too for "
        "instructions "
        "with block scales, always as lists; all four operands if left out")  # fmt: skip
    option(parser, "--byte-id", metavar="N",
        help="for scale_a and scale_b, the bytes of a register that are read; 0 if left out")  # fmt: skip
    option(
        parser,
        "--thread-id",
        metavar="N",
        help="for scale_a and scale_b, the lanes of each four that are read; 0 if left out",
    )
    option(parser, "--arch", completes="chip", metavar="CHIP",
        help=f"{CHIP}; sm_90 if left out, or the first chip that supports the instruction")  # fmt: skip


def add_layout(parser: argparse.ArgumentParser) -> None:
    """`layout`."""
    _add_operand(parser, "")
    option(parser, "--lane", metavar="L", help="0 to 31, or 0 to 127 for wgmma; lists and drawings of registers show "
                                               "this "
        "lane alone, a drawing of the matrix highlights it")  # fmt: skip
    option(parser, "--register", metavar="N", help="register of the operand to highlight, from 0")
    option(parser, "--row", metavar="R", help="row of an element to highlight, from 0; with --col")
    option(parser, "--col", metavar="C", help="its column, from 0")
    option(parser, "--view", completes=("matrix", "registers"), metavar="V",
        help="matrix (which lane holds an element) or registers (which element a register "
        "holds), for drawings; matrix if left out, and both for html")  # fmt: skip
    add_format(parser, LAYOUT_FORMATS,
        "grid (default), table, csv, json, markdown, svg, html, png, tex, tikz, cute, c or python; grid, svg, html, "
        "png, "
        "tex and tikz (for LaTeX) are drawings, cute is shape and stride, c and python are functions, the others "
        "write a line for every element")  # fmt: skip
    add_output(parser)


def add_where(parser: argparse.ArgumentParser) -> None:
    """`where`."""
    _add_operand(parser, "; then row and column may follow")
    option(parser, "--row", metavar="R", help="row of the operand's matrix, from 0")
    option(parser, "--col", metavar="C", help="column of the operand's matrix, from 0")
    option(parser, "--matrix", metavar="I", help="0 to 3, one of the four products of an f16 m8n8k4; all if left out")
    add_format(parser, POSITION_FORMATS, _FORMATS)
    add_output(parser)


def add_what(parser: argparse.ArgumentParser) -> None:
    """`what`."""
    _add_operand(parser, "; then lane and register may follow")
    option(parser, "--lane", metavar="L", help="0 to 31, or 0 to 127 for wgmma")
    option(
        parser, "--register", metavar="N", help="register of the operand, from 0; all the lane's registers if left out"
    )
    add_format(parser, POSITION_FORMATS, _FORMATS)
    add_output(parser)


def add_schedule(parser: argparse.ArgumentParser) -> None:
    """`schedule`."""
    option(parser, "words", metavar="INSTR", nargs="+", completes="instruction", help=_INSTRUCTION)
    option(parser, "--arch", completes="chip", metavar="CHIP",
        help=f"{CHIP}; sm_90 if left out, or the first chip that supports the instruction")  # fmt: skip
    option(parser, "--lowering", metavar="L",
        help="the compiler's lowering, where compilers differ, as in ptxas-12.4; wmma-emu show lists them")  # fmt: skip
    add_format(parser, SCHEDULE_FORMATS, "text (default), json, svg (a picture) or html (a page)")
    option(parser, "--step", metavar="N",
        help="for svg and html, draw one machine instruction alone, large, from 0; all if left out")  # fmt: skip
    add_output(parser)


def add_chips(parser: argparse.ArgumentParser) -> None:
    """`chips`."""
    option(parser, "words", metavar="CHIP", nargs="*", completes="chip",
        help=f"{CHIP}, which is described; a table of all chips if left out")  # fmt: skip
    add_format(parser, TABLE_FORMATS, _FORMATS)
    add_output(parser)


def add_explore(parser: argparse.ArgumentParser) -> None:
    """`explore`."""
    _add_page(parser, "wmma_emu_explorer.html")


def add_handout(parser: argparse.ArgumentParser) -> None:
    """`handout`."""
    option(parser, "words", completes="instruction", metavar="INSTR", nargs="+", help=_INSTRUCTION)
    option(parser, "--arch", completes="chip", metavar="CHIP",
        help=f"{CHIP}; sm_90 if left out, or the first chip that supports it")  # fmt: skip
    _add_page(parser, "wmma_emu_handout.html")


def _add_page(parser: argparse.ArgumentParser, name: str) -> None:
    option(parser, "-o", "--output", completes="file", metavar="FILE", default=name,
        help=f"file of the page, {name} if left out; - is standard output")  # fmt: skip
    option(parser, "--no-open", dest="open", action="store_false",
        help="do not open it in the browser; it never opens from a pipe, over ssh, or if CI is set")  # fmt: skip
