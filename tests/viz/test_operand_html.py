# SPDX-License-Identifier: MIT
"""What a notebook shows of layouts, operands, fragments and instructions."""

from html.parser import HTMLParser

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu import wmma
from wmma_emu.errors import UnverifiedModelWarning
from wmma_emu.instructions import INSTRUCTIONS

VOID = {"meta", "br"}
BY_DEFAULT = [
    "m16n8k16.f32.f16.f16.f32", "m16n8k32.s32.s8.s8.s32", "m16n8k16.f64.f64.f64.f64", "mma.sp.m16n8k32.f32.f16.f16.f32",
    "wgmma.m64n256k16.f32.f16.f16", "wgmma.m64n8k256.s32.b1.b1.and.popc", "wmma.mma.m32n8k16.f32.f32",
]  # fmt: skip


class Page(HTMLParser):
    """Every element is closed in its order; the words of headings and cells of tables."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.rows = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


@pytest.mark.parametrize("mnemonic", BY_DEFAULT)
def test_an_instruction_shows_operands_chips_arithmetic_and_pictures_and_stays_small(mnemonic):
    ins = we.instruction(mnemonic)
    text = ins._repr_html_()
    page = Page(text)
    facts = {row[0]: row[1] for row in page.rows}
    assert facts["chips"] == " ".join(ins.instruction.archs) and ins.mnemonic in text
    assert facts[f"on {ins.arch}"] == f"{ins.model.describe()} ({ins.model.status})"
    operands = {row[0]: row for row in page.rows if row[0] in ("A", "B", "C", "D")}
    assert [operands[x][1] for x in "ABCD"] == [str(ins.instruction.format(x)) for x in "abcd"]
    assert operands["D"][3] == f"{ins.d.num_registers} of {ins.d.layout.register_bits} bits"
    expected = 2 if ins.instruction.is_warpgroup else 3
    assert page.seen.count("svg") == text.count('<details open="">') == expected  # shown, not folded away
    assert page.seen.count("details") == expected + 1
    assert len(text.encode()) < 300_000


def test_a_row_of_the_table_shows_itself_as_the_default_chip_or_the_first_has_it():
    row = INSTRUCTIONS["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"]
    assert row._repr_html_() == we.instruction(row.mnemonic)._repr_html_()
    only_blackwell = next(x for x in INSTRUCTIONS.values() if x.archs == ("sm_120", "sm_121"))
    with pytest.warns(UnverifiedModelWarning):
        assert "on sm_120" in only_blackwell._repr_html_()


def test_an_operand_shows_matrix_and_registers_or_says_where_it_is():
    page = Page(we.instruction("m16n8k16.f32.f16.f16.f32").a._repr_html_())
    assert page.seen.count("svg") == 2 and page.seen.count("details") == 1
    shared = we.instruction("wgmma.m64n8k16.f32.f16.f16").b._repr_html_()
    assert "draw_shared_operand" in shared and "&lt;B of" in shared and Page(shared).seen == ["p", "span"]


def test_a_layout_shows_itself():
    text = we.instruction("m16n8k16.f32.f16.f16.f32").a.layout._repr_html_()
    assert Page(text).seen.count("svg") == 2 and "Layout of 16 × 16 elements of 16 bits" in text


def test_a_fragment_shows_its_state_its_picture_and_its_values():
    fragment = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32, arch="sm_80")
    text = fragment._repr_html_()
    assert "uninitialised" in text and "&lt;accumulator, 16, 16, 16, float&gt;" in text and Page(text).rows == []
    values = np.arange(256, dtype=np.float32).reshape(16, 16) / 8
    wmma.load_matrix_sync(fragment, values, 16, wmma.mem_row_major)
    page = Page(fragment._repr_html_())
    assert page.rows[0] == ["", *map(str, range(16))]
    assert [[float(x) for x in row[1:]] for row in page.rows[1:]] == values.tolist()


def test_of_a_batch_the_first_warp_is_shown_and_of_differing_copies_none():
    fragment = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32)
    fragment.x = np.ones((8, 1000, 32), np.float32)
    text = fragment._repr_html_()
    assert "Elements of warp 0 of 1000" in text and len(Page(text).rows) == 17 and len(text) < 200_000
    volta = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major, arch="sm_70")
    volta.x = np.arange(16 * 32, dtype=np.float16).reshape(16, 32)
    assert "Copies of an element differ between lanes" in volta._repr_html_()
    empty = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32)
    empty.x = np.ones((8, 0, 32), np.float32)
    assert Page(empty._repr_html_()).rows == []
