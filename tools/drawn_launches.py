# SPDX-License-Identifier: MIT
"""Find arguments for kernels of other projects by drawing them: bundles of launches that a GPU can record.

    python -m tools.drawn_launches FOLDER BUNDLES [--target sm_90a] [--seconds 3] [--tries 8] [--most 4] [--jobs 2]

FOLDER has a folder for each repository, as for `tools.refused_kernels`, with files `anything.sm_90a.ptx`. The types in
a kernel's mangled name say what its parameters are. Textures and surfaces are drawn as the kernel's instructions fetch
from them. A launch is kept if it changes an array and the emulator finds nothing wrong in it: every access is within an
array, nothing is uninitialised, and two orders of the warps give the same results. `tools.launch_bundles` records the
bundles on a GPU and compares the emulator; `--table FILE` makes a table of what its comparison printed.
"""

import argparse
import json
import multiprocessing
import re
import shutil
import signal
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.drawn_objects import drawn_object
from tools.launch_bundles import emulated, module_of
from wmma_emu.errors import WmmaEmuError
from wmma_emu.ptx.cpp.demangle import demangle
from wmma_emu.ptx.cpp.tree import shown
from wmma_emu.ptx.program.program import KernelProgram, ModuleProgram, Parameter
from wmma_emu.ptx.program.special import CLOCKS, reads_grid_workspace

Array = NDArray[Any]

_ELEMENTS = 4096
_LARGEST_TEXT = 400_000
_BLOCKS = ((64, 1, 1), (128, 1, 1), (256, 1, 1), (32, 1, 1), (16, 16, 1), (32, 8, 1), (8, 8, 1), (8, 8, 4))
_GRIDS = ((1, 1, 1), (2, 1, 1), (4, 1, 1), (2, 2, 1), (4, 4, 1), (1, 4, 1), (2, 2, 2))
_LENGTHS = (64, 32, 128, 256, 16, 8)
_COUNTS = (1, 2, 4, 8, 16, 32, 64)
_SHARED = (4096, 16384, 32768)

_KINDS = {
    "f64": r"double\d?", "f16": r"__half2?|half2?", "bf16": r"(__)?nv_bfloat16(2)?",
    "i64": r"(unsigned )?long( long)?\d?|u?longlong\d|u?long\d", "i16": r"(unsigned )?short|u?short\d",
    "i8": r"(signed |unsigned )?char|u?char\d", "i1": r"bool",
    "i32": r"(unsigned )?int|u?int\d|dim3|unsigned", "f32": r"float\d?",
}  # fmt: skip
_BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "i1": 1}


class DrawnLaunch(NamedTuple):
    """The arguments and the size of a launch, and its arrays."""

    launch: dict[str, Any]
    arrays: dict[str, Array]


def kind_of(type_name: str) -> str:
    """Return the kind of number that a type of C++ consists of; numbers of unknown types are taken as f32.

    >>> [kind_of(x) for x in ("const float*", "unsigned char*", "int4", "__nv_bfloat162 const*", "node*", "uint2*")]
    ['f32', 'i8', 'i32', 'bf16', 'f32', 'i32']
    """
    plain = re.sub(r"\b(const|volatile|__restrict)\b|[*&]", "", type_name).strip()
    return next((kind for kind, pattern in _KINDS.items() if re.fullmatch(pattern, plain)), "f32")


def numbers(kind: str, count: int, rng: np.random.Generator, top: int) -> Array:
    """Draw numbers as bytes: normal ones in floating point, integers below `top`, which may be indices."""
    if kind.startswith("i"):
        drawn = rng.integers(0, min(top, 2) if kind == "i1" else top, count)
        if rng.random() < 0.3:
            drawn.sort()
        return np.ascontiguousarray(drawn.astype(f"<i{_BYTES[kind]}")).view(np.uint8)
    values = rng.standard_normal(count).astype(np.float32)
    if kind == "bf16":
        return np.ascontiguousarray((values.view(np.uint32) >> 16).astype(np.uint16)).view(np.uint8)
    return values.astype({"f64": np.float64, "f32": np.float32, "f16": np.float16}[kind]).view(np.uint8)


def types_of(name: str, parameters: tuple[Parameter, ...]) -> list[str]:
    """Return the types of a kernel's parameters, as its name or, without types in the name, their sizes say."""
    found = demangle(name)
    if found and found.parameters is not None and len(found.parameters) == len(parameters):
        return [shown(x) for x in found.parameters]
    by_size = {"u64": "float*", "b64": "float*", "f32": "float", "f64": "double", "u8": "bool", "s64": "long"}
    return [by_size.get(x.type, "int") for x in parameters]


def drawn(name: str, kernel: KernelProgram, module: ModuleProgram, arch: str, seed: int) -> DrawnLaunch | None:
    """Draw a launch of a kernel; return None for a kernel whose parameters no draw fits."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    opcodes = [x.opcode for x in kernel.instructions]
    has_types = demangle(name) is not None
    length = _LENGTHS[seed % len(_LENGTHS)]
    same = seed % 2 == 0
    arrays: dict[str, Array] = {}
    arguments = []
    for type_name, parameter in zip(types_of(name, kernel.parameters), kernel.parameters, strict=True):
        if type_name == "float*" and not has_types and rng.random() < 0.4:
            type_name = "unsigned long long"  # perhaps the handle of a texture
        argument = _object(type_name, opcodes, arrays, rng)
        argument = argument or _argument(type_name, parameter, arrays, rng, length if same else None, length)
        if argument is None:
            return None
        arguments.append(argument)
    variables: dict[str, str] = {}
    for symbol in module.const_symbols:
        if not any(module.const_bytes[symbol.offset : symbol.offset + symbol.bytes]) and symbol.bytes % 4 == 0:
            variables[symbol.name] = f"v{len(variables)}"
            arrays[variables[symbol.name]] = numbers("f32", symbol.bytes // 4, rng, length)
    block = kernel.required_block or _one(_BLOCKS, seed, rng)
    if kernel.max_block and np.prod(block) > np.prod(kernel.max_block):
        block = (int(np.prod(kernel.max_block)), 1, 1)
    shared = 0 if kernel.dynamic_offset is None else _one(_SHARED, seed, rng)
    launch = {
        "kernel": name, "grid": list(_one(_GRIDS, seed, rng)), "block": list(block), "shared": shared, "arch": arch,
        "arguments": arguments, "variables": variables, "cooperative": reads_grid_workspace(kernel),
    }  # fmt: skip
    return DrawnLaunch(launch, arrays)


def _one(choices: tuple[Any, ...], seed: int, rng: np.random.Generator) -> Any:
    return choices[0] if seed == 0 else choices[rng.integers(len(choices))]


def _object(
    type_name: str, opcodes: list[str], arrays: dict[str, Array], rng: np.random.Generator
) -> dict[str, Any] | None:
    """Draw a texture or a surface for an integer of 64 bits, which their handles are."""
    if type_name not in ("unsigned long long", "cudaTextureObject_t", "cudaSurfaceObject_t"):
        return None
    made = drawn_object(opcodes, rng)
    if made is None:
        return None
    name = f"a{len(arrays)}"
    arrays[name] = made.array
    return {"bytes": "00" * 8, "pointers": [], "object": [made.kind, name, made.options]}


def _argument(
    type_name: str,
    parameter: Parameter,
    arrays: dict[str, Array],
    rng: np.random.Generator,
    equal: int | None,
    top: int,
) -> dict[str, Any] | None:
    kind = kind_of(type_name)
    if type_name.endswith("*") or parameter.is_pointer:
        if type_name.count("*") > 1 or parameter.bytes != 8:
            return None
        name = f"a{len(arrays)}"
        arrays[name] = numbers(kind, _ELEMENTS, rng, int(rng.choice([2, 8, top])))
        return {"bytes": "00" * 8, "pointers": [[0, name, 0]]}
    if parameter.bytes > 16 or parameter.bytes % _BYTES[kind]:
        return None
    count = parameter.bytes // _BYTES[kind]
    if kind.startswith("i"):
        values = np.full(count, equal) if equal else rng.choice(_COUNTS, count)
        values = values % 2 if kind == "i1" else values
        return {"bytes": values.astype(f"<i{_BYTES[kind]}").tobytes().hex(), "pointers": []}
    return {"bytes": numbers(kind, count, rng, top).tobytes().hex(), "pointers": []}


def _arch(target: str) -> str:
    return re.sub("[af]$", "", target)


def _changed(before: dict[str, Array], after: dict[str, Array]) -> list[str]:
    return [x for x in before if before[x].tobytes() != after[x].tobytes()]


def _stop(*_: object) -> None:
    raise TimeoutError


def draw_launches(path: Path, bundles: Path, *, seconds: int, tries: int, most: int) -> list[str]:
    """Draw launches of the kernels of a file until one fits, and write bundles of `most` of them; return lines."""
    repository = path.parent.name
    source, target = path.stem.rsplit(".", 1)
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = []
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(30 * seconds)
    try:
        module = module_of(text, _arch(target), max_seconds=seconds, schedules=2)
        for index, name in enumerate(module):
            folder = bundles / repository / f"{source}.{index}"
            lines.append(f"{repository} {source} {name}: {_drawn_for(module, name, folder, text, target, tries)}")
            most -= folder.exists()
            if not most:
                break
    except WmmaEmuError as error:
        lines.append(f"{repository} {source}: {str(error).splitlines()[0]}")
    except TimeoutError:
        lines.append(f"{repository} {source}: no time left")
    finally:
        signal.alarm(0)
    return lines


def _drawn_for(module: Any, name: str, folder: Path, text: str, target: str, tries: int) -> str:
    kernel = module.program.kernels[name]
    if module[name].compiled.missing:
        return "is refused"
    if clocks := sorted((CLOCKS | {"smid"}) & kernel.specials):
        return f"reads {', '.join(clocks)}"
    reason = "no draw fits its parameters"
    for seed in range(tries):
        one = drawn(name, kernel, module.program, _arch(target), seed)
        if one is None:
            return reason
        try:
            after, report = emulated(one.launch, one.arrays, module)
        except WmmaEmuError as error:
            reason = str(error).splitlines()[0][:100]
            continue
        except Exception as error:  # a fault of the emulator, which this draw shows
            return f"draw {seed} is a fault of the emulator: {error!r}"
        if report.findings or not report.completed:
            reason = f"{len(report.findings)} findings, {report.findings[0].kind if report.findings else 'stopped'}"
            continue
        changed = _changed(one.arrays, after)
        if not changed:
            reason = "nothing changes"
            continue
        _write(one, folder, text, target)
        return f"kept draw {seed}: {report.instructions} instructions, {len(changed)} arrays changed"
    return reason


def _write(one: DrawnLaunch, folder: Path, text: str, target: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "launch.json").write_text(json.dumps(one.launch))
    (folder / f"{target}.ptx").write_text(text)
    with (folder / "arrays.npz").open("wb") as file:
        np.savez_compressed(file, **one.arrays)  # type: ignore[arg-type]


def _files(folder: Path, target: str, only: str) -> Iterator[Path]:
    for path in sorted(folder.glob(f"*/*.{target}.ptx"), key=lambda x: zlib.crc32(x.name.encode())):
        if path.stat().st_size <= _LARGEST_TEXT and only in str(path):
            yield path


_COMPARED = re.compile(r"^(?P<repository>[^\s+]+\+\S+?)__(?P<kernel>.+?), [\w.]+\.ptx: (?P<result>.*)", re.MULTILINE)


def table(compared: str) -> str:
    """Make a table by repository of what ``launch_bundles compare`` printed.

    >>> print(table("a+b__x.cu.0, sm_90a.ptx: equal (1 arrays changed); 64 instructions, 0 findings"))
    | repository | launches | equal in every bit | different | not recorded |
    |---|--:|--:|--:|--:|
    | a/b | 1 | 1 | 0 | 0 |
    | **1 repositories** | 1 | 1 | 0 | 0 |
    """
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for line in _COMPARED.finditer(compared):
        result = line["result"]
        kind = "equal" if result.startswith("equal") else "other" if result.startswith("the GPU") else "different"
        found[line["repository"].replace("+", "/", 1)][kind] += 1
    total = sum(found.values(), Counter())
    rows = sorted(found.items(), key=lambda x: x[0].lower())
    lines = ["| repository | launches | equal in every bit | different | not recorded |", "|---|--:|--:|--:|--:|"]
    for name, count in [*rows, (f"**{len(found)} repositories**", total)]:
        lines.append(f"| {name} | {count.total()} | {count['equal']} | {count['different']} | {count['other']} |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("bundles", type=Path, nargs="?")
    parser.add_argument("--table", type=Path, help="print the table of a comparison, and draw nothing")
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--seconds", type=int, default=3, help="of a launch (default: %(default)s)")
    parser.add_argument("--tries", type=int, default=8, help="draws for a kernel (default: %(default)s)")
    parser.add_argument("--most", type=int, default=4, help="launches that are kept of a file (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: %(default)s)")
    parser.add_argument("--only", default="", help="files whose path contains this")
    given = parser.parse_args(argv)
    if given.table:
        print(table(given.table.read_text(encoding="utf-8", errors="replace")))
        return 0
    if given.folder is None or given.bundles is None:
        parser.error("FOLDER, where the PTX is, and BUNDLES, where launches are written, are needed")
    work = partial(draw_launches, bundles=given.bundles, seconds=given.seconds, tries=given.tries, most=given.most)
    with multiprocessing.Pool(given.jobs, maxtasksperchild=1) as pool:
        for lines in pool.imap_unordered(work, _files(given.folder, given.target, given.only)):
            print(*lines, sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
