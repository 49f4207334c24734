# SPDX-License-Identifier: MIT
"""Tensor maps in constant and global memory, by value and through pointers, with the addresses of each launch."""

import numpy as np
import pytest

from wmma_emu.errors import ArgumentError, ArgumentValueError, UnknownNameError
from wmma_emu.ptx import Module, Struct, empty, tensor_map

HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n"

PLACES = {
    "a parameter": ("", ".param .align 64 .b8 given[256]", "mov.b64 %map, given; cvta.param.u64 %map, %map;"),
    "__constant__": (".const .align 64 .b8 maps[256];", "", "mov.b64 %map, maps; cvta.const.u64 %map, %map;"),
    "__device__": (".global .align 64 .b8 maps[256];", "", "mov.b64 %map, maps; cvta.global.u64 %map, %map;"),
    "a pointer": ("", ".param .u64 given", "ld.param.u64 %map, [given];"),
}
"""Where two maps are: the declaration, the parameter, and the instructions that give their generic address."""


def module_with(place: str, more: str = "") -> Module:
    """Copy a box by the map of the block's number, and write it to the output."""
    declared, parameter, address = PLACES[place]
    parameters = ", ".join(x for x in (".param .u64 out", parameter) if x)
    text = f"""{HEAD}{declared}
.shared .align 128 .b8 box[128];
.shared .align 8 .b64 bar;
.visible .entry rows({parameters})
{{
    .reg .pred %p; .reg .b32 %t, %b, %x; .reg .b64 %map, %o, %s, %off;
    ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; setp.eq.u32 %p, %t, 0;
    {address}
    mul.wide.u32 %off, %b, 128; add.u64 %map, %map, %off;
    @%p mbarrier.init.shared::cta.b64 [bar], 1;
    bar.sync 0;
    @!%p bra WAIT;
    mbarrier.arrive.expect_tx.shared::cta.b64 %s, [bar], 128;
    mov.u32 %x, 0;
    cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [box], [%map, {{%x}}], [bar];
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [bar], 0;
    @!%p bra WAIT;
    mov.u32 %x, box; mad.lo.u32 %x, %t, 4, %x; ld.shared.u32 %x, [%x];
    add.u64 %o, %o, %off; mad.wide.u32 %o, %t, 4, %o; st.global.u32 [%o], %x;
    {more}
    ret;
}}"""
    return Module(text, arch="sm_90a", findings="raise")


def launch(place: str, arrays, out, module: Module | None = None, **options):
    module = module_with(place) if module is None else module
    maps = [tensor_map(x, (32,)) for x in arrays]
    if place.startswith("__"):
        module.set_variable("maps", maps)
        arguments = ()
    else:
        arguments = (Struct(*maps) if place == "a parameter" else maps,)
    return module["rows"][len(maps), 32](out, *arguments, **options)


def two_arrays():
    return np.arange(32, dtype=np.int32), np.arange(100, 132, dtype=np.int32)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("options", [{}, {"addresses": "host"}, {"asynchrony": "both", "schedules": 2}])
def test_two_maps_lead_to_their_arrays(place, options):
    arrays, out = two_arrays(), empty((2, 32), np.int32)
    report = launch(place, arrays, out, **options)
    assert not report.findings and np.array_equal(out, arrays)
    # Another launch has the arrays elsewhere.
    others, out = [x + 7 for x in arrays], empty((2, 32), np.int32)
    launch(place, others, out, **options)
    assert np.array_equal(out, others)


@pytest.mark.parametrize("place", ["__constant__", "__device__"])
def test_a_variable_keeps_its_maps_and_each_launch_relocates_them(place):
    module, (x, y), out = module_with(place), two_arrays(), np.zeros((2, 32), np.int32)
    launch(place, (x, y), out, module)
    x += 1
    for addresses in ("host", "emulator"):
        out = np.zeros((9, 2, 32), np.int32)[5]  # at another address
        module["rows"][2, 32](out, addresses=addresses)
        assert np.array_equal(out, [x, y])


def test_fewer_maps_than_the_variable_holds_leave_the_rest_unchanged():
    module, (x, y), out = module_with("__constant__"), two_arrays(), np.zeros((2, 32), np.int32)
    module.set_variable("maps", [tensor_map(x, (32,)), tensor_map(y, (32,))])
    module.set_variable("maps", tensor_map(y, (32,)))
    rest = module.variable("maps")[128:].copy()
    module["rows"][1, 32](out)
    assert np.array_equal(out[0], y) and rest.any()
    assert np.array_equal(module.variable("maps")[128:], rest)


def test_a_pointer_that_the_host_has_changed_since_stays_changed():
    module, (x, y), out = module_with("__device__"), two_arrays(), np.zeros((2, 32), np.int32)
    launch("__device__", (x, y), out, module, addresses="host")
    module.variable("maps", np.uint64)[16] = x.ctypes.data
    module["rows"][2, 32](out, addresses="host")
    assert np.array_equal(out, [x, x])


def test_a_finding_of_a_kernel_with_maps_in_memory_can_be_explained():
    for place in PLACES:
        (found,) = launch(place, two_arrays(), np.zeros(33, np.int32), findings="report").findings
        assert (found.kind, found.count) == ("out of bounds", 31) and str(found.explain())


@pytest.mark.parametrize("place", ["__constant__", "__device__"])
def test_a_variable_without_a_map_is_a_finding_that_states_this(place):
    report = module_with(place)["rows"][1, 32](np.zeros((2, 32), np.int32), findings="report")
    assert "all its bytes are 0, since no map was written there" in str(report.findings[0])


def test_a_list_of_structs_is_an_array_of_them():
    text = f"""{HEAD}.visible .entry k(.param .u64 table, .param .u64 out) {{
    .reg .b64 %t, %x, %o; .reg .b32 %i, %v;
    ld.param.u64 %t, [table]; ld.param.u64 %o, [out]; mov.u32 %i, %tid.x;
    mad.wide.u32 %t, %i, 16, %t; ld.global.u64 %x, [%t]; ld.global.u32 %v, [%t+8];
    mad.wide.u32 %x, %v, 4, %x; ld.global.u32 %v, [%x];
    mad.wide.u32 %o, %i, 4, %o; st.global.u32 [%o], %v; ret; }}"""
    (x, y), out = two_arrays(), np.zeros(2, np.int32)
    Module(text, arch="h100", findings="raise")["k"][1, 2]([Struct(x, np.int32(3)), Struct(y, np.int32(4))], out)
    assert out.tolist() == [3, 104]


@pytest.mark.parametrize(("name", "value", "error", "text"), [
    ("mops", lambda m: m, UnknownNameError, "the module has no variable 'mops'; it has maps"),
    ("maps", lambda m: [m] * 3, ArgumentValueError, "the variable 'maps' has 256 bytes; "),
    ("maps", lambda m: [m, Struct(np.int32(1))], ArgumentValueError, "have one size, not 4 and 128 bytes"),
    ("maps", lambda m: [Struct(np.zeros(1), bytes(88))] * 2, ArgumentValueError,
     "of 96 bytes has; a CUtensorMap of CUDA 13 is aligned to 128 bytes, of CUDA 12 and here to 64: end each with "
     "bytes(32), if it has 2 elements"),
    ("maps", lambda m: [], ArgumentError, "can hold a TensorMap, a Struct or a ctypes.Structure, or a list of them"),
    ("maps", lambda m: np.zeros(32), ArgumentError, "for numbers, module.variable('maps', dtype)[...] = values"),
])  # fmt: skip
def test_a_variable_is_refused_what_it_cannot_hold(name, value, error, text):
    module = module_with("__constant__")
    with pytest.raises(error) as raised:
        module.set_variable(name, value(tensor_map(np.zeros(32, np.int32), (32,))))
    assert text in str(raised.value)


def test_a_list_that_is_not_an_array_of_structs_is_refused_with_a_hint():
    module, out, given = module_with("a pointer"), np.zeros(64, np.int32), tensor_map(np.zeros(32, np.int32), (32,))
    with pytest.raises(ArgumentError, match=r"\(given\) of rows is .* a list of structs, each a TensorMap, .*, not 3"):
        module["rows"][1, 32](out, [given, 3])
    with pytest.raises(ArgumentValueError, match="for a pointer, a list of structs"):
        module["rows"][1, 32](out, given)
