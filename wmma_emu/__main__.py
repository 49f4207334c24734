# SPDX-License-Identifier: MIT
"""``python -m wmma_emu`` is ``wmma-emu``."""

import sys

from wmma_emu.cli import main

if __name__ == "__main__":
    sys.exit(main())
