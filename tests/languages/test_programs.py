# SPDX-License-Identifier: MIT
"""Programs run as Python runs them: arguments, folders, statuses, errors; by command, variable and pytest's option."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINE = (ROOT / "wmma_emu.pth").read_text()


def python(*words, folder, **variables):
    return subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
    )  # fmt: skip


def command(*words, folder, **variables):
    return python("-m", "wmma_emu", "run", *words, folder=folder, **variables)


@pytest.fixture
def script(tmp_path):
    def write(text, name="script.py"):
        (tmp_path / "programs").mkdir(exist_ok=True)
        (tmp_path / "programs" / name).write_text(text)
        return f"programs/{name}"

    return write


def test_a_script_has_its_own_arguments_folder_and_name(script, tmp_path):
    script("value = 7\n", "near.py")
    program = script("import sys, near\nprint(__name__, __file__, sys.argv[1:], near.value)\n")
    done = command("--arch", "a100", program, "--arch", "-v", "--", "x", folder=tmp_path)
    assert done.stdout == f"__main__ {tmp_path}/programs/script.py ['--arch', '-v', '--', 'x'] 7\n"
    assert done.stderr == "wmma_emu: no kernel was launched on the emulated sm_80\n"
    assert done.returncode == 0


def test_a_module_is_run_as_by_python(script, tmp_path):
    script("import sys\nprint(__name__, sys.argv[1:])\n")
    script("", "__init__.py")
    assert command("-m", "programs.script", "-m", folder=tmp_path).stdout == "__main__ ['-m']\n"


@pytest.mark.parametrize(
    ("end", "status", "said"),
    [("sys.exit(3)", 3, ""), ("sys.exit()", 0, ""), ("sys.exit('no')", 1, "no\n"), ("", 0, "")],
)
def test_the_exit_status_comes_from_the_program(script, tmp_path, end, status, said):
    done = command(script(f"import sys\n{end}\n"), folder=tmp_path)
    assert (done.returncode, done.stderr.partition("wmma_emu:")[0]) == (status, said)


def test_an_error_shows_the_frames_of_the_program_only(script, tmp_path):
    done = command(script("def f():\n    raise OSError('mine')\n\nf()\n"), folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(
        'Traceback (most recent call last):\n  File "programs/script.py", line 4, in <module>\n'
    )
    assert "OSError: mine\n" in done.stderr


def test_the_main_module_belongs_to_the_program(script, tmp_path):
    program = script("import sys\nx = 1\nprint(sys.modules['__main__'].x)\n")
    assert command(program, folder=tmp_path).stdout == "1\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "run needs a program: a Python script, or -m and a module"),
        (("--findings", "loud", "x.py"), "--findings 'loud' is not one of warn, raise and report"),
        (("none.py",), "none.py: No such file or directory"),
        (("--arch", "v99", "none.py"), "there is no chip 'v99'"),
    ],
)
def test_errors_of_the_command_line_are_one_line(tmp_path, words, message):
    done = command(*words, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert message in done.stderr


def test_a_file_of_kernels_is_still_run_by_ptx_run(tmp_path):
    (tmp_path / "k.ptx").write_text(".version 8.0 .target sm_80 .address_size 64 .visible .entry k() { ret; }")
    done = command("k.ptx", "--grid", "1", "--block", "32", folder=tmp_path)
    assert (done.returncode, "no kernel was launched" in done.stderr) == (0, False)


def test_without_the_variable_nothing_is_imported(tmp_path):
    program = f"{LINE}\nimport sys; print([x for x in sys.modules if x.startswith(('wmma_emu', 'numpy'))])"
    for value in ("", "0"):
        assert python("-S", "-c", program, folder=tmp_path, WMMA_EMU=value).stdout == "[]\n"


def test_the_variable_begins_the_emulation_of_its_chip(tmp_path):
    program = (
        f"{LINE}\n{LINE}\nfrom wmma_emu.languages.switch import active_session; s = active_session()\n"
        "print(s.arch); s.note('one remark')"
    )
    done = python("-c", program, folder=tmp_path, WMMA_EMU="a100")
    assert done.stdout == "sm_80\n"
    assert done.stderr == "wmma_emu: no kernel was launched on the emulated sm_80\n  note: one remark\n"
    assert python("-c", program, folder=tmp_path, WMMA_EMU="1").stdout == "sm_90\n"


def test_a_variable_that_names_no_chip_ends_the_process(tmp_path):
    done = python("-c", f"{LINE}\nprint('not reached')", folder=tmp_path, WMMA_EMU="v99")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("WMMA_EMU=v99: there is no chip 'v99'")


def test_options_of_the_command_replace_the_variable(script, tmp_path):
    program = script("from wmma_emu.languages.switch import active_session\nprint(active_session().arch)\n")
    code = f"{LINE}\nimport sys; from wmma_emu.cli import main; sys.exit(main(['run', '--arch', 'v100', '{program}']))"
    assert python("-c", code, folder=tmp_path, WMMA_EMU="a100").stdout == "sm_70\n"


def pytest_run(*words, folder):
    return python("-m", "pytest", "-q", "-p", "no:cacheprovider", *words, folder=folder)


def test_pytest_emulates_a_chip_for_all_tests(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "from wmma_emu.languages.switch import active_session\n"
        "def test_it():\n    assert str(active_session().arch) == 'sm_80'\n"
    )
    done = pytest_run("--emulate=a100", folder=tmp_path)
    assert "kernels on the emulator" in done.stdout
    assert "wmma_emu: no kernel was launched on the emulated sm_80\n" in done.stdout
    assert done.returncode == 0


def test_pytest_refuses_a_chip_that_does_not_exist(tmp_path):
    done = pytest_run("--emulate", "tests", folder=tmp_path)
    assert "--emulate=tests: there is no chip 'tests'" in done.stderr
    assert "write --emulate at the end" in done.stderr
