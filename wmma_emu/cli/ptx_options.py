# SPDX-License-Identifier: MIT
"""The actions of ``wmma-emu ptx``, and their options."""

import argparse
from collections.abc import Callable, Sequence

from wmma_emu.cli.choices import CHIP, PTX_FORMATS, add_engine, add_format, add_output, option
from wmma_emu.cli.usage import UsageError, did_you_mean

_ARGUMENT = (
    "one for each parameter, in their order: a number; IN.npy, which the kernel may read; raw:IN.npy, whose bytes are "
    "meant, whatever its type and order; OUT.npy=zeros:f32:64x64 or "
    "OUT.npy=IN.npy, written when it is done; zeros:f32:1024, memory that nobody sees; null; bytes:0a0b of a struct"
)
_CHECKS = ("memory", "undefined", "races", "synchronisation", "none")


def _add_file(parser: argparse.ArgumentParser, chip: str) -> None:
    option(parser, "file", completes="kernel file", metavar="FILE",
        help="PTX, or CUDA C++ (.cu) that NVRTC compiles; kernels alone, no code of the host; - is standard input"
    )  # fmt: skip
    option(parser, "--arch", completes="chip", metavar="CHIP", help=f"{CHIP}; {chip} if left out")
    option(parser, "--contraction", completes=("rules", "ptxas", "never"), metavar="C", default="rules",
        help="rules (default), ptxas or never; who decides whether a mul and an add that leave their rounding open are "
        "fused: what ptxas was seen to do, the ptxas at hand, or nobody")  # fmt: skip
    option(parser, "--keep", completes="file", metavar="OUT.ptx",
        help="write the PTX that findings name lines of, which NVRTC makes of CUDA C++; - writes it on standard "
        "output, and nothing else")  # fmt: skip


def _add_explain(parser: argparse.ArgumentParser) -> None:
    _add_file(parser, "one that runs the text")
    add_format(parser, PTX_FORMATS, "text (default) or json")
    add_output(parser)


def _add_run(parser: argparse.ArgumentParser) -> None:
    _add_file(parser, "one that runs the text")
    option(parser, "--kernel", metavar="K", help="name of the kernel; needed where there is more than one")
    option(parser, "--grid", metavar="X[,Y[,Z]]", required=True, help="blocks; as in 8 or 4,4")
    option(parser, "--block", metavar="X[,Y[,Z]]", required=True, help="threads of a block; as in 128 or 32,4")
    option(parser, "--shared-bytes", metavar="N", default="0",
        help="dynamic shared memory of a block; 0 if left out")  # fmt: skip
    option(parser, "--arg", completes=".npy", metavar="A", action="append", default=[], help=_ARGUMENT)
    option(parser, "--schedule", metavar="SEED", help="run the warps in an order drawn from a seed")
    option(parser, "--schedules", metavar="N", default="1", help="run in so many orders, and compare the results")
    option(parser, "--max-steps", metavar="N",
        help="instructions stepped before the launch is stopped; 1e8 if left out")  # fmt: skip
    option(parser, "--max-seconds", metavar="S", help="seconds before a run of the launch is stopped; 300 if left out")
    option(parser, "--max-bytes", metavar="N", help="memory that the launch may use; 4 GiB if left out")
    add_engine(parser)
    option(parser, "--checks", completes=_CHECKS, metavar="C[,C...]",
        help="what to look for, of memory, undefined, races and synchronisation; all if left out; none turns all off"
    )  # fmt: skip
    option(parser, "-v", "--verbose", action="store_true",
        help="say all that is known of each finding; else 12 lines of each at most; show every warning in full"
    )  # fmt: skip
    option(parser, "--silence", metavar="S", action="append", default=[],
        help="leave out findings of one kind at one line of the PTX or of the source, which are right as they are: "
        "'race at kernel.cu:16: any of the values will do'; may be given several times")  # fmt: skip
    option(parser, "--baseline", completes="file", metavar="FILE",
        help="findings that are known: they are listed by their titles, and do not count as errors")  # fmt: skip
    option(parser, "--write-baseline", completes="file", metavar="FILE",
        help="write the findings of this launch, and those of --baseline; what is written counts as known")  # fmt: skip
    option(parser, "--json", completes="file", metavar="FILE",
        help="write the report as JSON; - writes it on standard output, and nothing else")  # fmt: skip
    option(parser, "--sarif", completes="file", metavar="FILE",
        help="write the findings as SARIF 2.1.0, which code hosts show at their lines; - as with --json")  # fmt: skip


ACTIONS: dict[str, tuple[Callable[[argparse.ArgumentParser], None], str, str]] = {
    "explain": (_add_explain, "kernels, parameters, opcodes; what is missing, what is not bit-exact",
                "Say what is in a PTX text: its kernels, their parameters, memory and opcodes, which instructions are "
                "not modelled, and which have bits that are not proved."),
    "run": (_add_run, "run a kernel on .npy files",
            "Run a kernel on .npy files, without a GPU. The exit status is 0, 1 if a finding is an error (out of "
            "bounds, a race, a missing wait) and not known, 2 after an error of the command."),
}  # fmt: skip

_ARRAYS = (
    "each array that the kernel writes names its file: --arg y.npy=zeros:f32:1024 for a new one, --arg y.npy=x.npy "
    "for one that begins as x.npy; --arg -=x.npy writes on standard output"
)
ELSEWHERE = {"ptx run": dict.fromkeys(("-o", "--output", "--out"), _ARRAYS)}
"""Options that people look for in an action, and what does instead what they do elsewhere."""


def add_ptx(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, title="actions")
    for name, (_, summary, description) in ACTIONS.items():
        actions.add_parser(name, help=summary, description=description)


def check_action(words: Sequence[str]) -> None:
    """Check that an action comes first."""
    legal = f"its actions are {', '.join(ACTIONS)}"
    if not words:
        raise UsageError(f"ptx does nothing by itself; {legal} (wmma-emu ptx --help says more)")
    if words[0] not in ("-h", "--help", *ACTIONS):
        raise UsageError(f"ptx has no action {words[0][:80]!r}; {legal}{did_you_mean(words[0], ACTIONS)}")
