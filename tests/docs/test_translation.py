# SPDX-License-Identifier: MIT
"""The two kernels that the page on translating shows side by side are verbatim copies of the examples."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/translate-a-wmma-kernel.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("language", "example"), [("cpp", "naive_wmma.cu"), ("python", "naive_wmma.py")])
def test_the_page_shows_the_kernel_of_the_example(language, example):
    (shown,) = re.findall(rf"```{language}\n(.*?)\n```", PAGE, re.DOTALL)
    assert all(f"{x}_sync(" in shown for x in ("load_matrix", "mma", "store_matrix"))
    assert f"\n{shown}\n" in (ROOT / "examples" / example).read_text(encoding="utf-8")
