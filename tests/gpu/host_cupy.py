# SPDX-License-Identifier: MIT
"""As much of CuPy as the cupy engine uses, in the memory of the host: kernels are compiled as C++ and run there."""

import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from tests.arithmetic.cuda_on_host import call, compile_source


class ndarray(np.ndarray):
    """An array that claims to be in the memory of a GPU."""

    def get(self) -> np.ndarray:
        return np.array(self)

    def __array__(self, *arguments, **options):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __dlpack__(self, *, stream=None):
        return np.ndarray.__dlpack__(self.view(np.ndarray))

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if any(type(x) is np.ndarray for x in inputs):
            raise TypeError("Unsupported type <class 'numpy.ndarray'>")
        plain = [x.view(np.ndarray) if isinstance(x, ndarray) else x for x in inputs]
        if "out" in options:
            options["out"] = tuple(x.view(np.ndarray) for x in options["out"])
        return np.asarray(getattr(ufunc, method)(*plain, **options)).view(ndarray)


class RawModule:
    """A program; what ``get_function`` returns is launched as CuPy launches kernels."""

    def __init__(self, code, options):
        self.folder = tempfile.TemporaryDirectory()
        self.library = compile_source(code, Path(self.folder.name))

    def get_function(self, name):
        if name == "matmul":
            return Kernel(lambda blocks, arguments: call(self.library.run_blocks, (*arguments, blocks)))
        return Kernel(lambda blocks, arguments: call(getattr(self.library, name), arguments))


class Kernel:
    def __init__(self, run):
        self.run = run

    def __call__(self, grid, block, arguments, shared_mem=0):
        assert len(grid) == len(block) == 1 and grid[0] > 0 and block[0] == 256
        assert shared_mem <= getattr(self, "max_dynamic_shared_size_bytes", 48 * 1024)
        assert all(isinstance(x, ndarray | np.int64) for x in arguments)
        self.run(grid[0], arguments)


def asarray(array) -> ndarray:
    return array if isinstance(array, ndarray) else np.array(array, order="C").view(ndarray)


def _wrapped(function):
    return lambda *arguments, **options: function(*arguments, **options).view(ndarray)


class _OutOfMemoryError(Exception):
    pass


array, empty, zeros, pad = _wrapped(np.array), _wrapped(np.empty), _wrapped(np.zeros), _wrapped(np.pad)
ascontiguousarray, broadcast_to = _wrapped(np.ascontiguousarray), _wrapped(np.broadcast_to)
from_dlpack = _wrapped(np.from_dlpack)
sort, argsort, where = _wrapped(np.sort), _wrapped(np.argsort), _wrapped(np.where)
moveaxis, arange, take_along_axis = _wrapped(np.moveaxis), _wrapped(np.arange), _wrapped(np.take_along_axis)
cuda = SimpleNamespace(
    runtime=SimpleNamespace(getDeviceCount=lambda: 1, getDevice=lambda: -1, CUDARuntimeError=RuntimeError),
    memory=SimpleNamespace(OutOfMemoryError=_OutOfMemoryError),
    get_current_stream=lambda: SimpleNamespace(synchronize=lambda: None),
)
