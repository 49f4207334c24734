# SPDX-License-Identifier: MIT
"""Rules of the emulation of JAX's products: a clear error without JAX."""

import sys

import pytest

import wmma_emu as we
from wmma_emu.errors import MissingModuleError


def test_without_jax_the_package_is_imported_and_its_first_use_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    for name in [x for x in sys.modules if x.startswith("wmma_emu.jax.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(vars(we.jax), "emulate", raising=False)
    with pytest.raises(MissingModuleError, match=r"wmma_emu.jax.emulate needs JAX.*pip install jax"):
        we.jax.emulate("a100")
    assert "emulate" in dir(we.jax)
