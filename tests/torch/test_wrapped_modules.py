# SPDX-License-Identifier: MIT
"""Wrapped modules are like the modules in them: copies, threads, checkpoints, data classes, errors in gradients."""

import copy
import pickle
import threading
from dataclasses import dataclass

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the tests do not depend on it")

import wmma_emu as we  # noqa: E402
from tests.torch.shared import numbers, same  # noqa: E402

A = numbers(17, 40)


def layer():
    return torch.nn.Linear(40, 9, bias=False, dtype=torch.bfloat16)


def gemm(a, b):
    return we.gemm(a.detach(), b.detach(), arch="a100", out_dtype="bf16")


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_has_the_same_bits_and_a_separate_log(copied):
    wrapped = we.torch.emulate("a100")(layer())
    other = copied(wrapped)
    same(other(A), gemm(A, wrapped.module.weight.T))
    assert len(other.emulation.log) == 1 and not wrapped.emulation.log


def test_a_copy_has_the_same_recipe():
    wrapped = we.torch.emulate("h100", recipe="te_current")(layer())
    other = copy.deepcopy(wrapped)
    same(other(numbers(16, 40)), wrapped(numbers(16, 40)))
    assert other.emulation.recipe == wrapped.emulation.recipe is not None


def test_a_wrapped_module_is_in_training_if_its_module_is():
    wrap = we.torch.emulate("a100")
    assert [wrap(layer().train(x)).training for x in (True, False)] == [True, False]


def test_threads_may_share_a_wrapped_module():
    emulation = we.torch.emulate("a100")
    model = emulation(torch.nn.Sequential(layer(), torch.nn.ReLU()))
    threads = [threading.Thread(target=lambda: [model(A).sum().backward() for _ in range(5)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {x.module for x in emulation.log} == {"Sequential.0"} and len(emulation.log) == 30


def test_fused_paths_return_after_the_last_emulation_of_all_threads():
    first, second = we.torch.emulate("a100"), we.torch.emulate("a100")
    first.__enter__()
    entered, leave = threading.Event(), threading.Event()

    def other():
        with second:
            entered.set()
            leave.wait()

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait()
    first.__exit__(None, None, None)
    assert not torch._C._get_mkldnn_enabled()
    leave.set()
    thread.join()
    assert torch._C._get_mkldnn_enabled() and torch.backends.mha.get_fastpath_enabled()


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_runs_again_without_fused_paths(reentrant):
    from torch.utils.checkpoint import checkpoint

    class CheckpointedRecurrence(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.recurrent = torch.nn.LSTM(40, 9)

        def forward(self, x):
            return checkpoint(lambda y: self.recurrent(y.relu())[0], x, use_reentrant=reentrant)

    model, x = CheckpointedRecurrence(), A.float().requires_grad_()
    wrapped = we.torch.emulate("a100")(model)
    found = gradient(wrapped, x)
    with we.torch.emulate("a100"):
        same(found, gradient(model, x))
    assert not wrapped.emulation.log.untouched and torch._C._get_mkldnn_enabled()


def gradient(model, x):
    x.grad = None
    model(x).sum().backward()
    return x.grad


def test_the_gradient_of_a_result_in_a_data_class_is_emulated():
    @dataclass
    class Logits:
        y: torch.Tensor

    class WithDataClass(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer()

        def forward(self, x):
            return Logits(self.layer(x))

    wrapped = we.torch.emulate("a100")(WithDataClass())
    wrapped(A).y.sum().backward()
    assert [x.is_backward for x in wrapped.emulation.log] == [False, True]


def test_an_error_in_a_gradient_ends_the_emulation():
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x.clone()

        @staticmethod
        def backward(context, slope):
            raise KeyError("gradient")

    class FailingModule(torch.nn.Module):
        def forward(self, x):
            return Fails.apply(x)

    y = we.torch.emulate("a100")(FailingModule())(A.clone().requires_grad_()).sum()
    with pytest.raises(KeyError):
        y.backward()
    assert torch._C._get_mkldnn_enabled()
    assert not torch.utils._python_dispatch._get_current_dispatch_mode_stack()
