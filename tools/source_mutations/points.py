# SPDX-License-Identifier: MIT
"""Where the source of the package can be mutated, one token of one line at a time, and a random draw of such places.

Operators of comparisons, arithmetic and bits, `and` and `or`, `not`, signs, numbers, True and False, bare conditions,
`min` and `max`, `break` and `continue`. Left alone: strings and the contents of f-strings, annotations, decorators,
what is raised, asserts, `__all__`, overloads, and what only type checkers read.
"""

import ast
import io
import random
import tokenize
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("arithmetic", "layouts", "scalar", "warp", "ptx", "tcgen05", "quantise", "instructions")

COMPARISONS = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"), ast.Pow: ("**", "*"), ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"),
    ast.BitOr: ("|", "&"), ast.BitAnd: ("&", "|"), ast.BitXor: ("^", "|"),
}  # fmt: skip
LOGIC = {ast.And: ("and", "or"), ast.Or: ("or", "and")}
SIGNS = {ast.Not: "not", ast.USub: "-", ast.Invert: "~"}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum"}

_NO_CODE = ("Literal", "Annotated", "TypeVar", "cast")


@dataclass(frozen=True, order=True)
class Mutation:
    """One token, or two of an operator of two words, that becomes another.

    Parameters
    ----------
    file : str
        Below the root of the repository.
    line, column : int
        Where the old text begins; lines count from 1, columns from 0.
    old, new : str
    operator : str
        The kind of mutation.
    """

    file: str
    line: int
    column: int
    old: str
    new: str
    operator: str

    def mutate(self, text: str) -> str:
        """Return the text of the file with the mutation."""
        lines = text.splitlines(keepends=True)
        lines[self.line - 1] = self.mutated_line(lines[self.line - 1])
        return "".join(lines)

    def mutated_line(self, line: str) -> str:
        end = self.column + len(self.old)
        if line[self.column : end] != self.old:
            raise ValueError(f"{self.file}:{self.line} has no {self.old!r} at column {self.column}: {line!r}")
        return line[: self.column] + self.new + line[end:]


def source_files(root: Path, packages: tuple[str, ...] = PACKAGES, package: str = "wmma_emu") -> list[Path]:
    """Return all Python files of the packages, in order of their names."""
    return sorted(path for name in packages for path in (root / package / name).rglob("*.py"))


def mutations_of(root: Path, files: list[Path]) -> list[Mutation]:
    """Return everything that can be mutated in the files, in order."""
    return sorted(
        mutation
        for path in files
        for mutation in mutations_in(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix())
    )


def draw(root: Path, mutations: list[Mutation], count: int, seed: int) -> list[Mutation]:
    """Return some that compile, each as likely as any other one; of one line only one."""
    drawn: dict[tuple[str, int], Mutation] = {}
    for mutation in random.Random(seed).sample(mutations, len(mutations)):
        if len(drawn) == count:
            break
        place = (mutation.file, mutation.line)
        if place not in drawn and compiles(mutation.mutate((root / mutation.file).read_text(encoding="utf-8"))):
            drawn[place] = mutation
    return sorted(drawn.values())


def mutations_in(text: str, file: str) -> list[Mutation]:
    """Return everything that can be mutated in one file."""
    tokens = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type in (tokenize.OP, tokenize.NAME)]
    finder = _Finder(text, file, tokens)
    finder.visit(ast.parse(text))
    return sorted(set(finder.found))


def compiles(text: str) -> bool:
    try:
        compile(text, "mutated", "exec")
    except SyntaxError:
        return False
    return True


class _Finder(ast.NodeVisitor):
    """Walks through a file, past what is left alone."""

    def __init__(self, text: str, file: str, tokens: list[tokenize.TokenInfo]) -> None:
        self.file, self.tokens, self.found = file, tokens, list[Mutation]()
        self.lines = text.splitlines(keepends=True)

    def add(self, line: int, column: int, old: str, new: str, operator: str) -> None:
        if self.lines[line - 1][column:].startswith(old):
            self.found.append(Mutation(self.file, line, column, old, new, operator))

    def column(self, line: int, byte: int) -> int:
        """Convert the column of a node, in bytes, to a token's, in characters."""
        return len(self.lines[line - 1].encode()[:byte].decode())

    def start(self, node: ast.AST) -> tuple[int, int]:
        return node.lineno, self.column(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> tuple[int, int]:
        return node.end_lineno, self.column(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def between(self, left: ast.AST, right: ast.AST, old: str, new: str, operator: str) -> None:
        """Mutate the operator between two operands."""
        first = old.split()[0]
        for token in self.tokens:
            if self.end(left) <= token.start < self.start(right) and token.string in (first, old + "="):
                self.add(*token.start, old, new, operator)
                return

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            self.between(left, right, *COMPARISONS[type(op)], "comparison")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in ARITHMETIC and not _is_text(node.left) and not _is_text(node.right):
            self.between(node.left, node.right, *ARITHMETIC[type(node.op)], "arithmetic")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if type(node.op) in ARITHMETIC and not _is_text(node.value):
            self.between(node.target, node.value, *ARITHMETIC[type(node.op)], "arithmetic")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between(left, right, *LOGIC[type(node.op)], "and, or")
        for value in node.values:
            self.condition(value)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if type(node.op) in SIGNS:
            line, column = self.start(node)
            self.add(line, column, SIGNS[type(node.op)], "", "sign, not")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        line, column = self.start(node)
        text = self.lines[line - 1][column : self.end(node)[1]]
        if isinstance(node.value, bool):
            self.add(line, column, text, str(not node.value), "constant")
        elif isinstance(node.value, int):
            more = node.value + 1
            self.add(line, column, text, hex(more) if text[:2].lower() == "0x" else str(more), "constant")
        elif isinstance(node.value, float):
            self.add(line, column, text, repr(node.value + 1.0), "constant")

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        name = function.id if isinstance(function, ast.Name) else function.attr if _of_numpy(function) else ""
        if name in NAMES:
            line, column = self.end(function)
            self.add(line, column - len(name), name, NAMES[name], "min, max, any, all")
        if isinstance(function, ast.Name) and function.id in _NO_CODE:
            for argument in node.args[1:]:
                self.visit(argument)
        else:
            self.generic_visit(node)

    def condition(self, test: ast.expr) -> None:
        """Negate a bare condition; others have an operator that can be mutated."""
        if isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            line, column = self.start(test)
            for token in self.tokens:
                if token.start == (line, column):
                    self.add(line, column, token.string, "not " + token.string, "condition")

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for statement in node.orelse:
                self.visit(statement)
            return
        self.condition(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self.condition(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.condition(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self.condition(test)
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        self.add(*self.start(node), "break", "continue", "break, continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        self.add(*self.start(node), "continue", "break", "break, continue")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if any("overload" in ast.unparse(decorator) for decorator in node.decorator_list):
            return
        for part in (node.args, *node.body):
            self.visit(part)

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in node.body:
            self.visit(part)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None and "TypeAlias" not in ast.unparse(node.annotation):
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets):
            self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not (isinstance(node.value, ast.Name) and node.value.id in _NO_CODE):
            self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> None:
        """Skip an annotation."""

    def visit_Raise(self, node: ast.Raise) -> None:
        """Skip the message of an error."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """Skip code that has no alternative."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Skip a string."""


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _of_numpy(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "np"
