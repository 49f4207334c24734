# SPDX-License-Identifier: MIT
"""The table of models: one entry for each chip and kind of instruction, with its source.

The sources are: bits recorded on GPUs and published by F. A. Khattak and M. Mikaitis with their models
(MATLAB-tensor-core, BSD-2-Clause), reproduced here without a mismatch; our own recordings on an NVIDIA H200
(docs/evidence); the public models MMA-Sim (arXiv 2511.10909) and MATLAB-tensor-core, if no recording exists; machine
code of ptxas 12.4, 12.8 and 13.0. Blackwell's own instructions are in `blackwell_table`.
"""

from collections.abc import Iterator

from wmma_emu.arithmetic.blackwell_table import BLACKWELL
from wmma_emu.arithmetic.model import DotModel, DotProduct
from wmma_emu.arithmetic.table_entries import (
    BOTH,
    DATA,
    FP8,
    H200,
    LIKE_DENSE,
    LITERATURE,
    SIM,
    SPARSE,
    UNSEEN,
    Claim,
    Claims,
    aligned,
    entries,
    shapes_of,
)
from wmma_emu.chip_sets import chips_since
from wmma_emu.evidence import Evidence
from wmma_emu.formats import format_of

_WARPGROUP = ("wgmma", "wgmma.sp")
_F16_MMA = shapes_of(("mma.sync",), "f16", "bf16", but=("m8n8k4",))
_F16_WMMA = shapes_of(("wmma.mma",), "f16", "bf16")
_FP8_MMA = shapes_of(("mma.sync",), *FP8)
_TF32_MMA, _TF32_WMMA = shapes_of(("mma.sync",), "tf32"), shapes_of(("wmma.mma",), "tf32")
_THROUGH_WMMA = "recorded through wmma, where mma.sync is the same machine instruction; "


def _volta() -> Iterator[DotModel]:
    note = _THROUGH_WMMA + "4 of 16 products not zero, so the order of the four steps: literature" + UNSEEN
    evidence: Claims = {
        "sm_70": ("recorded", DATA + "V100, 10,000 f16 dot products", note),
        "sm_72": ("inferred", "the same machine code as sm_70 (HMMA.884, ptxas 12.4)", ""),
    }
    for accumulator in ("f32", "f16"):
        yield from aligned(evidence, accumulator, families=BOTH, shapes=shapes_of(BOTH, "f16", chip="sm_70"),
                           inputs=("f16",), terms_per_step=4, fraction_bits=23)  # fmt: skip


def _turing() -> Iterator[DotModel]:
    study = "another study (arXiv 2502.15999) reads Turing as four products a step"
    evidence: Claims = {"sm_75": ("literature", SIM, study)}
    shapes = shapes_of(BOTH, "f16", but=("m8n8k4",), chip="sm_75")
    four: Claims = {"sm_75": ("literature", "arXiv 2502.15999", "F: as of MMA-Sim's eight products a step")}
    for accumulator in ("f32", "f16"):
        same = {"families": BOTH, "shapes": shapes, "inputs": ("f16",), "fraction_bits": 24}
        yield from aligned(evidence, accumulator, terms_per_step=8, **same)
        yield from aligned(four, accumulator, terms_per_step=4, name="4 terms", **same)
        yield from aligned(evidence, accumulator, families=("mma.sync",), shapes=("m8n8k4",), inputs=("f16",),
                           terms_per_step=4, fraction_bits=24)  # fmt: skip


def _ampere_and_ada() -> Iterator[DotModel]:
    gpus = {"sm_80": "A100", "sm_86": "A2", "sm_89": "Ada RTX 1000 and L40S"}

    def evidence(products: str) -> Claims:
        note = f"{_THROUGH_WMMA}{products} products not zero, so that there are two steps of k: literature{UNSEEN}"
        return {arch: ("recorded", DATA + gpu, note) for arch, gpu in gpus.items()}

    shapes = (*_F16_MMA, *_F16_WMMA)
    for fmt, accumulator in (("f16", "f32"), ("f16", "f16"), ("bf16", "f32")):
        yield from aligned(evidence("8 of 16"), accumulator, families=BOTH, shapes=shapes, inputs=(fmt,),
                           terms_per_step=8, fraction_bits=24)  # fmt: skip
    yield from aligned(evidence("4 of 8"), "f32", families=BOTH, shapes=(*_TF32_MMA, *_TF32_WMMA),
                       inputs=("tf32",), terms_per_step=4, fraction_bits=24)  # fmt: skip
    note = "recorded: m16n8k32, A and B of one format; m16n8k16 and mixed formats: literature" + UNSEEN
    ada: Claims = {"sm_89": ("recorded", DATA + "Ada RTX 1000 and L40S, m16n8k32", note)}
    for accumulator, output in (("f32", "e8m13"), ("f16", "f16")):
        yield from aligned(ada, accumulator, output=output, families=("mma.sync",), shapes=_FP8_MMA,
                           inputs=FP8, terms_per_step=16, fraction_bits=13)  # fmt: skip


def _hopper_and_blackwell() -> Iterator[DotModel]:
    b200: Claim = ("recorded", DATA + "B200", _THROUGH_WMMA + "all 16 products not zero" + UNSEEN)
    evidence: Claims = {"sm_90": ("measured", H200, ""), "sm_100": b200, "sm_120": ("literature", LITERATURE, "")}
    shapes = (*_F16_MMA, *_F16_WMMA)
    for fmt, accumulator in (("f16", "f32"), ("f16", "f16"), ("bf16", "f32")):
        yield from aligned(evidence, accumulator, families=BOTH, shapes=shapes, inputs=(fmt,),
                           terms_per_step=16, fraction_bits=25)  # fmt: skip
    # The recordings of the B200 are of wmma, four k4 HMMAs; they cannot distinguish eight products per step from four.
    literature: Claim = ("literature", LITERATURE, "")
    tf32: Claims = {"sm_90": ("measured", H200, ""), "sm_100": literature, "sm_120": literature}
    yield from aligned(tf32, "f32", families=("mma.sync",), shapes=_TF32_MMA, inputs=("tf32",),
                       terms_per_step=8, fraction_bits=25)  # fmt: skip
    hmma = "; four k4 HMMAs in the machine code"
    b200 = ("recorded", DATA + "B200" + hmma, "4 of 8 products not zero" + UNSEEN)
    wmma: Claims = {"sm_90": ("measured", H200, ""), "sm_100": b200, "sm_120": ("literature", LITERATURE + hmma, "")}
    yield from aligned(wmma, "f32", families=("wmma.mma",), shapes=_TF32_WMMA, inputs=("tf32",),
                       terms_per_step=4, fraction_bits=25)  # fmt: skip


_WITH_SPARSE_A = tuple(dict.fromkeys((*shapes_of(SPARSE, "tf32"), *shapes_of(SPARSE, "f16", "bf16"))))
_FP8_SPARSE = shapes_of(SPARSE, *FP8)


def _sparse() -> Iterator[DotModel]:
    """Yield products of a sparse A: only its packed elements, in the unit of the dense instruction."""
    hopper: Claims = {"sm_90": ("measured", H200, "")}
    older: Claims = {arch: LIKE_DENSE for arch in ("sm_80", "sm_86", "sm_89")}
    newer: Claims = {arch: LIKE_DENSE for arch in ("sm_100", "sm_120")}
    for fmt, accumulator in (("f16", "f32"), ("f16", "f16"), ("bf16", "f32"), ("tf32", "f32")):
        width = 1 if fmt == "tf32" else 2
        for evidence, terms, fraction_bits in ((older, 4, 24), (hopper, 8, 25), (newer, 8, 25)):
            yield from aligned(evidence, accumulator, families=SPARSE, shapes=_WITH_SPARSE_A, inputs=(fmt,),
                               terms_per_step=terms * width, fraction_bits=fraction_bits)  # fmt: skip
    yield from aligned({"sm_89": LIKE_DENSE}, "f32", output="e8m13", families=SPARSE, shapes=_FP8_SPARSE,
                       inputs=FP8, terms_per_step=16, fraction_bits=13)  # fmt: skip
    for accumulator in ("f32", "f16"):
        yield from aligned({"sm_120": LIKE_DENSE}, accumulator, families=SPARSE, shapes=_FP8_SPARSE, inputs=FP8,
                           terms_per_step=32, fraction_bits=25)  # fmt: skip


def _warpgroup() -> Iterator[DotModel]:
    """Yield `wgmma`: f16, bf16 and tf32 as in `mma.sync`; FP8 in a separate unit, which keeps 13 bits."""
    hopper: Claims = {"sm_90": ("measured", H200, "")}

    for fmt, accumulator, terms in (("f16", "f32", 16), ("f16", "f16", 16), ("bf16", "f32", 16), ("tf32", "f32", 8)):
        yield from aligned(hopper, accumulator, families=_WARPGROUP, shapes=shapes_of(_WARPGROUP, fmt), inputs=(fmt,),
                           terms_per_step=terms, fraction_bits=25)  # fmt: skip
    for accumulator, output in (("f32", "e8m13"), ("f16", "f16")):
        yield from aligned(hopper, accumulator, output=output, families=_WARPGROUP, shapes=shapes_of(_WARPGROUP, *FP8),
                           inputs=FP8, terms_per_step=32, fraction_bits=13)  # fmt: skip
    yield from entries(hopper, arithmetic="integer", families=_WARPGROUP, shapes=shapes_of(_WARPGROUP, "s8", "u8"),
                    inputs=("s8", "u8"), accumulator="s32")  # fmt: skip
    yield from entries(hopper, arithmetic="popcount", families=("wgmma",), shapes=shapes_of(("wgmma",), "b1"),
                    inputs=("b1",), accumulator="s32")  # fmt: skip


def _fp8_as_f16() -> Iterator[DotModel]:
    """Yield FP8 `mma.sync` on chips whose warp-level unit lacks FP8: converted to f16, two HMMAs, c added last."""
    lowerings: tuple[tuple[str, str, Claims], ...] = (
        ("ptxas-12.8", "chained", {
            "sm_90": ("measured", H200 + " (ptxas 13.0 emits the sequence of 12.8)", ""),
            "sm_100": ("recorded", DATA + "B200, m16n8k32",
                       "sequence of ptxas 12.8; m16n8k16 and mixed formats: the same machine code" + UNSEEN),
        }),
        ("ptxas-12.4", "added", {
            "sm_90": ("inferred", "machine code of ptxas 12.4 over the measured HMMA",
                      "m16n8k16 and f16 accumulators, which ptxas 12.4 refuses: carried over"),
            "sm_100": ("inferred", "the order of ptxas 12.4 on sm_90, carried over", "ptxas 12.4 does not know sm_100"),
        }),
    )  # fmt: skip
    for lowering, partial_sums, evidence in lowerings:
        software = {"lowering": lowering, "partial_sums": partial_sums, "terms_per_step": 16, "fraction_bits": 25,
                    "operand_format": "f16", "k_order": "byte_pairs", "c_joins": "last_add"}  # fmt: skip
        for accumulator in ("f32", "f16"):
            yield from aligned(evidence, accumulator, families=("mma.sync",), shapes=_FP8_MMA,
                               inputs=FP8, **software)  # fmt: skip
        sparse = {"sm_90": evidence["sm_90"], "sm_100": LIKE_DENSE}
        yield from aligned(sparse, "f32", families=SPARSE, shapes=_FP8_SPARSE, inputs=FP8, **software)


def _fp8_on_sm_120() -> Iterator[DotModel]:
    evidence: Claims = {"sm_120": ("literature", LITERATURE, "f16 results, and k = 16: MMA-Sim alone")}
    for accumulator in ("f32", "f16"):
        yield from aligned(evidence, accumulator, families=("mma.sync",), shapes=_FP8_MMA,
                           inputs=FP8, b_inputs=FP8, terms_per_step=32, fraction_bits=25)  # fmt: skip


_AFTER_TURING = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
_SOFTWARE = "as many FMUL, FFMA and FADD in the machine code of ptxas 13.0 as on sm_90, where the sums are measured"


def _m8n8k4_after_turing() -> Iterator[DotModel]:
    """Yield m8n8k4 in float32: one chain of four with c last; or, for f16 results, c + (p0 + p1) + (p2 + p3)."""
    evidence: Claims = {arch: ("inferred", _SOFTWARE, "") for arch in _AFTER_TURING}
    evidence["sm_90"] = ("measured", H200, "")
    for accumulator, terms, c_joins in (("f32", 4, "last_add"), ("f16", 2, "each_add")):
        yield from entries(
            evidence,
            arithmetic="fma_chain",
            families=("mma.sync",),
            shapes=("m8n8k4",),
            inputs=("f16",),
            accumulator=accumulator,
            operand_format="f32",
            terms_per_step=terms,
            c_joins=c_joins,
        )


def _f64() -> Iterator[DotModel]:
    evidence: Claims = {arch: ("literature", SIM, "NaN rule inferred from sm_90") for arch in _AFTER_TURING}
    evidence["sm_90"] = ("measured", H200, "")
    shapes = shapes_of(BOTH, "f64")
    yield from entries(evidence, arithmetic="fma_chain", families=BOTH, shapes=shapes, inputs=("f64",),
                    accumulator="f64")  # fmt: skip


def _integers() -> Iterator[DotModel]:
    text = "PTX ISA 9.1: integer mma wraps, or clamps to the range with .satfinite; exact sums"
    evidence: Claims = {
        arch: ("documented", text, "one clamp of the exact total: measured on sm_90") for arch in chips_since("sm_72")
    }
    evidence["sm_90"] = ("measured", H200, "")
    formats = ("s8", "u8", "s4", "u4")
    shapes = tuple(dict.fromkeys((*shapes_of(("mma.sync", *SPARSE), *formats), *shapes_of(("wmma.mma",), *formats))))
    yield from entries(evidence, arithmetic="integer", families=(*BOTH, *SPARSE), shapes=shapes,
                    inputs=formats, accumulator="s32")  # fmt: skip
    bits = {arch: row for arch, row in evidence.items() if arch != "sm_72"}
    yield from entries(bits, arithmetic="popcount", families=BOTH, shapes=shapes_of(BOTH, "b1"),
                    inputs=("b1",), accumulator="s32")  # fmt: skip


MODELS: tuple[DotModel, ...] = (
    *_volta(), *_turing(), *_ampere_and_ada(), *_hopper_and_blackwell(), *_sparse(), *_warpgroup(), *_fp8_as_f16(),
    *_fp8_on_sm_120(), *_m8n8k4_after_turing(), *_f64(), *_integers(), *BLACKWELL,
)  # fmt: skip
"""All models. `wmma_emu.arithmetic.lookup.model_for` finds the model for an instruction on a chip."""

FMA_F32 = DotProduct(
    DotModel(arch="every chip", families=("fma",), shapes=(), inputs=("f32",), accumulator="f32",
             arithmetic="fma_chain",
             evidence=Evidence("documented", "IEEE 754-2019 fusedMultiplyAdd; PTX ISA 9.1 fma.rn.f32")),
    format_of("f32"), format_of("f32"), format_of("f32"), format_of("f32"), k=1,
)  # fmt: skip
"""The baseline of the CUDA cores: one fused multiply-add per k, from c, in ascending k."""
