# SPDX-License-Identifier: MIT
"""Chips, their names, and messages for unknown names."""

import pytest

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import ARCHS, Arch, arch_of
from wmma_emu.instructions.arch import _plain


def test_entries_are_in_order_of_capability_with_provenance():
    assert list(ARCHS) == ["sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120",
                           "sm_121"]  # fmt: skip
    assert [row.number for row in ARCHS.values()] == sorted(row.number for row in ARCHS.values())
    for name, row in ARCHS.items():
        assert row.name == str(row) == name == f"sm_{row.number}"
        assert row.source and row.status == "documented"


def test_no_name_means_two_chips():
    owners: dict[str, set[str]] = {}
    for row in ARCHS.values():
        for name in (row.name, *row.aliases, *row.products):
            owners.setdefault(_plain(name), set()).add(row.name)
    assert {name: chips for name, chips in owners.items() if len(chips) > 1} == {}


@pytest.mark.parametrize("row", ARCHS.values(), ids=str)
def test_every_name_of_a_row_finds_it_however_it_is_spelled(row: Arch):
    assert arch_of(row) is row
    for name in (row.name, *row.aliases, *row.products):
        spellings = (name, name.upper(), f"  {name} ", name.replace("_", "-"), name.replace(" ", ""),
                     f"NVIDIA {name}", name.replace("xx", "70"))  # fmt: skip
        for spelling in spellings:
            assert arch_of(spelling) is row, spelling


@pytest.mark.parametrize(
    ("name", "chip"),
    [
        ("sm_90a", "sm_90"), ("SM90", "sm_90"), ("compute_90a", "sm_90"), ("9.0", "sm_90"),
        ("12.0", "sm_120"), ("12.1", "sm_121"), ("10.3", "sm_103"), ("compute_121a", "sm_121"),
        ("sm_100a", "sm_100"), ("sm_100f", "sm_100"), ("sm_120f", "sm_120"), ("Hopper", "sm_90"),
        ("blackwell", "sm_100"), ("ampere", "sm_80"), ("NVIDIA H100", "sm_90"), ("gh200", "sm_90"),
        ("Tesla V100", "sm_70"), ("tesla-t4", "sm_75"), ("NVIDIA GeForce RTX 3090", "sm_86"),
        ("B300", "sm_103"), ("NVIDIA GB300", "sm_103"), ("DGX Spark", "sm_121"), ("nvidia gb10", "sm_121"),
        ("sm_103f", "sm_103"), ("Blackwell Ultra", "sm_103"),
        ("rtx 4090 Ti SUPER", "sm_89"), ("GeForce RTX 5090 D", "sm_120"), ("rtx 2060 super", "sm_75"),
        ("RTX 4070 Laptop GPU", "sm_89"), ("RTX PRO 6000", "sm_120"), ("rtx 4000 ada", "sm_89"),
        ("quadro rtx 5000", "sm_75"), ("4090", "sm_89"), ("5070 ti", "sm_120"), ("3090", "sm_86"),
        ("H100 SXM", "sm_90"), ("h100sxm5", "sm_90"), ("A100-SXM4-80GB", "sm_80"), ("NVIDIA A100 80GB PCIe", "sm_80"),
        ("NVIDIA H100 NVL", "sm_90"), ("GB200 NVL72", "sm_100"), ("NVIDIA GH200 480GB", "sm_90"),
        ("NVIDIA H100 Tensor Core GPU", "sm_90"), ("Tesla V100-SXM2-16GB", "sm_70"), ("NVIDIA H100 80GB HBM3", "sm_90"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "sm_89"),
    ],
)  # fmt: skip
def test_well_known_names_mean_the_right_chip(name: str, chip: str):
    assert arch_of(name).name == chip


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sm_87", "sm_87 is not modelled; the nearest modelled chip is sm_86 (Ampere, GA10x)"),
        ("sm_90x", "there is no chip 'sm_90x'; did you mean 'sm_90'? The chips are sm_70"),
        ("x100", "did you mean 'h100' (sm_90), 'a100' (sm_80) or 'v100' (sm_70)? The chips are"),
        ("sm_88", "the nearest modelled chip is sm_86"),
        ("sm_101a", "sm_101 is not modelled; the nearest modelled chip is sm_100 (Blackwell)"),
        ("sm_110", "the nearest modelled chip is sm_103"),
        ("compute_122", "sm_122 is not modelled; the nearest modelled chip is sm_121"),
        ("sm_61", "tensor cores begin with sm_70"),
        ("mi300", "it is AMD's, and only NVIDIA's chips are modelled"),
        ("AMD Instinct MI300X", "it is AMD's"),
        ("gfx942", "it is AMD's"),
        ("gaudi3", "it is Intel's"),
        ("M3 Max", "it is Apple's"),
        ("TPU v5e", "it is Google's"),
        ("GTX 1080 Ti", "it has no tensor cores"),
        ("gtx 1660", "it has no tensor cores"),
        ("Jetson AGX Orin", "the nearest modelled chip is sm_86"),
        ("hoper", "did you mean 'hopper' (sm_90)?"),
        ("blackwel", "did you mean 'blackwell' (sm_100)?"),
        ("RTX 6000", "did you mean 'rtx a6000' (sm_86)?"),
        ("", "no name is similar to it"),
        ("nvidia", "no name is similar to it"),
        ("sm_90\N{COMBINING ACUTE ACCENT}" * 9, "there is no chip"),
        ("h" * 10**6, "no chip has a name of 1000000 characters"),
        (90, "not by int 90"),
        (None, "not by NoneType None"),
        (["sm_90"], "not by list"),
    ],
)
def test_an_unknown_name_is_told_the_nearest_and_all_the_chips(name: object, hint: str):
    with pytest.raises(UnsupportedInstructionError) as caught:
        arch_of(name)  # type: ignore[arg-type]
    message = str(caught.value)
    assert hint in message
    assert all(chip in message for chip in ARCHS)
    assert len(message) < 600
