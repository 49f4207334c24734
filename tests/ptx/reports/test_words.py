# SPDX-License-Identifier: MIT
"""A message in terms of the source: names for addresses, lines of files for lines of the PTX."""

import pytest

from wmma_emu.ptx.findings import Detail, MemoryLocation, Name, Place, Value, plain_text
from wmma_emu.ptx.program.program import SourceLine
from wmma_emu.ptx.reports.words import NamesOfThePtx, source_text


class TileNames:
    """Names of one array of words: Bs, which is b16 in the PTX."""

    def variable(self, space, owner):
        return "Bs" if (space, owner) == ("shared", "_Z2Bs") else ""

    def elements(self, space, owner, size):
        return size // 2 if self.variable(space, owner) else 0

    def described(self, space, owner):
        return "Bs (half[64])" if self.variable(space, owner) else ""

    def element(self, location):
        return f"Bs[{location.offset // 2}]" if self.variable(location.space, location.owner) else ""


TILE = MemoryLocation("shared", 0x80, 4, "_Z2Bs", 128)
NOWHERE = MemoryLocation("shared", 0x80, 1)
STORE = Place(48, SourceLine("/usr/local/cuda/include/crt/mma.hpp", 91, SourceLine("/home/me/gemm.cu", 44)))
PTX = NamesOfThePtx()


@pytest.mark.parametrize(
    ("part", "plain", "words"),
    [
        (TILE, "4 bytes at 0x80 of shared memory (_Z2Bs + 128)", "Bs[64] (4 bytes)"),
        (NOWHERE, "1 byte at 0x80 of shared memory", "1 byte at 0x80 of shared memory"),
        (STORE, "line 48 (/home/me/gemm.cu:44, inlined from /usr/local/cuda/include/crt/mma.hpp:91)", "gemm.cu:44"),
        (Place(48), "line 48", "line 48 of the PTX"),
        (Name("shared", "_Z2Bs"), "_Z2Bs", "Bs (half[64])"),
        (Name("shared", "other"), "other", "other"),
        (Detail(", st.shared"), ", st.shared", ""),
        (Value(", over ", bytes([1, 2])), ", over 0x0201", ", over 0x0201"),
        (Value(", over ", bytes(8)), ", over 0x00000000 0x00000000", ", over 0x00000000 0x00000000"),
        (Value(", over ", bytes(12)), ", over 0x00000000 0x00000000 0x00000000", ""),
    ],
    ids=["an element", "bytes without a name", "a line of a source", "a line of the PTX", "a variable",
         "a variable without a name", "a detail", "a half", "two words", "many words"],
)  # fmt: skip
def test_each_part_of_a_message_is_written_in_terms_of_the_ptx_and_of_the_source(part, plain, words):
    message = ("warp 0 reads ", part, "; warp 1 wrote")
    assert plain_text(message) == f"warp 0 reads {plain}; warp 1 wrote"
    assert source_text(message, TileNames()) == f"warp 0 reads {words}; warp 1 wrote"


def test_a_line_of_the_readers_file_is_named_without_the_file():
    assert source_text((STORE,), TileNames(), "/home/me/gemm.cu") == "line 44"
    assert source_text((STORE,), TileNames(), "/home/me/other.cu") == "gemm.cu:44"


@pytest.mark.parametrize(("offset", "said"), [(0, "t + 0"), (12, "t + 12"), (-4, "t - 4")])
def test_without_a_source_bytes_are_named_by_their_offset_in_a_variable(offset, said):
    assert PTX.element(MemoryLocation("shared", 64 + offset, 4, "t", offset)) == said
    assert PTX.element(MemoryLocation("shared", 64, 4)) == ""


def test_unprintable_characters_do_not_reach_a_message():
    assert source_text(("reads ", Name("shared", "a\x1b[31mb")), PTX).count("\x1b") == 0
