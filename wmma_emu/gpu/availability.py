# SPDX-License-Identifier: MIT
"""Detection of a usable GPU, and messages about missing components."""

import importlib
from types import ModuleType
from typing import Any

from wmma_emu.documentation import how_to_install
from wmma_emu.errors import BackendUnavailableError, shorten

_GPU = f"the extra `gpu` ({how_to_install('gpu')})"
_GPU12 = f"the extra `gpu12` ({how_to_install('gpu12')})"
_OLDEST_DRIVERS = {12: "525 or later", 13: "580 or later"}
"""Driver versions by the CUDA version that cuda-core is installed for (CUDA Toolkit release notes)."""

_INSTALL = (
    f"install {_GPU} for drivers of CUDA 13 ({_OLDEST_DRIVERS[13]}), or {_GPU12} for CUDA 12 ({_OLDEST_DRIVERS[12]})"
)


def available() -> bool:
    """Return whether `execute` has a GPU to run on: cuda-core, a compatible driver, and a device.

    Returns
    -------
    bool
        False if a component is missing; `wmma_emu.gpu.device` raises an error that names it.

    Examples
    --------
    >>> import wmma_emu.gpu
    >>> wmma_emu.gpu.available() in (True, False)
    True
    """
    try:
        require_gpu()
    except BackendUnavailableError:
        return False
    return True


def cuda_core() -> ModuleType:
    """Import cuda-core, by its present name or by its name before version 1."""
    try:
        core = importlib.import_module("cuda.core")
        if not hasattr(core, "Device"):
            core = importlib.import_module("cuda.core.experimental")
        importlib.import_module("cuda.bindings.driver")
    except (ImportError, RuntimeError) as error:  # the bindings raise RuntimeError if their libraries are missing
        if isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] == "cuda":
            problem = "cuda-core is not installed"
        else:
            problem = f"cuda-core cannot be imported ({shorten(error, str)})"
        raise BackendUnavailableError(f"the GPU is used through cuda-core, but {problem}; {_INSTALL}") from error
    return core


def require_gpu() -> ModuleType:
    """Return cuda-core after checking for a driver and a GPU; the error names the missing component."""
    core = cuda_core()
    found = driver_version()
    wanted = int(str(importlib.import_module("cuda.bindings").__version__).split(".")[0])
    if found[0] < wanted:
        other = f", or install {_GPU12}" if found[0] == 12 else ""
        raise BackendUnavailableError(
            f"this driver supports CUDA {found[0]}.{found[1]}, but cuda-core is installed for CUDA {wanted}, which "
            "needs "
            f"a driver of CUDA {wanted} ({_OLDEST_DRIVERS.get(wanted, 'a newer one')}); update the driver{other}"
        )
    driver_call("cuInit", 0)
    if driver_call("cuDeviceGetCount") == 0:
        raise BackendUnavailableError("a driver is loaded, but no GPU was found; CUDA_VISIBLE_DEVICES may hide it")
    return core


def driver_version() -> tuple[int, int]:
    """Return the CUDA version that the driver supports, such as (13, 0)."""
    number = int(driver_call("cuDriverGetVersion"))
    if number == 0:
        raise BackendUnavailableError("no NVIDIA driver is loaded; install one, or run where nvidia-smi shows a GPU")
    return number // 1000, number % 1000 // 10


def driver_call(name: str, *arguments: Any) -> Any:
    """Call a function of the driver; return its result, a tuple of results, or None."""
    driver = importlib.import_module("cuda.bindings.driver")
    try:
        status, *results = getattr(driver, name)(*arguments)
    except RuntimeError as error:
        raise BackendUnavailableError(
            f"no NVIDIA driver can be loaded ({shorten(error, str)}); install one, or run where nvidia-smi shows a GPU"
        ) from error
    if int(status):
        meaning = {
            "CUDA_ERROR_NO_DEVICE": "a driver is loaded, but no GPU was found; CUDA_VISIBLE_DEVICES may hide it",
            "CUDA_ERROR_OUT_OF_MEMORY": "too little memory is free on the GPU; reduce max_bytes",
        }.get(getattr(status, "name", ""), f"the driver call {name} failed: {getattr(status, 'name', status)}")
        raise BackendUnavailableError(meaning)
    if not results:
        return None
    return results[0] if len(results) == 1 else tuple(results)
