# SPDX-License-Identifier: MIT
"""The tools for torch.compile: PyTorch's tests as cases, and a GPT whose launches are bundles."""

import pytest

from tools import inductor_gpt, inductor_programs, launch_bundles

TESTS = """
import unittest
import torch
from torch import nn
from torch._inductor import lowering, no_such_name
from no_such_module import skipped

class CommonTemplate:
    @unittest.skip("not here")
    def test_sine(self):
        self.common(lambda x: x.sin(), (torch.randn(8),))
        skipped

    def test_add_one(self):
        self.common(lambda x: x.add_(1), (torch.randn(1024),))
"""


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_a_test_of_pytorch_runs_forward_and_backward_also_if_it_is_skipped(tmp_path, monkeypatch):
    for library in ("torch", "triton"):
        pytest.importorskip(library)
    for variable in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"):
        monkeypatch.setenv(variable, str(tmp_path))
    file = tmp_path / "tests.py"
    file.write_text(TESTS)
    (sine,) = inductor_programs.run(file, "test_sine", "h100", bundles=tmp_path / "bundles")
    assert sine.startswith("| sine | 1 forward, 1 backward | 2 | 0 | ")
    (add,) = inductor_programs.run(file, "test_add", "h100")
    assert add.startswith("| add | 1 forward, 0 backward | 1 | 0 | ")
    assert len(list((tmp_path / "bundles").iterdir())) == 2
    assert all(float(x.split("|")[8]) < 1e-6 for x in (sine, add))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_launch_of_the_gpt_is_a_bundle_that_the_emulator_repeats(tmp_path, monkeypatch, capsys):
    for library in ("torch", "triton"):
        pytest.importorskip(library)
    for variable in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / "caches"))
    assert inductor_gpt.emulate(tmp_path / "bundles", "h100", "float16", layers=1) == 0
    said = capsys.readouterr().out
    launches = int(said.split(" launches of ")[0].split()[-1])
    assert len(list((tmp_path / "bundles").iterdir())) == launches
    assert "ATen fallback" not in said
    assert launch_bundles.main(["emulate", str(tmp_path / "bundles")]) == 0
