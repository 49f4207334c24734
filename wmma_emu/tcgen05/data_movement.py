# SPDX-License-Identifier: MIT
"""Instructions that move data to, from and in tensor memory, by mnemonic, and their lookup."""

import re
from dataclasses import dataclass, replace

from wmma_emu.chip_sets import chips_since
from wmma_emu.chips import TENSOR_MEMORY
from wmma_emu.display import warn_caller
from wmma_emu.errors import UnverifiedModelWarning
from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.instructions import Arch, arch_of
from wmma_emu.instructions.refusals import data_movement_named
from wmma_emu.tcgen05.shapes import SHAPES, TransferShape

DEFAULT_ARCH = "sm_100"
"""The default chip: the first one with tensor memory."""

_PTX = "PTX ISA 9.0, {}; accepted by ptxas 13.0 for {}"
_B300 = "published notes on LDTM.STAT (cicuvc/nvidia-sass-document on GitHub): run on a B300"
_RUN_ON_B300 = frozenset({
    "32x32b.x4.max.u32", "32x32b.x4.min.s32", "32x32b.x4.max.abs.NaN.f32", "32x32b.x4.min.abs.f32",
    "16x32bx2.x4.min.u32",
})  # fmt: skip
_UTCCP = (
    "published notes on UTCCP (cicuvc/nvidia-sass-document on GitHub), 2026-09-17: run on a B200 (128x256b without "
    "swizzle)"
)
_UTCSHIFT = "published notes on UTCSHIFT (cicuvc/nvidia-sass-document on GitHub), 2026-09-17: read back on a B200"
_OWN_MEMORY = "TVM, documentation of tcgen05.cp: both CTAs read their own shared memory"
_UTCCP_CUTE = "CuTe, copy_traits_sm100.hpp: SM100_UTCCP_*"
_TVM = "published tests of tcgen05 transfers in TVM's TIRx: operands and the words that are expected"


@dataclass(frozen=True, slots=True)
class DataMovement(Sourced):
    """One data movement instruction.

    Parameters
    ----------
    family : {"tcgen05.ld", "tcgen05.ld.red", "tcgen05.st", "tcgen05.cp", "tcgen05.shift"}
    mnemonic : str
    archs : tuple of str
        The chips that support it.
    evidence : Evidence
    shape : str
        ``"16x64b"``; for cp and shift lanes and bits of each lane.
    num : int
        The repeat of ld and st.
    packed : bool
        ``.pack::16b`` or ``.unpack::16b``.
    operation, type : str
        For ld.red: ``"min"``, ``"max"``, ``"max.abs.NaN"``; ``"u32"``, ``"s32"``, ``"f32"``.
    multicast : str
        For cp: ``"warpx4"``, ``"warpx2::02_13"``, ``"warpx2::01_23"``.
    decompression : str
        For cp: ``"b6x16_p32"``, ``"b4x16_p64"``.
    cta_group : int
        For cp and shift: 1 or 2.
    """

    family: str
    mnemonic: str
    archs: tuple[str, ...]
    evidence: Evidence
    shape: str = ""
    num: int = 1
    packed: bool = False
    operation: str = ""
    type: str = "b32"
    multicast: str = ""
    decompression: str = ""
    cta_group: int = 1

    @property
    def transfer(self) -> TransferShape:
        """The shape of ld and st."""
        return SHAPES[self.shape]

    @property
    def num_registers(self) -> int:
        """The number of registers of every lane, for ld and st."""
        return self.transfer.registers * self.num


_ULTRA = chips_since("sm_103f")

_COPIES = (("128x256b", ""), ("4x256b", ""), ("128x128b", ""), ("64x128b", "warpx2::02_13"),
           ("64x128b", "warpx2::01_23"), ("32x128b", "warpx4"))  # fmt: skip


def _transfers() -> list[DataMovement]:
    entries = []
    for family, word in (("tcgen05.ld", ".pack::16b"), ("tcgen05.st", ".unpack::16b")):
        accepted = _PTX.format(family, "sm_100a, sm_103a, sm_110a")
        for shape in SHAPES.values():
            for num in shape.repeats:
                for packed in (False, True):
                    name = f"{family}.sync.aligned.{shape.name}.x{num}{word if packed else ''}.b32"
                    known = shape.known(num)
                    if packed:
                        known = Evidence("literature", f"{known.source}; {_TVM}")
                    evidence = replace(known, source=f"{accepted}; {known.source}")
                    entries.append(DataMovement(family, name, TENSOR_MEMORY, evidence, shape.name, num, packed))
    return entries


def _reductions() -> list[DataMovement]:
    entries = []
    accepted = _PTX.format("tcgen05.ld (.red)", "sm_103a")
    known = Evidence("recorded", f"{accepted}; {_B300}", _RUN_ON_B300, Evidence("documented", accepted))
    for shape in ("32x32b", "16x32bx2"):
        for num in SHAPES[shape].repeats[1:]:
            for kind in ("min", "max"):
                ways = [(kind, "u32"), (kind, "s32")]
                ways += [(f"{kind}{a}{n}", "f32") for a in ("", ".abs") for n in ("", ".NaN")]
                for operation, element in ways:
                    name = f"tcgen05.ld.red.sync.aligned.{shape}.x{num}.{operation}.{element}"
                    evidence = known.of(f"{shape}.x{num}.{operation}.{element}")
                    entries.append(
                        DataMovement("tcgen05.ld.red", name, _ULTRA, evidence, shape, num, False, operation, element)
                    )
    return entries


def _copies() -> list[DataMovement]:
    entries = []
    for group in (1, 2):
        for shape, multicast in _COPIES:
            for packed in ("", "b6x16_p32", "b4x16_p64"):
                words = [f"tcgen05.cp.cta_group::{group}.{shape}", multicast, packed and f"b8x16.{packed}"]
                evidence = _known_copy(shape, multicast, packed, group)
                entry = DataMovement("tcgen05.cp", ".".join(x for x in words if x), TENSOR_MEMORY, evidence, shape)
                entries.append(replace(entry, multicast=multicast, decompression=packed, cta_group=group))
    return entries


def _known_copy(shape: str, multicast: str, packed: str, group: int) -> Evidence:
    source = f"{_PTX.format('tcgen05.cp', 'sm_100a, sm_103a, sm_110a')}; {_UTCCP_CUTE}"
    if group == 2:
        return Evidence("inferred", f"{source}; {_OWN_MEMORY}")
    if packed:
        return Evidence("literature", f"{source}; 9.7.16.9.1 (decompression); {_TVM}")
    written = Evidence("documented" if multicast else "inferred", source)
    return Evidence("recorded", f"{source}; {_UTCCP}", frozenset({"128x256b"}), written).of(shape)


def _shifts() -> list[DataMovement]:
    source = f"{_PTX.format('tcgen05.shift', 'sm_100a, sm_103a, sm_110a, but no family')}; {_UTCSHIFT}"
    known = Evidence("recorded", source, frozenset({"cta_group::1"}), Evidence("inferred", source))
    return [
        DataMovement(
            "tcgen05.shift", f"tcgen05.shift.cta_group::{group}.down", TENSOR_MEMORY, known.of(f"cta_group::{group}"),
            "31x256b", cta_group=group,
        )
        for group in (1, 2)
    ]  # fmt: skip


DATA_MOVEMENTS: dict[str, DataMovement] = {
    entry.mnemonic: entry for entry in (*_transfers(), *_reductions(), *_copies(), *_shifts())
}
"""Every instruction by its full mnemonic."""


def lookup_data_movement(family: str, instruction: object, arch: "str | Arch" = DEFAULT_ARCH) -> DataMovement:
    """Return the entry of a mnemonic on a chip.

    ``.sync.aligned`` and ``.b32`` may be omitted.

    Examples
    --------
    >>> lookup_data_movement("tcgen05.ld", "tcgen05.ld.16x64b.x4").mnemonic
    'tcgen05.ld.sync.aligned.16x64b.x4.b32'
    >>> lookup_data_movement("tcgen05.ld", "tcgen05.ld.16x256b.x64")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnsupportedInstructionError: there is no 'tcgen05.ld.16x256b.x64'. Nearest on sm_100:
    tcgen05.ld.sync.aligned.16x256b.x4.b32, tcgen05.ld.sync.aligned.16x256b.x16.b32,
    tcgen05.ld.sync.aligned.16x256b.x1.b32
    >>> lookup_data_movement("tcgen05.shift", "tcgen05.shift.cta_group::1.down", "h100")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnsupportedInstructionError: sm_90 (Hopper) has no 'tcgen05.shift.cta_group::1.down'; chips that
    support it are sm_100, sm_103. sm_90 has no form of tcgen05.shift
    """
    return data_movement_named(family, instruction, _SHORT, _short, arch_of(arch))


def bound_data_movement(family: str, instruction: object, arch: "str | Arch" = DEFAULT_ARCH) -> DataMovement:
    """Return the entry of a mnemonic for execution; warn if its effect was never read back from a chip.

    A word in a wrong lane is as wrong as a wrong bit. (`tcgen05.mma` warns when it is bound; for integers, whose
    arithmetic is known, when it uses an operand whose position no source states.)
    """
    movement = lookup_data_movement(family, instruction, arch)
    if movement.status in ("literature", "inferred"):
        warn_caller(
            f"{movement.mnemonic}: the words' positions are {movement.status}, with no recording ({movement.source})",
            UnverifiedModelWarning,
        )
    return movement


def _short(mnemonic: str) -> str:
    """Remove the parts that all forms share, and sort parts whose order differs between PTX and its examples."""
    text = mnemonic.replace(".sync.aligned.", ".", 1).removesuffix(".b32")
    text = re.sub(r"\.(u32|s32|f32)\.((?:min|max)(?:\.abs)?(?:\.NaN)?)$", r".\2.\1", text)
    return re.sub(r"^tcgen05\.shift\.down\.(cta_group::[12])$", r"tcgen05.shift.\1.down", text)


_SHORT = {_short(mnemonic): entry for mnemonic, entry in DATA_MOVEMENTS.items()}
