# SPDX-License-Identifier: MIT
"""The example that trains a small decoder in low precision."""

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the tests do not depend on it")

MODELS = str(Path(__file__).parents[2] / "examples" / "models")


@pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")
def test_the_losses_of_low_precision_follow_those_of_bfloat16(monkeypatch, capsys):
    monkeypatch.syspath_prepend(MODELS)
    import train_low_precision

    found = train_low_precision.main(["te_block", "te_nvfp4", "--steps", "3", "--errors"])
    sys.modules.pop("train_low_precision", None)
    assert list(found) == ["bf16", "te_block", "te_nvfp4"]
    for losses in found.values():
        assert losses == pytest.approx(found["bf16"], abs=0.02) and losses[-1] < losses[0]
    out = capsys.readouterr().out
    assert "Decoder.blocks.1.down  forward" in out and "gradient nvfp4" in out and "Decoder.head" not in out
