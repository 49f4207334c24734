# SPDX-License-Identifier: MIT
"""Emulation through PyTorch's transformations: autograd, functions of functions, compilation, inference, nesting."""

import threading

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the tests do not depend on it")

import wmma_emu as we  # noqa: E402
from tests.torch.shared import numbers, same  # noqa: E402
from wmma_emu.errors import CallError  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")

A, B = numbers(17, 40), numbers(40, 9, seed=1)


def gemm(a, b, arch="a100"):
    return we.gemm(a.detach(), b.detach(), arch=arch, out_dtype=a.dtype)


def test_gradients_are_products_of_the_same_chip():
    a, b, weight = A.clone().requires_grad_(), B.clone().requires_grad_(), numbers(17, 9, seed=2)
    with we.torch.emulate("a100") as emulation:
        ((a @ b) * weight).sum().backward()
    same(a.grad, gemm(weight, B.T))
    same(b.grad, gemm(A.T, weight))
    assert [x.is_backward for x in emulation.log] == [False, True, True]


def test_gradients_of_gradients_are_products_of_the_same_chip():
    a, b, weight = A.clone().requires_grad_(), B.clone().requires_grad_(), numbers(17, 9, seed=2)
    with we.torch.emulate("a100") as emulation:
        (first,) = torch.autograd.grad(((a @ b) * weight).sum(), a, create_graph=True)
        (second,) = torch.autograd.grad((first * A).sum(), b)
    same(first, gemm(weight, B.T))
    same(second, gemm(A.T, weight))
    assert len(emulation.log) == 3


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
def test_functions_of_functions_are_emulated():
    with we.torch.emulate("a100"):
        batch = torch.vmap(lambda x: x @ B)(torch.stack([A, -A]))
        slope = torch.func.grad(lambda x: (x @ B).float().sum())(A)
        jacobian = torch.func.jacrev(lambda x: x @ B)(A[:2])
        _, push = torch.func.jvp(lambda x: x @ B, (A,), (A,))
    same(batch, torch.stack([gemm(A, B), gemm(-A, B)]))
    same(slope, gemm(torch.ones(17, 9, dtype=torch.bfloat16), B.T))
    same(push, gemm(A, B))
    assert jacobian.shape == (2, 9, 2, 40) and torch.equal(jacobian[0, :, 0], B.T)


@pytest.mark.filterwarnings("ignore")
def test_compiled_code_has_the_bits_of_the_chip_whenever_it_was_compiled():
    inside, before = (torch.compile(lambda a, b: torch.relu(a @ b), backend="eager") for _ in "ab")
    before(A, B)
    with we.torch.emulate("a100") as emulation:
        results = inside(A, B), before(A, B)
    for d in results:
        same(d, gemm(A, B).relu())
    assert len(emulation.log) == 2


def test_inference_has_the_bits_of_training():
    layer = torch.nn.Linear(40, 9, dtype=torch.bfloat16)
    q = numbers(1, 2, 16, 8)
    for mode in (torch.inference_mode, torch.no_grad, torch.enable_grad):
        with we.torch.emulate("a100") as emulation, mode():
            d = layer(A[None])
            torch.nn.functional.scaled_dot_product_attention(q, q, q)
            torch.nn.functional.conv2d(q, q[:, :, :3, :3])
        same(d[0], we.gemm(A, layer.weight.detach().T, bias=layer.bias.detach(), arch="a100", out_dtype="bf16"))
        assert [x.operation for x in emulation.log] == ["addmm", "attention:scores", "attention:values", "convolution"]


def test_autocast_chooses_the_dtype():
    a, b = A.float(), B.float()
    with we.torch.emulate("a100") as emulation, torch.autocast("cpu", torch.bfloat16):
        d = a @ b
    same(d, gemm(A, B))
    assert emulation.log[0].a == "bf16"


def test_modules_with_fused_paths_of_the_host_are_emulated_and_the_paths_are_restored():
    encoder = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0).eval()
    recurrent = torch.nn.LSTM(16, 8)
    with torch.no_grad(), we.torch.emulate("a100") as emulation:
        encoder(torch.ones(1, 4, 16))
        recurrent(torch.ones(3, 2, 16))
    assert not emulation.log.untouched and len(emulation.log) == 6 + 4
    assert torch.backends.mha.get_fastpath_enabled() and torch._C._get_mkldnn_enabled()


def test_a_decorated_function_is_emulated_at_every_call():
    emulation = we.torch.emulate("a100")

    @emulation
    def product(a, b):
        """Multiply."""
        return a @ b

    same(product(A, B), gemm(A, B))
    same(product(A, B), gemm(A, B))
    assert product.__doc__ == "Multiply." and len(emulation.log) == 2


def test_a_wrapped_module_and_its_gradients_are_emulated_wherever_backward_is_called():
    layer = torch.nn.Linear(40, 9, bias=False, dtype=torch.bfloat16)
    emulation = we.torch.emulate("a100")
    model = emulation(layer)
    x, weight = A.clone().requires_grad_(), numbers(17, 9, seed=2)
    y = model(x)
    slope, of_x = torch.autograd.grad((y * weight).sum(), [layer.weight, x], create_graph=True)
    same(slope, gemm(weight.T, A))
    same(of_x, gemm(weight, layer.weight))
    assert len(emulation.log) == 3
    (slope.float().sum() + of_x.float().sum()).backward()
    assert len(emulation.log) > 3 and all(x.is_backward for x in emulation.log[1:])
    assert dict(model.named_parameters()).keys() == {"module.weight"}


def test_the_gradient_of_modules_before_a_wrapped_one_is_pytorchs():
    first, second = (torch.nn.Linear(40, 40, bias=False, dtype=torch.bfloat16) for _ in range(2))
    emulation = we.torch.emulate("a100")
    emulation(second)(first(A)).float().sum().backward()
    assert [x.shape for x in emulation.log] == [(17, 40, 40), (40, 40, 17), (17, 40, 40)]


def test_the_innermost_emulation_counts_and_none_computes_on_the_host():
    with we.torch.emulate("a100") as outer:
        with we.torch.emulate("v100") as inner:
            same(A @ B, we.gemm(A.float(), B.float(), instr="fma.f32", out_dtype="bf16"))
            with we.torch.emulate(None):
                native = A @ B
        same(A @ B, gemm(A, B))
    assert (len(outer.log), len(inner.log)) == (1, 1)
    same(native, A @ B)


def test_an_operation_that_the_innermost_emulation_leaves_to_pytorch_is_not_taken_by_an_outer_one():
    a, b = (x.to(torch.int8) for x in (numbers(32, 40), numbers(40, 16, seed=1)))
    with we.torch.emulate("a100") as outer, we.torch.emulate("v100") as inner:
        same(torch._int_mm(a, b), a.int() @ b.int())
    assert not outer.log and not outer.log.untouched and sum(inner.log.untouched.values()) == 2


def test_a_region_of_the_host_keeps_other_modes_on():
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter, we.torch.emulate(None):
        A @ B
    assert counter.get_total_flops() == 2 * 17 * 40 * 9


def test_tensors_of_other_classes_are_emulated_in_their_parts():
    from torch.testing._internal.two_tensor import TwoTensor

    with we.torch.emulate("a100") as emulation:
        d = TwoTensor(A, -A) @ B
    same(d.a, gemm(A, B))
    same(d.b, gemm(-A, B))
    rows = torch.nested.nested_tensor([A[:5], A[5:]], layout=torch.jagged)
    with emulation:
        same((rows @ B).values(), gemm(A, B))
    assert len(emulation.log) == 3 and not emulation.log.untouched


def test_custom_operations_are_counted():
    @torch.library.custom_op("wmma_emu_tests::product", mutates_args=())
    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b

    with we.torch.emulate("a100") as emulation:
        product(A, B)
    assert "not emulated: wmma_emu_tests::product, a custom operation, whose products are not seen (1 times)" in str(
        emulation.log
    )


def test_an_emulation_can_be_entered_again_and_an_error_ends_it():
    emulation = we.torch.emulate("a100")
    with pytest.raises(ZeroDivisionError), emulation:
        A @ B / (1 // 0)
    with emulation, emulation:
        A @ B
    A @ B
    assert len(emulation.log) == 2
    with pytest.raises(CallError, match="this emulation is not on"):
        emulation.__exit__(None, None, None)


def test_other_threads_are_not_emulated():
    with we.torch.emulate("a100") as emulation:
        thread = threading.Thread(target=lambda: A @ B)
        thread.start()
        thread.join()
    assert not len(emulation.log)


def test_it_nests_with_the_emulation_of_kernels():
    with we.emulate("a100"), we.torch.emulate("a100") as emulation:
        d = A.to("cuda") @ B.cuda()
    same(d, gemm(A, B))
    with we.torch.emulate("a100"), we.emulate("a100"):
        same(A.cuda() @ B, d)
    assert len(emulation.log) == 1


def test_tensors_without_numbers_are_left_to_pytorch():
    from torch._subclasses import FakeTensorMode

    with we.torch.emulate("a100") as emulation:
        assert (A.to("meta") @ B.to("meta")).shape == (17, 9)
        with FakeTensorMode() as mode:
            assert (mode.from_tensor(A) @ mode.from_tensor(B)).shape == (17, 9)
    assert not len(emulation.log)


def test_errors_of_pytorch_stay_its_own():
    with we.torch.emulate("a100"), pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        A @ A


def test_the_log_says_where_in_the_model_every_product_is():
    model = torch.nn.Sequential(torch.nn.Linear(40, 16), torch.nn.Sequential(torch.nn.Linear(16, 9))).bfloat16()
    with we.torch.emulate("h100") as emulation:
        model(A).float().sum().backward()
    log = emulation.log
    assert [(x.module, x.operation, x.is_backward, x.shape) for x in log] == [
        ("Sequential.0", "addmm", False, (17, 16, 40)),
        ("Sequential.1.0", "addmm", False, (17, 9, 16)),
        ("Sequential.1.0", "mm", True, (17, 16, 9)),
        ("Sequential.1.0", "mm", True, (9, 16, 17)),
        ("Sequential.0", "mm", True, (16, 40, 17)),
    ]
    assert {(x.a, x.b, x.out, x.arch, x.arithmetic, x.order) for x in log} == {
        ("bf16", "bf16", "bf16", "sm_90", "measured", "assumed")
    }
    assert all(x.seconds > 0 for x in log) and log.to_dicts()[0]["multiply_adds"] == 17 * 16 * 40
    assert str(log).splitlines()[0].startswith("5 products on sm_90, 3 of them backward: 2.91e+04 multiply-adds in ")
    assert str(log).splitlines()[1:] == [
        "instruction, by work: m16n8k16.f32.bf16.bf16.f32 100%", "arithmetic, by work: measured 100%",
        "order of k, by work: assumed 100%",
    ]  # fmt: skip
    assert "Sequential.1.0  backward  mm" in log.table()
    log.clear()
    assert str(log) == "no matrix product was emulated"


def test_checkpointed_modules_are_emulated_when_they_run_again():
    from torch.utils.checkpoint import checkpoint

    model = torch.nn.Sequential(torch.nn.Linear(40, 16), torch.nn.Linear(16, 9)).bfloat16()
    with we.torch.emulate("a100") as emulation:
        checkpoint(model, A.clone().requires_grad_(), use_reentrant=False).float().sum().backward()
    shapes = [x.shape for x in emulation.log]
    assert shapes[:3] == [(17, 16, 40), (17, 9, 16), (17, 16, 40)] and len(shapes) == 3 + 4


@pytest.mark.filterwarnings("ignore")
def test_an_exported_program_is_recorded_without_products_and_runs_with_the_bits_of_the_chip():
    layer = torch.nn.Linear(40, 9, bias=False).to(torch.bfloat16)
    with we.torch.emulate("a100") as emulation:
        exported = torch.export.export(layer, (A,)).module()
        assert not len(emulation.log) and not emulation.log.untouched
        d = exported(A)
    same(d, gemm(A, layer.weight.T))
