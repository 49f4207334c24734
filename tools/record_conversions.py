# SPDX-License-Identifier: MIT
"""Record what every ``cvt``, ``prmt``, ``ldmatrix``, ``stmatrix`` and ``movmatrix`` of this GPU gives, as digests.

    python -m tools.record_conversions --out tests/data/sm90_conversions.npz

Inputs are drawn again from `tools.cvt_probe_cases` and `tools.matrix_move_probe_cases`. What differs from the emulator
is printed, input by input; then the exit status is 1.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import wmma_emu as we
from tools import cvt_probe_cases, matrix_move_probe_cases
from tools.cvt_probe_cases import ProbeCase, cvt_cases, prmt_cases
from tools.matrix_move_probe_cases import MatrixMoveCase, matrix_move_cases
from tools.recordings import add_source, compare, digest, load_arrays, recording_parser, save_arrays
from wmma_emu.scalar import cvt, prmt
from wmma_emu.warp import ldmatrix, movmatrix, stmatrix

Array = NDArray[Any]
Run = Callable[..., dict[str, Array]]

VERSIONS = {"cvt": cvt_probe_cases.VERSION, "matrix_moves": matrix_move_probe_cases.VERSION}

_PTX = "9.0"
_SHOWN = 4


def emulated(case: ProbeCase) -> Array:
    """Return the emulator's results of a conversion or permutation."""
    a, b, c = (case.inputs.get(x) for x in "abc")
    if case.mnemonic.startswith("prmt"):
        result = prmt(a, b, c, _mode(case))
    else:
        result = cvt(a, case.mnemonic, b, scale=case.inputs.get("scale"))
    return np.asarray(result).astype(f"u{case.result_bits // 8}")


def _mode(case: ProbeCase) -> str:
    return case.mnemonic.removeprefix("prmt.b32").removeprefix(".")


def measured(case: ProbeCase, run: Run) -> Array:
    """Return results of a conversion or permutation on the GPU."""
    width = {"f32": 32, "f64": 64}
    bits = {x: width.get(kind) or int(kind[1:]) for x, kind in case.register_types.items()}
    inputs = {x: array.astype(f"u{bits[x] // 8}") for x, array in case.inputs.items()}
    d = run(case.line, inputs, {"d": np.dtype(f"u{bits['d'] // 8}")}, version=_PTX)["d"]
    # A narrow integer is in the low bits of a wider register.
    return (d & np.array(2**case.result_bits - 1, d.dtype)).astype(f"u{case.result_bits // 8}")


def emulated_move(case: MatrixMoveCase) -> Array:
    """Return the emulator's registers and shared memory after a movement, in one array of words."""
    shared, registers = case.shared.copy(), case.registers.copy()
    match case.move.family:
        case "ldmatrix":
            registers = ldmatrix(shared, case.addresses, case.move.mnemonic)
        case "stmatrix":
            stmatrix(shared, case.addresses, registers, case.move.mnemonic)
        case _:
            registers = movmatrix(registers, case.move.mnemonic)
    return np.concatenate([registers.reshape(-1), shared.view(np.uint32)])


def measured_move(case: MatrixMoveCase, run: Run) -> Array:
    """Return registers and shared memory after a movement on the GPU, in one array of words."""
    names = [f"r{i}" for i in range(case.move.num_registers)]
    loads, moves = case.move.family == "ldmatrix", case.move.family == "movmatrix"
    given = {} if loads else dict(zip(names, case.registers[:, None], strict=True))
    inputs = {"offset": case.addresses[None], **given}
    wanted = names if loads else ["t0"] if moves else []
    lines = [".reg .b32 %address;", "add.u32 %address, %shared, %offset;", case.line]
    outputs = dict.fromkeys(wanted, np.uint32)
    found = run(lines, inputs, outputs, shared=case.shared[None], version=_PTX)
    registers = np.stack([found[x][0] for x in wanted]) if wanted else case.registers
    return np.concatenate([registers.reshape(-1), found["shared"][0].view(np.uint32)])


def recorded(path: Path) -> dict[str, np.uint64]:
    """Read the digests of a recording, by mnemonic.

    Raises
    ------
    ValueError
        If the cases are not those that the recording was made with.
    """
    arrays, metadata = load_arrays(path)
    if metadata["versions"] != VERSIONS:
        raise ValueError(f"{path}: cases of {json.dumps(metadata['versions'])}, these are {json.dumps(VERSIONS)}")
    return dict(zip(arrays["mnemonics"].tolist(), arrays["digests"], strict=True))


def cases(arch: str) -> Iterator[tuple[str, Callable[[], Array], Callable[[Run], Array], list[Array]]]:
    """Return every case of a chip: its name, how it is emulated, how it is measured, and its inputs."""
    for case in (*cvt_cases(arch), *prmt_cases()):
        yield (
            case.mnemonic,
            lambda x=case: emulated(x),
            lambda run, x=case: measured(x, run),
            list(case.inputs.values()),
        )
    for move in matrix_move_cases(arch):
        yield move.move.mnemonic, lambda x=move: emulated_move(x), lambda run, x=move: measured_move(x, run), []


def main(arguments: Sequence[str] | None = None) -> int:
    given = recording_parser(__doc__).parse_args(arguments)
    started = time.monotonic()
    device = we.gpu.device()
    digests: dict[str, np.uint64] = {}
    results = wrong = 0
    for mnemonic, emulate, measure, inputs in cases(device.arch):
        ours, theirs = emulate(), measure(we.gpu.run_snippet)
        digests[mnemonic] = digest(theirs)
        results += theirs.size
        differ = np.flatnonzero(ours != theirs)
        if differ.size:
            wrong += 1
            examples = [
                f"{' '.join(hex(x[i]) for x in inputs)} -> GPU {theirs[i]:#x}, emulator {ours[i]:#x}"
                for i in differ[:: max(1, differ.size // _SHOWN)][:_SHOWN]
            ]
            print(f"{mnemonic}: {differ.size} of {theirs.size} differ: {'; '.join(examples)}", flush=True)
    arrays = {"mnemonics": np.array(list(digests)), "digests": np.array(list(digests.values()), np.uint64)}
    about = {"gpu": device.name, "driver": device.driver, "toolkit": device.toolkit}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    save_arrays(given.out, arrays, versions=VERSIONS, arch=device.arch, **about)
    add_source(
        given.out, **about, contents="digests of the results of every cvt, prmt, ldmatrix, stmatrix and movmatrix; see "
        "tools/record_conversions.py", generator=f"tools/record_conversions.py, cases {json.dumps(VERSIONS)}",
    )  # fmt: skip
    print(f"{given.out}: {len(digests)} instructions, {results} results, {wrong} differ from the emulator, "
          f"{time.monotonic() - started:.1f} s")  # fmt: skip
    return compare(arrays, given.compare) or int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
