# SPDX-License-Identifier: MIT
"""Which commands and options there are."""

import argparse
from collections.abc import Callable, Sequence

from wmma_emu import __version__
from wmma_emu.cli.page_options import add_explore, add_handout
from wmma_emu.cli.parser import Parser
from wmma_emu.cli.ptx_options import ACTIONS, add_ptx, check_action
from wmma_emu.cli.usage import UsageError, did_you_mean

__all__ = ["parse_arguments"]

_DESCRIPTION = "NVIDIA's matrix instructions, bit for bit, on a machine with no GPU."

_EXAMPLES = """examples:
  wmma-emu list --type bf16 --arch h200
  wmma-emu show m16n8k16.f32.bf16.bf16.f32
  wmma-emu layout m16n8k16.f32.f16.f16.f32 --operand A
  wmma-emu layout wmma.mma.m16n16k16.f32.f32 --operand B --arch v100 --lane 5
  wmma-emu layout m16n8k32.s32.s8.s8.s32 --operand A --row 9 --col 17 --format svg -o a.svg
  wmma-emu layout m16n8k16.f32.f16.f16.f32 --operand C --format c
  wmma-emu where m16n8k16.f32.f16.f16.f32 --operand A --row 9 --col 3
  wmma-emu what m16n8k16.f32.f16.f16.f32 --operand A --lane 5 --register 1
  wmma-emu explore
  wmma-emu handout m16n8k16.f32.f16.f16.f32 -o handout.html
  wmma-emu schedule wmma.mma.m16n16k16.f32.f32 --arch v100
  wmma-emu gemm A.npy B.npy -o D.npy --arch a100
  wmma-emu explain A.npy B.npy --row 3 --col 5 --arch a100
  wmma-emu explain A.npy B.npy --row 3 --col 5 --format html -o explained.html
  wmma-emu compare A.npy B.npy --archs v100,a100,h100 --svg compare.svg
  wmma-emu ptx explain kernel.ptx
  wmma-emu ptx run kernel.ptx --grid 4 --block 256 --arg y.npy=x.npy --arg 1024
  wmma-emu finding race
  wmma-emu crosscheck --instr 'm16n8k16.*bf16' --count 1e8 --report report.html

wmma-emu COMMAND --help shows the arguments of a command.
"""

_INSTRUCTION = (
    "PTX mnemonic, as in m16n8k16.f32.f16.f16.f32, wmma.mma.m16n16k16.f32.f32 or wgmma.m64n64k16.f32.f16.f16; "
    "mma.sync.aligned and row.col may be left out; wmma-emu list shows them all"
)
_CHIP = "a target or a product, as in sm_90, h200, a100"
_FORMATS = "table (default), csv, json or markdown"
_ENGINES = "auto (default), numba, numpy, cupy or reference; the bits are the same"


def _parser() -> Parser:
    parser = Parser(
        prog="wmma-emu", description=_DESCRIPTION, epilog=_EXAMPLES, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"wmma-emu {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, title="commands")
    for name, (add_options, summary, description) in _COMMANDS.items():
        add_options(commands.add_parser(name, allow_abbrev=False, help=summary, description=description))
    return parser


def _add_list(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--type", metavar="T", help="format of A or B (f32 and s32: of C or D), as in bf16")
    add("--shape", metavar="S", help="m, n and k, as in m16n8k16; of wgmma m64nNk16 means every n")
    add("--arch", metavar="CHIP", help=f"{_CHIP}; says how well its arithmetic is known")
    add("--family", metavar="F", help="mma.sync, wmma.mma, mma.sp, mma.sp::ordered_metadata, wgmma or wgmma.sp")
    add("--format", metavar="F", default="table", help=_FORMATS)


def _add_show(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("instruction", metavar="INSTR", help=_INSTRUCTION)
    add("--arch", metavar="CHIP", help=f"{_CHIP}; all its chips if left out")


def _add_operand(parser: argparse.ArgumentParser) -> None:
    """Add what `layout`, `where` and `what` share."""
    add = parser.add_argument
    add("instruction", metavar="INSTR", help=_INSTRUCTION)
    add("--operand", metavar="X", required=True, help="A, B, C or D; of instructions with block scales scale_a and "
        "scale_b too, which come in lists")  # fmt: skip
    add("--byte-id", metavar="N", help="of scale_a and scale_b: which bytes of a register are read; 0 if left out")
    add("--thread-id", metavar="N", help="of scale_a and scale_b: which lanes of four; 0 if left out")
    add(
        "--arch",
        metavar="CHIP",
        help=f"{_CHIP}; sm_90 if left out, or the first chip that has the instruction",
    )


def _add_places_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", metavar="F", default="table", help=_FORMATS)


def _add_layout(parser: argparse.ArgumentParser) -> None:
    _add_operand(parser)
    add = parser.add_argument
    add("--lane", metavar="L", help="0 to 31, of wgmma 0 to 127; in lists and by registers it is shown alone, in a "
        "matrix pointed out")  # fmt: skip
    add("--register", metavar="N", help="register of the operand that is pointed out, from 0")
    add("--row", metavar="R", help="row of an element that is pointed out, from 0; with --col")
    add("--col", metavar="C", help="its column, from 0")
    add("--view", metavar="V", help="matrix (which lane holds an element) or registers (which element a register "
        "holds), of what is drawn; matrix if left out, and of html both")  # fmt: skip
    add("--format", metavar="F", default="grid",
        help="grid (default), table, csv, json, markdown, svg, html, c or python; grid, svg and html are drawn, "
        "c and python are functions, the others have a line for every element")  # fmt: skip
    add("-o", "--output", metavar="FILE", help="where it is written; standard output if left out, or -")


def _add_where(parser: argparse.ArgumentParser) -> None:
    _add_operand(parser)
    add = parser.add_argument
    add("--row", metavar="R", required=True, help="row of the operand's matrix, from 0")
    add("--col", metavar="C", required=True, help="column of the operand's matrix, from 0")
    add("--matrix", metavar="I", help="0 to 3, one of the four products of m8n8k4 in f16; all if left out")
    _add_places_format(parser)


def _add_what(parser: argparse.ArgumentParser) -> None:
    _add_operand(parser)
    add = parser.add_argument
    add("--lane", metavar="L", required=True, help="0 to 31, of wgmma 0 to 127")
    add("--register", metavar="N", required=True, help="register of the operand, from 0")
    _add_places_format(parser)


def _add_gemm(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-o", "--output", metavar="D.npy", required=True, help="where D is written, (..., M, N)")
    _add_matrices(parser, "..., ")
    add("--out-format", metavar="F", help="round D once more, to nearest even, as in f16, bf16")
    add("--engine", metavar="E", default="auto", help=_ENGINES)
    add("--threads", metavar="N", help="the most threads that are used; as many as gain if left out")


def _add_explain(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--row", metavar="R", required=True, help="row of the element of D, from 0")
    add("--col", metavar="C", required=True, help="column of the element of D, from 0")
    _add_matrices(parser, "")
    add("--format", metavar="F", default="text", help="text (default), json, html (a page) or svg (a picture)")
    add("--step", metavar="N", help="of html and svg: one step alone, from 1; all if left out, of very many some")
    add("-o", "--output", metavar="FILE", help="where it is written; standard output if left out, or -")


def _add_compare(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    _add_matrices(parser, "..., ", several=True)
    add("--worst", metavar="N", default="5", help="elements to show of each chip, the furthest apart; 5 if left out")
    add("--svg", metavar="FILE.svg", help="where a picture is written, a cell for each element of D")
    add("--format", metavar="F", default="text", help="text (default), json or markdown")
    add("--engine", metavar="E", default="auto", help=_ENGINES)


def _add_matrices(parser: argparse.ArgumentParser, batch: str, several: bool = False) -> None:
    """Add what `gemm`, `explain` and `compare` (of several chips) share; ``batch`` are axes before a matrix's."""
    add = parser.add_argument
    add("a", metavar="A.npy", help=f"file of A, ({batch}M, K)")
    add("b", metavar="B.npy", help=f"file of B, ({batch}K, N)")
    add("--c", metavar="C.npy", help=f"file of C, ({batch}M, N); +0 if left out")
    add(
        "--instr",
        metavar="INSTR",
        help="PTX mnemonic of the instruction to repeat, or fma.f32 (CUDA cores); the chip's widest if left out",
    )
    if several:
        add("--archs", metavar="X,Y", help="chips, as in v100,a100,h100; all that have the instruction if left out")
        add("--reference", metavar="CHIP", help="the chip that the others are held against; the first if left out")
    else:
        add("--arch", metavar="CHIP", help=f"{_CHIP}; sm_90 if left out")
    add(
        "--a-format",
        metavar="F",
        help="format of A where the file does not say it, as in bf16, e4m3; "
        "of uint8 files with s4, u4, e2m1 or b1 the bytes are packed along k, the lowest k in the lowest bits",
    )
    add("--b-format", metavar="F", help="format of B, likewise")
    for_each = ", for all chips, or X=L,Y=L for each" if several else ""
    add(
        "--lowering",
        metavar="L",
        help=f"whose machine code, where compilers differ, as in ptxas-12.4{for_each}; wmma-emu show lists them",
    )
    add("--model", metavar="M", help="name of another model of the arithmetic, where sources disagree, as in F=34; "
        "wmma-emu show lists them")  # fmt: skip
    add("--scale-a", metavar="S.npy", help=f"file of the block scales of A, ({batch}M, K / block), as bytes or "
        "float8_e8m0fnu; of instructions with .block_scale")  # fmt: skip
    add("--scale-b", metavar="S.npy", help=f"file of the block scales of B, ({batch}K / block, N), likewise")


def _add_schedule(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("instruction", metavar="INSTR", help=_INSTRUCTION)
    add("--arch", metavar="CHIP", help=f"{_CHIP}; sm_90 if left out, or the first chip that has the instruction")
    add("--lowering", metavar="L",
        help="whose machine code, where compilers differ, as in ptxas-12.4; wmma-emu show lists them")  # fmt: skip
    add("--format", metavar="F", default="text", help="text (default), json, svg (a picture) or html (a page)")
    add("--step", metavar="N", help="of svg and html: one machine instruction alone, large, from 0; all if left out")
    add("-o", "--output", metavar="FILE", help="where it is written; standard output if left out, or -")


def _add_finding(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", nargs="*",
        help="as in race, or race-within-a-warp, with hyphens or without; all are listed if left out")  # fmt: skip


def _add_crosscheck(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--instr", metavar="REGEX", help="a mnemonic, or a regular expression searched for in them; all if left out")
    add("--count", metavar="N", help="dot products of each instruction, as in 1e8; 1e6 if left out")
    add("--per-group", metavar="N", help="instead: dot products of each kind (f16, bf16, tf32, FP8, ...)")
    add("--families", metavar="F,G", help="families of inputs, as in normal,specials; all if left out")
    add("--seed", metavar="S", help="of the inputs; 0 if left out")
    add("--state", metavar="FILE", help="where counts survive an interrupt: the same command goes on from there")
    add("--report", metavar="FILE", action="append", help="file of the report, .txt, .json or .html; may be repeated")
    add("--rows", metavar="FILE.json", help="where mismatches are added as rows of a test")
    add("--workers", metavar="N", help="processes; one a core if left out")
    add("--arch", metavar="CHIP", help=f"{_CHIP}; the GPU must be that chip")
    add("--dry-run", action="store_true", help="no GPU: the emulator against itself, to see what a campaign costs")


_COMMANDS: dict[str, tuple[Callable[[argparse.ArgumentParser], None], str, str]] = {
    "list": (_add_list, "the instructions, by type, shape and chip",
             "List the matrix instructions; filters combine."),
    "show": (_add_show, "one instruction: operands, chips, arithmetic, machine code",
             "Show one instruction: its operands, and for each chip what it computes and who says so."),
    "layout": (_add_layout, "where an operand's elements live, as a picture of the matrix",
               "Show which lane holds which element of an operand's matrix, in which register and bits."),
    "where": (_add_where, "the lanes, registers and bits that hold one element",
              "Find every place that holds an element of an operand's matrix."),
    "what": (_add_what, "the elements that a lane's register holds",
             "Show the elements of an operand's matrix that a register of a lane holds."),
    "schedule": (_add_schedule, "the machine instructions of one instruction, step by step",
                 "Show which machine instructions a matrix instruction is on a chip, in their order: which block of D "
                 "each makes, from which k, and which registers it reads and writes."),
    "explore": (add_explore, "the layouts of all instructions as a page to explore",
                "Write one page of HTML that needs no network, and open it in the browser: every instruction on every "
                "chip, which lane holds which element, formulas, loads by ldmatrix, steps, handouts."),
    "handout": (add_handout, "A, B, C and D of an instruction on one page to print",
                "Write a page that prints on one sheet, A4 or Letter, with or without colours: A, B, C and D of an "
                "instruction, which lane and register holds what, and the formulas."),
    "gemm": (_add_gemm, "multiply two .npy matrices with a tensor core's bits",
             "Multiply matrices of any size with a tensor core's bits: D = A B + C."),
    "explain": (_add_explain, "how one element of D came about, step by step",
                "Explain the bits of one element of D = A B + C: every term, the bits cut, the sums, the rounding."),
    "compare": (_add_compare, "one product on several chips: where the bits differ, and how far",
                "Multiply on several chips, and show where the bits of D differ, how far, and the worst elements."),
    "ptx": (add_ptx, "the PTX of a real kernel: what is in it, and what it computes",
            "Explain the PTX that nvcc, NVRTC or Triton wrote, or run it on .npy files, without a GPU."),
    "finding": (_add_finding, "the kinds of findings of kernels: what one means, and how to fix it",
                "List the kinds of findings, or say what one means: a kernel that has it, the report, how to fix it, "
                "when it may be silenced, and what NVIDIA's compute-sanitizer says of it."),
    "crosscheck": (_add_crosscheck, "the emulator against the GPU of this machine, billions of times",
                   "Run inputs of every family on the GPU and in the emulator, and compare every bit. The exit status "
                   "is 0 if all are the same, 1 if any differ, 2 after an error, 130 after an interrupt."),
}  # fmt: skip


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Read a command line.

    Raises
    ------
    UsageError
        For commands and options that do not exist, are incomplete or lack a value.
    """
    legal = f"the commands are {', '.join(_COMMANDS)}"
    if not argv:
        raise UsageError(f"no command is given; {legal} (wmma-emu --help says more)")
    if argv[0].startswith("-") and argv[0] not in ("-h", "--help", "--version"):
        raise UsageError(f"a command comes first, before {argv[0][:80]!r}; {legal} (wmma-emu --help says more)")
    if not argv[0].startswith("-") and argv[0] not in _COMMANDS:
        raise UsageError(f"there is no command {argv[0][:80]!r}; {legal}{did_you_mean(argv[0], _COMMANDS)}")
    if argv[0] == "ptx":
        check_action(argv[1:])
    parser = _parser()
    arguments, rest = parser.parse_known_args(argv)
    if rest:
        command = " ".join(filter(None, (arguments.command, getattr(arguments, "action", None))))
        options = _options_of(arguments)
        if rest[0].startswith("-"):
            name = rest[0].split("=")[0]
            raise UsageError(
                f"{command} has no option {name[:80]!r}; it has {', '.join(options)}{did_you_mean(name, options)}"
            )
        raise UsageError(f"{command} takes no further argument {rest[0][:80]!r}")
    return arguments


def _options_of(arguments: argparse.Namespace) -> list[str]:
    probe = Parser()
    add_options = ACTIONS[arguments.action] if arguments.command == "ptx" else _COMMANDS[arguments.command]
    add_options[0](probe)
    return [x for action in probe._actions for x in action.option_strings if x.startswith("--")]
