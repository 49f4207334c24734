# SPDX-License-Identifier: MIT
"""Inductor's plug-in without PyTorch: what is traced, what is chosen and what is noted, with stand-ins."""

from types import SimpleNamespace

import pytest

from wmma_emu.languages import Session
from wmma_emu.languages.inductor.choices import KERNELS, first_configuration, first_template
from wmma_emu.languages.inductor.remarks import computes, place_of, reason_of
from wmma_emu.languages.inductor.tracing import with_device

HOST, CUDA = SimpleNamespace(type="cpu"), SimpleNamespace(type="cuda", index=0)


class NoneCompiles(Exception):
    """What Inductor raises if no configuration compiles."""


class Tuner:
    """Inductor's tuner of a kernel, whose configurations are the bytes of shared memory that they need."""

    def __init__(self, *configurations):
        self.configs, self.compile_results, self.compiled = list(configurations), [], []

    def compile_all(self):
        if self.compile_results:
            return
        self.compiled += self.configs
        if None in self.configs:
            raise NoneCompiles
        metadata = SimpleNamespace(shared=self.configs[0])
        self.compile_results = [SimpleNamespace(kernel=SimpleNamespace(metadata=metadata))]


def notes_after(tuner, most=100):
    session = Session("a100")
    first_configuration(session, Tuner.compile_all, most, NoneCompiles)(tuner)
    return dict(session.notes)


def test_the_first_configuration_that_fits_is_the_only_one_that_is_kept_and_later_ones_are_not_compiled():
    tuner = Tuner(None, 200, 100, 50)
    assert notes_after(tuner) == {KERNELS: 1}
    assert tuner.compiled == [None, 200, 100]
    assert [x.kernel.metadata.shared for x in tuner.compile_results] == [100]


def test_a_kernel_with_one_configuration_has_no_choice_and_no_note():
    tuner = Tuner(200)
    assert notes_after(tuner) == {}
    assert tuner.compiled == [200]


def test_if_no_configuration_compiles_the_error_is_inductors():
    with pytest.raises(NoneCompiles):
        notes_after(Tuner(None, None))


def test_a_compiled_kernel_is_not_compiled_again():
    tuner = Tuner(1, 2)
    tuner.compile_results = ["compiled"]
    assert (notes_after(tuner), tuner.compile_results) == ({}, ["compiled"])


def test_a_template_is_preferred_to_aten_which_is_taken_if_no_template_compiles():
    choices = ["aten", "too large", "fits", "fits too"]
    assert first_template(choices, lambda x: x == "aten", lambda x: x.startswith("fits")) == "fits"
    assert first_template(choices, lambda x: x == "aten", lambda x: False) is None


def test_calls_that_cpp_code_makes_for_the_host_are_traced_for_cuda():
    seen = []
    trace = with_device(lambda self, function, types, args, kwargs: seen.append(kwargs), CUDA)
    for given in ({"device": HOST, "dtype": 1}, {"device": CUDA}, {"device": SimpleNamespace(type="meta")}, {}, None):
        trace(None, "full", (), (), given)
    assert [getattr(x.get("device"), "type", None) for x in seen] == ["cuda", "cuda", "meta", None, None]
    assert seen[0]["dtype"] == 1


@pytest.mark.parametrize(
    ("name", "is_view", "expected"),
    [
        ("aten::mm.out", False, True), ("aten::convolution", False, True), ("aten::randint.low_out", False, True),
        ("aten::view", True, False), ("aten::empty_strided", False, False), ("aten::detach", False, False),
    ],
)  # fmt: skip
def test_functions_that_compute_are_told_from_those_that_allocate_or_view(name, is_view, expected):
    assert computes(SimpleNamespace(name=lambda: name, is_view=is_view)) is expected


def test_a_graph_break_is_named_by_the_programs_line_and_the_kind_of_its_reason():
    translator = SimpleNamespace(f_code=SimpleNamespace(co_filename="/home/a/train.py"), lineno=7)
    stack = [SimpleNamespace(filename="/home/a/model.py", lineno=3), SimpleNamespace(filename="/b/ops.py", lineno=12)]
    assert place_of(translator, SimpleNamespace(real_stack=stack)) == "ops.py:12"
    assert place_of(translator, SimpleNamespace()) == "train.py:7"
    assert reason_of("\n A call:\n more", SimpleNamespace(gb_type="Unsupported call")) == "Unsupported call"
    assert reason_of("\n A call:\n more", ValueError()) == "A call:"
