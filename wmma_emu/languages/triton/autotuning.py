# SPDX-License-Identifier: MIT
"""Autotuning without times: the first configuration that the chip can hold."""

from collections import ChainMap
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from wmma_emu.instructions import Arch
from wmma_emu.languages.session import Session


class FirstConfiguration:
    """Replaces ``Autotuner.prune_configs``: of the configurations that it leaves, the first that fits is taken.

    As in Triton's own tuning, a configuration that does not compile, or needs more shared memory than the chip has, is
    passed over. ``Autotuner._bench`` launches nothing and returns one time for all, so that Triton chooses the first,
    and then resets arguments (``reset_to_zero``) and calls ``pre_hook`` as after a measurement.
    """

    def __init__(self, session: Session, tuner_class: Any) -> None:
        self._session, self._class = session, tuner_class
        self._original, self._bench = tuner_class.prune_configs, tuner_class._bench
        self._disk_cache = getattr(tuner_class, "check_disk_cache", None)
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
            return [chosen, *(x for x in left if x is not chosen)]  # all have one time: Triton takes the first

        self._class.prune_configs = prune_configs
        self._class._bench = lambda tuner, *arguments, **named: [1.0, 1.0, 1.0]
        if self._disk_cache is not None:
            self._class.check_disk_cache = _without_files

    def uninstall(self) -> None:
        """Restore the methods and the choices of before; those of the emulation were made without times."""
        self._class.prune_configs, self._class._bench = self._original, self._bench
        if self._disk_cache is not None:
            self._class.check_disk_cache = self._disk_cache
        for tuner, cache in self._caches.items():
            tuner.cache = cache


def _without_files(tuner: Any, key: Any, configs: Any, measure: Callable[[], None]) -> bool:
    """Choose without the files of choices that were made by measured times, and write none."""
    measure()
    return False


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
