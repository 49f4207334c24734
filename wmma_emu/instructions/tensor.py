# SPDX-License-Identifier: MIT
"""The `tcgen05.mma` instructions: kinds and sizes as table entries, and the `Instruction` for a name or a call.

The shape and types of a `tcgen05.mma` are in its instruction descriptor and not in its mnemonic, and there are too many
combinations to list. Therefore instructions are created on demand, and the mnemonic is followed by the contents of the
descriptor: ``tcgen05.mma.cta_group::1.kind::f16.m128n256k16.f32.f16.f16``.
"""

import re
from dataclasses import dataclass
from functools import cache

from wmma_emu.chip_sets import chips_since
from wmma_emu.chips import TENSOR_MEMORY
from wmma_emu.errors import CallError, OptionError, UnsupportedInstructionError, shorten
from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.formats import FORMATS
from wmma_emu.formats.integers import integer_of
from wmma_emu.instructions.spec import TENSOR_FAMILIES, Family, Instruction
from wmma_emu.suggestions import did_you_mean

_MANUAL = Evidence(
    "documented",
    "PTX ISA 9.3, tables of tcgen05.mma: kinds and shapes, scale vectors with types; chips as ptxas 13.0 accepts them",
)
_CUTE = Evidence(
    "inferred",
    "CuTe (CUTLASS 4), SM103_MXF4_ULTRA_SS_VS and SM103_MXF4_ULTRA_2x1SM_SS_VS; the PTX manual does not list it",
)


@dataclass(frozen=True, slots=True)
class TensorKind(Sourced):
    """The products of one ``.kind``.

    Parameters
    ----------
    name : str
        The name after ``kind::``.
    types : tuple of (str, tuple of str)
        Formats of D, each with the formats that A and B may have independently of each other.
    k : int
        k of a dense product; a sparse one has twice this.
    scales : tuple of (str, tuple of int)
        Formats of the block scales, each with the legal numbers of scales per row of A; empty if there are none.
    archs : tuple of str
    transposes, negates : bool
        Whether the descriptor may transpose, or negate, A and B.
    evidence : Evidence
    """

    name: str
    types: tuple[tuple[str, tuple[str, ...]], ...]
    k: int
    scales: tuple[tuple[str, tuple[int, ...]], ...]
    archs: tuple[str, ...]
    transposes: bool
    negates: bool
    evidence: Evidence = _MANUAL

    @property
    def is_block_scaled(self) -> bool:
        """Whether A and B have block scales."""
        return bool(self.scales)

    @property
    def operands(self) -> tuple[str, ...]:
        """Every format that A or B may have."""
        return tuple(dict.fromkeys(x for _, formats in self.types for x in formats))


_CHIPS = TENSOR_MEMORY
_F8F6F4 = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")

TENSOR_KINDS: dict[str, TensorKind] = {
    entry.name: entry
    for entry in (
        TensorKind("f16", (("f32", ("f16", "bf16")), ("f16", ("f16",))), 16, (), _CHIPS, True, True),
        TensorKind("tf32", (("f32", ("tf32",)),), 8, (), _CHIPS, True, True),
        TensorKind("f8f6f4", (("f32", _F8F6F4), ("f16", _F8F6F4)), 32, (), _CHIPS, True, True),
        TensorKind("i8", (("s32", ("s8", "u8")),), 32, (), chips_since("sm_100f", lacks="sm_103"), True, False),
        TensorKind("mxf8f6f4", (("f32", _F8F6F4),), 32, (("ue8m0", (1,)),), _CHIPS, True, True),
        TensorKind("mxf4", (("f32", ("e2m1",)),), 64, (("ue8m0", (2,)),), _CHIPS, False, True),
        TensorKind("mxf4nvf4", (("f32", ("e2m1",)),), 64, (("ue8m0", (2, 4)), ("ue4m3", (4,))), _CHIPS, False, True),
    )
}
"""Every ``.kind`` by its name."""


@dataclass(frozen=True, slots=True)
class Sizes(Sourced):
    """Legal combinations of m and n, with the instructions and chips that support them."""

    kinds: tuple[str, ...]
    ws: bool
    cta_group: int
    sparse: tuple[bool, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: int = 0
    """k, or 0 for the default of the kind."""
    archs: tuple[str, ...] = _CHIPS
    evidence: Evidence = _MANUAL


_PLAIN = ("f16", "tf32", "f8f6f4")
_INTEGER = ("i8",)
_SCALED = ("mxf8f6f4", "mxf4", "mxf4nvf4")
_FP4 = ("mxf4", "mxf4nvf4")
_ULTRA = chips_since("sm_103f")
_ANY = (False, True)
_DENSE, _SPARSE = (False,), (True,)


def _steps(step: int, start: int = 0) -> tuple[int, ...]:
    return tuple(range(start or step, 257, step))


_SIZES = (
    Sizes(_PLAIN, False, 1, _ANY, (64, 128), _steps(8)),
    Sizes(_PLAIN, False, 2, _ANY, (128, 256), _steps(16)),
    Sizes(_INTEGER, False, 1, _ANY, (64, 128), (8, 16, 24, *_steps(16, 32))),
    Sizes(_INTEGER, False, 2, _ANY, (128, 256), _steps(32)),
    Sizes((*_PLAIN, *_INTEGER), True, 1, _DENSE, (32, 64, 128), (64, 128, 256)),
    Sizes((*_PLAIN, *_INTEGER), True, 1, _SPARSE, (32, 64, 128), (64, 128)),
    Sizes(_SCALED, False, 1, _ANY, (128,), _steps(8)),
    Sizes(_SCALED, False, 2, _DENSE, (128, 256), _steps(16)),
    Sizes(_SCALED, False, 2, _SPARSE, (256,), _steps(16)),
    Sizes(_FP4, False, 2, _DENSE, (256,), _steps(16), 96, _ULTRA),
    Sizes(_FP4, False, 1, _DENSE, (128,), _steps(16), 96, _ULTRA, _CUTE),
    Sizes(_FP4, False, 2, _DENSE, (128,), _steps(16), 96, _ULTRA, _CUTE),
)


def tensor_sizes(kind: str, *, cta_group: int = 1, ws: bool = False, sparse: bool = False) -> tuple[Sizes, ...]:
    """Return the legal sizes of a kind; an empty tuple if the combination does not exist.

    Raises
    ------
    UnsupportedInstructionError
        If the kind does not exist.

    Examples
    --------
    >>> [(x.m, x.n[:3]) for x in tensor_sizes("i8", cta_group=2)]
    [((128, 256), (32, 64, 96))]
    >>> tensor_sizes("mxf4", ws=True)
    ()
    """
    name, group = _kind(kind).name, integer_of(cta_group)
    return tuple(
        entry
        for entry in _SIZES
        if name in entry.kinds and entry.ws is bool(ws) and entry.cta_group == group and bool(sparse) in entry.sparse
    )


def tensor_instruction(
    kind: str,
    m: int,
    n: int,
    d: str,
    a: str,
    b: str,
    *,
    k: int | None = None,
    scale: str = "",
    scale_vec: int = 0,
    sparse: bool = False,
    ws: bool = False,
    cta_group: int = 1,
    saturate: bool = False,
) -> Instruction:
    """Return the `Instruction` of a `tcgen05.mma`.

    Parameters
    ----------
    kind : str
        ``"f16"``, ``"tf32"``, ``"f8f6f4"``, ``"i8"``, ``"mxf8f6f4"``, ``"mxf4"`` or ``"mxf4nvf4"``.
    m, n : int
        The size of the whole product, of both CTAs if there are two.
    d, a, b : str
        Formats of D, A and B. C has the format of D.
    k : int, optional
        96, the only legal value other than the default of the kind.
    scale : {"ue8m0", "ue4m3"}, optional
        Format of the block scales; optional if a kind has only one.
    scale_vec : int, optional
        Scales per row of A: 1, 2 or 4 (3 or 6 if k is 96); optional if the kind has only one.
    sparse, ws : bool
        ``.sp``, ``.ws``.
    cta_group : {1, 2}
    saturate : bool
        Clamp the integers of ``kind::i8``: a bit of the descriptor.

    Returns
    -------
    Instruction

    Raises
    ------
    UnsupportedInstructionError
        If the instruction does not exist; the message lists legal values and the nearest one.

    Notes
    -----
    PTX ISA 9.3, sections on the matrix shapes and the block scaling of tcgen05.

    Examples
    --------
    >>> print(tensor_instruction("f16", 128, 256, "f32", "f16", "f16"))
    tcgen05.mma.cta_group::1.kind::f16.m128n256k16.f32.f16.f16
    >>> print(tensor_instruction("mxf4nvf4", 256, 64, "f32", "e2m1", "e2m1", scale="ue4m3", cta_group=2, sparse=True))
    tcgen05.mma.sp.cta_group::2.kind::mxf4nvf4.block_scale.scale_vec::4X.m256n64k128.f32.e2m1.e2m1.ue4m3
    >>> tensor_instruction("f16", 64, 100, "f32", "f16", "f16")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnsupportedInstructionError: tcgen05.mma.cta_group::1.kind::f16 has no n = 100; there is
        8 to 256 in steps of 8: the nearest is 96
    """
    entry = _kind(kind)
    group = integer_of(cta_group)
    if group not in (1, 2):
        raise OptionError(f"cta_group is 1 or 2, not {shorten(cta_group)}")
    for name, given in (("sparse", sparse), ("ws", ws), ("saturate", saturate)):
        if not isinstance(given, bool):
            raise OptionError(f"{name} is True or False, not {shorten(given)}")
    if saturate and entry.name != "i8":
        raise UnsupportedInstructionError(f"kind::{entry.name} does not saturate: only kind::i8 clamps, to s32")
    family: Family = TENSOR_FAMILIES[2 * ws + sparse]
    begin = f"{family}.cta_group::{group}.kind::{entry.name}"
    of_kind = tensor_sizes(entry.name, cta_group=group, ws=ws, sparse=sparse)
    of_k, whole_k = _of_k(entry, begin, k, of_kind, sparse)
    sizes = _having(begin, "m", m, of_k)
    _having(begin, "n", n, (sizes,))
    _check_types(entry, begin, d, a, b)
    scale, vector, words = _scaling(entry, begin, scale, scale_vec, whole_k)
    return _instruction(
        family, int(m), int(n), whole_k, d, a, b,
        (f"cta_group::{group}", f"kind::{entry.name}", *words, *(["satfinite"] if saturate else [])),
        tuple(x for x in sizes.archs if x in entry.archs), sizes.evidence, scale, vector,
    )  # fmt: skip


@cache
def _instruction(
    family: Family, m: int, n: int, k: int, d: str, a: str, b: str, modifiers: tuple[str, ...],
    archs: tuple[str, ...], known: Evidence, scale: str, scale_vec: int,
) -> Instruction:  # fmt: skip
    """Create an instruction once, so that equal requests return the same object."""
    return Instruction(
        family, m, n, k, "row", "col", d, a, b, d, modifiers, (0, 0, 0, 0), archs, known, scale, scale_vec
    )


def _kind(given: object) -> TensorKind:
    name = given.removeprefix("kind::") if isinstance(given, str) else given
    if isinstance(name, str) and name in TENSOR_KINDS:
        return TENSOR_KINDS[name]
    hint = did_you_mean(name, TENSOR_KINDS, f"there is {', '.join(TENSOR_KINDS)}")
    raise UnsupportedInstructionError(f"tcgen05.mma has no kind {shorten(given)}{hint}")


def _of_k(
    entry: TensorKind, begin: str, k: object, entries: tuple[Sizes, ...], sparse: bool
) -> tuple[tuple[Sizes, ...], int]:
    """Return the entries with the requested k, and that k."""
    if not entries:
        why = "block scales cannot be combined with .ws" if entry.is_block_scaled else ".ws needs cta_group::1"
        raise UnsupportedInstructionError(f"there is no {begin}: {why}")
    own = entry.k * (2 if sparse else 1)
    wanted = own if k is None else integer_of(k)
    found = tuple(x for x in entries if (x.k or own) == wanted)
    if found and wanted is not None:
        return found, wanted
    legal = sorted({x.k or own for x in entries})
    raise UnsupportedInstructionError(f"{begin} has no k = {shorten(k)}; there is {_numbers(legal, k)}")


def _having(begin: str, name: str, given: object, entries: tuple[Sizes, ...]) -> Sizes:
    wanted = integer_of(given)
    for entry in entries:
        if wanted in getattr(entry, name):
            return entry
    legal = sorted({x for entry in entries for x in getattr(entry, name)})
    raise UnsupportedInstructionError(f"{begin} has no {name} = {shorten(given)}; there is {_numbers(legal, given)}")


def _numbers(legal: list[int], given: object) -> str:
    """List the legal numbers, with the nearest one."""
    step = legal[1] - legal[0] if len(legal) > 1 else 0
    shown = ", ".join(str(x) for x in legal)
    if len(legal) > 4 and legal == list(range(legal[0], legal[-1] + 1, step)):
        shown = f"{legal[0]} to {legal[-1]} in steps of {step}"
    wanted = integer_of(given)
    if wanted is None or len(legal) == 1:
        return shown
    return f"{shown}: the nearest is {min(legal, key=lambda x: abs(x - wanted))}"


def _check_types(entry: TensorKind, begin: str, d: object, a: object, b: object) -> None:
    for name, given, legal in (
        ("D", d, tuple(x for x, _ in entry.types)),
        ("A", a, entry.operands),
        ("B", b, entry.operands),
    ):
        if not isinstance(given, str) or given not in legal:
            hint = did_you_mean(given, legal, f"there is {', '.join(legal)}")
            raise UnsupportedInstructionError(f"{begin} has no {name} of {shorten(given)}{hint}")
    pairs = dict(entry.types)[str(d)]
    if a not in pairs or b not in pairs:
        raise UnsupportedInstructionError(f"{begin} with D of {d} multiplies {', '.join(pairs)}, not {a} and {b}")


def _scaling(
    entry: TensorKind, begin: str, scale: object, scale_vec: object, k: int
) -> tuple[str, int, tuple[str, ...]]:
    """Return the format and number of the scales, and the words of the mnemonic for them."""
    vector = integer_of(scale_vec)
    if not entry.is_block_scaled:
        if not isinstance(scale, str) or scale or vector != 0:
            kinds = ", ".join(x.name for x in TENSOR_KINDS.values() if x.is_block_scaled)
            raise UnsupportedInstructionError(f"{begin} has no block scales; kinds that have are {kinds}")
        return "", 0, ()
    # 1.5 times as many if k is 96 and not 64.
    legal = {(x, v * 3 // 2 if k == 96 else v) for x, vectors in entry.scales for v in vectors}
    named = isinstance(scale, str)
    found = sorted(x for x in legal if named and scale in ("", x[0]) and vector in (0, x[1]))
    if len(found) == 1:
        (name, chosen) = found[0]
        word = f"scale_vec::{chosen}X" if k != 96 else f"block{k // chosen}"
        return name, chosen, ("block_scale", word)
    choices = ", ".join(f"scale={x!r} with scale_vec={v}" for x, v in sorted(legal))
    given = f"scale={shorten(scale)} with scale_vec={shorten(scale_vec)}"
    what = f"needs more than {given}" if found else f"has no {given}"
    raise UnsupportedInstructionError(f"{begin} of k = {k} {what}; there is {choices}")


_SHAPE = re.compile(r"m([0-9]{1,4})n([0-9]{1,4})(?:k([0-9]{1,4}))?", re.ASCII)
_FLAGS = ("ws", "sp", "block_scale", "satfinite")
_PARTS = {
    **{x: re.compile(x) for x in _FLAGS},
    "kind": re.compile("kind::.*"),
    "cta_group": re.compile("cta_group::[12]"),
    "vector": re.compile("scale_vec::[1-9]x|block16|block32"),
    "shape": _SHAPE,
    "scale": re.compile("ue8m0|ue4m3"),
    "types": re.compile("|".join(FORMATS)),
    "collector": re.compile(r"collector::(a|b[0-3])(::(fill|use|lastuse|discard))"),
}
"""The part of a name that a word belongs to, by the form of the word; the first match is used."""

_LONGEST = 200
_EXAMPLE = "tcgen05.mma.cta_group::1.kind::f16.m128n256k16.f32.f16.f16"


def tensor_instruction_named(text: str) -> Instruction:
    """Return a `tcgen05.mma`, given its name.

    Parameters
    ----------
    text : str
        The mnemonic, and the shape and the types d.a.b (and that of the scales) of its descriptor, in upper or lower
        case, in any order except for the types. ``cta_group::1``, ``block_scale``, k, and parts with only one legal
        value are optional; ``block16`` and ``block32`` are PTX's other names of scale vectors.
        Collector buffers do not affect D: they are checked and not stored.

    Raises
    ------
    UnsupportedInstructionError
        If the instruction does not exist.

    Examples
    --------
    >>> print(tensor_instruction_named("tcgen05.mma.kind::mxf8f6f4.block32.m128n8.f32.e4m3.e2m1"))
    tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X.m128n8k32.f32.e4m3.e2m1.ue8m0
    >>> print(tensor_instruction_named("tcgen05.mma.ws.sp.kind::i8.m32n64k64.s32.u8.s8"))
    tcgen05.mma.ws.sp.cta_group::1.kind::i8.m32n64k64.s32.u8.s8
    """
    if not isinstance(text, str):
        raise CallError(f"an instruction is named by a string such as {_EXAMPLE!r}, not {shorten(text)}")
    given = text.strip().rstrip(";").rstrip().lower()
    if len(given) > _LONGEST or not given.isascii() or re.search(r"[\s{}%\[\],]", given):
        raise UnsupportedInstructionError(
            f"{shorten(text)} is not the name of an instruction; expected, for example, {_EXAMPLE!r}"
        )
    words = given.split(".")
    if words[:2] != ["tcgen05", "mma"]:
        raise UnsupportedInstructionError(f"{shorten(text)} is not a tcgen05.mma; expected, for example, {_EXAMPLE!r}")
    parts: dict[str, list[str]] = {}
    for word in words[2:]:
        parts.setdefault(_part(text, word), []).append(word)
    _check_parts(text, parts)
    kind = parts["kind"][0]
    m, n, k = _SHAPE.fullmatch(parts["shape"][0]).groups()  # type: ignore[union-attr]
    entry = _kind(kind)
    sparse = "sp" in parts
    wanted_k = int(k) if k else entry.k * (2 if sparse else 1)
    types = parts["types"]
    return tensor_instruction(
        kind, int(m), int(n), *types[:3],
        k=wanted_k,
        scale=parts.get("scale", [""])[0],
        scale_vec=_named_vector(text, parts, wanted_k),
        sparse=sparse, ws="ws" in parts,
        cta_group=int(parts.get("cta_group", ["1"])[0][-1]),
        saturate="satfinite" in parts,
    )  # fmt: skip


def _part(text: str, word: str) -> str:
    for part, pattern in _PARTS.items():
        if pattern.fullmatch(word):
            return part
    if word == "ashift":
        raise UnsupportedInstructionError(
            f"{shorten(text)}: .ashift is not modelled: its effect on the first and the last row of A is not documented"
        )
    known = ("cta_group::1", "cta_group::2", "scale_vec::1x", "block16", "block32", *_FLAGS, *FORMATS)
    known += tuple(f"kind::{x}" for x in TENSOR_KINDS)
    raise UnsupportedInstructionError(
        f"{shorten(text)}: {shorten(word)} is not part of a tcgen05.mma{did_you_mean(word, known)}"
    )


def _check_parts(text: str, parts: dict[str, list[str]]) -> None:
    for name, words in parts.items():
        if name != "types" and len(words) > 1:
            raise UnsupportedInstructionError(f"{shorten(text)} has {' and '.join(words)}; expected one of them, once")
    for name, example in (("kind", "kind::f16"), ("shape", "m128n256k16"), ("types", "f32.f16.f16")):
        if name not in parts:
            raise UnsupportedInstructionError(
                f"{shorten(text)} names no {name}, such as .{example}, which is in the instruction descriptor; "
                f"complete names are like {_EXAMPLE!r}"
            )
    types = parts["types"]
    if len(types) != 3 and not (len(types) == 4 and types[3] == types[0]):
        raise UnsupportedInstructionError(f"{shorten(text)} names {len(types)} types, not three in the order d, a, b")
    for word in parts.get("collector", ()):
        if word.startswith("collector::a::") == ("ws" in parts):
            legal = "collector::b0 to b3" if "ws" in parts else "collector::a"
            raise UnsupportedInstructionError(f"{shorten(text)}: {word} is not legal; expected {legal}")


def _named_vector(text: str, parts: dict[str, list[str]], k: int) -> int:
    if "vector" not in parts:
        return 0
    word = parts["vector"][0]
    if word.startswith("scale_vec"):
        if k == 96:
            raise UnsupportedInstructionError(f"{shorten(text)}: with k = 96 write block16 or block32, not {word}")
        return int(word[-2])
    block = int(word[-2:])
    return k // (block * 2 if "sp" in parts else block)
