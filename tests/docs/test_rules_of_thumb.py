# SPDX-License-Identifier: MIT
"""The kernel on the page of formulas agrees with the page; its other blocks are run like the blocks of every page."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from wmma_emu.layouts import fragment_layout

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "rules-of-thumb.md"
COMPILER = shutil.which("gcc") or shutil.which("cc")

WARP = """
#include <math.h>
#include <stdio.h>
int main(void) {{
    for (unsigned thread = 0; thread < 32; thread++) {{
        struct {{ unsigned x; }} threadIdx = {{thread}};
        struct {{ int num_elements; float x[8]; }} c = {{8, {{1, 1, 1, 1, 1, 1, 1, 1}}}};
        {body}
        for (int i = 0; i < 8; i++) printf("%d ", isinf(c.x[i]) ? 0 : 1);
    }}
}}
"""


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
def test_the_kernel_masks_what_is_right_of_the_diagonal(tmp_path):
    (body,) = (block.split("```")[0] for block in PAGE.read_text(encoding="utf-8").split("```cuda\n")[1:])
    source, program = tmp_path / "mask.c", tmp_path / "mask"
    source.write_text(WARP.format(body=body))
    subprocess.run([COMPILER, "-std=c99", str(source), "-o", str(program)], check=True)
    left = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    layout = fragment_layout("accumulator", 16, 16, 16, "f32", None, "sm_90")
    assert np.array_equal(layout.scatter(np.array(left, np.int64).reshape(32, 8).T), np.tri(16))
