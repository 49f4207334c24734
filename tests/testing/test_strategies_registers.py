# SPDX-License-Identifier: MIT
"""registers, metadata, fragments and instructions: legal for every instruction, and everything legal comes."""

import pickle
import re
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, seed, settings
from hypothesis.errors import InvalidArgument

import wmma_emu as we
from tests.representatives import REPRESENTATIVES
from wmma_emu import wmma
from wmma_emu.arithmetic import models_for
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.instructions import ARCHS, INSTRUCTIONS, lookup
from wmma_emu.layouts import granularity_of, metadata_map, unpack_metadata
from wmma_emu.layouts.metadata import selectors_of
from wmma_emu.layouts.wmma_table import FRAGMENTS
from wmma_emu.testing import bits
from wmma_emu.testing.strategies import (
    Registers,
    archs,
    fragment_operands,
    fragments,
    instruction_entries,
    instructions,
    metadata,
    models,
    registers,
)
from wmma_emu.wmma.names import FragmentUse, element_type_of_format

pytestmark = [pytest.mark.property, pytest.mark.slow]

ANEW = settings(
    max_examples=500, database=None, deadline=None, suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)  # fmt: skip
EACH = {(i.family, i.d, i.a, i.b, i.m, i.k): i for i in reversed(REPRESENTATIVES.values())}
SPARSE = {(i.family, i.a, i.k): i for i in reversed(INSTRUCTIONS.values()) if i.is_sparse}
WMMA = [i for i in INSTRUCTIONS.values() if i.family == "wmma.mma" and (i.a_layout, i.b_layout) == ("row", "col")]
F16 = "m16n8k16.f32.f16.f16.f32"


def drawn(strategy, examples, run=0):
    found = []

    @seed(run)
    @settings(ANEW, max_examples=examples, phases=[Phase.generate])
    @given(strategy)
    def collect(value):
        found.append(value)

    collect()
    return found


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.filterwarnings("ignore::wmma_emu.UnverifiedModelWarning")
@pytest.mark.parametrize("row", EACH.values(), ids=lambda i: i.mnemonic)
def test_registers_are_taken_by_execute_on_the_first_and_the_last_chip(row):
    for arch in dict.fromkeys((row.archs[0], row.archs[-1])):
        ins = we.instruction(row.mnemonic, arch=arch)
        for found in drawn(registers(ins), 2):
            d = ins.execute(*found, **found.options)
            assert d.shape[0] == ins.d.num_registers and d.dtype == ins.d.register_dtype
            assert repr(found).startswith(f"<{row.mnemonic}: ")


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize("mnemonic", [F16, "mma.sp.m16n8k32.f32.f16.f16.f32"])
def test_registers_hold_what_operands_are_and_any_words(mnemonic):
    ins = we.instruction(mnemonic)
    found = drawn(registers(ins), 200, 1) + drawn(registers(ins), 60, 2)
    origins = {x.origin.partition(": ")[2].partition(" ")[0].strip(",;") for x in found}
    assert {"zeros", "generator"} <= origins <= {"zeros", "raw", "generator"}
    least = find(registers(ins), lambda x: True, settings=ANEW)
    assert not any(bits(words).any() for words in least)
    assert pickle.loads(pickle.dumps(least)).options.keys() == least.options.keys()
    few = drawn(registers(ins, generators=["normal"], allow_nan=False), 20)
    origins = {x.origin.partition(": ")[2].partition(",")[0].partition(";")[0] for x in few}
    assert origins == {"zeros", "generator 'normal'"}


def test_registers_of_four_products_hold_four_matrices():
    ins = we.instruction("m8n8k4.f32.f16.f16.f32", arch="sm_70")
    different = find(registers(ins), lambda x: len(np.unique(ins.a.unpack_bits(x.a), axis=0)) == 4, settings=ANEW)
    assert ins.a.unpack_bits(different.a).shape == (4, 8, 4)


OF = re.compile(r"([ABC])\[(?:(\d+), )?(\d+), (\d+)\] = (0x[0-9a-f]+)")
SAID = {
    "f16": (F16, "sm_90"), "four products": ("m8n8k4.f32.f16.f16.f32", "sm_70"),
    "copies that are not read": ("m16n8k32.f32.e4m3.e4m3.f32", "sm_89"), "f64": ("m8n8k4.f64.f64.f64.f64", "sm_80"),
    "copies on Volta": ("wmma.mma.m16n16k16.f32.f16", "sm_70"), "wmma": ("wmma.mma.m16n16k16.f32.f32", "sm_90"),
    "warpgroup": ("wgmma.m64n8k16.f32.f16.f16", "sm_90"),
}  # fmt: skip


def first_copies(operand, words):
    return operand.layout.scatter(operand.unpack_elements(words)) if operand.num_registers else bits(words)


def within(text, name, size):
    """What lines an origin says are kept."""
    one, several = re.search(rf"{name} (\d+) alone", text), re.search(rf"{name}s? (\d+) to (\d+)", text)
    if one:
        return range(int(one[1]), int(one[1]) + 1)
    return range(int(several[1]), int(several[2]) + 1) if several else range(size)


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.filterwarnings("ignore::wmma_emu.UnverifiedModelWarning")
@pytest.mark.parametrize("case", SAID)
def test_registers_hold_what_their_origin_says(case):
    mnemonic, arch = SAID[case]
    ins = we.instruction(mnemonic, arch=arch)
    row = ins.instruction
    for x in drawn(registers(ins), 150):
        what, _, edits = x.origin.partition("; edits: ")
        held = [first_copies(operand, words) for operand, words in zip((ins.a, ins.b, ins.c), x, strict=True)]
        A, B, C = (matrix.reshape(row.products, *matrix.shape[-2:]) for matrix in held)
        last = {}
        for name, tile, i, j, word in OF.findall(edits):
            last[name, int(tile or 0), int(i), int(j)] = int(word, 16)
        for (name, *at), word in last.items():
            matrix = {"A": A, "B": B, "C": C}[name]
            assert matrix[tuple(at)] == word
            matrix[tuple(at)] = 0
        if what.startswith(f"{row.mnemonic}: zeros"):
            assert not (A.any() or B.any() or C.any())
        rows, columns, terms = (within(what, *x) for x in (("row", row.m), ("column", row.n), ("k", row.k)))
        for matrix, across, down in ((A, rows, terms), (B, terms, columns), (C, rows, columns)):
            there = np.argwhere(matrix)
            assert all(i in across and j in down for _, i, j in there.tolist())
        assert not ("no c" in what and C.any())


def test_a_failure_on_raw_bits_shrinks_to_the_words_that_it_needs():
    ins = we.instruction(F16, arch="sm_90")
    found = find(
        registers(ins), lambda x: ": raw bits" in x.origin and x.a[0, 0] & 1 and x.b.any(), settings=ANEW
    )  # fmt: skip
    assert np.count_nonzero(found.a) <= 2 and np.count_nonzero(found.b) <= 2 and not found.c.any()


def test_bits_that_nothing_reads_are_any_or_none_and_change_nothing():
    ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_90")
    assert not any("nothing is read" in x.origin for x in drawn(registers(ins), 60))  # it reads all
    ins = we.instruction("wmma.mma.m16n16k16.f32.f32", arch="sm_90")
    found = [x for x in drawn(registers(ins), 60) if "nothing is read" in x.origin]
    assert len(found) > 5
    for x in found:
        loaded = [o.pack_bits(first_copies(o, words)) for o, words in zip((ins.a, ins.b, ins.c), x, strict=True)]
        assert any((words != other).any() for words, other in zip(x, loaded, strict=True))
        assert ins.execute(*x).tobytes() == ins.execute(*loaded).tobytes()
    none = [x for x in drawn(registers(ins, allow_nan=False), 60) if "nothing is read" in x.origin]
    least = find(registers(ins), lambda x: True, settings=ANEW)
    assert not none and "nothing is read" not in least.origin


@pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")
def test_copies_that_volta_reads_differ_in_some_draws_exactly_those_whose_origin_names_it():
    ins = we.instruction("wmma.mma.m16n16k16.f32.f16", arch="sm_70")
    found = drawn(registers(ins), 60)
    differ = [not all(o.layout.agree(o.unpack_elements(w)) for o, w in zip((ins.a, ins.b), x[:2], strict=True))
              for x in found]  # fmt: skip
    assert differ == ["copies differ" in x.origin for x in found] and 5 < sum(differ) < 55


def test_edits_of_four_products_say_in_which_they_are():
    ins = we.instruction("m8n8k4.f32.f16.f16.f32", arch="sm_70")
    edits = [edit for x in drawn(registers(ins), 150) for edit in OF.findall(x.origin)]
    assert {tile for _, tile, *_ in edits} == {"0", "1", "2", "3"}
    assert not any(tile for x in drawn(registers(we.instruction(F16)), 60) for _, tile, *_ in OF.findall(x.origin))


def test_registers_take_names_from_an_iterator_and_refuse_none():
    ins = we.instruction(F16)
    found = drawn(registers(ins, generators=iter(["ties", "normal"])), 40)
    assert {x.origin.partition(": ")[2].partition(",")[0].partition(";")[0] for x in found} == {
        "zeros", "generator 'ties'", "generator 'normal'",
    }  # fmt: skip
    with pytest.raises(InvalidArgument, match=r"generators is empty.*'ties'"):
        find(registers(ins, generators=[]), lambda x: True, settings=ANEW)


def test_registers_of_which_one_is_replaced_keep_their_options_and_say_so():
    x = find(registers(we.instruction("mma.sp.m16n8k32.f32.f16.f16.f32")), lambda x: x.a.any(), settings=ANEW)
    other = x._replace(a=x.a | np.uint32(1))
    assert isinstance(other, Registers) and other.options.keys() == x.options.keys()
    assert other.origin.endswith("; replaced: a") and repr(other).startswith(f"<{other.origin}\n")
    assert Registers._make([1, 2, 3]).options == {} and repr(x._make([1, 2, 3])) == "Registers(a=1, b=2, c=3)"


def notes_of(strategy, failing):
    @settings(ANEW, max_examples=300)
    @given(strategy)
    def run(value):
        assert not failing(value)

    with pytest.raises(AssertionError) as caught:
        run()
    return caught.value.__notes__


def test_failing_examples_of_fragments_show_their_contents():
    one = fragments(use=wmma.matrix_a, type=wmma.half)
    (shown,) = [note for note in notes_of(one, lambda x: bits(x.to_matrix()).any()) if note.startswith("fragment<")]
    assert re.match(
        r"fragment<matrix_a, \d+, \d+, 16, half, \w+> on sm_\d+ \d+x16 f16, all \+0 but \[\d+, \d+\] ", shown
    )
    three = fragment_operands(we.instruction("wmma.mma.m16n16k16.f32.f32", arch="sm_90"))
    (shown,) = [
        note for note in notes_of(three, lambda x: bits(x[2].to_matrix()).any()) if note.startswith("<wmma.mma")
    ]
    assert shown.startswith("<wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32: ") and len(shown.splitlines()) == 4
    assert re.search(r"C 16x16 f32, all \+0 but \[\d+, \d+\] \S+ \(0x[0-9a-f]{8}\)", shown)


def test_the_chip_that_a_message_names_does_not_warn_where_there_is_one():
    for row in EACH.values():
        with pytest.raises(UnsupportedInstructionError) as caught:
            find(registers(row), lambda x: True, settings=ANEW)
        (arch,) = re.findall(r"arch='(\w+)'", str(caught.value))
        recorded = [x for x in row.archs if models_for(row, x)[0].status in ("measured", "recorded", "documented")]
        assert arch in (recorded or row.archs) and ("sm_90" not in recorded or arch == "sm_90")


def test_strategies_without_options_are_shown_by_name():
    assert (repr(archs()), repr(models())) == ("archs()", "models()")


@pytest.mark.parametrize("row", SPARSE.values(), ids=lambda i: i.mnemonic)
def test_metadata_are_legal_for_every_selector_and_every_legal_nibble_comes(row):
    nibbles = set()
    for selector in selectors_of(row):
        for words in drawn(metadata(row, selector=selector), 12, selector):
            assert words.shape == ((4, 32) if row.is_warpgroup else (32,)) and words.dtype == np.uint32
            places = unpack_metadata(row, words, selector) % granularity_of(row).chunk
            nibbles.update(map(tuple, places.reshape(-1, granularity_of(row).kept).tolist()))
    assert nibbles == set(granularity_of(row).nibbles.values())


def test_lanes_that_a_selector_leaves_out_hold_anything():
    row = lookup("mma.sp.m16n8k16.f32.f16.f16.f32")
    left_out = np.setdiff1d(np.arange(32), metadata_map(row, 2).lane)
    found = np.array([words[left_out] for words in drawn(metadata(row, selector=2), 40)])
    assert len(np.unique(found)) > 100
    ins = we.instruction(row.mnemonic)
    options = [x.options for x in drawn(registers(ins), 100)]
    assert {x["selector"] for x in options} == {0, 1, 2, 3}
    assert any(x["metadata"][np.setdiff1d(np.arange(32), metadata_map(row, x["selector"]).lane)].any() for x in options)


@pytest.mark.parametrize("key", FRAGMENTS, ids="-".join)
def test_fragments_of_every_type_come_with_elements_in_them(key):
    shape, use, fmt = key
    wanted = {"shape": shape, "use": FragmentUse[use], "type": element_type_of_format(fmt)}
    found = drawn(fragments(**wanted), 8)
    for frag in found:
        assert (f"m{frag.m}n{frag.n}k{frag.k}", frag.use.value, frag.format.name) == key
        assert frag.is_initialised and frag.to_matrix().shape == frag.lane_map.matrix_shape
    assert len({frag.arch for frag in found}) > 1


def test_fragments_of_many_types_are_drawn_if_no_type_is_requested():
    kinds = {(f"m{x.m}n{x.n}k{x.k}", x.use.value, x.format.name) for x in drawn(fragments(), 250)}
    assert len(kinds) > len(FRAGMENTS) // 3 and kinds <= set(FRAGMENTS)


def test_fragments_have_the_requested_types_and_copies_of_an_element_agree():
    volta = fragments(use=wmma.matrix_a, shape="m16n16k16", type=wmma.half, layout=wmma.col_major, arch="v100")
    for frag in drawn(volta, 30):
        assert repr(frag).startswith("<fragment<matrix_a, 16, 16, 16, half, col_major> on sm_70")
        frag.to_matrix()  # refuses copies that differ
    finite = fragments(type=wmma.half, allow_nan=False, allow_infinity=False)
    assert all(np.isfinite(frag.to_matrix()).all() for frag in drawn(finite, 60))
    assert not bits(find(fragments(), lambda frag: True, settings=ANEW).to_matrix()).any()


@pytest.mark.filterwarnings("ignore::wmma_emu.UnverifiedModelWarning")
@pytest.mark.parametrize("row", WMMA, ids=lambda i: i.mnemonic)
def test_the_fragments_of_a_product_are_taken_by_it(row):
    ins = we.instruction(row.mnemonic, arch="sm_90" if "sm_90" in row.archs else row.archs[-1])
    for a, b, c in drawn(fragment_operands(ins), 2):
        d = wmma.fragment(wmma.accumulator, c.m, c.n, c.k, c.type if row.c == row.d else _other(c), arch=c.arch)
        if row.a == "b1":
            op = wmma.experimental.bmmaBitOpXOR if "xor.popc" in row.modifiers else wmma.experimental.bmmaBitOpAND
            wmma.experimental.bmma_sync(d, a, b, c, op)
        else:
            wmma.mma_sync(d, a, b, c)
        assert d.is_initialised


def _other(c):
    return wmma.half if c.type is wmma.float32 else wmma.float32


def test_instructions_of_every_family_and_chip_come_and_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = drawn(instructions(), 1000)
    families = {ins.instruction.family for ins in found}
    assert families == {row.family for row in INSTRUCTIONS.values()}
    assert {ins.arch.name for ins in found} == set(ARCHS)
    assert {ins.model.status for ins in found} >= {"measured", "recorded", "literature", "inferred"}
    assert "ptxas-12.4" in {ins.model.lowering for ins in found}
    assert all(ins.arch.name in ins.instruction.archs for ins in found)


def test_drawn_instructions_have_the_requested_properties():
    assert {str(ins.arch) for ins in drawn(instructions(arch="h100", a="bf16"), 30)} == {"sm_90"}
    for ins in drawn(instructions(sparse=True, unverified=False, d="f32"), 60):
        assert ins.instruction.is_sparse and ins.instruction.d == "f32"
        assert ins.model.status in ("measured", "recorded", "documented")
    assert {row.shape for row in drawn(instruction_entries(family="mma.sync", a=we.format_of("f64")), 60)} == {
        "m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16",
    }  # fmt: skip
    least = find(instructions(), lambda ins: True, settings=ANEW)
    assert (least.instruction.family, least.arch.name, least.instruction.modifiers) == ("mma.sync", "sm_90", ())
    assert len(drawn(models(), 50)) > 1 and len({chip.name for chip in drawn(archs(), 100)}) == len(ARCHS)


BAD = {
    "registers of no chip": (lambda: registers(F16), UnsupportedInstructionError, "arch="),
    "registers of a chip that is measured": (lambda: registers(F16), UnsupportedInstructionError, "arch='sm_90'"),
    "registers of a row": (lambda: registers(lookup(F16)), UnsupportedInstructionError, "is not bound to one"),
    "registers of nothing": (lambda: registers(7), UnsupportedInstructionError, "not an instruction"),
    "metadata of a dense instruction": (lambda: metadata(F16), UnsupportedInstructionError, "its A is dense"),
    "a selector": (
        lambda: metadata("mma.sp.m16n8k64.s32.s8.s8.s32", selector=1), FragmentMismatchError, "0 only",
    ),
    "fragments of mma.sync": (
        lambda: fragment_operands(we.instruction(F16)), UnsupportedInstructionError, "takes registers",
    ),
    "an element type": (lambda: fragments(type="half"), UnsupportedInstructionError, "pass wmma.half"),
    "a use": (lambda: fragments(use="matrix_a"), UnsupportedInstructionError, "without quotes"),
    "a layout": (lambda: fragments(layout="row"), UnsupportedInstructionError, "wmma.row_major"),
    "a shape of fragments": (lambda: fragments(shape="m1n1k1"), UnsupportedInstructionError, "m16n16k16"),
    "fragments that a chip lacks": (lambda: fragments(type=wmma.double, arch="sm_70"), InvalidArgument, "sm_70"),
    "a chip": (lambda: instructions(arch="sm_1"), UnsupportedInstructionError, "sm_70"),
    "a family": (lambda: instructions(family="xyz"), UnsupportedInstructionError, "wgmma"),
    "a family misspelt": (lambda: instructions(family="wgma"), UnsupportedInstructionError, "did you mean 'wgmma'"),
    "a shape misspelt": (lambda: instructions(shape="m16n16k15"), UnsupportedInstructionError, "mean 'm16n16k16'"),
    "a format misspelt": (lambda: instruction_entries(a="fp16"), UnsupportedInstructionError, "mean 'f16'"),
    "a dtype for a format": (lambda: instruction_entries(a="float16"), UnsupportedInstructionError, "mean 'f16'"),
    "one too many": (
        lambda: instructions(a="s8", c="f32"), InvalidArgument, r"a='s8', c='f32'; .*leave out c \(available: 's32'\)",
    ),
    "two too many": (
        lambda: instructions(arch="sm_70", a="f64", sparse=True), InvalidArgument,
        "no instruction matches if one of them is left out",
    ),
    "nothing left": (lambda: instructions(a="f64", family="mma.sp"), InvalidArgument, "leave out"),
    "nothing recorded": (
        lambda: instructions(arch="sm_120", a="f16", unverified=False), InvalidArgument, "recording",
    ),
    "a switch": (lambda: instructions(sparse="yes"), InvalidArgument, "True nor False"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_use_is_an_error_when_drawn_that_names_the_fix_and_not_before(case):
    make, error, words = BAD[case]
    strategy = make()
    with pytest.raises(error, match=words):
        find(strategy, lambda value: True, settings=ANEW)
