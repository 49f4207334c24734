# SPDX-License-Identifier: MIT
"""docs/how-to/compare-two-kernels.md: the test of a Triton product, marked file: NAME, passes."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/compare-two-kernels.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)```", PAGE, re.DOTALL))


@pytest.mark.thorough
def test_a_triton_product_equals_gemm(pytester, monkeypatch):
    pytest.importorskip("triton", reason="Triton is not installed")
    pytester.makepyfile(**{"test_product": FILES["test_product.py"]})
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.runpytest_subprocess("-q", "-W", "ignore", "test_product.py").assert_outcomes(passed=1)
