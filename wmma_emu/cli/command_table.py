# SPDX-License-Identifier: MIT
"""The commands: the function that adds the options of each, its summary and its description."""

import argparse
from collections.abc import Callable

from wmma_emu.cli import instruction_options as instructions
from wmma_emu.cli import product_options as products
from wmma_emu.cli.choices import add_output, option
from wmma_emu.cli.program_options import add_run
from wmma_emu.cli.ptx_options import add_ptx

SHELLS = ("bash", "zsh", "fish")


def _add_finding(parser: argparse.ArgumentParser) -> None:
    option(parser, "kind", metavar="KIND", nargs="*", completes="finding",
        help="a kind, as in race or race-within-a-warp, hyphens optional; all are listed if left out")  # fmt: skip
    add_output(parser)


def _add_completion(parser: argparse.ArgumentParser) -> None:
    option(
        parser,
        "shell",
        metavar="SHELL",
        nargs="?",
        completes=SHELLS,
        help="bash, zsh or fish; your login shell if left out",
    )
    add_output(parser)


def _add_help(parser: argparse.ArgumentParser) -> None:
    option(parser, "words", metavar="COMMAND", nargs="*", completes="command",
        help="a command, as in layout or ptx run")  # fmt: skip


COMMANDS: dict[str, tuple[Callable[[argparse.ArgumentParser], None], str, str]] = {
    "list": (instructions.add_list, "the instructions, by type, shape and chip",
             "List the matrix instructions; words and filters combine."),
    "show": (instructions.add_show, "one instruction: operands, chips, arithmetic, machine code",
             "Show one instruction: its operands and, for each chip, its arithmetic and the source of each fact. Words "
             "that match several instructions, and machine code, list the instructions; a chip is described."),
    "layout": (instructions.add_layout, "where an operand's elements live, as a picture of the matrix",
               "Show which lane holds which element of an operand's matrix, in which register and bits."),
    "where": (instructions.add_where, "the lanes, registers and bits that hold one element",
              "Find every lane and register that holds an element of an operand's matrix."),
    "what": (instructions.add_what, "the elements that a lane's register holds",
             "Show the elements of an operand's matrix that a lane holds, in all its registers or in one."),
    "schedule": (instructions.add_schedule, "the machine instructions of one instruction, step by step",
                 "Show the machine instructions of a matrix instruction on a chip, in order: which block of D each "
                 "computes, from which k, and which registers it reads and writes."),
    "chips": (instructions.add_chips, "the chips: products, formats, instructions",
              "List the chips, with their products, formats and instruction families, or describe one."),
    "explore": (instructions.add_explore, "the layouts of all instructions as a page to explore",
                "Write one HTML page that needs no network, and open it in the browser: every instruction on every "
                "chip, which lane holds which element, formulas, loads by ldmatrix, steps, handouts."),
    "handout": (instructions.add_handout, "A, B, C and D of an instruction on one page to print",
                "Write a page that prints on one sheet, A4 or Letter, in colour or grey: A, B, C and D of an "
                "instruction, which lane and register holds what, and the formulas."),
    "gemm": (products.add_gemm, "multiply two .npy matrices with a tensor core's bits",
             "Multiply matrices of any size with a tensor core's bits: D = A B + C."),
    "explain": (products.add_explain, "how one element of D was computed, step by step",
                "Explain the bits of one element of D = A B + C: every term, the truncated bits, the sums, the "
                "rounding."),
    "compare": (products.add_compare, "one product on several chips: where the bits differ, and by how much",
                "Multiply on several chips, and show where the bits of D differ, by how much, and the worst "
                "elements; or "
                "list the differences between two chips."),
    "quantise": (products.add_quantise, "an array as MXFP8, MXFP6, MXFP4, MXINT8 or NVFP4, bit for bit",
                 "Quantise an array to a block-scaled format: its elements, its scales, and the quantisation error."),
    "ptx": (add_ptx, "the PTX of a real kernel: explained, or run without a GPU",
            "Explain the PTX that nvcc, NVRTC or Triton wrote, or run it on .npy files, without a GPU."),
    "run": (add_run, "a Python program, unedited, with its kernels on an emulated chip",
            "Run a Python script or module with the kernels that it launches on an emulated chip. The exit status "
            "comes from the program; the report of its launches is written to standard error."),
    "finding": (_add_finding, "the kinds of findings in kernels: their meanings and fixes",
                "List the kinds of findings, or explain one: a kernel that has it, the report, how to fix it, "
                "when it may be silenced, and what NVIDIA's compute-sanitizer reports for it."),
    "crosscheck": (products.add_crosscheck, "the emulator against the GPU of this machine, billions of times",
                   "Run the inputs of every input generator on the GPU and in the emulator, and compare every bit. The "
                   "exit status is 0 if all are the same, 1 if any differ, 2 after an error, 130 after an interrupt."),
    "doctor": (add_output, "the installed versions, and the packages that each extra would add",
               "List the installed versions, the installed and the missing packages of each extra, and the system: the "
               "facts that a bug report should contain."),
    "completion": (_add_completion, "a script that completes commands in bash, zsh or fish",
                   "Print a script for a shell: with bash, put eval \"$(wmma-emu completion bash)\" into ~/.bashrc; "
                   "with zsh, the same with zsh into ~/.zshrc, below compinit; with fish, write it to "
                   "~/.config/fish/completions/wmma-emu.fish."),
    "help": (_add_help, "this overview, or the help of one command", "Show the commands, or the help of one command."),
    "version": (lambda _: None, "the version", "Print the version."),
}  # fmt: skip
