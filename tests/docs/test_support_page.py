# SPDX-License-Identifier: MIT
"""The page of support has the matrix and the statuses of the tables; that of neighbours says what each has."""

import re
from pathlib import Path

from tools.support_matrix import matrix
from wmma_emu.arithmetic import MODELS

DOCS = Path(__file__).parents[2] / "docs"
SUPPORT = (DOCS / "reference/support.md").read_text(encoding="utf-8")


def test_the_matrix_equals_the_matrix_of_the_tables():
    assert matrix() in SUPPORT


def test_every_status_of_a_model_is_explained():
    explained = set(re.findall(r"^\| `(\w+)` \| \w", SUPPORT, re.MULTILINE))
    assert explained >= {x.status for x in MODELS}


def test_every_neighbour_has_what_this_library_has_not():
    page = (DOCS / "explanation/neighbours.md").read_text(encoding="utf-8")
    lines = [x for x in page.splitlines() if x.startswith("| ") and not x.startswith("| project")]
    rows = [x.strip("| ").split(" | ") for x in lines]
    assert all(len(row) == 3 and all(cell.strip() for cell in row) for row in rows)
    named = {re.match(r"\[?([^\](]+?)[\] ]*(?:[,(]|of|$)", row[0])[1] for row in rows}
    assert named >= {
        "triton-viz", "tinygrad", "ZLUDA", "Accel-Sim", "GPU Ocelot", "compute-sanitizer", "MMA-Sim",
        "MATLAB-tensor-core", "AMD's matrix instruction calculator",
    }  # fmt: skip
