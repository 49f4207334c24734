# SPDX-License-Identifier: MIT
"""The machine code of every instruction against disassembled cubins."""

from pathlib import Path

import pytest

from wmma_emu.chip_sets import newest
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import INSTRUCTIONS, lowerings, machine_instructions
from wmma_emu.instructions.table import GROUPS

DATA = Path(__file__).parent / "data" / "machine_code.txt"


def recorded() -> dict[tuple[str, str], str]:
    found = {}
    for line in DATA.read_text().splitlines():
        if line.startswith("#"):
            continue
        mnemonic, *groups = line.split()
        for group in groups:
            chips, code = group.split("=")
            for chip in chips.split(","):
                found[mnemonic, chip] = code
    return found


def compact(text: str) -> str:
    prefix = "shuffles and float32 FMUL, FFMA, FADD instead of a matrix instruction ("
    if text.startswith(prefix):
        return "software:" + text.removeprefix(prefix).removesuffix(" instructions)")
    return text.replace("x ", "x").replace(" + ", "+")


def test_every_instruction_on_every_chip_matches_the_disassembly():
    table = {(name, chip): compact(str(machine_instructions(row, chip)))
             for name, row in INSTRUCTIONS.items() for chip in row.archs}  # fmt: skip
    assert table == recorded()


def test_every_machine_code_of_the_table_is_used_and_has_provenance():
    used = set()
    for name, row in INSTRUCTIONS.items():
        assert all(x.source.startswith("ptxas") for x in GROUPS[name].codes(row))
        used |= {newest(GROUPS[name].codes(row), chip) for chip in row.archs}
    assert None not in used
    named = {x for group in GROUPS.values() if isinstance(group.code, tuple) for x in group.code}
    assert {x._replace(source="") for x in used} >= {x._replace(source="") for x in named}


def test_only_fp8_on_hopper_and_blackwell_depends_on_the_toolchain():
    for row in INSTRUCTIONS.values():
        for chip in row.archs:
            software = row.a in ("e4m3", "e5m2") and chip in ("sm_90", "sm_100", "sm_103") and not row.is_warpgroup
            expected = ("ptxas-12.8", "ptxas-12.4") if software else ("native",)
            assert lowerings(row, chip) == expected
            for name in expected:
                assert machine_instructions(row, chip, name).lowering == name
            assert machine_instructions(row, chip).lowering == expected[0]


def test_the_older_lowering_is_measured_only_where_that_toolchain_takes_the_instruction():
    old = machine_instructions("m16n8k32.f32.e4m3.e4m3.f32", "sm_90", "ptxas-12.4")
    assert (old.status, old.source[:10]) == ("measured", "ptxas 12.4")
    assert old.note.startswith("d = c + (H(lo, 0) + H(hi, 0))")
    for text, chip in (("m16n8k16.f32.e4m3.e4m3.f32", "sm_90"), ("m16n8k32.f16.e4m3.e4m3.f16", "sm_90"),
                       ("m16n8k32.f32.e4m3.e4m3.f32", "sm_100"),
                       ("m16n8k32.f32.e4m3.e4m3.f32", "sm_103")):  # fmt: skip
        assert machine_instructions(text, chip, "ptxas-12.4").status == "inferred"
    new = machine_instructions("m16n8k32.f32.e4m3.e4m3.f32", "sm_90")
    assert new.note.startswith("d = c + H(hi, H(lo, 0))")
    assert (new.status, str(new)) == ("measured", "2x HMMA.16816.F32")


def test_block_scales_are_in_the_name_of_the_machine_instruction():
    for text, name in (("m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0", "E8"),
                       ("m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", "E8"),
                       ("m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0", "E8.4X"),
                       ("m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", "UE4M3.4X"),
                       ):  # fmt: skip
        assert str(machine_instructions(text, "sm_121")) == f"1x OMMA.SF.16864.F32.E2M1.E2M1.{name}"
    scaled = machine_instructions("m16n8k32.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0", "sm_120")
    assert str(scaled) == "1x QMMA.SF.16832.F32.E4M3.E2M1.E8"
    assert str(machine_instructions("m16n8k32.kind::f8f6f4.f32.e4m3.e2m1.f32", "sm_120")) == (
        "1x QMMA.16832.F32.E4M3.E2M1"
    )


def test_chips_with_the_code_of_another_name_it_as_the_source():
    for text, chip, other in (("m16n8k16.f32.f16.f16.f32", "sm_103", "sm_100"),
                              ("m16n8k32.f32.e4m3.e4m3.f32", "sm_103", "sm_100"),
                              ("m8n8k4.f64.f64.f64.f64", "sm_121", "sm_120")):  # fmt: skip
        found, same = machine_instructions(text, chip), machine_instructions(text, other)
        assert (found.text, found.note, found.status) == (same.text, same.note, "measured")
        assert found.source == f"ptxas 13.0 and 13.5, cubins disassembled, 2026-11-22: as on {other}"
        assert "as on" not in same.source
    scaled = "m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"
    found, same = machine_instructions(scaled, "sm_121"), machine_instructions(scaled, "sm_120")
    assert (found.text, found.note, found.source) == (same.text, same.note, same.source)


@pytest.mark.parametrize(
    ("text", "chip", "lowering", "message"),
    [
        ("m16n8k16.f32.f16.f16.f32", "sm_90", "ptxas-12.4", "has no lowering 'ptxas-12.4'; it has 'native'"),
        ("m16n8k32.f32.e4m3.e4m3.f32", "sm_90", "native", "it has 'ptxas-12.8', 'ptxas-12.4'"),
        ("m16n8k32.f32.e4m3.e4m3.f32", "sm_80", None, "the first chip that supports it is sm_89"),
        ("m16n8k99.f32.e4m3.e4m3.f32", "sm_90", None, "has no shape m16n8k99"),
        ("m16n8k16.f32.f16.f16.f32", "sm_87", None, "sm_86"),
    ],
)
def test_what_does_not_exist_is_refused(text: str, chip: str, lowering: str | None, message: str):
    with pytest.raises(UnsupportedInstructionError) as caught:
        machine_instructions(text, chip, lowering)
    assert message in str(caught.value)
