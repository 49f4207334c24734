# SPDX-License-Identifier: MIT
"""Names of instructions in machine code, in CuTe and in `mma.h`, which the page shows and searches.

`wmma_emu.instructions.notation` makes the names; the page compares them with the user's input.
"""

from itertools import product
from typing import Any

from wmma_emu.applications.explorer.numbered import Numbered
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import ARCHS, Instruction
from wmma_emu.instructions.arch import NAME_PATTERNS, plain_names
from wmma_emu.instructions.family_names import FAMILY_NAMES, names_of_scaled
from wmma_emu.instructions.machine import lowerings, machine_instructions
from wmma_emu.instructions.notation import FORMAT_NAMES, cute_atoms
from wmma_emu.instructions.notation.cute_atom_table import TENSOR_ATOMS
from wmma_emu.instructions.notation.cute_atoms import ATOM
from wmma_emu.instructions.notation.fragments import FRAGMENT, fragment_meaning
from wmma_emu.instructions.notation.machine_names import MACHINE_NAME, opcodes
from wmma_emu.instructions.notation.tensor_atoms import tensor_instruction_of_atom
from wmma_emu.instructions.spec import TENSOR_FAMILIES
from wmma_emu.instructions.tensor import TENSOR_KINDS

_USES = {"matrix_a": ("row_major", "col_major"), "matrix_b": ("row_major", "col_major"), "accumulator": ("",)}


def coded_names(entries: tuple[Instruction, ...]) -> dict[str, Any]:
    """Return the other names of instructions.

    ``chips``: normalised names of chips, and their patterns. ``formats``: names of each format. ``families``: names of
    each family. ``scaled``: names of products with block scales, by the formats of scales and A. ``patterns``: patterns
    of machine code, atoms and fragments. ``cute``: lists of atoms, with ``@`` for the shape; ``machine``: lists of
    chips (a bit for each) and names, with a count if there are several; ``of``: for each instruction, the numbers of
    both. ``fragments``: for each fragment, written ``matrix_a,16,16,16,f16,row_major``, the mnemonic. ``tensor``: for
    each atom of `tcgen05.mma`, the mnemonic without template arguments.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> names = coded_names((lookup("m16n8k8.f32.f16.f16.f32"),))
    >>> names["cute"], [x[1:] for x in names["machine"][0]]
    ([('SM75_@_F32F16F16F32_TN', 'SM80_@_F32F16F16F32_TN')], [('HMMA.1688.F32',)])
    """
    cute: Numbered[tuple[str, ...]] = Numbered()
    machine: Numbered[tuple[tuple[Any, ...], ...]] = Numbered()
    of = []
    for entry in entries:
        shape = f"{entry.m}x{entry.n}x{entry.k}"
        atoms = tuple(x.replace(shape, "@") for x in cute_atoms(entry))
        of.append((cute(atoms), machine(_machine_names(entry, shape))))
    patterns = {"machine": MACHINE_NAME, "atom": ATOM, "fragment": FRAGMENT}
    return {
        "chips": {"called": plain_names(), **NAME_PATTERNS},
        "formats": {name: " ".join(words) for name, words in FORMAT_NAMES.items()},
        "families": {x: " ".join((*words, *_generation(x, entries))) for x, words in FAMILY_NAMES.items()},
        "scaled": {f"{scale} {a}": " ".join(names_of_scaled(scale, a)) for scale, a in _scaled(entries)},
        "patterns": {name: x.pattern.replace("(?P<", "(?<") for name, x in patterns.items()},
        "cute": cute.rows(), "machine": machine.rows(), "of": of,
        "fragments": _fragments(entries), "tensor": _tensor_atoms(),
    }  # fmt: skip


def _generation(family: str, entries: tuple[Instruction, ...]) -> tuple[str, ...]:
    """Return the only generation of chips with a family; empty if there are several."""
    found = TENSOR_KINDS.values() if family in TENSOR_FAMILIES else [x for x in entries if x.family == family]
    words = {ARCHS[x].generation.replace(",", "").split()[0] for entry in found for x in entry.archs}
    return tuple(words) if len(words) == 1 else ()


def _scaled(entries: tuple[Instruction, ...]) -> set[tuple[str, str]]:
    of_kinds = {(scale, a) for kind in TENSOR_KINDS.values() for scale, _ in kind.scales for a in kind.operands}
    return of_kinds | {(entry.scale, entry.a) for entry in entries if entry.is_block_scaled}


def _machine_names(entry: Instruction, shape: str) -> tuple[tuple[Any, ...], ...]:
    """Return, for groups of chips, the machine instructions of an instruction."""
    found: dict[tuple[str, ...], int] = {}
    for bit, arch in enumerate(ARCHS):
        if arch in entry.archs:
            texts = [machine_instructions(entry, arch, x).text for x in lowerings(entry, arch)]
            names = dict.fromkeys(
                f"{count}x {name}" if count > 1 else name for x in texts for name, count in opcodes(x).items()
            )
            key = tuple(x.replace(shape, "@") for x in names)
            found[key] = found.get(key, 0) | 1 << bit
    return tuple((mask, *names) for names, mask in found.items())


def _fragments(entries: tuple[Instruction, ...]) -> dict[str, str]:
    own = [x for x in entries if x.family == "wmma.mma"]
    shapes = dict.fromkeys((x.m, x.n, x.k) for x in own)
    formats = dict.fromkeys(name for x in own for name in x.types)
    found = {}
    for (use, layouts), (m, n, k), name in product(_USES.items(), shapes, formats):
        for layout in layouts:
            text = ",".join(filter(None, (use, str(m), str(n), str(k), name, layout)))
            try:
                found[text] = fragment_meaning(f"fragment<{text}>")[0][0].mnemonic
            except UnsupportedInstructionError:
                continue
    return found


def _tensor_atoms() -> dict[str, str]:
    found = {}
    for entry, pair, source, ending in product(TENSOR_ATOMS, ("", "_2x1SM"), ("SS", "TS"), ("", "_SPARSE")):
        name = f"SM10{3 if entry.k else 0}_MMA_{entry.words}{pair}_{source}{ending}".upper()
        try:
            found[name] = tensor_instruction_of_atom(name)[0].mnemonic
        except UnsupportedInstructionError:
            continue
    return found
