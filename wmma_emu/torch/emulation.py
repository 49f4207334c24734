# SPDX-License-Identifier: MIT
"""The switch for PyTorch's matrix products: a context, a decorator, and a wrapper of modules."""

import inspect
import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from types import TracebackType
from typing import Any

import torch

from wmma_emu.errors import CallError, shorten
from wmma_emu.instructions import Arch
from wmma_emu.models import EmulationLog, EmulationOptions, options_of
from wmma_emu.models.recipes import Recipe, StepErrors
from wmma_emu.torch.fused_paths import without_fused_paths
from wmma_emu.torch.mode import ProductMode
from wmma_emu.torch.products import Multiplier
from wmma_emu.torch.recipes import Keep, layers_in_recipes, layers_of
from wmma_emu.torch.wrapper import EmulatedModule

_SUSPENDED = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)


class Emulation:
    """An emulation of a chip's matrix products, made by `emulate`. A copy has a separate log.

    Attributes
    ----------
    options : EmulationOptions
    log : EmulationLog
        The products up to now.
    errors : StepErrors
        The errors of the products of a recipe, with ``errors=True``.
    """

    def __init__(
        self, options: EmulationOptions, recipe: object = None, high_precision: Keep = (), errors: bool = False,
        seed: int = 0,
    ) -> None:  # fmt: skip
        self.options = options
        self._multiply = Multiplier(options)
        self._layers = layers_of(self._multiply, recipe, high_precision, errors, seed)
        self._given = (options, recipe, high_precision, errors, seed)
        self._of_thread = threading.local()

    @property
    def log(self) -> EmulationLog:
        """The products up to now, and what was not emulated."""
        return self._multiply.log

    @property
    def errors(self) -> StepErrors:
        """The errors of the products of a recipe up to now."""
        return StepErrors() if self._layers is None else self._layers.errors

    @property
    def recipe(self) -> Recipe | None:
        """The recipe of linear layers; None without one."""
        return None if self._layers is None else self._layers.multiply.recipe

    @property
    def multiplier(self) -> Multiplier:
        """The object that multiplies, for comparisons of emulations."""
        return self._multiply

    def mode(self) -> ProductMode:
        """Return a mode of PyTorch that multiplies."""
        return ProductMode(self._multiply, self._layers)

    def switches(self) -> ExitStack:
        """Set the switches of the whole process; closing the result restores them."""
        stack = ExitStack()
        stack.enter_context(without_fused_paths())
        if self._layers is not None:
            stack.enter_context(layers_in_recipes())
        return stack

    @property
    def _entered(self) -> list[ExitStack]:
        """The emulations of this thread, one in another."""
        found: list[ExitStack] = self._of_thread.__dict__.setdefault("entered", [])
        return found

    def __enter__(self) -> "Emulation":
        stack = self.switches()
        if not self._entered:
            self._multiply.places.begin()
        stack.enter_context(self.mode())
        self._entered.append(stack)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, where: TracebackType | None
    ) -> None:
        if not self._entered:
            raise CallError("this emulation is not on: `with` enters it, and leaves it once")
        self._entered.pop().close()
        if not self._entered:
            self._multiply.places.end()

    def __call__(self, what: Any) -> Any:
        """Return a function, or a module, that always runs in this emulation.

        The gradient of a module is computed in the emulation, too, wherever ``backward`` is called.

        Raises
        ------
        CallError
            If it is neither; or a generator or a coroutine, which other code interrupts.
        """
        if isinstance(what, torch.nn.Module):
            return EmulatedModule(what, self)
        if not callable(what) or isinstance(what, type):
            raise CallError(
                f"an emulation wraps a function or a torch.nn.Module, not {shorten(what)}; for a block of code write "
                "with wmma_emu.torch.emulate(...):"
            )
        if any(is_one(what) for is_one in _SUSPENDED):
            name = shorten(getattr(what, "__name__", what))
            raise CallError(
                f"{name} is a generator or a coroutine, which other code interrupts; write with "
                "wmma_emu.torch.emulate(...): around the products in it"
            )
        return self._function(what)

    def __reduce__(self) -> Any:
        return Emulation, self._given

    def _function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def run(*arguments: Any, **named: Any) -> Any:
            with self:
                return function(*arguments, **named)

        return run

    def __repr__(self) -> str:
        return f"<emulation of {self.options.arch or 'nothing'}, {len(self.log)} products>"


def emulate(
    arch: str | Arch | None, *, recipe: str | Recipe | None = None, high_precision: Keep = (), errors: bool = False,
    seed: int = 0, **options: Any,
) -> Emulation:  # fmt: skip
    """Compute every matrix product of PyTorch with the bits of a chip, forward and backward, in unedited code.

    Use the result in ``with``, as a decorator, or on a module, which returns one that is always emulated. Tensors may
    be on the CPU or on a GPU, where CuPy (the extra ``gpu``) multiplies them. Emulations belong to a thread, and may be
    nested: the innermost counts, and ``emulate(None)`` is a region without emulation. Code of ``torch.compile`` runs
    uncompiled.

    Parameters
    ----------
    arch : str or Arch or None
        The chip: ``"a100"``, ``"sm_90"``, ...
    recipe : str or Recipe, optional
        The recipe of linear layers in low precision, an entry of `RECIPES`: ``"te_delayed"``, ``"te_mxfp8"``, ...
    high_precision : str, iterable of str, or callable, optional
        The linear layers without the recipe: patterns of the names in the log, such as ``"*.head"``, or a function.
    errors : bool
        Whether the errors of the recipe's products are measured, which about doubles the time.
    seed : int
        The seed of stochastic rounding.
    **options
        `EmulationOptions`: ``like``, ``k_order``, ``tf32_conversion``, ``convolution_order``, ``attention_tile``, ...

    Returns
    -------
    Emulation
        Its ``log`` has every product.

    Raises
    ------
    UnsupportedInstructionError
        If the chip or an option does not exist.

    Notes
    -----
    `OPERATIONS` lists the operations of ATen that become products; those that ATen composes of them, such as ``linear``
    and ``einsum``, need no entry. Every product equals `wmma_emu.gemm` of the same operands, with a plain loop over k
    unless ``like`` or ``k_order`` say otherwise. Float32 products are TF32 where PyTorch would use it on a GPU:
    ``torch.set_float32_matmul_precision``, ``torch.backends.cuda.matmul`` and, for convolutions, where PyTorch allows
    it by default, ``torch.backends.cudnn``. `UNTOUCHED` lists what is computed by PyTorch on the host; elementwise
    operations and reductions are, too.

    Examples
    --------
    >>> import torch, wmma_emu as we
    >>> A, B = torch.full((1, 16), 1.75 * 2**-12).half(), torch.full((16, 1), 2**-12).half()
    >>> A[0, 0] = B[0, 0] = 1
    >>> for chip in ("v100", "a100", "h100"):
    ...     with we.torch.emulate(chip) as emulation:
    ...         d = torch.mm(A, B, out_dtype=torch.float32)
    ...     print(chip, hex(d.view(torch.int32).item()), emulation.log[0].arithmetic)
    v100 0x3f800000 recorded
    a100 0x3f800007 recorded
    h100 0x3f80000b measured
    """
    return Emulation(options_of(arch, options), recipe, high_precision, errors, seed)
