# SPDX-License-Identifier: MIT
"""Related formulas in one object: as lines, as C and Python functions, as tables of bits."""

from wmma_emu.layouts.formula_text import Formula, bit_table, c_source, python_source


class FormulaSet:
    """Several related formulas; subclasses provide the formulas, a title and closing remarks."""

    def __str__(self) -> str:
        return "\n".join(f"{name} = {text}" for name, text in self.one_line().items())

    def one_line(self) -> dict[str, str]:
        """Return every formula as a C expression.

        Examples
        --------
        >>> from wmma_emu.instructions import lookup
        >>> from wmma_emu.layouts import layout_for
        >>> a = layout_for(lookup("mma.m16n8k32.s32.s8.s8.s32"), "a", "sm_80").formulas.one_line()
        >>> a["row"], a["col"]
        ('lane / 4 + 8 * (index / 4 % 2)', 'lane % 4 * 4 + index % 4 + index / 8 * 16')
        >>> a["register"], a["bit"]
        ('index / 4', 'index % 4 * 8')
        """
        return {formula.name: formula.expression() for formula in self._formulas()}

    def c(self, name: str = "A", *, source: bool = True) -> str:
        """Return C99 functions that are also valid CUDA C++, for host and device.

        Parameters
        ----------
        name : str
            The prefix of the functions' names.
        source : bool
            Whether to add a comment with the evidence for the layout, which differs between chips that share it.

        Raises
        ------
        UnsupportedInstructionError
            If the name is not a legal prefix of a function's name.

        Examples
        --------
        >>> from wmma_emu.layouts import fragment_layout
        >>> text = fragment_layout("accumulator", 16, 16, 16, "f32", None, "sm_90").formulas.c("acc")
        >>> print(*(line for line in text.splitlines() if "acc_lane" in line))
        LAYOUT_FUNCTION int acc_lane(int row, int col) { return row % 8 * 4 + col % 8 / 2; }
        """
        return c_source(name, self._title(name)[: None if source else -1], self._formulas())

    def python(self, name: str = "A", *, source: bool = True) -> str:
        """Return Python functions of integers or NumPy arrays that broadcast, with the arguments of `c`.

        Raises
        ------
        UnsupportedInstructionError
            If the name is not a legal prefix of a function's name.

        Examples
        --------
        >>> from wmma_emu.layouts import fragment_layout
        >>> found = {}
        >>> exec(fragment_layout("accumulator", 16, 16, 16, "f32", None, "sm_90").formulas.python("acc"), found)
        >>> found["acc_lane"](1, 12), found["acc_index"](1, 12)
        (6, 4)
        """
        return python_source(name, self._title(name)[: None if source else -1], self._formulas())

    def derivation(self) -> str:
        """Show the derivation of the formulas: the bit of the inputs that becomes each bit of the results.

        Examples
        --------
        >>> from wmma_emu.layouts import fragment_layout
        >>> text = fragment_layout("accumulator", 16, 16, 16, "f32", None, "sm_90").formulas.derivation()
        >>> print(*text.splitlines()[2:8], sep=chr(10))
        row = lane / 4 + 8 * (index / 2 % 2)
          bit of row  3        2       1       0
          is bit      index 1  lane 4  lane 3  lane 2
        <BLANKLINE>
        col = lane % 4 * 2 + index % 2 + index / 4 * 8
          bit of col  3        2       1       0
        """
        derived = [bit_table(formula) for formula in self._formulas() if formula.is_derived]
        return "\n\n".join((self._title("")[0], *derived, *self._remarks())) + "\n"

    def _formulas(self) -> tuple[Formula, ...]:
        raise NotImplementedError

    def _title(self, name: str) -> list[str]:
        """Return title lines for the formulas.

        The first line, without a name, heads the derivation; the last line is the source.
        """
        raise NotImplementedError

    def _remarks(self) -> list[str]:
        """Return remarks that the tables of bits do not show."""
        return []
