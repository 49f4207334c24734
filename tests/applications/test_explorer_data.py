# SPDX-License-Identifier: MIT
"""The explorer's data equal the tables, for every instruction, chip, lane and element."""

import json
from itertools import product

import numpy as np
import pytest

from wmma_emu.applications.explorer import explorer_page
from wmma_emu.applications.explorer.data import explorer_data
from wmma_emu.applications.explorer.schedules import HEAD, coded_schedules
from wmma_emu.formats import format_of
from wmma_emu.instructions import ARCHS, OPERANDS, lookup
from wmma_emu.instructions.table import INSTRUCTIONS
from wmma_emu.layouts import layout_for, metadata_map, scale_map, scale_selectors_of, selectors_of
from wmma_emu.palette import LANE_COLOURS
from wmma_emu.schedule import schedule_of
from wmma_emu.warp import ldmatrix, movmatrix, stmatrix
from wmma_emu.warp.matrix_moves_table import MATRIX_MOVES

A16 = "m16n8k16.f32.f16.f16.f32"


def weigh(number, weights):
    """As the page does it: the weights of the bits that are set."""
    return sum(weight for bit, weight in enumerate(weights) if number >> bit & 1)


def cells_of(coded):
    """Number of the matrix element of every index and lane."""
    *_, elements, _, lane_weights, index_weights = coded
    lanes = np.array([weigh(x, lane_weights) for x in range(1 << len(lane_weights))])
    return np.array([weigh(x, index_weights) for x in range(elements)])[:, None] + lanes


@pytest.fixture(scope="module")
def data():
    """As it arrives in the page: through JSON."""
    return json.loads(json.dumps(explorer_data()))


@pytest.mark.thorough
def test_every_element_of_every_lane_of_every_operand_on_every_chip_is_as_in_the_tables(data):
    decoded = [cells_of(x) for x in data["layouts"]]
    names = [x[0] for x in data["chips"]]
    assert names == list(ARCHS)
    compared, seen = set(), []
    for mnemonic, _, binding, *_ in data["instructions"]:
        row = INSTRUCTIONS[mnemonic]
        chips = []
        for mask, *numbers, source in data["bindings"][binding]:
            for arch in (x for bit, x in enumerate(names) if mask >> bit & 1):
                chips.append(arch)
                for operand, number in zip(OPERANDS, numbers, strict=True):
                    if number < 0:
                        assert row.is_warpgroup and operand == "b"
                        continue
                    layout = layout_for(row, operand, arch)
                    assert data["sources"][source] == [layout.source, layout.status]
                    if (id(layout), number) in compared:
                        continue
                    compared.add((id(layout), number))
                    seen.append(layout)  # so that no other takes its id
                    rows, cols, matrices, bits, elements, read, *_ = data["layouts"][number]
                    assert (rows, cols, bits, elements) == (
                        layout.rows, layout.cols, layout.element_bits, layout.num_elements,
                    )  # fmt: skip
                    assert (matrices, read) == (layout.num_matrices, layout.read_elements)
                    cells = decoded[number]
                    matrix = np.broadcast_to(layout.matrix_of_lane, layout.lane_shape).ravel()
                    assert (cells // (rows * cols) == matrix).all()
                    where = np.stack((cells // cols % rows, cells % cols), axis=-1)
                    assert (where == layout.coords_of_lanes).all()
        assert sorted(chips) == sorted(row.archs)
    assert {number for _, number in compared} == set(range(len(decoded)))


def test_every_instruction_is_there_with_its_types(data):
    assert [x[0] for x in data["instructions"]] == list(INSTRUCTIONS)
    for mnemonic, types, *_ in data["instructions"]:
        row = INSTRUCTIONS[mnemonic]
        assert data["types"][types].split(".") == [row.d, row.a, row.b, row.c]
    assert data["bits"] == {name: format_of(name).bits for name in data["bits"]}


def test_block_scales_of_every_instruction_and_selector_are_as_in_the_tables(data):
    checked = set()
    for mnemonic, _, _, _, number, _ in data["instructions"]:
        row = INSTRUCTIONS[mnemonic]
        assert (number >= 0) == row.is_block_scaled
        if number < 0:
            continue
        fmt, scales, block, byte_ids, *lines, source, status = data["scales"][number]
        assert (fmt, scales, block) == (row.scale, row.scale_vec, row.scale_block)
        for operand, (size, threads, step, weights) in zip("ab", lines, strict=True):
            legal = scale_selectors_of(row, operand)
            assert (tuple(byte_ids), tuple(range(threads))) == legal
            lanes = np.array([weigh(x, weights) for x in range(size)])[:, None]
            for byte_id, thread_id in product(*legal):
                found = scale_map(row, operand, byte_id, thread_id)
                lane, byte = (found.lane, found.byte) if operand == "a" else (found.lane.T, found.byte.T)
                assert (lane == lanes + step * thread_id).all() and (byte == byte_id + np.arange(scales)).all()
                assert (source, status) == (found.source, found.status)
                checked.add(mnemonic)
    assert checked == {name for name, row in INSTRUCTIONS.items() if row.is_block_scaled}


def test_values_that_do_not_fill_their_byte_are_where_the_table_says(data):
    for mnemonic, *_, number in data["instructions"]:
        row = INSTRUCTIONS[mnemonic]
        bits = [row.format(x).bits for x in ("a", "b")]
        a, b = (row.container(x) for x in ("a", "b"))
        assert (number >= 0) == (bits != [a.bits, b.bits])
        if number >= 0:
            assert data["held"][number] == [bits[0], a.shift, bits[1], b.shift]


def test_colours_are_the_same_as_in_the_pictures(data):
    assert data["colours"] == list(LANE_COLOURS)


def test_metadata_of_every_sparse_instruction_and_selector_is_as_in_the_tables(data):
    checked = set()
    for mnemonic, _, _, number, *_ in data["instructions"]:
        row = INSTRUCTIONS[mnemonic]
        assert (number >= 0) == row.is_sparse
        if number < 0:
            continue
        _, _, chunks, selectors, step, *weights, legal, rows = data["metadata"][number]
        lane_row, lane_chunk, nibble_row, nibble_chunk = (
            np.array([weigh(x, w) for x in range(size)])
            for w, size in zip(weights, (rows, chunks, rows, chunks), strict=True)
        )
        assert range(selectors) == selectors_of(row) and len(legal) >= 2
        for selector in range(selectors):
            found = metadata_map(row, selector)
            assert (found.lane == lane_row[:, None] + lane_chunk + step * selector).all()
            assert (found.nibble == nibble_row[:, None] + nibble_chunk).all()
            checked.add(mnemonic)
    assert checked == {name for name, row in INSTRUCTIONS.items() if row.is_sparse}


def move_codes():
    return {x[0]: x for x in explorer_data()["moves"]}


@pytest.mark.parametrize("mnemonic", [x for x in MATRIX_MOVES if x.startswith("ldmatrix")])
def test_an_element_of_a_row_lands_where_the_page_says(mnemonic):
    """Each element of memory has a number; the page gives each row's lane and each element's destination."""
    _, coded, rows, source_bits, known, _ = move_codes()[mnemonic]
    _, cols, matrices, bits, elements, *_ = coded
    rng = np.random.default_rng(5)
    values = rng.integers(0, 1 << source_bits, (matrices * rows, cols), dtype=np.uint32)
    stream = (values[..., None] >> np.arange(source_bits) & 1).astype(np.uint8).reshape(matrices * rows, -1)
    memory = np.zeros((matrices * rows, 128), np.uint8)
    memory[:, : stream.shape[1]] = stream
    addresses = np.zeros(32, np.int64)
    addresses[: matrices * rows] = np.arange(matrices * rows) * 16
    registers = ldmatrix(np.packbits(memory, bitorder="little"), addresses, mnemonic, arch=list(ARCHS)[known[0][0]])
    index, lane = np.indices((elements, 32))
    got = registers[index * bits // 32, lane] >> (index * bits % 32).astype(np.uint32) & np.uint32((1 << bits) - 1)
    assert (got == values.ravel()[cells_of(coded)]).all()


@pytest.mark.parametrize("mnemonic", [x for x in MATRIX_MOVES if x.startswith("stmatrix")])
def test_an_element_is_stored_where_the_page_says(mnemonic):
    _, coded, rows, _, known, _ = move_codes()[mnemonic]
    _, cols, matrices, bits, *_ = coded
    registers = np.random.default_rng(6).integers(0, 1 << 32, (matrices, 32), dtype=np.uint32)
    memory = np.zeros((matrices * rows, cols), f"u{bits // 8}")
    addresses = np.zeros(32, np.int64)
    addresses[: matrices * rows] = np.arange(matrices * rows) * 16
    stmatrix(memory, addresses, registers, mnemonic, arch=list(ARCHS)[known[0][0]])
    held = np.ascontiguousarray(registers.T).view(memory.dtype).reshape(32, -1).T
    assert (memory.ravel()[cells_of(coded)] == held).all()


def test_movmatrix_holds_before_and_after_what_the_page_says():
    (row,) = (x for x in explorer_data()["moves"] if x[0].startswith("movmatrix"))
    before, after = cells_of(row[5]), cells_of(row[1])
    matrix = np.arange(64, dtype=np.uint32)
    given, wanted = (
        (matrix[x] << np.array([[0], [16]], np.uint32)).sum(axis=0, dtype=np.uint32) for x in (before, after)
    )
    got = movmatrix(given[None], "movmatrix.sync.aligned.m8n8.trans.b16")
    assert (got.ravel() == wanted).all()


def plan_cases():
    """Each plan once, with an operand of `mma.sync`, `mma.sp` or `wgmma` that has it."""
    data, cases = explorer_data(), {}
    for mnemonic, _, binding, *_ in data["instructions"]:
        for _, *numbers, _ in data["bindings"][binding]:
            for operand, number in zip(OPERANDS, numbers, strict=True):
                if number >= 0:
                    for plan in data["plans"][number]:
                        cases.setdefault((number, plan.stored, plan.trans), (mnemonic, operand, plan))
    return list(cases.values())


def test_ldmatrix_with_the_addresses_of_a_plan_gives_the_registers_of_the_operand():
    for mnemonic, operand, plan in plan_cases():
        row = INSTRUCTIONS[mnemonic]
        chip = "sm_90" if "sm_90" in row.archs else row.archs[0]
        layout = layout_for(row, operand, chip)
        bits = layout.element_bits
        values = np.random.default_rng(7).integers(0, 1 << bits, (layout.rows, layout.cols), dtype=np.uint64)
        stored = values if plan.stored == "row" else values.T
        stream = (stored[..., None] >> np.arange(bits, dtype=np.uint64) & 1).astype(np.uint8)
        memory = np.packbits(stream, bitorder="little")
        elements = values[tuple(np.moveaxis(layout.coords_of_lanes[: layout.read_elements], -1, 0))].astype(np.uint32)
        shifts = np.arange(0, 32, bits, dtype=np.uint32)[:, None]
        packed = elements.reshape(-1, len(shifts), layout.num_lanes)
        wanted = np.bitwise_or.reduce(packed << shifts, axis=1)
        name = f"ldmatrix.sync.aligned.m8n8.x{plan.matrices}{'.trans' * plan.trans}.shared.b16"
        lane = np.arange(32)
        for warp in range(layout.num_lanes // 32):
            for first in range(0, len(plan.origins), plan.matrices):
                origin = np.array(plan.origins)[first + lane // 8 % plan.matrices] + (16 * warp, 0)
                along = np.stack((lane % 8, 0 * lane) if plan.stored == "row" else (0 * lane, lane % 8), axis=-1)
                r, c = (origin + along).T
                if warp == first == 0:
                    said = [
                        eval(x.replace("/", "//"), {"lane": lane[: 8 * plan.matrices]}) for x in (plan.row, plan.col)
                    ]
                    assert (said[0] == r[: 8 * plan.matrices]).all() and (said[1] == c[: 8 * plan.matrices]).all()
                at = (r * layout.cols + c if plan.stored == "row" else c * layout.rows + r) * bits // 8
                got = ldmatrix(memory, at, name, arch=chip)
                assert (got == wanted[first : first + plan.matrices, 32 * warp : 32 * warp + 32]).all(), (
                    mnemonic,
                    operand,
                )


def test_the_plan_of_the_commonest_operand_is_the_usual_address_formula_of_ldmatrix():
    data = explorer_data()
    binding = next(x[2] for x in data["instructions"] if x[0] == lookup(A16).mnemonic)
    plan = data["plans"][data["bindings"][binding][0][1]][0]
    for lane in range(32):
        assert eval(plan.row.replace("/", "//")) == 8 * (lane // 8 % 2) + lane % 8
        assert eval(plan.col.replace("/", "//")) == 8 * (lane // 16)


def schedules():
    return json.loads(json.dumps(coded_schedules()))


def unspanned(spans):
    return [first + i for first, count in zip(spans[::2], spans[1::2], strict=True) for i in range(count)]


def decoded_steps(coded, body):
    def held(number):
        if number < 0:
            return None
        return dict(zip(("lanes", "registers", "elements"), map(unspanned, coded["held"][number]), strict=True))

    def none(x):
        return None if x < 0 else x

    for number, which in enumerate(coded["bodies"][body]):
        opcode, set_, step, ks, rounded, start, transposed, parts = coded["steps"][which]
        rows = []
        for x in parts:
            group, octet, matrix, top, bottom, left, right, *places, of_b = coded["parts"][x]
            rows.append({
                "threadgroup": none(group), "octet": none(octet), "matrix": matrix, "rows": [top, bottom],
                "cols": [left, right], **dict(zip("abcd", map(held, places), strict=True)), "b_threadgroup": none(of_b),
            })  # fmt: skip
        yield {
            "number": number, "opcode": opcode, "set": none(set_), "step": none(step), "ks": unspanned(ks),
            "rounded": [unspanned(x) for x in rounded], "start": start, "transposed": bool(transposed), "parts": rows,
        }  # fmt: skip


def check_schedule(coded, mnemonic, arch):
    number, bit = list(INSTRUCTIONS).index(mnemonic), list(ARCHS).index(arch)
    head, body = next(x[1:] for x in coded["of"][str(number)] if x[0] >> bit & 1)
    wanted = schedule_of(mnemonic, arch).to_dict()
    assert coded["heads"][head] == [*(wanted[x] for x in HEAD), *wanted["shape"]]
    steps = [{k: v for k, v in x.items() if k not in ("rows", "cols", "registers")} for x in wanted["steps"]]
    assert list(decoded_steps(coded, body)) == steps


WALKED = [
    ("wmma.mma.m16n16k16.f32.f32", "sm_70"), ("wmma.mma.m16n16k16.f16.f16", "sm_70"),
    ("m8n8k4.f32.f16.f16.f32", "sm_70"), ("wmma.mma.m16n16k16.f32.f32", "sm_75"),
    ("wmma.mma.m16n16k16.f32.f32", "sm_80"), ("wmma.mma.m16n16k8.f32.tf32.tf32.f32", "sm_90"),
]  # fmt: skip


@pytest.mark.sweep(keep=1 / 12)
@pytest.mark.parametrize(("name", "arch"), WALKED, ids=[f"{name}-{arch}" for name, arch in WALKED])
def test_a_schedule_equals_the_schedule_of_its_instruction(name, arch):
    check_schedule(schedules(), lookup(name).mnemonic, arch)


@pytest.mark.slow
def test_every_schedule_equals_the_schedule_of_its_instruction():
    coded, names, checked = schedules(), list(INSTRUCTIONS), set()
    for number, groups in coded["of"].items():
        for bit, arch in enumerate(ARCHS):
            if any(mask >> bit & 1 for mask, *_ in groups):
                check_schedule(coded, names[int(number)], arch)
                checked.add((names[int(number)], arch))
    assert checked >= {(lookup(name).mnemonic, arch) for name, arch in WALKED}


def test_the_page_is_one_file_that_asks_for_nothing():
    page = explorer_page()
    assert len(page.encode()) < 1_000_000
    assert "<!--" not in page and "/*style*/" not in page and "/*script*/" not in page
    for word in ("http://", "https://", "@import", "fetch(", "XMLHttpRequest", "import("):
        assert word not in page.replace("http://www.w3.org/2000/svg", ""), word
    assert page.count("</script>") == 2
