# SPDX-License-Identifier: MIT
"""Memory of the GPU that is always given back, and what is said where the GPU fails."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import BackendUnavailableError, shorten
from wmma_emu.gpu.availability import driver_call


@contextmanager
def translated_errors(what: str, where: str) -> Iterator[None]:
    """Say which work failed on which GPU, and what helps, where CUDA raises an error of its own.

    Examples
    --------
    >>> with translated_errors("the kernel snippet", "NVIDIA H200 (sm_90)"):
    ...     raise RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.BackendUnavailableError: the kernel snippet failed on NVIDIA H200 (sm_90):
        CUDA_ERROR_ILLEGAL_ADDRESS; a process that a kernel failed in cannot use the GPU any more: try in a new one
    """
    try:
        yield
    except Exception as error:  # cuda-core's are not public, and bindings have others
        raise BackendUnavailableError(
            f"{what} failed on {where}: {shorten(error, str)}; a process that a kernel failed in cannot use the GPU "
            "any more: try in a new one"
        ) from error


class GpuMemory:
    """Buffers on the GPU, for as long as the block of `Gpu.memory` lasts; ``where`` is what errors call the GPU."""

    def __init__(self, device: Any, stream: Any, where: str, buffers: ExitStack) -> None:
        self._device, self._stream, self._where, self._buffers = device, stream, where, buffers

    def allocate(self, nbytes: int) -> Any:
        """Allocate a buffer, not initialised."""
        try:
            buffer = self._device.allocate(max(nbytes, 16), stream=self._stream)
        except Exception as error:
            raise BackendUnavailableError(
                f"{nbytes} bytes cannot be allocated on {self._where} ({shorten(error, str)}); a smaller max_bytes "
                "needs less"
            ) from error
        self._buffers.push(self._closing(buffer))
        return buffer

    def upload(self, array: NDArray[Any], buffer: Any = None) -> Any:
        """Copy an array to the GPU, into a buffer if one is given."""
        contiguous = np.ascontiguousarray(array)
        if buffer is None:
            buffer = self.allocate(contiguous.nbytes)
        if contiguous.nbytes:
            address = contiguous.ctypes.data
            with translated_errors("copying to the GPU", self._where):
                driver_call("cuMemcpyHtoDAsync", int(buffer.handle), address, contiguous.nbytes, self._stream.handle)
                self._stream.sync()  # the array may be a temporary one
        return buffer

    def download(self, buffer: Any, array: NDArray[Any]) -> None:
        """Copy the beginning of a buffer into a contiguous array."""
        address, nbytes = array.ctypes.data, array.nbytes
        with translated_errors("copying from the GPU", self._where):
            if nbytes:
                driver_call("cuMemcpyDtoHAsync", address, int(buffer.handle), nbytes, self._stream.handle)
            self._stream.sync()

    def _closing(self, buffer: Any) -> Callable[[Any, BaseException | None, Any], None]:
        def close(kind: Any, error: BaseException | None, trace: Any) -> None:
            try:
                with translated_errors("giving memory back", self._where):
                    buffer.close(self._stream)
            except BackendUnavailableError:
                if error is None:  # after a failure nothing can be given back: the failure is the news
                    raise

        return close
