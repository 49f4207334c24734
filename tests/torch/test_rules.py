# SPDX-License-Identifier: MIT
"""Rules of the emulation of PyTorch's products: a clear error without PyTorch, and options that are checked at once."""

import sys

import pytest

import wmma_emu as we
from wmma_emu.errors import MissingModuleError


def test_without_pytorch_the_package_is_imported_and_its_first_use_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in [x for x in sys.modules if x.startswith("wmma_emu.torch.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(vars(we.torch), "emulate", raising=False)
    with pytest.raises(MissingModuleError, match=r"wmma_emu.torch.emulate needs PyTorch.*pip install torch"):
        we.torch.emulate("a100")


def test_the_names_of_the_package_are_listed_without_importing_pytorch():
    assert {"emulate", "OPERATIONS", "UNTOUCHED"} <= set(dir(we.torch))
