# SPDX-License-Identifier: MIT
"""The presets of ``like=``: one entry for each library, chip and format, with the products that are recorded."""

from dataclasses import dataclass
from typing import Literal

from wmma_emu.evidence import Evidence, Run, Sourced
from wmma_emu.gemm.k_order import KOrder
from wmma_emu.gemm.options import Form

Shape = tuple[int, int, int]

_PLAIN_ORDER = KOrder()


@dataclass(frozen=True, slots=True)
class Recorded:
    """Products whose bits one order of accumulation explains.

    Parameters
    ----------
    shapes : tuple of (M, N, K)
    order : KOrder
    epilogues : tuple of str
        ``""`` is D = A B; otherwise the terms of the epilogue: ``"beta"``, ``"alpha and beta of 1"``, ``"bias"``, ...
    instr : str
        The instruction, if it differs from the preset's.
    outs : tuple of str
        The formats of D, if they are not all of the preset's.
    batches : tuple of int
        The numbers of products in one call.
    """

    shapes: tuple[Shape, ...]
    order: KOrder = _PLAIN_ORDER
    epilogues: tuple[str, ...] = ("",)
    instr: str = ""
    outs: tuple[str, ...] = ()
    batches: tuple[int, ...] = (1,)

    def serves(self, out: str) -> bool:
        """Return whether it was recorded with a format of D."""
        return not self.outs or out in self.outs


@dataclass(frozen=True, slots=True)
class Preset(Sourced):
    """The kernels that a ``like=`` name selects.

    Parameters
    ----------
    name : str
        The library, the chip, and the format of A and B.
    arch, instr : str
        The chip and the instruction.
    a : str
        The format of A and B.
    outs : tuple of str
        The formats of D; the first is the default.
    recorded : tuple of Recorded
    machine : str
        The library and the GPU of the recording.
    order : KOrder
        The order assumed for every other product, with a warning.
    form_of_beta_1, form_of_splits : Form
        How C is added if beta is exactly 1 and k has one range, and if k has several ranges; otherwise as in `gemm`.
    """

    name: str
    arch: str
    instr: str
    a: str
    outs: tuple[str, ...]
    recorded: tuple[Recorded, ...]
    machine: str
    order: KOrder = _PLAIN_ORDER
    form_of_beta_1: Form = "fma_accumulator"
    form_of_splits: Form = "fma_accumulator"

    @property
    def evidence(self) -> Evidence:
        """The evidence: recorded, if every product is in the recording."""
        found = Evidence("recorded", self.machine, Run("cublas", self.arch))
        names = (
            f"{self.a}|{batch_of(matrices)}{'x'.join(map(str, shape))}"
            for entry in self.recorded
            for shape in entry.shapes
            for matrices in entry.batches
        )
        return next((x for x in map(found.of, names) if x is not found), found)

    def recorded_as(self, shape: Shape, out: str, epilogue: str, matrices: int = 1) -> Recorded | None:
        """Return the entry of a product; if there is no exact one, an entry of its shape with another epilogue."""
        entries = [entry for entry in self.recorded if shape in entry.shapes and entry.serves(out)]
        exact = (x for x in entries if epilogue in x.epilogues and matrices in x.batches)
        return next(exact, entries[0] if entries else None)


def batch_of(matrices: int) -> str:
    """Return what precedes the shape of several products in the key of a recording."""
    return f"{matrices} of " if matrices > 1 else ""


_CUBLAS = (
    "cuBLAS 13.1.0.3 through PyTorch 2.11.0+cu130 on an NVIDIA H200, driver 580.159.04, 2026-11-21; C-contiguous A and "
    "B, some of them transposed (FP8 and s8: B always)"
)
_CUBLAS_AND_MODELS = f"{_CUBLAS}; products of whole models 2026-11-28"

_PLAIN: tuple[Shape, ...] = (
    (16, 16, 16), (64, 64, 64), (128, 128, 128), (256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (64, 96, 1024),
    (1024, 1024, 2048), (40, 48, 40), (64, 64, 136), (128, 64, 1000), (128, 768, 768), (128, 3072, 768),
    (512, 1024, 256),
)  # fmt: skip
_OF_MODELS: tuple[Shape, ...] = (
    (768, 768, 512), (512, 768, 1536), (1536, 768, 512), (3072, 768, 512), (768, 3072, 512),
    (197, 768, 768), (768, 768, 197), (197, 768, 1536), (1536, 768, 197), (3072, 768, 197), (197, 3072, 768),
    (768, 3072, 197),
    (512, 2048, 2048), (2048, 2048, 512), (512, 1024, 2048), (512, 2048, 1024), (1024, 2048, 512), (512, 5632, 2048),
    (512, 2048, 5632), (5632, 2048, 512), (2048, 5632, 512),
    (1, 768, 1000), (1000, 768, 1), (1, 512, 1000), (1000, 512, 1),
)  # fmt: skip
"""Products of linear layers and their gradients in GPT-2 and a ViT, a layer of Llama, and classifiers."""

_OF_MODELS_WITH_BIAS: tuple[Shape, ...] = (
    (512, 1536, 768), (197, 768, 768), (197, 1536, 768), (197, 3072, 768), (197, 768, 3072), (1, 1000, 768),
    (1, 1000, 512),
)  # fmt: skip
_OF_ATTENTION: tuple[Shape, ...] = ((512, 512, 64), (512, 64, 512))
"""Scores and values of attention that is not fused, in GPT-2 and in the layer of Llama."""

_WITH_AND_WITHOUT_BIAS: tuple[Shape, ...] = ((512, 768, 768), (512, 3072, 768), (512, 768, 3072))

_BETAS = ("beta of 1", "alpha and beta", "alpha and beta of 1")


def _split(splits: int, *shapes: Shape, epilogues: tuple[str, ...] = ("",), tile: int = 64) -> Recorded:
    return Recorded(shapes, KOrder(tile=tile, splits=splits), epilogues)


def _of_vocabulary(fmt: Literal["f16", "bf16"]) -> tuple[Recorded, ...]:
    """Return the products of GPT-2's vocabulary, an odd number: kernels with half of the k in an instruction.

    The sums of ranges of k are stored in the format of D, because PyTorch allows it by default.
    """
    order = KOrder(tile=32, residue="first", splits=11, split_multiple=8, partials=fmt)
    instr = f"m16n8k8.f32.{fmt}.{fmt}.f32"
    return (
        Recorded(((512, 50257, 768), (50257, 768, 512)), instr=instr),
        Recorded(((512, 768, 50257),), order, instr=instr),
    )


def _half(fmt: Literal["f16", "bf16"], *recorded: Recorded) -> Preset:
    """Return the preset of half precision: tiles of 64 k, and ranges of k that a second kernel adds in float32."""
    rows = (
        Recorded(_PLAIN),
        Recorded(((256, 128, 512),), epilogues=("", *_BETAS, "bias")),
        Recorded(((128, 128, 256),), epilogues=(*_BETAS, "bias")),
        _split(6, (64, 128, 8192), epilogues=("", *_BETAS, "bias")),
        _split(6, (64, 256, 8192)),
        _split(3, (64, 64, 4096), (128, 128, 4096), (16, 1024, 4096)),
        _split(12, (32, 64, 16384)),
        _split(2, (128, 768, 3072), (16, 4096, 4096)),
        Recorded(_OF_MODELS),
        Recorded(_OF_MODELS_WITH_BIAS, epilogues=("bias",)),
        Recorded(_WITH_AND_WITHOUT_BIAS, epilogues=("", "bias")),
        _split(2, (197, 768, 3072)),
        Recorded(_OF_ATTENTION, batches=(12, 32)),
        *_of_vocabulary(fmt),
    )
    return Preset(
        f"cublas-sm90-{fmt}", "sm_90", f"m16n8k16.f32.{fmt}.{fmt}.f32", fmt, (fmt,), (*rows, *recorded),
        _CUBLAS_AND_MODELS, form_of_beta_1="after_rounding", form_of_splits="fma_source",
    )  # fmt: skip


def _unaligned(splits: int) -> KOrder:
    """Return the order of CUTLASS 2.x: a partial tile first, and ranges that are multiples of 16 bytes."""
    return KOrder(tile=64, residue="first", splits=splits, split_multiple=8 if splits > 1 else 0)


_K8 = "m16n8k8.f32.bf16.bf16.f32"
_F16 = _half(
    "f16",
    _split(12, (128, 128, 16384)),
    _split(3, (256, 256, 8192)),
    Recorded(((33, 65, 130), (65, 127, 255), (64, 64, 100)), _unaligned(1)),
    Recorded(((64, 64, 2001),), _unaligned(23)),
)
_BF16 = _half(
    "bf16",
    _split(11, (128, 128, 16384)),
    _split(4, (256, 256, 8192)),
    Recorded(((64, 64, 100),), KOrder(tile=128, residue="first")),
    Recorded(((33, 65, 130),), KOrder(tile=32, residue="first", splits=9, split_multiple=8), instr=_K8),
    Recorded(((65, 127, 255),), KOrder(tile=32, residue="first", splits=3, split_multiple=8), instr=_K8),
    Recorded(((64, 64, 2001),), KOrder(tile=32, residue="first", splits=28, split_multiple=8), instr=_K8),
)

_FP8_SHAPES: tuple[Shape, ...] = (
    (64, 64, 64), (64, 64, 256), (128, 128, 512), (128, 256, 1024), (256, 128, 2048), (512, 512, 512), (64, 64, 1008),
    (1024, 1024, 1024), (128, 768, 3072), (16, 4096, 4096),
)  # fmt: skip


def _fp8(name: str, promote_every: int, function: str, *recorded: Recorded) -> Preset:
    """Return an FP8 preset.

    Every 128 k, the depth of a tile, the tensor core's sums are added to float32 sums; or never.
    """
    plain = KOrder(tile=128, promote_every=promote_every)
    split = KOrder(tile=128, promote_every=promote_every, splits=3)
    return Preset(
        name, "sm_90", "wgmma.m64n8k32.f32.e4m3.e4m3", "e4m3", ("bf16", "f32"),
        (Recorded(_FP8_SHAPES, plain), Recorded(((64, 128, 8192),), split), *recorded), f"{_CUBLAS}; {function}",
        order=plain,
    )  # fmt: skip


_S8 = Preset(
    "cublas-sm90-s8", "sm_90", "m16n8k32.s32.s8.s8.s32", "s8", ("s32",),
    (Recorded(((32, 64, 64), (128, 128, 512), (256, 128, 2048))),), f"{_CUBLAS}; torch._int_mm",
)  # fmt: skip

_TF32 = Preset(
    "cublas-sm90-tf32", "sm_90", "m16n8k8.f32.tf32.tf32.f32", "tf32", ("f32",),
    (
        Recorded(((512, 512, 512), (33, 65, 130))),
        _split(2, (64, 64, 64), tile=16),
        _split(4, (128, 128, 256), tile=16),
        _split(8, (256, 128, 512), tile=16),
        _split(32, (64, 128, 8192), tile=32),
    ),
    f"{_CUBLAS}; A and B are multiples of tf32's last place",
)  # fmt: skip

PRESETS: tuple[Preset, ...] = (
    _F16,
    _BF16,
    _fp8(
        "cublas-sm90-e4m3",
        4,
        "torch._scaled_mm, use_fast_accum=False; alpha is the product of its scales",
        Recorded(((128, 128, 512),), KOrder(tile=128, promote_every=4), ("alpha",)),
    ),
    _fp8("cublas-sm90-e4m3-fast", 0, "torch._scaled_mm, use_fast_accum=True, scales of 1"),
    _S8,
    _TF32,
)
"""All presets."""
