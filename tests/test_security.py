# SPDX-License-Identifier: MIT
"""What SECURITY.md promises of files of strangers: each sentence of the list has its test here, or says where it is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.cli import main
from wmma_emu.errors import LaunchLimitError

ROOT = Path(__file__).parents[1]

KERNEL = """
.version 8.0
.target sm_90
.address_size 64
.file 1 "{file}"
.visible .entry k(.param .u64 x)
{{
.reg .b64 %a; .reg .b32 %r, %t;
ld.param.u64 %a, [x];
mov.u32 %t, %tid.x;
.loc 1 1 1
{body}
ret;
}}
"""
BEYOND = "ld.global.u32 %r, [%a+4096];\nst.global.u32 [%a], %r;"
FOREVER = "again: st.global.u32 [%a], %t;\nbra again;"


def launched(file="k.cu", body=BEYOND, **options):
    module = we.ptx.Module(KERNEL.format(file=file, body=body), arch="h100")
    return module["k"][1, 1](np.zeros(4, np.uint32), **{"findings": "report", **options})


WATCHED = f"""
import sys
import numpy as np
import wmma_emu as we

text = {KERNEL.format(file="k.cu", body=BEYOND)!r}


def use(x):
    report = we.ptx.Module(text, arch="h100")["k"][1, 1](x, findings="report")
    report.findings[0].explain().to_html()
    return [report.to_text(verbose=True), report.to_json(), report.to_sarif()]


use(np.zeros(4, np.uint32))
met = []
sys.addaudithook(lambda event, given: met.append((event, [str(x) for x in given])))
use(np.zeros(4, np.uint32))
met, kept = [], met
for event, given in kept:
    print(event, given)
"""


@pytest.fixture(scope="module")
def met(tmp_path_factory):
    """What Python's audit hooks are told while a kernel is read, run, explained and reported."""
    folder = tmp_path_factory.mktemp("kernel")
    (folder / "k.cu").write_text("x = y[1024];\n", encoding="utf-8")
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", WATCHED]
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=True)
    found = done.stdout.splitlines()
    assert any(x.startswith("open ['k.cu', 'r'") for x in found)  # the hooks do see files
    return found


@pytest.mark.parametrize(
    "event",
    ["subprocess", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.", "ctypes.dlopen", "pickle.",
     "marshal.", "compile", "exec", "shutil.", "os.remove", "os.rename", "tempfile."],
)  # fmt: skip
def test_a_kernel_starts_no_program_opens_no_connection_and_runs_no_code(met, event):
    assert [x for x in met if x.startswith(event)] == []


def test_a_kernel_writes_no_file(met):
    assert [x for x in met if x.startswith("open ") and "', 'r', '" not in x] == []


@pytest.mark.parametrize(
    ("options", "said"),
    [({"max_steps": 1000}, "1000 steps"), ({"max_seconds": 0.2}, "0.2 seconds"), ({"max_bytes": 1024}, "max_bytes")],
)
def test_a_limit_ends_a_launch(options, said):
    with pytest.raises(LaunchLimitError, match=said):
        launched(body=FOREVER, **options)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc")
@pytest.mark.parametrize("file", ["/proc/self/environ", "/proc/self/cmdline", "/dev/zero", "/dev/stdin", "/proc/kmsg"])
def test_a_finding_quotes_no_device_and_nothing_that_the_system_makes(file):
    (finding,) = (x for x in launched(file).findings if x.kind == "out of bounds")
    assert [x["text"] for x in finding.to_dict()["sides"]] == [""]


MARKUP = "<img src=x onerror=alert(1)>"


def test_pages_escape_the_names_and_the_contents_of_a_kernels_files(tmp_path):
    source = tmp_path / f"{MARKUP}.cu"
    source.write_text(f"x; // {MARKUP} </pre><script>alert(2)</script>\n", encoding="utf-8")
    report = launched(source.as_posix())
    page = report.findings[0].explain().to_html()
    assert "onerror" in page and MARKUP not in page and "<script>alert" not in page
    (result,) = (x for x in report.to_sarif()["runs"][0]["results"] if x["ruleId"] == "out-of-bounds")
    assert MARKUP not in result["message"]["markdown"].replace(f"1: x; // {MARKUP}", "")


class Bomb:
    """A pickle that would write a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize(
    "command",
    [("gemm", "x.npy", "x.npy"), ("quantise", "x.npy"),
     ("compare", "x.npy", "x.npy"), ("ptx", "run", "k.ptx", "--grid", "1", "--block", "1", "--arg", "x.npy"),
     ("ptx", "run", "k.ptx", "--grid", "1", "--block", "1", "--arg", "raw:x.npy")],
)  # fmt: skip
def test_a_matrix_that_holds_a_pickle_is_refused_and_not_loaded(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.array([Bomb(tmp_path / "boom")], dtype=object), allow_pickle=True)
    Path("k.ptx").write_text(KERNEL.format(file="k.cu", body=BEYOND), encoding="utf-8")
    assert main([*command]) == 2
    assert "pickled objects, which are never read" in capsys.readouterr().err
    assert not (tmp_path / "boom").exists()


@pytest.mark.parametrize("text", ["[]", "{", '{"version": 1, "findings": [{"id": "__import__"}]}', "cos\nsystem\n"])
def test_a_baseline_must_be_json(text, tmp_path):
    (tmp_path / "known.json").write_text(text, encoding="utf-8")
    with pytest.raises(we.OptionError):
        we.ptx.Baseline.read(tmp_path / "known.json")


def test_what_a_source_silences_is_in_the_report(tmp_path):
    source = tmp_path / "k.cu"
    source.write_text("x; // wmma-emu: ignore[out-of-bounds] nothing to see\n", encoding="utf-8")
    report = launched(source.as_posix())
    assert [x.finding.kind for x in report.silenced] == ["out of bounds"]
    assert json.loads(report.to_json())["silenced"][0]["silence"]["reason"] == "nothing to see"
