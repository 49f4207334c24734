# SPDX-License-Identifier: MIT
"""Launch a part of the launches of a bundle on the first GPU: the standard library and the driver are enough.

python3 launch.py BUNDLE PART
"""

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

_SHARED_LIMIT = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_MOST_WITHOUT_ASKING = 48 * 1024


class Gpu:
    """The first GPU, with the modules that were loaded."""

    def __init__(self) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._modules: dict[str, ctypes.c_void_p] = {}
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if status:
            raise SystemExit(f"{name} returned {status}")

    def function(self, file: Path, kernel: str) -> ctypes.c_void_p:
        if str(file) not in self._modules:
            module = ctypes.c_void_p()
            self.call("cuModuleLoadData", ctypes.byref(module), file.read_bytes())
            self._modules[str(file)] = module
        found = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(found), self._modules[str(file)], kernel.encode())
        return found

    def upload(self, content: bytes, size: int) -> int:
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(size, 1)))
        self.call("cuMemsetD8_v2", pointer, ctypes.c_ubyte(0), ctypes.c_size_t(size))
        if content:
            self.call("cuMemcpyHtoD_v2", pointer, content, ctypes.c_size_t(len(content)))
        return pointer.value

    def launch(self, folder: Path, given: dict[str, Any], data: bytes) -> None:
        """Launch on new buffers, which are freed afterwards."""
        function = self.function(folder / given["module"], given["kernel"])
        if given["shared"] > _MOST_WITHOUT_ASKING:
            self.call("cuFuncSetAttribute", function, _SHARED_LIMIT, given["shared"])
        buffers, values = [], []
        for kind, *rest in given["arguments"]:
            if kind == "value":
                values.append(ctypes.create_string_buffer(bytes.fromhex(rest[0])))
                continue
            offset, stored, size = rest
            buffers.append(self.upload(data[offset : offset + stored], size))
            values.append(ctypes.c_uint64(buffers[-1]))
        pointers = (ctypes.c_void_p * max(len(values), 1))(*(ctypes.addressof(x) for x in values))
        sizes = *given["grid"], *given["block"], given["shared"]
        self.call("cuLaunchKernel", function, *sizes, None, pointers, None)
        self.call("cuCtxSynchronize")
        for pointer in buffers:
            self.call("cuMemFree_v2", ctypes.c_uint64(pointer))


def main(folder: Path, part: str) -> None:
    launches = [x for x in json.loads((folder / "launches.json").read_text()) if x["part"] == part]
    data = (folder / "data.bin").read_bytes()
    gpu = Gpu()
    for given in launches:
        gpu.launch(folder, given, data)
    print(f"{part}: {len(launches)} launches")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
