# SPDX-License-Identifier: MIT
"""The tables of block-scaled formats and of the rules for their scale factors: one entry each, with its source."""

from functools import partial

from wmma_emu.errors import UnknownNameError, shorten
from wmma_emu.evidence import Evidence, Run
from wmma_emu.formats import format_of
from wmma_emu.quantise.spec import BlockFormat, ScaleRule
from wmma_emu.suggestions import did_you_mean, nearest, question

_documented = partial(Evidence, "documented")

_MX = "OCP Microscaling Formats 1.0, table 1 and section 5.3"
_NVFP4 = (
    "NVIDIA, cuBLAS 13 documentation, block scaling (VEC16_UE4M3); PTX ISA 9.1, tcgen05.mma kind::mxf4nvf4; the second "
    "level: NVIDIA Transformer Engine and torchao, which both divide by 448 * 6"
)


def _mx(name: str, element: str, max_exponent: int, exponent: int = 0, kept_bits: int | None = None) -> BlockFormat:
    fmt, scale = format_of(element), format_of("ue8m0")
    kept = fmt.fraction_bits if kept_bits is None else kept_bits
    return BlockFormat(name, fmt, exponent, 32, scale, max_exponent, kept, False, _documented(_MX))


_FORMATS = (
    _mx("mxfp8_e4m3", "e4m3", 8),
    _mx("mxfp8_e5m2", "e5m2", 15),
    _mx("mxfp6_e3m2", "e3m2", 4),
    _mx("mxfp6_e2m3", "e2m3", 2),
    _mx("mxfp4_e2m1", "e2m1", 2),
    _mx("mxint8", "s8", 0, exponent=-6, kept_bits=6),
    BlockFormat("nvfp4", format_of("e2m1"), 0, 16, format_of("ue4m3"), 2, 1, True, _documented(_NVFP4)),
)

BLOCK_FORMATS: dict[str, BlockFormat] = {fmt.name: fmt for fmt in _FORMATS}
"""Every block-scaled format by its name."""

_TORCHAO = "torchao, prototype/mx_formats/mx_tensor.py, to_mx"

_RULES = (
    ScaleRule(
        "floor",
        "ue8m0",
        "2**(floor(log2(amax)) - emax). amax / scale is in [2**emax, 2**(emax + 1)), and saturates above max.",
        _documented(
            "OCP Microscaling Formats 1.0, section 6.3; torchao FLOOR; Microsoft microxcaling; gfloat "
            "compute_scale_amax"
        ),
    ),
    ScaleRule(
        "ceil",
        "ue8m0",
        "2**(ceil(log2(amax)) - emax). Nothing saturates; the largest element is at most 2**emax.",
        _documented(_TORCHAO + " (CEIL)"),
    ),
    ScaleRule(
        "rceil",
        "ue8m0",
        "The smallest power of two that is not below amax / max: 2**ceil(log2(amax / max)), of the exact quotient. "
        "Nothing saturates, and no smaller scale does that.",
        _documented(
            "NVIDIA, cuBLAS 13 documentation, scale factors of FP8 with UE8M0 scales, and PTX cvt.rp.ue8m0x2.f32; "
            + _TORCHAO
            + " (RCEIL). They take the quotient in float32, which gives the same scale for every float32 amax except "
            "the one next above 2**-127 * max, where the quotient is subnormal and loses the bit that counts. torchao "
            "0.18.0 takes log2 in float32, and gives some float32 next above 2**n * max the scale 2**n"
        ),
    ),
    ScaleRule(
        "even",
        "ue8m0",
        "2**(floor(log2(r)) - emax), where r is amax rounded to nearest even to the fraction bits of the elements "
        "(3 for e4m3, 1 for e2m1, 6 for MXINT8), its exponent unbounded.",
        _documented(_TORCHAO + " (EVEN); AMD Quark calls it even too. For MXINT8 inferred"),
    ),
    ScaleRule(
        "rne",
        "ue8m0",
        "The power of two that is nearest to amax / max, the exact quotient; the midpoint 1.5 * 2**k goes up: the "
        "conversion to UE8M0 with round to nearest even. Saturates where amax / scale is above max.",
        Evidence(
            "inferred",
            "the conversion that ml_dtypes and PyTorch have for float8_e8m0fnu, applied to the quotient of rceil; no "
            "known library uses it as its rule",
        ),
    ),
    ScaleRule(
        "rne",
        "ue4m3",
        "T = RNE float32 of A / 2688, where A is the largest magnitude of the tensor and 2688 = 448 * 6; block scale S "
        "= RNE e4m3 of amax / (6 * T), at most 448; elements RNE of x / (S * T). Every quotient is exact before its "
        "one rounding. Blocks whose S is zero are zeros. If A is 0, T is 1; T is never below 2**-149.",
        Evidence(
            "literature",
            "the formula of NVIDIA's report on training with NVFP4 (arXiv 2509.25149), without rounding in between",
        ),
    ),
    ScaleRule(
        "torchao",
        "ue4m3",
        "In float32, each operation rounded to nearest even: T = A / 2688; S = e4m3 of min(max((amax / 6) / T, 2**-6), "
        "448); r = (1 / T) / S; elements RNE of x * r. If A is 0, T is 1; if T rounds to 0, 0 / 0 is 0 (torchao: NaN).",
        Evidence(
            "recorded",
            "torchao 0.18.0, prototype/mx_formats/nvfp4_tensor.py, per_tensor_amax_to_scale and nvfp4_quantize; "
            "recorded on a processor with PyTorch 2.11.0, 2026-11-22",
            Run("torchao", "cpu"),
        ).of("nvfp4"),
    ),
    ScaleRule(
        "torchao_cuda",
        "ue4m3",
        "As torchao, but T = A * (1 / 2688), and amax * (1 / 6) instead of amax / 6: on a GPU, PyTorch divides by a "
        "Python number by multiplying with its reciprocal.",
        Evidence(
            "recorded",
            "torchao 0.18.0, as before; recorded on an NVIDIA H200 with PyTorch 2.11.0+cu130, 2026-11-22",
            Run("torchao", "sm_90"),
        ).of("nvfp4"),
    ),
    ScaleRule(
        "division",
        "ue4m3",
        "As torchao, but t = T * S, and elements RNE of x / t.",
        _documented("earlier versions of torchao, which divided (pytorch/ao, commit 02a1bc4)"),
    ),
    ScaleRule(
        "transformer_engine",
        "ue4m3",
        "In float32, each operation rounded to nearest even: E = min(2688 / A, M), M the largest float32, and 1 if A "
        "is 0; T = 1 / E; S = e4m3 of min(amax * (E * (1 / 6)), 448); r = min(1 / (S * T), M); elements RNE of x * r.",
        _documented(
            "NVIDIA Transformer Engine, common/cast/nvfp4/core_nvfp4.cuh and pytorch/custom_recipes/"
            "quantization_ref_nvfp4.py (default path, no fast math)"
        ),
    ),
)

SCALE_RULES: tuple[ScaleRule, ...] = _RULES
"""All scale rules: first those for UE8M0 scale factors, then those for NVFP4; the first of each is the default."""


def block_format_of(name: "str | BlockFormat") -> BlockFormat:
    """Look up a block-scaled format by its name; a `BlockFormat` is returned unchanged.

    Raises
    ------
    UnsupportedInstructionError
        If the name is not in the table; the message lists the names that are.

    Examples
    --------
    >>> fmt = block_format_of("mxfp8_e4m3")
    >>> fmt.block, str(fmt.scale), fmt.max_exponent, fmt.max_element
    (32, 'ue8m0', 8, 448.0)
    """
    if isinstance(name, BlockFormat):
        return name
    if not isinstance(name, str) or name not in BLOCK_FORMATS:
        word = name.strip().casefold() if isinstance(name, str) else ""
        near = [x for x in BLOCK_FORMATS if word and word in x]
        hint = question(near or nearest(word, BLOCK_FORMATS, cutoff=0.7), f"the formats are {', '.join(BLOCK_FORMATS)}")
        raise UnknownNameError(f"there is no block-scaled format {shorten(name)}{hint}")
    return BLOCK_FORMATS[name]


def scale_rule_of(name: "str | None", fmt: BlockFormat) -> ScaleRule:
    """Look up a scale rule of a format by its name in any case; None stands for the format's default.

    Examples
    --------
    >>> fmt = block_format_of("mxfp4_e2m1")
    >>> str(scale_rule_of(None, fmt)), scale_rule_of("ceil", fmt).definition[:27]
    ('floor', '2**(ceil(log2(amax)) - emax')
    """
    legal = [rule for rule in SCALE_RULES if rule.scale == fmt.scale.name]
    if name is None:
        return legal[0]
    for rule in legal:
        if isinstance(name, str) and rule.name == name.lower():
            return rule
    hint = did_you_mean(name, map(str, legal), f"its rules are {', '.join(map(str, legal))}")
    raise UnknownNameError(f"there is no scale rule {shorten(name)} for {fmt}{hint}")
