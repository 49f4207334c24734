# SPDX-License-Identifier: MIT
"""The switch: what is patched, when, and how it is undone; the tests have a language for it."""

import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

from wmma_emu.errors import CallError, OptionError
from wmma_emu.languages import Language, emulate
from wmma_emu.languages.switch import active_session
from wmma_emu.ptx import Module

DOUBLE = """.version 8.0 .target sm_80 .address_size 64
.visible .entry double(.param .u64 p) {
.reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f<2>;
ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
ld.global.f32 %f1, [%rd3]; add.rn.f32 %f1, %f1, %f1; st.global.f32 [%rd3], %f1; ret; }
"""
TOY = Language("Toy", "toy_language", f"{__name__}:install", "toy-language", versions=("1.0",))


class ToyKernel:
    """A kernel of the toy language; without the emulation, a launch needs a GPU."""

    def launch(self, x):
        raise RuntimeError("there is no GPU")


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """A module that a program can import, and this module under the name that the plug-in's path has."""
    (tmp_path / "toy_language.py").write_text("from toy_kernels import ToyKernel as Kernel\n")
    kernels = ModuleType("toy_kernels")
    kernels.ToyKernel = type("Kernel", (ToyKernel,), {})
    monkeypatch.setitem(sys.modules, "toy_kernels", kernels)
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__, ModuleType(__name__)))
    sys.modules[__name__].install = install
    monkeypatch.syspath_prepend(tmp_path)
    yield kernels.ToyKernel
    sys.modules.pop("toy_language", None)


def install(session):
    import toy_language

    before = toy_language.Kernel.launch

    def launch(self, x):
        report = Module(DOUBLE, session.arch, **session.module_options)["double"][1, x.size](x)
        session.launched("Toy", "double", report)

    toy_language.Kernel.launch = launch
    return lambda: setattr(toy_language.Kernel, "launch", before)


def test_a_language_that_is_imported_in_the_context_launches_on_the_emulator(toy):
    x = np.float32([1, 2, 3])
    with emulate("a100", languages=[TOY]) as session:
        import toy_language

        toy_language.Kernel().launch(x)
    assert x.tolist() == [2, 4, 6]
    assert [(y.language, y.kernel) for y in session.report.launches] == [("Toy", "double")]
    with pytest.raises(RuntimeError, match="no GPU"):
        toy_language.Kernel().launch(x)


def test_a_language_that_was_imported_before_is_patched_at_once(toy):
    import toy_language

    x = np.float32([1.5])
    with emulate(languages=[TOY]):
        toy_language.Kernel().launch(x)
    assert x[0] == 3


def test_nothing_is_imported_by_the_switch():
    program = "import sys, wmma_emu as we\nwith we.emulate():\n    pass\n"
    program += "print([x for x in ('torch', 'triton', 'numba', 'tinygrad') if x in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_one_emulation_at_a_time():
    with emulate("a100"):
        assert str(active_session().arch) == "sm_80"
        with pytest.raises(CallError, match="the emulation is on already, of sm_80"), emulate("h100"):
            pass
    assert active_session() is None


def test_a_language_that_has_no_plug_in_is_refused():
    with (
        pytest.raises(OptionError, match="'OpenCL' is not a kernel language with a plug-in"),
        emulate(languages=["OpenCL"]),
    ):
        pass


def test_a_plug_in_that_does_not_fit_the_version_names_those_that_work(toy):
    import toy_language  # noqa: F401

    other = Language("Toy", "toy_language", "wmma_emu.languages:not_there", "toy-language", versions=("1.0", "1.1"))
    with pytest.raises(OptionError, match=r"tested with toy-language 1.0 and 1.1"), emulate(languages=[other]):
        pass
    assert active_session() is None


def test_the_report_counts_launches_and_shows_findings(toy):
    import toy_language

    x = np.float32([1, 2])
    with emulate(languages=[TOY], findings="report") as session:
        toy_language.Kernel().launch(x)
        toy_language.Kernel().launch(x)
    text = str(session.report)
    assert text.startswith("wmma_emu: 2 launches of 1 kernel on the emulated sm_90\n  double (Toy): 2 launches, ")
    assert not session.report.has_findings
