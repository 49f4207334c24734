# SPDX-License-Identifier: MIT
"""Object code of LLVM's intermediate code for this processor, compiled by several processes, and the loading of it.

llvmlite lets only one thread of a process compile at a time. This file is therefore also a program, which compiles the
modules that it reads from its standard input; it imports only llvmlite.
"""

import os
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import count
from queue import Empty, Queue
from typing import IO, Any

import llvmlite
import llvmlite.binding as llvm

_SIZE = struct.Struct("<Q")

_INTERVAL = 0.02
"""The seconds after which a process that waits for others looks for limits and interrupts."""


@cache
def _target() -> tuple[str, str]:
    """Return the name and the features of this processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def processor() -> str:
    """Return what the object code depends on, apart from its source: LLVM and the processor."""
    version = ".".join(map(str, llvm.llvm_version_info))
    return f"llvmlite {llvmlite.__version__}, LLVM {version}, {' '.join(_target())}"


def object_code(text: str, level: int = 2) -> bytes:
    """Return the object code of a module for this processor.

    Parameters
    ----------
    text : str
        The module in LLVM's intermediate code, or an object whose ``str`` is that code.
    level : int
        The level of optimisation, 0 to 3.

    Raises
    ------
    RuntimeError
        If the module is not well-formed.

    Examples
    --------
    >>> code = object_code("define i32 @three() { ret i32 3 }")
    >>> sorted(load(code, ["three"]))
    ['three']
    """
    name, features = _target()
    module = llvm.parse_assembly(str(text), llvm.create_context())
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=name, features=features, opt=level, jit=True
    )  # fmt: skip
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=level))
    builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))


@cache
def _linker() -> Any:
    _target()
    return llvm.create_lljit_compiler()


_numbers = count()
"""The numbers of object code: one that could not be loaded keeps its name, too."""

_loaded: list[object] = []
"""The loaded object code, which stays until the process ends."""


def load(code: bytes, names: Sequence[str]) -> Mapping[str, int]:
    """Load object code and return the addresses of functions in it, which are valid until the process ends.

    Raises
    ------
    RuntimeError
        If it is not object code for this processor, or a function is missing.
    """
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for name in names:
        builder.export_symbol(name)
    library = builder.link(_linker(), f"library {next(_numbers)}")
    _loaded.append(library)
    return {name: library[name] for name in names}


class Compilers:
    """Processes that compile modules while this process writes others.

    ``with Compilers(count) as compilers`` starts none before `submit` is called for the first time. If a process
    cannot be started, or ends, this process compiles its modules. ``check`` is called before each module and while
    this process waits for others; an error that it raises ends the processes.
    """

    def __init__(self, count: int, check: Callable[[], object] = lambda: None) -> None:
        self._count, self._check = count if sys.executable else 0, check
        self._processes: list[subprocess.Popen[bytes]] = []
        self._modules: list[str] = []
        self._given: list[list[int]] = [[] for _ in range(self._count + 1)]

    def __enter__(self) -> "Compilers":
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    _pipe(pipe).close()

    def submit(self, text: str) -> None:
        """Compile a module in one of the processes, or later in this process."""
        turn = len(self._modules) % (self._count + 1)
        self._given[turn].append(len(self._modules))
        self._modules.append(text)
        if turn < self._count:
            try:
                if turn == len(self._processes):
                    self._processes.append(_start())
                _write(_pipe(self._processes[turn].stdin), text.encode())
            except OSError:
                self._given[-1] += self._given[turn]
                self._given[turn].clear()

    def results(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number of each module, in the order of `submit`, and its object code, in any order.

        Raises
        ------
        RuntimeError
            If a module is not well-formed.
        """
        for process in self._processes:
            with suppress(OSError):
                _pipe(process.stdin).close()
        for number in self._given[-1]:
            self._check()
            yield number, object_code(self._modules[number])
        for process, numbers in zip(self._processes, self._given, strict=False):
            codes: Queue[bytes | None] = Queue()
            threading.Thread(target=_read_all, args=(process.stdout, len(numbers), codes), daemon=True).start()
            for number in numbers:
                code = self._awaited(codes)
                yield number, object_code(self._modules[number]) if code is None else code

    def _awaited(self, codes: "Queue[bytes | None]") -> bytes | None:
        """Return the next code of a process."""
        while True:
            self._check()
            with suppress(Empty):
                return codes.get(timeout=_INTERVAL)


def _read_all(file: IO[bytes] | None, count: int, codes: "Queue[bytes | None]") -> None:
    """Read the codes of a process; None if it has ended."""
    for _ in range(count):
        try:
            codes.put(_read(_pipe(file)))
        except (OSError, ValueError):  # it was closed meanwhile
            codes.put(None)


def _start() -> "subprocess.Popen[bytes]":
    # The modules of this package must not hide modules of the same names, as the folder of a program would.
    code = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(x for x in sys.path if x)}
    return subprocess.Popen(
        [sys.executable, "-c", code, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env=environment,
    )  # fmt: skip


def _pipe(found: IO[bytes] | None) -> IO[bytes]:
    if found is None:
        raise OSError("a process has no pipe")
    return found


def _write(file: IO[bytes], data: bytes) -> None:
    file.write(_SIZE.pack(len(data)) + data)
    file.flush()


def _read(file: IO[bytes]) -> bytes | None:
    size = file.read(_SIZE.size)
    return file.read(*_SIZE.unpack(size)) if len(size) == _SIZE.size else None


def _compile_all() -> None:
    """Compile the modules on standard input, and write their object code to standard output when there are no more."""
    modules: Queue[bytes | None] = Queue()

    def read() -> None:  # at once, so that the writer never waits
        while (module := _read(sys.stdin.buffer)) is not None:
            modules.put(module)
        modules.put(None)

    threading.Thread(target=read, daemon=True).start()
    compiled = [object_code(module.decode()) for module in iter(modules.get, None) if module is not None]
    for code in compiled:
        _write(sys.stdout.buffer, code)


if __name__ == "__main__":
    _compile_all()
