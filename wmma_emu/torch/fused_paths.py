# SPDX-License-Identifier: MIT
"""PyTorch's fused paths for the CPU, whose products no mode sees: off in the whole process while an emulation is on."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_lock, _blocks = threading.Lock(), 0
_before = (True, True)


@contextmanager
def without_fused_paths() -> Iterator[None]:
    """Switch the paths off in a block of code; the last block of all threads restores them."""
    global _blocks, _before
    with _lock:
        if not _blocks:
            _before = torch.backends.mha.get_fastpath_enabled(), torch._C._get_mkldnn_enabled()
            _set(False, False)
        _blocks += 1
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if not _blocks:
                _set(*_before)


def _set(of_attention: bool, of_onednn: bool) -> None:
    torch.backends.mha.set_fastpath_enabled(of_attention)
    torch._C._set_mkldnn_enabled(of_onednn)
