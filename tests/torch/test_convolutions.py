# SPDX-License-Identifier: MIT
"""Convolutions are matrix products over windows, in the stated order of k, forward and backward."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the tests do not depend on it")

import wmma_emu as we  # noqa: E402
from tests.torch.shared import numbers, same  # noqa: E402
from wmma_emu.torch import convolutions  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")

F = torch.nn.functional
GEOMETRIES = [(1, 0, 1), (2, 1, 1), (1, 2, 2), (2, 1, 2), (3, 1, 1)]


def window_matrix(x, size, order, **geometry):
    """The rows of A, by PyTorch's own unfolding: channels, then positions."""
    c = x.shape[1]
    columns = F.unfold(x.float(), size, **geometry).mT.to(x.dtype).reshape(-1, c, size[0] * size[1])
    return (columns.mT if order == "rsc" else columns).reshape(len(columns), -1)


@pytest.mark.parametrize("order", ["rsc", "crs"])
def test_a_convolution_equals_gemm_of_its_windows_in_the_order_of_k(order):
    x, w = numbers(2, 5, 9, 8), numbers(7, 5, 3, 2, seed=1)
    with we.torch.emulate("a100", convolution_order=order) as emulation:
        d = F.conv2d(x, w, stride=2, padding=1)
    filters = w.flatten(2).mT.reshape(7, -1) if order == "rsc" else w.flatten(1)
    a = window_matrix(x, (3, 2), order, stride=2, padding=1)
    expected = we.gemm(a, filters.T, arch="a100", out_dtype="bf16")
    same(d.permute(0, 2, 3, 1).reshape(-1, 7), expected)
    assert [(r.operation, r.shape) for r in emulation.log] == [("convolution", (50, 7, 30))]


def test_a_convolution_in_tiles_of_64_channels_passes_all_filter_positions_for_each():
    x, w = numbers(1, 70, 7, 8), numbers(7, 70, 3, 2, seed=1)
    with we.torch.emulate("h100", convolution_order="crsc"):
        d = F.conv2d(x, w, padding=1)
    tiles = [slice(0, 64), slice(64, 70)]
    a = torch.cat([window_matrix(x[:, c], (3, 2), "rsc", padding=1) for c in tiles], 1)
    b = torch.cat([w[:, c].flatten(2).mT.reshape(7, -1) for c in tiles], 1).T
    same(d[0].flatten(1).T.contiguous(), we.gemm(a, b, arch="h100", out_dtype="bf16"))


def test_the_gradient_of_the_weight_adds_over_images_and_output_positions():
    x, w, grad = numbers(2, 5, 9, 8), numbers(7, 5, 3, 2, seed=1, grad=True), numbers(2, 7, 5, 5, seed=2)
    with we.torch.emulate("a100"):
        (F.conv2d(x, w, stride=2, padding=1) * grad).sum().backward()
    windows = window_matrix(x, (3, 2), "rsc", stride=2, padding=1)
    expected = we.gemm(grad.movedim(1, 0).reshape(7, -1), windows, arch="a100", out_dtype="bf16")
    same(w.grad, expected.reshape(7, 3, 2, 5).permute(0, 3, 1, 2).contiguous())


def test_the_gradient_of_the_input_adds_over_filter_positions_and_output_channels():
    x, w, grad = numbers(1, 5, 6, 6, grad=True), numbers(7, 5, 3, 3, seed=1), numbers(1, 7, 4, 4, seed=2)
    with we.torch.emulate("a100"):
        (F.conv2d(x, w) * grad).sum().backward()
    windows = window_matrix(F.pad(grad, (2, 2, 2, 2)), (3, 3), "rsc").reshape(-1, 9, 7).flip(1).reshape(-1, 63)
    filters = w.permute(2, 3, 0, 1).reshape(63, 5)
    same(x.grad[0].reshape(5, -1).T.contiguous(), we.gemm(windows, filters, arch="a100", out_dtype="bf16"))


def test_a_bias_is_added_after_the_product_is_rounded():
    x, w, bias = numbers(2, 5, 9), numbers(7, 5, 3, seed=1), numbers(7, seed=2)
    with we.torch.emulate("a100"):
        same(F.conv1d(x, w, bias), F.conv1d(x, w) + bias[:, None])


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("transposed", [False, True])
def test_convolutions_of_every_geometry_have_pytorchs_numbers_in_float64(rank, groups, transposed):
    for stride, padding, dilation in GEOMETRIES:
        x = numbers(2, 4, *[9, 8, 7][:rank], dtype=torch.float64, grad=True)
        shape = (4, 6 // groups) if transposed else (6, 4 // groups)
        w = numbers(*shape, *[3, 2, 3][:rank], dtype=torch.float64, seed=1, grad=True)
        function = getattr(F, f"conv{'_transpose' if transposed else ''}{rank}d")
        options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        if transposed and stride > 1:
            options["output_padding"] = 1

        def results(function=function, x=x, w=w, options=options):
            y = function(x, w, **options)
            slopes = torch.autograd.grad(y.square().sum(), (x, w), create_graph=True)
            return [y, *slopes, *torch.autograd.grad(sum(t.square().sum() for t in slopes), (x, w))]

        expected = results()
        with we.torch.emulate("a100") as emulation:
            found = results()
        assert not emulation.log.untouched
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-9)


def test_channels_last_is_kept_and_images_are_divided(monkeypatch):
    x, w = numbers(4, 5, 9, 8), numbers(7, 5, 3, 3, seed=1)
    with we.torch.emulate("a100"):
        whole = F.conv2d(x, w)
        last = F.conv2d(x.contiguous(memory_format=torch.channels_last), w)
        monkeypatch.setattr(convolutions, "_WINDOW_ELEMENTS", 1)
        parts = F.conv2d(x, w)
    same(last, whole)
    same(parts, whole)
    assert last.is_contiguous(memory_format=torch.channels_last) and whole.is_contiguous()


WRONG = {
    "channels": ((7, 4, 3, 3), {}), "size": ((7, 5, 13, 3), {}), "stride": ((7, 5, 3, 3), {"stride": 0}),
    "padding": ((7, 5, 3, 3), {"padding": -1}), "groups": ((8, 2, 3, 3), {"groups": 2}),
    "bias": ((7, 5, 3, 3), {"bias": numbers(1)}),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_convolutions_raise_the_error_of_pytorch(name):
    shape, options = WRONG[name]
    x, w = numbers(2, 5, 9, 8), numbers(*shape, seed=1)
    with pytest.raises(RuntimeError) as expected:
        F.conv2d(x, w, **options)
    with we.torch.emulate("a100"), pytest.raises(RuntimeError) as found:
        F.conv2d(x, w, **options)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("function", [F.conv2d, F.conv_transpose2d])
def test_a_batch_of_no_images_has_gradients_of_zero(function):
    x, w = numbers(0, 5, 9, 8, grad=True), numbers(5, 5, 3, 3, seed=1, grad=True)
    with we.torch.emulate("a100"):
        y = function(x, w)
        y.sum().backward()
    assert y.shape == function(x, w).shape and x.grad.shape == x.shape and not w.grad.any()


def test_float32_convolutions_use_tf32_unless_cudnn_must_not():
    x, w = numbers(2, 5, 9, dtype=torch.float32), numbers(7, 5, 3, dtype=torch.float32, seed=1)
    with we.torch.emulate("a100") as emulation:
        F.conv1d(x, w)
        torch.backends.cudnn.allow_tf32 = False
        try:
            F.conv1d(x, w)
        finally:
            torch.backends.cudnn.allow_tf32 = True
    assert ["tf32" in r.instruction for r in emulation.log] == [True, False]


def with_library(run):
    with we.torch.emulate("h100", like="torch") as emulation:
        return run(), emulation.log


def test_a_recorded_convolution_of_three_channels_has_the_instruction_and_the_channels_of_its_kernel():
    x, w = numbers(1, 3, 224, 224), numbers(768, 3, 16, 16, seed=1)
    d, log = with_library(lambda: F.conv2d(x, w, stride=16))
    assert [(r.order, r.instruction.split(".")[3]) for r in log] == [("recorded", "m16n8k8")]
    a, b = (F.pad(v.permute(0, 2, 3, 1), (0, 5)) for v in (x, w))
    windows = a[0].unflatten(0, (14, 16)).unflatten(2, (14, 16)).transpose(1, 2).reshape(196, -1)
    expected = we.gemm(windows, b.reshape(768, -1).T, arch="h100", instr="m16n8k8.f32.bf16.bf16.f32", out_dtype="bf16")
    same(d[0].flatten(1).T.contiguous(), expected)


def test_a_recorded_gradient_of_the_input_passes_positions_backwards():
    x, w, grad = numbers(1, 512, 7, 7, grad=True), numbers(512, 512, 3, 3, seed=1), numbers(1, 512, 7, 7, seed=2)
    _, log = with_library(lambda: (F.conv2d(x, w, padding=1) * grad).sum().backward())
    assert [(r.operation, r.order) for r in log] == [("convolution", "recorded"), ("convolution:input", "recorded")]
    turned = w.flip(-2, -1).transpose(0, 1)
    tiles = [slice(c, c + 64) for c in range(0, 512, 64)]
    windows = [window_matrix(grad[:, c], (3, 3), "rsc", padding=1) for c in tiles]
    filters = [turned[:, c].flatten(2).mT.reshape(512, -1) for c in tiles]
    expected = we.gemm(torch.cat(windows, 1), torch.cat(filters, 1).T, arch="h100", out_dtype="bf16")
    same(x.grad[0].flatten(1).T.contiguous(), expected)


@pytest.mark.parametrize(
    "how",
    [{"images": 2}, {"arch": "a100"}, {"like": "cublas"}, {"dtype": torch.float32}, {"padding": 0}, {"order": "last"}],
    ids=["two images", "another chip", "the library of products", "another dtype", "another padding", "channels last"],
)
def test_a_convolution_outside_of_the_recording_has_the_assumed_order(how):
    x = numbers(how.get("images", 1), 512, 7, 7).to(how.get("dtype", torch.bfloat16))
    if "order" in how:
        x = x.contiguous(memory_format=torch.channels_last)
    w = numbers(16 if "padding" in how else 512, 512, 3, 3, seed=1).to(x.dtype)
    with we.torch.emulate(how.get("arch", "h100"), like=how.get("like", "torch")) as emulation:
        F.conv2d(x, w, padding=how.get("padding", 1))
    assert [r.order for r in emulation.log] == ["assumed"]
