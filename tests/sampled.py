# SPDX-License-Identifier: MIT
"""Sweeps of which the quick suite runs a part; the other cases are slow tests.

A sweep over all rows and models takes minutes, and most of its cases are similar. The cases that remain are chosen by
their names, so that a case stays where it is when others come. ``-m slow`` runs those that are left out; CONTRIBUTING
says when.
"""

import math
import zlib
from collections import defaultdict
from collections.abc import Iterable

__all__ = ["SAMPLED", "left_out"]

SAMPLED = {
    # arithmetic
    "test_a_batch_of_small_tiles_equals_one_tile_at_a_time": 4,
    "test_a_text_with_another_digit_anywhere_is_refused": 4,
    "test_engines_agree_on_adversarial_families": 4,
    "test_engines_agree_on_what_hypothesis_draws": 3,
    "test_every_engine_computes_an_altered_model_as_the_reference_does": 4,
    "test_subnormal_numbers_count_even_if_the_compiler_is_told_to_flush_them": 2,
    "test_the_program_gives_the_engines_bits_on_the_host": 3,
    "test_the_text_alone_gives_the_bits_again": 4,
    "test_the_text_alone_gives_the_bits_again_on_adversarial_families": 5,
    "test_the_text_of_a_product_with_block_scales_gives_its_bits_again": 3,
    "test_threads_do_not_show_in_the_bits": 12,
    # warp, wmma, PTX, GPU
    "test_a_planted_error_is_found_and_shrunk_to_three_terms": 3,
    "test_each_row_from_shared_memory": 3,
    "test_each_row_gives_the_products_of_the_instruction": 3,
    "test_every_element_is_one_dot_product_of_the_elements_that_metadata_names": 3,
    "test_a_kernel_that_lacks_a_line_is_found": 2,
    "test_nvrtc_gives_kernels_of_the_same_bits": 3,
    "test_on_volta_each_quad_pair_multiplies_its_own_copies": 3,
    "test_the_assembler_takes_every_row_for_its_newest_chip": 3,
    "test_the_emulator_agrees_with_itself_and_everything_is_counted": 3,
    "test_a_batch_of_pointers_loads_as_a_loop_over_warps_does": 4,
    "test_copies_and_pickles_are_equal_and_independent": 4,
    "test_every_bit_is_packed_where_the_layout_locates_it": 3,
    "test_every_lane_gets_the_elements_of_its_coordinates": 4,
    "test_matrices_of_the_format_keep_dtype_and_bits": 3,
    "test_registers_with_anything_in_bits_that_are_not_read_give_the_bits_of_matrices": 3,
    "test_they_are_the_products_of_matrices": 6,
    "test_unpack_undoes_pack_for_any_batch_of_warps": 4,
    # layouts
    "test_a_selector_that_does_not_exist_is_refused": 4,
    "test_every_forbidden_nibble_is_shown_with_its_lane_bits_row_and_columns": 4,
    "test_every_nibble_of_a_lane_that_holds_metadata_speaks_of_one_chunk": 4,
    "test_lanes_that_the_selector_leaves_out_may_hold_anything": 4,
    "test_scatter_undoes_gather_for_any_batch": 4,
    "test_the_functions_are_the_map_of_every_selector": 4,
    # scalar, formats, vectors, instructions
    "test_a_preset_gives_the_bits_of_the_library_in_every_layout_and_mode": 5,
    "test_a_row_is_found_on_its_chips_and_refused_on_the_others": 2,
    "test_edges_of_wide_sources_are_what_the_fraction_says": 4,
    "test_fma_is_the_exact_value_rounded_once": 2,
    "test_only_the_formats_own_dtype_and_its_raw_bits_are_taken": 3,
    "test_one_superfluous_or_wrong_part_leaves_the_row_itself_the_nearest": 3,
    "test_registers_equal_those_that_the_gpu_returned": 2,
    "test_the_reference_and_both_second_paths_round_alike": 2,
    # testing
    "test_a_model_that_differs_in_one_parameter_is_found_with_that_parameter": 2,
    "test_contributions_add_up_to_the_error_and_errors_keep_their_bounds": 4,
    "test_every_instruction_has_families_and_each_gives_patterns_of_its_formats": 3,
    "test_every_pattern_of_a_dtype_without_a_format_comes": 3,
    "test_every_pattern_of_a_narrow_format_comes": 3,
    "test_every_rule_of_a_model_is_seen_by_a_family_or_by_none_for_a_reason": 3,
    "test_models_that_no_chip_has_are_found_too": 2,
    "test_no_float32_that_is_subnormal_comes_for_tf32_where_they_are_not_allowed": 3,
    "test_registers_hold_what_operands_are_and_any_words": 2,
    "test_operands_of_every_instruction_are_taken_by_it": 3,
    "test_registers_are_taken_by_execute_on_the_first_and_the_last_chip": 4,
    "test_registers_hold_what_their_origin_says": 2,
    "test_the_row_of_the_table_is_recovered_and_what_no_input_shows_is_said": 2,
    "test_what_is_not_allowed_does_not_come": 3,
    "test_what_no_model_does_is_named_with_its_evidence": 2,
    "test_where_no_bit_is_cut_the_reference_is_the_exact_sum_rounded_once": 4,
    # viz, command line, tools
    "test_csv_has_every_element_of_every_lane_as_the_layout_has_it": 4,
    "test_every_dense_instruction_of_one_warp_has_registers_for_every_family": 4,
    "test_every_grid_fits_the_terminal_and_shows_every_element_that_is_read_once": 3,
    "test_every_instruction_can_be_shown": 4,
    "test_every_step_of_every_model_is_drawn_with_its_exact_numbers": 4,
    "test_every_text_lies_in_its_cell_and_nothing_is_clipped": 3,
    "test_help_goes_to_standard_output": 3,
    "test_wrong_use_is_one_line_and_status_two": 2,
    "test_where_is_what_the_layout_locates_and_what_looks_back": 4,
}
"""The number of cases of a parametrised test per quick case."""


def left_out(names: Iterable[str]) -> set[str]:
    """Return the full names of tests that the quick suite omits: at least one case of each sweep remains.

    Examples
    --------
    >>> sorted(left_out([f"tests/a.py::test_help_goes_to_standard_output[{i}]" for i in range(3)]))
    ['tests/a.py::test_help_goes_to_standard_output[0]', 'tests/a.py::test_help_goes_to_standard_output[1]']
    """
    sweeps = defaultdict(list)
    for name in names:
        test, bracket, _ = name.partition("[")
        function = test.rpartition("::")[2]
        if bracket and function in SAMPLED:
            sweeps[test, function].append(name)
    out = set()
    for (_, function), cases in sweeps.items():
        cases.sort(key=lambda name: (zlib.crc32(name.encode()), name))
        out.update(cases[math.ceil(len(cases) / SAMPLED[function]) :])
    return out
