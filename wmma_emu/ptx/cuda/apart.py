# SPDX-License-Identifier: MIT
"""NVRTC in a process of its own: sources of which parts were blanked out have made it crash."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping

from wmma_emu.errors import CompilationError
from wmma_emu.ptx.cuda.nvrtc import compile_by_nvrtc, nvrtc_version
from wmma_emu.ptx.cuda.request import CompiledSource, Request

_SECONDS = 600
_CODING = "latin-1"
"""Of headers, whose bytes go through JSON as they are."""

_PROGRAM = "from wmma_emu.ptx.cuda.apart import answer; answer()"


def compile_apart(request: Request, headers: Mapping[bytes, bytes], sources: Mapping[str, str]) -> CompiledSource:
    """Compile as `compile_by_nvrtc` does; where the compiler crashes, that is an error like others."""
    nvrtc_version()
    asked = json.dumps([request, {x.decode(_CODING): y.decode(_CODING) for x, y in headers.items()}, sources])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(x or os.getcwd() for x in sys.path)}
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _PROGRAM], input=asked, capture_output=True, text=True, encoding="utf-8",
            env=environment, timeout=_SECONDS, check=False,
        )  # fmt: skip
        said = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        raise CompilationError(
            f"{request.name} does not compile: NVRTC {nvrtc_version()} came to no answer on it", "NVRTC crashed"
        ) from None
    if "error" in said:
        raise CompilationError(said["error"], said["log"])
    return CompiledSource(**{**said, "notes": tuple(said["notes"])})


def answer() -> None:
    """Compile what standard input asks for, and write the answer on standard output."""
    asked, headers, sources = json.loads(sys.stdin.buffer.read().decode())
    request = Request(*asked[:3], *(tuple(x) for x in asked[3:]))
    try:
        done = compile_by_nvrtc(request, {x.encode(_CODING): y.encode(_CODING) for x, y in headers.items()}, sources)
        print(json.dumps(done._asdict()))
    except CompilationError as error:
        print(json.dumps({"error": str(error), "log": error.log}))
