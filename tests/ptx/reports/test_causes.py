# SPDX-License-Identifier: MIT
"""One cause is the same lines and variable, or races that one barrier would fix; other findings are separate."""

from dataclasses import replace
from time import monotonic

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.reports.located import launched
from wmma_emu.errors import BackendUnavailableError
from wmma_emu.ptx.findings import UNKNOWN, MemoryLocation, Place, Sighting
from wmma_emu.ptx.program.program import SourceLine
from wmma_emu.ptx.reports.causes import causes_of
from wmma_emu.ptx.reports.gaps import gap_of

OWN_LINES = ["s[t] = x", "x += s[63 - t]", "barrier", "out[t] = x"]


def lines_of(report):
    """Return the source lines of each finding, and the other lines of the same cause."""
    return [([x.number for x in finding.sides], finding.variables) for finding in report.findings]


@pytest.mark.parametrize("schedule", range(4))
def test_one_missing_barrier_is_one_finding(schedule):
    assert lines_of(launched(OWN_LINES, schedule=schedule)) == [([1, 2], ("s",))]


@pytest.mark.parametrize("schedule", range(4))
def test_one_missing_barrier_is_one_finding_even_for_two_arrays(schedule):
    lines = ["s[t] = x", "u[t] = x", "x += s[63 - t]", "x += u[63 - t]", "out[t] = x"]
    (finding,) = launched(lines, schedule=schedule).findings
    assert finding.variables == ("s", "u") and [x.number for x in finding.sides] == [1, 3]
    assert finding.details == ("u at lines 2/4",)
    met = {frozenset((x.source.line, other.source.line)) for x in finding.sightings for other in x.others}
    assert met == {frozenset((1, 3)), frozenset((2, 4))}


@pytest.mark.parametrize("schedule", range(4))
def test_two_missing_barriers_in_a_row_are_two_findings(schedule):
    lines = ["s[t] = x", "x += s[63 - t]", "s[t] = x", "barrier", "x += s[63 - t]", "out[t] = x"]
    assert sorted(lines_of(launched(lines, schedule=schedule))) == [([1, 2], ("s",)), ([2, 3], ("s",))]


@pytest.mark.parametrize("missing", [3, 6])
def test_each_of_two_missing_barriers_is_found_separately(missing):
    lines = ["s[t] = x", "barrier", "x += s[63 - t]", "barrier", "s[t] = x", "barrier", "x += s[63 - t]", "out[t] = x"]
    lines[missing] = "out[t] = x"
    if missing == 6:
        lines[5:7] = ["x += s[63 - t]", "out[t] = x"]
    (finding,) = launched(lines).findings
    assert [x.number for x in finding.sides] == ([3, 5] if missing == 3 else [5, 6])


LOOP = ["for", "s[t] = x", "u[t] = x", "barrier", "x += s[63 - t]", "x += u[63 - t]", "barrier", "end", "out[t] = x"]


def without(*missing):
    return ["for" if i in missing else x for i, x in enumerate(LOOP) if i not in missing]


def test_a_loop_with_both_barriers_has_no_finding():
    assert launched(LOOP).findings == ()


@pytest.mark.parametrize("schedule", range(4))
def test_one_missing_barrier_at_the_end_of_a_loop_is_one_finding_even_for_two_arrays(schedule):
    (finding,) = launched(without(6), schedule=schedule).findings
    assert finding.variables == ("s", "u") and [x.number for x in finding.sides] == [2, 5]
    assert finding.details == ("u at lines 3/6",)
    assert {x.source.line for x in finding.sightings} <= {2, 3, 5, 6}


@pytest.mark.parametrize("schedule", range(4))
def test_a_loop_without_any_barrier_is_one_finding_of_the_same_lines_and_arrays(schedule):
    (finding,) = launched(without(3, 6), schedule=schedule).findings
    assert (finding.kind, finding.variables, finding.details) == ("race", ("s", "u"), ("u at lines 3/5",))
    met = {frozenset((x.source.line, o.source.line)) for x in finding.sightings for o in x.others}
    assert met == {frozenset((2, 4)), frozenset((3, 5))}


def test_each_array_that_two_lines_access_is_a_cause():
    """For a kind that no barrier fixes, each pair of lines and each variable is a separate cause."""

    def out_of(owner, line, ptx):
        said = ("reads ", MemoryLocation("global", 0, 4, owner, 64))
        return Sighting("out of bounds", said, ptx, "ld.global.u32 %r1, [%rd1];", SourceLine("k.cu", line))

    sightings = [out_of("x", 4, 10), out_of("y", 4, 11), out_of("x", 4, 12), out_of("x", 5, 13)]
    causes = causes_of(sightings, lambda line: line)
    assert [[x.sighting.line for x in cause.edges] for cause in causes] == [[10, 12], [11], [13]]


def test_the_cause_of_several_uses_of_one_load_is_the_load():
    where, load = MemoryLocation("shared", 0, 4, "s", 0), Place(7, SourceLine("k.cu", 3))
    uses = [
        Sighting("uninitialised", ("made of ", where, ", loaded at ", load), ptx, "", SourceLine("k.cu", line))
        for ptx, line in ((10, 5), (11, 6))
    ]
    (cause,) = causes_of(uses, lambda line: line)
    assert [x.sighting for x in cause.edges] == uses
    assert [x.other for x in cause.edges] == [load, load]


AROUND = ["for", "s[t] = x", "barrier", "x += s[63 - t]", "end"]
STRAIGHT = ["u[t] = x", "x += u[63 - t]"]


@pytest.mark.parametrize(
    ("lines", "pairs"),
    [
        ([*AROUND, "barrier", *STRAIGHT, "out[t] = x"], [[2, 4], [7, 8]]),
        ([*STRAIGHT, "barrier", *AROUND, "out[t] = x"], [[1, 2], [5, 7]]),
    ],
)
@pytest.mark.parametrize("schedule", range(2))
def test_a_barrier_missing_within_a_loop_is_not_one_missing_after_it_or_before_it(lines, pairs, schedule):
    report = launched(lines, schedule=schedule)
    assert sorted(x for x, _ in lines_of(report)) == pairs
    assert all("tried" in x.fix for x in report.findings)


def test_sightings_of_many_lines_are_grouped_quickly():
    reads = [races(1000 + i, *range(10, 58), remedy="warps") for i in range(48)]
    begun = monotonic()
    (cause,) = causes_of(reads, lambda line: line)
    assert len(cause.pairs) == 48 * 48 and monotonic() - begun < 20


def test_without_a_loop_the_gap_is_between_two_lines_in_any_order_of_the_threads():
    """The store at 4 and the load at 7, the load at 7 and the store at 9: two barriers are missing."""
    found = [races(4, 7, remedy="warps"), races(9, 7, remedy="warps")]
    assert len(causes_of(found, lambda line: line)) == 2
    assert len(causes_of(found, lambda line: line, [range(3, 11)])) == 1


def races(line, *others, remedy, said=()):
    where = MemoryLocation("shared", 0, 4, "s", 0)
    apart = "" if remedy == "update" else remedy
    others = tuple(map(Place, others))
    return Sighting("race", (where, *said), line, "", None, others=others, remedy=remedy, apart=apart)


def pairs_of(*sightings):
    causes = causes_of(sightings, lambda line: line)
    return [sorted({(x.other.line, x.sighting.line) for x in cause.edges}) for cause in causes]


@pytest.mark.parametrize("remedy", ["warps", "lanes", "blocks"])
def test_a_race_is_the_same_at_both_sides(remedy):
    assert pairs_of(races(7, 4, remedy=remedy), races(4, 7, remedy=remedy)) == [[(4, 7), (7, 4)]]


def test_a_barrier_of_the_block_also_fixes_a_race_within_a_warp_but_not_vice_versa():
    assert pairs_of(races(7, 4, remedy="lanes"), races(6, 5, remedy="warps")) == [[(4, 7), (5, 6)]]
    assert pairs_of(races(7, 4, remedy="blocks"), races(6, 5, remedy="warps")) == [[(4, 7)], [(5, 6)]]


@pytest.mark.parametrize("kind", ["race", "race of an unused value"])
def test_one_barrier_fixes_races_of_one_kind_and_races_of_unused_values_are_separate(kind):
    one, other = races(7, 4, remedy="warps"), races(6, 5, remedy="warps")
    causes = causes_of([replace(one, kind=kind), replace(other, kind="race of an unused value")], lambda line: line)
    assert [len(x.pairs) for x in causes] == ([2] if kind != "race" else [1, 1])


def test_a_weaker_kind_at_the_same_lines_belongs_to_the_stronger_one():
    worse, lesser = races(7, 4, remedy="warps"), replace(races(7, 4, remedy=""), kind="race of equal bytes")
    (cause,) = causes_of([lesser, worse], lambda line: line)
    assert [x.kind for x in (pair[0].sighting for pair in cause.pairs)] == ["race", "race of equal bytes"]
    elsewhere = replace(lesser, said=(MemoryLocation("shared", 64, 4, "other", 0),))
    assert len(causes_of([elsewhere, worse], lambda line: line)) == 2


def test_each_store_of_an_update_belongs_to_the_update():
    both = [races(9, 9, remedy="update"), races(9, 4, remedy="update")]
    assert len(causes_of(both, lambda line: line, is_update=lambda one, other: True)) == 1
    assert len(causes_of([both[0], races(9, 4, remedy="warps")], lambda line: line)) == 2


@pytest.mark.parametrize("thread", [(0, 0, 0), (32, 0, 0)])
def test_lanes_that_are_missing_on_one_path_are_one_finding_and_other_lanes_another(thread):
    one = Sighting("partial warp", ("lanes 16-31 are missing",), 7, "", None, (0, 0, 0), (0, 0, 0))
    other = replace(one, line=9, thread=thread)
    assert len(causes_of([one, other], lambda line: line)) == (1 if thread == one.thread else 2)


def test_the_first_pair_of_a_cause_does_not_depend_on_the_order_of_detection():
    met = [races(7, 4, remedy="warps"), races(6, 5, remedy="warps"), races(8, 3, remedy="warps")]
    orders = [causes_of(x, lambda line: line) for x in (met, met[::-1])]
    assert [[p[0].sighting.line for p in cause.pairs] for (cause,) in orders] == [[6, 7, 8], [6, 7, 8]]


def test_a_line_that_is_in_a_race_with_itself_has_no_gap():
    (cause,) = causes_of([races(7, 7, remedy="warps")], lambda line: line, [range(3, 9)])
    assert [x.gap for x in cause.edges] == [None]


def test_a_store_and_its_racing_loads_are_one_cause_if_no_barrier_fixes_them():
    assert pairs_of(races(9, 4, 6, remedy="update")) == [[(4, 9), (6, 9)]]
    assert pairs_of(races(9, 4, remedy="update"), races(8, 6, remedy="update")) == [[(4, 9)], [(6, 8)]]


def test_a_cause_begins_with_a_message_about_its_own_lines():
    """A sighting names only the first of its other sides: for the second, the sighting at that side is better."""
    store = races(9, 4, 6, remedy="warps", said=("; read at ", Place(4)))
    load = races(6, 9, remedy="warps", said=("; written at ", Place(9)))
    causes = causes_of([store, load], lambda line: line)
    firsts = {(pair[0].sighting.line, pair[0].other.line) for cause in causes for pair in cause.pairs}
    assert firsts == {(9, 4), (6, 9)}


def test_an_unknown_side_does_not_divide_a_cause():
    (cause,) = causes_of([races(9, 0, 4, remedy="warps")], lambda line: line)
    assert UNKNOWN not in [x.other for x in cause.edges] and len(cause.edges) == 1
    (alone,) = causes_of([races(9, 0, remedy="warps")], lambda line: line)
    assert [x.other for x in alone.edges] == [None]


CUDA = """
__device__ __forceinline__ int& at(int* tile, int i) { return tile[i]; }
template <int N> __device__ __forceinline__ int sum(int* tile, int t) {
    return at(tile, t ^ N) + sum<N / 2>(tile, t);
}
template <> __device__ __forceinline__ int sum<0>(int* tile, int t) { return 0; }
__global__ void k(int* x) {
    __shared__ int s[64];
    int t = threadIdx.x;
    at(s, t) = x[t];
    x[t] = sum<63>(s, t);
}
"""


@pytest.mark.thorough
def test_an_accessor_and_a_recursive_template_are_one_finding_at_the_lines_that_call_them():
    try:
        module = we.ptx.Module.from_cuda(CUDA, findings="report")
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    report = module["k"][1, 64](np.arange(64, dtype=np.int32), checks=["races"])
    (finding,) = (x for x in report.findings if x.kind == "race")
    assert [(x.where, x.role) for x in finding.sides] == [("kernel.cu:4", "reads"), ("kernel.cu:10", "writes")]
    assert finding.details == () and finding.variable == "s"
    loads = [x for x in finding.sightings if x.text.startswith("ld.shared")]
    assert len({x.line for x in loads}) == 6


def test_what_meets_itself_lacks_something_anywhere_before_it():
    assert [pc for pc in range(6) if gap_of(3, 3, []).contains(pc)] == [0, 1, 2, 3]
    assert [pc for pc in range(6) if gap_of(3, 3, [range(2, 5)]).contains(pc)] == [0, 1, 2, 3]
