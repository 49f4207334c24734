# SPDX-License-Identifier: MIT
"""Where NVIDIA's packages of PyPI, and its toolkit, keep compilers and headers."""

import importlib.util
import os
import re
import subprocess
from pathlib import Path

_RELEASE = re.compile(r"V(\d+\.\d+\.\d+)")


def nvidia_folders() -> list[Path]:
    """Where packages of NVIDIA are installed."""
    spec = importlib.util.find_spec("nvidia")
    return [Path(x) for x in (spec.submodule_search_locations or ())] if spec is not None else []


def include_folders() -> list[Path]:
    """Folders of CUDA's headers among the installed packages, those of the newest version first."""
    found = [path for folder in nvidia_folders() for path in folder.glob("*/include")]
    found.sort(key=lambda path: path.parent.name, reverse=True)
    return [x for path in found for x in (path, path / "cccl") if x.is_dir()]


def toolkit_folders() -> list[Path]:
    """Folders in which a program of the toolkit may be: those that the user names, then those of the packages."""
    folders = [Path(os.environ[x], "bin") for x in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(x)]
    folders += [Path(x) for x in os.environ.get("PATH", "").split(os.pathsep) if x]
    folders.append(Path("/usr/local/cuda/bin"))
    return [*folders, *(path for folder in nvidia_folders() for path in sorted(folder.glob("*/bin"), reverse=True))]


def release_of(program: Path) -> str:
    """Release and build of a program of the toolkit, "13.0.88"; "" where it does not say, or does not run."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = _RELEASE.search(said)
    return found[1] if found else ""
