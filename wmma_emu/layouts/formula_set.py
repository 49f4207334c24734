# SPDX-License-Identifier: MIT
"""The formulas of one table together: as lines, as functions in C and Python, as tables of bits."""

from wmma_emu.layouts.formula_text import Formula, bit_table, c_source, python_source


class FormulaSet:
    """Several formulas that belong together. What inherits from it says which, with a title and last remarks."""

    def __str__(self) -> str:
        return "\n".join(f"{name} = {text}" for name, text in self.one_line().items())

    def one_line(self) -> dict[str, str]:
        """Return every formula as an expression in C.

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
        """Return functions in C99 that CUDA C++ takes as well, for host and device.

        Parameters
        ----------
        name : str
            What the functions' names begin with.
        source : bool
            Whether a comment says how the layout is known, which differs between chips that share it.

        Raises
        ------
        UnsupportedInstructionError
            For a name that cannot begin a function's.

        Examples
        --------
        >>> from wmma_emu.layouts import fragment_layout
        >>> text = fragment_layout("accumulator", 16, 16, 16, "f32", None, "sm_90").formulas.c("acc")
        >>> print(*(line for line in text.splitlines() if "acc_lane" in line))
        LAYOUT_FUNCTION int acc_lane(int row, int col) { return row % 8 * 4 + col % 8 / 2; }
        """
        return c_source(name, self._title(name)[: None if source else -1], self._formulas())

    def python(self, name: str = "A", *, source: bool = True) -> str:
        """Return functions in Python, of integers or of NumPy arrays that broadcast; the arguments are those of `c`.

        Raises
        ------
        UnsupportedInstructionError
            For a name that cannot begin a function's.

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
        """Show where the formulas come from: which bit of the inputs is which bit of each result.

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
        """Say in lines what the formulas are of.

        The first line, without a name, heads the derivation; the last one is the source.
        """
        raise NotImplementedError

    def _remarks(self) -> list[str]:
        """Return what the tables of bits leave to say."""
        return []
