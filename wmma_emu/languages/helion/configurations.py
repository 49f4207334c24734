# SPDX-License-Identifier: MIT
"""Helion's configurations without times: the default configuration, or the first of a list."""

from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakSet

from wmma_emu.instructions import Arch
from wmma_emu.languages.session import Session

Fits = Callable[[Any, Any, Any, Arch], bool]
"""Whether a bound kernel, with a configuration and arguments, compiles and fits into a chip's shared memory."""


class DefaultConfiguration:
    """Replaces ``Backend.autotune``: a kernel takes the first of its configurations that fits.

    A kernel without configurations takes Helion's default. If that does not fit, its block sizes are halved one after
    the other, as Helion does for its reference.
    """

    def __init__(self, session: Session, backend_class: Any, fits: Fits | None = None) -> None:
        self._session, self._class, self._fits = session, backend_class, fits or _fits
        self._original = backend_class.autotune
        self._kernels: WeakSet[Any] = WeakSet()

    def install(self) -> None:
        """Replace the method."""
        original, session, kernels, fits = self._original, self._session, self._kernels, self._fits

        def autotune(backend: Any, bound: Any, arguments: Any, *, force: bool = True, **named: Any) -> Any:
            kernels.add(bound.kernel)
            given = [] if force or bound.settings.force_autotune else bound.kernel.configs
            if len(given) == 1 or bound.settings.autotune_effort == "none":
                return original(backend, bound, arguments, force=force, **named)
            candidates = list(given or _defaults(bound.config_spec))
            chosen = next((x for x in candidates if fits(bound, x, arguments, session.arch)), candidates[0])
            among = f"of {len(given)} configurations the first that fits" if given else "the default configuration"
            said = f"no time is measured, and {among} is taken, {chosen}"
            session.note(f"{bound.kernel.name} is autotuned by Helion: {said}")
            return chosen

        self._class.autotune = autotune

    def uninstall(self) -> None:
        """Restore the method, and forget the choices, which were made without times."""
        self._class.autotune = self._original
        for kernel in self._kernels:
            kernel.reset()


def _defaults(spec: Any) -> Iterator[Any]:
    """Yield the default configuration, and the smaller ones that follow it."""
    config = spec.default_config()
    while config is not None:
        yield config
        config = spec.shrink_block_sizes_once(config)


class _Compiled(Exception):
    """Ends a call before its launch, with the bytes of shared memory that the kernel needs."""


def _fits(bound: Any, config: Any, arguments: Any, arch: Arch) -> bool:
    from helion.runtime.triton.launcher import compile_only_launch_args
    from triton.compiler.errors import CompilationError
    from triton.runtime.errors import OutOfResources

    def compile_only(kernel: Any, grid: Any, *given: Any, **named: Any) -> None:
        values, options = compile_only_launch_args(*given, **named)
        compiled = kernel.run(*values, grid=grid, warmup=True, **{x: y for x, y in options.items() if y is not None})
        raise _Compiled(compiled.metadata.shared)

    try:
        bound.compile_config(config, allow_print=False)(*arguments, _launcher=compile_only)
    except _Compiled as end:
        return bool(end.args[0] <= arch.shared_kib.value * 1024)
    except (CompilationError, OutOfResources):
        return False
    return True
