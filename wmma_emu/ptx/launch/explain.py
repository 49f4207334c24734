# SPDX-License-Identifier: MIT
"""The contents of PTX source, without running it: kernels, parameters, opcodes, unsupported instructions."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from itertools import zip_longest
from typing import Any

from wmma_emu.errors import printable, printable_lines
from wmma_emu.ptx.cpp.demangle import plain_name
from wmma_emu.ptx.launch.line_lists import contracted_text, folded_text, grouped
from wmma_emu.ptx.launch.prepared_kernel import PreparedKernel
from wmma_emu.ptx.launch.ptx_text import PtxText
from wmma_emu.ptx.launch.source_types import SourceType, SourceTypes
from wmma_emu.ptx.launch.variable_names import names_of
from wmma_emu.ptx.memory.access_messages import bytes_text
from wmma_emu.ptx.program.program import KernelProgram, Missing, NotBitExact, Parameter, Symbol
from wmma_emu.ptx.widths import bits_of_type


@dataclass(frozen=True, slots=True)
class KernelExplanation:
    """The contents of a kernel.

    Attributes
    ----------
    name : str
    plain_name : str or None
        Its name in C++, if the PTX has a mangled name.
    parameters : tuple of Parameter
    types : SourceTypes
        The types in the source: from the mangled name for C++, from the signature for Triton.
    registers, instructions : int
    shared_bytes, local_bytes : int
        The declared bytes; ``dynamic_shared`` is whether a launch may add shared memory.
    required_block, max_block : tuple of int, or None
    opcodes : dict
        The number of occurrences of each opcode, the most frequent first.
    missing : tuple of Missing
        Instructions that are not modelled; a kernel with such instructions does not run.
    not_bit_exact : tuple of NotBitExact
    contracted : tuple of int
        The lines of multiplications that are fused with the following addition.
    contraction : str
        The method that decided about the fusion: the rules, or a ptxas.
    assumed : tuple of str
        The compiler's assumptions about the arguments.
    folded : tuple of int
        The lines of functions and quotients of constants that are evaluated as ptxas does, or become products.
    labels : tuple of str
        The names of the parameters in the source, if known.
    """

    name: str
    plain_name: str | None
    parameters: tuple[Parameter, ...]
    types: SourceTypes
    registers: int
    instructions: int
    shared_bytes: int
    dynamic_shared: bool
    local_bytes: int
    required_block: tuple[int, int, int] | None
    max_block: tuple[int, int, int] | None
    opcodes: dict[str, int]
    missing: tuple[Missing, ...]
    not_bit_exact: tuple[NotBitExact, ...]
    contracted: tuple[int, ...]
    contraction: str
    assumed: tuple[str, ...] = ()
    folded: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()

    def __str__(self) -> str:
        return printable_lines("\n".join(f"{label:<15}{text}" for label, text in self.fields()))

    def fields(self) -> Iterator[tuple[str, str]]:
        """Yield the label and text of each line; repeated labels are empty."""
        yield "kernel", self.name + (f" ({self.plain_name})" if self.plain_name else "")
        named = zip_longest(self.parameters, self.types.types)
        for label, (i, (x, source)) in _labelled("parameters", tuple(enumerate(named))):
            own = self.labels[i] if i < len(self.labels) else ""
            yield label, f"{i}: {_parameter(self.name, i, x, source, own)}"
        if self.types.unknown and self.parameters:
            yield "types", f"unknown: {self.types.unknown}"
        dynamic = ", plus the bytes that the launch adds" if self.dynamic_shared else ""
        yield "shared memory", f"{bytes_text(self.shared_bytes)}{dynamic}"
        yield "local memory", f"{bytes_text(self.local_bytes)} per thread"
        if self.required_block is not None:
            yield "block", f"exactly {' x '.join(map(str, self.required_block))} threads"
        elif self.max_block is not None:
            yield "block", f"at most {' x '.join(map(str, self.max_block))} threads"
        yield "instructions", f"{self.instructions}, on {self.registers} registers"
        for label, (opcode, count) in _labelled("opcodes", tuple(self.opcodes.items())):
            yield label, f"{count:>6} {opcode}"
        if not self.missing:
            yield "missing", "nothing"
        yield from _labelled("missing", grouped(self.missing))
        if not self.not_bit_exact:
            yield "not bit-exact", "nothing"
        yield from _labelled("not bit-exact", grouped(self.not_bit_exact))
        if self.contracted:
            yield "contracted", contracted_text(self.contracted, self.contraction)
        yield from _labelled("assumed", self.assumed)
        if self.folded:
            yield "folded", folded_text(self.folded)

    def to_dict(self) -> dict[str, Any]:
        """Return the contents as numbers, strings, lists and dicts, for JSON."""
        parameters = [
            {
                "name": x.name, "type": x.type, "bytes": x.bytes, "offset": x.offset,
                "pointer": x.is_pointer or bool(source and source.is_pointer), "source_type": source and source.text,
                "space": x.pointee_space or None, "pointee_alignment": x.pointee_alignment or None,
            }
            for x, source in zip_longest(self.parameters, self.types.types)
        ]  # fmt: skip
        return {
            "name": self.name,
            "plain_name": self.plain_name,
            "parameters": parameters,
            "types_not_known": self.types.unknown or None,
            "registers": self.registers,
            "instructions": self.instructions,
            "shared_bytes": self.shared_bytes,
            "dynamic_shared": self.dynamic_shared,
            "local_bytes": self.local_bytes,
            "required_block": self.required_block,
            "max_block": self.max_block,
            "opcodes": self.opcodes,
            "missing": [x._asdict() for x in self.missing],
            "not_bit_exact": [x._asdict() for x in self.not_bit_exact],
            "contracted": list(self.contracted),
            "contraction": self.contraction,
            "assumed": list(self.assumed),
            "folded": list(self.folded),
        }


@dataclass(frozen=True, slots=True)
class ModuleExplanation:
    """The contents of PTX source: its kernels, and the variables that they share.

    Attributes
    ----------
    name, version, target, arch : str
        Its name in messages, the PTX version, the chip that it is for, and the chip that it would run on.
    variables, unused_variables : dict
        The bytes of each ``__device__`` and ``__constant__`` variable, used by a kernel or unused.
    kernels : tuple of KernelExplanation
    compiler : str
        The compiler of the PTX, if it was compiled by this package; ``notes`` describe omitted code.
    """

    name: str
    version: str
    target: str
    arch: str
    variables: dict[str, int]
    unused_variables: dict[str, int]
    kernels: tuple[KernelExplanation, ...]
    compiler: str = ""
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = f"{printable(self.name)}: PTX {self.version} for {self.target}, on {self.arch}"
        head += f", made by {self.compiler}" if self.compiler else ""
        head = "\n".join([head, *(f"{'note':<15}{printable(x)}" for x in self.notes)])
        variables = [f"variable       {name}: {bytes_text(size)}" for name, size in self.variables.items()]
        unused = len(self.unused_variables)
        more = [f"{'' if variables else 'variables':<15}{'and ' * bool(variables)}{unused} that no kernel uses"]
        more = more if unused else []
        if not self.kernels:
            more.append("no kernel: the PTX has no .entry, which CUDA C++ calls __global__")
        return "\n\n".join(["\n".join([head, *variables, *more]), *map(str, self.kernels)])

    def to_dict(self) -> dict[str, Any]:
        """Return the contents as numbers, strings, lists and dicts, for JSON."""
        found = {x.name: getattr(self, x.name) for x in fields(self)}
        return {**found, "kernels": [x.to_dict() for x in self.kernels], "notes": list(self.notes)}


def explain_module(module: PtxText, kernels: Iterable[PreparedKernel]) -> ModuleExplanation:
    """Return the contents of a module."""
    program = module.program
    relocated = {x[1].name for x in (*program.global_relocations, *program.const_relocations)}
    used = relocated.union(*(_names_used(x) for x in program.kernels.values()))
    both: tuple[dict[str, int], dict[str, int]] = {}, {}
    for symbol in (*program.global_symbols, *program.const_symbols):
        both[symbol.name not in used][symbol.name] = symbol.bytes
    return ModuleExplanation(
        module.name, program.version, program.target, module.arch.name, *both,
        tuple(map(_explain_kernel, kernels)), module.compiler, module.compiler_notes,
    )  # fmt: skip


def _explain_kernel(kernel: PreparedKernel) -> KernelExplanation:
    program, compiled = kernel.program, kernel.compiled
    # The multiplication of a fused product is an instruction with the same name and a %.
    counts = Counter(x.opcode.removeprefix("%") for x in program.instructions)
    return KernelExplanation(
        program.name, plain_name(program.name), program.parameters, kernel.types, len(program.registers),
        len(program.instructions), program.shared_bytes, program.dynamic_offset is not None, program.local_bytes,
        program.required_block,
        program.max_block, dict(sorted(counts.items(), key=lambda x: (-x[1], x[0]))), compiled.missing,
        compiled.not_bit_exact, kernel.contracted, kernel.contraction, kernel.assumed, kernel.folded,
        names_of(kernel.module, kernel).parameter_names,
    )  # fmt: skip


def _parameter(kernel: str, index: int, parameter: Parameter, source: SourceType | None, label: str) -> str:
    is_plain = parameter.bytes * 8 == bits_of_type(parameter.type)
    kind = f".{parameter.type}{' pointer' * parameter.is_pointer}" if is_plain else "struct"
    kind += f" to {parameter.pointee_space} memory" * bool(parameter.pointee_space)
    kind += f", aligned to {bytes_text(parameter.pointee_alignment)}" * (parameter.pointee_alignment > 1)
    own = "" if parameter.name == f"{kernel}_param_{index}" else f" {parameter.name}"  # compilers' names add nothing
    if source is None:
        kind = f"{kind}{own}"
    else:
        is_named = not label or source.with_name != source.text or "(" in source.text
        kind = f"{source.with_name if is_named else f'{source.text} {label}'}; {kind}"
    return f"{kind}, {bytes_text(parameter.bytes)} at {parameter.offset}"


def _names_used(program: KernelProgram) -> set[str]:
    operands = (y for x in program.instructions for y in x.operands)
    bases = (getattr(x, "base", x) for x in operands)
    return {x.name for x in bases if isinstance(x, Symbol)}


def _labelled(label: str, entries: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    for i, entry in enumerate(entries):
        yield ("" if i else label), entry
