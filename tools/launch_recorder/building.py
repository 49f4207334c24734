# SPDX-License-Identifier: MIT
"""Compile the library that records launches."""

import subprocess
from pathlib import Path

__all__ = ["SOURCE", "build_recorder", "toolkit"]

SOURCE = Path(__file__).with_name("launch_recorder.cpp")


def toolkit(nvcc: str) -> Path:
    """Return the folder of the CUDA toolkit: the one with ``include`` and ``lib``, as nvcc itself says.

    Raises
    ------
    OSError
        If nvcc does not say it.
    """
    said = subprocess.run([nvcc, "--dryrun", "-c", "x.cu"], capture_output=True, text=True).stderr
    for line in said.splitlines():
        if line.startswith("#$ TOP="):
            return Path(line.removeprefix("#$ TOP=").strip()).resolve()
    raise OSError(f"{nvcc} --dryrun does not print where the toolkit is:\n{said}")


def build_recorder(target: Path, cuda: Path) -> None:
    """Compile the library. It needs the toolkit's headers, and at run time the program's runtime and the driver.

    Raises
    ------
    OSError
        With the compiler's messages.
    """
    command = ["g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-shared", "-fPIC", "-s", f"-I{cuda / 'include'}"]
    done = subprocess.run([*command, "-o", str(target), str(SOURCE), "-ldl"], capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{SOURCE.name} does not compile:\n{done.stderr}")
