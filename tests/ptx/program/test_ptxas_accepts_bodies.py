# SPDX-License-Identifier: MIT
"""The PTX in the tests of vectors, sums and state spaces is legal: ptxas accepts every body as a kernel."""

import shutil
import subprocess

import pytest

from tests.ptx.program import test_sums as sums
from tests.ptx.program import test_vector_registers as vectors
from tests.ptx.steps import test_own_spaces as spaces
from tests.ptx.texts_of_kernels import HEADER, text_of


def bodies(test):
    (rows,) = (x.args[1] for x in test.pytestmark if x.name == "parametrize")
    return [x if isinstance(x, str) else x[0] for x in rows]


VECTORS = bodies(vectors.test_a_vector_behaves_as_its_elements)
GROUPS = {
    "sums": ("", sums.GIVEN, bodies(sums.test_the_number_is_added_in_the_width_of_the_register)),
    "vectors": ("", vectors.REGISTERS, [x for x in VECTORS if "call" not in x]),
    "calls": (vectors.FUNCTIONS, vectors.REGISTERS, [x for x in VECTORS if "call" in x]),
    "spaces": (spaces.VARIABLES, spaces.OWN, bodies(spaces.test_a_variable_is_accessed_in_its_own_state_space)),
}


@pytest.mark.parametrize("name", GROUPS)
def test_ptxas_accepts_every_body(name, tmp_path):
    if shutil.which("ptxas") is None:
        pytest.skip("needs ptxas of the CUDA toolkit")
    before, first, rows = GROUPS[name]
    kernels = [text_of(first + body + "ret;")[len(HEADER) :].replace(" k(", f" k{i}(") for i, body in enumerate(rows)]
    text = HEADER.replace("sm_80", "sm_90") + before + "".join(kernels)
    (tmp_path / "x.ptx").write_text(text)
    command = ["ptxas", "-arch=sm_90", str(tmp_path / "x.ptx"), "-o", str(tmp_path / "x.cubin")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode < 0 or "Internal compiler error" in run.stderr:
        pytest.skip("this ptxas crashes on the source instead of refusing it")
    assert run.returncode == 0, run.stderr
