# SPDX-License-Identifier: MIT
"""An oracle for kernels: two implementations are compared bit for bit over drawn shapes and inputs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, BackendUnavailableError, OptionError, shorten
from wmma_emu.formats.arrays import as_numpy, integer_of
from wmma_emu.testing.assertions import assert_bits_equal

Shape = dict[str, int]
MakeInputs = Callable[..., Any]
Implementation = Callable[..., Any]

_MOST_SEEDS = 2**32


@dataclass(frozen=True, slots=True)
class KernelComparison:
    """The result of `compare_kernels`, if no bit differs.

    Attributes
    ----------
    cases : int
        The number of cases: a shape with the seed of its inputs.
    shapes : int
        The number of different shapes among them.
    elements : int
        The number of elements that were compared.
    """

    cases: int
    shapes: int
    elements: int

    def __str__(self) -> str:
        return f"{self.elements} elements of {self.cases} cases, of {self.shapes} shapes, have equal bits"


def compare_kernels(
    one: Implementation, other: Implementation, *, shapes: Mapping[str, Iterable[int]], inputs: MakeInputs,
    seed: int = 0, count: int = 100, case: Mapping[str, int] | None = None,
    names: tuple[str, str] = ("one", "other"),
) -> KernelComparison:  # fmt: skip
    """Compare two kernels, two compilations of one, or a kernel and its specification, bit for bit.

    Hypothesis draws the shapes, and seeds for the inputs. If bits differ, it looks for the smallest shape that still
    fails, in the order in which the sizes are given.

    Parameters
    ----------
    one, other : callable
        Called with the arrays of ``inputs``, each with copies of its own; they return an array, or several. A kernel
        of a `wmma_emu.ptx.Module`, a program of Triton within `wmma_emu.languages.emulate`, `wmma_emu.gemm`.
    shapes : mapping
        The legal values of each size, the simplest first: ``{"m": range(1, 65), "k": [16, 32, 128]}``.
    inputs : callable
        ``inputs(rng, **sizes)`` makes the arguments, with a `numpy.random.Generator`; a tuple is several arguments.
    seed : int
        Decides everything that is drawn: equal seeds draw equal cases, with one version of Hypothesis.
    count : int
        The number of cases.
    case : mapping, optional
        One case instead of drawn ones, as the message of a failure names it: ``{"m": 1, "k": 16, "seed": 7}``.
    names : tuple of str
        What ``one`` and ``other`` are, for the message.

    Raises
    ------
    AssertionError
        If shapes, dtypes or bits differ: the message has the case, the first different elements, and their bits.
    ArgumentError
        If an argument is illegal.
    BackendUnavailableError
        If Hypothesis is not installed.

    Examples
    --------
    >>> import numpy as np, wmma_emu as we
    >>> def inputs(rng, n, k):
    ...     return [rng.standard_normal(x).astype(np.float16) for x in ((8, k), (k, n))]
    >>> def hopper(a, b):
    ...     return we.gemm(a, b, arch="h100")
    >>> def ampere(a, b):
    ...     return we.gemm(a, b, arch="a100")
    >>> sizes = {"n": range(1, 9), "k": range(1, 33)}
    >>> print(we.testing.compare_kernels(hopper, hopper, shapes=sizes, inputs=inputs, count=10))
    2320 elements of 10 cases, of 10 shapes, have equal bits
    >>> we.testing.compare_kernels(hopper, ampere, shapes=sizes, inputs=inputs, names=("H100", "A100"))
    Traceback (most recent call last):
        ...
    AssertionError: H100 and A100 differ with n=1, k=3 (drawn by seed=0; again: case={'n': 1, 'k': 3, 'seed': 1})
    """
    __tracebackhide__ = True
    for name, function in (("one", one), ("other", other), ("inputs", inputs)):
        if not callable(function):
            raise ArgumentError(f"{name}={shorten(function)} cannot be called")
    comparison = _Comparison(one, other, inputs, names, _checked("seed", seed, 0))
    if case is not None:
        comparison.check(*_case_of(case, shapes))
    else:
        _draw(comparison, _sizes_of(shapes), _checked("count", count, 1))
    if comparison.failure is not None:
        raise AssertionError(comparison.failure)
    return KernelComparison(comparison.cases, len(comparison.shapes), comparison.elements)


class _DifferError(Exception):
    """Two implementations differ."""


class _Comparison:
    """The two implementations, and what was compared."""

    def __init__(
        self, one: Implementation, other: Implementation, inputs: MakeInputs, names: tuple[str, str], seed: int
    ) -> None:
        self._both, self._inputs, self._names, self._seed = (one, other), inputs, names, seed
        self.cases = self.elements = 0
        self.shapes: set[tuple[int, ...]] = set()
        self.failure: str | None = None

    def check(self, shape: Shape, seed: int) -> None:
        """Compare one case, and keep the message of the first difference, which Hypothesis makes smaller."""
        self.cases += 1
        self.shapes.add(tuple(shape.values()))
        results = []
        for function in self._both:
            given = self._inputs(np.random.default_rng(seed), **shape)
            given = tuple(given) if isinstance(given, tuple | list) else (given,)
            try:
                results.append(_arrays_of(function(*given)))
            except Exception as error:
                error.add_note(f"compare_kernels: with {_text_of(shape)}, {self._again(shape, seed)}")
                raise
        self.failure = self._difference_of(results[0], results[1], shape, seed)
        if self.failure is not None:
            raise _DifferError

    def _difference_of(
        self, mine: Sequence[NDArray[Any]], its: Sequence[NDArray[Any]], shape: Shape, seed: int
    ) -> str | None:
        head = f"{self._names[0]} and {self._names[1]} differ with {_text_of(shape)} ({self._again(shape, seed)})"
        if len(mine) != len(its):
            return f"{head}\n{len(mine)} arrays, and {len(its)}"
        for i, (x, y) in enumerate(zip(mine, its, strict=True)):
            self.elements += x.size
            try:
                assert_bits_equal(x, y)
            except AssertionError as error:
                return f"{head}\n{f'output {i}: ' if len(mine) > 1 else ''}{error}"
        return None

    def _again(self, shape: Shape, seed: int) -> str:
        return f"drawn by seed={self._seed}; again: case={dict(shape, seed=seed)}"


def _arrays_of(returned: Any) -> list[NDArray[Any]]:
    several = returned if isinstance(returned, tuple | list) else [returned]
    return [as_numpy(x, f"output {i}") for i, x in enumerate(several)]


def _text_of(shape: Shape) -> str:
    return ", ".join(f"{name}={size}" for name, size in shape.items())


def _draw(comparison: _Comparison, sizes: Mapping[str, Sequence[int]], count: int) -> None:
    """Draw cases with Hypothesis until one fails, then smaller ones."""
    try:
        from hypothesis import HealthCheck, Phase, given, settings
        from hypothesis import seed as seeded
        from hypothesis import strategies as st
    except ModuleNotFoundError as error:
        raise BackendUnavailableError("compare_kernels draws with Hypothesis: pip install hypothesis") from error
    drawn = st.fixed_dictionaries({name: st.sampled_from(x) for name, x in sizes.items()})

    @seeded(comparison._seed)
    @settings(
        max_examples=count, database=None, deadline=None, print_blob=False, report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(drawn, st.integers(0, _MOST_SEEDS - 1))
    def check(shape: Shape, seed: int) -> None:
        comparison.check(shape, seed)

    try:
        check()
    except _DifferError:
        return  # the message of the smallest case is kept


def _sizes_of(shapes: Mapping[str, Iterable[int]]) -> dict[str, Sequence[int]]:
    if not isinstance(shapes, Mapping) or not shapes:
        raise ArgumentError(f"shapes={shorten(shapes)} is not a mapping of sizes: write {{'m': range(1, 65)}}")
    found: dict[str, Sequence[int]] = {}
    for name, given in shapes.items():
        if isinstance(given, str | bytes) or not isinstance(given, Iterable):
            raise ArgumentError(f"the sizes of {name} are {shorten(given)}; expected integers: range(1, 65), [16, 32]")
        values = given if isinstance(given, range) else [integer_of(x) for x in given]
        if not len(values) or any(x is None for x in values):
            raise ArgumentValueError(f"the sizes of {name} are {shorten(given)}; expected at least one integer")
        found[str(name)] = values  # type: ignore[assignment]
    return found


def _case_of(case: Mapping[str, int], shapes: Mapping[str, Iterable[int]]) -> tuple[Shape, int]:
    sizes = _sizes_of(shapes)
    if not isinstance(case, Mapping) or set(case) != {*sizes, "seed"}:
        raise ArgumentError(f"case={shorten(case)} needs exactly {', '.join(sizes)} and seed")
    numbers = {name: _checked(f"{name} of the case", x, 0) for name, x in case.items()}
    return {name: numbers[name] for name in sizes}, numbers["seed"]


def _checked(name: str, given: object, least: int) -> int:
    number = integer_of(given)
    if number is None or number < least:
        raise OptionError(f"{name}={shorten(given)} is not an integer of at least {least}")
    return number
