# SPDX-License-Identifier: MIT
"""``wmma-emu quantise``: an array in a file as elements and scales of a block-scaled format."""

from argparse import Namespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.cli.corner import corner_lines, digest_of, sizes_of
from wmma_emu.cli.files import check_output
from wmma_emu.cli.matrices import read_matrix, write_matrix
from wmma_emu.cli.output import STANDARD_OUTPUT, check_pipe
from wmma_emu.cli.terminal import Terminal
from wmma_emu.cli.usage import UsageError, check_number
from wmma_emu.formats.dtypes import dtype_of
from wmma_emu.quantise import BlockScaled, quantise

_SIGNIFICANT = 4


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Quantise a file."""
    if arguments.format is not None and arguments.to is not None:
        raise UsageError(f"{arguments.format[:80]} and --to {arguments.to[:80]} name the format twice; give it once")
    to = arguments.to or arguments.format or "mxfp8_e4m3"
    outputs = [x for x in (arguments.output, arguments.scales) if x is not None]
    if outputs.count(STANDARD_OUTPUT) > 1 or (len(outputs) > 1 and outputs[0] == outputs[1]):
        raise UsageError("elements and scales are written to two files; name two different files")
    for path in outputs:
        if path == STANDARD_OUTPUT:
            check_pipe("a .npy file", "Q.npy")
        else:
            check_output(path, [arguments.x], "Q.npy")
    array = _read(arguments.x)
    found = quantise(
        array, to.casefold(), axis=check_number("--axis", arguments.axis), rule=arguments.rule,
        pad=arguments.pad,
    )  # fmt: skip
    if arguments.output is not None:
        write_matrix(arguments.output, found.element_bits)
    if arguments.scales is not None:
        write_matrix(arguments.scales, found.scale_bits)
    if STANDARD_OUTPUT not in outputs:
        _show(arguments, array, found, terminal)


def _read(path: str) -> NDArray[Any]:
    array, named = read_matrix(path)
    if array.dtype.kind == "V" and (named or array.dtype.itemsize == 2):
        return array.view(dtype_of(named or "bf16"))
    return array


def _show(arguments: Namespace, array: NDArray[Any], found: BlockScaled, terminal: Terminal) -> None:
    entry = found.block_format
    terminal.fields([
        ("array", f"{arguments.x}: {sizes_of(array)} {array.dtype}"),
        ("format", f"{entry.name}: {entry.block} elements of {entry.element} share a scale of {entry.scale}"),
        ("elements", f"{_where(arguments.output, '-o Q.npy')}: {sizes_of(found.element_bits)} bytes"),
        ("scales", f"{_where(arguments.scales, '--scales S.npy')}: {sizes_of(found.scale_bits)} bytes"),
        *([("tensor scale", f"{found.tensor_scale}")] if entry.has_tensor_scale else []),
        *_errors(array, found),
        ("sha256", f"{digest_of(found.element_bits)} of the elements"),
        ("", f"{digest_of(found.scale_bits)} of the scales"),
    ], indent=0)  # fmt: skip
    for name, bits, fmt in (("elements", found.element_bits, entry.element), ("scales", found.scale_bits, entry.scale)):
        if bits.size and not arguments.output:
            terminal.line()
            values = bits.view(np.int8) if fmt.kind == "integer" and fmt.signed else bits.view(dtype_of(fmt.name))
            terminal.lines(corner_lines(name, values, fmt.name, terminal.width))


def _errors(array: NDArray[Any], found: BlockScaled) -> list[tuple[str, str]]:
    """Return a line on the quantisation error, if all values are finite."""
    exact = array.astype(np.float64)
    if not exact.size or not np.isfinite(exact).all():
        return []
    back = found.dequantise().astype(np.float64)
    part = back[tuple(slice(x) for x in exact.shape)]  # without the padding
    distance = np.abs(part - exact)
    where = [int(x) for x in np.unravel_index(int(distance.argmax()), distance.shape)]
    noise, signal = float((distance**2).sum()), float((exact**2).sum())
    text = f"the furthest is {distance.max():.{_SIGNIFICANT}g} away, at {where}"
    if noise and signal:
        text += f"; signal to noise {10 * np.log10(signal / noise):.1f} dB"
    return [("error", text if noise else "none: every value is in the format")]


def _where(path: str | None, option: str) -> str:
    return path or f"not written ({option} writes them)"
