# SPDX-License-Identifier: MIT
"""The names that a kernel's source has for its variables and parameters, by whatever tells them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from wmma_emu.errors import PtxSyntaxError
from wmma_emu.ptx.names.debug_info import DebugInfo, read_debug_info, without_hashes
from wmma_emu.ptx.names.symbols import declarations, declared_type, plain_symbol
from wmma_emu.ptx.names.types import Variable
from wmma_emu.ptx.program.sizes import bytes_of
from wmma_emu.ptx.syntax.parser import parse
from wmma_emu.ptx.syntax.tree import ModuleText, VariableText


class ModuleNames:
    """What a text says of its variables, read when somebody asks.

    Parameters
    ----------
    text : str
        PTX.
    debug_text : function
        Makes the PTX of the same source compiled for a debugger; "" where that is not to be had.
    """

    def __init__(self, text: str, debug_text: Callable[[], str] = str) -> None:
        self._text, self._debug_text = text, debug_text
        self.kernels: dict[str, VariableNames] = {}

    @cached_property
    def tree(self) -> ModuleText | None:
        """The text as a tree; None if it is no PTX."""
        try:
            return parse(self._text)
        except PtxSyntaxError:
            return None

    @cached_property
    def _of_text(self) -> DebugInfo:
        return read_debug_info(self._text)

    @cached_property
    def _of_source(self) -> DebugInfo:
        return read_debug_info(self._debug_text())

    def debug(self, space: str = "") -> Iterator[DebugInfo]:
        """Yield the debug information of the text itself, and of its source compiled again if that is asked for.

        Places in local memory are those of one compilation alone.
        """
        yield self._of_text
        if space != "local":
            yield self._of_source

    @cached_property
    def variables(self) -> dict[str, list[VariableText]]:
        """What each function declares, registers left out, by its name; at "" what none does."""
        if self.tree is None:
            return {}
        bodies = {x.name: x.body for x in self.tree.functions if x.body is not None}
        found = {name: [x for x in declarations(body) if x.space != "reg"] for name, body in bodies.items()}
        return {"": list(self.tree.variables), **found}


class VariableNames:
    """The names of a kernel's variables.

    Parameters
    ----------
    module : ModuleNames
    kernel : str
        As the text has it.
    functions : sequence of str
        Those that the kernel calls.
    parameters : sequence of Variable
        What is known of the parameters without debug information; "" where there is no name.

    Examples
    --------
    >>> text = '''.version 8.0 .target sm_80 .visible .entry k(.param .u64 x) {
    ... .shared .f32 s[4][64]; .shared .align 4 .b8 _ZZ1kE4tile[1024]; ret; }'''
    >>> names = VariableNames(ModuleNames(text), "k")
    >>> names.variable("shared", "s").element(508, 4), names.variable("shared", "_ZZ1kE4tile").element(252, 4)
    ('s[1][63]', 'tile + 252 bytes')
    """

    def __init__(
        self, module: ModuleNames, kernel: str, functions: Sequence[str] = (), parameters: Sequence[Variable] = ()
    ) -> None:
        self._module, self._kernel = module, kernel
        self._functions = {kernel, *functions}
        self._plain_parameters = tuple(parameters)
        self._known: dict[tuple[str, str], Variable | None] = {}

    def variable(self, space: str, symbol: str) -> Variable | None:
        """The variable of a symbol in "shared", "global", "const" or "local" memory; None if the text has none.

        A variable of which only the name is known says places in bytes.
        """
        key = space, symbol
        if key not in self._known:
            self._known[key] = self._found(space, symbol)
        return self._known[key]

    def parameter(self, index: int) -> Variable | None:
        """A parameter, counted from 0, and what it points to if it is a pointer; None if there is none.

        One whose name nobody knows is called "argument 0".
        """
        parameters = self._parameters
        if not 0 <= index < len(parameters):
            return None
        found = parameters[index]
        return found if found.name else replace(found, name=f"argument {index}")

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the parameters, "" where one is not known."""
        return tuple(x.name for x in self._parameters)

    @cached_property
    def _parameters(self) -> tuple[Variable, ...]:
        symbol = without_hashes(self._kernel)
        plain = self._plain_parameters
        for info in self._module.debug():
            found = info.parameters.get(symbol, ())
            if len(found) == len(plain) and all(x.name for x in found):
                pairs = zip(found, plain, strict=True)
                return tuple(x if x.kind is not None else replace(y, name=x.name) for x, y in pairs)
        return plain

    def _found(self, space: str, symbol: str) -> Variable | None:
        declared = self._declared(space, symbol)
        if not declared:
            return None
        sizes = {bytes_of(x) for x in declared}
        for info in self._module.debug(space):
            found = info.variable(symbol)
            # A memory of several variables (local memory of a function) may have more than they take.
            if found is not None and found.kind is not None and all(
                found.kind.bytes == size if found.name else found.kind.bytes <= size for size in sizes
            ):
                return found
        kinds = {declared_type(x) for x in declared}
        return Variable(plain_symbol(symbol), kinds.pop() if len(kinds) == 1 else None)

    def _declared(self, space: str, symbol: str) -> list[VariableText]:
        """What declares a variable: the functions, or the module where none of them does."""
        for names in (self._functions, [""]):
            inner = [y for x in names for y in self._module.variables.get(x, ())]
            if found := [x for x in inner if x.name == symbol and x.space == space]:
                return found
        return []
