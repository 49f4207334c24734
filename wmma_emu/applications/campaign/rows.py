# SPDX-License-Identifier: MIT
"""Mismatches as rows of a file that tests replay: input patterns, and the bits from hardware."""

import datetime
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from wmma_emu.applications.campaign.cases import Case, emulate_cases, execute_cases
from wmma_emu.applications.campaign.files import replace_text
from wmma_emu.applications.campaign.mismatches import Mismatch
from wmma_emu.applications.campaign.registers import Variant
from wmma_emu.errors import ArgumentValueError, shorten
from wmma_emu.instructions import arch_of, lookup
from wmma_emu.warp import BoundInstruction, bound_instruction

_DIGITS = 4
"""The bits of a hexadecimal digit."""

_SCALES = ("scale_a", "scale_b")


def row_of(ins: BoundInstruction, finding: Mismatch, device: dict[str, Any]) -> dict[str, Any]:
    """Return a mismatch as a row: everything needed to execute it again, and the source of its bits."""
    case, entry = finding.smallest, ins.instruction

    def pattern(bits: int, operand: str) -> str:
        return f"0x{bits:0{-(-getattr(ins.product, operand).bits // _DIGITS)}x}"

    return {
        "mnemonic": ins.mnemonic, "arch": ins.arch.name, "lowering": ins.model.lowering, "family": finding.generator,
        **({"model": ins.model.name} if ins.model.name else {}),
        "row": case.row, "column": case.column, "product": case.product,
        "a": [pattern(x, "a") for x in case.a], "b": [pattern(x, "b") for x in case.b], "c": pattern(case.c, "c"),
        "indices": list(case.indices) if entry.is_sparse and case.indices is not None else None,
        **({x: [f"0x{bits:02x}" for bits in getattr(case, x)] for x in _SCALES} if entry.is_block_scaled else {}),
        "options": {k: v for k, v in asdict(case.variant).items() if v != getattr(Variant(), k)},
        "expected": pattern(case.theirs, "d"), "emulated": pattern(case.ours, "d"),
        "device": device.get("name", ""), "driver": device.get("driver", ""), "toolkit": device.get("toolkit", ""),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }  # fmt: skip


def load_rows(path: str | Path) -> list[dict[str, Any]]:
    """Read a file of rows."""
    try:
        rows = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ArgumentValueError(f"{path} does not contain rows of mismatches ({shorten(error, str)})") from None
    if not isinstance(rows, list) or not all(isinstance(x, dict) and "mnemonic" in x for x in rows):
        raise ArgumentValueError(f"{path} does not contain rows of mismatches; expected a JSON list of objects")
    return rows


def append_rows(path: str | Path, rows: Iterable[dict[str, Any]]) -> int:
    """Append new rows to a file; return their number."""
    path = Path(path)
    present = load_rows(path) if path.exists() else []
    known = {_key(row) for row in present}
    new = [row for row in rows if _key(row) not in known]
    if new or not path.exists():
        lines = ",\n".join(json.dumps(row) for row in [*present, *new])
        replace_text(path, f"[\n{lines}\n]\n" if lines else "[]\n")
    return len(new)


def _key(row: dict[str, Any]) -> str:
    return json.dumps({k: v for k, v in row.items() if k not in ("date", "emulated")}, sort_keys=True)


def replay(row: dict[str, Any]) -> tuple[int, int, int]:
    """Execute a row again; return hardware's bits, and the emulator's by a product of patterns and on registers."""
    chip = arch_of(row["arch"])
    ins = bound_instruction(lookup(row["mnemonic"], chip), chip, row["lowering"], row.get("model"))
    scales: dict[str, Any] = {x: _patterns(row.get(x, ())) for x in _SCALES}
    case = Case(
        row["row"], row["column"], row["product"], _patterns(row["a"]), _patterns(row["b"]), int(row["c"], 16),
        None if row["indices"] is None else tuple(row["indices"]), Variant(**row["options"]),
        **scales,
    )  # fmt: skip
    [product] = emulate_cases(ins, ins.product, [case])
    [registers] = execute_cases(BoundInstruction.execute, ins, [case])
    return int(row["expected"], 16), product, registers


def _patterns(texts: Sequence[str]) -> tuple[int, ...]:
    return tuple(int(x, 16) for x in texts)
