# SPDX-License-Identifier: MIT
"""The instructions and calls without native code, and why: such kernels run on the NumPy machine."""

from typing import NamedTuple


class Refusal(NamedTuple):
    """Instructions without native code: their mnemonics, or the names of functions of the driver, and why."""

    names: tuple[str, ...]
    why: str


REFUSALS = (
    Refusal(("vprintf",), "the text of all threads has one order, and launches that raise a flag must not print twice"),
    Refusal(("malloc", "free"), "findings name the blocks of the device heap, which outlive the launch"),
    Refusal(("mbarrier",), "findings need the course of every mbarrier: its phases, its arrivals and its waits"),
    Refusal(("st.async", "red.async", "cp.async.bulk", "cp.reduce.async.bulk"), "they complete at mbarriers"),
    Refusal(("tensormap", "setmaxnreg"), "they belong to copies that complete at mbarriers"),
    Refusal(("tex", "tld4", "txq", "suld", "sust", "sured", "suq", "istypep"), "the objects are on the host"),
    Refusal(("alloca", "stacksave", "stackrestore"), "a stack in local memory belongs to the NumPy machine"),
    Refusal(("discard",), "memory becomes uninitialised"),
)
"""The reasons, one for each group of names. A page of the documentation has the same list, and a test compares them."""

_WHY = {name: x.why for x in REFUSALS for name in x.names}


def reason_for(name: str, opcode: str = "") -> str:
    """Return the reason for an instruction or a function of the driver without native code.

    Examples
    --------
    >>> reason_for("discard", "discard.global.L2")
    'discard.global.L2 has no native code: memory becomes uninitialised'
    >>> reason_for("other")
    'other has no native code'
    """
    why = _WHY.get(name)
    return f"{opcode or name} has no native code" + (f": {why}" if why else "")
