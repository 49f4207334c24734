# SPDX-License-Identifier: MIT
"""Whether an input has the same bits in other batches, at other positions, and with padding."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from wmma_emu.display import in_columns
from wmma_emu.errors import ArgumentError, OptionError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.torch.comparing.activations import call, first_tensor, restored
from wmma_emu.torch.comparing.compare import Chips, named_options
from wmma_emu.torch.comparing.distances import TensorDistance, distance
from wmma_emu.torch.emulation import Emulation


@dataclass(frozen=True, slots=True)
class BatchVariant:
    """One variant: the distance of the first input's output from that of a batch of one."""

    chip: str
    axis: str
    value: int
    distance: TensorDistance

    @property
    def is_equal(self) -> bool:
        """Whether all bits are equal."""
        return self.distance.statistics.differing == 0

    def to_dict(self) -> dict[str, Any]:
        """Return a row of a data frame."""
        return {"chip": self.chip, "axis": self.axis, "value": self.value, **self.distance.to_dict()}


@dataclass(frozen=True, slots=True)
class BatchReport:
    """The variants of all chips. ``str()`` gives a table."""

    variants: tuple[BatchVariant, ...]

    @property
    def is_invariant(self) -> bool:
        """Whether no bit depends on the batch, the position or the padding."""
        return all(x.is_equal for x in self.variants)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return rows of a data frame."""
        return [x.to_dict() for x in self.variants]

    def __str__(self) -> str:
        head = ("chip", "axis", "value", "differ", "largest ulps")
        rows = [
            (x.chip, x.axis, str(x.value), f"{x.distance.statistics.differing} of {x.distance.statistics.elements}",
             str(x.distance.statistics.largest or 0))
            for x in self.variants
        ]  # fmt: skip
        return "\n".join(in_columns([head, *rows], right=(2, 3, 4)))


def batch_invariance(
    model: Any, inputs: Any, chips: Chips, *, batches: Sequence[int] = (), positions: Sequence[int] = (),
    padding: Sequence[int] = (), pad_value: float = 0, **options: Any,
) -> BatchReport:  # fmt: skip
    """Run the first input of a batch alone, in other batches, at other positions, and with padding, and compare bits.

    Products over ascending k do not depend on the batch. They do if a library chooses a kernel by the number of rows:
    pass ``like``, or a ``k_order`` that is a function of the shape.

    Parameters
    ----------
    model : torch.nn.Module or callable
    inputs : tensor, tuple or dict
        Every tensor has the batch as its first axis; the others of a batch are taken from it, again from the start if
        there are too few.
    chips : list of str, or dict
        As for `compare`; one chip is enough.
    batches : sequence of int
        Sizes of batches, with the first input first.
    positions : sequence of int
        Positions of the first input in a batch of the largest of ``batches``, or of all inputs.
    padding : sequence of int
        Numbers of elements with ``pad_value`` that are added at the end of the second axis; what they change in the
        output is not compared. The model must not look at them, as a causal model does not.
    **options
        Options of `emulate`, for all chips.

    Returns
    -------
    BatchReport

    Examples
    --------
    >>> import torch, wmma_emu as we
    >>> _ = torch.manual_seed(0)
    >>> model, x = torch.nn.Linear(4096, 64, dtype=torch.float16), torch.randn(8, 4096, dtype=torch.float16)
    >>> split = lambda shape, matrices, format: we.KOrder(splits=8) if shape[0] < 4 else None
    >>> print(we.torch.batch_invariance(model, x, ["h100"], batches=[2, 8], k_order=split))
    chip  axis   value   differ  largest ulps
    h100  batch      2  0 of 64             0
    h100  batch      8  2 of 64             1
    """
    wanted = [("batch", batches, 1), ("position", positions, 0), ("padding", padding, 0)]
    for name, values, least in wanted:
        if not isinstance(values, Sequence) or isinstance(values, str):
            raise OptionError(f"{name}: {shorten(values)} is not a list of integers")
        for value in values:
            if integer_of(value) is None or value < least:
                raise OptionError(f"{name}: {shorten(value)} is not an integer of at least {least}")
    tensors = _tensors(inputs)
    most = max([len(tensors[0]), *batches])
    for value in positions:
        if value >= most:
            raise OptionError(f"positions: {value} is not in a batch of {most}")
    found = []
    for chip, one in named_options(chips, options, least=1).items():
        emulation = Emulation(one)

        def output(order: list[int], pad: int = 0, emulation: Emulation = emulation) -> Any:
            batch = _mapped(inputs, lambda x: _padded(x[[i % len(x) for i in order]], pad, pad_value))
            with restored(model), emulation, torch.no_grad():
                return first_tensor(call(model, batch))

        alone = output([0])[0]
        for axis, value, order, row, pad in _variants(batches, positions, padding, most):
            part = output(order, pad)[row]
            part = part[: alone.shape[0]] if pad and part.dim() else part
            apart = distance(part, alone)
            if apart is None:
                raise ArgumentError(f"the output has another shape with a {axis} of {value} than alone")
            found.append(BatchVariant(chip, axis, value, apart))
    return BatchReport(tuple(found))


def _variants(
    batches: Sequence[int], positions: Sequence[int], padding: Sequence[int], most: int
) -> Iterator[tuple[str, int, list[int], int, int]]:
    """Yield an axis and its value, the order of the inputs, the row of the first one, and the padding."""
    for size in batches:
        yield "batch", size, list(range(size)), 0, 0
    for position in positions:
        order = list(range(1, most))
        yield "position", position, [*order[:position], 0, *order[position:]], position, 0
    for pad in padding:
        yield "padding", pad, [0], 0, pad


def _tensors(inputs: Any) -> list[Any]:
    found = [x for x in _values(inputs) if isinstance(x, torch.Tensor) and x.dim()]
    if not found or any(len(x) != len(found[0]) for x in found) or not len(found[0]):
        raise ArgumentError("the inputs must be tensors whose first axis is the batch, all of the same length, above 0")
    return found


def _values(inputs: Any) -> list[Any]:
    if isinstance(inputs, dict):
        return list(inputs.values())
    return list(inputs) if isinstance(inputs, tuple | list) else [inputs]


def _mapped(inputs: Any, function: Any) -> Any:
    def one(x: Any) -> Any:
        return function(x) if isinstance(x, torch.Tensor) and x.dim() else x

    if isinstance(inputs, dict):
        return {name: one(x) for name, x in inputs.items()}
    return tuple(map(one, inputs)) if isinstance(inputs, tuple | list) else one(inputs)


def _padded(x: Any, pad: int, value: float) -> Any:
    if not pad:
        return x
    if x.dim() < 2:
        raise ArgumentError("padding needs inputs with a second axis, such as the positions of tokens")
    more = torch.full((x.shape[0], pad, *x.shape[2:]), value, dtype=x.dtype, device=x.device)
    return torch.cat([x, more], 1)
