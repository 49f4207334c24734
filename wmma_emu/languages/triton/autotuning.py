# SPDX-License-Identifier: MIT
"""Autotuning without times: the first configuration that the chip can hold."""

from typing import Any
from weakref import WeakSet

from wmma_emu.instructions import Arch
from wmma_emu.languages.session import Session


class FirstConfiguration:
    """Replaces ``Autotuner.prune_configs``: of the configurations that it leaves, the first that fits is taken.

    As in Triton's own tuning, a configuration that does not compile, or needs more shared memory than the chip has, is
    passed over.
    """

    def __init__(self, session: Session, tuner_class: Any) -> None:
        self._session, self._class = session, tuner_class
        self._original = tuner_class.prune_configs
        self._tuners: WeakSet[Any] = WeakSet()

    def install(self) -> None:
        """Replace the method."""
        original, session, tuners = self._original, self._session, self._tuners

        def prune_configs(tuner: Any, kwargs: dict[str, Any], *more: Any, **named: Any) -> list[Any]:
            left = original(tuner, kwargs, *more, **named)
            tuners.add(tuner)
            if len(left) < 2:
                return list(left)
            chosen = next((x for x in left if _fits(tuner, x, kwargs, session.arch)), left[0])
            session.note(
                f"{tuner.base_fn.__name__} is autotuned: no time is measured, and of {len(left)} configurations the "
                f"first that fits is taken, {chosen}"
            )
            return [chosen]

        self._class.prune_configs = prune_configs

    def uninstall(self) -> None:
        """Restore the method, and forget the choices, which were made without times."""
        self._class.prune_configs = self._original
        for tuner in self._tuners:
            tuner.cache.clear()


def _fits(tuner: Any, config: Any, kwargs: dict[str, Any], arch: Arch) -> bool:
    from triton.compiler.errors import CompileTimeAssertionFailure
    from triton.runtime.errors import OutOfResources

    named = {**kwargs, **config.all_kwargs()}
    if config.pre_hook is not None:
        config.pre_hook({**tuner.nargs, **named})
    named.pop("warmup", None)
    try:
        kernel = tuner.fn.warmup(*tuner.nargs.values(), **named)
    except (CompileTimeAssertionFailure, OutOfResources):
        return False
    return kernel is None or bool(kernel.metadata.shared <= arch.shared_kib.value * 1024)
