# SPDX-License-Identifier: MIT
"""What Tab offers: in Python, and in the shells themselves where they are installed."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time

import pytest

from wmma_emu.cli.choices import BLOCK_FORMATS, FINDINGS, LAYOUT_FORMATS, SCALE_RULES
from wmma_emu.cli.command_table import COMMANDS, SHELLS
from wmma_emu.cli.complete import candidates_for
from wmma_emu.instructions import ARCHS, INSTRUCTIONS
from wmma_emu.ptx.findings import KINDS, slug_of
from wmma_emu.quantise import BLOCK_FORMATS as TABLE_OF_FORMATS
from wmma_emu.quantise import SCALE_RULES as TABLE_OF_RULES

from .conftest import ROOT

F16 = "m16n8k16.f32.f16.f16.f32"
SCALED = "m16n8k64.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"


def offered(*words: str) -> list[str]:
    return [x.word for x in candidates_for(words)]


def test_the_words_copied_for_completion_equal_the_keys_of_the_tables():
    assert tuple(map(slug_of, KINDS)) == FINDINGS
    assert tuple(TABLE_OF_FORMATS) == BLOCK_FORMATS
    assert tuple(dict.fromkeys(x.name for x in TABLE_OF_RULES)) == SCALE_RULES


def test_commands_and_their_options_are_offered():
    assert offered("") == [*COMMANDS, "--help", "--version"] and offered("li") == ["list"]
    assert offered("ptx", "") == ["explain", "run", "profile", "tensor-map"]
    assert "--grid" in offered("ptx", "run", "k.ptx", "--g") and "--by" in offered("ptx", "profile", "k.ptx", "--b")
    for command in set(COMMANDS) - {"ptx", "help"}:
        assert {"--help", "--verbose"} <= set(offered(command, "--"))
    assert offered("explorer", "--o") == offered("explore", "--o") == ["--output"]


def test_values_of_options_are_offered():
    assert offered("list", "--arch", "h1") == ["h100"] and offered("list", "--arch=h1") == ["--arch=h100"]
    assert offered("compare", "a.npy", "b.npy", "--archs", "v100,h1") == ["v100,h100"]
    assert offered("layout", F16, "A", "--format", "") == list(LAYOUT_FORMATS)
    assert offered("layout", F16, "--chip", "sm_9") == ["sm_90"]  # another word for --arch
    assert "e4m3" in offered("list", "--type", "e") and "m64nNk16" in offered("list", "--shape", "m64")
    assert offered("quantise", "x.npy", "--to", "nv") == ["nvfp4"]
    assert set(ARCHS) <= set(offered("chips", "sm_"))


@pytest.mark.thorough
def test_every_instruction_is_reached_part_by_part():
    reached, ways = set(), [""]
    while ways:
        for word in offered("show", ways.pop()):
            reached.add(word)
            if word.endswith("."):
                ways.append(word)
    assert {x.short_mnemonic for x in INSTRUCTIONS.values()} <= reached
    assert offered("show", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.b") == [
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
    ]
    assert all(len(offered("show", x)) <= 200 for x in ("", "m16n8k16.", "wgmma.", "wmma."))


def test_operands_are_completed_for_the_instruction_before_them():
    assert offered("layout", F16, "") == ["A", "B", "C", "D"]
    assert offered("layout", SCALED, "s") == ["scale_a", "scale_b"]
    assert offered("what", "wgmma.m64n8k16.f32.f16.f16", "") == ["A", "C", "D"]
    assert offered("where", F16, "--operand", "a") == ["A"]


def test_files_are_offered_by_their_endings(here):
    (here / "folder").mkdir()
    (here / "k.cu").write_text("")
    (here / ".hidden.npy").write_text("")
    assert offered("gemm", "") == ["a.npy", "b.npy", "folder/"] and offered("gemm", "a.npy", "b") == ["b.npy"]
    assert offered("ptx", "explain", "") == ["folder/", "k.cu"] and offered("gemm", "./a") == ["./a.npy"]
    assert offered("compare", "a") == ["a.npy", "a100", "a30", "a800", "a2", "a10", "a10g", "a16", "a40"]


@pytest.mark.parametrize(("current", "words"), [
    ("", ["a.npy", "b.npy", "raw:", "zeros:", "map:"]),
    ("ma", ["map:"]),
    ("raw:", ["raw:a.npy", "raw:b.npy"]),
    ("o.npy=", ["o.npy=a.npy", "o.npy=b.npy", "o.npy=raw:", "o.npy=zeros:", "o.npy=map:"]),
    ("map:8x64:b", ["map:8x64:b.npy"]),
    ("o.npy=map:8x64:swizzle:128B:a", ["o.npy=map:8x64:swizzle:128B:a.npy"]),
    ("map:", []),
    ("zeros:f32:", []),
])  # fmt: skip
def test_the_forms_of_a_kernels_argument_are_offered(here, current, words):
    assert offered("ptx", "run", "k.ptx", "--arg", current) == words


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A program of that name on the path, in an empty folder."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "wmma-emu").write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m wmma_emu "$@"\n')
    (folder / "wmma-emu").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return folder / "wmma-emu"


def needs(shell: str) -> str:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    return shell


@pytest.mark.parametrize(("line", "words"), [
    ("wmma-emu li", ["list "]),
    (f"wmma-emu layout {F16} ", ["A", "B", "C", "D"]),
    ("wmma-emu show mma.sp::ordered_metadata.m16n8k8", ["ordered_metadata.m16n8k8.f32.tf32.tf32.f32 "]),
    ("wmma-emu list --arch=h1", ["h100 "]),
    ("wmma-emu compare --archs v100,h1", ["v100,h100 "]),
    ("wmma-emu gemm it", ["it\\'s\\ a.npy "]),
    ("wmma-emu nothing ", []),
])  # fmt: skip
def test_bash_completes(run, program, tmp_path, line, words):
    (tmp_path / "it's a.npy").write_text("")
    (tmp_path / "line").write_text(line)
    script = (
        run("completion", "bash").out
        + """
COMP_LINE=$(cat line; echo x); COMP_LINE=${COMP_LINE%x}; COMP_LINE=${COMP_LINE%$'\\n'}; COMP_POINT=${#COMP_LINE}
spaced=${COMP_LINE//:/ : }; spaced=${spaced//=/ = }   # as bash takes a line apart
read -ra COMP_WORDS <<< "$spaced"; [[ $COMP_LINE == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _wmma_emu
((${#COMPREPLY[@]})) && printf '%s\\n' "${COMPREPLY[@]}"
true
"""
    )
    done = subprocess.run([needs("bash"), "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout.splitlines(), done.stderr) == (words, "")


@pytest.mark.parametrize(("line", "words"), [
    ("wmma-emu li", ["list\tthe instructions, by type, shape and chip"]),
    (f"wmma-emu layout {F16} ", ["A\tf16", "B\tf16", "C\tf32", "D\tf32"]),
    ("wmma-emu show mma.sp::ordered_metadata.m16n8k8", ["mma.sp::ordered_metadata.m16n8k8.f32.tf32.tf32.f32"]),
    ("wmma-emu compare a b --archs v100,h1", ["v100,h100\tsm_90, Hopper"]),
])  # fmt: skip
def test_fish_completes(run, program, line, words):
    script = f"{run('completion', 'fish').out}\ncomplete -C'{line}'"
    done = subprocess.run([needs("fish"), "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == words


@pytest.mark.parametrize(("line", "completed"), [
    ("wmma-emu li", "wmma-emu list "),
    ("wmma-emu show mma.sp::o", "wmma-emu show mma.sp::ordered_metadata."),
    (f"wmma-emu layout {F16} ", "C"),
])  # fmt: skip
def test_zsh_completes(run, program, tmp_path, line, completed):
    (tmp_path / "_wmma-emu").write_text(run("completion", "zsh").out)
    child, terminal = pty.fork()
    if not child:  # pragma: no cover
        os.environ["TERM"] = "dumb"
        os.execvp(shutil.which("zsh") or "false", ["zsh", "-f", "-i"])
    try:
        needs("zsh")
        start = "PS1='> '; autoload -Uz compinit; compinit -u -D; source ./_wmma-emu; echo rea''dy\n"
        _answer(terminal, start, "ready")
        assert completed in _answer(terminal, f"{line}\t", completed)
    finally:
        os.close(terminal)
        os.waitpid(child, 0)


def _answer(terminal: int, keys: str, expected: str) -> str:
    """Type, and read until there is output, at most ten seconds."""
    os.write(terminal, keys.encode())
    out, end = "", time.monotonic() + 10
    while expected not in out and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            out += os.read(terminal, 65536).decode(errors="replace")
    return out


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_written_for_each_shell_and_for_ones_own(run, here, monkeypatch, shell):
    script = run("completion", shell).out
    assert f"__complete {shell}" in script and run("completion", shell, "-o", "script") == (0, "", "")
    assert (here / "script").read_text(encoding="utf-8") == script
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    assert run("completion").out == script
