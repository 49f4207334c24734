# SPDX-License-Identifier: MIT
"""Compare the 128 bytes of random tensor maps with those of the driver's encoder.

python -m tools.record_tensor_maps record 200000 OUT.npz    # on a machine with a GPU and the package
python -m tools.record_tensor_maps compare OUT.npz          # anywhere
python -m tools.record_tensor_maps digest OUT.npz ROWS.txt  # what the tests keep: a hash for each 1,000 maps
"""

import ctypes
import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.cuda_driver import Device, driver_version
from tools.drawn_tensor_maps import drawn_map
from wmma_emu.errors import ArgumentValueError
from wmma_emu.ptx.tensor_maps.encoding import MAP_BYTES, TensorMapFields
from wmma_emu.ptx.tensor_maps.rules import require_legal

BLOCK = 1000
_ALIGNED = 64
_SHOWN = 20


class Encoder:
    """The driver's encoder."""

    def __init__(self) -> None:
        self._driver = Device()._cuda
        memory = ctypes.create_string_buffer(MAP_BYTES + _ALIGNED)
        self._memory, self._at = memory, ctypes.addressof(memory) + (-ctypes.addressof(memory) % _ALIGNED)

    def encode(self, fields: TensorMapFields) -> tuple[int, bytes]:
        """Return the result of the call, 0 or an error's number, and the 128 bytes."""
        rank = fields.rank
        tensor: tuple[Any, ...] = (
            ctypes.c_void_p(self._at), fields.element.driver, rank, ctypes.c_void_p(fields.address),
            _array(ctypes.c_uint64, fields.dims), _array(ctypes.c_uint64, fields.strides),
        )  # fmt: skip
        steps = _array(ctypes.c_uint32, fields.element_strides)
        layout = (steps, fields.interleave, fields.swizzle, fields.promotion, fields.fill)
        if fields.window is None:
            status = self._driver.cuTensorMapEncodeTiled(*tensor, _array(ctypes.c_uint32, fields.box), *layout)
        else:
            corners = [_array(ctypes.c_int, x) for x in (fields.window.lower, fields.window.upper)]
            sizes = fields.window.channels, fields.window.pixels
            status = self._driver.cuTensorMapEncodeIm2col(*tensor, *corners, *sizes, *layout)
        return status, ctypes.string_at(self._at, MAP_BYTES) if status == 0 else b""


def _array(kind: Any, values: tuple[int, ...]) -> Any:
    return (kind * 5)(*values)


def emulated(fields: TensorMapFields) -> tuple[bytes, str]:
    """Return the package's bytes, or none and the rule that the map breaks."""
    try:
        require_legal(fields)
    except ArgumentValueError as error:
        return b"", str(error)
    return fields.encode(), ""


def record(count: int, out: Path) -> None:
    """Record maps, and compare them at once."""
    encoder = Encoder()
    status, maps = np.zeros(count, np.uint16), np.zeros((count, MAP_BYTES), np.uint8)
    for seed in range(count):
        status[seed], found = encoder.encode(drawn_map(seed))
        if found:
            maps[seed] = np.frombuffer(found, np.uint8)
    np.savez_compressed(out, status=status, maps=maps, driver=driver_version())
    compare(out)


def compare(recorded: Path) -> int:
    """Print each map that differs, and return how many do."""
    with np.load(recorded) as file:
        status, maps, driver = file["status"], file["maps"], str(file["driver"])
    wrong = 0
    for seed in range(len(status)):
        fields = drawn_map(seed)
        ours, broken = emulated(fields)
        theirs = b"" if status[seed] else maps[seed].tobytes()
        if ours != theirs:
            wrong += 1
            if wrong <= _SHOWN:
                print(f"{seed}: {fields}\n  {broken or ours.hex(' ', 4)}\n  {theirs.hex(' ', 4) or status[seed]}")
    print(f"{len(status):,} maps, {int((status == 0).sum()):,} of them legal; {wrong} differ; driver {driver}")
    return wrong


def digest_of(found: list[bytes]) -> str:
    """Return the hash of maps, of which those that are refused have no bytes."""
    return hashlib.sha256(b"".join(len(x).to_bytes(1, "little") + x for x in found)).hexdigest()[:16]


def digests(status: NDArray[Any], maps: NDArray[Any]) -> list[str]:
    """Return the hash of each 1,000 maps."""
    found = [b"" if s else m.tobytes() for s, m in zip(status, maps, strict=True)]
    return [digest_of(found[i : i + BLOCK]) for i in range(0, len(found), BLOCK)]


def main() -> int:
    match sys.argv[1:]:
        case ["record", count, out]:
            record(int(count), Path(out))
        case ["compare", recorded]:
            return min(compare(Path(recorded)), 1)
        case ["digest", recorded, rows]:
            with np.load(recorded) as file:
                Path(rows).write_text("\n".join(digests(file["status"], file["maps"])) + "\n")
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
