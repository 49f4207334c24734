# SPDX-License-Identifier: MIT
"""Output of kernels: the formats of ``printf``, their arguments, and how much of the text is kept."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.state import State
from wmma_emu.ptx.threads import Array

_LONGEST_TEXT = 1024
_MOST_TEXTS = 1000
_MOST_LETTERS = 1 << 20
_WIDEST, _LONGEST_CALL = 1 << 12, 1 << 14
"""Limits: characters of a string; strings and characters that a launch keeps; characters of a field and of a call,
which are truncated: a GPU obeys a width of 2 * 10^9, which would exhaust the host's memory."""

_FIELD = re.compile(r"%([-+ #0]*)(\*|\d*)(\.\d*)?(hh|h|ll|l)?([diouxXeEfFgGaAcsp%])")
"""Conversions that a GPU accepts (CUDA C++ Programming Guide 13.0, Formatted Output).

An H200 (driver 580) prints ``%zu`` and ``%.*f`` verbatim, and takes no argument for them.
"""

_FLOATS, _EIGHT_BYTES = "eEfFgGaA", "eEfFgGaAsp"


class Printed(list[str]):
    """The strings that a launch prints, in the order of the calls; ``left_out`` counts those that are not kept."""

    def __init__(self) -> None:
        super().__init__()
        self.left_out = 0
        self._letters = 0

    @property
    def capacity(self) -> int:
        """The number of further strings that can be kept."""
        return _MOST_TEXTS - len(self) if self._letters < _MOST_LETTERS else 0

    def keep(self, text: str) -> None:
        """Keep a string, or count it as left out."""
        if not self.capacity:
            self.left_out += 1
            return
        self.append(text[: _MOST_LETTERS - self._letters])
        self._letters += len(text)

    @property
    def text(self) -> str:
        """The whole output, and how much more there was."""
        more = f"\nand {self.left_out} more calls of printf, whose output is not kept\n" if self.left_out else ""
        return "".join(self) + more


class ConversionSpecification(NamedTuple):
    """A conversion in a format, such as ``%-8.3f``; ``width`` is None for ``*``, ``precision`` is -1 if absent."""

    flags: str
    width: int | None
    precision: int
    length: str
    kind: str

    @property
    def bytes(self) -> int:
        """Size of the argument in bytes."""
        return 8 if self.kind in _EIGHT_BYTES or self.length in ("l", "ll") else 4

    def fill(self, value: int, text: str, width: int) -> str:
        """Format one argument, given as its pattern; for a string, as its text."""
        flags = self.flags + "-" * (width < 0)
        body = self._body(value, text, flags)
        wide = min(abs(width), _WIDEST) - len(body)
        if wide <= 0 or "-" in flags:
            return body + " " * wide
        integer_with_digits = self.kind in "diouxX" and self.precision >= 0
        is_word = self.kind in "csp" or (self.kind in _FLOATS and body[-1] in "fnFN")  # inf, nan
        if "0" not in flags or is_word or integer_with_digits:
            return " " * wide + body
        start = len(re.match("[-+ ]?(0[xX])?", body)[0])  # type: ignore[index]
        return body[:start] + "0" * wide + body[start:]

    def _body(self, value: int, text: str, flags: str) -> str:
        bits, kind = 8 * self.bytes, self.kind
        precision = min(self.precision, _WIDEST)
        digits = f".{precision}" if precision >= 0 else ""
        sign = "+" if "+" in flags else " " if " " in flags else ""
        sharp = "#" if "#" in flags else ""
        if kind == "s":
            return text[:precision] if precision >= 0 else text
        if kind == "c":
            return chr(value & 0xFF)
        if kind == "p":
            return f"0x{value:x}" if value else "(nil)"
        if kind in _FLOATS:
            number = float(np.uint64(value).view(np.float64))
            if number != number:
                return "NAN" if kind.isupper() else "nan"
            if kind in "aA" and abs(number) != float("inf"):
                shown = sign * (str(number)[0] != "-") + hexadecimal(number, precision)
                return shown.upper() if kind == "A" else shown
            return str(f"%{sharp}{sign}{digits}{kind.replace('a', 'f').replace('A', 'F')}" % number)
        bits = {"h": 16, "hh": 8}.get(self.length, bits)
        value &= (1 << bits) - 1
        if precision == 0 and value == 0:
            return ""
        if kind in "di":
            return str(f"%{sign}{digits}d" % (value - ((value >> (bits - 1)) << bits)))
        if kind == "o" and sharp:
            return str(f"%{digits}o" % value) if not value else "0" + str(f"%{digits}o" % value).lstrip("0")
        return str(f"%{sharp if value else ''}{digits}{'d' if kind == 'u' else kind}" % value)


def fields_of(text: str) -> Iterator["str | ConversionSpecification"]:
    """Split a format into its conversions and the text between them.

    Examples
    --------
    >>> list(fields_of("%5d: 100%%"))
    [ConversionSpecification(flags='', width=5, precision=-1, length='', kind='d'), ': 100', '%']
    """
    end = 0
    for found in _FIELD.finditer(text):
        if found.start() > end:
            yield text[end : found.start()]
        end = found.end()
        flags, width, precision, length, kind = found.groups()
        if kind == "%":
            yield "%"
            continue
        digits = -1 if precision is None else min(int(precision[1:8] or 0), _WIDEST)
        yield ConversionSpecification(
            flags, None if width == "*" else min(int(width[:8] or 0), _WIDEST), digits, length or "", kind
        )
    if end < len(text):
        yield text[end:]


def count_of(fields: Sequence["str | ConversionSpecification"]) -> int:
    """Count the arguments of a format, which ``printf`` returns; an H200 does not count those of ``hh``."""
    return sum(1 + (x.width is None) for x in fields if isinstance(x, ConversionSpecification) and x.length != "hh")


def print_texts(
    state: State,
    instruction: PtxInstruction,
    fields: Sequence["str | ConversionSpecification"],
    buffers: Array,
    participants: NDArray[np.bool_],
) -> list[str]:
    """Format the arguments of each thread; each argument is aligned to its size."""
    texts = [""] * int(np.count_nonzero(participants))
    position = 0

    def patterns(size: int) -> list[int]:
        nonlocal position
        position += -position % size
        addresses = buffers + np.uint64(position)
        position += size
        values, undefined = state.memory.load(instruction, "", addresses, size, 1, participants)
        state.require_written(instruction, undefined, participants, "the printed value")
        found: list[int] = np.broadcast_to(values[0], state.shape)[participants].tolist()
        return found

    for field in fields:
        state.check_time()
        if isinstance(field, str):
            texts = [x + field for x in texts]
            continue
        widths = [field.width or 0] * len(texts)
        if field.width is None:
            widths = [x - ((x >> 31) << 32) for x in patterns(4)]
        values = patterns(field.bytes)
        strings = [""] * len(texts)
        if field.kind == "s":
            addresses = np.zeros(state.shape, np.uint64)
            addresses[participants] = values
            strings = read_texts(state, instruction, addresses, participants)
        filled = map(field.fill, values, strings, widths)
        texts = [(x + y)[:_LONGEST_CALL] for x, y in zip(texts, filled, strict=True)]
    return texts


def read_texts(
    state: State, instruction: PtxInstruction, addresses: Array, participants: NDArray[np.bool_]
) -> list[str]:
    """Read a string that ends with a zero byte for each thread."""
    pointers = addresses[participants]
    reading = participants & (addresses != 0)
    characters: list[Any] = []
    while reading.any() and len(characters) < _LONGEST_TEXT:
        state.check_time()
        values, undefined = state.memory.load(instruction, "", addresses + np.uint64(len(characters)), 1, 1, reading)
        state.require_written(instruction, undefined, reading, "a string that is printed")
        letters = np.where(reading, np.broadcast_to(values[0], state.shape), 0).astype(np.uint8)
        reading = reading & (letters != 0)
        characters.append(letters[participants])
    table = np.array(characters, np.uint8).reshape(len(characters), len(pointers)).T
    found = (bytes(x).partition(b"\0")[0].decode("utf-8", "replace") for x in table)
    return [x if pointer else "(null)" for x, pointer in zip(found, pointers.tolist(), strict=True)]


_DIGITS = 13


def hexadecimal(number: float, precision: int = -1) -> str:
    """Format a finite float64 with ``precision`` hexadecimal digits; with as many as needed for -1.

    The value is rounded to nearest even.

    Examples
    --------
    >>> hexadecimal(1.5), hexadecimal(1.7, 2), hexadecimal(0.0), hexadecimal(5e-324)
    ('0x1.8p+0', '0x1.b3p+0', '0x0p+0', '0x0.0000000000001p-1022')
    """
    before, _, power = number.hex().partition("p")
    start, _, digits = before.partition(".")
    digits = digits.ljust(_DIGITS, "0")
    if precision < 0:
        digits = digits.rstrip("0")
    elif precision < _DIGITS:
        sign, _, lead = start.partition("0x")
        whole, drop = int(lead + digits, 16), 4 * (_DIGITS - precision)
        kept, rest, half = whole >> drop, whole & ((1 << drop) - 1), 1 << (drop - 1)
        kept += rest > half or (rest == half and kept & 1)
        shown = f"{kept:x}".rjust(precision + 1, "0")
        start, digits = f"{sign}0x{shown[: len(shown) - precision]}", shown[len(shown) - precision :]
    else:
        digits = digits.ljust(precision, "0")
    return f"{start}{'.' * bool(digits)}{digits}p{power}"
