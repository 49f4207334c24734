# SPDX-License-Identifier: MIT
"""A Triton function, compiled for types, for arguments, or for the arguments of each launch, as Triton itself does."""

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
    """A module with one kernel."""

    @property
    def kernel(self) -> Kernel:
        """The only kernel."""


_Module = TypeVar("_Module", bound=SingleKernelModule)


class Specialised(NamedTuple):
    """The result of specialising a launch: ``key`` identifies the kernel, ``bound`` are all arguments by name.

    ``mismatches`` names those of other arguments that Triton would specialise differently.
    """

    compiled: CompiledTriton
    key: str
    bound: dict[str, Any]
    mismatches: Callable[[Mapping[str, Any]], tuple[str, ...]]


def specialise(
    function: Any, arch: Arch, arguments: Sequence[Any], keywords: Mapping[str, Any], addresses: str = "emulator"
) -> Specialised:  # fmt: skip
    """Compile a Triton function as a launch with these arguments would, with Triton's own code, without launching it.

    NumPy arrays represent tensors; keywords are parameters and options: ``BLOCK=128, num_warps=8``.
    `triton.heuristics` add their values.
    """
    jit = jit_function(function)
    bound: dict[str, Any] = {}
    found: list[Any] = []

    def bind(*given: Any, **named: Any) -> None:
        values, special = _bound(jit, arch, given, named)
        bound.update(values)
        found[:] = special

    with emulated_target(arch), compilation_errors(jit):
        # Triton calls the hook with the values of heuristics, before it looks for a kernel.
        jit.add_pre_run_hook(bind)
        try:
            kernel = function.warmup(
                *(tensors(x, addresses) for x in arguments), grid=None,
                **{name: tensors(x, addresses) for name, x in keywords.items()},
            )  # fmt: skip
        finally:
            jit.pre_run_hooks.remove(bind)
    if kernel is None:
        raise CompilationError(f"{jit.fn.__name__} was not compiled: triton.knobs.runtime.jit_cache_hook prevented it")
    given = [x.name for x in jit.params if not x.is_constexpr]
    values = {name: plain(x) for name, x in bound.items()}
    # A launch passes its own arguments, so that no array of the user is kept here.
    kept = {name: x for name, x in values.items() if name not in given}

    def mismatches(others: Mapping[str, Any]) -> tuple[str, ...]:
        _, now = _bound(jit, arch, (), {name: tensors(x, addresses) for name, x in {**kept, **others}.items()})
        names = [x for x, a, b in zip(jit.arg_names, found, now, strict=False) if a != b]
        text = "compiled for other arguments; Triton's own launch would compile the kernel again for these"
        return (f"{', '.join(names)}: {text}",) if names else ()

    return Specialised(compiled_triton(kernel, given), kernel.hash, values, mismatches)


def _bound(jit: Any, arch: Arch, given: Sequence[Any], named: Mapping[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """Return all arguments by name with their defaults, and their specialisations, from Triton's own binder."""
    *_, backend, binder = jit.device_caches[device_of(arch)]
    name, listed = jit.fn.__name__, ", ".join(jit.arg_names)
    try:
        bound, special, options = binder(*given, **named)
    except (TypeError, KeyError, OverflowError) as error:
        reason = str(error).replace("dynamic_func()", name)
        raise ArgumentError(
            f"{name}({listed}) does not accept these arguments: {reason}; it accepts NumPy arrays, Python numbers, "
            "tuples of them and None"
        ) from error
    known = vars(backend.parse_options({}))
    if unknown := [x for x in options if x not in known]:
        raise ArgumentError(
            f"{name}({listed}) has no parameter {unknown[0]}, and Triton has no such option; Triton's options are "
            f"{', '.join(known)}; the options of a launch are {', '.join(_OPTIONS)}"
        )
    return dict(bound), special


def compile_request(
    function: Any, arch: Arch, constexprs: Mapping[str, Any], options: Mapping[str, Any],
    signature: Mapping[str, Any] | None, arguments: Sequence[Any] | None, divisible_by_16: Iterable[str] | None,
) -> CompiledTriton | None:  # fmt: skip
    """Compile for types or for arguments; return None without either, if each launch compiles for its own."""
    if signature is not None and arguments is not None:
        raise ArgumentError("from_triton takes a signature or arguments, not both; arguments determine the types")
    if signature is not None:
        return compile_signature(
            function, signature, constexprs, arch, divisible_by_16=divisible_by_16, options=options
        )
    if divisible_by_16 is not None:
        raise ArgumentError("divisible_by_16 needs a signature; with arguments, Triton determines it from their values")
    return None if arguments is None else _for_arguments(function, arch, constexprs, options, arguments)


def _for_arguments(
    function: Any, arch: Arch, constexprs: Mapping[str, Any], options: Mapping[str, Any], arguments: Sequence[Any]
) -> CompiledTriton:
    jit = jit_function(function)
    computed = _from_heuristics(function)
    runtime = [x.name for x in jit.params if not x.is_constexpr]
    if wrong := [x for x in runtime if x in computed]:
        raise ArgumentError(
            f"triton.heuristics compute {wrong[0]} of {jit.fn.__name__} in each launch; it is not a tl.constexpr: "
            "omit arguments=, so that each launch is compiled for its own"
        )
    if wrong := [x for x in constexprs if x in runtime]:
        raise ArgumentError(f"{wrong[0]} of {jit.fn.__name__} is not a tl.constexpr; pass it among the arguments")
    if len(arguments) != len(runtime):
        raise ArgumentError(
            f"{jit.fn.__name__} takes {len(runtime)} arguments that are not constexpr, {', '.join(runtime)}; "
            f"{len(arguments)} were given"
        )
    named = {**dict(zip(runtime, arguments, strict=True)), **constexprs, **options}
    made = specialise(function, arch, (), named)
    return made.compiled._replace(given=tuple(runtime), mismatches=made.mismatches)


def _from_heuristics(function: Any) -> set[str]:
    """Return the parameters that `triton.heuristics` compute."""
    found: set[str] = set()
    while hasattr(function, "fn"):
        found.update(getattr(function, "values", None) or ())
        function = function.fn
    return found


_OPTIONS = tuple(x.name for x in fields(LaunchOptions))


class TritonModule(Generic[_Module]):
    """A Triton function, compiled launch by launch: `Module.from_triton` without types or arguments.

    Attributes
    ----------
    kernel : TritonFunction
    variants : tuple of Module
        The modules of all launched specialisations, in order.
    """

    def __init__(
        self, function: Any, arch: Arch, defaults: Mapping[str, Any],
        make: Callable[[CompiledTriton], _Module], addresses: str = "emulator",
    ) -> None:  # fmt: skip
        self.arch, self._make, self.addresses = arch, make, addresses
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
        """The modules compiled so far."""
        return tuple(self._variants.values())

    def explain(self) -> None:
        """Raise an error: the contents depend on the arguments of a launch.

        Raises
        ------
        UnsupportedInstructionError
        """
        raise OptionError(
            f"{self.kernel.called} is compiled for the arguments of each launch: call module.kernel.module(*arguments)"
            ".explain() with arguments, or explain() of one of module.variants after a launch"
        )

    def variant(self, found: Specialised) -> _Module:
        """Return the module of a specialisation, compiled once."""
        if found.key not in self._variants:
            # If two threads arrive at once, the second one gets the first one's module.
            self._variants.setdefault(found.key, self._make(found.compiled))
        return self._variants[found.key]


class TritonFunction(Generic[_Module]):
    """A Triton function, launched as in Triton: ``kernel[grid](*arguments, **keywords)``.

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
        """Compile for the arguments of a launch without launching, and return the module."""
        return self._module.variant(self._specialise(arguments, keywords, self._module.addresses))

    def _bind(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> tuple[TritonKernel, dict[str, Any]]:
        named = {x: keywords.pop(x) for x in list(keywords) if x in self._names or x not in _OPTIONS}
        found = self._specialise(arguments, named, keywords.get("addresses", self._module.addresses))
        kernel = self._module.variant(found).kernel
        if not isinstance(kernel, TritonKernel):
            raise TypeError("a variant of a Triton function has a Triton kernel")
        return kernel, found.bound

    def _specialise(self, arguments: Sequence[Any], named: Mapping[str, Any], addresses: str) -> Specialised:
        return specialise(self._function, self._module.arch, arguments, {**self._defaults, **named}, addresses)
