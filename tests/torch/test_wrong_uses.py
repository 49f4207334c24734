# SPDX-License-Identifier: MIT
"""Every entry of ``wrong_uses.toml`` raises its error, word for word."""

import tomllib
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the tests do not depend on it")

import wmma_emu as we  # noqa: E402

USES = tomllib.loads(Path(__file__).with_name("wrong_uses.toml").read_text(encoding="utf-8"))["use"]


@pytest.mark.parametrize("use", USES, ids=[use["name"] for use in USES])
def test_a_wrong_use_raises_its_error_and_no_emulation_stays_on(use):
    names = {
        "torch": torch, "we": we, "model": torch.nn.Linear(32, 4).half(), "x": torch.ones(4, 32).half(),
        "fp8": torch.ones(16, 32).to(torch.float8_e4m3fn), "one": torch.tensor(1.0),
    }  # fmt: skip
    with pytest.raises(we.WmmaEmuError) as caught:
        exec(compile(use["code"], use["name"], "exec"), names)
    assert (type(caught.value).__name__, str(caught.value)) == (use["error"], use["text"])
    assert not torch.utils._python_dispatch._get_current_dispatch_mode_stack()


def test_there_are_at_least_twenty_and_no_two_have_the_same_code():
    assert len({use["code"] for use in USES}) == len({use["name"] for use in USES}) == len(USES) >= 20
