# SPDX-License-Identifier: MIT
"""The words that options accept, and their completion; this module never imports NumPy."""

import argparse
from typing import Any

TEXT = ("text",)
TABLE_FORMATS = ("table", "csv", "json", "markdown")
POSITION_FORMATS = TABLE_FORMATS
LAYOUT_FORMATS = ("grid", "svg", "html", "png", "tex", "tikz", *POSITION_FORMATS, "cute", "c", "python")
SCHEDULE_FORMATS = ("text", "json", "svg", "html")
EXPLAIN_FORMATS = ("text", "json", "html", "svg")
REPORT_FORMATS = ("text", "json", "markdown")
PTX_FORMATS = ("text", "json")
PROFILE_FORMATS = ("text", "json", "csv", "html")
"""The formats that commands write; the first is the default."""

FINDINGS = (
    "out-of-bounds", "misaligned", "uninitialised", "partly-uninitialised", "read-only", "race",
    "race-of-an-unused-value", "race-within-a-warp", "lanes-store-to-one-place", "race-of-equal-bytes", "missing-wait",
    "mbarrier-not-initialised", "over-arrival", "transaction-bytes", "wrong-parity",
    "missing-proxy-fence", "omitted-proxy-fence", "stale-tensor-map", "copy-by-several-lanes",
    "copy-in-flight-at-the-end", "load-in-flight-at-the-end", "barrier-divergence",
    "barriers-at-several-instructions", "deadlock", "partial-warp", "illegal-metadata", "illegal-operand", "trap",
)  # fmt: skip
BLOCK_FORMATS = ("mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8", "nvfp4")
SCALE_RULES = ("floor", "ceil", "rceil", "even", "rne", "torchao", "torchao_cuda", "division", "transformer_engine")
"""Copies, for completion, of keys of tables whose packages import NumPy; a test compares both."""

CHIP = "a target or a product, as in sm_90, h200, a100, 'RTX 4090'"


def option(
    parser: argparse.ArgumentParser, *names: str, completes: str | tuple[str, ...] = (), **keywords: Any
) -> None:
    """Add an option or a positional argument, with the words that complete it.

    ``completes`` is the words, or a key of `wmma_emu.cli.candidates.KINDS`: ``"chip"``, ``"instruction"``, ``".npy"``.
    """
    if keywords.get("nargs") == "*":
        keywords.setdefault("default", [])  # without a default, argparse reports the argument as missing
    action = parser.add_argument(*names, **keywords)
    action.completes = completes  # type: ignore[attr-defined]


def add_format(parser: argparse.ArgumentParser, formats: tuple[str, ...], help: str) -> None:
    """Add --format; an output file whose ending names a format does not need it."""
    option(parser, "--format", completes=formats, metavar="F", help=help)


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add --engine."""
    option(parser, "--engine", completes=("auto", "native", "numpy", "cupy", "reference"), metavar="E", default="auto",
        help="auto (default), native, numpy, cupy or reference; the bits are the same")  # fmt: skip


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add -o."""
    option(parser, "-o", "--output", completes="file", metavar="FILE",
        help="file to write; standard output if left out, or -")  # fmt: skip
