# SPDX-License-Identifier: MIT
"""The actions of ``wmma-emu ptx``, and their options."""

import argparse
import errno
import os
from collections.abc import Callable, Sequence

from wmma_emu.cli.choices import CHIP, PROFILE_FORMATS, PTX_FORMATS, add_engine, add_format, add_output, option
from wmma_emu.cli.usage import UsageError, did_you_mean

_ARGUMENT = (
    "one per parameter, in order: a number; IN.npy, which the kernel may read; raw:IN.npy, whose bytes are passed "
    "unchanged, whatever its type and order; OUT.npy=zeros:f32:64x64 or "
    "OUT.npy=IN.npy, written after the launch; zeros:f32:1024, temporary memory; map:8x64:IN.npy, the tensor map of an "
    "array with boxes of 8 by 64 elements, also map:8x64:swizzle:128B:IN.npy (or interleave, fill, element_strides, "
    "promotion, dtype) and OUT.npy=map:8x64:zeros:f16:64x128; null; bytes:0a0b, a struct"
)
_ASYNCHRONIES = ("eager", "late", "both")
_MACHINES = ("auto", "native", "numpy")
_CHECKS = ("memory", "undefined", "races", "synchronisation", "none")


def _add_file(parser: argparse.ArgumentParser, chip: str) -> None:
    option(parser, "file", completes="kernel file", metavar="FILE",
        help="PTX, or CUDA C++ (.cu) that NVRTC compiles; kernels only, without host code; - is standard input"
    )  # fmt: skip
    option(parser, "--arch", completes="chip", metavar="CHIP", help=f"{CHIP}; {chip} if left out")
    option(parser, "--contraction", completes=("rules", "ptxas", "never"), metavar="C", default="rules",
        help="rules (default), ptxas or never; how to decide whether a mul and an add without a rounding are fused: by "
        "rules observed in ptxas, by the installed ptxas, or never")  # fmt: skip
    option(parser, "--contract", metavar="C", help=argparse.SUPPRESS)  # the old name, whose "ptxas" is "rules"
    option(parser, "--keep", completes="file", metavar="OUT.ptx",
        help="write the PTX whose lines findings name, compiled by NVRTC from CUDA C++; - writes it to standard "
        "output, and nothing else")  # fmt: skip


def _add_explain(parser: argparse.ArgumentParser) -> None:
    _add_file(parser, "a chip that the PTX targets")
    add_format(parser, PTX_FORMATS, "text (default) or json")
    add_output(parser)


def _add_launch(parser: argparse.ArgumentParser) -> None:
    """Add the options of a launch: the kernel, its sizes, its arguments, its limits."""
    _add_file(parser, "a chip that the PTX targets")
    option(parser, "--kernel", metavar="K", help="name of the kernel; required if there are several")
    option(parser, "--grid", metavar="X[,Y[,Z]]", required=True, help="blocks of the grid; as in 8 or 4,4")
    option(parser, "--block", metavar="X[,Y[,Z]]", required=True, help="threads of a block; as in 128 or 32,4")
    option(parser, "--shared-bytes", metavar="N", default="0",
        help="dynamic shared memory of a block; 0 if left out")  # fmt: skip
    option(parser, "--arg", completes="kernel argument", metavar="A", action="append", default=[], help=_ARGUMENT)
    option(parser, "--schedule", metavar="SEED", help="run the warps in an order drawn from a seed")
    option(parser, "--max-steps", metavar="N",
        help="instructions executed before the launch is stopped; 1e8 if left out")  # fmt: skip
    option(parser, "--max-seconds", metavar="S", help="seconds before a run of the launch is stopped; 300 if left out")
    option(parser, "--cooperative", action="store_true",
        help="run all blocks at the same time, so that they may wait for each other, as this_grid().sync() does"
    )  # fmt: skip
    option(parser, "--max-bytes", metavar="N", help="memory that the launch may use; 4 GiB if left out")
    add_engine(parser)
    option(parser, "--checks", completes=_CHECKS, metavar="C[,C...]",
        help="the checks to run, of memory, undefined, races and synchronisation; all if left out; none disables all"
    )  # fmt: skip


def _add_profile(parser: argparse.ArgumentParser) -> None:
    _add_launch(parser)
    option(parser, "--by", completes=("line", "ptx"), metavar="B", default="line",
        help="line (default) or ptx: whether the table has the lines of the source or of the PTX")  # fmt: skip
    option(parser, "--compare", completes="file", metavar="FILE",
        help="a profile written as JSON; show what became worse since, and exit with status 1 if anything did"
    )  # fmt: skip
    add_format(parser, PROFILE_FORMATS, "text (default), json, csv or html")
    add_output(parser)


def _add_run(parser: argparse.ArgumentParser) -> None:
    _add_launch(parser)
    option(parser, "--schedules", metavar="N", default="1", help="run in N orders, and compare the results")
    option(parser, "--asynchrony", completes=_ASYNCHRONIES, metavar="A", default="eager",
        help="when asynchronous copies and wgmma move their data: eager (default), at once; late, as late as the "
        "kernel allows; both, and compare the results")  # fmt: skip
    option(parser, "--machine", completes=_MACHINES, metavar="M", default="auto",
        help="the machine that runs the kernel: native, an error if it cannot; numpy; or auto (default), the native "
        "one if it can, and the NumPy machine again if anything may be wrong")  # fmt: skip
    option(parser, "-v", "--verbose", action="store_true",
        help="show each finding in full, else at most 12 lines of each; show every warning in full"
    )  # fmt: skip
    option(parser, "--silence", metavar="S", action="append", default=[],
        help="silence intended findings of one kind at one line of the PTX or of the source: "
        "'race at kernel.cu:16: any of the values will do'; may be given several times")  # fmt: skip
    option(parser, "--baseline", completes="file", metavar="FILE",
        help="file of known findings, which are listed by title and do not count as errors")  # fmt: skip
    option(parser, "--write-baseline", completes="file", metavar="FILE",
        help="write the findings of this launch and of --baseline as known findings")  # fmt: skip
    option(parser, "--json", completes="file", metavar="FILE",
        help="write the report as JSON; - writes it to standard output, and nothing else")  # fmt: skip
    option(parser, "--sarif", completes="file", metavar="FILE",
        help="write the findings as SARIF 2.1.0, which code hosts show at their lines; - as in --json")  # fmt: skip


def _add_tensor_map(parser: argparse.ArgumentParser) -> None:
    option(parser, "hex", metavar="HEX", nargs="+",
        help="128 bytes in the order of memory, as hexadecimal digits; spaces, commas and 0x may be between them"
    )  # fmt: skip
    add_format(parser, PTX_FORMATS, "text (default) or json")
    add_output(parser)


ACTIONS: dict[str, tuple[Callable[[argparse.ArgumentParser], None], str, str]] = {
    "explain": (_add_explain, "kernels, parameters, opcodes; what is not modelled or not bit-exact",
                "Describe PTX source: its kernels, their parameters, memory and opcodes, and the instructions that are "
                "not modelled or whose bits are not proved."),
    "run": (_add_run, "run a kernel on .npy files",
            "Run a kernel on .npy files, without a GPU. The exit status is 0, 1 if a finding is an error (out of "
            "bounds, a race, a missing wait) and not known, 2 after any other error."),
    "profile": (_add_profile, "count accesses, bank conflicts and divergence, line by line",
                "Run a kernel on .npy files, and count what Nsight Compute counts on a GPU: executions, active "
                "threads, sectors of global memory, bank conflicts, diverging branches, line by line. Output arrays "
                "are not written, and findings are not shown; run does both."),
    "tensor-map": (_add_tensor_map, "the fields of the 128 bytes of a tensor map",
                   "Show the fields of a tensor map (CUtensorMap), in the driver's order of dimensions. The exit "
                   "status is 1 if the map breaks a rule of the driver, which is named."),
}  # fmt: skip


def add_ptx(parser: argparse.ArgumentParser) -> None:
    """Add the actions to the parser of `ptx`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, title="actions")
    for name, (_, summary, description) in ACTIONS.items():
        actions.add_parser(name, help=summary, description=description)


def check_action(words: Sequence[str]) -> None:
    """Check that an action comes first."""
    legal = f"its actions are {', '.join(ACTIONS)}"
    if not words:
        raise UsageError(f"ptx needs an action; {legal} (wmma-emu ptx --help describes them)")
    if words[0] not in ("-h", "--help", *ACTIONS):
        file = ", and the name of a file ends in .ptx or .cu" if "." in words[0] else ""
        raise UsageError(f"ptx has no action {words[0][:80]!r}; {legal}{file}{did_you_mean(words[0], ACTIONS)}")


def check_source(words: Sequence[str]) -> None:
    """Check that the file of an action exists: it is the first thing to fix if options are missing, too."""
    name = words[0] if words else ""
    if name.casefold().endswith((".ptx", ".cu", ".cuh")) and "\0" not in name and not os.path.exists(name):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
