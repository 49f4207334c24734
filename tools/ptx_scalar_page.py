# SPDX-License-Identifier: MIT
"""Write the page of lane instructions: what the emulator has, and how it compares with a recording.

python -m tools.ptx_scalar_page
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tools.ptx_scalar_cases import ScalarCase, emulated, scalar_cases
from tools.ptx_scalar_inputs import COUNT
from tools.recordings import digest, load_arrays
from wmma_emu.ptx.steps.widths import width_of
from wmma_emu.scalar.cvt_table import CVT_FORMS

_ROOT = Path(__file__).parents[1]
PAGE = _ROOT / "docs" / "reference" / "ptx-scalars.md"
RECORDING = _ROOT / "tests" / "data" / "sm90_ptx_scalars.npz"

_HEAD = """# Lane instructions of PTX

Each thread computes these by itself. `wmma_emu.ptx` has {forms} spellings of them in the table below, and {cvt} of `cvt`
in `wmma_emu.scalar.cvt_table`; what is in neither is refused, with the nearest spelling that there is. Every one was
run on a GPU, in a kernel of its own, on {count:,} inputs: random bits, special numbers, near ties, cancellation, results at
the smallest normal number and at the largest, boundary integers (`tools/ptx_scalar_inputs.py`). **{equal:,} of
{total:,} results are equal, bit for bit** ({gpu}, driver {driver}, ptxas {ptxas}, {date}). The tests compute all of them
again and compare digests. The {cvt} forms of `cvt` have a recording of their own, `tests/data/sm90_conversions.npz`.

    python -m tools.record_ptx_scalars --out tests/data/sm90_ptx_scalars.npz    # on a machine with a GPU
    python -m tools.ptx_scalar_page                                             # writes this page

## What the manual leaves open, or says otherwise

All measured, as above.

| instruction | what it gives |
| --- | --- |
| `div`, `rem` by zero | all ones, quotient and remainder, in every integer type; the manual leaves it open. The least number by -1 is the least number, with remainder 0 |
| `add`, `mul`, `fma`, `div`, `sqrt`, `min`, `max`, `abs`, `neg` of f32, f16, bf16 | a NaN is the canonical one, 0x7fffffff or 0x7fff, whatever came in; `abs` and `neg` too |
| the same of f64 | the first NaN of b, c, a for `fma`, of b, a for `add`, `sub`, `mul`, of a, b for `div`, made quiet, its sign kept (also by `abs` and `neg`, and as the second operand of `sub`); one that the operation makes is 0xfff8000000000000 |
| `min`, `max` | -0 is below +0; a number beats a NaN without `.NaN`; of two f64 NaN the second one, made quiet |
| `.ftz` | operands below the smallest normal number are zeros of their sign. A result is too, if it is below after it was rounded as if there were smaller normal numbers: f32 2**-126 - 2**-150 becomes zero, although 2**-126 is the nearest number that there is |
| `.sat` | clamps to [+0, 1]; -0 and NaN become +0 |
| `.relu` | makes negative results and -0 +0; a NaN stays, as the canonical one |
| `fma.oob` | the result is +0 where a or b is 0x7ff7 or 0xfff7, in f16 and in bf16, whatever is added; c may be anything |
| `testp.normal` | holds for zero |
| `bfe`, `bfi` of 64 bits | positions and lengths count with all their 32 bits; of 32 bits, as the manual says, with 8 |
| `fns` with the offset -2**31 | 0 |
| `sub.cc`, `subc` | the flag is a carry, set where nothing is borrowed: `addc` behind `sub.cc` adds 1 then |
| `cvt` to s8 or s16 in a wider register | the sign fills the register; to u8 and u16, zeros |

## What is not there

| instruction | why |
| --- | --- |
| `add`, `sub`, `mul`, `fma` of `.f32x2`; with a half added to an f32; `min`, `max` of three | sm_100 and later; no recording |
| `mov` of `.b128` | registers of 128 bits are not modelled |
| `vadd` and the other video instructions, `fma.rz.bf16`, `addc.u16` and a few more spellings | not in the manual, or emulated by the assembler for old programs |

## The table

A row stands for all spellings with these types; a modifier in parentheses may be left out, of words with `|` between them
one is there. The right column counts equal results.

| instruction | modifiers | results | sources | spellings | from | equal |
| --- | --- | --- | --- | ---: | --- | ---: |
"""


def page() -> str:
    """Text of the page."""
    arrays, metadata = load_arrays(RECORDING)
    date = json.loads((RECORDING.parent / "sources.json").read_text())[RECORDING.name]["date"]
    known = dict(zip(arrays["names"].tolist(), zip(arrays["digests"], arrays["unequal"], strict=True), strict=True))
    cases = list(scalar_cases())
    equal = {case.name: _equal(case, *known[case.name]) for case in cases}
    about = {x: metadata[x] for x in ("gpu", "driver", "ptxas")}
    text = _HEAD.format(
        forms=len({case.row.opcode for case in cases}), cvt=len(CVT_FORMS), count=COUNT, equal=sum(equal.values()),
        total=len(cases) * COUNT, date=date, **about,
    )  # fmt: skip
    return text + "\n".join(_rows(cases, equal)) + "\n"


def _equal(case: ScalarCase, known: np.uint64, unequal: np.uint16) -> int:
    return COUNT if digest(emulated(case)) == known else COUNT - max(int(unequal), 1)


def _rows(cases: list[ScalarCase], equal: dict[str, int]) -> Iterator[str]:
    groups: dict[tuple[str, ...], list[ScalarCase]] = {}
    for case in cases:
        form, mnemonic = case.form, case.instruction.mnemonic
        key = mnemonic, *_types(case), ", ".join(form.destinations), ", ".join(form.sources)
        groups.setdefault(key, []).append(case)
    for (mnemonic, _, results, sources), members in groups.items():
        right = sum(equal[x.name] for x in members)
        first = sorted({x.row.first for x in members}, key=lambda x: int(x.removeprefix("sm_")))[0]
        yield (
            f"| `{mnemonic}` | {_modifiers(members)} | {results} | {sources} | {len(members)} | {first} | "
            f"{right:,} of {len(members) * COUNT:,} |"
        )


def _types(case: ScalarCase) -> tuple[str]:
    return (".".join(x for x in case.instruction.modifiers if _is_type(x)),)


def _is_type(word: str) -> bool:
    try:
        return word == "pred" or width_of(word) > 0
    except ValueError:
        return False


def _modifiers(members: list[ScalarCase]) -> str:
    """Say what stands in each slot, over all members: types apart, they have columns of their own."""
    slots: list[list[str]] = []
    for case in members:
        words = list(case.row.words)
        slots += [[] for _ in range(len(words) - len(slots))]
        for slot, word in zip(slots, words, strict=False):
            if word not in slot:
                slot.append(word)
    shown = []
    for slot in slots:
        named = [f".{x}" for x in slot if x]
        if named and not all(_is_type(x.removeprefix(".")) for x in named):
            text = "\\|".join(named)
            shown.append(f"({text})" if "" in slot else text)
    return f"`{' '.join(shown)}`".replace("\\|", "|").replace("|", "\\|") if shown else ""


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page())
    print(PAGE)
