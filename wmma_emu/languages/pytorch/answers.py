# SPDX-License-Identifier: MIT
"""Answers of ``torch.cuda`` about the emulated chip."""

import os
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from wmma_emu.instructions import Arch
from wmma_emu.instructions.residency import residency_of
from wmma_emu.languages.pytorch.generators import ChipGenerator
from wmma_emu.languages.pytorch.streams import Context, Event, Stream

CUDA_VERSION = "13.0"
"""The answer of ``torch.version.cuda`` if PyTorch was built without CUDA: the version of the manuals used here."""


def name_of(arch: Arch) -> str:
    """Return the name of the device, after the product of whose data sheet the properties are.

    Examples
    --------
    >>> from wmma_emu.instructions import arch_of
    >>> name_of(arch_of("a100"))
    'NVIDIA A100 (emulated by wmma_emu)'
    """
    return f"NVIDIA {residency_of(arch).product} (emulated by wmma_emu)"


def properties_of(arch: Arch) -> SimpleNamespace:
    """Return the properties of the device, as ``torch.cuda.get_device_properties`` does; its memory is the host's."""
    row, (major, minor) = residency_of(arch), divmod(arch.number, 10)
    return SimpleNamespace(
        name=name_of(arch), major=major, minor=minor, total_memory=_host_bytes(), warp_size=32,
        multi_processor_count=row.multiprocessors, max_threads_per_multi_processor=row.threads,
        max_threads_per_block=1024, regs_per_multiprocessor=65536, is_integrated=False, is_multi_gpu_board=False,
        shared_memory_per_block=48 << 10, shared_memory_per_block_optin=arch.shared_kib.value << 10,
        shared_memory_per_multiprocessor=row.shared_kib << 10, gcnArchName=name_of(arch),
    )  # fmt: skip


def _host_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0


def answers(arch: Arch) -> Mapping[str, Any]:
    """Return the functions and classes that replace those of ``torch.cuda``, by name."""
    import torch

    stream, generator = Stream(), ChipGenerator()
    generator.seed()

    def always(value: Any) -> Any:
        return lambda *_, **__: value

    def each(names: str, value: Any = None) -> dict[str, Any]:
        """Answer several names with one value, each by its own function: torch.compile has a rule for each object."""
        return {name: always(value) for name in names.split()}

    return {
        **each("is_available is_initialized is_bf16_supported", True),
        **each(
            "synchronize set_device set_stream empty_cache init _lazy_init seed seed_all "
            "ipc_collect reset_peak_memory_stats reset_max_memory_allocated set_rng_state set_rng_state_all"
        ),
        **each("memory_allocated max_memory_allocated memory_reserved max_memory_reserved current_device", 0),
        **{x: lambda seed: generator.manual_seed(seed) and None for x in ("manual_seed", "manual_seed_all")},
        "default_generators": (generator,),
        "_is_in_bad_fork": always(False),
        "is_current_stream_capturing": always(False),
        "device_count": always(1),
        "mem_get_info": lambda device=None: (_host_bytes(), _host_bytes()),
        "get_device_capability": always(divmod(arch.number, 10)),
        "get_device_name": always(name_of(arch)),
        "get_device_properties": lambda device=None: properties_of(arch),
        "get_arch_list": always([arch.name]),
        "get_rng_state": lambda device=None: torch.get_rng_state(),
        "get_rng_state_all": lambda: [torch.get_rng_state()],
        "initial_seed": torch.initial_seed,
        **each("current_stream default_stream", stream),
        **{x: type(x, (Context,), {}) for x in ("device", "device_of", "_DeviceGuard", "stream", "StreamContext")},
        "Stream": Stream,
        "ExternalStream": lambda pointer, device=None: Stream(device),
        "Event": Event,
    }  # fmt: skip


def ranges() -> Mapping[str, Any]:
    """Return what replaces the functions of ``torch.cuda.nvtx``, which name ranges for a profiler."""
    return {"range_push": lambda text: 0, "range_pop": lambda: 0, "mark": lambda text: None, "range": Context}
