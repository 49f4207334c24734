# SPDX-License-Identifier: MIT
"""CuTe's atoms of `tcgen05.mma`, ``SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 256, ...>``."""

import re

from wmma_emu.errors import UnsupportedInstructionError, shorten
from wmma_emu.formats.names import formats_called
from wmma_emu.instructions.notation.cute_atom_table import TENSOR_ATOMS, TensorAtomEntry
from wmma_emu.instructions.notation.cute_atoms import AtomName, atom_name
from wmma_emu.instructions.spec import Instruction
from wmma_emu.instructions.tensor import tensor_instruction

TENSOR_ATOM = re.compile(
    r"SM10\d_(?:MMA_)?(?P<kind>[A-Z0-9]+(?:_ULTRA)?)(?P<pair>_2X1SM)?_(?P<source>SS|TS)(?P<rest>(?:_\w+)?)"
)
"""The name of an atom in capitals: the kind, two SMs or one, the memory of A."""

_ENDINGS = ("", "_SCALED", "_SPARSE", "_VS", "_INTERLEAVED_CF32CTF32CTF32CF32_TN")
_ENTRIES = {entry.words: entry for entry in TENSOR_ATOMS}
_WHERE = {"SS": "shared memory", "TS": "tensor memory"}


def tensor_instruction_of_atom(text: str) -> tuple[Instruction, str]:
    """Return the instruction of a `tcgen05.mma` atom, and a note.

    Examples
    --------
    >>> found, note = tensor_instruction_of_atom("SM100_MMA_F16BF16_2x1SM_SS<bfloat16_t, bfloat16_t, float, 256, 64>")
    >>> print(found)
    tcgen05.mma.cta_group::2.kind::f16.m256n64k16.f32.bf16.bf16
    >>> found, note = tensor_instruction_of_atom("SM100_MMA_F8F6F4_TS")
    >>> print(found)
    tcgen05.mma.cta_group::1.kind::f8f6f4.m128n256k32.f32.e4m3.e4m3
    >>> print(note)
    A comes from tensor memory. Types and sizes are its template arguments; without them this is one of many.
    """
    atom = atom_name(text)
    found = TENSOR_ATOM.fullmatch(atom.name)
    entry = _ENTRIES.get(found["kind"]) if found else None
    if found is None or entry is None or found["rest"] not in _ENDINGS:
        kinds = ", ".join(f"SM100_MMA_{x.words}_SS" for x in TENSOR_ATOMS if not x.k)
        raise UnsupportedInstructionError(
            f"no instruction of the tables matches the CuTe atom {shorten(text)}; atoms of tcgen05.mma are named "
            f"like {kinds}"
        )
    made = _made(entry, found, atom)
    note = f"A comes from {_WHERE[found['source']]}."
    if found["rest"] == "_SCALED":
        note += " It multiplies C by a power of two (scale-input-d), which is an argument of the product."
    if found["rest"].startswith("_INTERLEAVED"):
        note += " It is CuTe's for complex numbers, whose parts alternate."
    if len(atom.arguments) < 5:
        note += " Types and sizes are its template arguments; without them this is one of many."
    return made, note


def _made(entry: TensorAtomEntry, found: "re.Match[str]", atom: AtomName) -> Instruction:
    """Create the instruction of an entry with the values of the template arguments."""
    formats = [formats_called(x) for x in atom.arguments if formats_called(x)]
    numbers = [int(x) for x in atom.arguments if x.isdecimal()]
    pair, sparse = bool(found["pair"]), found["rest"] == "_SPARSE"
    a, b, d = ([x[0] for x in formats[:3]] + [entry.a, entry.a, entry.d][len(formats[:3]) :])[:3]
    m, n = (numbers + [256 if pair else 128, 256][len(numbers[:2]) :])[:2]
    vector = numbers[2] if len(numbers) > 2 else 0
    scale = formats[3][0] if len(formats) > 3 else entry.scale
    block = vector // 2 if sparse else vector
    kind = dict(entry.vectors).get(block, entry.kind) if not entry.k else entry.kind
    k = entry.k or None
    return tensor_instruction(
        kind, m, n, d, a, b, k=k, scale=scale, sparse=sparse, cta_group=2 if pair else 1,
        scale_vec=entry.k // block if k and block else 6 if k else 0,
    )  # fmt: skip
