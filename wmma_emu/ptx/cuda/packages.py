# SPDX-License-Identifier: MIT
"""The folders of compilers and headers in NVIDIA's PyPI packages and in its toolkit."""

import importlib.util
import os
import re
import subprocess
from pathlib import Path

_RELEASE = re.compile(r"V(\d+\.\d+\.\d+)")


def nvidia_folders() -> list[Path]:
    """Return the folders of installed NVIDIA packages."""
    spec = importlib.util.find_spec("nvidia")
    return [Path(x) for x in (spec.submodule_search_locations or ())] if spec is not None else []


def include_folders() -> list[Path]:
    """Return the folders of CUDA's headers in the installed packages, the newest version first."""
    found = [path for folder in nvidia_folders() for path in folder.glob("*/include")]
    found.sort(key=lambda path: path.parent.name, reverse=True)
    return [x for path in found for x in (path, path / "cccl") if x.is_dir()]


def toolkit_folders() -> list[Path]:
    """Return the folders that may contain toolkit programs: first the user's, then the packages'."""
    folders = [Path(os.environ[x], "bin") for x in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(x)]
    folders += [Path(x) for x in os.environ.get("PATH", "").split(os.pathsep) if x]
    folders.append(Path("/usr/local/cuda/bin"))
    return [*folders, *(path for folder in nvidia_folders() for path in sorted(folder.glob("*/bin"), reverse=True))]


def release_of(program: Path) -> str:
    """Return the release and build of a toolkit program, "13.0.88"; "" if it does not report it or does not run."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = _RELEASE.search(said)
    return found[1] if found else ""
