# SPDX-License-Identifier: MIT
"""The facts about fetches from textures, each with its evidence."""

from dataclasses import dataclass

from wmma_emu.evidence import Evidence, Run, Sourced

_GUIDE = "CUDA C++ Programming Guide 13.0, Texture Fetching"
_RUNTIME = "CUDA Runtime API 13.0, cudaTextureDesc"
_H200 = "NVIDIA H200, driver 580.159.04, 2026-11-27"


def _seen(manual: str = "") -> Evidence:
    """Return the evidence of a fact with which every bit of the recording agrees."""
    return Evidence("measured", f"{manual}; {_H200}" if manual else _H200, Run("textures", "sm_90"))


@dataclass(frozen=True, slots=True)
class TextureFact(Sourced):
    """A fact about fetches: what it says, and its evidence.

    ``caveat`` is the reason why some results that depend on it are not proved to be bit-exact, or "".
    """

    says: str
    evidence: Evidence
    caveat: str = ""


FACTS = {
    "nearest": TextureFact(
        "point sampling returns the texel i = floor(x), where x counts texels",
        _seen(f"{_GUIDE}, Nearest-Point Sampling"),
    ),
    "scaled": TextureFact(
        "a normalised coordinate is rounded down to 21 bits of fraction, or to more for sizes above 2**13, so that 8 "
        "bits of fraction of a texel remain, and multiplied by the size without rounding; subnormal coordinates are 0",
        _seen(f"{_GUIDE}: x is N times the coordinate"),
    ),
    "addresses": TextureFact(
        "clamp and border move the index of a texel; wrap and mirror repeat the texture",
        _seen(f"{_GUIDE}, and {_RUNTIME}: addressMode"),
    ),
    "texels repeat": TextureFact(
        "without normalised coordinates, wrap and mirror are clamp",
        _seen(f"{_RUNTIME}: normalizedCoords"),
    ),
    "outside": TextureFact(
        "a fetch by integers outside the texture returns 0, whatever its address mode",
        _seen(),
    ),
    "weights": TextureFact(
        "the weights of filtering have 8 bits of fraction: x is rounded to the nearest multiple of 1/256, ties up; "
        "where an address mode makes both texels the same one, it has all of the weight",
        _seen(f"{_GUIDE}, Linear Filtering: 9 bits, 8 of them of the fraction"),
    ),
    "products": TextureFact(
        "of several axes, the weight 256 is shared out along z, then x, then y; one part is rounded to the nearest, "
        "ties up, and the other is the rest: the rounded part is the second one, or along y the first one if x is the "
        "first",
        _seen(),
        "filtering along three axes: in the recording of an H200, 157 of 6,144 results of float textures differ, where "
        "weights are tied or exponents far apart",
    ),
    "sum": TextureFact(
        "texels of floats that have a weight are truncated in fixed point to 27 bits (f32) or 14 bits (f16) below the "
        "first bit of the largest of one z, and added; the sum of one z is truncated below the other; the result is "
        "rounded to the nearest number of the texels' format, ties away from zero; subnormal f32 texels and "
        "results are zeros",
        _seen(f"{_GUIDE}, Linear Filtering: the formula, without its rounding"),
    ),
    "sum of fractions": TextureFact(
        "the weighted sum of 8 or 16-bit integers is rounded, ties up, to a fraction of 16 bits: a multiple of "
        "1/65535, or of 1/32767 if it is signed",
        _seen(),
    ),
    "fractions": TextureFact(
        "an integer of n bits that is read as a fraction is divided by 2**n - 1, or by 2**(n - 1) - 1 and at least -1 "
        "if it is signed, and rounded once to the nearest f32",
        _seen(f"{_RUNTIME}: readMode, [0, 1] and [-1, 1]"),
    ),
    "missing": TextureFact("channels that a texture lacks are 0, the fourth one too", _seen()),
    "layers": TextureFact("a layer beyond the last one is the last", _seen()),
    "levels": TextureFact(
        "a texture without mipmaps has one level, which every level of detail and every gradient selects",
        _seen(),
    ),
    "gather": TextureFact(
        "tld4 returns the four texels of filtering counter-clockwise from the lower left: (0, 1), (1, 1), (1, 0), "
        "(0, 0), where y grows downwards",
        _seen("PTX ISA 9.1, tld4"),
    ),
    "clamped surface": TextureFact(
        "with .clamp, an access outside a surface goes to the nearest element of the access's size in it; with .zero, "
        "loads return 0 and stores do nothing",
        _seen("PTX ISA 9.1, suld, sust: sized appropriately"),
    ),
    "formatted": TextureFact(
        "a formatted store to texels of integers saturates: a register counts as unsigned or signed as the texels are",
        _seen(),
    ),
}  # fmt: skip
"""The facts by name."""
