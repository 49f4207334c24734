# SPDX-License-Identifier: MIT
"""Ask an installed ptxas whether it accepts PTX that the emulator refused."""

import re
import subprocess
import tempfile
from pathlib import Path

__all__ = ["rejection", "verdict"]

_OLDEST, _CHIP = 75, "sm_90"
"""The oldest chip of ptxas 13, and the chip for PTX whose target is older, which it accepts for every newer chip."""


def rejection(text: str, ptxas: str | None) -> str | None:
    """Return the first error of ptxas, an empty string if it accepts the PTX, or None if there is no ptxas."""
    if not ptxas:
        return None
    target = re.search(r"\.target\s+(sm_(\d+)\w*)", text)
    chip = target[1] if target and int(target[2]) >= _OLDEST else _CHIP
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.ptx"
        path.write_text(text.rstrip("\0"), encoding="utf-8")
        command = [ptxas, f"-arch={chip}", "-c", str(path), "-o", f"{path}.cubin"]  # -c: other objects may follow
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.returncode:
        return ""
    lines = [re.sub(r"^.*?(?:error|fatal)\s*:\s*", "", x) for x in done.stderr.splitlines()]
    return lines[0].replace(f"{folder}/", "")[:160] if lines else "it fails"


def verdict(error: str | None) -> str:
    """Return the answer as a remark, or nothing without a ptxas.

    Examples
    --------
    >>> verdict("syntax error"), verdict(""), verdict(None)
    (' [ptxas rejects it]', ' [ptxas accepts it]', '')
    """
    return "" if error is None else " [ptxas rejects it]" if error else " [ptxas accepts it]"
