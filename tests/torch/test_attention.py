# SPDX-License-Identifier: MIT
"""Fused attention follows the stated algorithm, step by step."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the tests do not depend on it")

import wmma_emu as we  # noqa: E402
from tests.torch.shared import numbers, same  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")

attention = torch.nn.functional.scaled_dot_product_attention
KEYWORDS = {
    "plain": {}, "causal": {"is_causal": True}, "grouped": {"enable_gqa": True}, "scale": {"scale": 0.5},
    "mask": {"attn_mask": torch.linspace(-3, 3, 70 * 70).reshape(1, 1, 70, 70)},
    "no scale": {"scale": 0.0}, "negative scale": {"scale": -0.5},
    "boolean": {"attn_mask": torch.ones(70, 70, dtype=torch.bool).tril(3)},
}  # fmt: skip


def ex2(x):
    return torch.from_numpy(we.scalar.approx("ex2", x.numpy().view(np.uint32), ftz=True).view(np.float32))


def test_two_tiles_are_the_stated_steps():
    q, k, v = (numbers(1, 1, 16, 8, seed=i)[0, 0] for i in range(3))
    k, v = torch.cat([k, -k]), torch.cat([v, v * 2])
    with we.torch.emulate("h100", attention_tile=16):
        found = attention(q[None, None], k[None, None], v[None, None])
    factor = np.float32(1 / math.sqrt(8) * np.float32(math.log2(math.e)))
    largest, total, o = torch.full((16,), -math.inf), torch.zeros(16), torch.zeros(16, 8)
    for tile in (slice(0, 16), slice(16, 32)):
        s = we.gemm(q, k[tile].T, arch="h100")
        before, largest = largest, torch.maximum(largest, s.amax(1))
        exponent = s.double() * float(factor) - (largest * factor).double()[:, None]
        p, shrink = ex2(exponent.float()), ex2((before - largest) * factor)
        sums = p
        while sums.shape[1] > 1:
            sums = sums[:, : sums.shape[1] // 2] + sums[:, sums.shape[1] // 2 :]
        total = total * shrink + sums[:, 0]
        o = we.gemm(p.bfloat16(), v[tile], C=o * shrink[:, None], arch="h100")
    same(found[0, 0], (o * (1 / total)[:, None]).bfloat16())


@pytest.mark.parametrize("name", KEYWORDS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 3e-6), (torch.bfloat16, 3e-2)])
def test_attention_and_its_gradients_are_close_to_pytorchs(name, dtype, tolerance):
    options = {x: y.to(dtype) if x == "attn_mask" and y.dtype != torch.bool else y for x, y in KEYWORDS[name].items()}
    q = numbers(2, 4, 70, 16, dtype=dtype, grad=True)
    k, v = (numbers(2, 2 if name == "grouped" else 4, 70, 16, dtype=dtype, seed=i, grad=True) for i in (1, 2))
    weight = numbers(2, 4, 70, 16, dtype=torch.float32, seed=3)

    def results():
        o = attention(q, k, v, **options)
        return [o, *torch.autograd.grad((o.float() * weight).sum(), (q, k, v))]

    expected = results()
    with we.torch.emulate("a100", attention_tile=32) as emulation:
        found = results()
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == dtype and one.shape == other.shape
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance * float(other.detach().abs().max()))
    assert found[0].stride() == expected[0].stride()
    assert [x.operation for x in emulation.log] == ["attention:scores", "attention:values"] * 3 + [
        f"attention:{x}" for x in ("scores", "values", "probabilities", "queries", "keys")
    ]


def test_a_query_without_keys_is_zero():
    q = numbers(1, 1, 16, 8)
    mask = torch.ones(16, 16, dtype=torch.bool)
    mask[3] = False
    with we.torch.emulate("h100"):
        found = attention(q, q, q, attn_mask=mask)
    assert not found[0, 0, 3].any() and found.isfinite().all()


def test_the_operations_of_cuda_have_the_same_bits_and_gradients():
    q, k, v, grad = (numbers(1, 2, 16, 8, seed=i) for i in range(4))
    mask, zero, aten = numbers(1, 2, 16, 16, seed=4), torch.zeros((), dtype=torch.int64), torch.ops.aten
    cpu, of_cpu = (getattr(aten, f"_scaled_dot_product_flash_attention_for_cpu{x}") for x in ("", "_backward"))
    with we.torch.emulate("h100") as emulation, torch.no_grad():
        plain, masked = cpu(q, k, v), cpu(q, k, v, attn_mask=mask)
        flash = aten._scaled_dot_product_flash_attention(q, k, v)
        efficient = aten._scaled_dot_product_efficient_attention(q, k, v, mask, True)
        cudnn = aten._scaled_dot_product_cudnn_attention(q, k, v, mask, True)
        of_plain = of_cpu(grad, q, k, v, *plain, 0.0, False)
        of_masked = of_cpu(grad, q, k, v, *masked, 0.0, False, attn_mask=mask)
        of_flash = aten._scaled_dot_product_flash_attention_backward(
            grad, q, k, v, *flash[:2], q, q, 16, 16, 0.0, False, zero, zero
        )
        of_efficient = aten._scaled_dot_product_efficient_attention_backward(
            grad, q, k, v, mask, *efficient, 0.0, [True, True, True, False]
        )
        of_cudnn = aten._scaled_dot_product_cudnn_attention_backward(
            grad, q, k, v, *cudnn[:2], zero, zero, mask, q, q, 16, 16, 0.0, False
        )
    pairs = [(flash[:1], plain[:1]), (efficient[:1], masked[:1]), (cudnn[:1], masked[:1]), (of_flash, of_plain)]
    for found, expected in (*pairs, (of_efficient[:3], of_masked), (of_cudnn, of_masked)):
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    assert not emulation.log.untouched


def test_dropout_inside_the_kernel_is_left_to_pytorch():
    q = numbers(1, 2, 16, 8)
    with we.torch.emulate("h100") as emulation, torch.no_grad():
        attention(q, q, q, dropout_p=0.5)
    assert [x.operation for x in emulation.log] == ["bmm", "bmm"]
