# SPDX-License-Identifier: MIT
"""The engines by name, and the one call through which every product goes."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np

from wmma_emu.arithmetic.blocks import Progress, multiply_blocks, thread_count
from wmma_emu.arithmetic.compiled_code import Stopwatch, is_side_by_side, note_seconds, pays
from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.scaled_codes import with_scales
from wmma_emu.display import note_once
from wmma_emu.documentation import how_to_install
from wmma_emu.errors import BackendUnavailableError, OptionError, ShapeError, UnsupportedInstructionError, shorten
from wmma_emu.formats.codec import Bits


@dataclass(frozen=True, slots=True)
class Engine:
    """One way to compute products; all give the same bits.

    Parameters
    ----------
    name : str
    library : str
        What it needs besides NumPy: the module's name, ``""`` for nothing.
    extra : str
        Name of the extra of this package that installs it.
    module : str
        Where it is, in this room: a function ``multiply_block``, or ``matmul`` where ``whole``; and if it does not
        compute everything, ``has``. Imported when it is first used.
    whole : bool
        Whether it takes whole matrices, and not blocks in threads.
    few_threads : int
        Threads beyond which tiles gain nothing, waiting for the interpreter's lock; 0 where they go on gaining.
    """

    name: str
    library: str
    extra: str
    module: str
    whole: bool = False
    few_threads: int = 0

    def load(self) -> Any:
        """Import the engine's module."""
        return importlib.import_module(f"{__package__}.{self.module}")

    def has(self, product: DotProduct) -> bool:
        """Whether it computes a product; its library has to be there."""
        has: Callable[[DotProduct], bool] | None = getattr(self.load(), "has", None)
        return has is None or has(product)


ENGINES: dict[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine("reference", "", "", "reference_engine", few_threads=1),
        Engine("numpy", "", "", "numpy_engine", few_threads=4),
        Engine("numba", "numba", "fast", "numba_engine"),
        Engine("cupy", "cupy", "gpu", "cupy_engine", whole=True),
    )
}
"""Every engine: all give the same bits."""


def check_engine(engine: str) -> str:
    """Check that an engine exists, and that what it needs is installed; ``"auto"`` always is.

    Raises
    ------
    UnsupportedInstructionError
        For an engine that does not exist.
    BackendUnavailableError
        For one whose library cannot be imported.
    """
    if isinstance(engine, str) and engine == "auto":
        return engine
    if not isinstance(engine, str) or engine not in ENGINES:
        raise OptionError(
            f"there is no engine {shorten(engine)}; the engines are 'auto', {', '.join(map(repr, ENGINES))}"
        )
    if problem := _problem(engine):
        needed, remedy = ENGINES[engine], "mend that"
        if problem == _MISSING:
            remedy = f"install the extra `{needed.extra}` ({how_to_install(needed.extra)})"
        raise BackendUnavailableError(
            f"engine={engine!r} needs {needed.library}, {problem}; {remedy}, or leave engine out"
        )
    return engine


def is_installed(engine: str) -> bool:
    """Tell whether an engine's library can be used."""
    return not _problem(engine)


_MISSING = "which is not installed"


@cache
def _problem(engine: str) -> str:
    """Say why an engine's library cannot be used; nothing if it can."""
    library = ENGINES[engine].library
    if not library:
        return ""
    try:
        importlib.import_module(library)
        ENGINES[engine].load()
    except ModuleNotFoundError as error:
        return _MISSING if error.name == library else f"which cannot be imported ({error})"
    except Exception as error:  # a library that does not fit the others says so in many ways
        return f"which cannot be imported ({shorten(error, str)})"
    return ""


def fastest(product: DotProduct, batch: int, m: int, n: int, k: int, *, side_by_side: bool = False) -> str:
    """Choose the engine for ``"auto"``, by the shape, what NumPy has spent so far, and what is compiled already.

    ``side_by_side`` says that compiled code would take the matrices so, however few they are.
    """
    if not ENGINES["numpy"].has(product):
        return "reference"  # of a model that no row of the table has
    if product.model.arithmetic in ("integer", "popcount"):
        return "numpy"  # BLAS in either
    side_by_side = side_by_side or is_side_by_side(batch, m * n, k)
    instructions = k // product.k * (1 if side_by_side else batch)

    def is_kept() -> bool | None:
        if problem := _problem("numba"):
            how = f"; {how_to_install('fast')}" if problem == _MISSING else ""
            note_once(f"engine='auto' takes numpy, because of numba, the faster engine, {problem}{how}")
            return None
        found: bool = ENGINES["numba"].load().is_kept(product, side_by_side)
        return found

    if not pays(product, side_by_side, batch * m * n * k, instructions, is_kept):
        return "numpy"
    return "numba" if ENGINES["numba"].has(product) else "numpy"


def matmul(
    product: DotProduct,
    a: Bits,
    b: Bits,
    c: Bits,
    engine: str = "auto",
    progress: Progress | None = None,
    threads: int | None = None,
    *,
    scale_a: Bits | None = None,
    scale_b: Bits | None = None,
) -> Bits:
    """Compute D = A B + C on bit patterns, with the model of one instruction on one chip.

    Parameters
    ----------
    product : DotProduct
    a : unsigned integer array, shape (..., M, K)
    b : unsigned integer array, shape (..., K, N)
    c : unsigned integer array, shape (..., M, N)
        Patterns of the product's formats. Leading axes broadcast as in `numpy.matmul`. K is the instruction's k
        or, where D can be the next instruction's C, a multiple of it: instructions follow one another over
        ascending k.
    engine : {"auto", "reference", "numpy", "numba", "cupy"}
        By default the one that fits: numba where its code is compiled already, or where NumPy, with what it has spent
        on such products so far in this process, would take a tenth of a second (half a second before numba is imported)
        and numba has its code on disk, or two seconds and it has not; NumPy for less, and for integers; the reference
        for models far from those of chips.
    progress : callable, optional
        Called with the share of the work that is done.
    threads : int, optional
        The most threads that are used. By default every core; of NumPy's tiles at most four, because more wait for one
        another (on 16 cores 8 threads were slower than 4). The cupy engine uses none.
    scale_a : unsigned integer array, shape (..., M, K / product.scale_block), optional
    scale_b : unsigned integer array, shape (..., K / product.scale_block, N), optional
        Patterns of the block scales, in ``product.scale``: wanted where the instruction has them, and else refused.

    Returns
    -------
    unsigned integer array, shape (..., M, N)

    Raises
    ------
    UnsupportedInstructionError
        For an engine that does not exist, or that lacks the product's arithmetic.
    BackendUnavailableError
        For an engine that is not installed.
    FragmentMismatchError
        For a K that is no multiple of the instruction's, and for scales that do not belong.

    Examples
    --------
    >>> from wmma_emu.arithmetic import dot_product_of, matmul
    >>> from wmma_emu.instructions import lookup
    >>> p = dot_product_of(lookup("m16n8k32.s32.s8.s8.s32"), "sm_90")
    >>> ones = np.ones((32, 32), np.uint8)
    >>> hex(matmul(p, ones[:16], ones[:, :8], np.zeros((16, 8), np.uint32))[0, 0])
    '0x20'
    """
    name = check_engine(engine)
    count = thread_count(threads)
    k = a.shape[-1]
    if k % product.k or (k != product.k and not product.chains):
        raise ShapeError(
            f"K = {k} is not {product.k}" + (", nor a multiple of it" if product.chains else "")
        )
    if name != "auto" and not ENGINES[name].has(product):
        other = "numpy" if ENGINES["numpy"].has(product) else "reference"
        raise UnsupportedInstructionError(
            f"engine={name!r} has no {product.model.describe()}; use engine={other!r}, or leave engine out"
        )
    a, b = with_scales(product, a, b, scale_a, scale_b)
    if name != "auto" and ENGINES[name].whole:
        result: Bits = ENGINES[name].load().matmul(product, a, b, c, progress)
        return result
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], c.shape[:-2])
    shape = (*batch, *c.shape[-2:])
    if not k:
        return np.array(np.broadcast_to(c, shape))
    rows_of_all = prod(b.shape[:-2]) == 1  # one B for all: the batch is more rows
    if name == "auto":
        name = fastest(
            product, 1 if rows_of_all else prod(batch), shape[-2] * (prod(batch) if rows_of_all else 1), shape[-1], k
        )
    is_counted = name != engine and name == "numpy"
    run = ENGINES[name].load().multiply_block
    if threads is None and ENGINES[name].few_threads and product.model.arithmetic in ("aligned_sum", "fma_chain"):
        count = min(count, ENGINES[name].few_threads)
    if rows_of_all:
        a, c = _rows_of_all(a, batch), _rows_of_all(c, batch)
        b = b.reshape(1, *b.shape[-2:])
    else:
        a, b, c = (_one_batch_axis(x, batch) for x in (a, b, c))
    watch = Stopwatch()
    d = multiply_blocks(run, product, a, b, c, count, progress).reshape(shape)
    if is_counted:
        note_seconds(product, watch.seconds)
    return d


def _rows_of_all(x: Bits, batch: tuple[int, ...]) -> Bits:
    """Put the matrices of a batch one below the other."""
    return np.broadcast_to(x, batch + x.shape[-2:]).reshape(1, prod(batch) * x.shape[-2], x.shape[-1])


def _one_batch_axis(x: Bits, batch: tuple[int, ...]) -> Bits:
    """Broadcast and flatten the leading axes; a matrix that all products share is not copied."""
    if prod(x.shape[:-2]) == 1:
        return np.broadcast_to(x.reshape(x.shape[-2:]), (prod(batch), *x.shape[-2:]))
    return np.broadcast_to(x, batch + x.shape[-2:]).reshape(prod(batch), *x.shape[-2:])
