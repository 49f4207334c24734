# SPDX-License-Identifier: MIT
"""Which strategy draws which type of the package, for ``strategies.from_type``."""

from typing import Any

import hypothesis.strategies as st

from wmma_emu.arithmetic import DotModel
from wmma_emu.formats import Format
from wmma_emu.instructions import Arch, Instruction
from wmma_emu.warp import BoundInstruction

__all__ = ["register"]


def _by_name(name: str) -> Any:
    """A strategy without options that is looked up when it is first needed."""

    def strategy(_: type) -> st.SearchStrategy[Any]:
        from wmma_emu.testing import strategies

        found: st.SearchStrategy[Any] = getattr(strategies, name)()
        return found

    return strategy


def register() -> None:
    """Register every type; once more does no harm.

    Examples
    --------
    >>> import wmma_emu as we
    >>> from hypothesis import Phase, find, settings, strategies as st
    >>> anew = settings(database=None, phases=[Phase.generate])
    >>> register()
    >>> print(find(st.from_type(we.Format), lambda fmt: True, settings=anew))
    f64
    """
    for kind, name in (
        (Format, "formats"),
        (Arch, "archs"),
        (Instruction, "instruction_rows"),
        (BoundInstruction, "instructions"),
        (DotModel, "models"),
    ):
        st.register_type_strategy(kind, _by_name(name))
    from wmma_emu.wmma import Fragment

    st.register_type_strategy(Fragment, _by_name("fragments"))
