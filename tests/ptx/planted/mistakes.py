# SPDX-License-Identifier: MIT
"""The mistakes of the planted bugs, and the kernels that show them."""

MISTAKES = {
    "missing __syncthreads": (
        "reversed tree copies_of_others scan_in_place two_sums_of_a_block exchange_of_warps "
        "three_stages_of_copies semaphore vote_of_the_block addition_by_cas_in_a_block"
    ),
    "missing __syncthreads at the end of a loop": "overwritten stage_filled_too_early queue_of_work",
    "misplaced __syncthreads": "barrier_before_the_write barrier_before_the_wait",
    "conditional __syncthreads": (
        "barrier_of_some_rounds barrier_of_some_lanes barriers_of_both_branches one_warp_alone odd_threads"
    ),
    "__syncwarp for __syncthreads": "reversed_by_warps sums_of_warps",
    "missing __syncwarp": (
        "reversed_in_a_warp overwritten_in_a_warp word_of_a_leader exchange_of_lanes groups_of_keys shifted_in_place"
    ),
    "misplaced or conditional __syncwarp": "wait_before_the_write wait_of_some_lanes wait_for_those_at_a_barrier",
    "wait of too few lanes": "halves_of_a_warp vote_of_a_half tiles_of_lanes",
    "membermask without the lane itself": (
        "wait_of_the_unnamed one_lane_too_many shuffle_of_the_unnamed vote_of_the_unnamed sum_of_the_unnamed "
        "match_of_the_unnamed mask_of_another_branch"
    ),
    "different membermasks": "different_masks",
    "value of an absent lane": (
        "shuffle_from_the_gone gone_before_the_shuffle lanes_beyond_the_mask value_from_the_other_branch"
    ),
    "instruction of a warp in a branch": (
        "mma_of_some_lanes mma_of_half_a_warp ldmatrix_of_some_lanes movmatrix_of_some_lanes "
        "mma_of_three_warps shuffle_before_a_barrier"
    ),
    "different values at one address": (
        "two_writers slot_of_all_lanes result_of_all_lanes scatter word_of_all_blocks overlapping_ends "
        "words_over_rows pairs_one_word_apart "
        "places_of_a_warp"
    ),
    "sum or histogram without atomics": "counter histogram_without_atomics maximum_by_comparison counter_of_the_module",
    "plain accesses and atomics": (
        "reset reset_beside_atomics look_beside_atomics addition_by_cas look_before_the_maximum"
    ),
    "bytes written through words": "bytes_through_words halves_of_a_word",
    "in-place update": "stencil_in_place transpose_in_place",
    "volatile as synchronisation": "volatile_reduction volatile_exchange volatile_flag",
    "flag without a fence": (
        "flag_without_a_fence flag_without_the_second_fence fence_too_late place_of_a_queue "
        "sleeping_poll sleeping_look turns_by_additions"
    ),
    "fence of too narrow a scope": (
        "fence_of_the_block second_fence_of_the_block last_block_with_a_narrow_fence release_of_the_block "
        "acquire_of_the_block"
    ),
    "relaxed access or plain flag": (
        "relaxed_for_acquire plain_flag "
        "look_back look_back_in_one_word arrivals_that_release chain_of_atomics flag_by_ldcg place_that_is_used_again"
    ),
    "flag of something else": "flag_of_another_word wavefront",
    "atomic of too narrow a scope": "atomics_of_the_block atomics_of_two_scopes",
    "lock without acquire or release": (
        "lock_without_fences unlock_without_a_fence lock_without_the_first_fence "
        "lock_of_tickets lock_of_a_block list_of_nodes"
    ),
    "lock misused": "unlocked_too_early lock_of_each_block entered_by_one",
    "ticket of the last block": (
        "last_block_without_a_fence last_block_without_a_barrier ticket_without_a_fence first_block_for_the_last "
        "counter_put_back counter_put_back_by_the_first counter_put_back_too_early"
    ),
    "missing barrier of the grid": (
        "exchange_of_blocks no_barrier_of_the_grid grid_barrier_of_each_block grid_barrier_of_the_first_round "
        "grid_barrier_of_signs"
    ),
    "barrier of the grid without a barrier of the block": (
        "grid_barrier_without_the_first_half grid_barrier_without_the_second_half"
    ),
    "buffers too few": "double_buffer",
    "cp.async without a wait": "no_wait write_beside_a_copy copy_that_does_not_arrive source_overwritten",
    "cp.async wait of the wrong count": "waits_for_too_few not_committed end_of_a_pipeline wait_of_a_stage_too_few",
    "mbarrier of the wrong phase": (
        "wrong_parity parity_that_does_not_change parity_of_the_own_arrival parity_of_the_second_round "
        "parity_of_a_ring parity_of_a_producer phase_left_out producer_that_waits_first"
    ),
    "wrong number of bytes": (
        "elements_for_bytes_expected bytes_of_one_of_two_copies bytes_that_are_not_copied copy_without_expectation "
        "missing_bytes"
    ),
    "mbarrier that does not exist": (
        "never_initialised second_of_two arrival_after_the_end initialised_in_each_round overwritten_mbarrier"
    ),
    "wrong number of arrivals": (
        "arrival_of_all_lanes arrivals_of_two_warps arrivals_of_one_thread arrival_and_expectation "
        "arrivals_of_one_warp threads_for_warps"
    ),
    "mbarrier at the wrong time": (
        "arrival_before_the_barrier copy_before_the_barrier fence_without_a_barrier wait_before_the_barrier "
        "mbarrier_before_the_write "
        "stages_of_mbarriers work_between_arrive_and_wait"
    ),
    "named barrier of the wrong number": "named_barrier barrier_of_another_producer barrier_16",
    "named barrier of the wrong count": "barrier_of_33 too_many_expected two_counts",
    "bar.arrive misused": (
        "arrival_before_the_write arrival_of_the_consumer barrier_of_a_cluster stages_of_named_barriers"
    ),
    "deadlock": (
        "left_early rounds_of_a_warp different_barriers crossed_barriers half_of_the_block_left stage_that_nobody_frees"
    ),
    "wgmma without a wait": "result_without_a_wait result_of_the_last_group tile_overwritten",
    "illegal descriptor": "descriptor_past_the_end",
    "uninitialised accumulator": "total_of_a_block accumulator",
    "uninitialised border": (
        "border last_column tail_of_dynamic_memory tail_of_an_array component_of_a_vector last_half_of_a_row "
        "local_array"
    ),
    "uninitialised in one branch": "register_of_some_lanes case_without_a_value",
    "uninitialised global memory": "memory_as_it_comes",
    "uninitialised address": "address address_in_shared_memory half_of_a_pointer",
    "uninitialised branch": "branch bound_of_a_loop",
    "uninitialised operand of a warp": "membermask value_of_a_shuffle vote row_of_a_product",
    "uninitialised operand of an atomic": "operand_of_an_atomic",
    "uninitialised half or byte": (
        "half_of_a_pair pair_of_one_half byte_of_a_permutation byte_of_the_other_operand last_byte_of_a_word "
        "padding_of_a_struct sum_of_pairs"
    ),
    "uninitialised bits": "bits_behind_a_mask bits_behind_a_shift bits_of_a_field sum_of_low_bytes",
    "out of bounds of global memory": (
        "read_past_the_end write_past_the_end neighbour_of_the_first last_vector rows_for_columns "
        "tile_past_the_end bin_past_the_end copy_past_the_end no_pointer index_that_overflows "
        "elements_for_bytes atomic_before_the_begin columns_unchecked variable_past_the_end "
        "constant_past_the_end"
    ),
    "out of bounds of a slice": "beyond_a_slice before_a_slice",
    "out of bounds of shared memory": (
        "shared_past_the_end shared_before_the_begin dynamic_memory_too_small second_tile"
    ),
    "out of bounds of local memory": "local_past_the_end local_before_the_begin",
    "misaligned": (
        "vector_of_four word_among_bytes double_in_shared copy_of_sixteen copy_of_eight tile_pointer "
        "matrix_row atomic_of_eight_bytes store_of_two_words vector_of_local_memory pitch_of_a_tile"
    ),
    "illegal pitch": "tile_pitch",
    "write to read-only memory": "write_to_a_constant write_to_an_input add_to_an_input output_for_input",
    "illegal metadata": "the_same_twice descending",
    "assertion or trap": "assertion trap",
}
"""Mistakes, and the kernels that show them, by name."""
