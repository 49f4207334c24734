# SPDX-License-Identifier: MIT
"""``wmma-emu compare``: a product of two files on several chips, or the chips alone; each has its own module."""

import os
from argparse import Namespace

from wmma_emu.cli.choices import REPORT_FORMATS
from wmma_emu.cli.output import STANDARD_OUTPUT, format_of, writing
from wmma_emu.cli.query import chip_named
from wmma_emu.cli.terminal import Terminal
from wmma_emu.cli.usage import UsageError, names_in


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Compare the bits of a product on several chips, or the chips themselves."""
    files, chips = _files_and_chips(arguments.words)
    output = format_of(arguments.format, arguments.output, REPORT_FORMATS)
    named = None if arguments.archs is None else names_in(arguments.archs)
    if files:
        from wmma_emu.cli.compare_products import compare_products

        if named is not None and chips:
            raise UsageError(f"chips are named twice: {' '.join(chips)[:80]}, and --archs {arguments.archs[:80]}")
        compare_products(arguments, files, chips or named, output, terminal)
        return
    from wmma_emu.cli.compare_chips import compare_chips

    with writing(arguments, REPORT_FORMATS, "comparison.txt", terminal) as out:
        compare_chips([*chips, *(named or ())], output, out)


def _files_and_chips(words: list[str]) -> tuple[list[str], list[str]]:
    """Separate files from chips: two files followed by any chips, or chips alone."""
    files = [x for x in words if x == STANDARD_OUTPUT or x.endswith(".npy") or os.path.isfile(x) or os.sep in x]
    chips = [y for x in words if x not in files for y in names_in(x)]
    if not files and not any(chip_named([x]) is not None for x in chips):
        files, chips = words[:2], words[2:]
    if files and len(files) != 2:
        names = ", ".join(files)[:80]
        few = "only " if len(files) == 1 else ""
        raise UsageError(f"compare takes two files, A.npy and B.npy, and {few}{names} {'is' if few else 'are'} given"
                         + "; pass the file of C with --c" * (len(files) > 2))  # fmt: skip
    return files, chips
