# SPDX-License-Identifier: MIT
"""Run a model on several chips, and find where, by how much and why their results part."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from wmma_emu.errors import ArgumentError, CallError, OptionError, shorten
from wmma_emu.instructions import Arch
from wmma_emu.models import EmulationOptions, ModelMultiplier, ProductKind, options_of
from wmma_emu.torch.comparing.activations import Loss, ModelRun, run
from wmma_emu.torch.comparing.distances import TensorDistance, array_distance, distance
from wmma_emu.torch.comparing.mechanisms import MECHANISMS
from wmma_emu.torch.comparing.result import (
    ChangedDecision,
    LayerDifference,
    MechanismEffect,
    ModelComparison,
    ProductDifference,
)

Chips = Sequence[str | Arch] | Mapping[str, Any]


def compare(
    model: Any, inputs: Any, chips: Chips, *, loss: Loss | None = None, mechanisms: bool = True, products: bool = True,
    **options: Any,
) -> ModelComparison:  # fmt: skip
    """Run a model on several chips, and find where, by how much and why their results part.

    Parameters
    ----------
    model : torch.nn.Module or callable
    inputs : tensor, tuple or dict
        A tensor, a tuple of arguments, or a dictionary of keywords.
    chips : list of str, or dict
        The chips, the reference first; or names with options of `emulate`,
        ``{"one range": {"arch": "h100"}, "four ranges": {"arch": "h100", "k_order": KOrder(splits=4)}}``.
    loss : callable, optional
        A function of the output; its gradients are compared, too.
    mechanisms : bool
        Whether to run the model again with each mechanism switched, twice for each in which a chip differs.
    products : bool
        Whether to multiply the reference's operands on each chip, too.
    **options
        Options of `emulate`, for all chips.

    Returns
    -------
    ModelComparison

    Raises
    ------
    UnsupportedInstructionError
        If a chip or an option does not exist, or there are fewer than two.
    ArgumentError
        If the model returns no tensor of numbers, has no products, or is emulated already; or the loss is not a number.

    Examples
    --------
    >>> import torch, wmma_emu as we
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Sequential(torch.nn.Linear(1024, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).half()
    >>> found = we.torch.compare(model, torch.randn(32, 1024).half(), chips=["a100", "h100"])
    >>> [(x.layer, x.distance.statistics.differing) for x in found.of("h100")]
    [('0', 6), ('1', 1), ('2', 0), ('output', 0)]
    """
    named = named_options(chips, options)
    names = list(named)
    reference, *others = names
    runs = {
        name: run(model, inputs, x.but({"keep_operands": products and name == reference}), loss)
        for name, x in named.items()
    }
    if runs[reference].output is None:
        raise ArgumentError(
            f"the model returned no tensor of floating-point numbers; compare needs one, such as logits: pass a "
            f"function of the inputs that returns it, instead of {shorten(type(model).__name__)}"
        )
    if not runs[reference].log:
        raise ArgumentError(
            "no product of the model was emulated: it has no matrix products, or it is wrapped in an emulation, which "
            "counts instead of the chips; pass the model itself"
        )
    effects, explained = list[MechanismEffect](), dict[str, bool]()
    for name in others if mechanisms else ():
        switches = _Switches(model, inputs, loss, named[reference], named[name], runs[reference])
        effects += switches.effects(name)
        explained[name] = switches.explains()
    return ModelComparison(
        tuple(names),
        tuple(x for name in others for x in _layers(name, runs[name], runs[reference])),
        tuple(x for name in others if products for x in _products(name, named[name], runs[reference])),
        tuple(effects),
        tuple(_decision(name, runs[name].output, runs[reference].output) for name in others),
        explained,
        {name: str(x.log) for name, x in runs.items()},
    )


def named_options(chips: Any, options: Mapping[str, Any], least: int = 2) -> dict[str, EmulationOptions]:
    """Return the options of each chip by the name that the user gave."""
    if isinstance(chips, str | Arch):
        raise OptionError(f"chips={shorten(chips)} is one chip; pass a list with the reference first")
    if not isinstance(chips, Mapping | Sequence):
        raise OptionError(f"chips={shorten(chips)} is not a list of chips; pass ['a100', 'h100']")
    if isinstance(chips, Mapping):
        given = {name: dict(x) if isinstance(x, Mapping) else {"arch": x} for name, x in chips.items()}
    else:
        given = {x if isinstance(x, str) else str(x): {"arch": x} for x in chips}
    if len(given) < least:
        needs = "the reference and another" if least > 1 else "at least one"
        plural = "s" * (len(given) != 1)
        twice = ", named twice" if given and len(given) < len(chips) else ""
        raise OptionError(f"chips={shorten(chips)} has {len(given)} chip{plural}{twice}; pass {needs}")
    for name, x in given.items():
        if x.get("arch") is None:
            raise CallError(f"chips: {shorten(name)} has no chip; pass its options with arch=")
    return {name: options_of(x.pop("arch"), {**options, **x}) for name, x in given.items()}


def _layers(name: str, found: ModelRun, reference: ModelRun) -> Iterator[LayerDifference]:
    for layer, tensor in found.tensors.items():
        other = reference.tensors.get(layer)
        apart = None if other is None or tensor is None else distance(tensor, other)
        if apart is not None:
            yield LayerDifference(name, layer, apart)


def _products(name: str, options: EmulationOptions, reference: ModelRun) -> Iterator[ProductDifference]:
    """Multiply the operands of the reference's products on both chips, with float32 results and rounded ones."""
    multiply = [ModelMultiplier(x.but({"keep_operands": False})) for x in (reference.multiplier.options, options)]
    for record, (product, kind) in zip(reference.log, reference.log.operands, strict=True):
        if not _has_float32_sums(kind):
            continue
        wide = [x(replace(product, out_dtype="f32")) for x in multiply]
        narrow = [x(product) for x in multiply]
        sums, results = array_distance(*reversed(wide)), array_distance(*reversed(narrow))
        if sums is not None and results is not None:
            yield ProductDifference(name, record.module, record.operation, record.size, sums, results)


def _has_float32_sums(kind: ProductKind) -> bool:
    return kind.instruction is None or kind.instruction.product.d.name == "f32"


def _decision(name: str, output: Any, reference: Any) -> ChangedDecision:
    """Compare the largest number of each row; equal numbers choose the first."""
    if output.shape != reference.shape or not output.dim() or output.shape[-1] < 2:
        return ChangedDecision(name, 0, 0)
    one, other = (x.float().argmax(-1).reshape(-1) for x in (output, reference))
    changed = (one != other).nonzero().reshape(-1)
    if not len(changed):
        return ChangedDecision(name, len(one), 0)
    first = int(changed[0])
    top = reference.float().reshape(-1, reference.shape[-1])[first].topk(2).values
    where = tuple(int(x) for x in torch.unravel_index(changed[0], output.shape[:-1]))
    return ChangedDecision(
        name, len(one), len(changed), where, int(other[first]), int(one[first]), float(top[0] - top[1])
    )


class _Switches:
    """Runs with one mechanism switched."""

    def __init__(
        self, model: Any, inputs: Any, loss: Loss | None, reference: EmulationOptions, chip: EmulationOptions,
        first: ModelRun,
    ) -> None:  # fmt: skip
        self._model, self._inputs, self._loss = model, inputs, loss
        self._reference, self._chip, self._output = reference, chip, first.output
        kinds = list(first.multiplier.of_arrays.kinds)
        self._found = [x for x in MECHANISMS if x.differs(reference, chip, kinds)]

    def effects(self, name: str) -> Iterator[MechanismEffect]:
        for x in self._found:
            alone, without = x.switched(self._reference, self._chip), x.switched(self._chip, self._reference)
            yield MechanismEffect(name, x.name, x.meaning, self._distance(alone), self._distance(without))

    def explains(self) -> bool:
        """Return whether the chip has the reference's bits with all of these mechanisms switched."""
        options = self._chip
        for x in self._found:
            options = x.switched(options, self._reference)
        return not self._distance(options).statistics.differing

    def _distance(self, options: EmulationOptions) -> TensorDistance:
        found = distance(run(self._model, self._inputs, options, self._loss).output, self._output)
        if found is None:
            raise ArgumentError("the model returns tensors of other shapes in other runs, which cannot be compared")
        return found
