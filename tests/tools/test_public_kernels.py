# SPDX-License-Identifier: MIT
"""Launches of public kernels: a table of cases becomes bundles, and what a GPU recorded becomes a page."""

import json

import numpy as np
import pytest

from tools.launch_bundles import _emulated
from tools.public_kernels.__main__ import main
from tools.public_kernels.case import f32, f64, fields, i32, null, pointer

TABLE = '''
from tools.public_kernels.case import *
import numpy as np
TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 x, .param .u32 n) { .reg .b32 %r<4>; .reg .b64 %a<3>; .reg .pred %p;
    mov.u32 %r0, %tid.x; ld.param.u32 %r1, [n]; setp.ge.u32 %p, %r0, %r1; @%p ret; ld.param.u64 %a0, [x];
    mul.wide.u32 %a1, %r0, 4; add.s64 %a0, %a0, %a1; ld.global.u32 %r2, [%a0]; shl.b32 %r2, %r2, 1;
    st.global.u32 [%a0], %r2; ret; }
"""
def launch(rng):
    return DrawnLaunch((1,), (32,), [pointer("x"), i32(20)], {"x": rng.integers(0, 99, 24, dtype=np.uint32)})
def missing(root):
    raise ValueError("no such file")
CASES = (
    PublicKernel("ours__twice", "us", "0123456789abcdef", "twice.ptx", "MIT", lambda root: (TEXT, "twice"),
                 launch, "sm_80"),
    PublicKernel("theirs__missing", "them", "0", "x.cu", "MIT", missing, launch),
)
'''


def make(folder, out, *options):
    return main(["make", "--tables", str(folder / "tables"), "--checkouts", str(folder), "--out", str(out), *options])


@pytest.fixture
def bundles(tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "table.py").write_text(TABLE)
    make(tmp_path, tmp_path / "bundles", "--only", "ours")
    return tmp_path / "bundles"


def recorded(bundles, change):
    """Return a GPU's recording in which one element differs."""
    out = bundles.parent / "out"
    out.mkdir()
    arrays, _, _ = _emulated(bundles / "ours__twice")
    arrays["x"][3] ^= change
    np.savez_compressed(out / "ours__twice--module.ptx.npz", **arrays)
    (out / "ours__twice--module.ptx.txt").write_text("recorded\n")
    (out / "driver.txt").write_text("1.2.3\n")
    return out


def test_a_table_of_cases_becomes_bundles(bundles):
    launch = json.loads((bundles / "ours__twice" / "launch.json").read_text())
    assert (launch["kernel"], launch["grid"], launch["block"]) == ("twice", [1, 1, 1], [32, 1, 1])
    source = launch["source"]
    assert (launch["arch"], source["target"], source["revision"]) == ("sm_90", "sm_80", "0123456789abcdef")


def test_a_case_that_is_not_built_is_said(bundles, tmp_path, capsys):
    assert make(tmp_path, tmp_path / "more") == 1
    assert "theirs__missing: not built: no such file" in capsys.readouterr().out
    assert [x.name for x in (tmp_path / "more").iterdir()] == ["ours__twice"]


def test_a_bundle_has_the_same_arrays_every_time(bundles, tmp_path):
    assert make(tmp_path, tmp_path / "again", "--only", "ours") == 0
    one, other = (np.load(x / "ours__twice" / "arrays.npz")["x"] for x in (bundles, tmp_path / "again"))
    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize(
    ("change", "result", "equal"), [(0, "equal | none | ", 1), (1, "`x`: 1 of 24 elements differ | none | An order", 0)]
)
def test_the_page_says_what_is_equal_and_why_the_rest_differs(bundles, tmp_path, change, result, equal):
    notes = tmp_path / "notes.json"
    notes.write_text(json.dumps({} if not change else {"ours__twice": "An order"}))
    page = tmp_path / "page.md"
    out = recorded(bundles, change)
    given = ["page", "--bundles", str(bundles), "--recorded", str(out), "--out", str(page)]
    assert main([*given, "--notes", str(notes), "--gpu", "none"]) == 0
    text = page.read_text()
    assert f"GPU: none, driver 1.2.3. 1 kernels of 1 repositories, 1 launches: {equal} are equal in\n" in text
    assert f"| us | `0123456789` | `twice.ptx` | ours__twice | sm_80 | none | 1 | {result} |" in text


def test_a_launch_that_was_not_recorded_is_not_called_equal(bundles, tmp_path):
    page = tmp_path / "page.md"
    main(["page", "--bundles", str(bundles), "--recorded", str(tmp_path / "none"), "--out", str(page)])
    assert "the GPU: not recorded" in page.read_text()
    assert "1 launches: 0 are equal" in page.read_text()


def test_a_launch_that_changed_nothing_is_not_called_equal(bundles, tmp_path):
    page, launch = tmp_path / "page.md", bundles / "ours__twice" / "launch.json"
    said = json.loads(launch.read_text())
    said["arguments"][1]["bytes"] = "00000000"  # no element
    launch.write_text(json.dumps(said))
    main(["page", "--bundles", str(bundles), "--recorded", str(recorded(bundles, 0)), "--out", str(page)])
    assert "no array changed" in page.read_text()
    assert "1 launches: 0 are equal" in page.read_text()


def test_a_structure_holds_its_members_at_their_offsets_and_its_pointers_in_order():
    made = fields(32, (24, pointer("y", 4)), (0, pointer("x")), (8, f32(1.0)), (16, f64(-2.0)))
    assert made == {"bytes": "00" * 8 + "0000803f" + "00" * 4 + "00000000000000c0" + "00" * 8,
                    "pointers": [[0, "x", 0], [24, "y", 4]]}  # fmt: skip
    assert fields(16, (0, null()), (8, i32(-1))) == {"bytes": "00" * 8 + "ffffffff" + "00" * 4, "pointers": []}


RACY = '''
from tools.public_kernels.case import *
import numpy as np
TEXT = """.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 more;
.visible .entry KERNEL(.param .u64 x) { .reg .b32 %r<4>; .reg .b64 %a<3>;
    mov.u32 %r0, %tid.x; ld.param.u64 %a0, [x]; UNWRITTEN ld.global.u32 %r1, [more];
    add.u32 %r1, %r1, %r2; mul.wide.u32 %a1, %r0, 4; add.s64 %a0, %a0, %a1; st.global.u32 [%a0], %r1; ret; }
"""
def launch(rng):
    return DrawnLaunch((1,), (32,), [pointer("x")], {"x": np.zeros(32, np.uint32)})
def case(name, unwritten):
    text = TEXT.replace("KERNEL", name).replace("UNWRITTEN", unwritten)
    return PublicKernel(
        f"ours__{name}", "us", "0123456789abcdef", "x.ptx", "MIT", lambda root: (text, name), launch, "sm_80"
    )
CASES = (case("written", "mov.u32 %r2, 5;"), case("unwritten", ""))
'''


def test_the_page_of_findings_has_verdicts_and_says_what_a_fill_changes(tmp_path, capsys):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "cases.py").write_text(RACY)
    bundles, verdicts, out, results = (tmp_path / x for x in ("bundles", "verdicts.json", "page.md", "results.jsonl"))
    assert make(tmp_path, bundles) == 0
    launch = json.loads((bundles / "ours__written" / "launch.json").read_text())
    (bundles / "ours__written" / "launch.json").write_text(json.dumps(launch | {"variables": {"more": "first"}}))
    np.savez(bundles / "ours__written" / "arrays.npz", x=np.zeros(32, np.uint32), first=np.array([7], np.uint32))
    arrays, _, _ = _emulated(bundles / "ours__written")
    assert (arrays["x"] == 12).all() and arrays["first"].view(np.uint32).tolist() == [7]

    def page(judged):
        verdicts.write_text(json.dumps(judged))
        options = ("--bundles", bundles, "--results", results, "--verdicts", verdicts, "--out", out)
        return main(["findings", *map(str, options)]), out.read_text()

    status, text = page({})
    assert status == 1 and "not assessed: ours__unwritten: uninitialised" in capsys.readouterr().out
    rows = [json.loads(x) for x in results.read_text().splitlines()]
    assert {x["bundle"]: x["differ"] for x in rows} == {"ours__unwritten": ["ones", 1], "ours__written": []}
    status, text = page({"ours__un*": {"uninitialised": "true: no thread writes the register"}})
    assert status == 0 and "true: no thread writes the register |" in text
    assert "2 launches of 2 kernels of 1 repositories: 1 without an error, 1 with errors\nthat are true, 0 with" in text
    assert "4 comparisons; 0 differ without\na report of an uninitialised value" in text
    assert page({"ours__unwritten": {"uninitialised": "false: it is"}})[1].count("0 with errors\nthat are true, 1 with")
