# SPDX-License-Identifier: MIT
"""Untrusted text in all output: names, files, comments, arguments, compilers' messages, printf.

The output contains line breaks, and no other control characters.
"""

import importlib.util
import tempfile
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.launch.test_printing import kernel as printing
from tests.ptx.texts_of_kernels import text_of
from wmma_emu.cli import main

HOSTILE = "\x1b]0;pwn\x07\x9b2J\u202e\x08\r\u2066\x7f"
STORE = f".loc 1 7 0\nst.global.u32 [%rd1+64], 1; // {HOSTILE}\nret; // {HOSTILE}"
TEXT = text_of(STORE, 1, f'.file 1 "{HOSTILE}.cu"\n.global .b32 v; // {HOSTILE}')


def is_plain(text):
    return all(x.isprintable() or x == "\n" for x in text)


def module(text=TEXT, **options):
    return we.ptx.Module(text, name=f"a module {HOSTILE}", findings="report", **options)


def launched(**options):
    return module()["k"][1, 1](np.zeros(1, np.uint32), **options)


SHOWN = {
    "a module": lambda: repr(module()),
    "a kernel": lambda: repr(module()["k"]),
    "an explanation": lambda: str(module().explain()),
    "a report": lambda: str(launched()),
    "a finding": lambda: str(launched().findings[0]),
    "a finding's message": lambda: launched().findings[0].message,
    "a finding's line": lambda: launched().findings[0].text,
    "a finding's source": lambda: str(launched().findings[0].source),
    "what was printed": lambda: str(we.ptx.Module(printing(HOSTILE, ""))["k"][1, 1](np.zeros(1, np.uint32))),
}


@pytest.mark.parametrize("show", SHOWN.values(), ids=SHOWN)
def test_descriptions_of_a_kernel_contain_no_control_characters(show):
    shown = show()
    assert is_plain(shown) and shown


REFUSED = {
    "a kernel's name": lambda: module()[HOSTILE],
    "a variable's name": lambda: module().variable(HOSTILE),
    "an argument": lambda: module()["k"][1, 1](HOSTILE),
    "an array of text": lambda: module()["k"][1, 1](np.array([HOSTILE])),
    "a grid": lambda: module()["k"][HOSTILE, 1],
    "an option's name": lambda: launched(**{HOSTILE: 1}),
    "an option's value": lambda: launched(findings=HOSTILE),
    "the kind of a silence": lambda: we.ptx.Silence(HOSTILE, 1, "x"),
    "invalid PTX": lambda: we.ptx.Module(HOSTILE),
    "the file name of invalid PTX": lambda: we.ptx.Module("x", name=HOSTILE),
    "an operand": lambda: module(text_of(f"mov.u32 %r1, {HOSTILE};")),
    "a variable's declaration": lambda: module(text_of("ret;", 1, f".global .b32 a{HOSTILE};")),
    "a target": lambda: module(TEXT.replace("sm_90", f"sm_90{HOSTILE}")),
    "an instruction that is not modelled": lambda: module(text_of(f"foo.u32 %r1; // {HOSTILE}"))["k"][1, 1](
        np.zeros(1, np.uint32)
    ),
    "a chip": lambda: module(arch=HOSTILE),
    "an instruction of the library": lambda: we.instruction(HOSTILE),
    "a format": lambda: we.format_of(HOSTILE),
    "a matrix": lambda: we.gemm(HOSTILE, HOSTILE),
}


@pytest.mark.parametrize("use", REFUSED.values(), ids=REFUSED)
def test_error_messages_contain_no_control_characters(use):
    with pytest.raises(we.WmmaEmuError) as caught:
        use()
    assert is_plain(str(caught.value))


@pytest.mark.parametrize("findings", ["warn", "raise"])
def test_warnings_and_errors_of_findings_contain_no_control_characters(findings):
    kernel = we.ptx.Module(TEXT, name=HOSTILE)["k"][1, 1]
    if findings == "warn":
        with pytest.warns(we.KernelFindingsWarning) as caught:
            kernel(np.zeros(1, np.uint32), findings=findings)
        assert is_plain(str(caught[0].message))
    else:
        with pytest.raises(we.KernelFindingsError) as raised:
            kernel(np.zeros(1, np.uint32), findings=findings)
        assert is_plain(str(raised.value)) and is_plain(str(raised.value.report))


@pytest.mark.thorough
@pytest.mark.skipif(importlib.util.find_spec("nvidia") is None, reason="NVRTC is not installed")
@pytest.mark.parametrize(
    ("source", "options"),
    [
        (f"#error {HOSTILE}", {}),
        (f"__global__ void k() {{ {HOSTILE} }}", {}),
        ("#error here", {"name": f"{HOSTILE}.cu"}),
        ("__global__ void k() {}", {"options": [f"-D{HOSTILE}", f"--{HOSTILE}"]}),
        ("__global__ void k() {}", {"instantiate": [HOSTILE]}),
    ],
)
def test_a_compilers_message_keeps_its_lines_and_contains_no_control_characters(source, options):
    with pytest.raises(we.CompilationError) as caught:
        we.ptx.Module.from_cuda(source, **options)
    assert is_plain(str(caught.value))


LINES = {
    "a file": ["ptx", "explain", HOSTILE],
    "a command": [HOSTILE],
    "an instruction": ["show", HOSTILE],
    "a chip": ["list", "--arch", HOSTILE],
    "a matrix": ["gemm", HOSTILE, HOSTILE, "-o", HOSTILE],
    "a kernel": ["ptx", "run", "FILE", "--kernel", HOSTILE, "--grid", "1", "--block", "1"],
    "an argument": ["ptx", "run", "FILE", "--grid", "1", "--block", "1", "--arg", HOSTILE],
    "a silence": ["ptx", "run", "FILE", "--grid", "1", "--block", "1", "--silence", HOSTILE],
    "a check": ["ptx", "run", "FILE", "--grid", "1", "--block", "1", "--checks", HOSTILE],
    "the text of a file": ["ptx", "explain", "FILE"],
    "the findings of a file": ["ptx", "run", "FILE", "--grid", "1", "--block", "1", "--arg", "zeros:1:u32"],
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_the_command_line_shows_no_control_characters(line, capsys):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"k{HOSTILE.replace('/', '')}.ptx")
        file.write_bytes(TEXT.replace("\r", "").encode())  # universal newlines would end the line there
        main([str(file) if x == "FILE" else x for x in line])
    out, err = capsys.readouterr()
    assert is_plain(out) and is_plain(err) and (out or err)
