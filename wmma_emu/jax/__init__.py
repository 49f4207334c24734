# SPDX-License-Identifier: MIT
"""Matrix products of JAX with the bits of a chip, under `jit`, `grad`, `vmap` and `scan`.

The package imports JAX at its first use, not before.
"""

from wmma_emu.first_use import on_first_use

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from wmma_emu.jax.emulation import JaxEmulation, emulate

__all__ = ["JaxEmulation", "emulate"]

_HOMES = {"emulation": ("JaxEmulation", "emulate")}
"""The module of every public name."""

if not TYPE_CHECKING:  # type checkers would accept any name if they saw __getattr__
    _found, __dir__ = on_first_use(__name__, __all__, _HOMES)

    def __getattr__(name: str) -> object:
        try:
            return _found(name)
        except ModuleNotFoundError as error:
            if error.name != "jax":
                raise
            from wmma_emu.errors import MissingModuleError

            raise MissingModuleError(
                f"wmma_emu.jax.{name} needs JAX, which is not installed; JAX for the CPU is enough: pip install jax"
            ) from error
