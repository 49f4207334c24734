# SPDX-License-Identifier: MIT
"""The networks of the examples run on emulated chips, and their script prints where chips part."""

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the tests do not depend on it")

import wmma_emu as we  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")

MODELS = str(Path(__file__).parents[2] / "examples" / "models")


@pytest.fixture
def networks(monkeypatch):
    monkeypatch.syspath_prepend(MODELS)
    import networks

    yield networks
    sys.modules.pop("networks", None)


@pytest.mark.parametrize("name", ["gpt2", "llama", "vit", "resnet18"])
def test_every_product_of_a_network_is_emulated_and_its_output_is_close_to_pytorchs(name, networks):
    model, inputs = networks.made(name, dtype="float16")
    with torch.no_grad():
        expected = model(inputs)
        with we.torch.emulate("h100", like="cublas") as emulation:
            found = model(inputs)
    assert not emulation.log.untouched and {x.arithmetic for x in emulation.log} == {"measured"}
    torch.testing.assert_close(found, expected, rtol=0.02, atol=0.02)


def test_the_script_compares_a_training_step_and_writes_a_page(networks, monkeypatch, tmp_path, capsys):
    import importlib

    script = importlib.import_module("compare_chips")
    found = script.main(["llama", "--chips", "a100,h100", "--train", "--html", str(tmp_path / "page.html")])
    assert "gradient of gate.weight" in {x.layer for x in found.of("h100")} and found.explained["h100"]
    assert "h100: with bits cut and products per step switched to a100's, no bit differs" in capsys.readouterr().out
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count("<svg") == 3
