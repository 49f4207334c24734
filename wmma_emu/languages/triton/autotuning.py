# SPDX-License-Identifier: MIT
"""Autotuning without times: the first configuration that the chip can hold."""

from collections import ChainMap
from typing import Any
from weakref import WeakKeyDictionary

from wmma_emu.instructions import Arch
from wmma_emu.languages.session import Session


class FirstConfiguration:
    """Replaces ``Autotuner.prune_configs``: of the configurations that it leaves, the first that fits is taken.

    As in Triton's own tuning, a configuration that does not compile, or needs more shared memory than the chip has, is
    passed over. ``Autotuner._bench``, which tuners of other projects call for a single configuration, launches nothing.
    """

    def __init__(self, session: Session, tuner_class: Any) -> None:
        self._session, self._class = session, tuner_class
        self._original, self._bench = tuner_class.prune_configs, tuner_class._bench
        self._caches: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def install(self) -> None:
        """Replace the methods."""
        original, session, caches = self._original, self._session, self._caches

        def prune_configs(tuner: Any, kwargs: dict[str, Any], *more: Any, **named: Any) -> list[Any]:
            left = original(tuner, kwargs, *more, **named)
            if tuner not in caches:
                caches[tuner] = tuner.cache  # tuners of other projects keep choices in a file
                tuner.cache = ChainMap({}, tuner.cache)
            if len(left) < 2:
                return list(left)
            chosen = next((x for x in left if _fits(tuner, x, kwargs, session.arch)), left[0])
            session.note(
                f"{tuner.base_fn.__name__} is autotuned: no time is measured, and of {len(left)} configurations the "
                f"first that fits is taken, {chosen}"
            )
            return [chosen]

        self._class.prune_configs = prune_configs
        self._class._bench = lambda tuner, *arguments, **named: [1.0, 1.0, 1.0]

    def uninstall(self) -> None:
        """Restore the methods and the choices of before; those of the emulation were made without times."""
        self._class.prune_configs, self._class._bench = self._original, self._bench
        for tuner, cache in self._caches.items():
            tuner.cache = cache


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
