# SPDX-License-Identifier: MIT
"""Files for the code host, for citations and for hosted notebooks: their contents are right."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.ptx.launch.options import LaunchOptions

ROOT = Path(__file__).parents[2]
FORMS = sorted(x for x in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if x.stem != "config")


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_citation_has_the_version_and_the_licence_of_the_package():
    citation = read("CITATION.cff")
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == we.__version__
    assert "license: MIT" in citation and "MIT License" in read("LICENSE")
    dated = re.search(rf"^## {re.escape(we.__version__)} - (.*)$", read("CHANGELOG.md"), re.MULTILINE)[1]
    assert re.search(r"^date-released: (.*)$", citation, re.MULTILINE)[1] == dated


def test_the_promised_limits_equal_the_limits_of_a_launch():
    text, defaults = " ".join(read("SECURITY.md").split()), LaunchOptions()
    assert f"`max_steps` (10^{len(str(defaults.max_steps)) - 1} instructions)" in text and defaults.max_steps == 10**8
    assert f"`max_seconds` ({defaults.max_seconds} s)" in text
    assert f"`max_bytes` ({defaults.max_bytes >> 30} GiB" in text and defaults.max_bytes % (1 << 30) == 0


KERNEL = """
.version 8.0
.target sm_90
.address_size 64
.file 1 "{file}"
.visible .entry k(.param .u64 x)
{{
.reg .b64 %a; .reg .b32 %r;
ld.param.u64 %a, [x];
.loc 1 2 1
ld.global.u32 %r, [%a+{offset}];
st.global.u32 [%a], %r;
ret;
}}
"""


def test_a_kernel_accesses_only_the_arrays_and_a_finding_quotes_the_file_that_it_names(tmp_path):
    secret = tmp_path / "notes.txt"
    secret.write_text("first\nsecond\n", encoding="utf-8")
    beside, x = np.arange(8, dtype=np.uint32), np.zeros(4, np.uint32)
    offset = beside.ctypes.data - x.ctypes.data
    text = KERNEL.format(file=secret.as_posix(), offset=offset % 2**31 & ~3)
    report = we.ptx.Module(text, arch="h100")["k"][1, 1](x, findings="report")
    assert report.findings[0].kind == "out of bounds" and not x.any()
    assert "second" in str(report.findings[0])  # as SECURITY.md says


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_for_the_version_with_a_command_that_there_is(form):
    text = form.read_text(encoding="utf-8")
    ids = re.findall(r"^    id: (.*)$", text, re.MULTILINE)
    assert len(set(ids)) == len(ids) and "version" in ids
    assert "What `wmma-emu --version` prints." in text


def test_there_is_a_form_for_bits_for_findings_for_kernels_and_for_pages():
    assert [form.stem for form in FORMS] == ["documentation", "unsupported-kernel", "wrong-bits", "wrong-finding"]


@pytest.mark.parametrize("name", ["SECURITY.md", "CODE_OF_CONDUCT.md"])
def test_no_address_is_invented_to_which_one_could_report(name):
    text = " ".join(read(name).split())
    assert "There is no address for mail yet." in text and "Report a vulnerability" in text
    assert "@" not in text and set(re.findall(r"https://([^/]+)", text)) <= {
        "www.contributor-covenant.org", "creativecommons.org",
    }  # fmt: skip


def test_the_page_on_security_names_the_maintained_version():
    assert f"the latest version, {we.__version__.rpartition('.')[0]}." in " ".join(read("SECURITY.md").split())


def test_the_workflow_and_the_request_run_the_gate():
    assert "      - run: .ci/run\n" in read(".github/workflows/gate.yml")
    assert "`.ci/run`" in read(".github/PULL_REQUEST_TEMPLATE.md") and os.access(ROOT / ".ci/run", os.X_OK)


def test_binder_installs_this_package_and_what_the_lessons_import():
    assert "pip install --no-cache-dir .\n" in read(".binder/postBuild")
    assert os.access(ROOT / ".binder/postBuild", os.X_OK)
    assert "hypothesis" in read(".binder/requirements.txt")
    version = re.fullmatch(r"python-3\.(\d+)\n", read(".binder/runtime.txt"))
    assert f"Python :: 3.{version[1]}" in read("pyproject.toml")


def test_no_page_has_a_placeholder():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    assert pages
    assert {x.name for x in pages if re.search(r"@[A-Z][A-Z_]+@", x.read_text(encoding="utf-8"))} == set()
