# SPDX-License-Identifier: MIT
"""The engines by name, and the single entry point for all products."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np

from wmma_emu.arithmetic.blocks import Progress, multiply_blocks, thread_count
from wmma_emu.arithmetic.compiled_code import Stopwatch, note_seconds, pays
from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.arithmetic.scaled_codes import with_scales
from wmma_emu.display import note_once
from wmma_emu.documentation import how_to_install
from wmma_emu.errors import BackendUnavailableError, OptionError, ShapeError, UnsupportedInstructionError, shorten
from wmma_emu.formats.codec import Bits
from wmma_emu.renamed import warn_renamed
from wmma_emu.suggestions import nearest, question


@dataclass(frozen=True, slots=True)
class Engine:
    """An implementation of products; all engines return the same bits.

    Parameters
    ----------
    name : str
    library : str
        The module that it needs in addition to NumPy, or ``""``.
    extra : str
        The extra of this package that installs the library.
    module : str
        The module in this package with the function ``multiply_block``, or ``matmul`` if ``whole``; and ``has``, if
        the engine does not support all products. It is imported on first use.
    whole : bool
        Whether the engine processes whole matrices instead of blocks in threads.
    few_threads : int
        The number of threads beyond which tiles do not gain, because they wait for the interpreter's lock; 0 for no
        limit.
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
        """Return whether the engine supports a product; its library must be installed."""
        has: Callable[[DotProduct], bool] | None = getattr(self.load(), "has", None)
        return has is None or has(product)


ENGINES: dict[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine("reference", "", "", "reference_engine", few_threads=1),
        Engine("numpy", "", "", "numpy_engine", few_threads=4),
        Engine("native", "llvmlite", "fast", "native_engine"),
        Engine("cupy", "cupy", "gpu", "cupy_engine", whole=True),
    )
}
"""All engines, which return the same bits."""

_SMALL = 1 << 12
"""The elements of D of a small matrix."""


def check_engine(engine: str) -> str:
    """Check that an engine exists, and that its library is installed; ``"auto"`` needs none. Return its present name.

    Raises
    ------
    UnsupportedInstructionError
        If the engine does not exist.
    BackendUnavailableError
        If its library cannot be imported.
    """
    if isinstance(engine, str) and engine == "numba":
        warn_renamed("engine='numba'", "engine='native'", 3)
        engine = "native"
    if isinstance(engine, str) and engine == "auto":
        return engine
    if not isinstance(engine, str) or engine not in ENGINES:
        near = ["cupy"] if engine in ("cuda", "gpu") else nearest(engine, ("auto", *ENGINES))
        legal = f"the engines are 'auto', {', '.join(map(repr, ENGINES))}"
        raise OptionError(f"there is no engine {shorten(engine)}{question(near, legal)}")
    if problem := _problem(engine):
        needed, remedy = ENGINES[engine], "mend that"
        if problem == _MISSING:
            remedy = f"install the extra `{needed.extra}` ({how_to_install(needed.extra)})"
        raise BackendUnavailableError(f"engine={engine!r} needs {needed.library}, {problem}; {remedy}, or omit engine")
    return engine


def is_installed(engine: str) -> bool:
    """Return whether an engine's library can be used."""
    return not _problem(engine)


_MISSING = "which is not installed"


@cache
def _problem(engine: str) -> str:
    """Return why an engine's library cannot be used; an empty string if it can."""
    library = ENGINES[engine].library
    if not library:
        return ""
    try:
        importlib.import_module(library)
        ENGINES[engine].load()
    except ModuleNotFoundError as error:
        return _MISSING if error.name == library else f"which cannot be imported ({error})"
    except Exception as error:  # an incompatible library may raise any error
        return f"which cannot be imported ({shorten(error, str)})"
    return ""


def fastest(product: DotProduct, batch: int, m: int, n: int, k: int) -> str:
    """Choose the engine for ``"auto"``, by the shape, the time that NumPy has spent, and the compiled code."""
    if not ENGINES["numpy"].has(product):
        return "reference"  # the model is not in the table
    if product.model.arithmetic in ("integer", "popcount"):
        return "numpy"  # both engines use BLAS

    def is_kept() -> bool | None:
        if problem := _problem("native"):
            how = f"; {how_to_install('fast')}" if problem == _MISSING else ""
            note_once(f"engine='auto' uses numpy instead of native, the faster engine, {problem}{how}")
            return None
        found: bool = ENGINES["native"].load().is_kept(product)
        return found

    # NumPy multiplies small matrices side by side.
    instructions = k // product.k * (batch if m * n > _SMALL else 1)
    if not pays(product, batch * m * n * k, instructions, is_kept):
        return "numpy"
    return "native" if ENGINES["native"].has(product) else "numpy"


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
        or, if D can be the next instruction's C, a multiple of it: instructions then run one after another over
        ascending k.
    engine : {"auto", "reference", "numpy", "native", "cupy"}
        By default the best one: native if its code is already loaded. Otherwise the time of NumPy, including its past
        time on the same instruction in this process, decides: native from a fiftieth of a second (a fifth if llvmlite
        is not yet imported) if its code is cached on disk, from half a second if it is not; NumPy below that, and for
        integers. The reference is used for models unlike those of chips.
    progress : callable, optional
        A function that is called with the completed share of the work.
    threads : int, optional
        The maximum number of threads. The default is one per core, but at most four for NumPy's tiles, because more
        threads wait for each other (on 16 cores 8 threads were slower than 4). The cupy engine does not use threads.
    scale_a : unsigned integer array, shape (..., M, K / product.scale_block), optional
    scale_b : unsigned integer array, shape (..., K / product.scale_block, N), optional
        Patterns of the block scales, in ``product.scale``: required if the instruction has block scales, otherwise
        rejected.

    Returns
    -------
    unsigned integer array, shape (..., M, N)

    Raises
    ------
    UnsupportedInstructionError
        If the engine does not exist, or does not support the product's arithmetic.
    BackendUnavailableError
        If the engine is not installed.
    FragmentMismatchError
        If K is not a multiple of the instruction's k, or scales do not match the instruction.

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
        raise ShapeError(f"K = {k} is not {product.k}" + (", nor a multiple of it" if product.chains else ""))
    if name != "auto" and not ENGINES[name].has(product):
        other = "numpy" if ENGINES["numpy"].has(product) else "reference"
        raise UnsupportedInstructionError(
            f"engine={name!r} does not support {product.model.describe()}; use engine={other!r}, or omit engine"
        )
    a, b = with_scales(product, a, b, scale_a, scale_b)
    if name != "auto" and ENGINES[name].whole:
        result: Bits = ENGINES[name].load().matmul(product, a, b, c, progress)
        return result
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], c.shape[:-2])
    shape = (*batch, *c.shape[-2:])
    if not k:
        return np.array(np.broadcast_to(c, shape))
    rows_of_all = prod(b.shape[:-2]) == 1  # one B for all matrices: the batch adds rows
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
    """Stack the matrices of a batch vertically."""
    return np.broadcast_to(x, batch + x.shape[-2:]).reshape(1, prod(batch) * x.shape[-2], x.shape[-1])


def _one_batch_axis(x: Bits, batch: tuple[int, ...]) -> Bits:
    """Broadcast and flatten the leading axes; a matrix shared by all products is not copied."""
    if prod(x.shape[:-2]) == 1:
        return np.broadcast_to(x.reshape(x.shape[-2:]), (prod(batch), *x.shape[-2:]))
    return np.broadcast_to(x, batch + x.shape[-2:]).reshape(prod(batch), *x.shape[-2:])
