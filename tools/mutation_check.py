# SPDX-License-Identifier: MIT
"""Does a test with the kit's default settings see a model with one wrong parameter? Twenty such models, many runs.

python -m tools.mutation_check [--runs 20] [--examples 200] [--only NAME] [--report FILE] [--processes 2]

A run is a test like a user's: a Hypothesis test over ``strategies.operands(ins)`` that compares bits. Each has another
seed of Hypothesis, and no database.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis
import ml_dtypes
import numpy as np
from hypothesis import Phase, given, seed, settings

import wmma_emu as we
from wmma_emu.errors import UnverifiedModelWarning
from wmma_emu.testing import assert_bits_equal, generators, strategies

RUNS, EXAMPLES = 20, 200


@dataclass(frozen=True)
class Mutant:
    """An entry of the table of models with one parameter changed.

    Parameters
    ----------
    mnemonic, arch : str
        An instruction that uses the model.
    parameter : str
    value : object
        What the parameter becomes.
    """

    mnemonic: str
    arch: str
    parameter: str
    value: Any

    @property
    def name(self) -> str:
        return f"{self.mnemonic} on {self.arch}: {self.change}"

    @property
    def change(self) -> str:
        return f"{self.parameter} {getattr(self.bind().model, self.parameter) or 'none'} -> {self.value or 'none'}"

    def bind(self) -> we.BoundInstruction:
        """Return the instruction as the chip executes it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnverifiedModelWarning)
            return we.instruction(self.mnemonic, arch=self.arch)

    def mutate(self) -> we.BoundInstruction:
        """Return the instruction with the altered model."""
        ins = self.bind()
        return ins.with_model(replace(ins.model, **{self.parameter: self.value}))


MUTANTS = (
    Mutant("m16n8k16.f32.f16.f16.f32", "sm_90", "fraction_bits", 24),
    Mutant("m16n8k16.f32.f16.f16.f32", "sm_80", "fraction_bits", 25),
    Mutant("m16n8k16.f32.bf16.bf16.f32", "sm_90", "fraction_bits", 26),
    Mutant("m16n8k32.f32.e5m2.e4m3.f32", "sm_89", "fraction_bits", 14),
    Mutant("m16n8k32.f16.e4m3.e5m2.f16", "sm_90", "fraction_bits", 26),
    Mutant("m16n8k8.f32.tf32.tf32.f32", "sm_90", "min_exponent", -134),
    Mutant("m16n8k16.f32.bf16.bf16.f32", "sm_80", "min_exponent", -131),
    Mutant("wmma.mma.m16n16k16.f16.f16", "sm_70", "min_exponent", -20),
    Mutant("wgmma.m64n8k32.f16.e5m2.e5m2", "sm_90", "min_exponent", -18),
    Mutant("wgmma.m64n8k32.f32.e4m3.e4m3", "sm_90", "output", "f32"),
    Mutant("m16n8k32.f32.e4m3.e5m2.f32", "sm_90", "k_order", "ascending"),
    Mutant("m16n8k32.f16.e4m3.e5m2.f16", "sm_90", "operand_format", ""),
    Mutant("m16n8k32.f32.e4m3.e4m3.f32", "sm_90", "c_joins", "first_step"),
    Mutant("m16n8k32.f32.e5m2.e5m2.f32", "sm_90", "partial_sums", "added"),
    Mutant("m16n8k16.f16.f16.f16.f16", "sm_90", "rounding", "RZ"),
    Mutant("m16n8k8.f32.tf32.tf32.f32", "sm_80", "rounding", "RNE"),
    Mutant("m16n8k8.f32.f16.f16.f32", "sm_75", "terms_per_step", 4),
    Mutant("mma.sp.m16n8k32.f32.bf16.bf16.f32", "sm_90", "terms_per_step", 8),
    Mutant("m16n8k8.f64.f64.f64.f64", "sm_90", "c_joins", "last_add"),
    Mutant("m8n8k4.f16.f16.f16.f16", "sm_90", "terms_per_step", 4),
)
"""Every parameter of the models, on rows of eight chips' generations, formats from FP8 to f64, dense and sparse."""


def examples_until_caught(mutant: Mutant, run: int, examples: int = EXAMPLES) -> int | None:
    """Return the number of examples that one run needs; None if it does not see the mutant."""
    ins, mutated = mutant.bind(), mutant.mutate()
    tried = 0
    caught: int | None = None

    @seed(run)
    @settings(max_examples=examples, database=None, deadline=None, phases=[Phase.generate])
    @given(strategies.operands(ins))
    def both_give_the_same_bits(operands):
        nonlocal tried, caught
        tried += 1
        try:
            assert_bits_equal(mutated(*operands), ins(*operands))
        except AssertionError:
            caught = caught or tried
            raise

    try:
        both_give_the_same_bits()
    except AssertionError:
        return caught
    return None


def engines_compared(mutant: Mutant) -> int:
    """Check that the fast and the reference engine agree on matrices of all families; return the number of elements."""
    mutated, count = mutant.mutate(), 0
    for _, _, A, B, C in generators.matrices(mutated):
        fast = mutated(A, B, C)
        assert_bits_equal(fast[:8, :8], mutated(A, B, C, engine="reference")[:8, :8])
        count += fast[:8, :8].size
    return count


def check(mutant: Mutant, runs: int = RUNS, examples: int = EXAMPLES) -> dict[str, Any]:
    """Return the row of the report about one mutant."""
    needed = [examples_until_caught(mutant, run, examples) for run in range(runs)]
    seen = [count for count in needed if count is not None]
    return {
        "instruction": mutant.mnemonic,
        "arch": mutant.arch,
        "change": mutant.change,
        "runs": runs,
        "caught": len(seen),
        "median_examples": statistics.median(seen) if seen else None,
        "most_examples": max(seen, default=None),
        "examples": needed,
        "elements_equal_to_the_reference_engine": engines_compared(mutant),
    }


def report_of(rows: list[dict[str, Any]], examples: int) -> dict[str, Any]:
    """Return everything that the report says."""
    return {
        "what": "tools/mutation_check.py: runs of a Hypothesis test over strategies.operands(ins) that see the mutant",
        "date": datetime.date.today().isoformat(),
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "ml_dtypes": ml_dtypes.__version__,
        "hypothesis": hypothesis.__version__,
        "wmma_emu": we.__version__,
        "families": generators.VERSION,
        "settings": {"max_examples": examples, "database": None, "seeds": "0 to runs - 1"},
        "mutants": rows,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as Markdown."""
    lines = ["| instruction | chip | changed parameter | runs that find it | examples needed: median, maximum |"]
    lines.append("|---|---|---|--:|--:|")
    for row in rows:
        count = f"{row['caught']} of {row['runs']}"
        needed = f"{row['median_examples']:g}, {row['most_examples']}" if row["caught"] else ""
        lines.append(f"| `{row['instruction']}` | {row['arch']} | {row['change']} | {count} | {needed} |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Check all mutants; the exit status is 1 if one escapes more than one run in twenty."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--examples", type=int, default=EXAMPLES)
    parser.add_argument("--only", default="", help="mutants whose name has this in it")
    parser.add_argument("--report", type=Path, help="a JSON file")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    chosen = [mutant for mutant in MUTANTS if options.only in mutant.name]
    if not chosen:
        parser.error(f"no mutant has {options.only!r} in its name; they are " + "; ".join(x.name for x in MUTANTS))
    with ProcessPoolExecutor(options.processes) as pool:
        rows = list(pool.map(partial(check, runs=options.runs, examples=options.examples), chosen))
    print(table(rows))
    if options.report is not None:
        text = json.dumps(report_of(rows, options.examples), indent=1)
        options.report.write_text(text + "\n", encoding="utf-8")
    return int(any(20 * row["caught"] < 19 * row["runs"] for row in rows))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
