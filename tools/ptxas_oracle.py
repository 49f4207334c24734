# SPDX-License-Identifier: MIT
"""Ask ptxas whether it accepts PTX source, and which lines it rejects."""

import re
import subprocess
import tempfile
from pathlib import Path

from wmma_emu.errors import BackendUnavailableError
from wmma_emu.ptx.launch.assembler import find_assemblers

__all__ = ["HEAD", "Ptxas", "find_ptxas", "statement_text"]

HEAD = """.version {version}
.target {target}
.address_size 64
.global .align 16 .b8 gv[256];
.const .align 16 .b8 cv[256];
.visible .entry k(.param .u64 pp)
{{
.reg .pred %p<20>; .reg .b16 %h<20>; .reg .u16 %hu<20>; .reg .s16 %hs<20>; .reg .f16 %hf<20>;
.reg .b32 %r<20>; .reg .u32 %u<20>; .reg .s32 %s<20>; .reg .f32 %f<20>; .reg .f16x2 %ff<20>;
.reg .b64 %rd<20>; .reg .u64 %ud<20>; .reg .s64 %sd<20>; .reg .f64 %d<20>;
.shared .align 16 .b8 sv[256];
.local .align 16 .b8 lv[256];
"""
"""Registers of all types and a variable of each space, for single instructions."""

_ERROR = re.compile(r"line (\d+); (?:error|fatal)\s*:\s*(.*)")
_VERSION = re.compile(r"\bV(\d+\.\d+\.\d+)")


def find_ptxas() -> Path | None:
    """Find the newest assembler on this machine."""
    try:
        return find_assemblers()[0].ptxas
    except BackendUnavailableError:
        return None


def statement_text(statements: list[str], target: str, version: str) -> str:
    """Write a kernel with one statement per line, each in separate braces; the first is in line ``HEAD.count + 1``."""
    lines = "".join("{ " + x.replace("\n", " ") + " }\n" for x in statements)
    return HEAD.format(target=target, version=version) + lines + "ret;\n}\n"


class Ptxas:
    """An assembler.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def version(self) -> str:
        """Its release, ``"13.0.88"``."""
        said = subprocess.run([self.path, "--version"], capture_output=True, text=True, check=True).stdout
        found = _VERSION.search(said)
        return found[1] if found else "unknown"

    def errors(self, text: str, target: str) -> dict[int, str]:
        """Assemble PTX source; return the errors by line, 0 for errors without a line, and {} if it is accepted."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "text.ptx"
            source.write_text(text)
            command = [str(self.path), "-O0", "-arch", target, "-o", f"{folder}/out", str(source)]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
        if done.returncode == 0:
            return {}
        said = done.stdout + done.stderr
        found: dict[int, str] = {}
        for line, reason in _ERROR.findall(said):
            found.setdefault(int(line), reason)
        return found or {0: said.strip()[-300:]}

    def judge(self, statements: list[str], target: str, version: str) -> list[str | None]:
        """Return the reason for rejecting each statement, None if it is accepted."""
        found: list[str | None] = [None] * len(statements)
        self._judge(list(range(len(statements))), statements, target, version, found)
        return found

    def _judge(
        self, asked: list[int], statements: list[str], target: str, version: str, found: list[str | None]
    ) -> None:
        """Test many statements at once; a syntax error hides the following ones, which are tested again."""
        first = HEAD.format(target=target, version=version).count("\n") + 1
        while asked:
            errors = self.errors(statement_text([statements[x] for x in asked], target, version), target)
            if not errors:
                return
            wrong = {line - first for line in errors if 0 <= line - first < len(asked)}
            if not wrong and len(asked) > 1:
                half = len(asked) // 2
                self._judge(asked[:half], statements, target, version, found)
                self._judge(asked[half:], statements, target, version, found)
                return
            for place in wrong or {0}:
                found[asked[place]] = errors.get(place + first) or next(iter(errors.values()))
            asked = [x for place, x in enumerate(asked) if place not in (wrong or {0})]
