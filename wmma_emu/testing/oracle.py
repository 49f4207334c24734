# SPDX-License-Identifier: MIT
"""An oracle for kernels: two implementations are compared bit for bit over drawn shapes and inputs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
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

_SEEDS_TRIED = 8
"""The number of other inputs that are tried for a smaller shape."""


@dataclass(frozen=True, slots=True)
class KernelComparison:
    """The result of `compare_kernels`, if no bit differs.

    Attributes
    ----------
    cases : int
        The number of cases: a shape with the seed of its inputs.
    shapes : int
        The number of shapes among them, each counted once.
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
        Called with the arrays of ``inputs``, made for each of them; they return an array, or several. A kernel of
        a `wmma_emu.ptx.Module`, a program of Triton within `wmma_emu.languages.emulate`, `wmma_emu.gemm`.
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
    >>> we.testing.compare_kernels(hopper, hopper, shapes=sizes, inputs=inputs, count=20).cases
    20
    >>> again = {"n": 1, "k": 4, "seed": 2}  # from the message of a failure
    >>> we.testing.compare_kernels(hopper, ampere, shapes=sizes, inputs=inputs, case=again, names=("H100", "A100"))
    Traceback (most recent call last):
        ...
    AssertionError: H100 (actual) and A100 (expected) differ with n=1, k=4; again: case={'n': 1, 'k': 4, 'seed': 2}
    1 of 8 elements differ (12.5 %): f32, shape (8, 1)
    <BLANKLINE>
      index   actual                   expected                 ulps
      [4, 0]  0xbd9ec5ea  -0.07752593  0xbd9ec5ec  -0.07752594  2
    <BLANKLINE>
    ulps: 2-3: 1
    """
    __tracebackhide__ = True
    for name, function in (("one", one), ("other", other), ("inputs", inputs)):
        if not callable(function):
            raise ArgumentError(f"{name}={shorten(function)} cannot be called")
    comparison = _Comparison(one, other, inputs, names, _checked("seed", seed, 0) if case is None else None)
    if case is not None:
        with suppress(_DifferError):
            comparison.check(*_case_of(case, shapes))
    else:
        _draw(comparison, _sizes_of(shapes), seed, _checked("count", count, 1))
    if comparison.failure is not None:
        raise AssertionError(comparison.failure)
    return KernelComparison(comparison.cases, len(comparison.shapes), comparison.elements)


class _DifferError(Exception):
    """Two implementations differ."""


class _Comparison:
    """The two implementations, and what was compared."""

    def __init__(
        self,
        one: Implementation,
        other: Implementation,
        inputs: MakeInputs,
        names: tuple[str, str],
        seed: int | None,
    ) -> None:
        self._both, self._inputs, self._names, self._seed = (one, other), inputs, names, seed
        self.cases = self.elements = 0
        self.shapes: set[tuple[int, ...]] = set()
        self.failure: str | None = None
        self.failed: tuple[Shape, int] | None = None

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
                error.add_note(f"compare_kernels: with {_text_of(shape)}; {self._again(shape, seed)}")
                raise
        found = self._difference_of(results[0], results[1], shape, seed)
        if found is not None:
            self.failure, self.failed = found, (shape, seed)
            raise _DifferError

    def _difference_of(
        self, mine: Sequence[NDArray[Any]], its: Sequence[NDArray[Any]], shape: Shape, seed: int
    ) -> str | None:
        one, other = self._names
        head = f"{one} (actual) and {other} (expected) differ with {_text_of(shape)}; {self._again(shape, seed)}"
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
        drawn = "" if self._seed is None else f"drawn by seed={self._seed}; "
        return f"{drawn}again: case={dict(shape, seed=seed)}"


def _arrays_of(returned: Any) -> list[NDArray[Any]]:
    several = returned if isinstance(returned, tuple | list) else [returned]
    return [as_numpy(x, f"output {i}") for i, x in enumerate(several)]


def _text_of(shape: Shape) -> str:
    return ", ".join(f"{name}={size}" for name, size in shape.items())


def _draw(comparison: _Comparison, sizes: Mapping[str, Sequence[int]], seed: int, count: int) -> None:
    """Draw cases with Hypothesis until one fails, then smaller ones."""
    try:
        from hypothesis import HealthCheck, Phase, given, settings
        from hypothesis import seed as seeded
        from hypothesis import strategies as st
    except ModuleNotFoundError as error:
        raise BackendUnavailableError("compare_kernels draws with Hypothesis: pip install hypothesis") from error
    drawn = st.fixed_dictionaries({name: st.sampled_from(x) for name, x in sizes.items()})

    @seeded(seed)
    @settings(
        max_examples=count, database=None, deadline=None, print_blob=False, report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(drawn, st.integers(0, _MOST_SEEDS - 1))
    def check(shape: Shape, seed_of_inputs: int) -> None:
        comparison.check(shape, seed_of_inputs)

    with suppress(_DifferError):  # the last failure is the smallest
        check()
    if comparison.failed is not None:
        _make_smaller(comparison, sizes, *comparison.failed)


def _make_smaller(comparison: _Comparison, sizes: Mapping[str, Sequence[int]], shape: Shape, seed: int) -> None:
    """Make each size as small as other inputs allow: Hypothesis makes the sizes smaller for one seed of inputs."""
    for name, values in sizes.items():
        for size in values[: values.index(shape[name])]:
            for other in (seed, *range(_SEEDS_TRIED)):
                with suppress(_DifferError):
                    comparison.check({**shape, name: size}, other)
                    continue
                shape, seed = {**shape, name: size}, other
                break
            if shape[name] == size:
                break


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
