# SPDX-License-Identifier: MIT
"""``wmma-emu chips``: a table of the chips, or the description of one: products, formats and instructions."""

from argparse import Namespace
from collections import Counter
from collections.abc import Iterable

from wmma_emu.cli.choices import TABLE_FORMATS
from wmma_emu.cli.output import format_of, writing
from wmma_emu.cli.query import chip_named
from wmma_emu.cli.tables import Column, Record, write_records, write_table
from wmma_emu.cli.terminal import Styled, Terminal
from wmma_emu.instructions.arch import ARCHS, arch_of
from wmma_emu.instructions.spec import Arch, Instruction
from wmma_emu.instructions.table import INSTRUCTIONS
from wmma_emu.instructions.tensor import TENSOR_KINDS

_MOST_PRODUCTS = 5
_TENSOR = "tcgen05.mma"


def run(arguments: Namespace, terminal: Terminal) -> None:
    """Describe chips."""
    output = format_of(arguments.format, arguments.output, TABLE_FORMATS)
    chips = _named(arguments.words) if arguments.words else list(ARCHS.values())
    with writing(arguments, TABLE_FORMATS, "chips.csv", terminal) as out:
        if output in ("csv", "json"):
            write_records([_record(x) for x in chips], output, out)
        elif arguments.words and output == "table":
            for number, chip in enumerate(chips):
                if number:
                    out.line()
                show_chip(chip, out)
        else:
            _table(chips, output, out)


def _named(words: list[str]) -> list[Arch]:
    """Find the chips that words name: one in all words, as in ``rtx 4090``, or one in each word."""
    text = " ".join(words)
    parts = text.replace(",", " ").split()
    known = [x for x in parts if chip_named([x]) is not None]
    return [arch_of(x) for x in parts] if known and chip_named([text]) is None else [arch_of(text)]


def _rows(chip: Arch) -> list[Instruction]:
    return [entry for entry in INSTRUCTIONS.values() if chip.name in entry.archs]


def _families(chip: Arch) -> dict[str, int]:
    """Count the instructions of each family; instructions of tensor memory are made by rules, and not counted."""
    counts: dict[str, int] = Counter(entry.family for entry in _rows(chip))
    if any(chip.name in kind.archs for kind in TENSOR_KINDS.values()):
        counts[_TENSOR] = 0
    return counts


def _formats(entries: Iterable[Instruction]) -> list[str]:
    return list(dict.fromkeys(x for entry in entries for x in (entry.a, entry.b)))


def _formats_of(chip: Arch) -> list[str]:
    tensor = (x for kind in TENSOR_KINDS.values() if chip.name in kind.archs for x in kind.operands)
    return list(dict.fromkeys((*_formats(_rows(chip)), *tensor)))


def _scaled(chip: Arch) -> list[str]:
    rows = _formats(entry for entry in _rows(chip) if entry.is_block_scaled)
    kinds = (x for x in TENSOR_KINDS.values() if chip.name in x.archs and x.is_block_scaled)
    return list(dict.fromkeys((*rows, *(x for kind in kinds for x in kind.operands))))


def _record(chip: Arch) -> Record:
    rows = _rows(chip)
    return {
        "chip": chip.name, "generation": chip.generation, "products": chip.products, "formats": _formats_of(chip),
        "families": list(_families(chip)), "instructions": len(rows), "source": chip.source, "status": chip.status,
    }  # fmt: skip


def _table(chips: list[Arch], output: str, terminal: Terminal) -> None:
    columns = [Column("chip"), Column("generation"), Column("products"), Column("formats of A and B", True),
               Column("families", True)]  # fmt: skip
    cells = []
    for chip in chips:
        shown = ", ".join(chip.products[:_MOST_PRODUCTS]) + ", ..." * (len(chip.products) > _MOST_PRODUCTS)
        cells.append([chip.name, chip.generation, shown, " ".join(_formats_of(chip)), " ".join(_families(chip))])
    write_table(columns, cells, output, terminal)
    if output == "markdown":
        return
    terminal.line()
    terminal.text("wmma-emu chips CHIP describes one chip, wmma-emu compare CHIP CHIP shows how two differ; any "
                  "product name works, as in 'RTX 4090' or 'NVIDIA H100 80GB HBM3'.")  # fmt: skip


def show_chip(chip: Arch, terminal: Terminal) -> None:
    """Describe one chip."""
    rows = _rows(chip)
    families = _families(chip)
    terminal.line(Styled(f"{chip.name} ({chip.generation})", "title"))
    spelled = [x for x in chip.aliases if not x.startswith("compute_")]
    terminal.fields([
        ("products", ", ".join(chip.products)),
        ("also called", ", ".join(spelled)),
        ("formats", " ".join(_formats_of(chip))),
        *([("block scales", " ".join(scaled))] if (scaled := _scaled(chip)) else []),
        *((name, _count(chip, name, count, rows)) for name, count in families.items()),
        ("known from", f"{chip.source} ({chip.status})"),
    ])  # fmt: skip
    terminal.line()
    terminal.text(f"wmma-emu list {chip.name} lists its instructions, with how well the arithmetic of each is known.")


def _count(chip: Arch, family: str, count: int, entries: list[Instruction]) -> str:
    if family == _TENSOR:
        kinds = ", ".join(x for x, kind in TENSOR_KINDS.items() if chip.name in kind.archs)
        return f"kinds {kinds}; operands in tensor memory; wmma_emu.tcgen05 executes them"
    own = [entry for entry in entries if entry.family == family]
    return f"{count} instruction{'s' * (count > 1)}: {' '.join(_formats(own))}"
