# SPDX-License-Identifier: MIT
"""PyTorch's fused paths for the CPU, whose products no mode sees: off in the whole process while an emulation is on."""

import torch

from wmma_emu.torch.process_switch import ProcessSwitch


def _off() -> tuple[bool, bool]:
    before = torch.backends.mha.get_fastpath_enabled(), torch._C._get_mkldnn_enabled()
    _set((False, False))
    return before


def _set(paths: tuple[bool, bool]) -> None:
    of_attention, of_onednn = paths
    torch.backends.mha.set_fastpath_enabled(of_attention)
    torch._C._set_mkldnn_enabled(of_onednn)


without_fused_paths = ProcessSwitch(_off, _set)
"""Switches the paths off in a block of code."""
