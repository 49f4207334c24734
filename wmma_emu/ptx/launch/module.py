# SPDX-License-Identifier: MIT
"""Modules: the kernels of PTX source, of a file, of CUDA C++ or of Triton, launched on NumPy arrays."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, ShapeError, UnknownNameError, printable, shorten
from wmma_emu.formats.dtypes import dtype_meant
from wmma_emu.instructions import DEFAULT_ARCH, Arch, arch_of
from wmma_emu.ptx.cuda.compile import DebugCompilation, compile_cuda
from wmma_emu.ptx.cuda.request import readable
from wmma_emu.ptx.launch.calls import errors_at_the_caller, takes_contract
from wmma_emu.ptx.launch.explain import ModuleExplanation, explain_module
from wmma_emu.ptx.launch.kernel import Kernel
from wmma_emu.ptx.launch.names import attribute_names, find, no_kernel
from wmma_emu.ptx.launch.options import LaunchOptions
from wmma_emu.ptx.launch.ptx_text import PtxText
from wmma_emu.ptx.launch.struct_arrays import structs_in_variable
from wmma_emu.ptx.launch.triton_compiled import CompiledTriton
from wmma_emu.ptx.launch.triton_kernel import TritonKernel
from wmma_emu.ptx.launch.triton_module import TritonModule, compile_request
from wmma_emu.ptx.memory.device_heap import HeapBlock
from wmma_emu.ptx.program.device_runtime import device_runtime_for
from wmma_emu.ptx.program.linked_declarations import require_compatible
from wmma_emu.ptx.syntax.linked_text import linked


class Module(PtxText):
    """The kernels of PTX source.

    Parameters
    ----------
    text : str
        PTX, as written by nvcc, NVRTC or Triton.
    arch : str or Arch
        The chip that runs it.
    contraction : {"rules", "ptxas", "never"}
        The method that decides which ``mul`` and ``add`` without an explicit rounding are fused: "rules" describe what
        ptxas does by default, and need no installation; "ptxas" reads the machine code of the newest installed ptxas;
        "never" fuses none (``-fmad=false``). The report names the method.
    engine : str
        The engine of matrix products, as in `wmma_emu.mma`; the bits are the same. By default NumPy, and compiled
        code (with the extra ``fast``) when it is loaded, or when NumPy has taken long enough to justify compiling.
    name : str
        The name of the PTX in messages.
    **options
        Defaults for every launch: options of `LaunchOptions`, such as ``findings="raise"``.

    Raises
    ------
    PtxSyntaxError
        If the text is not PTX.
    UnsupportedInstructionError
        If the PTX is for another chip than ``arch``.

    Examples
    --------
    >>> module = Module(".version 8.0 .target sm_80 .address_size 64 .visible .entry f(.param .u64 p) { ret; }")
    >>> module["f"][1, 32](np.zeros(4)).instructions
    32
    """

    @errors_at_the_caller
    @takes_contract
    def __init__(
        self,
        text: str,
        arch: str | Arch = DEFAULT_ARCH,
        contraction: str = "rules",
        engine: str = "auto",
        *,
        name: str = "the PTX text",
        **options: Any,
    ) -> None:
        super().__init__(text, arch, contraction, engine, name, options)
        self._expressions: Mapping[str, str] = {}
        self._kernels: dict[str, Kernel] = {}

    @classmethod
    @errors_at_the_caller
    @takes_contract
    def from_file(cls, path: str | Path, arch: str | Arch = DEFAULT_ARCH, **keywords: Any) -> "Module":
        """Read a file of PTX; CUDA C++ (``.cu``) is compiled by `from_cuda`.

        Errors of the operating system, such as ``FileNotFoundError``, are passed on.
        """
        path = _path_of(path)
        text = _text_of(path)
        if path.suffix == ".cu":
            keywords = {"name": path.name, **keywords, "include": (*keywords.get("include", ()), path.parent)}
            module = cls.from_cuda(text, arch, **keywords)
            module.paths = {keywords["name"]: str(path)}
            return module
        module = cls(text, arch, **{"name": path.name, **keywords})
        module.paths = {"": str(path)}
        return module

    @classmethod
    @errors_at_the_caller
    @takes_contract
    def from_cuda(
        cls,
        source: str,
        arch: str | Arch = DEFAULT_ARCH,
        *,
        options: Sequence[str] = (),
        include: Sequence[str | Path] = (),
        instantiate: Sequence[str] = (),
        name: str = "kernel.cu",
        compiler: str = "auto",
        **keywords: Any,
    ) -> "Module":
        """Compile CUDA C++, with NVRTC (the extra ``nvrtc``) or nvcc; neither needs a GPU or a driver.

        The compiler reads any file that an ``#include`` names, and its messages quote lines: compile untrusted sources
        in a sandbox.

        Parameters
        ----------
        source : str
            Kernels, and host code, which is not executed.
        arch : str or Arch
            ``"sm_90"`` compiles for compute_90, ``"sm_90a"`` for compute_90a, which supports wgmma.
        options : sequence of str
            Of the compiler: ``"-DTILE=64"``.
        include : sequence of paths
            Folders of headers.
        instantiate : sequence of str
            Template instantiations to compile; the names find the kernels: ``"scale<float, 4>"``.
        name : str
            The name of the source in messages and findings.
        compiler : {"auto", "nvrtc", "nvcc", "device part"}
            "auto" uses NVRTC; if NVRTC rejects the host code, it uses nvcc if that is installed, or else NVRTC for the
            device code only. ``module.compiler`` names the compiler.
        **keywords
            Keywords of `Module`.

        Raises
        ------
        CompilationError
            If the source does not compile; the error contains the compiler's messages.
        BackendUnavailableError
            If no compiler is installed.
        """
        compiled = compile_cuda(
            source, arch, name=name, options=options, include=include, instantiate=instantiate, compiler=compiler
        )
        module = cls(compiled.ptx, arch, name=name, **keywords)
        module._expressions, module.sources = compiled.names, {name: readable(source)}
        module._debug_compilation = DebugCompilation(
            source, arch, name, tuple(options), tuple(include), tuple(instantiate), compiled.seconds, compiler
        )
        module.compiler, module.compiler_notes = compiled.compiler, compiled.notes
        module.compiler_warnings = compiled.warnings
        return module

    @overload
    @classmethod
    def from_triton(
        cls, function: Any, signature: Mapping[str, Any], constexprs: Any = ..., arch: str | Arch = ..., **keywords: Any
    ) -> "Module": ...

    @overload
    @classmethod
    def from_triton(
        cls, function: Any, signature: None = None, constexprs: Any = ..., arch: str | Arch = ..., *,
        arguments: Sequence[Any], **keywords: Any,
    ) -> "Module": ...  # fmt: skip

    @overload
    @classmethod
    def from_triton(
        cls, function: Any, signature: None = None, constexprs: Any = ..., arch: str | Arch = ..., **keywords: Any
    ) -> TritonModule["Module"]: ...

    @classmethod
    @errors_at_the_caller
    @takes_contract
    def from_triton(
        cls,
        function: Any,
        signature: Mapping[str, Any] | None = None,
        constexprs: Mapping[str, Any] | None = None,
        arch: str | Arch = DEFAULT_ARCH,
        *,
        arguments: Sequence[Any] | None = None,
        num_warps: int | None = None,
        num_stages: int | None = None,
        divisible_by_16: Iterable[str] | None = None,
        triton_options: Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> "Module | TritonModule[Module]":
        """Compile a Triton kernel with Triton, which needs neither a GPU nor torch for it (the extra ``triton``).

        Triton compiles a kernel again for other types, for pointers and integers that are multiples of 16, for integers
        equal to 1 and for None, and the bits of its results can depend on this. It derives this specialisation from the
        arguments of each launch, or from ``arguments``. With only a ``signature`` it cannot; the report then lists its
        assumptions (``report.assumed``).

        Parameters
        ----------
        function : triton.JITFunction
            A function of Triton or Gluon; `triton.heuristics` are applied if there are arguments.
        signature : mapping, optional
            Types of the parameters that are not constexpr: ``{"a_ptr": "*fp16", "M": "i32"}``.
        constexprs : mapping, optional
            Values of the constexpr parameters.
        arch : str or Arch
        arguments : sequence, optional
            The non-constexpr arguments of a launch (NumPy arrays for tensors) for which the kernel is compiled.
        num_warps, num_stages : int, optional
            Triton's defaults if omitted.
        divisible_by_16 : iterable of str, optional
            With ``signature``: parameters that are multiples of 16 in every launch; all pointers by default.
        triton_options : mapping, optional
            Further options of Triton's compiler. Without ``enable_fp_fusion`` (or with TRITON_DEFAULT_FP_FUSION=0)
            nothing is fused, unless ``contraction`` is given.
        **keywords
            Keywords of `Module`.

        Returns
        -------
        Module or TritonModule
            With types or arguments a `Module`, launched as ``module.kernel[grid](...)`` with the non-constexpr
            arguments. Otherwise a `TritonModule`, launched as in Triton, ``module.kernel[grid](x, n, BLOCK=128,
            num_warps=8)``, and compiled for each new specialisation.

        Raises
        ------
        CompilationError
            If the kernel does not compile; the error contains the compiler's message.
        BackendUnavailableError
            If Triton is not installed.
        """
        given = {"num_warps": num_warps, "num_stages": num_stages, **(triton_options or {})}
        options = {k: v for k, v in given.items() if v is not None}
        chip, fixed = arch_of(arch), dict(constexprs or {})

        def make(compiled: CompiledTriton) -> Module:
            return cls.of_compiled_triton(compiled, arch, **keywords)

        compiled = compile_request(function, chip, fixed, options, signature, arguments, divisible_by_16)
        if compiled is not None:
            return make(compiled)
        addresses = LaunchOptions(addresses=keywords.get("addresses", "emulator")).addresses
        return TritonModule(function, chip, {**fixed, **options}, make, addresses)

    @classmethod
    def of_compiled_triton(cls, compiled: CompiledTriton, arch: str | Arch, **keywords: Any) -> "Module":
        """Return the module of a kernel that Triton has compiled.

        Parameters
        ----------
        compiled : CompiledTriton
        arch : str or Arch
        **keywords
            Keywords of `Module`.
        """
        contraction = {} if compiled.fusion else {"contraction": "never"}
        module = cls(compiled.ptx, arch, **{"name": compiled.name, **contraction, **keywords})
        module.triton, module.sources = compiled, {}
        return module

    @errors_at_the_caller
    def link(self, *others: "Module | str") -> "Module":
        """Link this module with others, as nvlink does: ``.extern`` names find their definitions in the others.

        The new module has the kernels and the variables of all, with their initial values, and the options of this one.
        The functions of the device runtime that synchronise a grid are linked too, if a module declares them.

        Parameters
        ----------
        *others : Module or str
            Modules, or PTX.

        Raises
        ------
        ArgumentError
            If this module has ``contraction="ptxas"``, or another is neither PTX nor a module of PTX or CUDA C++.
        ArgumentValueError
            If two modules define a function or a variable, and neither definition is weak, or if they declare it with
            different sizes, spaces or parameters.

        Examples
        --------
        >>> head = ".version 8.0 .target sm_80 .address_size 64 "
        >>> device = head + ".visible .func (.param .b32 r) three() { st.param.b32 [r], 3; ret; }"
        >>> text = head + '''.extern .func (.param .b32 r) three(); .entry k(.param .u64 x) {
        ... .reg .b64 %a; .reg .b32 %r; .param .b32 q; ld.param.u64 %a, [x]; call (q), three, ();
        ... ld.param.b32 %r, [q]; st.global.b32 [%a], %r; ret; }'''
        >>> x = np.zeros(1, np.int32)
        >>> report = Module(text).link(device)["k"][1, 1](x)
        >>> x
        array([3], dtype=int32)
        """
        modules = [self, *(self._another(x) for x in others)]
        names = [x.name if x.name != "the PTX text" else f"module {i}" for i, x in enumerate(modules)]
        sources = [(name, x.text) for name, x in zip(names, modules, strict=True)]
        everything = "\n".join(x.text for x in modules)
        runtime = device_runtime_for(everything, self.program.version, self.program.target)
        sources += [("the device runtime", x) for x in runtime]
        if len(sources) == 1:
            return self
        if self.open_roundings.policy == "ptxas":
            raise ArgumentError(
                "contraction='ptxas' reads the machine code of one source: link modules with 'rules' or 'never'"
            )
        require_compatible(sources)
        text = linked(sources)
        found = Module(text, self.arch, self.open_roundings.policy, self.engine, name=" + ".join(names))
        found.options = self.options
        found._expressions = {k: v for x in reversed(modules) for k, v in x._expressions.items()}
        found.sources = {k: v for x in reversed(modules) for k, v in (x.sources or {}).items()} or None
        found.paths = {k: v for x in reversed(modules) for k, v in (x.paths or {}).items() if k} or None
        found.compiler = self.compiler
        return found

    def _another(self, given: "Module | str") -> "Module":
        if isinstance(given, str):
            return Module(given, self.arch)
        if not isinstance(given, Module) or given.triton is not None or self.triton is not None:
            raise ArgumentError(f"{shorten(given)} cannot be linked; expected Modules of PTX or CUDA C++, or PTX")
        return given

    def __repr__(self) -> str:
        return printable(f"<module {self.name}: {', '.join(self.program.kernels) or 'no kernels'} on {self.arch}>")

    def __iter__(self) -> Iterator[str]:
        return iter(self.program.kernels)

    def __len__(self) -> int:
        return len(self.program.kernels)

    @errors_at_the_caller
    def __getitem__(self, name: str) -> Kernel:
        """Find a kernel by its name in the PTX or in the source."""
        found = find(self.program.kernels, name, self._expressions, self.name, self.compiler_notes)
        if found not in self._kernels:
            kind = Kernel if self.triton is None else TritonKernel
            # If two threads arrive at once, the second one gets the first one's kernel.
            self._kernels.setdefault(found, kind(self, self.program.kernels[found]))
        return self._kernels[found]

    def __getattr__(self, name: str) -> Kernel:
        """Find a kernel by its plain name, ``module.scale``; the module's own attributes take precedence."""
        if name.startswith("__") or "program" not in self.__dict__:
            raise AttributeError(f"a Module has no attribute {name}")
        try:
            return self[name]
        except UnknownNameError as error:
            raise AttributeError(f"a Module has no attribute {name!r}, and {error.args[0]}") from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *attribute_names(self.program.kernels)})

    @property
    def kernel(self) -> Kernel:
        """The kernel of a module with exactly one."""
        names = list(self)
        if len(names) != 1:
            raise UnknownNameError(
                f"{self.name} has {len(names)} kernels; name one: module[{names[0]!r}]" if names else
                no_kernel(self.name, self.compiler_notes)
            )  # fmt: skip
        return self[names[0]]

    def explain(self) -> ModuleExplanation:
        """Describe the contents of the PTX, without running it."""
        return explain_module(self, [self[name] for name in self])

    @property
    def device_heap(self) -> tuple[HeapBlock, ...]:
        """The blocks that ``malloc`` and ``new`` of kernels returned and no kernel has freed, by address.

        They live until they are freed, also between launches; at the end of a program they are its leaks.

        Examples
        --------
        >>> text = '''.version 8.0 .target sm_80 .address_size 64
        ... .extern .func (.param .b64 r) malloc (.param .b64 n);
        ... .entry k() { .param .b64 n, p; st.param.b64 [n], 24; call (p), malloc, (n); ret; }'''
        >>> module = Module(text)
        >>> report = module["k"][1, 1]()
        >>> [(hex(x.address), x.bytes, x.allocated) for x in module.device_heap]
        [('0x17f0000010000', 24, 'line 3')]
        """
        heap = self.variables.device_heap
        return () if heap is None else tuple(heap.in_use())

    def variable(self, name: str, dtype: DTypeLike = np.uint8) -> NDArray[Any]:
        """Return a ``__device__`` or ``__constant__`` variable, an array to be read and written between launches.

        A launch works on a copy: while a launch runs in another thread, the array holds the values from its start, and
        values written to a ``__device__`` variable in the meantime are lost at its end. Wait for the launch first.

        Raises
        ------
        UnknownNameError
            If the variable does not exist.
        ArgumentError
            If it cannot be viewed as an array of such elements, or these are not plain bytes.
        """
        raw = self.variables.read(name)
        kind = dtype_meant(dtype)
        if kind is None:
            raise ArgumentError(f"dtype={shorten(dtype)} is not a NumPy dtype, such as np.float32")
        if kind.hasobject or not kind.itemsize or raw.nbytes % kind.itemsize:
            raise ShapeError(f"{name} has {raw.nbytes} bytes, not a multiple of the size of {shorten(kind, str)}")
        return raw.view(kind)

    @errors_at_the_caller
    def set_variable(self, name: str, value: Any) -> None:
        """Write structs with pointers to arrays to a ``__device__`` or ``__constant__`` variable.

        Each launch replaces the pointers by the addresses that the arrays have in it, unless a kernel or the host has
        changed them since the last one. The arrays take part in every launch of the module.

        Parameters
        ----------
        name : str
            The variable's name in the PTX.
        value : TensorMap, Struct, ctypes.Structure, or a list of them
            They are written to the beginning of the variable. Numbers are written to the array that `variable` returns.

        Raises
        ------
        UnknownNameError
            If the variable does not exist.
        ArgumentError, ArgumentValueError
            If the value is something else, or larger than the variable.

        Examples
        --------
        >>> module = Module('''.version 8.0 .target sm_80 .address_size 64 .const .align 8 .b8 table[16];
        ... .entry sum() { .reg .b64 %p; .reg .b32 %x, %y; ld.const.u64 %p, [table]; ld.u32 %x, [%p];
        ... ld.const.u32 %y, [table+8]; add.u32 %x, %x, %y; st.u32 [%p], %x; ret; }''')
        >>> x = np.array([5], np.int32)
        >>> from wmma_emu.ptx.launch.structs import Struct
        >>> module.set_variable("table", Struct(x, np.int32(2)))
        >>> reports = [module["sum"][1, 1]() for _ in range(2)]
        >>> x
        array([9], dtype=int32)
        """
        found = structs_in_variable(value, shorten(name), self.variables.read(name).nbytes)
        content = found.pack(lambda array: 0)
        self.variables.hold(name, content, [x.offset for x in found.places])
        self.structs[name] = found


def _path_of(given: object) -> Path:
    if not isinstance(given, str | os.PathLike):
        raise ArgumentError(f"a file is named by a str or a Path, not {shorten(given)}; Module takes the PTX itself")
    path = Path(given)
    if "\0" in str(path):
        raise ArgumentValueError(f"{shorten(str(path))} is not a file name: it contains a NUL")
    return path


def _text_of(path: Path) -> str:
    try:
        # Compilers ignore comments in other encodings.
        return path.read_text(encoding="utf-8", errors="surrogateescape" if path.suffix == ".cu" else "strict")
    except UnicodeDecodeError as error:
        fix = "cuobjdump -ptx extracts the PTX of a binary"
        found = f"byte {error.start} is {error.object[error.start]:#04x}"
        raise ArgumentValueError(f"{path} is not UTF-8 text ({found}); {fix}") from None
