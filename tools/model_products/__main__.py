# SPDX-License-Identifier: MIT
"""The commands; the package's text explains them."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.model_products import __doc__ as description


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recorder = commands.add_parser("record", help="run the networks and look for the arithmetic of each product")
    recorder.add_argument("--out", type=Path, required=True, help="file of JSON to write")
    recorder.add_argument("--size", choices=["small", "full"], default="full", help="full has the published sizes")
    recorder.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    recorder.add_argument("--seconds", type=float, default=150, help="after this time only plain orders are tried")
    recorder.add_argument("--only", default="", help="runs whose name contains the given characters")
    printer = commands.add_parser("table", help="print the tables of a recording")
    printer.add_argument("file", type=Path)
    given = parser.parse_args(arguments)
    if given.command == "record":
        from tools.model_products.recording import record

        record(given.out, given.size, given.device, given.seconds, given.only)
    else:
        from tools.model_products.table import tables

        print(tables(given.file))
    return 0


if __name__ == "__main__":
    sys.exit(main())
