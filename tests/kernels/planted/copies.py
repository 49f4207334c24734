# SPDX-License-Identifier: MIT
"""Asynchronous copies and mbarriers: missing waits, wrong parities and numbers of bytes, wrong places and orders."""

import numpy as np

import wmma_emu as we
from tests.kernels.planted.planted import plant, reals, zeros
from wmma_emu.errors import DivergenceError


def image_and_out(box=(2, 32), **options):
    return lambda: (we.ptx.tensor_map(reals(8, 32), box, **options), zeros(2, 32))


@plant("missing wait", 64, image_and_out())
def box_that_is_read_before_its_phase(t, image, out, fixed):
    box, bar = t.shared((2, 32), np.float32), t.mbarrier()
    if t.warp_id == 0:
        bar.init(1)
    yield t.syncthreads()
    if t.warp_id == 0:
        bar.arrive_expect_tx(256)
        t.load_tensor(box, image, (4, 0), bar)  # <- missing wait
    if fixed:
        yield bar.wait(0)
    else:
        yield t.syncthreads()
    out[t.warp_id, t.lane] = box[t.warp_id, t.lane]  # <- missing wait


@plant("wrong parity", 32, image_and_out())
def second_phase_is_waited_for_with_the_parity_of_the_first(t, image, out, fixed):
    box, bar = t.shared((2, 32), np.float32), t.mbarrier()
    bar.init(1)
    for i in range(2):
        bar.arrive_expect_tx(256)
        t.load_tensor(box, image, (2 * i, 0), bar)  # <- wrong parity
        yield bar.wait(i if fixed else 0)  # <- wrong parity
        out[0, t.lane] = box[1, t.lane]  # <- wrong parity
        t.fence_proxy_async()


@plant("over-arrival", 64, lambda: ())
def arrivals_of_two_warps_for_one(t, fixed):
    bar = t.mbarrier()
    if t.warp_id == 0:
        bar.init(2 if fixed else 1)
    yield t.syncthreads()
    bar.arrive(1 if fixed else 2)  # <- over-arrival


@plant("transaction bytes", 32, image_and_out())
def bytes_that_nobody_copies(t, image, out, fixed):
    box, bar = t.shared((2, 32), np.float32), t.mbarrier()
    bar.init(2)
    bar.arrive_expect_tx(256 if fixed else 512)  # <- transaction bytes
    t.load_tensor(box, image, (0, 0), bar)  # <- transaction bytes
    if fixed:
        bar.arrive()
        yield bar.wait(0)


@plant("mbarrier not initialised", 32, image_and_out())
def stage_that_is_not_initialised(t, image, out, fixed):
    bars = t.mbarrier(2)
    bars[0].init(1)
    if fixed:
        bars[1].init(1)
    bars[1].arrive()  # <- mbarrier not initialised


@plant("missing wait", 32, image_and_out((1, 32)))
def phase_of_the_other_stage(t, image, out, fixed):
    boxes, bars = t.shared((2, 1, 32), np.float32, align=128), t.mbarrier(2)
    for i in range(2):
        bars[i].init(1)
        bars[i].arrive_expect_tx(128)
        t.load_tensor(boxes[i], image, (i, 0), bars[i])  # <- missing wait
    for i in range(2):
        yield bars[i if fixed else 0].wait(0)
        out[i, t.lane] = boxes[i, 0, t.lane]  # <- missing wait


@plant("missing wait", 32, lambda: (reals(64), zeros(32)))
def bulk_copy_that_is_overwritten_before_it_arrives(t, x, out, fixed):
    s, bar = t.shared(64, np.float32), t.mbarrier()
    bar.init(1)
    bar.arrive_expect_tx(256)
    t.copy_bulk(s, x, bar)  # <- missing wait
    if fixed:
        yield bar.wait(0)
    s[t.lane] = -1.0  # <- missing wait
    yield bar.wait(0)
    out[t.lane] = s[32 + t.lane]


@plant("missing wait", 64, image_and_out())
def source_that_is_rewritten_while_it_is_stored(t, image, out, fixed):
    box = t.shared((2, 32), np.float32)
    box[t.warp_id, t.lane] = out[t.warp_id, t.lane]
    t.fence_proxy_async()
    yield t.syncthreads()
    if t.warp_id == 0:
        t.store_tensor(image, (0, 0), box)  # <- missing wait
        t.commit_group()
        t.wait_group(0 if fixed else 1, read=True)
    yield t.syncthreads()
    box[t.warp_id, t.lane] = 1.0  # <- missing wait


@plant("missing wait", 32, lambda: (reals(32), zeros(32)))
def source_of_a_copy_without_a_group(t, x, out, fixed):
    s = t.shared(32, np.float32)
    s[t.lane] = x[t.lane]
    t.fence_proxy_async()
    t.copy_bulk(out, s)  # <- missing wait
    if fixed:
        t.commit_group()
    t.wait_group(0, read=True)
    s[t.lane] = 0.0  # <- missing wait


@plant("missing proxy fence", 64, image_and_out())
def stores_that_a_copy_does_not_see(t, image, out, fixed):
    box = t.shared((2, 32), np.float32)
    box[t.warp_id, t.lane] = out[t.warp_id, t.lane]  # <- missing proxy fence
    if fixed:
        t.fence_proxy_async()
    yield t.syncthreads()
    if t.warp_id == 0:
        t.store_tensor(image, (0, 0), box)  # <- missing proxy fence
        t.commit_group()
        t.wait_group(0, read=True)


@plant("missing proxy fence", 64, image_and_out())
def fence_of_the_warp_that_did_not_write(t, image, out, fixed):
    box = t.shared((2, 32), np.float32)
    if t.warp_id == 1:
        box[0, t.lane] = out[0, t.lane]  # <- missing proxy fence
        box[1, t.lane] = out[1, t.lane]  # <- missing proxy fence
    if t.warp_id == (1 if fixed else 0):
        t.fence_proxy_async()
    yield t.syncthreads()
    if t.warp_id == 0:
        t.reduce_tensor("add", image, (0, 0), box)  # <- missing proxy fence
        t.commit_group()
        t.wait_group(0, read=True)


@plant("omitted proxy fence", 32, image_and_out(), severity="note")
def copy_over_what_was_read(t, image, out, fixed):
    box, bar = t.shared((2, 32), np.float32), t.mbarrier()
    bar.init(1)
    for i in range(2):
        bar.arrive_expect_tx(256)
        t.load_tensor(box, image, (2 * i, 0), bar)  # <- omitted proxy fence
        yield bar.wait(i)
        out[0, t.lane] = box[1, t.lane]  # <- omitted proxy fence
        if fixed:
            t.fence_proxy_async()


@plant("copy in flight at the end", 32, image_and_out(), severity="note")
def end_without_a_wait(t, image, out, fixed):
    box = t.shared((2, 32), np.float32)
    box[:] = 1.0
    t.fence_proxy_async()
    t.store_tensor(image, (0, 0), box)  # <- copy in flight at the end
    t.commit_group()
    if fixed:
        t.wait_group(0, read=True)


@plant("load in flight at the end", 32, image_and_out(), severity="warning")
def end_before_the_last_box(t, image, out, fixed):
    box, bar = t.shared((2, 32), np.float32), t.mbarrier()
    bar.init(1)
    bar.arrive_expect_tx(t.box_bytes(image))
    t.load_tensor(box, image, (4, 0), bar)  # <- load in flight at the end
    if fixed:
        yield bar.wait(0)


@plant("race", 64, image_and_out())
def arrival_of_one_warp_for_two(t, image, out, fixed):
    s, bar = t.shared((2, 32), np.float32), t.mbarrier()
    if t.warp_id == 0:
        bar.init(2 if fixed else 1)
    yield t.syncthreads()
    s[t.warp_id, t.lane] = 1.0  # <- race
    if t.warp_id == 0 or fixed:
        bar.arrive()
    yield bar.wait(0)
    out[t.warp_id, t.lane] = s[1 - t.warp_id, t.lane]  # <- race


@plant("deadlock", 64, image_and_out(), error=DivergenceError)
def more_bytes_than_the_box_has(t, image, out, fixed):
    box, bar = t.shared((2, 32), np.float32), t.mbarrier()
    if t.warp_id == 0:
        bar.init(1)
    yield t.syncthreads()
    if t.warp_id == 0:
        bar.arrive_expect_tx(256 if fixed else 512)
        t.load_tensor(box, image, (4, 0), bar)
    yield bar.wait(0)  # <- deadlock
    out[t.warp_id, t.lane] = box[t.warp_id, t.lane]


@plant("deadlock", 64, lambda: (), error=DivergenceError)
def phase_that_needs_an_arrival_more(t, fixed):
    bar = t.mbarrier()
    if t.warp_id == 0:
        bar.init(2 if fixed else 3)
    yield t.syncthreads()
    bar.arrive()
    yield bar.wait(0)  # <- deadlock


@plant("deadlock", 64, lambda: (), error=DivergenceError)
def each_of_two_warps_waits_for_the_other(t, fixed):
    bars = t.mbarrier(2)
    if t.warp_id == 0:
        bars[0].init(1)
        bars[1].init(1)
    yield t.syncthreads()
    if fixed:
        bars[t.warp_id].arrive()
    yield bars[1 - t.warp_id].wait(0)  # <- deadlock
    if not fixed:
        bars[t.warp_id].arrive()


@plant("illegal operand", 32, image_and_out())
def store_at_negative_coordinates(t, image, out, fixed):
    box = t.shared((2, 32), np.float32)
    box[:] = 1.0
    t.fence_proxy_async()
    t.store_tensor(image, (0 if fixed else -1, 0), box)  # <- illegal operand
    t.commit_group()
    t.wait_group(0)


@plant("illegal operand", 32, lambda: ())
def barrier_without_arrivals(t, fixed):
    bar = t.mbarrier()
    bar.init(1 if fixed else 0)  # <- illegal operand


@plant("misaligned", 32, image_and_out((1, 32)))
def box_that_begins_in_the_middle(t, image, out, fixed):
    s = t.shared((4, 32), np.float32)
    s[:] = 1.0
    t.fence_proxy_async()
    t.store_tensor(image, (0, 0), s.reshape(-1)[32 if fixed else 16 :])  # <- misaligned
    t.commit_group()
    t.wait_group(0)


@plant("uninitialised", 32, image_and_out())
def box_that_nobody_has_written(t, image, out, fixed):
    box = t.shared((2, 32), np.float32)
    if fixed:
        box[:] = 1.0
    t.fence_proxy_async()
    t.store_tensor(image, (0, 0), box)  # <- uninitialised
    t.commit_group()
    t.wait_group(0)
