# SPDX-License-Identifier: MIT
"""The documentation page of an instruction, and the anchor of its section."""

import re

from wmma_emu.instructions.spec import Instruction

FOLDER = "reference/instructions"
"""The folder of the pages in the documentation. All of its files are generated."""

_KINDS = {"e4m3": "FP8", "e5m2": "FP8", "s8": "8-bit", "u8": "8-bit", "s4": "4-bit", "u4": "4-bit"}
"""Operand formats that may be mixed, or differ only in the sign: their instructions share a page."""


def slug(text: str) -> str:
    """Return a string in the form used in addresses: lower-case letters and digits, separated by dashes.

    Examples
    --------
    >>> slug("mma.sp::ordered_metadata")
    'mma-sp-ordered-metadata'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def page_key(instruction: Instruction) -> tuple[str, str, str]:
    """Return the family, shape and types that the instructions of a page share.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> page_key(lookup("wgmma.m64n256k16.f32.f16.f16"))
    ('wgmma', 'm64nNk16', 'f32.f16.f16')
    """
    if instruction.is_warpgroup:
        return instruction.family, f"m{instruction.m}nNk{instruction.k}", ".".join(instruction.types)
    return instruction.family, instruction.shape, instruction.kind or _KINDS.get(instruction.a, instruction.a)


def document_of(instruction: Instruction) -> str:
    """Return the name of an instruction's page within the documentation, without a file extension.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> document_of(lookup("m16n8k32.f32.e4m3.e4m3.f32"))
    'reference/instructions/mma-sync-m16n8k32-fp8'
    """
    return f"{FOLDER}/{slug(' '.join(page_key(instruction)))}"


def anchor_of(instruction: Instruction) -> str:
    """Return the anchor of an instruction's section on its page: its mnemonic, with dashes between the parts.

    Examples
    --------
    >>> from wmma_emu.instructions import lookup
    >>> anchor_of(lookup("mma.sp::ordered_metadata.m16n8k16.f32.tf32.tf32.f32"))
    'mma-sp-ordered-metadata-sync-aligned-m16n8k16-row-col-f32-tf32-tf32-f32'
    """
    return slug(instruction.mnemonic)
