# SPDX-License-Identifier: MIT
"""Write the tables of the page of lane instructions: the instructions, and a comparison with a recording.

    python -m tools.ptx_scalar_page

The part of the page above the marker is written by hand.
"""

import json
import re
from collections.abc import Iterator
from math import prod
from pathlib import Path

import numpy as np

from tools.ptx_scalar_cases import ScalarCase, emulated, scalar_cases
from tools.ptx_scalar_inputs import COUNT
from tools.recordings import digest, load_arrays
from wmma_emu.scalar.cvt_table import CVT_FORMS

_ROOT = Path(__file__).parents[1]
PAGE = _ROOT / "docs" / "reference" / "ptx-scalars.md"
RECORDING = _ROOT / "tests" / "data" / "sm90_ptx_scalars.npz"
MARKER = "<!-- below: python -m tools.ptx_scalar_page -->\n"

_SUMMARY = """
## The table

{forms} spellings, {cases} cases, {count:,} inputs of each: **{equal:,} of {total:,} results are equal, bit for bit**
({gpu}, driver {driver}, ptxas {ptxas}, {date}). The {cvt} forms of `cvt` on sm_90, in
`wmma_emu.scalar.cvt_table`, have a separate recording.

A row contains all spellings with these modifiers and types. A modifier in parentheses is optional; of several separated
by a bar, one is written.

| instruction | modifiers | types | cases | from | equal results |
| --- | --- | --- | ---: | --- | ---: |
"""


def tables() -> str:
    """Write the part below the marker."""
    arrays, metadata = load_arrays(RECORDING)
    date = json.loads((RECORDING.parent / "sources.json").read_text())[RECORDING.name]["date"]
    known = dict(zip(arrays["names"].tolist(), zip(arrays["digests"], arrays["unequal"], strict=True), strict=True))
    cases = list(scalar_cases())
    equal = {case.name: _equal(case, *known[case.name]) for case in cases}
    about = {x: metadata[x] for x in ("gpu", "driver", "ptxas")}
    text = _SUMMARY.format(
        forms=len({case.entry.opcode for case in cases}), cases=len(cases), count=COUNT,
        cvt=sum("sm_90" in form.archs for form in CVT_FORMS.values()),
        equal=sum(equal.values()), total=len(cases) * COUNT, date=date, **about,
    )  # fmt: skip
    return text + "\n".join(_rows(cases, equal)) + "\n"


def _equal(case: ScalarCase, known: np.uint64, unequal: np.uint16) -> int:
    return COUNT if digest(emulated(case)) == known else COUNT - max(int(unequal), 1)


def _rows(cases: list[ScalarCase], equal: dict[str, int]) -> Iterator[str]:
    by_types: dict[tuple[str, str], list[ScalarCase]] = {}
    for case in cases:
        types = ".".join(x for x in case.instruction.modifiers if _is_type(x))
        by_types.setdefault((case.instruction.mnemonic, types), []).append(case)
    rows: dict[tuple[str, str], list[str]] = {}
    for (mnemonic, types), members in by_types.items():
        rows.setdefault((mnemonic, _modifiers(members)), []).append(types)
    for (mnemonic, modifiers), types in sorted(rows.items(), key=lambda x: x[0][0]):
        members = [case for x in types for case in by_types[mnemonic, x]]
        right = sum(equal[x.name] for x in members)
        first = min((x.entry.first for x in members), key=lambda x: int(x.removeprefix("sm_")))
        yield (
            f"| `{mnemonic}` | {modifiers} | {' '.join(f'`{x}`' for x in types)} | {len(members)} | {first} | "
            f"{right:,} of {len(members) * COUNT:,} |"
        )


def _is_type(word: str) -> bool:
    return re.fullmatch(r"pred|(b|u|s|f|bf)\d+(x2)?", word) is not None


def _modifiers(members: list[ScalarCase]) -> str:
    """Return the modifiers: by slot if every combination exists, else as a list."""
    if not any(x for case in members for x in case.entry.words if not _is_type(x)):
        return ""
    spelled = list(dict.fromkeys(tuple(x for x in case.entry.words if not _is_type(x)) for case in members))
    slots = [list(dict.fromkeys(x)) for x in zip(*spelled, strict=True)] if len({len(x) for x in spelled}) == 1 else []
    if slots and prod(len(x) for x in slots) == len(spelled):
        shown = []
        for slot in slots:
            named = r"\|".join(f".{x}" for x in slot if x)
            if named:
                shown.append(f"({named})" if "" in slot else named)
        return f"`{' '.join(shown)}`" if shown else ""
    texts = dict.fromkeys("".join(f".{x}" for x in words if x) for words in spelled)
    return ", ".join(f"`{x}`" if x else "none" for x in texts)


def main() -> None:
    by_hand, _, _ = PAGE.read_text().partition(MARKER)
    PAGE.write_text(by_hand + MARKER + tables())
    print(PAGE)


if __name__ == "__main__":
    main()
