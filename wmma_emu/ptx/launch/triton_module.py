# SPDX-License-Identifier: MIT
"""A Triton function, compiled for types, for arguments, or for the arguments of its launches, as Triton itself does."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from wmma_emu.errors import ArgumentError, CompilationError, OptionError, UnknownNameError, shorten
from wmma_emu.instructions import Arch
from wmma_emu.ptx.launch.calls import errors_at_the_caller
from wmma_emu.ptx.launch.kernel import Kernel
from wmma_emu.ptx.launch.options import LaunchOptions
from wmma_emu.ptx.launch.triton_arguments import plain, tensors
from wmma_emu.ptx.launch.triton_compiled import CompiledTriton
from wmma_emu.ptx.launch.triton_driver import device_of, emulated_target
from wmma_emu.ptx.launch.triton_kernel import TritonKernel, TritonLaunch
from wmma_emu.ptx.launch.triton_source import compilation_errors, compile_signature, compiled_triton, jit_function


class SingleKernelModule(Protocol):
    """A module that has one kernel."""

    @property
    def kernel(self) -> Kernel:
        """That kernel."""


_Module = TypeVar("_Module", bound=SingleKernelModule)


class Specialised(NamedTuple):
    """What Triton made of a launch: ``key`` is the same for the same kernel, ``bound`` has all arguments by name.

    ``unlike`` says which of other arguments, by name, Triton would specialise otherwise.
    """

    compiled: CompiledTriton
    key: str
    bound: dict[str, Any]
    mismatches: Callable[[Mapping[str, Any]], tuple[str, ...]]


def specialise(function: Any, arch: Arch, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Specialised:
    """Compile a Triton function as a launch with these arguments does, by Triton's own code; nothing is launched.

    NumPy arrays stand for tensors, keywords are parameters and options: ``BLOCK=128, num_warps=8``. `triton.heuristics`
    add their values.
    """
    jit = jit_function(function)
    bound: dict[str, Any] = {}
    found: list[Any] = []

    def bind(*given: Any, **named: Any) -> None:
        values, special = _bound(jit, arch, given, named)
        bound.update(values)
        found[:] = special

    with emulated_target(arch), compilation_errors(jit):
        # Triton calls it with what heuristics added, before it looks for a kernel.
        jit.add_pre_run_hook(bind)
        try:
            kernel = function.warmup(
                *map(tensors, arguments), grid=None, **{name: tensors(x) for name, x in keywords.items()}
            )
        finally:
            jit.pre_run_hooks.remove(bind)
    if kernel is None:
        raise CompilationError(f"{jit.fn.__name__} was not compiled: triton.knobs.runtime.jit_cache_hook kept it back")
    given = [x.name for x in jit.params if not x.is_constexpr]
    values = {name: plain(x) for name, x in bound.items()}
    # A launch brings all that it gives: what is kept holds no array of the user.
    kept = {name: x for name, x in values.items() if name not in given}

    def mismatches(others: Mapping[str, Any]) -> tuple[str, ...]:
        _, now = _bound(jit, arch, (), {name: tensors(x) for name, x in {**kept, **others}.items()})
        names = [x for x, a, b in zip(jit.arg_names, found, now, strict=False) if a != b]
        text = "compiled for other arguments than these, for which Triton's own launch would compile the kernel anew"
        return (f"{', '.join(names)}: {text}",) if names else ()

    return Specialised(compiled_triton(kernel, given), kernel.hash, values, mismatches)


def _bound(jit: Any, arch: Arch, given: Sequence[Any], named: Mapping[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """All arguments by name, with their defaults, and the specialisation of each, as Triton's own binder has them."""
    *_, backend, binder = jit.device_caches[device_of(arch)]
    name, listed = jit.fn.__name__, ", ".join(jit.arg_names)
    try:
        bound, special, options = binder(*given, **named)
    except (TypeError, KeyError, OverflowError) as error:
        reason = str(error).replace("dynamic_func()", name)
        raise ArgumentError(
            f"{name}({listed}) does not take these arguments: {reason}; it takes NumPy arrays, numbers of Python, "
            "tuples of them and None"
        ) from error
    known = vars(backend.parse_options({}))
    if unknown := [x for x in options if x not in known]:
        raise ArgumentError(
            f"{name}({listed}) has no parameter {unknown[0]}, and Triton no such option; its options are "
            f"{', '.join(known)}; those of a launch here {', '.join(_OPTIONS)}"
        )
    return dict(bound), special


def compile_request(
    function: Any, arch: Arch, constexprs: Mapping[str, Any], options: Mapping[str, Any],
    signature: Mapping[str, Any] | None, arguments: Sequence[Any] | None, divisible_by_16: Iterable[str] | None,
) -> CompiledTriton | None:  # fmt: skip
    """Compile for types or for arguments; None where there are neither, and each launch asks for its own."""
    if signature is not None and arguments is not None:
        raise ArgumentError("from_triton takes a signature or arguments; the types are those of arguments")
    if signature is not None:
        return compile_signature(
            function, signature, constexprs, arch, divisible_by_16=divisible_by_16, options=options
        )
    if divisible_by_16 is not None:
        raise ArgumentError("divisible_by_16 goes with a signature; Triton finds it out from the arguments of a launch")
    return None if arguments is None else _for_arguments(function, arch, constexprs, options, arguments)


def _for_arguments(
    function: Any, arch: Arch, constexprs: Mapping[str, Any], options: Mapping[str, Any], arguments: Sequence[Any]
) -> CompiledTriton:
    jit = jit_function(function)
    computed = _from_heuristics(function)
    runtime = [x.name for x in jit.params if not x.is_constexpr]
    if wrong := [x for x in runtime if x in computed]:
        raise ArgumentError(
            f"triton.heuristics compute {wrong[0]} of {jit.fn.__name__}, no tl.constexpr, anew in each launch: "
            "leave arguments out, and each launch is compiled for its own"
        )
    if wrong := [x for x in constexprs if x in runtime]:
        raise ArgumentError(f"{wrong[0]} of {jit.fn.__name__} is no tl.constexpr; give it among the arguments")
    if len(arguments) != len(runtime):
        raise ArgumentError(
            f"{jit.fn.__name__} takes {len(runtime)} arguments that are no constexpr, {', '.join(runtime)}; "
            f"{len(arguments)} were given"
        )
    named = {**dict(zip(runtime, arguments, strict=True)), **constexprs, **options}
    made = specialise(function, arch, (), named)
    return made.compiled._replace(given=tuple(runtime), mismatches=made.mismatches)


def _from_heuristics(function: Any) -> set[str]:
    """Parameters that `triton.heuristics` compute."""
    found: set[str] = set()
    while hasattr(function, "fn"):
        found.update(getattr(function, "values", None) or ())
        function = function.fn
    return found


_OPTIONS = tuple(x.name for x in fields(LaunchOptions))


class TritonModule(Generic[_Module]):
    """What a Triton function is compiled to, launch by launch: `Module.from_triton` without types or arguments.

    Attributes
    ----------
    kernel : TritonFunction
    variants : tuple of Module
        One for each specialisation that was launched, in order.
    """

    def __init__(
        self, function: Any, arch: Arch, defaults: Mapping[str, Any],
        make: Callable[[CompiledTriton], _Module],
    ) -> None:  # fmt: skip
        self.arch, self._make = arch, make
        self._variants: dict[str, _Module] = {}
        self.kernel = TritonFunction(self, function, defaults)

    def __repr__(self) -> str:
        return f"<module {self.kernel.called} on {self.arch}, compiled for each launch: {len(self._variants)} so far>"

    def __getitem__(self, name: str) -> "TritonFunction[_Module]":
        if name != self.kernel.called:
            raise UnknownNameError(f"the kernel is {self.kernel.called}, not {shorten(name)}")
        return self.kernel

    @property
    def variants(self) -> tuple[_Module, ...]:
        """The modules that were made so far."""
        return tuple(self._variants.values())

    def explain(self) -> None:
        """Refuse: what there is to explain depends on the arguments of a launch.

        Raises
        ------
        UnsupportedInstructionError
        """
        raise OptionError(
            f"{self.kernel.called} is compiled for the arguments of each launch: ask module.kernel.module(*arguments)"
            ".explain() with some, or one of module.variants after a launch"
        )

    def variant(self, found: Specialised) -> _Module:
        """Return the module of a specialisation, made once."""
        if found.key not in self._variants:
            # Of two threads that come at once, the second gets what the first has made.
            self._variants.setdefault(found.key, self._make(found.compiled))
        return self._variants[found.key]


class TritonFunction(Generic[_Module]):
    """A Triton function, launched as Triton does: ``kernel[grid](*arguments, **keywords)``.

    ``keywords`` are parameters, options of Triton's compiler and options of the launch (`LaunchOptions`).
    """

    def __init__(self, module: TritonModule[_Module], function: Any, defaults: Mapping[str, Any]) -> None:
        self._module, self._function, self._defaults = module, function, dict(defaults)
        self._names = tuple(jit_function(function).arg_names)
        self.called = jit_function(function).fn.__name__

    def __repr__(self) -> str:
        return f"<kernel {self.called}({', '.join(self._names)}) on {self._module.arch}>"

    def __getitem__(self, grid: Any) -> TritonLaunch:
        """Choose the grid: an integer, a tuple of up to three, or a function of the arguments."""
        return TritonLaunch(self.called, grid, self._bind)

    @errors_at_the_caller
    def module(self, *arguments: Any, **keywords: Any) -> _Module:
        """Compile for arguments of a launch, without launching: its text, and what is in it."""
        return self._module.variant(self._specialise(arguments, keywords))

    def _bind(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> tuple[TritonKernel, dict[str, Any]]:
        named = {x: keywords.pop(x) for x in list(keywords) if x in self._names or x not in _OPTIONS}
        found = self._specialise(arguments, named)
        kernel = self._module.variant(found).kernel
        if not isinstance(kernel, TritonKernel):
            raise TypeError("a variant of a Triton function has a Triton kernel")
        return kernel, found.bound

    def _specialise(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> Specialised:
        return specialise(self._function, self._module.arch, arguments, {**self._defaults, **named})
