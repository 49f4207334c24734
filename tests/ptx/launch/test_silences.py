# SPDX-License-Identifier: MIT
"""A silence removes one kind of finding at one line from a report, which repeats the reason; stale ones are named."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.planted.table import PLANTED
from tests.ptx.texts_of_kernels import launch, numbers, text_of
from wmma_emu.errors import (
    BackendUnavailableError,
    KernelFindingsError,
    OptionError,
    UnsupportedInstructionError,
    UnusedSilenceWarning,
)
from wmma_emu.ptx import Silence, silence
from wmma_emu.ptx.findings import UNKNOWN, Place
from wmma_emu.ptx.program.program import SourceLine

BUG = PLANTED["reversed"]
TEXT = BUG.ptx(False)
REASON = "the two halves are equal"


def launched(text=TEXT, bug=BUG, launch_options=None, **options):
    module = we.ptx.Module(text, arch="sm_90", **{"findings": "report", **options})
    return module[bug.kernel][bug.grid, bug.block, bug.shared](*bug.arguments(), **(launch_options or {}))


FINDING = launched().findings[0]
SOURCE = f"{FINDING.source.file.rsplit('/')[-1]}:{FINDING.source.line}"


@pytest.mark.parametrize("line", [FINDING.line, str(FINDING.line), np.int64(FINDING.line), SOURCE])
def test_a_finding_is_silenced_at_its_line_of_the_ptx_or_of_the_source(line):
    report = launched(silence=[Silence("race", line, REASON)])
    assert not report.findings and not report.errors and not report.unused_silences
    ((finding, by),) = report.silenced
    # The uses of the value are not searched in this case.
    ((sighting,), (known,)) = finding.sightings, FINDING.sightings
    assert replace(finding, message=FINDING.message, sightings=FINDING.sightings) == FINDING
    assert replace(sighting, said=known.said) == known and known.message.startswith(sighting.message)
    assert FINDING.message.startswith(finding.message)
    assert by.reason == REASON
    assert f"silenced: {REASON}" in str(report) and "findings: none" in str(report)


def test_a_silence_of_another_kind_or_line_silences_nothing_and_is_named():
    other = Silence("uninitialised", FINDING.line, REASON)
    report = launched(silence=[other])
    assert report.findings == (FINDING,) and report.unused_silences == (other,)
    assert f"unused silences:\n  uninitialised at line {FINDING.line}: {REASON}" in str(report)


def test_silenced_findings_neither_warn_nor_raise():
    silences = [Silence("race", SOURCE, REASON)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert launched(findings="raise", silence=silences).silenced
        assert launched(findings="warn", silence=silences).silenced
    with pytest.raises(KernelFindingsError):
        launched(findings="raise")


def test_silences_of_a_launch_are_added_to_those_of_its_module():
    mine, its = Silence("misaligned", SOURCE, REASON), Silence("race", SOURCE, REASON)
    report = launched(silence=[mine], launch_options={"silence": [its]})
    assert [x.silence for x in report.silenced] == [its] and report.unused_silences == (mine,)


def test_a_silence_of_a_disabled_check_is_not_stale():
    assert not launched(silence=[Silence("race", SOURCE, REASON)], checks=()).unused_silences


@pytest.mark.parametrize("alone", [False, True])
def test_a_comment_of_the_ptx_silences_its_line_or_the_next(alone):
    lines = TEXT.splitlines()
    comment = f"// wmma-emu: ignore[race] {REASON}"
    lines[FINDING.line - 1] = f"{comment}\n{lines[FINDING.line - 1]}" if alone else lines[FINDING.line - 1] + comment
    report = launched("\n".join(lines))
    assert not report.findings and report.silenced[0].silence.reason == REASON


CUDA = """
extern "C" __global__ void reversed(const int* in, int* out)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = tile[63 - threadIdx.x];  // wmma-emu: ignore[race] the two halves are equal
    // wmma-emu: ignore[uninitialised] no such finding
    out[threadIdx.x] += 1;
}
"""


def compiled(source, **keywords):
    try:
        return we.ptx.Module.from_cuda(source, findings="raise", **keywords)
    except BackendUnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.thorough
def test_a_comment_of_cuda_silences_its_line():
    report = compiled(CUDA)["reversed"][1, 64](*BUG.arguments())
    assert [str(x.silence) for x in report.silenced] == [f"race at kernel.cu:6: {REASON}"]
    assert [str(x) for x in report.unused_silences] == ["uninitialised at kernel.cu:8: no such finding"]


@pytest.mark.thorough
def test_a_comment_of_a_header_silences_its_line(tmp_path):
    header = """
    __device__ void swap(int* tile, int* out) {
        out[threadIdx.x] = tile[63 - threadIdx.x]; /* wmma-emu: ignore[race] the two halves are equal */
    }"""
    (tmp_path / "swap.h").write_text(header, encoding="utf-8")
    source = CUDA.replace("out[threadIdx.x] = tile[63 - threadIdx.x];", "swap(tile, out);").replace("// wmma", "// ")
    report = compiled('#include "swap.h"\n' + source, include=[tmp_path])["reversed"][1, 64](*BUG.arguments())
    assert [x.silence.reason for x in report.silenced] == [REASON]


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("allow race", "line 4 of the PTX: 'wmma-emu: allow race' is not a silence; write 'wmma-emu: ignore[KIND] "),
        ("ignore[race]", "line 4 of the PTX: reason='': a silence needs a reason"),
        ("ignore[] because", "'wmma-emu: ignore[] because' is not a silence"),
        ("ignore[race,] because", "'wmma-emu: ignore[race,] because' is not a silence"),
        ("ignore[race, misalined] because", "kind='misalined' is not a kind of finding; did you mean 'misaligned'? .*"),
        ("ignore[race-in-a-warp] because", "is not a kind of finding; did you mean 'race within a warp'? .*"),
        ("ignore[trap] because", "a trap ends the launch and cannot be silenced"),
        ("allow rac: because", "line 4 of the PTX: kind='rac' is not a kind of finding; did you mean 'race'? .*"),
        ("ignore race: because", "'wmma-emu: ignore race: because' is not a silence"),
        ("allow deadlock: because", "a deadlock ends the launch and cannot be silenced"),
    ],
)
def test_an_invalid_silencing_comment_is_rejected(comment, said):
    text = "\n\n\n// wmma_emu: " + comment + "\n" + text_of("ret;", 0, "")
    with pytest.raises(UnsupportedInstructionError, match=re.escape(said).replace(r"\.\*", ".*")):
        we.ptx.Module(text)["k"][1, 1]()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("races", 5, "x"), "kind='races' is not a kind of finding; did you mean 'race'? Kinds are out of bounds, .*"),
        (("race", 0, "x"), "line=0 is neither a line of the PTX, counted from 1, such as 54, nor a line of a source"),
        (("race", "kernel.cu", "x"), "line='kernel.cu' is neither a line"),
        (("race", 5, "  "), "reason='  ': a silence needs a reason"),
        (("trap", 5, "x"), "a trap ends the launch and cannot be silenced"),
    ],
)
def test_an_invalid_silence_is_rejected(given, said):
    with pytest.raises(UnsupportedInstructionError, match=re.escape(said).replace(r"\.\*", ".*")):
        Silence(*given)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (1, "a silence of race is at line 1, but no instruction of the PTX text comes from there; the nearest"),
        (SOURCE.split(":")[0] + ":9999", "the nearest lines of races.cu are"),
        ("other.cu:16", "its sources are .*races.cu"),
    ],
)
def test_a_line_that_the_module_does_not_have_is_refused(line, said):
    with pytest.raises(UnsupportedInstructionError, match=re.escape(said).replace(r"\.\*", ".*")):
        launched(silence=[Silence("race", line, REASON)])


@pytest.mark.parametrize("given", [Silence("race", 5, "x"), ["race"], "race"])
def test_silences_must_be_a_list(given):
    with pytest.raises(UnsupportedInstructionError, match=r"wmma_emu.ptx.Silence\(kind, line, reason\)"):
        launched(silence=given)


def test_the_fields_of_a_silence_in_a_list_get_it_spelt_out():
    with pytest.raises(OptionError, match=r"write wmma_emu.ptx.Silence\('race', 'kernel.cu:5', 'x'\)"):
        launched(silence=[("race", "kernel.cu:5", "x")])


def test_silences_are_in_force_in_the_block_of_a_with_and_no_longer():
    with pytest.warns(UnusedSilenceWarning, match=r"this silenced nothing: race at other\.cu:16: the two") as said:
        with silence(Silence("race", SOURCE, REASON), Silence("race", "other.cu:16", REASON)) as silencing:
            assert launched().silenced
            assert [x.place for x in silencing.unused] == ["other.cu:16"]
    assert launched().findings
    assert [x.filename for x in said] == [__file__]


@pytest.mark.parametrize("line", [SOURCE, FINDING.line, np.int64(FINDING.line)])
def test_a_silence_of_a_block_may_be_given_by_its_fields(line):
    with silence("race", line, REASON):
        assert launched().silenced


def test_an_error_in_the_block_does_not_mention_silences():
    with pytest.raises(KeyError), silence("race", SOURCE, REASON):
        raise KeyError


SWAPPED = """__global__ void k(int* x) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    x[t] = s[63 - t];
}
__global__ void two(int* x) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    x[t] = s[63 - t];
    x[t + 64] = s[t ^ 32];
}"""


@pytest.mark.thorough
@pytest.mark.parametrize("schedule", range(4))
@pytest.mark.parametrize("side", ["kernel.cu:4", "kernel.cu:5"])
def test_a_silence_at_either_side_of_a_race_covers_it_in_every_order(schedule, side):
    kernel = compiled(SWAPPED)["k"]
    options = {"schedule": schedule, "checks": ["races"]}
    with pytest.raises(KernelFindingsError):
        kernel[1, 64](np.arange(64, dtype=np.int32), **options)
    report = kernel[1, 64](np.arange(64, dtype=np.int32), silence=[Silence("race", side, REASON)], **options)
    assert not report.findings and report.silenced and not report.unused_silences


@pytest.mark.thorough
@pytest.mark.parametrize("schedule", range(4))
def test_a_silence_of_one_load_does_not_hide_the_race_of_another_load_with_the_same_store(schedule):
    kernel = compiled(SWAPPED)["two"]
    one, other = (Silence("race", f"kernel.cu:{line}", REASON) for line in (11, 12))
    options = {"schedule": schedule, "checks": ["races"], "findings": "report"}
    x = np.arange(128, dtype=np.int32)
    for alone in (one, other):
        assert kernel[1, 64](x.copy(), silence=[alone], **options).errors
    report = kernel[1, 64](x.copy(), silence=[one, other], **options)
    assert not report.errors and not report.unused_silences and report.silenced


@pytest.mark.thorough
def test_the_other_sides_of_a_store_are_all_named():
    report = compiled(SWAPPED)["two"][1, 64](np.arange(128, dtype=np.int32), schedule=0, findings="report")
    (race,) = (x for x in report.errors if x.kind == "race")
    store = next(x for x in race.sightings if x.text.startswith("st.shared"))
    assert [x.source.line for x in store.others] == [11, 12]
    assert f"it is in a race with lines {store.others[0].line}, {store.others[1].line}" in str(store)
    assert [(x.where, x.role) for x in race.sides] == [("kernel.cu:10", "writes"), ("kernel.cu:11", "reads")]
    assert race.details == ("s at lines 10/12",)


@pytest.mark.thorough
def test_a_race_that_is_detected_at_its_other_side_in_another_order_is_one_finding():
    kernel = compiled(SWAPPED, schedules=4, checks=["races"], schedule=1)["k"]
    report = kernel[1, 64](np.arange(64, dtype=np.int32), findings="report")
    assert [x.source.line for x in report.findings] == [5]


def test_a_side_that_is_not_known_is_silenced_by_nothing():
    sighting = FINDING.first.but_others()
    assert not Silence("race", 7, REASON).covers(sighting.with_others([UNKNOWN, Place(7)]))
    assert Silence("race", 7, REASON).covers(sighting.with_others([Place(7)]))


@pytest.mark.thorough
def test_orders_are_compared_if_all_findings_are_silenced():
    bug = PLANTED["two_writers"]
    found = launched(bug.ptx(False), bug, {"schedules": 8}).errors
    with pytest.raises(we.errors.ScheduleDependenceError):
        launched(bug.ptx(False), bug, {"schedules": 8}, silence=[Silence(x.kind, x.line, REASON) for x in found])


def test_orders_are_compared_if_all_findings_are_notes():
    body = """
    setp.ge.u32 %p1, %r0, 32;
    @%p1 bra HIGH;
    bar.sync 0;
    bra END;
    HIGH: bar.sync 0;
    END: atom.global.exch.b32 %r2, [%rd1], %r0;
    """
    with pytest.raises(we.errors.ScheduleDependenceError):
        launch(body, numbers(1), block=64, schedules=8)
    assert [x.severity for x in launch(body, numbers(1), block=64).findings] == ["note"]


INLINED = SourceLine("/home/me/kernel.cu", 16, inlined_at=SourceLine("/home/me/main.cu", 40))


@pytest.mark.parametrize(
    ("place", "is_there"),
    [
        ("kernel.cu:16", True), ("me/kernel.cu:16", True), ("/home/me/kernel.cu:16", True), ("./kernel.cu:16", True),
        ("main.cu:40", True), ("ernel.cu:16", False), ("you/kernel.cu:16", False), ("kernel.cu:40", False),
        ("kernel.cu:1", False), ("main.cu:16", False), (7, True), (16, False),
    ],
)  # fmt: skip
def test_a_source_line_matches_a_file_by_its_last_parts_even_if_it_is_inlined(place, is_there):
    assert Silence("race", place, REASON).is_at(7, INLINED) is is_there
    assert not Silence("race", "kernel.cu:16", REASON).is_at(7, None)


def test_a_silenced_finding_is_as_short_as_a_finding_unless_verbose():
    (silenced,) = launched(silence=[Silence("race", "races.cu:16", REASON)]).silenced
    short, long = (f"{silenced.finding.to_text(verbose=x)}\n  silenced: {REASON}" for x in (False, True))
    assert short != long
    assert str(silenced) == silenced.to_text() == short
    assert silenced.to_text(verbose=True) == long
