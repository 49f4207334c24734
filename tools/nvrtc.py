# SPDX-License-Identifier: MIT
"""Compiling the same sources without nvcc: NVRTC and nvJitLink, through cuda-core."""

import argparse
import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from tools.cuda_driver import CudaError, driver_version, find_nvcc

HEADER = "mma.h"
"""Headers that the sources include and NVRTC does not provide."""


Compile = Callable[[dict[str, str], Path, str], list[bytes]]
Versions = Callable[[], dict[str, str]]


def add_option(parser: argparse.ArgumentParser) -> None:
    """Let the command line choose the compiler."""
    parser.add_argument(
        "--compiler", choices=("nvcc", "nvrtc"), default="nvcc",
        help="nvrtc: the run-time compiler, through cuda-core; it needs CUDA's headers, but no nvcc",
    )  # fmt: skip


def chosen(compiler: str, compiling: Compile, asking: Versions) -> tuple[Compile, Versions]:
    """Take nvcc's two functions, or those of here."""
    return (compile_cubins, versions) if compiler == "nvrtc" else (compiling, asking)


def compile_cubins(sources: dict[str, str], folder: Path, target: str) -> list[bytes]:
    """Compile sources (file name: text; ``.ptx`` or ``.cu``) for one chip; as `tools.cuda_driver.compile_cubins`."""
    return [compile_one(name, text, target) for name, text in sources.items()]


def compile_one(name: str, text: str, target: str) -> bytes:
    """Compile one source; its kernels keep their names, which are ``extern "C"``."""
    try:
        from cuda.core import Program, ProgramOptions
    except ImportError as error:
        raise CudaError(f"no cuda-core ({error}): pip install '.[gpu]'") from error
    if name.endswith(".ptx"):
        program = Program(text, "ptx", ProgramOptions(name=name, arch=target))
    else:
        options = ProgramOptions(name=name, arch=target, std="c++17", include_path=[str(x) for x in include_paths()])
        program = Program(text, "c++", options)
    try:
        return bytes(program.compile("cubin").code)
    except Exception as error:
        raise CudaError(f"{name} does not compile for {target}:\n{str(error)[:4000]}") from error
    finally:
        program.close()


def include_paths() -> list[Path]:
    """Return folders of CUDA's headers: the toolkit's own, or those of the Python packages that hold it."""
    for folder in _folders():
        if (folder / HEADER).exists():
            standard = folder / "cccl"
            return [folder, standard] if standard.exists() else [folder]
    raise CudaError(
        f"no {HEADER}: put the CUDA toolkit's bin folder on PATH, set CUDA_HOME, or pip install nvidia-cuda-runtime "
        "nvidia-cuda-crt"
    )


def _folders() -> Iterator[Path]:
    for home in ("CUDA_HOME", "CUDA_PATH"):
        if home in os.environ:
            yield Path(os.environ[home], "include")
    try:
        yield Path(find_nvcc()).resolve().parents[1] / "include"
    except CudaError:
        pass
    yield Path("/usr/local/cuda/include")
    nvidia = importlib.util.find_spec("nvidia")
    for place in (nvidia.submodule_search_locations or []) if nvidia else []:
        yield from sorted(Path(place).glob("cu[0-9]*/include"), reverse=True)
        yield Path(place, "cuda_runtime", "include")


def versions() -> dict[str, str]:
    """Return the versions that affect bits in addition to the chip, as `tools.cuda_driver.versions`."""
    from cuda.bindings import nvrtc

    status, major, minor = nvrtc.nvrtcVersion()
    release = f"{major}.{minor}" if int(status) == 0 else "unknown"
    return {"driver": driver_version(), "cuda": release, "ptxas": f"NVRTC {release}"}
