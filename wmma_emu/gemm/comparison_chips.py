# SPDX-License-Identifier: MIT
"""The chips of a comparison: each one's instruction, its lowering, and its result."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.arithmetic import FMA_F32, DotModel, dot_product_of
from wmma_emu.errors import OptionError, UnknownNameError, UnsupportedInstructionError, shorten
from wmma_emu.formats import Format
from wmma_emu.formats.distance import ulp_distance
from wmma_emu.formats.libraries import takes_tensors
from wmma_emu.gemm.choice import Requirements, chosen_instruction, requirements_of
from wmma_emu.gemm.comparison import Comparison
from wmma_emu.gemm.device_arrays import is_cupy
from wmma_emu.gemm.gemm import gemm
from wmma_emu.gemm.k_order import KOrder
from wmma_emu.gemm.options import Factors
from wmma_emu.gemm.quantised import Matrix, unpack_quantised
from wmma_emu.instructions import ARCHS, DEFAULT_ARCH, Arch, arch_of, lookup

ByChip = str | Mapping[str, str] | None
"""A lowering or a model: one name for all chips, or one for each named chip."""

_Compared = tuple[str, DotModel, Format]


@takes_tensors
def compare_archs(
    A: Matrix,
    B: Matrix,
    C: ArrayLike | None = None,
    *,
    instr: str | None = None,
    archs: Iterable[str | Arch] | None = None,
    reference: str | Arch | None = None,
    engine: str = "auto",
    k_order: KOrder | None = None,
    lowering: ByChip = None,
    model: ByChip = None,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    scale_order: str | None = None,
    a_format: str | None = None,
    b_format: str | None = None,
) -> Comparison:
    """Multiply matrices on several chips, and return where the bits differ and how far.

    Parameters
    ----------
    A, B, C : arrays
        Matrices of any size, as for `wmma_emu.gemm`, including tensors of torch and arrays of JAX; A and B may also
        come from `wmma_emu.quantise`.
    instr : str, optional
        A mnemonic; by default, each chip's default for the matrices.
    archs : list of str, optional
        The chips; a chip without the instruction raises an error. By default all chips with the instruction, in the
        order of their numbers.
    reference : str, optional
        The chip with which the others are compared; the first by default.
    k_order : KOrder, optional
        The order of accumulation on every chip, as for `wmma_emu.gemm`. Its tile and cuts must be multiples of the k of
        every chip's instruction.
    lowering : str or dict, optional
        The compiler whose sequence is used if a chip executes the instruction as software: for all chips, where a named
        chip without this lowering raises an error; or by chip, ``{"sm_90": "ptxas-12.4"}``, with the newest for the
        others.
    model : str or dict, optional
        The entry of the table of models, if sources disagree: for all chips, or by chip, ``{"sm_120": "F=34"}``.
    scale_a, scale_b : arrays, optional
        As for `wmma_emu.gemm`. With block scales, only chips that have such an instruction are compared.
    engine, scale_order, a_format, b_format
        As for `wmma_emu.gemm`.

    Returns
    -------
    Comparison
        ``results`` and ``ulps`` by chip; ``.worst(arch)``, ``.statistics(arch)``; ``str()`` gives a table, and
        ``.svg()`` a picture. The results are tensors of torch, or arrays of JAX, if an operand is one, and otherwise
        NumPy arrays, also for CuPy and Dask operands.

    Raises
    ------
    UnsupportedInstructionError
        If a chip, instruction, lowering or model does not exist, or a named chip does not have it.
    FragmentMismatchError
        If shapes or dtypes do not match.

    Examples
    --------
    >>> import numpy as np, wmma_emu as we
    >>> A, B = np.full((1, 16), 1.75 * 2**-12, np.float16), np.full((16, 1), 2**-12, np.float16)
    >>> A[0, 0] = B[0, 0] = 1
    >>> found = we.compare_archs(A, B, archs=["a100", "h100"])
    >>> found.differing, found.ulps["sm_90"]
    ({'sm_80': 0, 'sm_90': 1}, array([[4]], dtype=uint64))
    >>> found.largest("sm_90")
    (4, (0, 0))
    """
    if C is not None and (isinstance(C, Arch) or (isinstance(C, list | tuple) and any(isinstance(x, str) for x in C))):
        raise OptionError(f"C={shorten(C)} names chips, and C is a matrix; pass them as archs={shorten(C)}")
    chips = _named(archs)
    names = _Names(_by_chip("lowering", lowering), _by_chip("model", model))
    factors = unpack_quantised(Factors(A, B, scale_a, scale_b, a_format, b_format))
    what = None if instr is not None else requirements_of(factors)
    entries = _instructions(what, instr, chips, names)
    first = next(iter(entries)) if reference is None else arch_of(reference).name
    if first not in entries:
        also = "" if reference == first else f" ({first})"
        raise UnknownNameError(
            f"reference={shorten(reference)}{also} is not compared; the chips are {', '.join(entries)}"
        )
    for keyword, named in zip(names._fields, names, strict=True):
        for arch in named if isinstance(named, dict) else ():
            if arch not in entries:
                raise UnknownNameError(
                    f"{keyword} names {arch}, which is not compared; the chips are {', '.join(entries)}"
                )
    results = {
        arch: _on_host(gemm(
            A, B, C, instr=name, arch=arch, engine=engine, k_order=k_order, **names.of(arch), scale_a=scale_a,
            scale_b=scale_b, scale_order=scale_order, a_format=a_format, b_format=b_format,
        ))
        for arch, (name, _, _) in entries.items()
    }  # fmt: skip
    fmt = entries[first][2]
    bits = {arch: result.view(fmt.storage) for arch, result in results.items()}
    return Comparison(
        results=results,
        instructions={arch: name for arch, (name, _, _) in entries.items()},
        models={arch: model for arch, (_, model, _) in entries.items()},
        format=fmt.name,
        reference=first,
        ulps={arch: ulp_distance(x, bits[first], fmt) for arch, x in bits.items()},
        differing={arch: int((x != bits[first]).sum()) for arch, x in bits.items()},
        k_order=k_order,
    )


def _on_host(result: Any) -> NDArray[Any]:
    """Return a result in the memory of this machine, even if `gemm` left it on a GPU or to Dask."""
    return np.asarray(result.get() if is_cupy(result) else result)


def _named(archs: Iterable[str | Arch] | None) -> tuple[Arch, ...] | None:
    if archs is None:
        return None
    if isinstance(archs, str | Arch):
        raise OptionError(f"archs={shorten(archs)} is one chip; pass a list, archs=[{shorten(archs)}]")
    try:
        names = tuple(archs)
    except TypeError:
        raise OptionError(f"archs={shorten(archs)} is not a list of chips") from None
    chips = tuple(map(arch_of, names))
    if not chips:
        raise OptionError("archs is empty; name at least one chip, or leave archs out for all")
    for i, chip in enumerate(chips):
        if chip in chips[:i]:
            raise OptionError(f"archs names {chip} twice; {chip} is {chip.generation}")
    return chips


class _Names(NamedTuple):
    """The names that select entries of the table of models: for all chips, or by chip."""

    lowering: str | dict[str, str] | None
    model: str | dict[str, str] | None

    def of(self, arch: str) -> dict[str, Any]:
        """Return the names of one chip."""
        given = zip(self._fields, self, strict=True)
        return {what: named.get(arch) if isinstance(named, dict) else named for what, named in given}

    def mention(self, arch: str) -> bool:
        """Return whether a chip is named."""
        return any(isinstance(named, dict) and arch in named for named in self)


_EXAMPLES = {"lowering": "ptxas-12.4", "model": "F=34"}


def _by_chip(what: str, given: ByChip) -> str | dict[str, str] | None:
    """Return one name for all chips, or one for each chip by the name of its entry."""
    if given is None or isinstance(given, str):
        return given
    if not isinstance(given, Mapping):
        example = _EXAMPLES[what]
        raise OptionError(
            f"{what}={shorten(given)} is not the name of a {what}, such as {example!r}, "
            f"nor a dictionary of them by chip, such as {{'sm_90': {example!r}}}"
        )
    named: dict[str, str] = {}
    for chip, name in given.items():
        arch = arch_of(chip).name
        if arch in named:
            raise OptionError(f"{what} names {arch} twice; keep one entry")
        named[arch] = name
    return named


def _instructions(
    what: Requirements | None, instr: str | None, chips: tuple[Arch, ...] | None, names: _Names
) -> dict[str, _Compared]:
    """Return mnemonic, model and format of D for each named chip, or else for each chip with the instruction."""
    candidates = tuple(ARCHS.values()) if chips is None else chips
    if isinstance(instr, str) and instr == "fma.f32":
        return {chip.name: (instr, FMA_F32.model, FMA_F32.d) for chip in candidates}
    found: dict[str, _Compared] = {}
    refusals: dict[str, UnsupportedInstructionError] = {}
    if instr is not None:
        lookup(instr)
    for chip in candidates:
        try:
            entry = lookup(instr or "", chip) if what is None else chosen_instruction(what, chip)
            model = dot_product_of(entry, chip.name, **names.of(chip.name)).model
        except UnsupportedInstructionError as error:
            if chips is not None or names.mention(chip.name):
                raise
            refusals[chip.name] = error
            continue
        found[chip.name] = (entry.mnemonic, model, entry.format("d"))
    if not found:
        raise refusals.get(DEFAULT_ARCH) or refusals.popitem()[1]
    return found
