# SPDX-License-Identifier: MIT
"""Bodies of native functions: numbers with operators, memory, branches and loops, and functions that rows share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from wmma_emu.ptx.native.rows import FUNCTION, LONG, POINTER, WORD

BIT, BYTE = ir.IntType(1), ir.IntType(8)


class Bits:
    """A scalar or a vector of bits, as unsigned numbers, or a pointer; operators write instructions.

    An operand that is a Python number gets the type of the other operand.

    Examples
    --------
    >>> body = Body(ir.Function(ir.Module(), ir.FunctionType(WORD, [WORD]), "f"))
    >>> body.give(body.arguments[0] * 2 + 1 >> 3)
    >>> [line.split(" = ")[-1].split(" ")[0] for line in map(str, body.builder.block.instructions)]
    ['mul', 'add', 'lshr', 'ret']
    """

    __slots__ = ("body", "value")

    def __init__(self, body: Body, value: ir.Value) -> None:
        self.body, self.value = body, value

    @property
    def type(self) -> Any:
        """The type: an integer, a vector of integers, or a pointer."""
        return self.value.type

    def _other(self, other: Bits | int) -> ir.Value:
        return other.value if isinstance(other, Bits) else constant_of(self.type, other)

    def _write(self, name: str, other: Bits | int) -> Bits:
        return Bits(self.body, getattr(self.body.builder, name)(self.value, self._other(other)))

    def __add__(self, other: Bits | int) -> Bits:
        return self._write("add", other)

    def __sub__(self, other: Bits | int) -> Bits:
        return self._write("sub", other)

    def __mul__(self, other: Bits | int) -> Bits:
        return self._write("mul", other)

    def __and__(self, other: Bits | int) -> Bits:
        return self._write("and_", other)

    def __or__(self, other: Bits | int) -> Bits:
        return self._write("or_", other)

    def __xor__(self, other: Bits | int) -> Bits:
        return self._write("xor", other)

    def __lshift__(self, other: Bits | int) -> Bits:
        return self._write("shl", other)

    def __rshift__(self, other: Bits | int) -> Bits:
        return self._write("lshr", other)

    def __neg__(self) -> Bits:
        return Bits(self.body, self.body.builder.neg(self.value))

    def __invert__(self) -> Bits:
        return Bits(self.body, self.body.builder.not_(self.value))

    def _compare(self, how: str, other: Bits | int, *, signed: bool = False) -> Bits:
        write = self.body.builder.icmp_signed if signed else self.body.builder.icmp_unsigned
        return Bits(self.body, write(how, self.value, self._other(other)))

    def __lt__(self, other: Bits | int) -> Bits:
        return self._compare("<", other)

    def __le__(self, other: Bits | int) -> Bits:
        return self._compare("<=", other)

    def __gt__(self, other: Bits | int) -> Bits:
        return self._compare(">", other)

    def __ge__(self, other: Bits | int) -> Bits:
        return self._compare(">=", other)

    def equals(self, other: Bits | int) -> Bits:
        """Return whether the numbers are equal."""
        return self._compare("==", other)

    def differs(self, other: Bits | int) -> Bits:
        """Return whether the numbers differ."""
        return self._compare("!=", other)

    def less_signed(self, other: Bits | int) -> Bits:
        """Return whether a number is less, both as signed numbers."""
        return self._compare("<", other, signed=True)

    def chosen(self, true: Bits, false: Bits | int) -> Bits:
        """Return one value where this truth value is true, another elsewhere."""
        return Bits(self.body, self.body.builder.select(self.value, true.value, true._other(false)))

    def cast(self, bits: int, *, signed: bool = False) -> Bits:
        """Extend numbers with zeros, or with their signs, or keep their low bits."""
        old = self.type.element if isinstance(self.type, ir.VectorType) else self.type
        if bits == old.width:
            return self
        write = (
            self.body.builder.trunc if bits < old.width else getattr(self.body.builder, "sext" if signed else "zext")
        )
        kind = ir.IntType(bits)
        return Bits(
            self.body,
            write(self.value, ir.VectorType(kind, self.type.count) if isinstance(self.type, ir.VectorType) else kind),
        )

    def as_type(self, kind: Any) -> Bits:
        """Reinterpret the bits."""
        return self if kind == self.type else Bits(self.body, self.body.builder.bitcast(self.value, kind))

    def at(self, offset: Bits | int) -> Bits:
        """Return the pointer to a byte at an offset from this pointer."""
        index = offset.value if isinstance(offset, Bits) else ir.Constant(LONG, offset)
        return Bits(self.body, self.body.builder.gep(self.value, [index], source_etype=BYTE))

    def load(self, kind: Any, alignment: int = 1) -> Bits:
        """Load a value from this pointer."""
        return Bits(self.body, self.body.builder.load(self.value, align=alignment, typ=kind))

    def store(self, value: Bits, alignment: int = 1) -> None:
        """Store a value at this pointer."""
        self.body.builder.store(value.value, self.value, align=alignment)

    def repeated(self, count: int) -> Bits:
        """Return a vector with this value in each element."""
        kind = ir.VectorType(self.type, count)
        builder = self.body.builder
        one = builder.insert_element(ir.Constant(kind, ir.Undefined), self.value, ir.Constant(WORD, 0))
        zeros = ir.Constant(ir.VectorType(WORD, count), [0] * count)
        return Bits(self.body, builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), zeros))

    def any(self) -> Bits:
        """Return whether any truth value of a vector is true."""
        if not isinstance(self.type, ir.VectorType):
            return self
        return self.as_type(ir.IntType(self.type.count)).differs(0)


def constant_of(kind: Any, number: int | Sequence[int]) -> ir.Constant:
    """Return a constant; one number is repeated in a vector."""
    if not isinstance(kind, ir.VectorType):
        return ir.Constant(kind, number)
    numbers = [number] * kind.count if isinstance(number, int) else list(number)
    return ir.Constant(kind, [ir.Constant(kind.element, x) for x in numbers])


def _short(kind: Any) -> str:
    """Return the name of a type in the name of an intrinsic function."""
    return f"v{kind.count}i{kind.element.width}" if isinstance(kind, ir.VectorType) else f"i{kind.width}"


class Body:
    """The body of a native function, which is written from its first instruction to its last."""

    def __init__(self, function: ir.Function) -> None:
        self.function, self.module = function, function.module
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self.arguments = [Bits(self, x) for x in function.args]

    def constant(self, kind: Any, number: int | Sequence[int]) -> Bits:
        """Return a constant."""
        return Bits(self, constant_of(kind, number))

    @property
    def null(self) -> Bits:
        """The pointer to nothing."""
        return Bits(self, ir.Constant(POINTER, None))

    def variable(self, kind: Any, count: int = 1, alignment: int = 8) -> Bits:
        """Return a pointer to a local variable."""
        with self.builder.goto_entry_block():
            found = self.builder.alloca(kind, count)
            found.align = alignment
        found.type = POINTER  # an untyped pointer, as all pointers are
        return Bits(self, found)

    def give(self, value: Bits | None = None) -> None:
        """Return from the function."""
        if value is None:
            self.builder.ret_void()
        else:
            self.builder.ret(value.value)

    @contextmanager
    def when(self, condition: Bits, *, likely: bool | None = None) -> Iterator[None]:
        """Write instructions that execute only if a condition holds."""
        with self.builder.if_then(condition.value, likely=likely):
            yield

    @contextmanager
    def either(self, condition: Bits) -> Iterator[tuple[Any, Any]]:
        """Yield the contexts of the instructions for the two values of a condition."""
        with self.builder.if_else(condition.value) as both:
            yield both

    @contextmanager
    def repeat(self, count: Bits | int) -> Iterator[Bits]:
        """Write a loop, and yield its index, 64 bits."""
        end = count if isinstance(count, Bits) else self.constant(LONG, count)
        before = self.builder.block
        head, inside, behind = (self.function.append_basic_block(x) for x in ("head", "inside", "behind"))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        index = self.builder.phi(LONG)
        index.add_incoming(ir.Constant(LONG, 0), before)
        at = Bits(self, index)
        self.builder.cbranch((at < end).value, inside, behind)
        self.builder.position_at_end(inside)
        yield at
        index.add_incoming((at + 1).value, self.builder.block)
        self.builder.branch(head)
        self.builder.position_at_end(behind)

    @contextmanager
    def lanes(self, mask: Bits) -> Iterator[Bits]:
        """Write a loop over the lanes of a mask, the lowest first, and give the lane, 64 bits."""
        before = self.builder.block
        head, inside, behind = (self.function.append_basic_block(x) for x in ("head", "inside", "behind"))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        left = self.builder.phi(WORD)
        left.add_incoming(mask.value, before)
        rest = Bits(self, left)
        self.builder.cbranch(rest.differs(0).value, inside, behind)
        self.builder.position_at_end(inside)
        yield self.intrinsic("llvm.cttz", rest, self.constant(BIT, 1)).cast(64)
        left.add_incoming((rest & (rest - 1)).value, self.builder.block)
        self.builder.branch(head)
        self.builder.position_at_end(behind)

    @contextmanager
    def loop(self) -> Iterator[Loop]:
        """Write a loop that repeats until it is left."""
        made = Loop(self)
        self.builder.branch(made.head)
        self.builder.position_at_end(made.head)
        yield made
        if not self.builder.block.is_terminated:
            self.builder.branch(made.head)
        self.builder.position_at_end(made.end)
        if not made.is_left:
            self.builder.unreachable()

    def intrinsic(self, name: str, *arguments: Bits, returns: Any = None) -> Bits:
        """Call an intrinsic function that is overloaded by the type of its first argument."""
        kinds = [x.type for x in arguments]
        full = f"{name}.{_short(kinds[0])}"
        kind = ir.FunctionType(kinds[0] if returns is None else returns, kinds)
        function = self.module.globals.get(full) or ir.Function(self.module, kind, full)
        return Bits(self, self.builder.call(function, [x.value for x in arguments]))

    def copy(self, target: Bits, source: Bits, size: Bits | int) -> None:
        """Copy bytes that do not overlap."""
        count = size if isinstance(size, Bits) else self.constant(LONG, size)
        kinds = [POINTER, POINTER, LONG, BIT]
        function = self.module.globals.get("llvm.memcpy.p0.p0.i64") or ir.Function(
            self.module, ir.FunctionType(ir.VoidType(), kinds), "llvm.memcpy.p0.p0.i64"
        )
        self.builder.call(function, [target.value, source.value, count.value, ir.Constant(BIT, 0)])

    def fill(self, target: Bits, byte: int, size: Bits) -> None:
        """Set bytes to a value."""
        kinds = [POINTER, BYTE, LONG, BIT]
        function = self.module.globals.get("llvm.memset.p0.i64") or ir.Function(
            self.module, ir.FunctionType(ir.VoidType(), kinds), "llvm.memset.p0.i64"
        )
        self.builder.call(function, [target.value, ir.Constant(BYTE, byte), size.value, ir.Constant(BIT, 0)])


class Loop:
    """A loop of a body."""

    def __init__(self, body: Body) -> None:
        self._body, self.is_left = body, False
        self.head, self.end = (body.function.append_basic_block(x) for x in ("head", "end"))

    def leave_unless(self, condition: Bits) -> None:
        """Write a branch that leaves the loop if a condition does not hold."""
        self.is_left = True
        following = self._body.function.append_basic_block("following")
        self._body.builder.cbranch(condition.value, following, self.end)
        self._body.builder.position_at_end(following)

    def restart(self) -> None:
        """Write a branch to the next repetition."""
        self._body.builder.branch(self.head)


class InternalFunction:
    """A function that is written once in each module that calls it; decorate the function that writes its body.

    The decorated function takes the body, the arguments, and constants by name, and returns the result or None. A
    call in another body writes a call instruction.

    Examples
    --------
    >>> @internal(WORD, WORD, inline=True)
    ... def twice_plus(body, x, *, more):
    ...     return x + x + more
    >>> body = Body(ir.Function(ir.Module(), ir.FunctionType(WORD, [WORD]), "f"))
    >>> body.give(twice_plus(body, body.arguments[0], more=7))
    >>> [x.name for x in body.module.functions]
    ['f', 'body.twice_plus.7']
    """

    def __init__(self, write: Callable[..., Any], returns: Any, parameters: Sequence[Any], attributes: str) -> None:
        self._write, self._returns, self._parameters, self._attributes = write, returns, parameters, attributes
        self.__doc__ = write.__doc__

    def define(self, module: ir.Module, **constants: Any) -> ir.Function:
        """Return the function in a module, which is written now if the module does not have it."""
        where = self._write.__module__.rpartition(".")[2]
        name = ".".join((where, self._write.__name__, *(str(constants[x]) for x in sorted(constants))))
        found = module.globals.get(name)
        if found is not None:
            return found
        function = ir.Function(module, ir.FunctionType(self._returns, self._parameters), name)
        function.linkage = "internal"
        if self._attributes:
            function.attributes.add(self._attributes)
        body = Body(function)
        result = self._write(body, *body.arguments, **constants)
        if not body.builder.block.is_terminated:
            body.give(result)
        return function

    def __call__(self, body: Body, *arguments: Bits, **constants: Any) -> Bits:
        """Write a call."""
        function = self.define(body.module, **constants)
        return Bits(body, body.builder.call(function, [x.value for x in arguments]))


def internal(
    returns: Any, *parameters: Any, inline: bool = False, cold: bool = False
) -> Callable[..., InternalFunction]:
    """Make an internal function with these types, see `InternalFunction`."""
    attributes = "alwaysinline" if inline else "cold" if cold else ""
    return lambda write: InternalFunction(write, returns, parameters, attributes)


def native(name: str, module: ir.Module, write: Callable[..., None]) -> ir.Function:
    """Add a native function, whose body ``write(body, context, warp, record, mask)`` writes, to a module."""
    function = ir.Function(module, FUNCTION, name)
    for argument in function.args[:3]:
        argument.attributes.add("noalias")
    body = Body(function)
    write(body, *body.arguments)
    body.give()
    return function
