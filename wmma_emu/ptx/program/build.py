# SPDX-License-Identifier: MIT
"""Build the program of a syntax tree: each kernel with every function that it calls, and the module's memory."""

from collections.abc import Sequence
from dataclasses import replace

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.program.callees import enter, enter_formals
from wmma_emu.ptx.program.faults import fault, short_name, unsupported
from wmma_emu.ptx.program.frames import cyclic
from wmma_emu.ptx.program.link import Linker
from wmma_emu.ptx.program.link_state import Callee
from wmma_emu.ptx.program.module_symbols import ModuleSymbols, require_complete, symbols_of_module
from wmma_emu.ptx.program.program import (
    FunctionFrame,
    KernelProgram,
    Missing,
    ModuleProgram,
    Parameter,
    PtxInstruction,
    Symbol,
)
from wmma_emu.ptx.program.sizes import align, alignment_of, bytes_of
from wmma_emu.ptx.program.variables import initial_bytes, propagate_refusals
from wmma_emu.ptx.syntax.parser import parse
from wmma_emu.ptx.syntax.tree import FunctionText, ModuleText

_MOST_PARAMETER_BYTES = 32764
"""The limit of PTX ISA 9.1, Kernel Function Parameters."""

_LARGE_PARAMETERS, _MOST_BYTES_BEFORE = (8, 1), 4352
"""The version of PTX that introduced it, and the limit before, as ptxas 13.0 states both."""

_MOST_REPEATED = 2**20
"""The most instructions of functions, counted once for each kernel that calls them: without a limit, source with many
kernels and a large function would take quadratic time."""


def program_of(text: str, shared_begin: int = 0) -> ModuleProgram:
    r"""Parse PTX source (PTX ISA 9.1) and resolve its names; ``shared_begin`` is where shared memory begins.

    Opcodes are not checked. A name that is unknown, declared twice or of the wrong kind raises a `PtxSyntaxError`;
    32-bit addresses, and source beyond the limits of the emulator, raise an `UnsupportedInstructionError`. A statement
    that cannot be executed is recorded in `KernelProgram.refusals` of its kernel; other kernels of the module are
    unaffected.

    Examples
    --------
    >>> module = program_of(".version 8.0\n.target sm_80\n.entry k(.param .u32 n) { .reg .b32 %r<2>; "
    ...                     "ld.param.u32 %r1, [n]; L: bra L; }")
    >>> load, jump = module.kernels["k"].instructions
    >>> load.operands[1].base, jump.operands
    (Symbol(space='param', offset=0, name='n', bytes=4), (LabelTarget(index=1, name='L'),))
    """
    return build(parse(text), shared_begin)


def build(tree: ModuleText, shared_begin: int = 0) -> ModuleProgram:
    """Resolve the names of parsed source, with the exceptions of `program_of`."""
    if tree.address_size != 64:
        raise UnsupportedInstructionError(
            f".address_size {tree.address_size} is not supported; compile for .address_size 64"
        )
    names = symbols_of_module(tree)
    global_bytes, global_relocations, refused = initial_bytes(names.memories["global"], names.address, tree.lines)
    const_bytes, const_relocations, more = initial_bytes(names.memories["const"], names.address, tree.lines)
    memories = names.memories.values()
    reached = propagate_refusals(
        refused | more,
        [x for memory in memories for x in memory.symbols],
        [*(("global", x) for x in global_relocations), *(("const", x) for x in const_relocations)],
    )
    kernels: dict[str, KernelProgram] = {}
    visited: set[str] = set()
    repeated = 0
    for function in tree.functions:
        if not function.is_kernel or function.body is None:
            continue
        kernel = _kernel(names, tree, function, reached, shared_begin)
        kernels[function.name] = kernel
        visited.update(x[0] for x in kernel.functions)
        repeated += len(kernel.instructions) - kernel.functions[0][2] + len(kernel.refusals)
        if repeated > _MOST_REPEATED:
            raise unsupported(
                tree.lines, function, f"the functions called by {len(kernels)} kernels have {repeated} instructions "
                f"together; at most {_MOST_REPEATED} are supported: split the module"
            )  # fmt: skip
    for function in tree.functions:
        if function.body is not None and function.name not in visited:
            linker = Linker(names, tree.files)
            root = linker.callee(function)
            enter_formals(linker, root)
            linker.read(root)
    return ModuleProgram(
        kernels, tree.target[0], tree.version, global_bytes, const_bytes, tuple(names.memories["global"].symbols),
        tuple(names.memories["const"].symbols), global_relocations, const_relocations,
        tree.file_sizes, any(x in names.functions and names.functions[x].body is None for x in ("malloc", "free")),
    )  # fmt: skip


def _kernel(
    names: ModuleSymbols, tree: ModuleText, function: FunctionText, reached: dict[Symbol, Missing], shared_begin: int
) -> KernelProgram:
    """Link a kernel; link it again if its dynamic shared memory begins after other variables."""
    linker, root, parameters = _link(names, tree, function, shared_begin, shared_begin)
    begin = linker.storage.dynamic_begin()
    if begin or linker.needs_frames:
        span = linker.storage.shared_span if begin else shared_begin
        linker, root, parameters = _link(names, tree, function, shared_begin, span, has_frames=linker.needs_frames)
    functions = [root, *linker.bodies]
    starts = [x.first or 0 for x in functions]
    ends = [*starts[1:], len(linker.instructions)]
    sizes = {
        x.name: _xyz(x.arguments) for x in function.directives if x.name in ("reqntid", "maxntid", "reqnctapercluster")
    }
    last = parameters[-1] if parameters else None
    return KernelProgram(
        function.name, parameters, last.offset + last.bytes if last else 0, tuple(linker.storage.registers),
        _finished(linker), tuple(linker.storage.symbols), linker.storage.shared_bytes, begin,
        root.frame.bytes, sizes.get("reqntid"), sizes.get("maxntid"), tree.lines,
        tuple(zip([x.function.name for x in functions], starts, ends, strict=True)), sizes.get("reqnctapercluster"),
        (*linker.refusals, *dict.fromkeys(reached[x] for x in linker.resolver.used if x in reached)),
        linker.storage.shared_span, (), *_frames(names, linker, functions),
        specials=frozenset(linker.storage.specials), shared_begin=shared_begin,
    )  # fmt: skip


def _frames(
    names: ModuleSymbols, linker: Linker, functions: Sequence[Callee]
) -> tuple[tuple[FunctionFrame, ...], tuple[tuple[str, int], ...]]:
    """Return the local memory of each function, and the addresses of the functions that are called through them."""
    called = dict.fromkeys(x.function.name for _, candidates in linker.indirect_calls for x in candidates)
    frames = [FunctionFrame(x.function.name, x.frame.bytes, x.frame.array_bytes) for x in functions]
    return tuple(frames) if linker.has_frames else (), tuple((x, names.code[x].offset) for x in called)


def _xyz(numbers: tuple[str, ...]) -> tuple[int, int, int]:
    x, y, z = (*map(int, numbers), 1, 1)[:3]
    return x, y, z


def _link(
    names: ModuleSymbols, tree: ModuleText, function: FunctionText, shared_begin: int, dynamic_offset: int,
    has_frames: bool = False,
) -> tuple[Linker, Callee, tuple[Parameter, ...]]:  # fmt: skip
    linker = Linker(names, tree.files, shared_begin, dynamic_offset, has_frames)
    root = linker.callee(function)
    parameters = _parameters(linker, root, tree.version)
    linker.read(root)
    read = 0
    while read < len(linker.bodies):
        linker.read(linker.bodies[read])
        read += 1
    repeated = cyclic({x.function.name: x.calls for x in (root, *linker.bodies)})
    linker.needs_frames |= bool(repeated)
    linker.refusals += [_refused_recursion(x.function) for x in linker.bodies if x.function.name in repeated
                        and any(y.space == "reg" for y in (*x.function.results, *x.function.parameters))]  # fmt: skip
    return linker, root, parameters


def _refused_recursion(function: FunctionText) -> Missing:
    reason = f"recursion: {short_name(function.name)} may be called while it is running, and has .reg parameters; "
    return Missing(".func", function.line, reason + "declare its parameters and results .param")


def _parameters(linker: Linker, root: Callee, version: str) -> tuple[Parameter, ...]:
    found, offset = [], 0
    for variable in root.function.parameters:
        require_complete(linker.module.lines, variable)
        size, alignment = bytes_of(variable), alignment_of(variable)
        if variable.space != "param":
            raise fault(linker.module.lines, variable, "a parameter of a kernel has to be .param, not .reg")
        offset = align(offset, alignment)
        symbol = Symbol("param", offset, variable.name, size, is_parameter=True)
        enter(linker, root.scopes, variable, symbol)
        linker.storage.keep(symbol, variable)
        found.append(Parameter(variable.name, variable.type, size, alignment, offset, *_pointee(variable.attributes)))
        offset += size
        if offset > _MOST_PARAMETER_BYTES:
            raise fault(
                linker.module.lines, variable, f"the parameters up to {short_name(variable.name)} take {offset} bytes; "
                f"a kernel has at most {_MOST_PARAMETER_BYTES} bytes of parameters"
            )  # fmt: skip
        if offset > _MOST_BYTES_BEFORE and tuple(map(int, version.split("."))) < _LARGE_PARAMETERS:
            raise fault(
                linker.module.lines, variable, f"the parameters up to {short_name(variable.name)} take {offset} bytes; "
                f"in .version {version} a kernel has at most {_MOST_BYTES_BEFORE} bytes of parameters, and "
                f"{_MOST_PARAMETER_BYTES} from .version {'.'.join(map(str, _LARGE_PARAMETERS))}"
            )  # fmt: skip
    return tuple(found)


def _pointee(attributes: Sequence[str]) -> tuple[bool, str, int]:
    """Return whether a parameter is a pointer, and the state space and alignment of its pointee."""
    space, multiple = "", 0
    for attribute in attributes:
        match attribute.split():
            case ["ptr", "align", number]:
                multiple = int(number)
            case ["ptr", name]:
                space = name
    return "ptr" in attributes, space, multiple


def _finished(linker: Linker) -> tuple[PtxInstruction, ...]:
    for index, callee in linker.calls:
        instruction = linker.instructions[index]
        if instruction is not None:
            linker.instructions[index] = replace(instruction, callee=callee.first)
    for index, called in linker.indirect_calls:
        instruction = linker.instructions[index]
        if instruction is not None:
            linker.instructions[index] = replace(instruction, targets=tuple([x.first or 0 for x in called]))
    return tuple([x for x in linker.instructions if x is not None])
