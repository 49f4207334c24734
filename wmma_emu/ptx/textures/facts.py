# SPDX-License-Identifier: MIT
"""The facts about fetches from textures, each with its evidence."""

from dataclasses import dataclass

from wmma_emu.evidence import Evidence, Sourced

_GUIDE = "CUDA C++ Programming Guide 13.0, Texture Fetching"
_RUNTIME = "CUDA Runtime API 13.0, cudaTextureDesc"
_SCRIPT = "not recorded on a GPU yet: tools/record_textures.py"


@dataclass(frozen=True, slots=True)
class TextureFact(Sourced):
    """A fact about fetches: what it says, and its evidence.

    ``caveat`` is the reason why results that depend on it are not proved to be bit-exact, "" if the manual defines them
    in full.
    """

    says: str
    evidence: Evidence
    caveat: str = ""


FACTS = {
    "nearest": TextureFact(
        "point sampling returns the texel i = floor(x), where x counts texels",
        Evidence("documented", f"{_GUIDE}, Nearest-Point Sampling"),
    ),
    "scaled": TextureFact(
        "a normalised coordinate is multiplied by the size of the texture, without rounding",
        Evidence("inferred", f"{_GUIDE}: x is N times the coordinate; {_SCRIPT}"),
        "the rounding of a normalised coordinate times a size that is not a power of two has not been recorded",
    ),
    "addresses": TextureFact(
        "clamp and border move the index of a texel; wrap and mirror repeat the texture",
        Evidence("documented", f"{_GUIDE}, and {_RUNTIME}: addressMode"),
    ),
    "texels repeat": TextureFact(
        "without normalised coordinates, wrap and mirror are clamp",
        Evidence("documented", f"{_RUNTIME}: normalizedCoords"),
    ),
    "outside": TextureFact(
        "a fetch by integers outside the texture returns 0, whatever its address mode",
        Evidence("inferred", f"{_RUNTIME}: addressMode is ignored for linear memory; {_SCRIPT}"),
    ),
    "weights": TextureFact(
        "the weights of filtering have 8 bits of fraction: x is rounded to the nearest multiple of 1/256",
        Evidence("inferred", f"{_GUIDE}, Linear Filtering: 9 bits, 8 of them of the fraction; {_SCRIPT}"),
        "filtering: the weights have 8 bits as the manual says, but the rounding of a weight and of the weighted sum "
        "has not been recorded",
    ),
    "sum": TextureFact(
        "the weighted sum of the texels is exact, and rounded once to the nearest f32",
        Evidence("inferred", f"{_GUIDE}, Linear Filtering: the formula, without its rounding; {_SCRIPT}"),
    ),
    "fractions": TextureFact(
        "an integer of n bits that is read as a fraction is divided by 2**n - 1, or by 2**(n - 1) - 1 and at least -1 "
        "if it is signed, and rounded once to the nearest f32",
        Evidence("inferred", f"{_RUNTIME}: readMode, [0, 1] and [-1, 1]; {_SCRIPT}"),
        "the rounding of an integer that is read as a fraction has not been recorded",
    ),
    "missing": TextureFact(
        "channels that a texture lacks are 0, and the fourth is 1",
        Evidence("inferred", f"as in OpenGL; {_SCRIPT}"),
    ),
    "layers": TextureFact(
        "a layer beyond the last one is the last",
        Evidence("inferred", f"as in OpenGL; {_SCRIPT}"),
    ),
    "levels": TextureFact(
        "a texture without mipmaps has one level, which every level of detail and every gradient selects",
        Evidence("inferred", f"CUDA arrays without mipmaps have one level; {_SCRIPT}"),
    ),
    "gather": TextureFact(
        "tld4 returns the four texels of filtering counter-clockwise from the lower left: (0, 1), (1, 1), (1, 0), "
        "(0, 0), where y grows downwards",
        Evidence("documented", "PTX ISA 9.1, tld4"),
        "which texels tld4 returns for a coordinate within 1/512 of the middle of a texel has not been recorded",
    ),
    "clamped surface": TextureFact(
        "with .clamp, an access outside a surface goes to the nearest element of the access's size in it",
        Evidence("documented", "PTX ISA 9.1, suld, sust: sized appropriately"),
    ),
}  # fmt: skip
"""The facts by name."""
