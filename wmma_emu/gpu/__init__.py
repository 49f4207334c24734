# SPDX-License-Identifier: MIT
"""Execution of the same instructions on a real GPU, through cuda-core, which the extra ``gpu`` installs.

This package imports CUDA only when it is used, so that `available` can be called on any machine.

>>> import wmma_emu.gpu
>>> sorted(wmma_emu.gpu.__all__)
['CampaignReport', 'DeviceInfo', 'available', 'crosscheck', 'device', 'execute', 'multiply', 'run_snippet']
"""

from wmma_emu.applications.campaign import CampaignReport
from wmma_emu.gpu.availability import available
from wmma_emu.gpu.crosscheck import crosscheck
from wmma_emu.gpu.device import DeviceInfo, device
from wmma_emu.gpu.execute import execute
from wmma_emu.gpu.multiply import multiply
from wmma_emu.gpu.snippet import run_snippet
from wmma_emu.renamed import renamed_names

__all__ = ["CampaignReport", "DeviceInfo", "available", "crosscheck", "device", "execute", "multiply", "run_snippet"]


def __dir__() -> list[str]:
    return sorted(__all__)


__getattr__ = renamed_names(__name__, {"Report": "CampaignReport"})
