# SPDX-License-Identifier: MIT
"""The source names of a kernel's variables and parameters, from all available information."""

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
    """The variables of PTX source, read when first needed.

    Parameters
    ----------
    text : str
        The PTX source.
    debug_text : function
        Returns the PTX of the same source compiled with debug information; "" if it is not available.
    """

    def __init__(self, text: str, debug_text: Callable[[], str] = str) -> None:
        self._text, self._debug_text = text, debug_text
        self.kernels: dict[str, VariableNames] = {}

    @cached_property
    def tree(self) -> ModuleText | None:
        """The syntax tree; None if the text is not PTX."""
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
        """Yield the debug information of the PTX source itself, then that of its source compiled again.

        Local memory is laid out differently by each compilation, so for it only the first is used.
        """
        yield self._of_text
        if space != "local":
            yield self._of_source

    @cached_property
    def variables(self) -> dict[str, list[VariableText]]:
        """The variables, without registers, by the function that declares them; "" for module variables."""
        if self.tree is None:
            return {}
        bodies = {x.name: x.body for x in self.tree.functions if x.body is not None}
        found = {name: [x for x in declarations(body) if x.space != "reg"] for name, body in bodies.items()}
        return {"": list(self.tree.variables), **found}


class VariableNames:
    """The source names of a kernel's variables.

    Parameters
    ----------
    module : ModuleNames
    kernel : str
        Its name in the PTX source.
    functions : sequence of str
        The functions that the kernel calls.
    parameters : sequence of Variable
        The parameters as known without debug information; "" for an unknown name.

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
        """Return the variable of a symbol in "shared", "global", "const" or "local" memory; None if not declared.

        A variable of unknown type names positions in bytes.
        """
        key = space, symbol
        if key not in self._known:
            self._known[key] = self._found(space, symbol)
        return self._known[key]

    def parameter(self, index: int) -> Variable | None:
        """Return a parameter, counted from 0, with its pointee if it is a pointer; None if it does not exist.

        A parameter without a known name is called "argument 0".
        """
        parameters = self._parameters
        if not 0 <= index < len(parameters):
            return None
        found = parameters[index]
        return found if found.name else replace(found, name=f"argument {index}")

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of the parameters, "" for an unknown name."""
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
            # The local memory of a function, which contains several variables, may be larger than their sum.
            if (
                found is not None
                and found.kind is not None
                and all(found.kind.bytes == size if found.name else found.kind.bytes <= size for size in sizes)
            ):
                return found
        kinds = {declared_type(x) for x in declared}
        return Variable(plain_symbol(symbol), kinds.pop() if len(kinds) == 1 else None)

    def _declared(self, space: str, symbol: str) -> list[VariableText]:
        """Return the declarations of a variable: in the functions, else in the module."""
        for names in (self._functions, [""]):
            inner = [y for x in names for y in self._module.variables.get(x, ())]
            if found := [x for x in inner if x.name == symbol and x.space == space]:
                return found
        return []
