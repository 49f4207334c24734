# SPDX-License-Identifier: MIT
"""The launcher of bundles gives the driver parameters and memory as the driver expects them."""

import ctypes
from typing import Any

import numpy as np
import pytest

from tools import bundle_launcher

PLACES = iter(range(0x7000, 0x100000, 0x1000))


class FakeDevice:
    """A driver whose kernel writes the first parameter's bytes to ``seen``, and changes nothing."""

    def __init__(self) -> None:
        self.memory: dict[int, bytes] = {}
        self.seen: list[tuple[int, bytes]] = []
        self.sizes: list[int] = []

    def _upload(self, array: Any) -> int:
        place = next(PLACES)
        self.memory[place] = array.tobytes()
        return place

    def _call(self, name: str, *arguments: Any) -> None:
        if name == "cuMemcpyHtoD_v2":
            self.memory[arguments[0]] = ctypes.string_at(arguments[1], arguments[2])
        if name == "cuMemcpyDtoH_v2":
            ctypes.memmove(arguments[0], self.memory[arguments[1]], arguments[2])
        if name == "cuLaunchKernel":
            pointers = arguments[-2]
            self.seen = [(x, ctypes.string_at(x, size)) for x, size in zip(pointers, self.sizes, strict=True)]

    def allow_shared_memory(self, *_: Any) -> None:
        pass


def _launch(monkeypatch: pytest.MonkeyPatch, launch: dict[str, Any], arrays: dict[str, Any]) -> Any:
    device = FakeDevice()
    device.sizes = [len(x["bytes"]) // 2 for x in launch["arguments"]]
    monkeypatch.setattr(bundle_launcher, "Device", lambda: device)
    size = {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0}
    return device, bundle_launcher.BundleLauncher(b"", size | launch).launch(arrays)


def test_a_tensor_map_is_passed_at_a_multiple_of_64_with_the_address_of_its_array(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = bytes(8) + bytes(range(120))
    launch = {"arguments": [{"bytes": given.hex(), "pointers": [[0, "x", 16]], "struct": True}]}
    device, _ = _launch(monkeypatch, launch, {"x": np.arange(64, dtype=np.uint8)})
    (address, seen), (place,) = device.seen[0], device.memory
    assert address % 64 == 0
    assert seen == (place + 16).to_bytes(8, "little") + given[8:]


def test_addresses_in_arrays_are_translated_for_the_launch_and_back_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arrays = {"x": np.zeros(64, np.uint8), "table": np.array([0x5008, 3], np.uint64).view(np.uint8)}
    launch = {
        "arguments": [{"bytes": bytes(8).hex(), "pointers": [[0, "table", 0]]}],
        "addresses": {"x": 0x5000, "table": 0x6000},
    }
    device, after = _launch(monkeypatch, launch, arrays)
    x, table = device.memory
    assert device.memory[table] == (x + 8).to_bytes(8, "little") + (3).to_bytes(8, "little")
    assert after["table"].tobytes() == arrays["table"].tobytes()
