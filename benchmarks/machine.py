# SPDX-License-Identifier: MIT
"""The machine on which the figures were measured."""

import os
import platform
import time
from importlib import import_module, metadata

import numpy as np

import wmma_emu

LIBRARIES = ("ml_dtypes", "llvmlite", "threadpoolctl", "dask", "distributed")


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def installed(name: str) -> bool:
    try:
        import_module(name)
    except ImportError:
        return False
    return True


def machine() -> dict[str, object]:
    """CPU, cores, memory, and the version of everything that takes part."""
    versions = {name: _version(name) for name in LIBRARIES}
    return {
        "date": time.strftime("%Y-%m-%d"), "cpu": _cpu(), "cores": cores(), "memory_gib": _memory(),
        "system": platform.system(), "python": platform.python_version(), "wmma_emu": wmma_emu.__version__,
        "numpy": np.__version__, "blas": _blas(), **versions,
    }  # fmt: skip


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _memory() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return None


def _blas() -> str:
    """Return the BLAS library of `np.matmul`, and its default number of threads."""
    name = np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return f"{name}, threads not known without threadpoolctl"
    np.ones((2, 2)) @ np.ones((2, 2))
    found = [x for x in threadpool_info() if x["user_api"] == "blas"]
    return ", ".join(f"{x['internal_api']} {x['version']}, {x['num_threads']} threads" for x in found) or name
