# SPDX-License-Identifier: MIT
"""Questions as people type them: of registers, tensor memory, scales, tiles and names; each has an answer."""

from itertools import product

import pytest

import wmma_emu as we
from tests.browser.explorer_page import A16, ask, state
from wmma_emu.applications.explorer.data import explorer_data
from wmma_emu.applications.explorer.tensor import tensor_rows
from wmma_emu.errors import WmmaEmuError
from wmma_emu.instructions import lookup
from wmma_emu.instructions.notation import cute_atoms, machine_names, meaning_of
from wmma_emu.instructions.table import INSTRUCTIONS
from wmma_emu.instructions.tensor import tensor_instruction_named
from wmma_emu.layouts import scale_map
from wmma_emu.layouts.tiled import tiled_layout
from wmma_emu.tcgen05 import tcgen05_layout
from wmma_emu.tcgen05.data_layouts import a_placement, d_placement, scale_placement

MX = "m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"

TENSOR = "tcgen05.mma.cta_group::{}.kind::f16.m{}n{}k16.f32.f16.f16"
FOLDED = "tcgen05.mma.ws.cta_group::1.kind::f16.m32n64k16.f32.f16.f16"

# Question, context (chip, instruction), and expected words of the answer.
ANSWERED = [
    ("lane 5", ("sm_90", A16), "Lane 5 holds 8 elements of A in 4 registers"),
    ("what does thread 31 hold?", ("sm_90", A16), "Lane 31 holds 8 elements of A"),
    ("T5 a1", ("sm_90", A16), "Register a1 of lane 5"),
    ("lane 5 register 1", ("sm_90", A16), "Register a1 of lane 5"),
    ("x3", ("sm_90", A16), "in every lane"),
    ("register 2", ("sm_90", A16), "Register a2"),
    ("(9, 3)", ("sm_90", A16), "is element x[3] of lane 5 (register a1, bits 16–31)"),
    ("which lane holds A[9][3]?", ("sm_90", A16), "is element x[3] of lane 5"),
    ("row 9 column 3", ("sm_90", A16), "is element x[3] of lane 5"),
    ("D[0][0]", ("sm_90", A16), "is element x[0] of lane 0 (register d0, bits 0–31)"),
    ("C[1][12] of wmma m16n16k16 on v100", ("sm_90", A16), "is element x[4] of lane 9"),
    ("which bits hold A[9][17] of m16n8k32 s8", ("sm_90", A16), "(register a3, bits 8–15)"),
    ("T13 of ldmatrix.x4", ("sm_90", A16), "Lane 13 gives the address of row 5 of matrix 1"),
    ("thread 37 of wgmma m64n64k16 f16", ("sm_90", A16), "Thread 37 (warp 1, lane 5) holds"),
    ("warp 1 lane 5", ("sm_90", "wgmma.m64n64k16.f32.f16.f16"), "Thread 37 (warp 1, lane 5) holds"),
    ("A[0][5] of mma.sp m16n8k32 f16", ("sm_90", A16), "2 of 4 are kept"),
    ("T5 a1 of HMMA.16816.F32", ("sm_90", "m16n8k8.f32.f16.f16.f32"), "a1 of lane 5, of m16n8k16.f32.f16.f16.f32"),
    ("lane 5 of SM80_16x8x8_F32TF32TF32F32_TN", ("sm_90", A16), "of m16n8k8.f32.tf32.tf32.f32"),
    ("(3, 3) of wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major>", ("sm_90", A16),
     "B[3][3] of wmma.mma.m16n16k16"),
    ("scale_A[9][1]", ("sm_120", MX), "is byte 1 (bits 8–15) of the register of scales of A of lane 5"),
    ("scale of B[1][5]", ("sm_120", MX), "is byte 1 (bits 8–15) of the register of scales of B of lane 20"),
    (f"D[20][40] of {TENSOR.format(1, 64, 64)}", ("sm_90", A16), "is in lane 36, column 40"),
    ("D[20][40] of tcgen05 ws f16 m32n64", ("sm_90", A16), "is in lane 84, column 8"),
    (f"lane 84 column 8 of {FOLDED}", ("sm_90", A16), "holds D[20][40]"),
    (f"cta 1 lane 72 column 40 of {TENSOR.format(2, 256, 64)}", ("sm_90", A16), "holds D[200][40]"),
    (f"T84 r8 of {FOLDED}", ("sm_90", A16), "which holds D[20][40]"),
    (f"A[70][3] of {TENSOR.format(2, 128, 64)}", ("sm_90", A16), "CTA 1, lane 6, column 1 of tensor memory"),
    ("scale_A[40][1] of tcgen05 mxf4 m128n64", ("sm_90", A16), "is in lane 8, column 1 of tensor memory, bits 8–15"),
    ("D[20][12]", ("sm_90", A16, "tile"), "is element x[0] of lane 18 of warp 3"),
    ("A[17][3]", ("sm_90", A16, "tile"), "is element x[1] of lane 5 of warps 1, 3"),
    ("warp 1 lane 5 x2", ("sm_90", A16, "tile"), "Lane 5 of warp 1 holds in x[2] of A:"),
]  # fmt: skip

REFUSED = [
    ("lane 32", ("sm_90", A16), "There is no lane 32: a warp has 32 lanes"),
    ("A[16][0]", ("sm_90", A16), "legal values are 0 to 15"),
    ("a4", ("sm_90", A16), "legal values are 0 to 3"),
    ("T5 x8", ("sm_90", A16), "legal values are 0 to 7"),
    ("warp 1 lane 5", ("sm_90", A16), "one warp executes it"),
    ("sonata", ("sm_90", A16), "does not name a position"),
    ("lane 5 on mi300", ("sm_90", A16), "No chip is called “mi300”"),
    ("B[0][0] of wgmma m64n64k16 f16", ("sm_90", A16), "is in shared memory"),
    ("lane 5 of HMMA.16832.F32", ("sm_90", A16), "No instruction compiles to HMMA.16832.F32 on any chip"),
    ("lane 5 of SM80_16x8x16_F32F16F16_TN", ("sm_90", A16), "Near are SM80_16x8x16_F32F16F16F32_TN"),
    ("scale_A[0][0]", ("sm_90", A16), "has no block scales"),
    ("scale_A[9][4]", ("sm_120", MX), "legal values are 0 to 1"),
    (f"D[64][0] of {TENSOR.format(1, 64, 64)}", ("sm_90", A16), "legal values are 0 to 63"),
    ("B[0][0] of tcgen05 f16 m128n64", ("sm_90", A16), "is always in shared memory"),
    ("lane 128 column 0 of tcgen05 f16 m128n64", ("sm_90", A16), "There is no lane of tensor memory 128"),
    ("scale_A[0][0] of tcgen05 f16 m128n64", ("sm_90", A16), "has no scale_A"),
    ("D[32][0]", ("sm_90", A16, "tile"), "The tile of D has 32 rows"),
    ("((4,8),(2,2,2)):((32,1),(16,8,64))", ("sm_90", A16), "value 4 of thread 0 is element 128 there, and 64 in yours"),
    ("((4,8),(2,2)):((32,1)", ("sm_90", A16), "lacks a closing parenthesis"),
]  # fmt: skip

# Users' wordings, of which only the position matters: on m16n8k16 of f16, A chosen.
A_3_5 = "A[3][5] of m16n8k16.f32.f16.f16.f32 on sm_90 is element x[1] of lane 14 (register a0, bits 16–31)"
D_0_0 = "D[0][0] of m16n8k16.f32.f16.f16.f32 on sm_90 is element x[0] of lane 0 (register d0, bits 0–31)"
SAID = [
    ("what is in T5", "Lane 5 holds 8 elements of A in 4 registers, of m16n8k16.f32.f16.f16.f32 on sm_90"),
    ("what is in a2 of lane 7", "Register a2 of lane 7, of m16n8k16.f32.f16.f16.f32"),
    ("what is in register 2 of lane 7", "Register a2 of lane 7, of m16n8k16.f32.f16.f16.f32"),
    ("who has C[1][12] of m16n16k16", "C[1][12] of wmma.mma.m16n16k16.f32.f32 on sm_90 is element x[4] of lane 6"),
    ("who has C[1][12] of m16n16k16", "instructions match “m16n16k16”; this is the first: wmma.mma.m16n16k16.f32.f32"),
    ("who has A[3][5] of m16n8k16", "instructions match “m16n8k16”; this is the first"),
    ("who has A[3][5] of m16n8k16 f16", A_3_5),
    ("who has A[3][5]", A_3_5),
    ("who owns D[0][0]?", D_0_0),
    ("which thread has D[0][0]?", D_0_0),
    ("which lane has A[3][5]", A_3_5),
    ("where is A[3][5]", A_3_5),
    ("lane of A[3][5]", A_3_5),
    ("row 3, column 5 of A", A_3_5),
    ("which lane holds row 3 col 5 of A?", A_3_5),
    ("what does lane 7 hold in B?", "Lane 7 holds 4 elements of B in 2 registers"),
    ("lane 7 in B", "Lane 7 holds 4 elements of B in 2 registers"),
    ("A 3 5", A_3_5),
    ("a[2] of thread 5", "Register a2 of lane 5"),
    ("laneid 4", "Lane 4 holds 8 elements of A"),
    ("threadIdx.x = 37", "Lane 5 holds 8 elements of A"),
    ("threadIdx.x = 37", "threadIdx.x = 37 is lane 5 of warp 1 of a block whose threads are numbered along x"),
    # and of their kind
    ("Could you tell me who owns the element A[3][5], please?", A_3_5),
    ("in which register of which lane is A[3][5] stored?", A_3_5),
    ("where does A[3][5] live?", A_3_5),
    ("column 5 of row 3 in A", A_3_5),
    ("3, 5", A_3_5),
    ("A 3, 5 of m16n8k16 f16", A_3_5),
    ("%laneid = 4 of D", "Lane 4 holds 4 elements of D"),
    ("tid.x 37 a1", "Register a1 of lane 5"),
    ("what's in lane #7 of B", "Lane 7 holds 4 elements of B"),
    ("which registers does thread 31 own?", "Lane 31 holds 8 elements of A"),
    ("thread 5's a1", "Register a1 of lane 5"),
    ("what is on lane 5?", "Lane 5 holds 8 elements of A"),
    ("what does a lane hold of A: lane 5", "Lane 5 holds 8 elements of A"),
    ("a.x[3] in lane 5", "A[9][3] of m16n8k16.f32.f16.f16.f32 on sm_90 is element x[3] of lane 5"),
    ("which bits of a1 of lane 5 are these", "Register a1 of lane 5"),
    ("who has D[0][0] on an a100", D_0_0.replace("sm_90", "sm_80")),
    ("lane 5 of the sparse m16n8k32 with f16", "of mma.sp.m16n8k32"),
]  # fmt: skip

SAID_WRONG = [
    ("who has A[16][0]", "legal values are 0 to 15"),
    ("what is in a4 of lane 7", "legal values are 0 to 3"),
    ("laneid 32", "There is no lane 32"),
    ("threadIdx.x = 1024", "a block has at most 1024 threads"),
    ("threadIdx.x = 37 of warp 1", "threadIdx.x determines warp and lane"),
    ("threadIdx.y = 3", "“threadIdx.y = 3” does not name a position"),
    ("who has E[0][0]", "“who has E[0][0]” does not name a position"),
    ("a[9] of thread 5", "legal values are 0 to 3"),
    ("what is it", "does not name a position"),
    ("T5 of spars", "No instruction matches “spars”"),
    ("T5 of m16n8k1", "No instruction matches “m16n8k1”"),
    ("sing T5", "No instruction matches “sing”"),
    ("T5 f", "No instruction matches “f”"),
    ("T5 of the mm", "No instruction matches “mm”"),
]  # fmt: skip


def opened(explore, chip, name, view="layout"):
    return explore(chip=chip, i=name, view=view)


@pytest.mark.parametrize(("question", "where", "said"), ANSWERED, ids=[x[0][:50] for x in ANSWERED])
def test_a_question_is_answered(explore, question, where, said):
    page = opened(explore, *where)
    assert said in ask(page, question)
    assert page.locator("#answer.wrong").count() == 0


@pytest.mark.parametrize(("question", "where", "said"), REFUSED, ids=[x[0][:50] for x in REFUSED])
def test_a_question_without_an_answer_reports_the_legal_values(explore, question, where, said):
    page = opened(explore, *where)
    assert said in ask(page, question)
    assert page.locator("#answer.wrong").count() == 1


@pytest.mark.parametrize(("question", "said"), SAID, ids=[f"{x[0][:50]}-{x[1][-9:]}" for x in SAID])
def test_a_question_in_english_is_answered(explore, question, said):
    page = explore(chip="sm_90", i=A16, op="A")
    assert said in ask(page, question)
    assert page.locator("#answer.wrong").count() == 0


@pytest.mark.parametrize(("question", "said"), SAID_WRONG, ids=[x[0][:50] for x in SAID_WRONG])
def test_a_question_in_english_without_an_answer_reports_the_legal_values(explore, question, said):
    page = explore(chip="sm_90", i=A16, op="A")
    assert said in ask(page, question)
    assert page.locator("#answer.wrong").count() == 1
    assert state(page)["entry"] == lookup(A16).mnemonic


def test_no_empty_word_chooses_an_instruction(explore):
    page = explore(chip="sm_90", i=A16, op="A")
    script = """() => [...explorer.EMPTY_WORDS].filter((word) => [`${word} T5`, `T5 ${word}`].some((text) => {
        const found = explorer.read_question(text, explorer.now);
        return found.entry !== explorer.now.entry || found.mark?.lane !== 5 || found.note;
      }))"""
    assert {"which", "the", "where", "please"} <= set(page.evaluate("[...explorer.EMPTY_WORDS]"))
    assert page.evaluate(script) == []


def test_a_thread_of_a_block_is_one_of_a_warpgroup(explore):
    page = explore(chip="sm_90", i="wgmma.m64n64k16.f32.f16.f16", op="D")
    answer = ask(page, "threadIdx.x = 165")
    assert "Thread 37 (warp 1, lane 5) holds" in answer and "is thread 37 of warpgroup 1 of a block" in answer


def test_help_shows_questions_and_each_has_an_answer(explore):
    for word in ("help", "?"):
        page = explore(chip="sm_90", i=A16, op="A")
        assert "who holds A[9][3]?" in ask(page, word)
        assert page.locator("#answer.wrong").count() == 0
    for text in page.evaluate("explorer.EXAMPLES"):
        ask(page, "help")
        page.click(f'#answer .try:text-is("{text}")')
        assert state(page)["mark"] is not None, text


@pytest.mark.parametrize("question", ["D[20][40] of tcgen05 ws f16 m32n64", "scale_A[9][1] of mxf4 m16n8k64"])
def test_an_address_outside_registers_is_in_the_link_and_escape_clears_it(explore, question):
    page = explore(chip="sm_90", i=A16)
    answer = ask(page, question)
    fragment = dict(x.split("=") for x in page.url.partition("#")[2].split("&"))
    explore(chip="sm_90", i=A16)
    page = explore(**fragment)
    assert page.inner_text("#answer").replace("\xa0", " ") == answer
    page.keyboard.press("Escape")
    assert state(page)["spot"] == "" and "spot=" not in page.url


# --- names -----------------------------------------------------------------------------------------

NAMED = [
    "HMMA.16816.F32", "hmma.16816.f32.bf16", "/*0090*/  HMMA.16816.F32.BF16 R4, R8, R12, R4 ;", "IMMA.16832.S8.S8.SAT",
    "QMMA.16832.F32.E4M3.E4M3", "DMMA.16x8x8", "HGMMA.64x128x16.F32.BF16", "SM80_16x8x16_F32F16F16F32_TN",
    "SM89_16x8x32_F32E4M3E5M2F32_TN", "SM90_64x64x32_F32E4M3E5M2_SS_TN", "SM80_16x8x32_S32S8U8S32_TN_SATURATE",
    "cute::MMA_Atom<cute::SM80_16x8x8_F32TF32TF32F32_TN>",
    "SM120_16x8x64_TN_VS<float_e2m1_t, float_e2m1_t, float, float_ue4m3_t, 16>",
    "SM100_MMA_F16BF16_2x1SM_SS<bfloat16_t, bfloat16_t, float, 256, 64>", "SM100_MMA_F8F6F4_TS",
    "wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;",
    "fragment<matrix_a, 16, 16, 8, precision::tf32, row_major>", "fragment<accumulator, 32, 8, 16, float>",
]  # fmt: skip


@pytest.mark.parametrize("text", NAMED)
def test_a_name_means_here_what_it_means_in_python(explore, text):
    page = explore(chip="sm_90", i=A16)
    found = page.evaluate("""text => {
        const found = explorer.named_otherwise(text, explorer.CHIP_BY_NAME.get("sm_90"));
        return [found.entries[0].name, found.letter ?? null];
      }""", text)  # fmt: skip
    meaning = meaning_of(text)
    letters = {"a": "A", "b": "B", "d": "D", None: None}
    expected = meaning.instruction
    if meaning.notation == "machine code":  # of several that become the same, either is right
        name = next(x for x in machine_names(INSTRUCTIONS[found[0]], meaning.arch))
        assert name in machine_names(expected, meaning.arch) and expected.shape == INSTRUCTIONS[found[0]].shape
        assert expected.types == INSTRUCTIONS[found[0]].types
    else:
        assert found == [expected.mnemonic, letters[meaning.operand]]


def test_every_shown_name_is_the_name_of_the_notation(explore):
    page = explore(chip="sm_90", i=A16)
    shown = page.evaluate("""() => explorer.ENTRIES.filter(x => x.kind === "product").map(x => [
        x.name, explorer.atoms_of(x),
        explorer.CHIPS.filter(c => x.chips >> c.bit & 1).map(c => [c.name, explorer.machine_of(x, c)])])""")
    assert len(shown) == len(INSTRUCTIONS)
    for name, atoms, machine in shown:
        row = INSTRUCTIONS[name]
        assert tuple(atoms) == cute_atoms(row)
        assert {chip for chip, _ in machine} == set(row.archs)
        for chip, names in machine:
            assert tuple(x.split("x ")[-1] if x[0].isdigit() else x for x in names) == machine_names(row, chip)


def test_names_are_shown_of_the_chosen_instruction_and_found_in_the_list(explore):
    page = explore(chip="sm_90", i=A16)
    facts = page.inner_text("#facts")
    for name in ("HMMA.16816.F32", "SM80_16x8x16_F32F16F16F32_TN", "((4,8),(2,2,2)):((32,1),(16,8,128))"):
        assert name in facts
    page.fill("#instruction", "SM80_16x8x32_S32S8U8S32_TN")
    page.press("#instruction", "Enter")
    assert state(page)["entry"] == lookup("m16n8k32.s32.s8.u8.s32").mnemonic


def test_every_layout_in_cutes_notation_is_found_where_it_is_typed(explore):
    page = explore(chip="sm_90", i=A16)
    for letter in "abcd":
        cute = getattr(we.instruction(A16, arch="sm_90"), letter).layout.cute
        for text in (str(cute), cute.cpp):
            ask(page, text)
            assert state(page)["entry"] == lookup(A16).mnemonic
            assert state(page)["letter"] == {"d": "D"}.get(letter, letter.upper()) or letter in "cd"
            assert f"{A16} ha" in page.inner_text("#notice")
    texts = {text for text, _ in explorer_data()["cute"] if text}
    assert str(we.instruction(A16, arch="sm_90").a.layout.cute) in texts
    found = page.evaluate("texts => texts.map(x => explorer.read_question(x, explorer.now).letter)", sorted(texts))
    assert set(found) <= set("ABCD")


# --- tensor memory ---------------------------------------------------------------------------------


def test_addresses_in_tensor_memory_equal_the_addresses_in_python(explore):
    page = explore(chip="sm_90", i=A16)
    script = """([name, letter, cells]) => cells.map(([row, col]) =>
        explorer.tensor_places(explorer.entry_named(name), letter, row, col).map(
            x => [x.cta, x.lane, x.column, x.bit]))"""
    seen = set()
    for row, ns, formats in tensor_rows():
        key = (row.m, row.family, row.modifiers[0], row.k, row.is_block_scaled)
        if key in seen:
            continue
        seen.add(key)
        begin, n = row.mnemonic.split(f".m{row.m}n")[0], ns[min(3, len(ns) - 1)]
        name = f"{begin}.m{row.m}n{n}k{row.k}.{row.d}.{formats[-1]}.{formats[0]}"
        row = tensor_instruction_named(name + (f".{row.scale}" if row.scale else ""))
        placements = {"D": d_placement(row), "A": a_placement(row)}
        if row.is_block_scaled and row.k != 96:
            placements |= {"SA": scale_placement(row, "a"), "SB": scale_placement(row, "b")}
        for letter, place in placements.items():
            rows, cols = place.shape
            few = [{x for x in (0, 1, 7, 17, count // 2, count - 1) if x < count} for count in (rows, cols)]
            cells = list(product(*few))
            shift = row.container("a").shift if letter == "A" else 0
            for (r, c), found in zip(cells, page.evaluate(script, [row.mnemonic, letter, cells]), strict=True):
                words = [x[:, r, c].tolist() for x in (place.cta, place.lane, place.column, place.bit + shift)]
                assert {tuple(x) for x in found} == set(zip(*words, strict=True)), (row.mnemonic, letter, r, c)
    assert {key[1] for key in seen} >= {"tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp"}


def test_the_thread_that_loads_a_word_is_the_thread_of_the_layout(explore):
    page = explore(chip="sm_90", i=A16)
    script = """([name, lane, column]) => {
        const found = explorer.tensor_thread({ lane, column }, explorer.TENSOR_LOADS[name]);
        return [found.thread, found.register, ...found.address];
      }"""
    for name, num in (("32x32b", 32), ("16x64b", 16), ("16x128b", 8), ("16x256b", 4)):
        layout = tcgen05_layout(name, num)
        for lane in (0, 5, 17, 40, 127):
            for column in (0, 3, 31):
                (at,) = layout.locate(lane % layout.rows, column)
                first = 32 * (lane // 32) + (lane % 32 // 16 * 16 if layout.rows == 16 else 0)
                assert page.evaluate(script, [name, lane, column]) == [at.lane, at.register, first, 0]


def test_tensor_memory_can_be_pointed_at_and_turned(explore):
    page = explore(chip="sm_100", i="tcgen05.mma.ws.cta_group::1.kind::f16.m32n64k16.f32.f16.f16")
    page.locator('.tensor-block[data-kind="matrix"] rect').nth(2).click(position={"x": 3, "y": 3})
    assert state(page)["spot"].startswith("D[0][")
    page.select_option("#tensor-n", "128")
    assert state(page)["entry"].endswith("m32n128k16.f32.f16.f16")
    page.click('[data-tensor-operand="A"]')
    ask(page, "A[3][5]")
    assert page.locator("#view-tensor .spot").count() == 1 + 4  # and a copy for each part of the columns
    page.click('[data-tensor-load="16x64b"]')
    assert "tcgen05.ld.16x64b" in page.inner_text("#answer")


# --- tiles and scales ------------------------------------------------------------------------------


def test_every_element_of_a_tile_is_held_by_its_warps_and_what_they_hold_is_the_tile(explore):
    page = explore(chip="sm_90", i=A16)
    script = """([letter, warps, repeats]) => {
        const entry = explorer.BY_NAME.get("m16n8k16.f32.f16.f16.f32");
        const operand = explorer.operands_of(entry, explorer.CHIP_BY_NAME.get("sm_90"))[letter];
        const [wm, wn] = warps.split("x").map(Number), held = [];
        for (let warp = 0; warp < wm * wn; warp++)
          for (let lane = 0; lane < 32; lane++)
            for (let x = 0; x < operand.layout.elements; x++)
              for (const [row, col] of explorer.tile_holders(operand, warps, repeats, warp, lane, x))
                held.push([warp, lane, x, row, col]);
        return held;
      }"""
    layouts = {x: getattr(we.instruction(A16, arch="sm_90"), x.lower()).layout for x in "ABD"}
    for warps, repeats in (("2x2", "1x1"), ("4x1", "1x2"), ("1x2", "2x2")):
        (wm, wn), (rm, rn) = (tuple(map(int, x.split("x"))) for x in (warps, repeats))
        for letter, layout in layouts.items():
            down, across = (1 if letter == "B" else wm * rm), (1 if letter == "A" else wn * rn)
            held = page.evaluate(script, [letter, warps, repeats])
            places = {}
            for warp, lane, x, row, col in held:
                places.setdefault((row, col), set()).add(warp)
                r, c = layout.coords[x, lane]
                assert (row % layout.rows, col % layout.cols) == (r, c)
            assert len(places) == layout.rows * layout.cols * down * across
            for (row, col), found in places.items():
                m, n = row // layout.rows % wm, col // layout.cols % wn
                rows_of_a, columns_of_b = {m + wm * j for j in range(wn)}, {i + wm * n for i in range(wm)}
                assert found == {"A": rows_of_a, "B": columns_of_b, "D": {m + wm * n}}[letter]


def test_a_position_in_a_tile_equals_that_in_cutes_tiled_mma(explore):
    page = explore(chip="sm_90", i=A16)
    script = """([letter, warps, repeats, cells]) => {
        const entry = explorer.BY_NAME.get("m16n8k16.f32.f16.f16.f32");
        const operand = explorer.operands_of(entry, explorer.CHIP_BY_NAME.get("sm_90"))[letter];
        return cells.map(([row, col]) => {
          const { warps: holding, product, holders: [[index, lane]] } = explorer.tile_place(operand, warps, row, col);
          return holding.map((warp) => [warp, lane, explorer.tile_value(operand, repeats, product, index)]);
        });
      }"""
    for warps, repeats in (((2, 2), (2, 4)), ((4, 1), (1, 2)), ((1, 2), (2, 2))):
        tile = (16 * warps[0] * repeats[0], 8 * warps[1] * repeats[1], 16)
        for letter in "ABD":
            found = tiled_layout(A16, letter.lower(), warps, tile, arch="sm_90")
            cells = [(r, c) for r in range(0, found.shape[0], 5) for c in range(0, found.shape[1], 3)]
            texts = ["x".join(map(str, x)) for x in (warps, repeats)]
            for cell, here in zip(cells, page.evaluate(script, [letter, *texts, cells]), strict=True):
                assert {tuple(x) for x in here} == {(x.warp, x.lane, x.value) for x in found.locate(*cell)}


def test_a_requested_scale_is_at_the_position_that_the_selectors_determine(explore):
    page = explore(chip="sm_120", i=MX, view="scales")
    page.click('#view-scales [data-byte-id-a="2"]')
    page.click('#view-scales [data-thread-id-a="1"]')
    answer = ask(page, "scale_A[9][1]")
    lane, byte = scale_map(lookup(MX), "a", 2, 1).locate(9, 1)
    assert f"is byte {byte} " in answer and f"of lane {lane}." in answer


def test_what_notation_refuses_is_refused_here(explore):
    page = explore(chip="sm_90", i=A16)
    for text in ("HMMA.16832.F32", "SM80_16x8x16_F32F16F16_TN", "fragment<matrix_a, 16, 16, 9, half, row_major>"):
        with pytest.raises(WmmaEmuError):
            meaning_of(text)
        assert page.evaluate("""text => { try { explorer.named_otherwise(text, explorer.now.chip); return false; }
            catch (error) { return error instanceof explorer.Misread; } }""", text)  # fmt: skip
