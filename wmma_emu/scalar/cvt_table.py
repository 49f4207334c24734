# SPDX-License-Identifier: MIT
"""The legal conversion instructions of each chip, and the types that they name."""

from dataclasses import dataclass
from itertools import product
from typing import Literal

from wmma_emu.chip_sets import chips_since
from wmma_emu.chips import ARCHS
from wmma_emu.evidence import Evidence, Run, Status
from wmma_emu.formats import Format, format_of

CHIPS = tuple(ARCHS)
"""The chips, each with its architecture-specific features: sm_100 includes sm_100a."""

_H200 = "results on an NVIDIA H200, driver 580.159.04, 2026-11-21: 34 million of all forms, none differs"

CVT_ROUNDINGS = ("rn", "rz", "rm", "rp", "rna", "rs", "rni", "rzi", "rmi", "rpi")

SCALED = "scaled::n2::ue8m0"
"""The modifier of conversions that multiply two elements by two scales."""

NaNOfCvt = Literal["canonical", "kept", "cut", "moved"]
"""The result for a NaN in a float: the canonical NaN; its unchanged bits; only its upper bits, which may no longer be
a NaN; or a quiet NaN with sign and payload moved to their positions in the other format."""


@dataclass(frozen=True, slots=True)
class CvtType:
    """A type in ``cvt``'s notation: one or several elements of a format, the first element lowest.

    An element occupies ``slot_bits``; the unused bits of its slot are zero.
    """

    name: str
    element: Format
    count: int
    slot_bits: int

    @property
    def bits(self) -> int:
        """The width of the register, or of its significant part."""
        return self.count * self.slot_bits


def _integer(name: str) -> CvtType:
    bits = int(name[1:])
    source = "PTX ISA 9.0, section 5.2.1 (fundamental types)"
    return CvtType(name, Format(name, "integer", bits, name[0] == "s", source=source), 1, bits)


def _float(name: str) -> CvtType:
    """Read ``f16``, ``f16x2``, ``e2m1x4``."""
    element, _, count = name.partition("x")
    fmt = format_of(element)
    return CvtType(name, fmt, int(count or 1), 4 if fmt.bits == 4 else fmt.storage.itemsize * 8)


_INTEGERS = tuple(sign + width for width in ("8", "16", "32", "64") for sign in "us")
_PACKED = tuple(f"{x}x{n}" for n in (2, 4) for x in ("e4m3", "e5m2", "e2m1", "e2m3", "e3m2"))
_FLOATS = ("f16", "bf16", "f32", "f64", "tf32", "f16x2", "bf16x2", *_PACKED, "ue8m0x2")

CVT_TYPES: dict[str, CvtType] = {x: _integer(x) for x in _INTEGERS} | {x: _float(x) for x in _FLOATS}
"""Every type by its name in ``cvt``."""


@dataclass(frozen=True, slots=True)
class CvtForm:
    """One legal conversion instruction.

    Parameters
    ----------
    target, source : str
        The types, keys of `CVT_TYPES`.
    modifiers : tuple of str
        The rounding (first), ``ftz``, ``sat``, ``satfinite``, ``relu``, in the order of the PTX manual.
    archs : tuple of str
        The chips that support the form.
    nan : {"canonical", "kept", "cut", "moved"}
        The result for a NaN, if the target is a float: the target's canonical NaN; its unchanged bits; the bits that
        tf32 keeps; or a quiet NaN with sign and upper payload bits, as in the f64 units.
    evidence : Evidence
        The source for the form's existence, and the evidence for its results on chips without measurements (see
        `known_on`): ``"documented"`` by the manual; ``"inferred"`` from the machine code of the assembler;
        ``"not modelled"``.
    flushes : bool
        Whether subnormal f32 numbers are treated as zeros.
    release : str
        The first PTX release with the form, if it is newer than 9.0: "9.1".
    """

    target: str
    source: str
    modifiers: tuple[str, ...]
    archs: tuple[str, ...]
    nan: NaNOfCvt
    evidence: Evidence
    flushes: bool
    release: str = ""

    @property
    def mnemonic(self) -> str:
        """The instruction in the spelling of the PTX manual."""
        return ".".join(("cvt", *self.modifiers, self.target, self.source))

    @property
    def rounding(self) -> str:
        """``"rn"``, ``"rzi"``, ...; empty if the form has no rounding."""
        return next((x for x in self.modifiers if x in CVT_ROUNDINGS), "")

    def known_on(self, chip: str) -> tuple[str, str]:
        """Return the source and the status of the results on a chip."""
        seen = Evidence("measured", f"{self.provenance}; {_H200}", Run("conversions", chip), self.evidence)
        found = seen.of(self.mnemonic)
        return found.source, found.status

    @property
    def provenance(self) -> str:
        """The source for the form's existence."""
        return self.evidence.source

    @property
    def status(self) -> Status:
        """The status of its results on chips without measurements."""
        return self.evidence.status

    @property
    def num_operands(self) -> int:
        """The number of source registers, without the scales: a packed target reads one f32 register per element."""
        return CVT_TYPES[self.target].count if self.source == "f32" else 1

    @property
    def is_scaled(self) -> bool:
        """Whether another register holds a ue8m0 scale for each element."""
        return SCALED in self.modifiers


_PTX = "PTX ISA 9.0, cvt; accepted by ptxas 13.0 from {} on"
_NEWER = "PTX ISA {1}, cvt; accepted by ptxas 13.4 for {0} and later"
_OLD = "PTX ISA 9.0, cvt; accepted by ptxas 13.0 for sm_75 and later, which has no sm_70 and sm_72 any more"

_FORMS: list[CvtForm] = []


def _entries(
    targets: str | tuple[str, ...],
    sources: str | tuple[str, ...],
    modifiers: tuple[str, ...],
    first: str = "sm_70",
    *,
    nan: NaNOfCvt = "canonical",
    status: Status = "documented",
    provenance: str = "",
    flushes: bool = True,
    release: str = "",
) -> None:
    """Add a form for every combination."""
    for target, source, words in product(_tuple(targets), _tuple(sources), modifiers):
        text = provenance or (_OLD if first == "sm_70" else (_NEWER if release else _PTX).format(first, release))
        split = tuple(words.split(".")) if words else ()
        flushing = flushes and "ftz" in split
        evidence = Evidence(status, text)
        _FORMS.append(CvtForm(target, source, split, chips_since(first), nan, evidence, flushing, release))


def _tuple(names: str | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(names.split()) if isinstance(names, str) else names


def _each(roundings: str, *rest: str) -> tuple[str, ...]:
    """Combine roundings with what may follow them; ``-`` and the empty text stand for nothing."""
    pairs = product(roundings.replace("-", " - ").split(), rest)
    return tuple(".".join(x for x in pair if x not in ("", "-")) for pair in pairs)


_NEAR, _WHOLE = "rn rz rm rp", "rni rzi rmi rpi"
_SAT = ("", "sat")
_FTZ_SAT = ("", "ftz", "sat", "ftz.sat")


def _holds(target: str, source: str) -> bool:
    """Return whether an integer type has all values of another."""
    x, y = CVT_TYPES[target].element, CVT_TYPES[source].element
    return x.min_integer <= y.min_integer and y.max_integer <= x.max_integer


# Integers. Conversions that always fit do not take .sat.
for _target, _source in product(_INTEGERS, _INTEGERS):
    _entries(_target, _source, ("",) if _holds(_target, _source) else _SAT)
_entries(_INTEGERS, "f16 f64", _each(_WHOLE, *_SAT))
_entries(_INTEGERS, "f32", _each(_WHOLE, *_FTZ_SAT))
_entries("f16 f64", _INTEGERS, _each(_NEAR, *_SAT))
_entries("f32", _INTEGERS, _each(_NEAR, *_FTZ_SAT))
_entries(_INTEGERS, "bf16", _each(_WHOLE, ""), "sm_90")
_entries("bf16", _INTEGERS, _each(_NEAR, ""), "sm_90")

# Conversions between f16, f32 and f64, and rounding to integral values of the same type.
_entries("f64", "f16", _SAT, nan="moved")
_entries("f16", "f64", _each(_NEAR, *_SAT), nan="moved")
_entries("f32", "f64", _each(_NEAR, *_FTZ_SAT), nan="moved")
_entries("f32", "f16", _FTZ_SAT)
_entries("f64", "f32", _FTZ_SAT, nan="moved")
_entries("f16", "f32", _each(_NEAR, *_SAT))
_SAME_CODE = "; ptxas 13.0 makes the same machine code as without .ftz, and that one does not flush"
_entries("f16", "f32", _each(_NEAR, "ftz", "ftz.sat"), status="inferred", provenance=_OLD + _SAME_CODE, flushes=False)
_entries("f16", "f16", ("", "sat", *_each(_WHOLE, *_SAT)))
_UNMOVED = "; ptxas 13.0 makes no instruction of it: the bits stay as they are"
_entries("f32", "f32", ("",), nan="kept", status="inferred", provenance=_OLD + _UNMOVED)
_entries("f64", "f64", ("",), nan="kept", status="inferred", provenance=_OLD + _UNMOVED)
_entries("f32", "f32", ("ftz", "sat", "ftz.sat", *_each(_WHOLE, *_FTZ_SAT)))
_entries("f64", "f64", ("sat", *_each(_WHOLE, *_SAT)), nan="moved")

# bf16. The conversion to f32 is a shift on every chip, whatever the rounding.
_SHIFT = "; one shift in the machine code of ptxas 13.0 for sm_80 and sm_90"
_entries("bf16", "f32", _each(_NEAR, "", "ftz"), "sm_80")
_entries("f32", "bf16", _each("-" + _NEAR, ""), "sm_80", nan="kept", status="inferred",
      provenance=_PTX.format("sm_80") + _SHIFT)  # fmt: skip
_entries("f32", "bf16", _each("-" + _NEAR, "ftz"), "sm_90")
_entries("f16", "bf16", _each("-" + _NEAR, ""), "sm_90")
_entries("f64", "bf16", _each("-" + _NEAR, ""), "sm_90", nan="moved")
_entries("bf16", "f16", _each("-" + _NEAR, ""), "sm_90")
_entries("bf16", "f64", _each(_NEAR, ""), "sm_90", nan="moved")
_entries("bf16", "bf16", ("", *_each(_WHOLE, "")), "sm_90")

# With .relu and .satfinite: one f32, or two that are packed, the first in the upper half.
_entries("f16", "f32", _each("rn rz", "satfinite"), "sm_75")
_entries("f16", "f32", _each("rn rz", "relu", "relu.satfinite"), "sm_80")
_entries("bf16", "f32", _each("rn rz", "satfinite", "relu", "relu.satfinite"), "sm_80")
_entries("f16x2 bf16x2", "f32", _each("rn rz", "", "satfinite", "relu", "relu.satfinite"), "sm_80")

# tf32. The conversion with .rna is a short sequence of integer instructions on every chip.
_CUT_BACK = "; infinities and NaN from the machine code of ptxas 13.0: what is not below infinity loses 0x2000"
_entries("tf32", "f32", ("rna",), "sm_80", nan="cut", provenance=_PTX.format("sm_80"))
_entries("tf32", "f32", ("rna.satfinite",), "sm_80", nan="cut", status="inferred",
      provenance=_PTX.format("sm_80") + _CUT_BACK)  # fmt: skip
_entries("tf32", "f32", _each("rn rz", "", "relu"), "sm_90")
_entries("tf32", "f32", _each("rn rz", "satfinite", "satfinite.relu"), "sm_100")

# Narrow formats, two per register.
_RN = _each("rn", "", "relu")
_RN_SATFINITE = _each("rn", "satfinite", "satfinite.relu")
_entries("e4m3x2 e5m2x2", "f32 f16x2", _RN_SATFINITE, "sm_89")
_entries("f16x2", "e4m3x2 e5m2x2", _RN, "sm_89")
_entries("e2m1x2 e2m3x2 e3m2x2", "f32", _RN_SATFINITE, "sm_100")
_entries("e2m1x2", "f16x2", _RN_SATFINITE, "sm_100")
_entries("f16x2", "e2m1x2 e2m3x2 e3m2x2", _RN, "sm_100")
_NARROW = ("e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2", "e3m2x2")
_entries(_NARROW, "bf16x2", _RN_SATFINITE, "sm_100", release="9.1")
_entries("e2m3x2 e3m2x2", "f16x2", _RN_SATFINITE, "sm_100", release="9.1")
_RN_ANY = _each("rn", "", "satfinite", "relu", "satfinite.relu")
_entries("bf16x2", _NARROW, (*_RN_ANY, *(f"{x}.{SCALED}" for x in _RN_ANY)), "sm_100", release="9.2")
_entries("ue8m0x2", "f32 bf16x2", _each("rz rp", "", "satfinite"), "sm_100")
_entries("bf16x2", "ue8m0x2", ("rn",), "sm_100")

# Stochastic rounding, with random bits in an additional register: only sm_100a and sm_103a.
_RS = {"first": "sm_100f", "status": "not modelled", "provenance": "PTX ISA 9.0, cvt; accepted by ptxas "
       "13.0 for sm_100a and sm_103a"}  # fmt: skip
for _target in ("f16x2", "bf16x2"):
    _entries(_target, "f32", _each("rs", "", "satfinite", "relu", "relu.satfinite"), **_RS)  # type: ignore[arg-type]
for _target in _PACKED[5:]:
    _entries(_target, "f32", _each("rs", "satfinite", "satfinite.relu"), **_RS)  # type: ignore[arg-type]

CVT_FORMS: dict[tuple[str, str, frozenset[str]], CvtForm] = {
    (entry.target, entry.source, frozenset(entry.modifiers)): entry for entry in _FORMS
}
"""Every legal form by its target, its source and its modifiers."""
