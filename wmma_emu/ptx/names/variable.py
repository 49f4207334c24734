# SPDX-License-Identifier: MIT
"""A variable, or what a parameter points to, as its source calls it."""

from dataclasses import dataclass

from wmma_emu.ptx.names.types import Member, Type, part, shape_of

__all__ = ["Variable"]


@dataclass(frozen=True)
class Variable:
    """A variable: its name, and its type where that is known.

    Attributes
    ----------
    name : str
        As in the source; "" for memory that has several variables, which are its ``members``.
    kind : Type or None
        None where nobody knows it. Of a pointer it is an array of unknown size: what it points to.
    is_pointer : bool
        Whether the name is a pointer's, and elements are those that it points to.

    Examples
    --------
    >>> Bs = Variable("Bs", Type("__half", 2).array(2, 32, 72))
    >>> Bs.type, Bs.shape, Bs.element_bytes
    ('__half [2][32][72]', (2, 32, 72), 2)
    >>> Bs.element(128, 2), Bs.element(129, 1), Bs.element(128, 16), Variable("s").element(252, 4)
    ('Bs[0][0][64]', 'Bs[0][0][64] + 1 byte', 'Bs[0][0][64..71]', 's + 252 bytes')
    """

    name: str
    kind: Type | None = None
    is_pointer: bool = False

    @property
    def type(self) -> str:
        """The type as C++ writes it without a name; "" where it is not known."""
        if self.kind is None:
            return ""
        if self.is_pointer and self.kind.element is not None:
            name, bracket, sizes = self.kind.element.name.partition(" [")
            return f"{name} (*)[{sizes}" if bracket else f"{name}*"
        return self.kind.name

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of an array, 0 for one that is not known; () for what is none."""
        return () if self.kind is None else shape_of(self.kind)[0]

    @property
    def element_bytes(self) -> int:
        """Bytes of an element; 0 where its type is not known."""
        return 0 if self.kind is None else shape_of(self.kind)[1].bytes

    @property
    def members(self) -> tuple[Member, ...]:
        """Members of a class, or of the class that the elements are of."""
        return () if self.kind is None else shape_of(self.kind)[1].members

    def element(self, offset: int, size: int = 1) -> str:
        """Name the element, or the member, that ``size`` bytes from ``offset`` on are.

        Of an array the index goes on behind its end, and before its beginning: that is the address meant.
        """
        return part(self.name, self.kind or Type("", 1), offset, size)
