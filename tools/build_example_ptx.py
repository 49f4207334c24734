# SPDX-License-Identifier: MIT
"""Compile the sources of examples/ptx/ to PTX, without a GPU or a driver: CUDA C++ by nvcc or NVRTC, Triton by its own
compiler.

    python -m tools.build_example_ptx [--compiler nvcc] [NAME ...]

writes examples/ptx/compiled/NAME.ptx. The committed PTX is nvcc's, whose version a driver of the same age reads;
a test compiles it again with NVRTC.
"""

import argparse
import importlib
import inspect
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from examples.ptx.texts import FOLDER, TEXTS, TritonText, source
from tools.cuda_driver import CudaError, find_nvcc
from wmma_emu.ptx.cuda import compile as cuda_source

PTX_VERSION = 86
"""The PTX version of the Triton kernels: the oldest with all of their instructions."""


def build(name: str, compiler: str = "nvrtc") -> str:
    """Return the newly compiled PTX of one example."""
    text = TEXTS[name]
    if isinstance(text, TritonText):
        return build_triton(text)
    return compile_cuda(source(name), text.file, text.target, compiler)


def compile_cuda(text: str, file: str, target: str, compiler: str = "nvrtc", options: Sequence[str] = ()) -> str:
    """Return PTX of CUDA C++, without paths of this machine in it; NVRTC's always has lines.

    Raises
    ------
    CudaError
        If nvcc is not installed, or rejects the source.
    BackendUnavailableError, CompilationError
        The same of NVRTC.
    """
    if compiler == "nvcc":
        return without_paths(_by_nvcc(text, file, target, options))
    return without_paths(cuda_source.compile_cuda(text, target, name=file, options=options).ptx)


def without_paths(ptx: str) -> str:
    """Remove folders from ``.file``, and spaces at the ends of lines."""
    ptx = re.sub(r'(\.file\s+\d+\s+")[^"]*/([^"/]+")(?:\s*,\s*\d+\s*,\s*\d+)?', r"\1\2", ptx)
    return "\n".join(x.rstrip() for x in ptx.strip().splitlines()) + "\n"


def _by_nvcc(text: str, file: str, target: str, options: Sequence[str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, file)
        path.write_text(text, encoding="utf-8")
        command = [find_nvcc(), "-ptx", f"-arch={target}", "-std=c++17", *options, file, "-o", "out.ptx"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
        if done.returncode:
            raise CudaError(f"{file} does not compile for {target}:\n{done.stderr[:4000]}")
        return Path(folder, "out.ptx").read_text(encoding="utf-8")


def build_triton(text: TritonText) -> str:
    """Return PTX of a Triton kernel."""
    from triton import compile as triton_compile
    from triton import language
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    module = importlib.import_module(f"examples.ptx.{text.file.removesuffix('.py')}")
    function: Any = getattr(module, text.function)
    constants = {k: getattr(language, v.replace("fp", "float")) if k == "SUM" else v for k, v in text.constants.items()}
    names = list(inspect.signature(function.fn).parameters)
    signature = text.signature | dict.fromkeys(constants, "constexpr")
    attributes = {(names.index(x),): [["tt.divisibility", 16]] for x in text.divisible}
    asked = ASTSource(
        fn=function, signature={x: signature[x] for x in names}, constexprs=constants, attrs=attributes
    )  # fmt: skip
    options = {"num_warps": text.warps, "num_stages": text.stages, "ptx_version": PTX_VERSION}
    # Lines would name folders of this machine; fusing is today's default, said aloud.
    with mock.patch.dict(os.environ, TRITON_DISABLE_LINE_INFO="1", TRITON_DEFAULT_FP_FUSION="1"):
        kernel = triton_compile(asked, target=GPUTarget("cuda", int(text.target[3:]), 32), options=options)
    return without_paths(f"// dynamic shared bytes: {kernel.metadata.shared}\n{kernel.asm['ptx'].lstrip()}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.build_example_ptx", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(TEXTS)}; all unless given")
    parser.add_argument("--compiler", choices=("nvcc", "nvrtc"), default="nvcc", help="of CUDA C++")
    given = parser.parse_args(arguments)
    for name in given.names or TEXTS:
        ptx = build(name, given.compiler)
        (FOLDER / "compiled" / f"{name}.ptx").write_text(ptx, encoding="utf-8")
        print(f"{name}: {len(ptx)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
