# SPDX-License-Identifier: MIT
"""Launches as folders, so that a kernel compiled on one machine can be recorded on another, and compared later.

    python -m tools.launch_bundles record BUNDLES OUT       # on a machine with a GPU: the driver compiles and launches
    python -m tools.launch_bundles compare BUNDLES OUT      # anywhere: compare the emulator with the recording
    python -m tools.launch_bundles emulate BUNDLES          # anywhere: the emulator alone

A bundle is a folder with ``launch.json``, ``arrays.npz`` and one or more modules, ``*.ptx`` or ``*.cubin``. An argument
is the bytes of its parameter, and the places in it where the address of an array is written; ``"struct": true`` says
that it is a structure, as whatever has an address and more than 8 bytes is anyway::

    {"kernel": "saxpy", "grid": [4, 1, 1], "block": [128, 1, 1], "shared": 0, "arch": "sm_90",
     "arguments": [{"bytes": "0000000000000000", "pointers": [[0, "x", 0]]}, {"bytes": "00020000", "pointers": []}],
     "source": {"repository": "...", "revision": "...", "file": "...", "licence": "..."}}

An argument with ``"object": ["texture", "x", {"filter": "linear"}]`` is a texture or a surface of an array.
``"variables"`` says which arrays ``__device__`` and ``__constant__`` variables of the text begin with, by their names.

A launch is recorded twice. Arrays that it changed are stored, and those whose bits are not the same both times
are named. A kernel that faults takes its process with it, so every module is recorded in a separate process.
"""

import argparse
import ctypes
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from ctypes import byref, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.cuda_driver import driver_version
from tools.cuda_textures import TextureDevice
from wmma_emu.errors import WmmaEmuError
from wmma_emu.ptx import Module, Report, Struct, Surface, Texture, raw, surface, texture
from wmma_emu.ptx.program.special import reads_grid_workspace

Array = NDArray[Any]

_SECONDS = 60
_SHOWN = 3


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["record", "record-one", "compare", "emulate"])
    parser.add_argument("bundles", type=Path, help="a folder of bundles, at any depth, or one of them")
    parser.add_argument("out", type=Path, nargs="?", help="where recordings are written, or read")
    parser.add_argument("--module", default="", help="record this module of the bundle alone")
    parser.add_argument("--only", default="", help="bundles whose path holds this")
    parser.add_argument("--workers", type=int, default=8, help="processes that record at a time (default: %(default)s)")
    given = parser.parse_args(argv)
    if given.action == "record-one":
        return _record_one(given.bundles, given.module, given.out)
    found = [x for x in _bundles(given.bundles) if given.only in str(x)]
    if not found:
        parser.error(f"{given.bundles} holds no bundle, a folder with a launch.json, whose path has {given.only!r}")
    if given.action == "emulate":
        return max([_emulate_one(x) for x in found])
    if given.out is None:
        parser.error(f"{given.action} needs OUT, the folder of recordings")
    if given.action == "record":
        return _record(given.bundles, found, given.out, given.workers)
    return max([_compare_one(x, given.out / _name(given.bundles, x)) for x in found])


def _bundles(folder: Path) -> list[Path]:
    return sorted(x.parent for x in folder.rglob("launch.json"))


def _name(folder: Path, bundle: Path) -> str:
    return "__".join(bundle.relative_to(folder).parts) or bundle.name


def _read(bundle: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    with np.load(bundle / "arrays.npz", allow_pickle=False) as file:
        return json.loads((bundle / "launch.json").read_text()), {x: file[x] for x in file.files}


def _modules(bundle: Path) -> list[Path]:
    return sorted(x for x in bundle.iterdir() if x.suffix in (".ptx", ".cubin"))


def _record(root: Path, found: list[Path], out: Path, workers: int) -> int:
    out.mkdir(parents=True, exist_ok=True)

    def record(task: tuple[Path, Path]) -> str:
        bundle, module = task
        target = out / f"{_name(root, bundle)}--{module.name}"
        command = [sys.executable, "-m", "tools.launch_bundles", "record-one", str(bundle), str(target)]
        try:
            done = subprocess.run([*command, "--module", module.name], capture_output=True, text=True, timeout=_SECONDS)
            status = done.stdout.strip() if done.returncode == 0 else _reason(done.stderr)
        except subprocess.TimeoutExpired:
            status = f"stopped after {_SECONDS} s"
        target.with_name(f"{target.name}.txt").write_text(status + "\n")
        return f"{target.name}: {status}"

    tasks = [(bundle, module) for bundle in found for module in _modules(bundle)]
    with ThreadPoolExecutor(workers) as pool:
        for line in pool.map(record, tasks):
            print(line, flush=True)
    (out / "driver.txt").write_text(driver_version() + "\n")
    return 0


def _reason(text: str) -> str:
    return next((x for x in reversed(text.strip().splitlines()) if x.strip()), "failed and said nothing")


def _record_one(bundle: Path, module: str, target: Path) -> int:
    launch, arrays = _read(bundle)
    launcher = BundleLauncher((bundle / module).read_bytes() + b"\0", launch)
    one, other = launcher.launch(arrays), launcher.launch(arrays)
    changed = [x for x in arrays if _bits(arrays[x]) != _bits(one[x]) or _bits(one[x]) != _bits(other[x])]
    unsteady = [x for x in changed if _bits(one[x]) != _bits(other[x])]
    with target.with_name(f"{target.name}.npz").open("wb") as file:
        np.savez_compressed(file, **{x: one[x] for x in changed})  # type: ignore[arg-type]
    print(f"not the same twice: {', '.join(unsteady)}" if unsteady else "recorded")
    return 0


class BundleLauncher:
    """One kernel of one module on the first GPU."""

    def __init__(self, image: bytes, launch: dict[str, Any]) -> None:
        self._device, self._given = TextureDevice(), launch
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
        for name, place in variables.items():
            call("cuMemcpyHtoD_v2", place, arrays[name].ctypes.data, arrays[name].nbytes)
        after = {name: np.empty(x.shape, x.dtype) for name, x in arrays.items()}
        with ExitStack() as stack:
            made = {name: stack.enter_context(self._device.object(x)) for name, x in objects.items()}
            handles = {name: handle for name, (handle, _) in made.items()}
            values = [_packed(x, places, handles) for x in given["arguments"]]
            pointers = (c_void_p * len(values))(*(ctypes.addressof(x) for x in values))
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
        return after

    def _variable(self, name: str) -> int:
        """Return the address of a variable of the module."""
        place, size = ctypes.c_uint64(), ctypes.c_size_t()
        self._device._call("cuModuleGetGlobal_v2", byref(place), byref(size), self._module, name.encode())
        return place.value


def made_object(described: tuple[str, str, dict[str, Any]], arrays: dict[str, Array]) -> Texture | Surface:
    """Make the texture or the surface of an argument, on its array."""
    kind, name, options = described
    return texture(arrays[name], **options) if kind == "texture" else surface(arrays[name], **options)


def _packed(argument: dict[str, Any], places: dict[str, int], handles: dict[str, int]) -> Any:
    raw = bytearray.fromhex(argument["bytes"])
    for offset, name, further in argument["pointers"]:
        raw[offset : offset + 8] = (places[name] + further).to_bytes(8, "little")
    if "object" in argument:
        raw[:8] = handles[argument["object"][1]].to_bytes(8, "little")
    return ctypes.create_string_buffer(bytes(raw), len(raw))


def _bits(array: Array) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def _emulated(bundle: Path) -> tuple[dict[str, Array], str, list[str]]:
    """Run a bundle on the emulator: the arrays as the kernel leaves them, what the report says, and its findings."""
    arrays, report = emulated_bundle(bundle)
    return arrays, f"{report.instructions:,} instructions", [str(x) for x in report.findings]


def emulated_bundle(bundle: Path, **options: Any) -> tuple[dict[str, Array], Report]:
    """Run a bundle on the emulator with options of a launch: the arrays as the kernel leaves them, and the report."""
    launch, arrays = _read(bundle)
    text = next(x for x in _modules(bundle) if x.suffix == ".ptx").read_text(encoding="utf-8")
    return emulated(launch, arrays, module_of(text, launch["arch"], name=bundle.name, **options))


def module_of(text: str, arch: str, **options: Any) -> Module:
    """Load the text of a bundle; what is found in a launch is reported, and a launch may take any time."""
    return Module(text, arch, **{"findings": "report", "max_seconds": None} | options)


def emulated(launch: dict[str, Any], arrays: dict[str, Array], module: Module) -> tuple[dict[str, Array], Report]:
    """Launch what a `launch.json` describes: copies of the arrays as the kernel leaves them, and the report."""
    arrays = {name: np.ascontiguousarray(x).copy() for name, x in arrays.items()}
    for variable, name in launch.get("variables", {}).items():
        module.variable(variable).reshape(-1).view(np.uint8)[:] = arrays[name].reshape(-1).view(np.uint8)
    arguments = [_argument(x, arrays) for x in launch["arguments"]]
    grid, block = tuple(launch["grid"]), tuple(launch["block"])
    prepared = module[launch["kernel"]][grid, block, launch["shared"]]
    report = prepared(*arguments, cooperative=reads_grid_workspace(prepared.kernel.program) or None)
    for variable, name in launch.get("variables", {}).items():
        arrays[name] = module.variable(variable).reshape(-1).view(np.uint8).copy()
    return arrays, report


def _argument(argument: dict[str, Any], arrays: dict[str, Array]) -> Any:
    given = bytes.fromhex(argument["bytes"])
    if "object" in argument:
        return made_object(argument["object"], arrays)
    if not argument["pointers"]:
        return given
    fields: list[Any] = []
    end = 0
    for offset, name, further in argument["pointers"]:
        fields += [np.uint8(x) for x in given[end:offset]]
        fields.append(raw(arrays[name].reshape(-1).view(np.uint8)[further:]))
        end = offset + 8
    is_struct = len(given) > 8 or argument.get("struct", False)
    return Struct(*fields, *(np.uint8(x) for x in given[end:])) if is_struct else fields[0]


def _emulate_one(bundle: Path) -> int:
    started = time.perf_counter()
    try:
        arrays, text, findings = _emulated(bundle)
    except WmmaEmuError as error:
        print(f"{bundle.name}: refused: {str(error).splitlines()[0]}", flush=True)
        return 1
    before = _read(bundle)[1]
    changed = [x for x in arrays if _bits(arrays[x]) != _bits(before[x])]
    seconds = time.perf_counter() - started
    print(f"{bundle.name}: {text}, {seconds:.1f} s, {len(findings)} findings; changed: {', '.join(changed) or 'none'}")
    for finding in findings[:_SHOWN]:
        print(f"    {finding.splitlines()[0][:200]}")
    return 0


def _compare_one(bundle: Path, recorded: Path) -> int:
    """Print a line for each recording of a bundle."""
    try:
        arrays, text, findings = _emulated(bundle)
    except WmmaEmuError as error:
        print(f"{recorded.name}: refused: {str(error).splitlines()[0]}", flush=True)
        return 1
    before, worst = _read(bundle)[1], 0
    for module in _modules(bundle):
        path = recorded.with_name(f"{recorded.name}--{module.name}.npz")
        status = path.with_suffix(".txt").read_text().strip() if path.with_suffix(".txt").exists() else "not recorded"
        if not path.exists():
            lines = [f"the GPU: {status}"]
        else:
            with np.load(path, allow_pickle=False) as file:
                after = before | {x: file[x] for x in file.files}
            lines = list(_differences(arrays, after))
            lines = lines or [f"equal ({sum(_bits(before[x]) != _bits(after[x]) for x in after)} arrays changed)"]
            lines += [status] if status != "recorded" else []
        equal = lines[0].startswith("equal")
        worst = max(worst, int(not equal))
        print(f"{recorded.name}, {module.name}: {'; '.join(lines)}; {text}, {len(findings)} findings", flush=True)
    return worst


def _differences(mine: dict[str, Array], theirs: dict[str, Array]) -> Iterator[str]:
    for name in mine:
        one, other = (x[name].reshape(-1).view(f"u{x[name].itemsize}") for x in (mine, theirs))
        places = np.flatnonzero(one != other)
        if len(places):
            shown = ", ".join(f"[{i}] {int(one[i]):#x} here, {int(other[i]):#x} there" for i in places[:_SHOWN])
            yield f"{name}: {len(places)} of {one.size} elements differ: {shown}"


if __name__ == "__main__":
    sys.exit(main())
