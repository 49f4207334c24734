# SPDX-License-Identifier: MIT
"""Hand over any matrix product, and learn which model of a tensor core it is."""

from collections.abc import Callable
from dataclasses import replace

from wmma_emu.applications.probing.device_under_test import DeviceUnderTest, Function
from wmma_emu.applications.probing.probe_session import ProbeSession
from wmma_emu.applications.probing.report import ProbeReport
from wmma_emu.arithmetic import DotModel
from wmma_emu.errors import ArgumentError, UnmodelledArithmeticError, shorten
from wmma_emu.evidence import Evidence
from wmma_emu.instructions import Instruction
from wmma_emu.warp import BoundInstruction


def examine(f: Function, *, like: str | Instruction | BoundInstruction, seed: int = 0) -> ProbeReport:
    """Find out by experiment how a function multiplies matrices.

    Parameters
    ----------
    f : callable
        ``f(a, b, c) -> d``: a GPU, a library, another model. It is called several hundred times, with A of shape
        (M, K), B of shape (K, N) and C of shape (M, N), in the dtypes of the formats; D is in its own dtype, or raw
        bits.
    like : str, Instruction or BoundInstruction
        An instruction with these shapes and formats. Of a sparse one, f takes all of A.
    seed : int
        Of the inputs with which the model is checked in the end.

    Returns
    -------
    Report
        Answers with their evidence; its ``model`` is None where none was found. ``str()`` of it is a text.

    Raises
    ------
    UnsupportedInstructionError
        For an instruction of integers, whose sums are exact.
    FragmentMismatchError
        If f is no callable, or what it returns is no D. What f raises comes through.

    Notes
    -----
    What is searched: aligned sums with steps of three terms or more, c included; terms cut toward zero; results rounded
    RZ or RNE to f32, e8m13 or f16; floors from 64 below the accumulator's smallest normal exponent to 32 above it;
    chains in f16, f32 and f64, rounded as the instruction says. Bits of NaN are compared, but rule nothing out.

    Examples
    --------
    A product in float32, of NumPy's loops:

    >>> import numpy as np, wmma_emu as we
    >>> def product(a, b, c):
    ...     return np.einsum("ik,kj->ij", a.astype(np.float32), b.astype(np.float32)) + c
    >>> report = examine(product, like="m16n8k8.f32.f16.f16.f32")
    >>> report.tree
    'chain(k0..k7, c)'
    >>> report.model.describe()
    'f32 fused multiply-adds, k ascending, from +0, then c added (RNE)'
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ArgumentError(f"seed={shorten(seed)} is no integer")
    return ProbeSession(DeviceUnderTest(f, like), seed).run()


def probe(
    f: Function,
    *,
    like: str | Instruction | BoundInstruction,
    seed: int = 0,
    show: Callable[[str], object] | None = print,
) -> DotModel:
    """Find out by experiment how a function multiplies matrices, print the evidence, and return the model.

    Parameters
    ----------
    f, like, seed
        As for `examine`.
    show : callable, optional
        Takes the report; prints it by default. None shows nothing.

    Returns
    -------
    DotModel
        Status ``"probed"``. ``ins.with_model(model)`` runs it. Parameters that no input of these formats and this k
        shows have one of the values that give the same bits; the report names them.

    Raises
    ------
    UnmodelledArithmeticError
        Where no `DotModel` was found (`examine` says which are tried); its ``report`` says what was.

    Examples
    --------
    >>> import wmma_emu as we
    >>> ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch="a100")
    >>> model = probe(ins, like=ins, show=None)
    >>> model.terms_per_step, model.fraction_bits, model.rounding, model.status
    (8, 24, 'RZ', 'probed')
    >>> ins.with_model(model)
    <mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 on sm_80, probed>
    """
    if show is not None and not callable(show):
        raise ArgumentError(f"show={shorten(show)} cannot be called; print, or None for nothing")
    report = examine(f, like=like, seed=seed)
    if show is not None:
        show(str(report))
    if report.model is None:
        raise UnmodelledArithmeticError(
            f"no DotModel was found for {report.subject}: {report.problems[0]}. The error's .report has all answers; "
            "wmma_emu.testing.examine returns it without raising",
            report,
        )
    source = f"probe of {report.subject}: {report.checked} dot products of adversarial families compared, 0 differ"
    return replace(report.model, evidence=Evidence("probed", source))
