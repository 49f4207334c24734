# SPDX-License-Identifier: MIT
"""Record what every matrix instruction of this GPU does with every input generator: registers in, registers out.

    python -m tools.record_instructions --out tests/data/sm90_instructions.npz

Inputs are drawn again from `wmma_emu.testing.generators` when they are needed. Most outputs are stored only as a
digest; sparse instructions and the smallest `wgmma` keep one whole tile an input generator.
"""

import re
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import wmma_emu as we
from tools.recordings import add_source, compare, digest, load_arrays, recording_parser, save_arrays
from wmma_emu.formats.dtypes import from_bits
from wmma_emu.instructions import instructions_of
from wmma_emu.layouts import pack_metadata, selectors_of
from wmma_emu.testing import generators

Array = NDArray[Any]
Run = Callable[..., Array]

_WHOLE_RANGE = (8, 24, 256)
"""n of `wgmma` that are recorded with every input generator; the others take three in turn."""


@dataclass(frozen=True)
class InstructionOperands:
    """One input generator of one instruction: operands as `execute` takes them, and keywords."""

    mnemonic: str
    generator: str
    operands: tuple[Array, Array, Array]
    keywords: dict[str, Any]


def generators_recorded(entry: we.Instruction) -> tuple[str, ...]:
    """Name the input generators that an instruction is recorded with."""
    names = generators.generators_of(entry)
    if not entry.is_warpgroup or entry.n in _WHOLE_RANGE:
        return names
    start = entry.n // 8 * 3 + zlib.crc32(entry.mnemonic.encode()) % 3
    return tuple(dict.fromkeys(names[(start + i) % len(names)] for i in range(3)))


def case_of(ins: we.BoundInstruction, generator: str, seed: int) -> InstructionOperands:
    """Draw one input generator of an instruction: two tiles of A by two of B and C; of `wgmma` one.

    Selectors, scale-d and the signs of `wgmma` take turns from one input generator to the next.
    """
    entry = ins.instruction
    turn = generators.generators_of(entry).index(generator)
    tiles = 1 if entry.is_warpgroup else 2
    # A warp multiplies four matrices at once where quad pairs work on their own.
    drawn = generators.draw(entry, generator, seed, *(tiles * entry.products for _ in range(3)))
    keywords: dict[str, Any] = {}
    if drawn.indices is not None:
        selector = turn % len(selectors_of(entry))
        keywords["metadata"] = pack_metadata(entry, drawn.indices[:, None], selector)
        keywords["selector"] = selector
    if entry.is_warpgroup:
        keywords["scale_d"] = int(turn % 5 != 4)
        if entry.format("a").is_float:
            keywords["negate_a"], keywords["negate_b"] = turn % 3 == 1, turn % 4 == 2
    a, c = (_registers(ins, x, matrices) for x, matrices in (("a", drawn.a), ("c", drawn.c)))
    b = from_bits(drawn.b, entry.format("b"))[None] if entry.is_warpgroup else _registers(ins, "b", drawn.b)[:, None]
    return InstructionOperands(entry.mnemonic, generator, (a[:, :, None], b, c[:, None]), keywords)


def _registers(ins: we.BoundInstruction, operand: str, matrices: Array) -> Array:
    """Pack matrices; four at a time where a warp multiplies four."""
    bound = getattr(ins, operand)
    inner = bound.layout.matrix_shape
    return bound.pack_bits(matrices.reshape(-1, *inner))


def keeps_a_tile(entry: we.Instruction) -> bool:
    """Return whether the first tile of each input generator is stored whole."""
    return entry.n == 8 if entry.is_warpgroup else entry.is_sparse


def record(entries: Sequence[we.Instruction], arch: str, seed: int, run: Run) -> dict[str, Array]:
    """Run every case; returns digests, and whole tiles where they are kept, by mnemonic."""
    arrays = {}
    for entry in entries:
        ins = we.instruction(entry.mnemonic, arch=arch)
        digests, tiles = [], []
        for generator in generators_recorded(entry):
            case = case_of(ins, generator, seed)
            d = run(ins, *case.operands, **case.keywords)
            digests.append(digest(d))
            tiles.append(d[:, 0, 0])
        arrays[f"{entry.mnemonic}|digests"] = np.array(digests, np.uint64)
        if keeps_a_tile(entry):
            arrays[f"{entry.mnemonic}|D"] = np.stack(tiles)
    return _together(arrays)


def _together(arrays: dict[str, Array]) -> dict[str, Array]:
    """Put the digests of all instructions into one array, in the order of their names."""
    names = sorted(key for key in arrays if key.endswith("|digests"))
    rest = {key: array for key, array in arrays.items() if not key.endswith("|digests")}
    return {
        "mnemonics": np.array([x.removesuffix("|digests") for x in names]),
        "counts": np.array([len(arrays[x]) for x in names], np.uint8),
        "digests": np.concatenate([arrays[x] for x in names]),
        **rest,
    }


def load(path: Path) -> tuple[dict[str, dict[str, np.uint64]], dict[str, Array], dict[str, Any]]:
    """Read a recording: digests by mnemonic and input generator, whole tiles by mnemonic, and the file's description.

    Raises
    ------
    ValueError
        If the generator of inputs is not the one that the recording was made with.
    """
    arrays, metadata = load_arrays(path)
    if metadata["families"] != generators.VERSION:
        raise ValueError(f"{path}: families version {metadata['families']}, this is {generators.VERSION}")
    ends = np.cumsum(arrays["counts"].astype(np.int64))
    digests = {}
    for mnemonic, count, end in zip(arrays["mnemonics"].tolist(), arrays["counts"], ends, strict=True):
        names = generators_recorded(we.INSTRUCTIONS[mnemonic])
        if len(names) != count:
            raise ValueError(f"{path}: {mnemonic} was recorded with {count} input generators, it has {len(names)}")
        digests[mnemonic] = dict(zip(names, arrays["digests"][end - count : end], strict=True))
    tiles = {key.removesuffix("|D"): array for key, array in arrays.items() if key.endswith("|D")}
    return digests, tiles, metadata


def differing(entry: we.Instruction, arch: str, seed: int, digests: dict[str, np.uint64], run: Run) -> Iterator[str]:
    """Name the input generators whose registers are not the recorded ones."""
    ins = we.instruction(entry.mnemonic, arch=arch)
    for generator, recorded in digests.items():
        case = case_of(ins, generator, seed)
        if digest(run(ins, *case.operands, **case.keywords)) != recorded:
            yield generator


def emulate(ins: we.BoundInstruction, *operands: Array, **keywords: Any) -> Array:
    """Execute as the emulator does."""
    return ins.execute(*operands, **keywords)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = recording_parser(__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="regular expression that mnemonics must contain")
    parser.add_argument("--emulate", action="store_true", help="record the emulator instead of a GPU, to try this out")
    given = parser.parse_args(arguments)
    started = time.monotonic()
    if given.emulate:
        run, about = emulate, {"gpu": "none: emulated", "driver": "none", "arch": "sm_90"}
    else:
        device = we.gpu.device()
        run = we.gpu.execute
        about = {"gpu": device.name, "driver": device.driver, "toolkit": device.toolkit, "arch": device.arch}
    arch = str(about["arch"])
    entries = [entry for entry in instructions_of(arch) if re.search(given.only, entry.mnemonic)]
    if not entries:
        raise SystemExit(f"no instruction of {arch} contains {given.only!r}")
    arrays = record(entries, arch, given.seed, run)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    save_arrays(given.out, arrays, families=generators.VERSION, seed=given.seed, **about)
    add_source(
        given.out, **{key: value for key, value in about.items() if key != "arch"},
        contents="digests of the D registers of every instruction and family, some tiles whole; see "
                 "tools/record_instructions.py",
        generator=f"tools/record_instructions.py, families version {generators.VERSION}", seed=given.seed,
    )  # fmt: skip
    print(f"{given.out}: {len(entries)} instructions, {arrays['digests'].size} cases, "
          f"{given.out.stat().st_size} bytes, {time.monotonic() - started:.1f} s")  # fmt: skip
    return compare(arrays, given.compare)


if __name__ == "__main__":
    raise SystemExit(main())
