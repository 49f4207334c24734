# SPDX-License-Identifier: MIT
"""The rules of the package as a whole, one fact each: names, chips, spellings, errors, memory, products.

Each part, such as formats or layouts, has its own rules in its own folder.
"""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu import Pointer
from wmma_emu.display import in_columns, runs_of
from wmma_emu.errors import OutOfBoundsError, printable, shorten
from wmma_emu.palette import LANE_COLOURS
from wmma_emu.renamed import renamed_names
from wmma_emu.spellings import american, as_spelled, british
from wmma_emu.suggestions import did_you_mean, first_chip, listed

F16 = "m16n8k16.f32.f16.f16.f32"


def test_importing_the_package_imports_none_of_its_parts_and_no_numpy():
    code = "import sys, wmma_emu; print([x for x in ('numpy', 'wmma_emu.gemm', 'wmma_emu.ptx') if x in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_an_instruction_is_bound_to_a_chip_and_states_its_evidence():
    assert repr(we.instruction(F16, arch="h100")) == (
        "<mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 on sm_90, measured>"
    )


@pytest.mark.parametrize("name", ["sm_90", "sm_90a", "h100", "H200", "hopper", "9.0", "compute_90"])
def test_a_chip_has_the_names_of_its_target_its_products_and_its_generation(name):
    assert we.instruction(F16, arch=name).arch.name == "sm_90"


def test_a_chip_that_does_not_exist_is_an_error_with_the_nearest_name():
    with pytest.raises(we.UnsupportedInstructionError, match=r"there is no chip 'h1000'; did you mean 'h100'"):
        we.instruction(F16, arch="h1000")


def test_one_instruction_multiplies_matrices_of_its_shape():
    A, B = np.ones((16, 16), np.float16), np.full((16, 8), 0.5, np.float16)
    assert (we.mma(A, B, instr=F16, arch="h100") == 8).all()
    with pytest.raises(we.FragmentMismatchError):
        we.mma(A[:15], B, instr=F16, arch="h100")


def test_every_error_of_the_package_has_one_base_and_a_built_in_one():
    assert issubclass(we.OptionError, we.WmmaEmuError) and issubclass(we.OptionError, ValueError)
    assert issubclass(we.OutOfBoundsError, we.WmmaEmuError) and issubclass(we.OutOfBoundsError, IndexError)


def test_messages_show_no_character_that_a_terminal_obeys_and_long_values_are_shortened():
    assert printable("a\x1b[31mb") == "a\\x1b[31mb"
    assert len(shorten("x" * 1000)) < 100


def test_names_are_british_and_american_ones_are_accepted():
    assert american("UnspecifiedBehaviourWarning") == "UnspecifiedBehaviorWarning"
    assert british("modeled") == "modelled"
    assert we.UnspecifiedBehaviorWarning is we.UnspecifiedBehaviourWarning
    assert as_spelled("uninitialized", ["uninitialised", "race"]) == "uninitialised"


def test_an_old_name_gives_the_new_object_with_a_warning():
    lookup = renamed_names("wmma_emu.gpu.campaign", {"Report": "CampaignReport"})
    with pytest.warns(DeprecationWarning, match="CampaignReport"):
        assert lookup("Report").__name__ == "CampaignReport"


def test_a_misspelt_word_gets_the_nearest_legal_one_or_none():
    assert did_you_mean("rase", ["race", "trap"]) == "; did you mean 'race'?"
    assert did_you_mean("xyz", ["race", "trap"]) == ""


def test_words_are_listed_as_in_a_sentence():
    assert listed([0, 4, 8]) == "0, 4 and 8"
    assert listed(["A", "B"], "or") == "A or B"


def test_a_chip_is_called_the_first_only_if_all_later_ones_follow():
    chips = ["sm_80", "sm_89", "sm_90"]
    assert first_chip(["sm_89", "sm_90"], chips) == "the first chip that supports it is sm_89"
    assert first_chip(["sm_80"], chips) == "the only chip that supports it is sm_80"


def test_a_pointer_reads_and_writes_elements_from_its_offset_on():
    memory = np.zeros(16, np.int32)
    Pointer(memory[4:12], 2).scatter(np.array([0, 3]), np.array([7, 9], np.int32))
    assert np.flatnonzero(memory).tolist() == [6, 9]
    assert Pointer(memory, 6).gather(np.array([0, 3])).tolist() == [7, 9]


def test_a_pointer_does_not_wrap_and_an_access_out_of_bounds_writes_nothing():
    memory = np.zeros(8, np.int32)
    with pytest.raises(OutOfBoundsError, match="element 2 of the access is at position 8 of mem, which has 8 elements"):
        Pointer(memory, 6).scatter(np.arange(4), np.ones(4, np.int32))
    with pytest.raises(OutOfBoundsError, match="positions do not count from the end"):
        Pointer(memory, -1).gather(np.array([0]))
    assert not memory.any()


def test_successive_numbers_are_ranges_and_tables_have_columns():
    assert runs_of([0, 1, 2, 8]) == [range(3), range(8, 9)]
    assert in_columns([("a", "bb"), ("ccc", "d")]) == ["a    bb", "ccc  d"]


def test_the_lanes_of_a_warp_have_colours_that_differ_from_those_of_their_neighbours():
    assert len(LANE_COLOURS) == 32
    assert all(x != y for x, y in pairwise(LANE_COLOURS))
