# SPDX-License-Identifier: MIT
"""A writer of functions in LLVM's intermediate code: memory at byte offsets, variables, loops and conditions."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

POINTER = ir.PointerType()
BIT, BYTE, WORD, LONG = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64)

Value = Any
"""A value of LLVM's intermediate code, or an integer, which takes the type of the other operand."""


class Variable:
    """A variable of a function; LLVM keeps it in a register."""

    def __init__(self, code: "Code", type_: ir.Type) -> None:
        self._code, self._type = code, type_
        with code.build.goto_entry_block():
            self._place = code.build.alloca(type_)

    @property
    def value(self) -> Value:
        """The current value."""
        return self._code.build.load(self._place, typ=self._type)

    def set(self, value: Value) -> None:
        """Assign a value."""
        self._code.build.store(self._code.value(value, self._type), self._place)


class Code:
    """The body of a function, to which instructions are added.

    Examples
    --------
    >>> module = ir.Module()
    >>> code = Code(module, "first", LONG, [POINTER])
    >>> code.give(code.load(code.arguments[0], 8, LONG))
    >>> "getelementptr i8, ptr %\\".1\\", i64 8" in str(module)
    True
    """

    def __init__(
        self, module: ir.Module, name: str, result: ir.Type, arguments: Sequence[ir.Type], *, linkage: str = ""
    ) -> None:
        self.function = ir.Function(module, ir.FunctionType(result, arguments), name)
        self.function.linkage = linkage
        self.arguments = self.function.args
        self.build = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.build.branch(self.function.append_basic_block("body"))
        self.build.position_at_end(self.function.blocks[-1])

    def value(self, value: Value, type_: ir.Type) -> Value:
        """Return a value, or the constant of a type with an integer's value."""
        if not isinstance(value, int):
            return value
        if isinstance(type_, ir.VectorType):
            return ir.Constant(type_, [value] * type_.count)
        return ir.Constant(type_, value)

    def variable(self, type_: ir.Type, value: Value = None) -> Variable:
        """Make a variable, with a value."""
        made = Variable(self, type_)
        if value is not None:
            made.set(value)
        return made

    def at(self, pointer: Value, offset: Value) -> Value:
        """Return a pointer that is some bytes further."""
        return self.build.gep(pointer, [self.value(offset, LONG)], source_etype=BYTE)

    def load(self, pointer: Value, offset: Value, type_: ir.Type, align: int | None = None) -> Value:
        """Load a value at a byte offset."""
        return self.build.load(self.at(pointer, offset), typ=type_, align=align)

    def store(self, pointer: Value, offset: Value, value: Value, type_: ir.Type, align: int | None = None) -> None:
        """Store a value at a byte offset."""
        self.build.store(self.value(value, type_), self.at(pointer, offset), align=align)

    def pointer(self, address: Value) -> Value:
        """Convert an address to a pointer."""
        return self.build.inttoptr(address, POINTER)

    def long(self, value: Value) -> Value:
        """Extend an integer to 64 bits with zeros."""
        return self.build.zext(value, LONG)

    def is_equal(self, a: Value, b: Value) -> Value:
        """Return whether two integers are equal, or the elements of two vectors."""
        return self.build.icmp_unsigned("==", a, self.value(b, a.type))

    def is_below(self, a: Value, b: Value) -> Value:
        """Return whether an integer is less than another one, or each element of a vector, without signs."""
        type_ = b.type if isinstance(a, int) else a.type
        return self.build.icmp_unsigned("<", self.value(a, type_), self.value(b, type_))

    def is_nonzero(self, a: Value) -> Value:
        """Return whether an integer, or each element of a vector, is not zero."""
        return self.build.icmp_unsigned("!=", a, self.value(0, a.type))

    def splat(self, value: Value, count: int) -> Value:
        """Return a vector with the same value in every element."""
        vector = ir.VectorType(value.type, count)
        one = self.build.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(WORD, 0))
        lanes = ir.Constant(ir.VectorType(WORD, count), [0] * count)
        return self.build.shuffle_vector(one, ir.Constant(vector, ir.Undefined), lanes)

    def call(self, name: str, result: ir.Type, *arguments: Value) -> Value:
        """Call a function of the module, or an intrinsic, which is declared if it is not there."""
        module = self.function.module
        found = module.globals.get(name)
        if found is None:
            found = ir.Function(module, ir.FunctionType(result, [x.type for x in arguments]), name)
        return self.build.call(found, arguments)

    def give(self, value: Value = None) -> None:
        """Return from the function; a value must have its type."""
        if value is None:
            self.build.ret_void()
        else:
            self.build.ret(self.value(value, self.function.function_type.return_type))

    @contextmanager
    def when(self, condition: Value, *, likely: bool | None = None) -> Iterator[None]:
        """Execute the code of the ``with`` block only if a condition holds."""
        with self.build.if_then(condition, likely=likely):
            yield

    @contextmanager
    def loop(self) -> Iterator["Loop"]:
        """Repeat the code of the ``with`` block, until it leaves the loop."""
        made = Loop(self)
        self.build.branch(made.head)
        self.build.position_at_end(made.head)
        yield made
        if not self.build.block.is_terminated:
            self.build.branch(made.head)
        self.build.position_at_end(made.end)

    @contextmanager
    def repeat(self, count: Value) -> Iterator[Value]:
        """Repeat the code of the ``with`` block for every number from 0 to a count of 64 bits."""
        number = self.variable(LONG, 0)
        with self.loop() as loop:
            current = number.value
            loop.leave_unless(self.is_below(current, count))
            yield current
            number.set(self.build.add(current, self.value(1, LONG)))


class Loop:
    """A loop of a function."""

    def __init__(self, code: Code) -> None:
        self._code = code
        self.head, self.end = code.build.append_basic_block("head"), code.build.append_basic_block("end")

    def leave(self) -> None:
        """Leave the loop."""
        self._code.build.branch(self.end)

    def leave_unless(self, condition: Value) -> None:
        """Leave the loop if a condition does not hold."""
        following = self._code.build.append_basic_block("next")
        self._code.build.cbranch(condition, following, self.end)
        self._code.build.position_at_end(following)

    def restart(self) -> None:
        """Continue with the next repetition."""
        self._code.build.branch(self.head)
