# SPDX-License-Identifier: MIT
import json

import pytest

from wmma_emu.schedule import schedule_of
from wmma_emu.viz.picture import page
from wmma_emu.viz.schedules.schedule import draw_schedule, html

VOLTA = ("wmma.mma.m16n16k16.f32.f32", "--arch", "v100")
FP8 = "m16n8k32.f32.e4m3.e4m3.f32"


def test_the_text_is_the_librarys(run):
    assert run("schedule", *VOLTA) == (0, f"{schedule_of(VOLTA[0], 'sm_70')}\n", "")
    assert run("schedule", FP8).out == f"{schedule_of(FP8, 'sm_90')}\n"
    assert run("schedule", FP8, "--lowering", "ptxas-12.4").out == f"{schedule_of(FP8, 'sm_90', 'ptxas-12.4')}\n"


def test_without_an_arch_it_is_the_first_chip_where_the_default_one_lacks_the_instruction(run):
    sparse = "mma.sp::ordered_metadata.m16n8k64.f16.e4m3.e4m3.f16"
    assert " on sm_120 " in run("schedule", sparse).out.splitlines()[0]


def test_json_is_the_data_of_the_schedule(run):
    out = run("schedule", *VOLTA, "--format", "JSON").out
    assert json.loads(out) == schedule_of(VOLTA[0], "sm_70").to_dict() and out.count("\n") == 1


def test_svg_is_the_librarys_picture_and_html_a_whole_page_with_it(run):
    schedule = schedule_of(VOLTA[0], "sm_70")
    picture = draw_schedule(schedule)
    assert run("schedule", *VOLTA, "--format", "svg") == (0, str(picture), "")
    assert run("schedule", *VOLTA, "--format", "svg", "--step", "5").out == str(draw_schedule(schedule, step=5))
    assert run("schedule", *VOLTA, "--format", "html") == (0, page(picture.title, html(schedule)), "")
    assert run("schedule", *VOLTA, "--format", "html", "--step", "5").out == draw_schedule(schedule, step=5).html()


@pytest.mark.parametrize("output", ["text", "json", "svg", "html"])
def test_a_file_gets_what_a_pipe_would(run, here, output):
    words = ("schedule", *VOLTA, "--format", output)
    assert run(*words, "-o", "file") == (0, "", "")
    assert (here / "file").read_text(encoding="utf-8") == run(*words).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "schedule needs INSTR: PTX mnemonic"),
        (("m8n8k4.f32.f16.f16.f32", "--arch", "a100"), "has no schedule on sm_80: it is executed by shuffles and"),
        (("m8n8k4.f32.f16.f16.f32", "--arch", "a100"), "Chips where it has one are sm_70, sm_72, sm_75"),
        (("m8n8k128.s32.b1.b1.s32.xor.popc",), "it is executed by 2x BMMA.88128.AND.POPC, one for A"),
        ((FP8, "--lowering", "ptxas-12.5"), "has no lowering 'ptxas-12.5'; it has 'ptxas-12.8', 'ptxas-12.4'"),
        ((FP8, "--arch", "v100"), "Nearest on sm_70"),
        ((FP8, "--format", "svgg"), "--format 'svgg' is not one of text, json, svg, html; did you mean svg?"),
        (
            (FP8, "--format", "svg", "--step", "2"),
            "--step 2: the schedule has 2 machine instructions; legal values are 0 to 1",
        ),
        ((FP8, "--step", "1"), "--step 1 applies only to pictures; add --format svg or --format html"),
        (
            (FP8, "--json", "-o", "x.svg"),
            "x.svg: the output has format json; add --format svg, or give the file another",
        ),
        ((FP8, "-o", "nowhere/x.txt"), "nowhere/x.txt: the directory"),
        ((FP8, "--kind", "x"), "schedule has no option '--kind'"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_written(run, here, words, message):
    before = sorted(here.iterdir())
    status, out, err = run("schedule", *words)
    assert (status, out) == (2, "") and err.startswith("wmma-emu: error: ") and err.count("\n") == 1
    assert message in err and sorted(here.iterdir()) == before


def test_a_terminal_shows_the_text_as_it_is(screen):
    from wmma_emu.cli import main

    shown = screen(columns=120)
    assert main(["schedule", "wmma.mma.m16n16k16.f32.f32", "--arch", "t4"]) == 0
    assert "\x1b[1m" in shown.text.splitlines()[0]
    assert "  2  HMMA.1688.F32        0-15  0-7      8-15  a 2-3    b 1      d 0-3    d 0-3" in shown.text
