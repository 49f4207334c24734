# SPDX-License-Identifier: MIT
"""Answers of ``torch.cuda`` about the emulated chip."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from wmma_emu.instructions import Arch
from wmma_emu.languages.device_properties import REGISTERS, SHARED_BYTES, WARP_SIZE, DeviceProperties, properties_of
from wmma_emu.languages.pytorch.devices import on_the_host, require_first
from wmma_emu.languages.pytorch.generators import ChipGenerator
from wmma_emu.languages.pytorch.streams import Context, Event, Stream

CUDA_VERSION = "13.0"
"""The answer of ``torch.version.cuda`` if PyTorch was built without CUDA: the version of the manuals used here."""


def device_of(properties: DeviceProperties) -> SimpleNamespace:
    """Return the properties of the device as ``torch.cuda.get_device_properties`` does."""
    (major, minor), limits, residency = properties.capability, properties.limits, properties.residency
    return SimpleNamespace(
        name=properties.name, major=major, minor=minor, total_memory=properties.memory_bytes, warp_size=WARP_SIZE,
        multi_processor_count=residency.multiprocessors, max_threads_per_multi_processor=residency.threads,
        max_threads_per_block=limits.threads, regs_per_multiprocessor=REGISTERS, is_integrated=False,
        is_multi_gpu_board=False, shared_memory_per_block=SHARED_BYTES,
        shared_memory_per_block_optin=limits.shared_bytes,
        shared_memory_per_multiprocessor=residency.shared_kib << 10, gcnArchName=properties.name,
    )  # fmt: skip


def answers(arch: Arch) -> Mapping[str, Any]:
    """Return the functions and classes that replace those of ``torch.cuda``, by name."""
    import torch

    stream, properties, generator = Stream(), properties_of(arch), ChipGenerator()
    generator.seed()

    def always(value: Any) -> Any:
        return lambda *_, **__: value

    def each(names: str, value: Any = None) -> dict[str, Any]:
        """Answer several names with one value, each by a separate function, as torch.compile requires."""
        return {name: always(value) for name in names.split()}

    def get_properties(device: Any = None) -> Any:
        _require_device(device)
        return device_of(properties)

    return {
        **each("is_available is_initialized is_bf16_supported", True),
        **each(
            "synchronize set_stream empty_cache init _lazy_init seed seed_all "
            "ipc_collect reset_peak_memory_stats reset_max_memory_allocated set_rng_state set_rng_state_all"
        ),
        **each("memory_allocated max_memory_allocated memory_reserved max_memory_reserved current_device", 0),
        **{x: lambda seed: generator.manual_seed(seed) and None for x in ("manual_seed", "manual_seed_all")},
        "default_generators": (generator,),
        "_is_in_bad_fork": always(False),
        "is_current_stream_capturing": always(False),
        "device_count": always(1),
        "mem_get_info": lambda device=None: (properties.memory_bytes, properties.memory_bytes),
        "get_device_capability": always(properties.capability),
        "get_device_name": always(properties.name),
        "get_device_properties": get_properties,
        "set_device": _require_device,
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


def _require_device(device: Any = None) -> None:
    """Raise an error for another device than the first one."""
    if isinstance(device, int):
        require_first(device)
    on_the_host(device)


def ranges() -> Mapping[str, Any]:
    """Return what replaces the functions of ``torch.cuda.nvtx``, which name ranges for a profiler."""
    return {"range_push": lambda text: 0, "range_pop": lambda: 0, "mark": lambda text: None, "range": Context}
