# SPDX-License-Identifier: MIT
"""Launches of bundles on a GPU, with only NumPy and the driver's library: the machine needs nothing else.

    python -m tools.bundle_launcher BUNDLES OUT [--only TEXT] [--workers 16]

See `tools.launch_bundles`, which describes bundles, and compares the recordings with the emulator. A launch is
recorded twice. Arrays that it changed are stored, and those whose bits are not the same both times are named. A kernel
that faults takes its process with it, so every module is recorded in a separate process.
"""

import argparse
import ctypes
import gzip
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from ctypes import byref, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.bundle_addresses import translate
from tools.cuda_driver import Device, driver_version

__all__ = ["BundleLauncher", "bits_of", "bundles_in", "image_of", "made_object", "modules_of", "name_of", "read_bundle"]

Array = NDArray[Any]

_SECONDS = 60
_ALIGNMENT = 64
_ENDINGS = (".ptx", ".ptx.gz", ".cubin")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bundles", type=Path, help="a folder of bundles, at any depth, or one of them")
    parser.add_argument("out", type=Path, help="where recordings are written")
    parser.add_argument("--module", default="", help="record this module of one bundle, in this process")
    parser.add_argument("--only", default="", help="bundles whose path holds this")
    parser.add_argument("--workers", type=int, default=8, help="processes that record at a time (default: %(default)s)")
    given = parser.parse_args(argv)
    if given.module:
        return _record_one(given.bundles, given.module, given.out)
    found = [x for x in bundles_in(given.bundles) if given.only in str(x)]
    if not found:
        parser.error(f"{given.bundles} holds no bundle, a folder with a launch.json, whose path has {given.only!r}")
    return record(given.bundles, found, given.out, given.workers)


def bundles_in(folder: Path) -> list[Path]:
    """Return the bundles in a folder, at any depth."""
    return sorted(x.parent for x in folder.rglob("launch.json"))


def name_of(folder: Path, bundle: Path) -> str:
    """Return the name of the recordings of a bundle."""
    return "__".join(bundle.relative_to(folder).parts) or bundle.name


def read_bundle(bundle: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return what ``launch.json`` says, and the arrays."""
    with np.load(bundle / "arrays.npz", allow_pickle=False) as file:
        return json.loads((bundle / "launch.json").read_text()), {x: file[x] for x in file.files}


def modules_of(bundle: Path) -> list[Path]:
    """Return the files with the kernel, each compiled in its way."""
    return sorted(x for x in bundle.iterdir() if x.name.endswith(_ENDINGS))


def image_of(module: Path) -> bytes:
    """Return the PTX or the machine code of a file, which may be compressed."""
    content = module.read_bytes()
    return gzip.decompress(content) if module.suffix == ".gz" else content


def record(root: Path, found: list[Path], out: Path, workers: int) -> int:
    """Record bundles, and write the recordings and the version of the driver."""
    out.mkdir(parents=True, exist_ok=True)

    def record_task(task: tuple[Path, Path]) -> str:
        bundle, module = task
        target = out / f"{name_of(root, bundle)}--{module.name}"
        command = [sys.executable, "-m", "tools.bundle_launcher", str(bundle), str(target)]
        try:
            done = subprocess.run([*command, "--module", module.name], capture_output=True, text=True, timeout=_SECONDS)
            status = done.stdout.strip() if done.returncode == 0 else _reason(done.stderr)
        except subprocess.TimeoutExpired:
            status = f"stopped after {_SECONDS} s"
        target.with_name(f"{target.name}.txt").write_text(status + "\n")
        return f"{target.name}: {status}"

    tasks = [(bundle, module) for bundle in found for module in modules_of(bundle)]
    with ThreadPoolExecutor(workers) as pool:
        for line in pool.map(record_task, tasks):
            print(line, flush=True)
    (out / "driver.txt").write_text(driver_version() + "\n")
    return 0


def _reason(text: str) -> str:
    return next((x for x in reversed(text.strip().splitlines()) if x.strip()), "failed and said nothing")


def _record_one(bundle: Path, module: str, target: Path) -> int:
    launch, arrays = read_bundle(bundle)
    launcher = BundleLauncher(image_of(bundle / module) + b"\0", launch)
    one, other = launcher.launch(arrays), launcher.launch(arrays)
    changed = [x for x in arrays if bits_of(arrays[x]) != bits_of(one[x]) or bits_of(one[x]) != bits_of(other[x])]
    unsteady = [x for x in changed if bits_of(one[x]) != bits_of(other[x])]
    with target.with_name(f"{target.name}.npz").open("wb") as file:
        np.savez_compressed(file, **{x: one[x] for x in changed})  # type: ignore[arg-type]
    print(f"not the same twice: {', '.join(unsteady)}" if unsteady else "recorded")
    return 0


class BundleLauncher:
    """One kernel of one module on the first GPU."""

    def __init__(self, image: bytes, launch: dict[str, Any]) -> None:
        self._device, self._given = _device_for(launch), launch
        self._module, self._function = c_void_p(), c_void_p()
        self._device._call("cuModuleLoadData", byref(self._module), image)
        self._device._call("cuModuleGetFunction", byref(self._function), self._module, launch["kernel"].encode())
        self._device.allow_shared_memory(self._function, launch["shared"])

    def launch(self, arrays: dict[str, Array]) -> dict[str, Array]:
        """Launch on copies of the arrays, and return these as the kernel left them."""
        call, given = self._device._call, self._given
        objects = {x["object"][1]: made_object(x["object"], arrays) for x in given["arguments"] if "object" in x}
        variables = {name: self._variable(x) for x, name in given.get("variables", {}).items()}
        places = {name: self._device._upload(x) for name, x in arrays.items() if name not in (variables | objects)}
        theirs = given.get("addresses", {})
        uploaded = {name: np.array(x) for name, x in arrays.items()}
        translate(uploaded, theirs, places)
        for name, place in (variables | {x: places[x] for x in theirs}).items():
            call("cuMemcpyHtoD_v2", place, uploaded[name].ctypes.data, uploaded[name].nbytes)
        after = {name: np.empty(x.shape, x.dtype) for name, x in arrays.items()}
        with ExitStack() as stack:
            made = {name: stack.enter_context(self._device.object(x)) for name, x in objects.items()}
            handles = {name: handle for name, (handle, _) in made.items()}
            values = [_packed(x, places, handles) for x in given["arguments"]]
            pointers = (c_void_p * len(values))(*(x.ctypes.data for x in values))
            size = *given["grid"], *given["block"], given["shared"]
            if given.get("cooperative"):
                call("cuLaunchCooperativeKernel", self._function, *size, None, pointers)
            else:
                call("cuLaunchKernel", self._function, *size, None, pointers, None)
            call("cuCtxSynchronize")
            for name, (_, array) in made.items():
                after[name] = self._device.texels(objects[name], array)
        for name, place in (places | variables).items():
            call("cuMemcpyDtoH_v2", after[name].ctypes.data, place, after[name].nbytes)
        for place in places.values():
            call("cuMemFree_v2", place)
        translate(after, {x: places[x] for x in theirs}, theirs)
        return after

    def _variable(self, name: str) -> int:
        """Return the address of a variable of the module."""
        place, size = ctypes.c_uint64(), ctypes.c_size_t()
        self._device._call("cuModuleGetGlobal_v2", byref(place), byref(size), self._module, name.encode())
        return place.value


def _device_for(launch: dict[str, Any]) -> Any:
    """Open the GPU; only textures and surfaces need the emulator's package."""
    if not any("object" in x for x in launch["arguments"]):
        return Device()
    from tools.cuda_textures import TextureDevice

    return TextureDevice()


def made_object(described: tuple[str, str, dict[str, Any]], arrays: dict[str, Array]) -> Any:
    """Make the texture or the surface of an argument, on its array."""
    from wmma_emu.ptx import surface, texture

    kind, name, options = described
    return texture(arrays[name], **options) if kind == "texture" else surface(arrays[name], **options)


def _packed(argument: dict[str, Any], places: dict[str, int], handles: dict[str, int]) -> Array:
    """Return the bytes of a parameter, at a multiple of 64, as a tensor map needs it."""
    raw = bytearray.fromhex(argument["bytes"])
    for offset, name, further in argument["pointers"]:
        raw[offset : offset + 8] = (places[name] + further).to_bytes(8, "little")
    if "object" in argument:
        raw[:8] = handles[argument["object"][1]].to_bytes(8, "little")
    memory = np.zeros(len(raw) + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    value = memory[start : start + len(raw)]
    value[:] = np.frombuffer(raw, np.uint8)
    return value


def bits_of(array: Array) -> bytes:
    """Return the bits of an array."""
    return np.ascontiguousarray(array).tobytes()


if __name__ == "__main__":
    sys.exit(main())
