# SPDX-License-Identifier: MIT
"""Operators that programs register with torch.library, and the generator of CUDA, on an emulated chip."""

import gc

import pytest

import wmma_emu as we

torch = pytest.importorskip("torch", reason="torch is not installed")

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def library():
    made = torch.library.Library("wmma_emu_tests", "FRAGMENT")
    yield made
    made._destroy()


def test_a_function_for_cuda_takes_tensors_on_the_host_and_makes_its_own_there(library):
    library.define("twice(Tensor x) -> Tensor")
    with we.emulate("h100"):
        library.impl("twice", lambda x: torch.full((2,), 2.0, device="cuda") * x, "CUDA")
        assert torch.ops.wmma_emu_tests.twice(torch.ones(2, device="cuda")).tolist() == [2, 2]
    with pytest.raises(NotImplementedError):
        torch.ops.wmma_emu_tests.twice(torch.ones(2))


def test_of_functions_for_cuda_and_for_the_cpu_that_for_cuda_runs_in_any_order(library):
    with we.emulate("h100"):
        for name, keys in (("first", ("CUDA", "CPU")), ("second", ("CPU", "CUDA"))):
            library.define(f"{name}(Tensor x) -> Tensor")
            for key in keys:
                library.impl(name, lambda x, key=key: x + (1 if key == "CUDA" else 2), key)
            assert getattr(torch.ops.wmma_emu_tests, name)(torch.zeros(1)).tolist() == [1]
    assert torch.ops.wmma_emu_tests.second(torch.zeros(1)).tolist() == [2]


@pytest.mark.parametrize("devices", [None, "cuda"])
def test_a_custom_operator_may_make_tensors_on_the_device(devices):
    with we.emulate("h100"):

        @torch.library.custom_op(f"wmma_emu_tests::plus_{devices}", mutates_args=(), device_types=devices)
        def plus(x: torch.Tensor) -> torch.Tensor:
            return x + torch.ones(2, device="cuda")

        assert plus(torch.ones(2, device="cuda")).tolist() == [2, 2]
    with we.emulate("a100"):  # it was registered before this emulation began
        assert plus(torch.ones(2, device="cuda")).tolist() == [2, 2]


def test_a_function_of_pytorch_that_is_replaced_comes_back_with_its_library():
    x = torch.ones(2)
    with we.emulate("h100"):
        library = torch.library.Library("aten", "IMPL")
        library.impl("neg", lambda x: x * 5, "CUDA")
        assert (-x).tolist() == [5, 5]
        library._destroy()
        assert (-x).tolist() == [-1, -1]
        library = torch.library.Library("aten", "IMPL")
        library.impl("neg", lambda x: x * 5, "CUDA")
        del library
        gc.collect()
        assert (-x).tolist() == [-1, -1]


def test_a_library_of_an_earlier_emulation_takes_further_functions(library):
    for name in ("earlier", "later"):
        library.define(f"{name}(Tensor x) -> Tensor")
        with we.emulate("h100"):
            library.impl(name, lambda x: x + 1, "CUDA")
            assert getattr(torch.ops.wmma_emu_tests, name)(torch.ones(1)).tolist() == [2]


def test_the_generator_of_cuda_has_a_seed_and_an_offset():
    with we.emulate("h100"):
        (generator,) = torch.cuda.default_generators
        torch.cuda.manual_seed(7)
        assert generator.get_state().view(torch.int64).tolist() == [7, 0]
        state = torch.tensor([-1, 8]).view(torch.uint8)
        generator.set_state(state)
        assert (generator.initial_seed(), generator.get_offset()) == ((1 << 64) - 1, 8)
        assert torch.equal(generator.get_state(), state)
    assert not hasattr(torch.cuda, "default_generators") or not torch.cuda.default_generators


def test_pytorch_has_a_version_of_cuda_during_the_emulation():
    before = torch.version.cuda
    with we.emulate("h100"):
        assert torch.version.cuda is not None
    assert torch.version.cuda == before
