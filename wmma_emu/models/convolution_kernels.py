# SPDX-License-Identifier: MIT
"""The order of k of a convolution, and cuDNN's kernels whose bits a recording has explained: a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from wmma_emu.gemm import KOrder
from wmma_emu.models.options import ConvolutionOrder, EmulationOptions

Sizes = tuple[int, ...]

_TILE = 64
"""The channels of a tile in the order `crsc`."""

_PLAIN_ORDER = KOrder()


class KLayout(NamedTuple):
    """The order in which k runs over filter positions and channels, or over images and output positions.

    Channels are innermost, or positions if they are ``positions_last``. All positions are passed for one ``tile`` of
    channels before the next; 0 is one tile of all channels. ``padded_to`` is the multiple to which zeros are added to
    the channels. Positions that are reversed run from the last to the first. With ``turns``, ranges of k take tiles in
    turn: the k of a tile, and the number of ranges.
    """

    positions_last: bool = False
    tile: int = _TILE
    padded_to: int = 1
    is_reversed: bool = False
    turns: tuple[int, int] | None = None


LAYOUTS: Mapping[ConvolutionOrder, KLayout] = {
    "crsc": KLayout(), "rsc": KLayout(tile=0), "crs": KLayout(positions_last=True, tile=0),
}  # fmt: skip
"""The layout of each order of k."""


class Convolution(NamedTuple):
    """The facts that determine cuDNN's kernel.

    ``part`` is ``"forward"``, or the gradient that is computed: of the ``"input"`` or of the ``"weight"``. ``image`` is
    (channels, height, width) of the input, ``filters`` (output channels, height, width). ``channels_last`` says whether
    an array has its channels after its positions in memory.
    """

    part: str
    image: Sizes
    filters: Sizes
    stride: Sizes
    padding: Sizes
    dilation: Sizes = (1, 1)
    groups: int = 1
    images: int = 1
    transposed: bool = False
    channels_last: bool = False


@dataclass(frozen=True, slots=True)
class ConvolutionKernel:
    """The layout of k, and what differs from the product of the dtype: the instruction and the order of ranges."""

    layout: KLayout
    instr: str = ""
    order: KOrder = _PLAIN_ORDER


RECORDED_CHIP = "sm_90"
RECORDED_DTYPES = frozenset({"bfloat16", "float16"})
SOURCE = "cuDNN 9.19 through PyTorch 2.11.0+cu130 on an NVIDIA H200, driver 580.159.04, 2026-11-28"
"""The recording of the table: `docs/evidence/model-products-2026-11-28.md`."""

_TILES = ConvolutionKernel(KLayout())
_REVERSED = ConvolutionKernel(KLayout(is_reversed=True))
_K8 = "m16n8k8.f32.{a}.{b}.f32"


def _square(channels: int, size: int, out: int, filter_size: int, stride: int, padding: int) -> Convolution:
    """Return a convolution whose sizes are equal in both dimensions."""
    sizes = ((channels, size, size), (out, filter_size, filter_size), (stride, stride), (padding, padding))
    return Convolution("forward", *sizes)


def _of(part: str, *blocks: Convolution) -> list[Convolution]:
    return [block._replace(part=part) for block in blocks]


_BLOCKS = (
    _square(64, 56, 64, 3, 1, 1), _square(64, 56, 128, 3, 2, 1), _square(64, 56, 128, 1, 2, 0),
    _square(128, 28, 128, 3, 1, 1), _square(128, 28, 256, 3, 2, 1), _square(128, 28, 256, 1, 2, 0),
    _square(256, 14, 256, 3, 1, 1), _square(256, 14, 512, 3, 2, 1), _square(256, 14, 512, 1, 2, 0),
    _square(512, 7, 512, 3, 1, 1),
)  # fmt: skip
"""The convolutions of ResNet-18 after the first."""

_FIRST, _PATCHES = _square(3, 224, 64, 7, 2, 3), _square(3, 224, 768, 16, 16, 0)
"""The first convolution of ResNet-18, and the patches of a ViT."""

_WINOGRAD = _BLOCKS[0]
"""The gradient of its weight is a Winograd transform, which multiplies no windows."""

RECORDED: Mapping[Convolution, ConvolutionKernel] = {
    **dict.fromkeys(_of("forward", *_BLOCKS), _TILES),
    **dict.fromkeys(_of("input", *_BLOCKS), _TILES),
    **dict.fromkeys(_of("weight", *(x for x in _BLOCKS if x != _WINOGRAD), _PATCHES), _TILES),
    **dict.fromkeys(_of("input", _BLOCKS[6], _BLOCKS[9]), _REVERSED),
    _FIRST: ConvolutionKernel(LAYOUTS["crs"], "fma.f32"),
    _FIRST._replace(part="weight"): ConvolutionKernel(KLayout(turns=(32, 19)), order=KOrder(tile=32, splits=19)),
    _PATCHES: ConvolutionKernel(KLayout(padded_to=8), _K8),
}
"""The kernels of one image in bfloat16 and float16, by convolution."""


def recorded_kernel(convolution: Convolution, dtype: str, options: EmulationOptions) -> ConvolutionKernel | None:
    """Return the recorded kernel of a convolution under ``like="torch"`` or ``like="cudnn"``; None if there is none.

    Examples
    --------
    >>> first = Convolution("forward", (3, 224, 224), (64, 7, 7), (2, 2), (3, 3))
    >>> recorded_kernel(first, "float16", EmulationOptions(arch="h100", like="torch")).instr
    'fma.f32'
    >>> recorded_kernel(first, "float16", EmulationOptions(arch="a100", like="torch")) is None
    True
    """
    has_recording = options.like_chip == RECORDED_CHIP and dtype in RECORDED_DTYPES
    return RECORDED.get(convolution) if has_recording and "cudnn" in options.libraries else None
