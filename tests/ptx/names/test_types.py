# SPDX-License-Identifier: MIT
"""The names of bytes of a variable: elements, members, and positions between them."""

import pytest

from wmma_emu.ptx.names import Member, Type, Variable

FLOAT, INT = Type("float", 4), Type("int", 4)
HALF = Type("__half", 2, members=(Member("__x", 0, Type("unsigned short", 2)),))
FLOAT4 = Type("float4", 16, members=tuple(Member(x, 4 * i, FLOAT) for i, x in enumerate("xyzw")))
PADDED = Type("Padded", 12, members=(Member("tag", 0, Type("char", 1)), Member("at", 4, INT.array(2))))
WORD = Type("Word", 4, members=(Member("bits", 0, INT), Member("halves", 0, HALF.array(2)), Member("value", 0, FLOAT)))
NODE = Type("Node", 16, members=(
    Member("", 0, Type("Base", 4, members=(Member("tag", 0, INT),))),
    Member("", 4, WORD),
    Member("point", 8, Type("Point", 8, members=(Member("x", 0, FLOAT), Member("y", 4, FLOAT)))),
))  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "offset", "size", "expected"),
    [
        (HALF.array(2, 32, 72), 128, 2, "v[0][0][64]"),
        (HALF.array(2, 32, 72), 2 * (72 * 33 + 5), 2, "v[1][1][5]"),
        (HALF.array(2, 32, 72), 129, 1, "v[0][0][64] + 1 byte"),
        (HALF.array(2, 32, 72), 128, 16, "v[0][0][64..71]"),
        (HALF.array(2, 32, 72), 142, 4, "v[0][0][71] to v[0][1][0]"),
        (HALF.array(2, 32, 72), 2 * 2 * 32 * 72, 2, "v[2][0][0]"),
        (FLOAT.array(64), 256, 4, "v[64]"),
        (FLOAT.array(64), -4, 4, "v[-1]"),
        (FLOAT.array(0), 4000, 4, "v[1000]"),
        (FLOAT.array(64), 2, 4, "v[0] to v[1]"),
        (FLOAT, 0, 4, "v"),
        (FLOAT, 4, 4, "v + 4 bytes"),
        (FLOAT, -1, 1, "v - 1 byte"),
        (FLOAT4.array(5), 36, 4, "v[2].y"),
        (FLOAT4.array(5), 32, 16, "v[2]"),
        (FLOAT4.array(5), 32, 32, "v[2..3]"),
        (FLOAT4.array(5), 32, 8, "v[2].x to v[2].y"),
        (FLOAT4.array(5), 44, 8, "v[2].w to v[3].x"),
        (PADDED, 0, 1, "v.tag"),
        (PADDED, 1, 1, "v + 1 byte"),
        (PADDED, 4, 8, "v.at[0..1]"),
        (PADDED, 0, 12, "v"),
        (PADDED.array(3), 20, 4, "v[1].at[1]"),
        (WORD, 2, 2, "v.halves[1]"),
        (WORD, 0, 4, "v"),
        (WORD, 1, 1, "v.bits + 1 byte"),
        (NODE, 0, 4, "v.tag"),
        (NODE, 4, 4, "v.bits"),
        (NODE, 6, 2, "v.halves[1]"),
        (NODE, 12, 4, "v.point.y"),
        (NODE, 8, 8, "v.point"),
        (Type("empty", 0), 0, 4, "v"),
        (Type("empty", 0).array(3), 8, 4, "v + 8 bytes"),
        (None, 0, 4, "v"),
        (None, 252, 4, "v + 252 bytes"),
        (FLOAT.array(3), 4, 0, "v[1]"),
    ],
)
def test_bytes_of_a_variable_have_the_source_name(kind, offset, size, expected):
    assert Variable("v", kind).element(offset, size) == expected


def test_a_variable_has_a_shape_and_a_type():
    variable = Variable("Bs", HALF.array(2, 32, 72))
    assert (variable.type, variable.shape, variable.element_bytes) == ("__half [2][32][72]", (2, 32, 72), 2)
    assert [x.name for x in Variable("v", FLOAT4.array(3)).members] == ["x", "y", "z", "w"]
    unknown = Variable("s")
    assert (unknown.type, unknown.shape, unknown.element_bytes, unknown.members) == ("", (), 0, ())


def test_a_pointer_has_the_type_of_a_pointer_and_elements_of_any_index():
    pointer = Variable("x", FLOAT.array(0), is_pointer=True)
    assert (pointer.type, pointer.element(240, 4), pointer.element(-4, 4)) == ("float*", "x[60]", "x[-1]")
    rows = Variable("rows", FLOAT.array(8).array(0), is_pointer=True)
    assert (rows.type, rows.element(40, 4)) == ("float (*)[8]", "rows[1][2]")


def test_a_position_in_memory_of_several_variables_belongs_to_one_of_them():
    depot = Variable("", Type("__local_depot0", 40, members=(Member("n", 0, INT), Member("loc", 4, FLOAT.array(8)))))
    assert [depot.element(*x) for x in ((0, 4), (12, 4), (36, 4))] == ["n", "loc[2]", "__local_depot0 + 36 bytes"]
