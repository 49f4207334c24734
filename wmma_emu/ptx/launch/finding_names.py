# SPDX-License-Identifier: MIT
"""What findings of a launch call memory: variables of the kernel, and arrays by the parameters that take them."""

from collections.abc import Mapping

from wmma_emu.ptx.findings import Location
from wmma_emu.ptx.names import Variable, VariableNames

_SPACES = {"": ("global", "const"), "global": ("global", "const")}
"""Where else a variable may be declared than in the space of an access."""


class LaunchNames:
    """The names of a kernel's variables, and of the arrays of one launch.

    ``arrays`` are the numbers of parameters, by what the launch calls what they are given.
    """

    def __init__(self, names: VariableNames, arrays: Mapping[str, int]) -> None:
        self._names, self._arrays = names, arrays

    def variable(self, space: str, owner: str) -> str:
        """Name a variable, or an array by the parameter that it is given to; "" where neither is known."""
        found = self._found(space, owner)
        return "" if found is None else found.name

    def element(self, location: Location) -> str:
        """Name the element, or the member, that some bytes are."""
        found = self._found(location.space, location.owner)
        return "" if found is None else found.element(location.offset, location.size)

    def elements(self, space: str, owner: str, size: int) -> int:
        """Say how many elements so many bytes of a variable are; 0 where their type is not known."""
        found = self._found(space, owner)
        each = 0 if found is None else found.element_bytes
        return size // each if each and size % each == 0 else 0

    def described(self, space: str, owner: str) -> str:
        """Name an array with what it was given as: "A (argument 0, const half*)"."""
        name = self.variable(space, owner)
        if owner not in self._arrays:
            return name
        number, _, kind = owner.partition(" (")
        kind = kind.partition(")")[0] if kind else ""
        said = ", ".join(x for x in (number.partition(" of ")[0], kind) if x and x != name)
        return f"{name} ({said})" if said else name

    def _found(self, space: str, owner: str) -> Variable | None:
        if not owner:
            return None
        if owner in self._arrays:
            return self._names.parameter(self._arrays[owner])
        found = (self._names.variable(x, owner) for x in _SPACES.get(space, (space,)))
        return next((x for x in found if x is not None), None)
